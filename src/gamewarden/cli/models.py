"""Commands for finding bots: `fit`, `score`, `rank`, `explain`."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from gamewarden.cli import options, ragnarok, sessions
from gamewarden.cli.registry import PartGroup
from gamewarden.cli.settings import current
from gamewarden.cli.show import Presentation, progress, say, show_page, tell

if TYPE_CHECKING:
    from gamewarden.pipeline import Reading
    from gamewarden.verdicts.prevalence import Prevalence


def _fit_command(name: str) -> click.Command:
    from gamewarden import pipeline
    from gamewarden.cli.account_tables import fit_account_table
    from gamewarden.cli.verdicts import fit_fusion

    makers: dict[str, Callable[[str], click.Command]] = {
        "events": _fit_events,
        "packets": _fit_packets,
        "records": sessions.fit_command,
        "table": fit_account_table,
        "scores": lambda _: fit_fusion,
    }
    return makers[pipeline.input_of(name)](name)


def _fit_packets(name: str) -> click.Command:
    from gamewarden import detectors, pipeline
    from gamewarden.cli.recipes import chosen, options_of

    detector = detectors.load(name)

    @click.command(
        name,
        help=f"{detector.says}\n\nTRACES are captures or packet tables. A trace is one actor; alone in its file it may "
        "be labelled by the file's name. Prints the tree with its thresholds, and the model's card.",
    )
    @click.argument("traces", nargs=-1, required=True, type=options.FILE, metavar="TRACES…")
    @options.labels
    @click.option("--to", type=options.FILE, required=True, metavar="DIR", help="Where the model is kept.")
    @options_of(detector)
    @options.packet_reading
    @click.option("--json", "as_json", is_flag=True, help="Print the card as JSON.")
    def command(
        *,
        traces: tuple[Path, ...],
        labels: Path,
        to: Path,
        reading: "Reading",
        as_json: bool,
        **given: Any,  # noqa: ANN401  each recipe brings options of its own
    ) -> None:
        recipe = pipeline.trace_recipe(name, chosen(detector, given))
        with progress(f"fitting {name}") as done:
            fitted = pipeline.fit_traces(recipe, traces, labels, to, reading=reading, progress=done)
        say(*fitted.remarks)
        model: Any = fitted.model
        page = pipeline.page_of(model, to)
        show_page(page, as_json=as_json, before=f"{model.text()}\n\n")
        say(f"The model is in {fitted.path}")

    return command


def _fit_events(name: str) -> click.Command:
    from gamewarden import detectors, pipeline
    from gamewarden.cli.recipes import chosen, options_of

    detector = detectors.load(name)
    feature = pipeline.feature_class_of(name)

    @click.command(name, help=f"{detector.says}\n\nPrints the model's card; the model itself is one JSON file in --to.")
    @options.source
    @options.labels
    @click.option("--to", type=options.FILE, required=True, metavar="DIR", help="Where the model is kept.")
    @options_of(feature)
    @options_of(detector)
    @options.reading
    @click.option("--json", "as_json", is_flag=True, help="Print the card as JSON.")
    def command(*, source: Path, labels: Path, to: Path, reading: "Reading", as_json: bool, **given: Any) -> None:  # noqa: ANN401  each recipe brings options of its own
        seen = pipeline.feature_recipe(feature.name, chosen(feature, given), current(), reading)
        asked = pipeline.detector_recipe(name, seen, chosen(detector, given))
        recipe = asked.with_styles(pipeline.styles_of(current()))
        with progress(f"fitting {name}") as done:
            fitted = pipeline.fit(recipe, source, labels, to, reading=reading, progress=done)
        say(*fitted.remarks)
        page = pipeline.page_of(fitted.model, to)
        show_page(page, as_json=as_json)
        say(f"The model is in {fitted.path}")

    return command


def _detector_names() -> tuple[str, ...]:
    from gamewarden import detectors

    return detectors.names()


@click.group(cls=PartGroup, names=_detector_names, make=_fit_command)
def fit() -> None:
    """Train a detector on labelled accounts."""


@click.command
@options.source
@options.models
@options.prevalence
@options.reading
@options.packets
@ragnarok.decoding
@options.table
def score(*, source: Path, models: Path, prevalence: "Prevalence", reading: "Reading", present: Presentation) -> None:
    """Score every account and period with every model.

    A capture is scored by the models of packets and of sessions, a lake by those of events, a packetstream or a folder
    of them by those of sessions; a file with all the columns of an account table's model by that one, and any other
    table by whichever there are, those of events first.

    `probability` is the calibrated chance of a bot where bots have the share --prevalence, `alarm` the share of
    reference humans that look at least as bot-like, however common bots are. Both are empty where there is too little
    evidence to say.
    """
    from gamewarden import pipeline

    with progress("scoring") as done:
        told = pipeline.score(source, models, reading, done, prevalence)
    say(*told.remarks)
    present.table(told.frame)


@click.command
@options.source
@options.models
@options.detector
@click.option(
    "--probability",
    type=click.FloatRange(0, 1),
    help="List accounts from this bot probability on.  [default: warden.toml]",
)
@click.option("--self-similarity", metavar="FROM[:TO]", help="Median self-similarity.")
@click.option("--level", metavar="FROM[:TO]", help="Level of the main character.")
@click.option("--in-zone", "zones", multiple=True, metavar="ZONE", help="Main activity zone; may be given again.")
@click.option("--play-time", metavar="FROM[:TO]", help="Minutes online, all periods together.")
@click.option("--profiles", type=options.FILE, metavar="FILE", help="What is known beside the events, a row an actor.")
@click.option("--where", multiple=True, metavar="CONDITION", help="On any column, such as 'payment<1000'.")
@click.option("--top", type=click.IntRange(0), help="At most so many; 0 lists all.  [default: warden.toml]")
@options.prevalence
@options.reading
@options.table
def rank(*, source: Path, models: Path, reading: "Reading", present: Presentation, **wishes: Any) -> None:  # noqa: ANN401  the filters, see pipeline.Wishes
    """List the accounts to look at, highest first, with reasons.

    A list for review by a person, never a list of sanctions.
    """
    from gamewarden import pipeline

    with progress("ranking") as done:
        told = pipeline.rank(source, models, pipeline.Wishes.of(current(), **wishes), reading, done)
    say(*told.remarks)
    present.table(told.frame if present.for_machines else pipeline.ranking_in_short(told))


@click.command
@click.argument("actor")
@options.source
@options.models
@options.detector
@options.plot
@options.prevalence
@options.ports
@options.reading
@ragnarok.decoding
@options.table
def explain(
    *,
    actor: str,
    source: Path,
    models: Path,
    detector: str | None,
    plot: Path | None,
    server_ports: tuple[int, ...],
    prevalence: "Prevalence",
    reading: "Reading",
    present: Presentation,
) -> None:
    """Say in sentences why an account scores as it does."""
    from gamewarden import pipeline
    from gamewarden.cli.story import story_text

    asked = replace(reading, server_ports=server_ports)
    with progress(f"looking at {actor}") as done:
        story = pipeline.explain(actor, source, models, detector, reading=asked, prevalence=prevalence, progress=done)
    if plot is not None:
        pipeline.draw_story(story, plot)
        say(f"Its windows are drawn in {plot}")
    say(*story.caveats, prevalence.sentence)
    if present.for_machines:
        present.table(story.evidence)
    else:
        tell(*story_text(story).split("\n"))
