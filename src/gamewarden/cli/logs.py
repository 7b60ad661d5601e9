"""Commands for game logs: `lint`, `read`, `measure`."""

from pathlib import Path
from typing import Any

import click

from gamewarden.cli import options
from gamewarden.cli.registry import PartGroup
from gamewarden.cli.settings import current
from gamewarden.cli.show import progress, say, show_table
from gamewarden.config import Config


@click.command
@options.source
@options.reading
@options.table
@click.pass_context
def lint(ctx: click.Context, source: Path, mapping: str | None, zone: str | None, out: Path | None, *, as_json: bool) -> None:
    """Say what of a log can be read, and who stays blind.

    Nothing is written: columns, times and kinds of the first rows are tried, and each detector says whether it could
    work on them and, if not, what is missing.
    """
    from gamewarden import pipeline

    findings = pipeline.lint(source, _reading(ctx, mapping, zone))
    if out is None and not as_json:
        click.echo(findings.text())
        return
    show_table(findings.table(), out, as_json=as_json)


@click.command
@click.argument("sources", nargs=-1, required=True, type=options.FILE, metavar="SOURCE…")
@click.option("--to", "lake", type=options.FILE, required=True, metavar="DIR", help="The lake; made if it is not there.")
@options.reading
@options.table
@click.pass_context
def read(
    ctx: click.Context,
    sources: tuple[Path, ...],
    lake: Path,
    mapping: str | None,
    zone: str | None,
    out: Path | None,
    *,
    as_json: bool,
) -> None:
    """Read logs into a Parquet lake by day; reading twice changes nothing.

    CSV, JSON Lines and Parquet, each also gzipped or compressed with zstd. A source comes in whole or not at all; bad
    rows are counted by reason, and too many of them refuse the source.
    """
    from gamewarden import pipeline

    rows = []
    for source in sources:
        with progress(f"reading {source.name}") as done:
            summary = pipeline.read(source, lake, _reading(ctx, mapping, zone), done)
        for line in summary.remarks:
            say(line)
        rows.append(summary.row())
    show_table(pipeline.rows_table(rows), out, as_json=as_json)


def _measure_command(name: str) -> click.Command:
    from gamewarden import features
    from gamewarden.cli.recipes import chosen, options_of

    recipe = features.load(name)

    @click.command(name, help=recipe.__doc__)
    @options.source
    @options_of(recipe)
    @options.reading
    @options.table
    @click.pass_context
    def command(
        ctx: click.Context,
        source: Path,
        mapping: str | None,
        zone: str | None,
        out: Path | None,
        *,
        as_json: bool,
        **given: Any,  # noqa: ANN401  each recipe brings options of its own
    ) -> None:
        from gamewarden import pipeline

        config = current(ctx)
        feature = pipeline.feature_recipe(name, chosen(recipe, {**given, "zone": zone}), config)
        with progress(f"measuring {name}") as done:
            measured = pipeline.measure(feature, source, reading(config, mapping, zone), done)
        for line in measured.remarks:
            say(line)
        show_table(measured.frame, out, as_json=as_json)

    return command


def _feature_names() -> tuple[str, ...]:
    from gamewarden import features

    return features.NAMES


@click.group(cls=PartGroup, names=_feature_names, make=_measure_command)
def measure() -> None:
    """Turn events into numbers: one row an actor and period."""


def reading(config: Config, mapping: str | None, zone: str | None) -> Any:  # noqa: ANN401  see pipeline.Reading
    """How this run reads its sources: the command line first, then warden.toml."""
    from gamewarden.pipeline import Reading

    return Reading(mapping, zone or config.read.zone or None, config.read.max_bad_share)


def _reading(ctx: click.Context, mapping: str | None, zone: str | None) -> Any:  # noqa: ANN401  see pipeline.Reading
    return reading(current(ctx), mapping, zone)
