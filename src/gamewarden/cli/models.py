"""Commands for finding bots: `fit`, `score`, `rank`, `explain`."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from gamewarden.cli import first_look, options, ragnarok, sessions
from gamewarden.cli.home import at_rest, from_workspace
from gamewarden.cli.registry import PartGroup
from gamewarden.cli.settings import current
from gamewarden.cli.show import Presentation, progress, say, show_page, tell, width_here
from gamewarden.core.extras import need
from gamewarden.core.text import counted
from gamewarden.errors import ConfigError
from gamewarden.presentation.listing import Layout

if TYPE_CHECKING:
    from gamewarden.contracts import Source
    from gamewarden.core.registry import Registry
    from gamewarden.pipeline.first_look import LookOptions
    from gamewarden.pipeline.listing import RankOptions
    from gamewarden.presentation.ranking import Ranked
    from gamewarden.readers.logs.operator_tables import OwnTable
    from gamewarden.readers.options import SourceOptions
    from gamewarden.verdicts.prevalence import Prevalence
    from gamewarden.workspace.asking import Answers

RANKING = Layout(
    ("actor", "probability", "fpr", "point", "rolling", "verdict", "self_sim", "play_minutes", "level", "zone"),
    ("reasons",),
)
_SCORES = Layout(("actor", "since", "probability", "fpr", "detector", "events"))


def _fit_command(name: str) -> click.Command:
    if name == first_look.NAME:
        return first_look.fit_oddness
    from gamewarden import pipeline
    from gamewarden.cli.account_tables import fit_account_table
    from gamewarden.cli.verdicts import fit_fusion

    makers: dict[str, Callable[[str], click.Command]] = {
        "events": _fit_events,
        "packets": _fit_packets,
        "messages": sessions.fit_command,
        "table": fit_account_table,
        "scores": lambda _: fit_fusion,
    }
    return makers[pipeline.input_of(name)](name)


def _fit_packets(name: str) -> click.Command:
    from gamewarden import detectors, pipeline, readers, requests
    from gamewarden.cli.recipes import options_of

    detector = detectors.load(name)

    @click.command(
        name,
        help=f"{detector.says}\n\nTRACES are captures or packet logs. A trace is one actor; alone in its file it may "
        "be labelled by the file's name. Prints the tree with its thresholds, and the model's card.",
    )
    @click.argument("traces", nargs=-1, required=True, type=options.SOURCE, metavar="TRACES…")
    @options.labels
    @options.kept_in
    @options_of(detector)
    @options.packet_reading
    @click.option("--json", "as_json", is_flag=True, help="Print the card as JSON.")
    def command(
        *,
        traces: tuple[options.Where, ...],
        labels: "OwnTable",
        to: Path,
        reading: "SourceOptions",
        as_json: bool,
        **given: Any,  # noqa: ANN401  each recipe brings options of its own
    ) -> None:
        recipe = requests.recipe_named(name, given, current())
        with progress(f"fitting {name}") as done:
            sources = [readers.open(trace, reading) for trace in options.listed(traces)]
            run = options.run_options(reading)
            fitted = pipeline.fit_traces(recipe, sources, labels, to, run=run, progress=done)
        say(*fitted.notes)
        model: Any = fitted.model
        page = pipeline.page_of(model, to)
        show_page(page, as_json=as_json, before=f"{model.text()}\n\n")
        say(f"The model is in {fitted.path}")

    return command


def _fit_events(name: str) -> click.Command:
    from gamewarden import detectors, pipeline, requests
    from gamewarden.cli.recipes import options_of

    detector = detectors.load(name)
    feature = pipeline.feature_class_of(name)

    @click.command(name, help=f"{detector.says}\n\nPrints the model's card; the model itself is one JSON file in --to.")
    @options.source
    @options.labels
    @options.kept_in
    @options_of(feature)
    @options_of(detector)
    @options.reading
    @options.on
    @click.option("--json", "as_json", is_flag=True, help="Print the card as JSON.")
    def command(
        *,
        source: options.Where,
        labels: "OwnTable",
        to: Path,
        reading: "SourceOptions",
        as_json: bool,
        **given: Any,  # noqa: ANN401  each recipe brings options of its own
    ) -> None:
        recipe = requests.recipe_named(name, given, current(), reading.logs.time_zone)
        with progress(f"fitting {name}") as done:
            run = options.run_options(reading)
            fitted = pipeline.fit(recipe, options.opened(source, reading), labels, to, run=run, progress=done)
        say(*fitted.notes)
        page = pipeline.page_of(fitted.model, to)
        show_page(page, as_json=as_json)
        say(f"The model is in {fitted.path}")

    return command


def _detectors() -> "Registry":
    from gamewarden import detectors

    return detectors.REGISTRY


def _learners() -> tuple[str, ...]:
    """The detectors, and before them what needs no labels."""
    from gamewarden import detectors

    return (first_look.NAME, *detectors.names())


@click.group(cls=PartGroup, names=_learners, make=_fit_command, registry=_detectors)
def fit() -> None:
    """Train a detector on labelled accounts."""


@click.command
@options.sources
@options.models
@options.prevalence
@options.reading
@options.on
@options.packets
@ragnarok.decoding
@options.time_range
@options.fresh
@options.table
def score(
    *,
    sources: tuple[options.Where, ...],
    models: Path,
    prevalence: "Prevalence",
    reading: "SourceOptions",
    fresh: bool,
    present: Presentation,
) -> None:
    """Score every account and period with every model.

    A capture is scored by the models of packets and of sessions, a lake by those of events, a packetstream or a folder
    of them by those of sessions; a file with all the columns of an account table's model by that one, and any other
    table by whichever there are, those of events first. Several sources are scored together, each by the models of
    what it holds.

    `probability` is the calibrated chance of a bot where bots have the share --prevalence, `fpr` the share of
    reference humans that look at least as bot-like, however common bots are. Both are empty where there is too little
    evidence to say.
    """
    from gamewarden import pipeline

    home = at_rest("sources", "models")
    with progress("scoring") as done:
        if home is not None:
            told = options.answers(home, reading, fresh=fresh, progress=done).score(prevalence)
        else:
            held = options.opened_together(sources, reading, models)
            told = pipeline.score(held, models, options.run_options(reading), done, prevalence)
    say(*told.notes)
    present.table(told.frame, layout=_SCORES)


@click.command
@options.source
@options.models_if_any
@options.detector
@first_look.looking
@click.option(
    "--probability",
    type=click.FloatRange(0, 1),
    metavar="P",
    help="List accounts from this bot probability on.  [default: warden.toml]",
)
@click.option("--self-similarity", metavar="FROM[:TO]", help="Median self-similarity.")
@click.option("--level", metavar="FROM[:TO]", help="Level of the main character.")
@click.option("--in-zone", "zones", multiple=True, metavar="ZONE", help="Main activity zone; may be given again.")
@click.option("--play-time", metavar="FROM[:TO]", help="Minutes online, all periods together.")
@click.option("--kind", "kinds", multiple=True, metavar="KIND", help="With events of this kind; may be given again.")
@click.option(
    "--money",
    metavar="FROM[:TO]",
    help="Money gained, all periods together: found, by sales, received without an item.",
)
@click.option(
    "--shares-address",
    "sharing",
    type=click.IntRange(1),
    is_flag=False,
    flag_value=1,
    metavar="[N]",
    help="Seen at an address at which N other accounts were seen too.  [N: 1]",
)
@click.option(
    "--profiles",
    type=options.FILE,
    metavar="FILE",
    callback=from_workspace("profiles", needed=False),
    help="What is known beside the events, one row per actor.  [default: the workspace's]",
)
@click.option("--where", multiple=True, metavar="CONDITION", help="On any column, such as 'payment<1000'.")
@click.option(
    "--top", type=click.IntRange(0), metavar="N", help="At most so many; 0 lists all.  [default: warden.toml]"
)
@click.option("--html", "page", type=options.Page(), metavar="PAGE", help="Write a page, one card per account.")
@options.prevalence
@options.reading
@options.time_range
@options.fresh
@options.table
def rank(
    *,
    source: Path,
    models: Path | None,
    look: "LookOptions",
    page: Path | None,
    reading: "SourceOptions",
    fresh: bool,
    present: Presentation,
    **wishes: Any,  # noqa: ANN401  the filters, see pipeline.RankOptions
) -> None:
    """List the accounts to look at, highest first, with reasons.

    A list for review by a person, never a list of sanctions. --html writes it as a page as well: what speaks for and
    against each account, and its windows beside those of accounts that the model calls human.

    Without models, before anybody has said who is a bot, it lists who looks odd among all players: `as_odd` is the
    share of them who look at least as odd. That is neither a probability nor a false-positive rate.
    """
    from gamewarden import pipeline

    home, asked = at_rest("source", "models"), pipeline.RankOptions.of(current(), **wishes)
    if models is None or not first_look.has_models(models):
        first_look.refuse_without_models(page=page, **wishes)
        looker = first_look.Looker(replace(look, models=models), home, reading, fresh)
        first_look.rank(source, asked, looker, present)
        return
    with progress("ranking") as done:
        if home is not None:
            found = options.answers(home, reading, fresh=fresh, progress=done)
            if not found.lists_events(asked.detector):
                _rank_judged(found, asked, page, present)
                return
            told = found.rank(asked, everybody=page is not None)
        else:
            told = pipeline.rank(options.opened(source, reading), models, asked, options.run_options(reading), done)
    say(*told.notes)
    if page is not None:
        _write_page(told, page, options.opened(source, reading), models)
    present.table(told.frame if present.for_machines else pipeline.ranking_in_short(told), layout=RANKING)


def _rank_judged(answers: "Answers", asked: "RankOptions", page: Path | None, present: Presentation) -> None:
    """List the accounts of a workspace that packets, client messages and account tables were judged by."""
    if page is not None:
        raise ConfigError("rank: --html draws events, and no log was taken in")
    told = answers.rank_judged(asked)
    say(*told.notes)
    present.table(told.frame, layout=RANKING)


def _write_page(told: "Ranked", page: Path, source: "Source", models: Path) -> None:
    from gamewarden import pipeline
    from gamewarden.core.files import write_text
    from gamewarden.presentation.rank_page import rank_page

    with progress("drawing") as done:
        shown = pipeline.rank_cards(told, source, models, done)
    write_text(page, rank_page(shown))
    say(f"{counted(len(shown.cards), 'card')} in {page}")


@click.command
@click.argument("actor")
@options.sources
@options.models_if_any
@options.detector
@first_look.looking
@options.plot
@options.prevalence
@options.ports
@options.reading
@ragnarok.decoding
@options.time_range
@options.fresh
@options.table
def explain(
    *,
    actor: str,
    sources: tuple[options.Where, ...],
    models: Path | None,
    look: "LookOptions",
    detector: str | None,
    plot: Path | None,
    server_ports: tuple[int, ...],
    prevalence: "Prevalence",
    reading: "SourceOptions",
    fresh: bool,
    present: Presentation,
) -> None:
    """Say in sentences why an account scores as it does.

    Without models it says what looks odd in the account among all players.
    """
    from gamewarden import pipeline
    from gamewarden.presentation.story import explanation_text

    if plot is not None:
        need("explain --plot", "matplotlib")
    if models is None or not first_look.has_models(models):
        first_look.refuse_without_models(detector=detector)
        looker = first_look.Looker(replace(look, models=models), at_rest("sources", "models"), reading, fresh)
        first_look.explain(actor, sources, looker, present, plot)
        return
    asked, run = options.with_ports(reading, server_ports), options.run_options(reading)
    home = at_rest("sources", "models")
    with progress(f"looking at {actor}") as done:
        if home is not None:
            story = options.answers(home, reading, fresh=fresh, progress=done).explain(actor, detector, prevalence)
        else:
            held = options.opened_together(sources, asked, models)
            story = pipeline.explain(actor, held, models, detector, run=run, prevalence=prevalence, progress=done)
    if plot is not None:
        pipeline.draw_story(story, plot)
        say(f"Its windows are drawn in {plot}")
    say(*story.caveats, prevalence.sentence)
    if present.for_machines:
        present.table(story.evidence)
    else:
        tell(*explanation_text(story, width_here()).split("\n"))
