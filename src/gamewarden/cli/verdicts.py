"""Commands for judging: `judge`, `budget`, and `fit fusion`."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from gamewarden.cli import options, ragnarok
from gamewarden.cli.home import at_rest
from gamewarden.cli.settings import current
from gamewarden.cli.show import Presentation, complain, lay_out, most_rows, progress, say, show_page, tell
from gamewarden.core.extras import need
from gamewarden.core.text import counted
from gamewarden.presentation.listing import Layout

if TYPE_CHECKING:
    import polars as pl

    from gamewarden.readers.logs.operator_tables import OwnTable
    from gamewarden.readers.options import SourceOptions
    from gamewarden.verdicts.prevalence import Prevalence
    from gamewarden.workspace.place import Workspace

_EVERY = click.option("--every", type=options.Span(), help="Length of one period.  [default: warden.toml]")


@click.command
@options.sources
@options.models
@_EVERY
@click.option("--to", type=options.FILE, metavar="DIR", help="Keep the verdicts here, with all they rest on.")
@click.option("--all", "every_one", is_flag=True, help="Keep also those that reach no operating point.")
@options.prevalence
@options.reading
@options.on
@options.packets
@ragnarok.decoding
@options.time_range
@options.fresh
@options.table
def judge(
    *,
    sources: tuple[options.Where, ...],
    models: Path,
    every: int | None,
    to: Path | None,
    every_one: bool,
    prevalence: "Prevalence",
    reading: "SourceOptions",
    fresh: bool,
    present: Presentation,
) -> None:
    """Judge every account and period by all detectors at once.

    Several sources of the same players are judged together: a lake or logs, captures and packet logs, what clients
    said, and an account table, whose rows count in every period that another source gives. An account needs one name
    in all of them; captures are named by --accounts.

    A fitted fusion is used where there is one of these models; otherwise the false-positive rates of whole days
    are combined in a way that holds whatever the detectors have in common. For each: probability, false-positive rate,
    how many families of features agree, and for how many periods in a row. A verdict is a reason to look or to ask,
    never a sanction.
    """
    from gamewarden import pipeline

    home = at_rest("sources", "models", "every", "to", "share")
    if home is not None:
        _judge_at_rest(home, reading, present, fresh=fresh)
        return
    held, run = options.opened_together(sources, reading, models), options.run_options(reading)
    with progress("judging") as done:
        found = pipeline.judge_lean(
            held, models, run, config=current(), every=every, prevalence=prevalence, progress=done
        )
    say(*found.notes, *found.caveats, *pipeline.judgement_summary(found))
    if to is not None:
        with progress("keeping verdicts") as done:
            recorded = pipeline.record(found, held, to, every_one=every_one, progress=done)
        say(*recorded.sentences(to))
    if present.for_machines:
        present.table(found.verdicts)
    else:
        short = pipeline.judgement_in_short(found, most_rows())
        lay_out(short, rows=found.rows, layout=Layout(("actor", "since", "probability", "fpr", "point", "agree")))


def _judge_at_rest(home: "Workspace", reading: "SourceOptions", present: Presentation, *, fresh: bool) -> None:
    """Judge what is missing of a workspace, keep it, and show all of the time asked for."""
    from gamewarden import pipeline

    with progress("judging") as done:
        found, new = options.answers(home, reading, fresh=fresh, progress=done).judge()
    judgement = found.judgement
    say(*judgement.notes, *judgement.caveats, *pipeline.judgement_summary(judgement))
    count = counted(len(new.seals), "day")
    say(f"{count} judged and sealed now; `gamewarden verdict show ID` shows all that one rests on")
    if present.for_machines:
        present.table(found.verdicts)
    else:
        short = found.most_suspect(most_rows())
        layout = Layout(("actor", "since", "probability", "fpr", "point", "agree", "verdict"))
        lay_out(short, rows=found.verdicts.height, layout=layout)
    if new.failures:
        complain(*(f"gamewarden: judge: {line}" for line in new.troubles))
        click.get_current_context().exit(1)


@click.command("fusion")
@options.sources
@options.labels
@options.models
@click.option("--to", type=options.FILE, metavar="DIR", help="Where the fusion is kept.  [default: with the models]")
@_EVERY
@click.option("--folds", type=click.IntRange(2), default=5, show_default=True, help="Parts held out in turn.")
@options.reading
@options.packets
@ragnarok.decoding
@click.option("--json", "as_json", is_flag=True, help="Print the card as JSON.")
def fit_fusion(
    *,
    sources: tuple[options.Where, ...],
    labels: "OwnTable",
    models: Path,
    to: Path | None,
    every: int | None,
    folds: int,
    reading: "SourceOptions",
    as_json: bool,
) -> None:
    """How much each detector's answer counts beside the others', as one verdict per period.

    Every detector with a model in --models is fitted anew without a part of the labelled accounts, which it then
    scores: the fusion learns from answers on strangers. Prints its card.
    """
    from gamewarden import pipeline
    from gamewarden.detectors.fusion.recipe import Fusion

    need("fit fusion", "sklearn")
    config = current()
    recipe = Fusion(folds=folds, styles=pipeline.styles_of(config))
    with progress("fitting fusion") as done:
        fitted = pipeline.fit_fusion(
            options.opened_together(sources, reading, models),
            labels,
            models,
            to or models,
            fusion=recipe,
            config=config,
            every=every,
            run=options.run_options(reading),
            progress=done,
        )
    say(*fitted.notes)
    page = pipeline.page_of(fitted.model, to or models)
    show_page(page, as_json=as_json)
    say(f"The fusion is in {fitted.path}")


class _Cost(click.ParamType[tuple[float, float]]):
    """What a wrong accusation and a missed bot cost, as 10:1."""

    name = "cost"

    def convert(
        self,
        value: Any,  # noqa: ANN401  click's signature
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> tuple[float, float]:
        """The two numbers."""
        if isinstance(value, tuple):
            return value
        try:
            wrong, missed = map(float, value.split(":"))
        except ValueError:
            self.fail(f"{value!r} is not two numbers such as 10:1", param, ctx)
        return wrong, missed


@click.command
@click.argument("scores", type=options.FILE, required=False)
@click.option("--labels", type=options.FILE, metavar="FILE", help="Who in SCORES is known to be human: actor,bot.")
@click.option(
    "--models", type=options.FILE, metavar="DIR", help="Where fitted models are; their held-out humans count."
)
@click.option("--wrong-per-month", type=float, help="Wrong accusations a month that can be accepted.")
@click.option("--players", type=click.IntRange(min=1), help="How many people play.")
@click.option(
    "--days",
    type=click.FloatRange(0, min_open=True),
    help="On how many days each human was seen, where its rows are all it did then.  [default: days with a row]",
)
@click.option("--confidence", type=float, help="Per cent: how sure the promise must be.  [default: warden.toml]")
@click.option("--reviewed", type=options.FILE, metavar="FILE", help="Instead: flags that people reviewed, actor,bot.")
@click.option("--cost", type=_Cost(), metavar="FP:FN", help="Instead: what a wrong accusation and a missed bot cost.")
@options.prevalence
@options.reading
@options.table
def budget(
    *,
    scores: Path | None,
    labels: Path | None,
    models: Path | None,
    wrong_per_month: float | None,
    players: int | None,
    days: float | None,
    confidence: float | None,
    reviewed: Path | None,
    cost: tuple[float, float] | None,
    prevalence: "Prevalence",
    reading: "SourceOptions",
    present: Presentation,
) -> None:
    """Find the threshold that keeps a budget of wrong accusations.

    From the humans held out when the models of --models were fitted, or from SCORES of people no model had seen. Says
    plainly when they are too few to promise it, and how many would be needed: then nothing above review is allowed.

    Where few people play, --reviewed says instead how many flags a month may be followed, from the outcomes of those
    that people have reviewed.
    """
    from gamewarden import pipeline
    from gamewarden.verdicts.budget import Budget
    from gamewarden.verdicts.reviewed import Accepted

    config = current()
    sure = config.budget.confidence if confidence is None else confidence
    if reviewed is not None:
        if wrong_per_month is None:
            raise click.UsageError("--reviewed needs --wrong-per-month")
        need("budget", "scipy")
        flags = pipeline.budget_of_flags(Accepted(wrong_per_month, sure), reviewed, reading.logs.time_zone)
        _present_with_words(flags, present)
        return
    if cost is not None:
        if models is None:
            raise click.UsageError("--cost needs --models: what their probabilities suppose decides")
        say(prevalence.sentence)
        _present_with_words(pipeline.costs_of_models(cost, prevalence, models), present)
        return
    if wrong_per_month is None or players is None:
        raise click.UsageError("give --wrong-per-month and --players, --reviewed, or --cost")
    need("budget", "scipy")
    asked = Budget(wrong_per_month, players, sure)
    if scores is not None:
        found = pipeline.budget_of_scores(asked, scores, labels, reading.logs.time_zone, days)
    elif models is not None:
        found = pipeline.budget_of_models(asked, models, days)
    else:
        found = pipeline.budget_alone(asked)
    _present_with_words(found, present)
    say(*pipeline.instead_of_players(asked, found))


def _present_with_words(frame: "pl.DataFrame", present: Presentation) -> None:
    """The table for machines; for a person its sentences, then the numbers."""
    if present.for_machines:
        present.table(frame)
        return
    for model, says in frame.select("model", "says").iter_rows():
        tell(f"{model}: {says}", "")
    first = ("model", "humans", "fewest_days", "fpr", "accused", "humans_needed", "above_review", "probability")
    flags = ("reviewed", "people", "wrong_at_most", "flags_a_month")
    present.table(frame.select(name for name in (*first, *flags) if name in frame.columns))
