"""Commands for game logs: `lint`, `read`, `measure`."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from gamewarden.cli import options, ragnarok
from gamewarden.cli.home import from_workspace
from gamewarden.cli.registry import PartGroup
from gamewarden.cli.settings import current
from gamewarden.cli.show import Presentation, one_under_the_other, progress, say, tell

if TYPE_CHECKING:
    from gamewarden.core.registry import Registry
    from gamewarden.readers.options import SourceOptions

_MODELS = click.option("--models", type=options.FILE, metavar="DIR", help="Measure as the model in force here does.")


@click.command
@options.source
@options.reading
@options.databases
@options.table
def lint(*, source: options.Where, reading: "SourceOptions", present: Presentation) -> None:
    """Say what of a log can be read, and who stays blind.

    Nothing is written: columns, times and kinds of the first rows are tried, and each detector says whether it could
    work on them and, if not, what is missing. Exits with 0 whatever it finds.
    """
    from gamewarden import pipeline

    findings = pipeline.lint(options.opened(source, reading))
    if present.for_machines:
        present.table(findings.table())
    else:
        tell(*findings.sentences())


@click.command
@click.argument("sources", nargs=-1, required=True, type=options.SOURCE, metavar="SOURCE…")
@click.option(
    "--to",
    "lake",
    type=options.FILE,
    metavar="DIR",
    callback=from_workspace("lake"),
    help="The lake; made if need be.  [default: the workspace's]",
)
@click.option("--keep-truncated", is_flag=True, help="Take what is whole of a packed file that ends early.")
@click.option("--as", "reader", metavar="READER", help="Read SOURCE by this reader: ragnarok takes what clients said.")
@click.option("--profiles", type=options.FILE, metavar="FILE", help="Also write the accounts of a game server here.")
@options.ports
@options.reading
@options.databases
@ragnarok.decoding
@options.table
def read(
    *,
    sources: tuple[options.Where, ...],
    lake: Path,
    keep_truncated: bool,
    reader: str | None,
    profiles: Path | None,
    server_ports: tuple[int, ...],
    reading: "SourceOptions",
    present: Presentation,
) -> None:
    """Read logs into a Parquet lake by day, each only once.

    CSV, JSON Lines and Parquet, each also gzipped or compressed with zstd. A source comes in whole or not at all; bad
    rows are counted by reason, and too many of them refuse the source. Reading a source again changes nothing.

    The database of a game server, such as mysql://user@host/ragnarok, and a dump of one are read from where the last
    reading ended; --map names the server where its tables do not tell.

    With --as ragnarok a source is a packetstream, or a capture of --server-port, and its messages become events.
    """
    from gamewarden import pipeline, readers

    logs = replace(reading.logs, keep_truncated=keep_truncated)
    asked = options.with_ports(replace(reading, logs=logs), server_ports)
    privacy, added = current().privacy, []
    with pipeline.lake_batch(lake) as batch:
        for source in options.listed(sources):
            with progress(f"reading {Path(str(source)).name}") as done:
                opened = readers.open(source, asked, reader)
                result = pipeline.read_into(batch, opened, done, privacy)
            if profiles is not None:
                pipeline.write_profiles(opened, profiles)
            say(*(f"{source}: {line}" for line in result.notes))
            added.append(result.frame)
            if batch.is_due:
                batch.save()
    present.table(one_under_the_other(added))


def _measure_command(name: str) -> click.Command:
    from gamewarden import features, requests
    from gamewarden.cli.recipes import options_of

    recipe = features.load(name)
    if recipe.input == "messages":
        return ragnarok.measure_command(name, recipe)
    read_as = options.packet_reading if recipe.input == "packets" else options.reading
    of_events = recipe.input == "events"
    like = options.together(_MODELS, options.detector) if of_events else options.together()
    spread: options.Decorator = options.on if of_events else options.together()

    @click.command(name, help=recipe.__doc__)
    @options.source
    @options_of(recipe)
    @like
    @read_as
    @spread
    @options.time_range
    @options.table
    def command(
        *,
        source: options.Where,
        reading: "SourceOptions",
        present: Presentation,
        models: Path | None = None,
        detector: str | None = None,
        **given: Any,  # noqa: ANN401  each recipe brings options of its own
    ) -> None:
        with progress(f"measuring {name}") as done:
            held = options.opened(source, reading)
            told = requests.measure_named(
                name,
                held,
                given,
                current(),
                time_zone=reading.logs.time_zone,
                models=models,
                detector=detector,
                progress=done,
            )
        say(*told.notes)
        present.table(told.frame)

    return command


def _features() -> "Registry":
    from gamewarden import features

    return features.REGISTRY


def _feature_names() -> tuple[str, ...]:
    from gamewarden import features

    return features.names()


@click.group(cls=PartGroup, names=_feature_names, make=_measure_command, registry=_features)
def measure() -> None:
    """Turn events, packets or messages into numbers.

    One row per actor and period, window, chunk or session, as the feature has it.
    """
