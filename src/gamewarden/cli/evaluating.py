"""`gamewarden evaluate`: how good detectors are, under several splits side by side."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from gamewarden.cli import options
from gamewarden.cli.registry import LateOptions
from gamewarden.cli.settings import current
from gamewarden.cli.show import Presentation, progress, say
from gamewarden.core.extras import need

if TYPE_CHECKING:
    from gamewarden.readers.logs.operator_tables import OwnTable
    from gamewarden.readers.options import SourceOptions

SPLITS = ("random", "actor", "farm", "time", "family", "all")


def _feature_options() -> list[click.Parameter]:
    """The options of every feature that a detector sees, each once."""
    from gamewarden import features, pipeline
    from gamewarden.cli.recipes import options_of

    known: dict[str | None, click.Parameter] = {}
    for name in dict.fromkeys(pipeline.FEATURE_TRIED.values()):
        holder = click.Command("options")
        options_of(features.load(name))(holder)
        for option in reversed(holder.params):  # decorators add from the last to the first
            known.setdefault(option.name, option)
    return list(known.values())


@click.command(cls=LateOptions, late=_feature_options)
@options.source
@options.labels
@click.option(
    "--split",
    "splits",
    type=click.Choice(SPLITS),
    multiple=True,
    help="Who is held out; may be given again.  [default: actor, or farm where groups are named]",
)
@click.option(
    "--protocol",
    type=click.Choice(["folds", "leave-pair-out"]),
    default="folds",
    show_default=True,
    help="Parts of all actors, or every pair of a bot and a human, held out in turn.",
)
@click.option("--detector", "tried", multiple=True, metavar="NAME", help="Only this one; may be given again.")
@click.option("--group", metavar="COLUMN", help="Column of the labels: who belongs together is held out together.")
@click.option(
    "--cut", type=options.Moment(), help="Where --split time divides.  [default: the middle of the labelled play]"
)
@click.option("--folds", type=click.IntRange(2), help="Parts the actors are split into.  [default: warden.toml]")
@click.option("--pairs", type=click.IntRange(min=1), help="Pairs beyond which a sample is held out.  [default: 400]")
@options.prevalence
@click.option("--models", type=options.FILE, metavar="DIR", help="Keep the results beside the models they belong to.")
@click.option("--report", type=options.Page(), metavar="FILE", help="Write all of it as one HTML page for people.")
@options.plot
@options.reading
@options.on
@options.time_range
@options.table
def evaluate(
    *,
    source: options.Where,
    labels: "OwnTable",
    protocol: str,
    tried: tuple[str, ...],
    models: Path | None,
    report: Path | None,
    plot: Path | None,
    reading: "SourceOptions",
    present: Presentation,
    **given: Any,  # noqa: ANN401  how to split, and the options of the feature
) -> None:
    """Say how good the detectors are on accounts they have not seen.

    Beside a baseline that knows nothing and one that only counts events, held out by actor, farm, time or bot family;
    a random split shows how much it would flatter. `--split all` puts them side by side. Or, as for the chunks of
    actions, with every pair of a bot and a human held out once.

    For each: AUC with its interval, TPR at 1 % and 0.1 % FPR, precision at the share of bots, time to detection.
    """
    from gamewarden import pipeline, requests

    _need_all(plot, report)
    config = current()
    splitting = {name: given.pop(name) for name in ("group", "folds", "prevalence", "pairs", "splits", "cut")}
    rules = pipeline.Protocol.of(config, name=protocol, **splitting)
    feature, names = requests.evaluation_named(tried, rules, given, config, reading.logs.time_zone)
    held, run = options.opened(source, reading), options.run_options(reading)
    with progress("evaluating") as done:
        told = pipeline.evaluate(feature, held, labels, rules, tried=names, run=run, models=models, progress=done)
    say(*told.notes)
    if plot is not None:
        pipeline.draw_evaluation(told, plot)
        say(f"The ROC curves are drawn in {plot}")
    if report is not None:
        pipeline.report_evaluation(told, held, labels, report)
        say(f"The report is in {report}")
    present.table(told.result.summary if present.for_machines else pipeline.evaluation_in_short(told.result))


def _need_all(plot: Path | None, report: Path | None) -> None:
    """Said before hours of measuring, not after."""
    need("evaluate", "sklearn", "scipy")
    for option, wanted in (("--plot", plot), ("--report", report)):
        if wanted is not None:
            need(f"evaluate {option}", "matplotlib")
