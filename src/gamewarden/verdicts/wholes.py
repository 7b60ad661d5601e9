"""What an FPR of a whole period promises, and for which models it cannot be promised."""

from collections.abc import Iterator, Sequence

import polars as pl

from gamewarden.contracts import Model
from gamewarden.core.clock import Clock
from gamewarden.core.durations import span_text
from gamewarden.verdicts.meeting import Limits, least_covered, only_covered
from gamewarden.verdicts.periods import KEY, periods_of
from gamewarden.verdicts.rules import VerdictRules

PROMISE = (
    "FPRs were combined without labels: a family's is the share of human days, of as many rows as this one and of "
    "all, that look at least as bot-like; two families have twice the lower of their FPRs, n families n/2 times the "
    "second lowest, where a silent family's is 1; this holds however families depend on each other"
)


def unranked(scores: pl.DataFrame, models: Sequence[Model], cut: Clock) -> Iterator[str]:
    """Which models judged periods of several rows that they could not rank among whole human periods."""
    for model in models:
        days = model.days
        if days is not None and days.cut == cut:
            continue
        mine = scores.filter(pl.col("model") == model.card.id, pl.col("probability").is_not_null())
        if days is None and not periods_of(mine, cut).select(KEY).is_duplicated().any():
            continue
        known = "on none" if days is None else f"on {_told(days.cut)}"
        yield (
            f"{model.card.id} judges parts of a period and was calibrated {known}, not on {_told(cut)}: its FPR is "
            "twice the mean of the parts', and more people may reach it than it says, above all with little play"
        )


def _told(cut: Clock) -> str:
    return f"periods of {span_text(cut.every)} in {cut.time_zone}"


def of_whole_periods(
    parts: pl.DataFrame, marks: pl.DataFrame, models: Sequence[Model], rules: VerdictRules
) -> pl.DataFrame:
    """What the detectors say of periods that the source covers; of the others there is no verdict."""
    limits = Limits(covered=rules.covered)
    least = min(least_covered(model.card.training, limits) for model in models)
    return parts.join(only_covered(marks, least).select(KEY), on=KEY, how="semi", maintain_order="left")
