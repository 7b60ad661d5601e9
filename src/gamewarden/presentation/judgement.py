"""A judgement for people: the most suspect first, and how many periods reach which point."""

from collections import Counter
from collections.abc import Iterator
from typing import Protocol

import polars as pl

from gamewarden.contracts import Model
from gamewarden.core.text import counted
from gamewarden.tables import VERDICTS
from gamewarden.verdicts.points import ACT, NEITHER, WATCH, OperatingPoints
from gamewarden.verdicts.wholes import PROMISE


class Judged(Protocol):
    """What is told of a judgement, however its verdicts are held."""

    @property
    def models(self) -> tuple[Model, ...]:
        """Who judged."""

    @property
    def fusion(self) -> Model | None:
        """What the scores were fused with."""

    @property
    def points(self) -> OperatingPoints:
        """The operating points."""

    def pieces(self) -> Iterator[pl.DataFrame]:
        """VERDICTS, a piece at a time; no actor and period is in two."""


def judgement_in_short(judgement: Judged, most: int | None = None) -> pl.DataFrame:
    """The verdicts for a person: the most suspect first, with the operating point each reaches; `most` at the most."""
    order = pl.col("point").replace_strict({ACT: 0, WATCH: 1, NEITHER: 2}, default=3)
    nothing = pl.DataFrame(schema=dict(VERDICTS.columns) | {"point": pl.String})
    pieces = (verdicts.with_columns(judgement.points.reached(verdicts)) for verdicts in judgement.pieces())
    if most is None:
        return pl.concat([nothing, *pieces]).sort(order, "fpr", "actor", "since", nulls_last=True)
    first = nothing
    for piece in pieces:
        first = pl.concat([first, piece]).sort(order, "fpr", "actor", "since", nulls_last=True).head(most)
    return first


def judgement_summary(judgement: Judged) -> tuple[str, ...]:
    """How many periods reach which point, and how the detectors were fused."""
    count: Counter[str | None] = Counter()
    for verdicts in judgement.pieces():
        count.update(dict(judgement.points.reached(verdicts).value_counts().iter_rows()))
    reached = (
        f"Of {count.total():,} periods {count[ACT]:,} reach the point to act, {count[WATCH]:,} "
        f"more the point to watch, and {count[None]:,} have too little evidence to say."
    )
    return (f"{counted(len(judgement.models), 'model')}; {_how(judgement)}.", reached)


def _how(judgement: Judged) -> str:
    """How the answers of the models became one."""
    first = judgement.models[0]
    if judgement.fusion is not None:
        return f"fused by {judgement.fusion.id}"
    if all(model.feature.name == first.feature.name for model in judgement.models):
        return f"one family of features, {first.feature.name}, and the FPR is {first.card.detector}'s"
    return PROMISE
