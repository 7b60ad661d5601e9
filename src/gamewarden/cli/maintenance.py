"""Commands that keep models true: `maintain`, `backtest`."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from gamewarden.cli import options
from gamewarden.cli.home import at_rest, from_workspace, workspace
from gamewarden.cli.settings import current
from gamewarden.cli.show import Presentation, complain, progress, say, tell
from gamewarden.core.extras import need

if TYPE_CHECKING:
    from gamewarden.contracts import Model
    from gamewarden.pipeline.maintaining import Maintained, MaintenanceOptions
    from gamewarden.readers.options import SourceOptions

_MOMENT = click.DateTime(["%Y-%m-%d", "%Y-%m-%dT%H:%M", "%Y-%m-%dT%H:%M:%S"])


@click.command
@click.option(
    "--lake",
    type=options.FILE,
    metavar="DIR",
    callback=from_workspace("lake"),
    help="Where events are; it may keep growing.  [default: the workspace's]",
)
@options.models
@click.option(
    "--labels",
    type=options.FILE,
    metavar="FILE",
    callback=from_workspace("labels", needed=False),
    help="Confirmed labels, without which nothing is retrained.  [default: the workspace's]",
)
@click.option("--detector", help="Maintain this detector; by default the one that sees most.")
@click.option("--since", type=_MOMENT, metavar="DATE", help="Where the first run begins (UTC).")
@click.option("--until", type=_MOMENT, metavar="DATE", help="Only periods that end by then (UTC).")
@click.option("--ban-wave", "ban_waves", type=_MOMENT, multiple=True, metavar="DATE", help="A ban wave fell on it.")
@click.option("--every", type=options.Span(), metavar="SPAN", help="Keep running, and look again this often.")
@click.option("--explain", is_flag=True, help="Only tell what was done so far, in sentences.")
@options.plot
@click.option("--report", type=options.FILE, metavar="FILE", help="Write chart, table and story as one HTML page.")
@click.option(
    "--time-zone",
    "--zone",
    type=options.Zone(),
    help="Time zone of label times written without one.  [default: the lake's]",
)
@options.measured_by
@options.table
def maintain(
    *,
    every: int | None,
    explain: bool,
    plot: Path | None,
    report: Path | None,
    present: Presentation,
    **asked: Any,  # noqa: ANN401  see pipeline.maintaining.MaintenanceOptions
) -> None:
    """Watch a model, retrain it when it drifts, keep what is better.

    Every period that is over is scored, watched with an EWMA chart, and answered once: out of control, a new model is
    fitted on the newest labels, validated, and promoted or refused. In a workspace one is refused too that flags an
    account which an appeal has exonerated, on the same evidence. Run it as often as you like; it does only what is left
    to do. MODELS/maintenance holds the history.
    """
    from gamewarden.pipeline import maintaining
    from gamewarden.requests import reading_of

    given = {name: _utc(value) for name, value in asked.items()}
    given["time_zone"] = reading_of(current(), time_zone=given["time_zone"], places=[given["lake"]]).logs.time_zone
    engine = options.engine_at(given.pop("on") or "")
    task = maintaining.MaintenanceOptions(**given, config=current(), objections=_objections, engine=engine)
    if explain:
        tell(*(maintaining.told(task) or ["Nothing has been done yet."]))
        return
    _need_all(task, plot, report)
    if every is not None:
        _keep_running(task, every)
        return
    with progress("maintaining") as done:
        result = maintaining.maintain(task, tick=lambda _step, _moment: done(1))
    _show(task, result, plot, report, present)


def _objections(model: "Model") -> Sequence[str]:
    """What the workspace has against a model, if there is a workspace: it flags whom an appeal has exonerated."""
    home = workspace()
    if home is None or not home.has_ledger:
        return ()
    from gamewarden.workspace.gate import Gate

    return Gate(home).objections(model)


def _need_all(task: "MaintenanceOptions", plot: Path | None, report: Path | None) -> None:
    """Said before the first period, not when the first model has to be learned or drawn."""
    if task.labels is not None:
        need("maintain --labels", "sklearn")
    for option, wanted in (("--plot", plot), ("--report", report)):
        if wanted is not None:
            need(f"maintain {option}", "matplotlib")


def _show(
    task: "MaintenanceOptions", result: "Maintained", plot: Path | None, report: Path | None, present: Presentation
) -> None:
    from gamewarden.core.files import write_text
    from gamewarden.pipeline import maintaining
    from gamewarden.presentation.maintenance_page import chart_page, draw_chart

    title = f"{result.detector}: the likeness of its scores from period to period"
    if plot is not None:
        draw_chart(result.periods, plot, title)
        say(f"The control chart is drawn in {plot}")
    if report is not None:
        write_text(report, chart_page(result.periods, title, maintaining.told(task)))
        say(f"The report is in {report}")
    say(*result.notes)
    present.table(result.periods, title)


def _keep_running(task: "MaintenanceOptions", every: int) -> None:
    """Maintain, wait, and again, until somebody asks to stop; then the period in hand is finished first."""
    import signal
    from threading import Event

    from gamewarden.errors import GamewardenError
    from gamewarden.pipeline import maintaining

    asked = Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: asked.set())
    home = at_rest("labels")
    while not asked.is_set():
        try:
            # People may have said something since in the workspace's ledger.
            told = task if home is None else replace(task, labels=home.labels)
            result = maintaining.maintain(told, stop=asked.is_set)
            say(f"{result.new:,} periods done; {result.periods.height:,} in all")
        except GamewardenError as error:
            # A lake that is being written or a label file that is being copied is there again next time.
            complain(f"gamewarden: {error}; trying again later")
        asked.wait(every / 1_000_000)
    say("stopped")


def _utc(value: Any) -> Any:  # noqa: ANN401  any option's value
    if isinstance(value, tuple):
        return tuple(map(_utc, value))
    return value.replace(tzinfo=UTC) if isinstance(value, datetime) else value


@click.command
@options.source
@click.option(
    "--models",
    type=options.FILE,
    nargs=2,
    required=True,
    metavar="A B",
    help="Two model files, or directories of which the model in force is taken.",
)
@click.option("--since", type=_MOMENT, metavar="DATE", help="Only events from then on (UTC).")
@click.option("--until", type=_MOMENT, metavar="DATE", help="Only events before then (UTC).")
@click.option("--labels", type=options.FILE, metavar="FILE", help="Count by label too.")
@click.option("--profiles", type=options.FILE, metavar="FILE", help="What else is known, one row per actor.")
@click.option("--by", multiple=True, metavar="COLUMN", help="Count by this column of the profiles; may be given again.")
@click.option(
    "--probability",
    type=click.FloatRange(0, 1),
    help="Flagged from this bot probability on.  [default: [rank] probability of warden.toml]",
)
@options.prevalence
@options.reading
@options.table
def backtest(
    *,
    probability: float | None,
    reading: "SourceOptions",
    present: Presentation,
    **asked: Any,  # noqa: ANN401  see pipeline.BacktestOptions
) -> None:
    """Show whom model B would newly flag or spare beside model A.

    By play style, by label and by any column of the profiles. Nothing is promoted.
    """
    from gamewarden.pipeline import BacktestOptions, backtest, styles_of

    config = current()
    threshold = config.rank.probability if probability is None else probability
    given = {name: _utc(value) for name, value in asked.items()}
    given["source"] = options.opened(given["source"], reading)
    question = BacktestOptions(**given, probability=threshold, styles=styles_of(config))
    with progress("scoring the past") as done:
        found = backtest(question, options.run_options(reading), done)
    say(*found.notes)
    present.table(found.groups, "Model B beside model A, by group")
    present.beside(found.changes, "Who changes")
