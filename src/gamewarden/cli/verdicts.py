"""Commands for judging: `judge`, `budget`, and `fit fusion`."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from gamewarden.cli import options
from gamewarden.cli.settings import current
from gamewarden.cli.show import Presentation, progress, say

if TYPE_CHECKING:
    from gamewarden.pipeline import Reading

_EVERY = click.option("--every", type=options.Span(), help="Length of one period.  [default: warden.toml]")


@click.command
@options.source
@options.models
@_EVERY
@options.reading
@options.packets
@options.table
def judge(*, source: Path, models: Path, every: int | None, reading: "Reading", present: Presentation) -> None:
    """Judge every account and period by all detectors at once.

    A fitted fusion is used where there is one of these models; otherwise alarms are combined in a way that holds
    whatever the detectors have in common. A verdict is a reason to look or to ask, never a sanction.
    """
    from gamewarden import pipeline

    with progress("judging") as done:
        found = pipeline.judge(source, models, reading, config=current(), every=every, progress=done)
    say(*found.remarks, *pipeline.judgement_summary(found))
    present.table(found.verdicts if present.for_machines else pipeline.judgement_in_short(found))


@click.command("fusion")
@options.source
@options.labels
@options.models
@click.option("--to", type=options.FILE, metavar="DIR", help="Where the fusion is kept.  [default: with the models]")
@_EVERY
@click.option("--folds", type=click.IntRange(2), default=5, show_default=True, help="Parts held out in turn.")
@options.reading
@click.option("--json", "as_json", is_flag=True, help="Print the card as JSON.")
def fit_fusion(
    *,
    source: Path,
    labels: Path,
    models: Path,
    to: Path | None,
    every: int | None,
    folds: int,
    reading: "Reading",
    as_json: bool,
) -> None:
    """How much each detector's answer counts beside the others', as one verdict a period.

    Every detector with a model in --models is fitted anew without a part of the labelled accounts, which it then scores:
    the fusion learns from answers on strangers. Prints its card.
    """
    from gamewarden import pipeline
    from gamewarden.detectors.card import card_json, card_markdown
    from gamewarden.verdicts.fusion import Fusion

    config = current()
    recipe = Fusion(folds=folds, styles=pipeline.styles_of(config))
    with progress("fitting fusion") as done:
        fitted = pipeline.fit_fusion(
            source,
            labels,
            models,
            to or models,
            fusion=recipe,
            config=config,
            every=every,
            reading=reading,
            progress=done,
        )
    say(*fitted.remarks)
    click.echo((card_json if as_json else card_markdown)(fitted.model.card))
    say(f"The fusion is in {fitted.path}")


@click.command
def budget() -> None:
    """X"""
