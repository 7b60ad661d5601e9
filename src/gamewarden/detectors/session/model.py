"""A fitted classifier of sessions: scoring and explaining with plain NumPy, nothing in it that can run."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Annotated, Any, ClassVar

import numpy as np
import polars as pl

from gamewarden.detectors.session.classifiers import Classifier, Neighbours, Network
from gamewarden.detectors.session.sentences import sentence
from gamewarden.detectors.session.vectors import PUBLISHED, Column, checked, judged, width
from gamewarden.learning.attribution import shapley
from gamewarden.learning.calibration import Floats
from gamewarden.learning.columns import matrix
from gamewarden.learning.fitted import CalibratedModel, evidence_table
from gamewarden.learning.validation import Rule

WEAKNESSES = (
    "Sessions spent sitting carry no evidence: players who rest and bots that rest look alike.",
    "People who gather crowds of monsters before they fight (mobbing) move like programs.",
    "It knows the bot programs it was shown; one that clicks like a person is not told apart.",
    "It holds for one game, one client and one server: latency and walking speed change every number.",
)


@dataclass(frozen=True, kw_only=True)
class SessionModel(CalibratedModel):
    """A fitted classifier of sessions: plain numbers, nothing that can run."""

    always_weak: ClassVar[tuple[str, ...]] = WEAKNESSES

    columns: Annotated[tuple[Column, ...], Rule(bool, "a list of at least one column")]
    method: Network | Neighbours = field(metadata={"key": "machine"})

    @cached_property
    def classifier(self) -> Classifier:
        """The published classifier, without calibration."""
        return Classifier(self.columns, self.method)

    @property
    def as_published(self) -> bool:
        """Whether it sees the numbers on the scales of the thesis and judges sessions spent sitting too."""
        return self.recipe.get("inputs") == PUBLISHED or self.recipe.get("form") == PUBLISHED

    @property
    def base(self) -> float:
        """The log-odds of a session whose every number is the median human's."""
        return self.slope * float(self.classifier.decide(self._typical[None])[0]) + self.offset

    def decide(self, features: pl.DataFrame) -> Floats:
        """The classifier's own decision before calibration, NaN where there is too little evidence."""
        table = self._table(features)
        decisions: Floats = np.where(self._judged(table).to_numpy(), self._decide(table), np.nan)
        return decisions

    def score(self, features: pl.DataFrame) -> pl.DataFrame:
        """SCORES: one row a session in the table's order; too little evidence gives null, never a number."""
        table = self._table(features)
        return self.scored(table, self._decide(table), self._judged(table))

    def explain(self, features: pl.DataFrame) -> pl.DataFrame:
        """EVIDENCE: a session after the other, in each the heaviest number first.

        `weight` is a number's Shapley share of the way from the median human's log-odds, `base`, to this session's:
        the classifiers are no sums, so that a share depends on the other numbers too.
        """
        table = self._table(features)
        values, enough = matrix(table, self._names), self._judged(table).to_list()
        rows = [part for at in range(table.height) for part in self._row(at, values[at], enough=enough[at])]
        return evidence_table(rows, table, self.detector)

    def agreements(self) -> Iterator[tuple[str, bool]]:
        """What must hold between its values."""
        yield from super().agreements()
        yield "its columns are the recipe's", list(self._names) == self.recipe.get("columns")
        yield from self.method.fits(width(self.columns))

    @property
    def _names(self) -> tuple[str, ...]:
        return tuple(column.name for column in self.columns)

    @property
    def _typical(self) -> Floats:
        return np.array([column.typical for column in self.columns], dtype=np.float64)

    def _table(self, features: pl.DataFrame) -> pl.DataFrame:
        return checked(features, self._names, self.detector)

    def _judged(self, table: pl.DataFrame) -> pl.Series:
        return judged(table, as_published=self.as_published)

    def _decide(self, table: pl.DataFrame) -> Floats:
        return self.classifier.decide(matrix(table, self._names))

    def _row(self, at: int, values: Floats, *, enough: bool) -> list[tuple[Any, ...]]:
        """The evidence of one session."""
        shares = self.slope * shapley(self.classifier.decide, values, self._typical)
        order = np.argsort(-np.abs(shares), kind="stable") if enough else np.arange(values.size)
        return [self._fact(at, place, values, shares, enough=enough) for place in order.tolist()]

    def _fact(self, at: int, place: int, values: Floats, shares: Floats, *, enough: bool) -> tuple[Any, ...]:
        column = self.columns[place]
        value = None if np.isnan(values[place]) else float(values[place])
        says = sentence(column.name, value, column.percentiles, as_published=self.as_published)
        return at, column.name, value, column.typical, float(shares[place]) if enough else None, says

    def _learned(self) -> dict[str, Any]:
        return {
            **_size(self.method),
            "columns": {
                column.name: {"center": column.center, "spread": column.spread, "typical": column.typical}
                for column in self.columns
            },
        }


def _size(method: Network | Neighbours) -> dict[str, Any]:
    if isinstance(method, Network):
        return {"network": f"{len(method.hidden[0]) - 1}-{len(method.hidden)}-1"}
    return {"form": method.form, "neighbours": method.neighbours, "known_sessions": len(method.known)}
