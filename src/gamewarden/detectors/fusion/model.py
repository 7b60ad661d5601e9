"""A fitted fusion: how much each detector's answer counts beside the others', as plain numbers.

A detector that is missing is missing, and neither 0 nor average: what it would have said is expected from those that
spoke, by how they went together in training.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Annotated, Any, ClassVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from gamewarden.core.clock import Clock
from gamewarden.detectors.fusion.scores import SCORES_OF
from gamewarden.learning.fitted import CalibratedModel, evidence_table
from gamewarden.learning.reference import Floats, StyleReferences
from gamewarden.learning.validation import NotNegative, Positive, Rule, Text, finite, is_time_zone, whole

MOST_TERMS = 32
LEAST_EIGENVALUE = 0.05  # correlations are kept this far from singular
USUAL = 1.0  # deviations from the mean within which an answer is a usual one
_ROUNDING = 1e-9
WEAKNESSES = (
    "It weighs detectors as they agreed and disagreed in training; a new kind of bot may fool several of them at once.",
    "It holds for the models it names and no others: fit it again when one of them is replaced.",
)


@dataclass(frozen=True)
class FusionTerm:
    """One model as the fusion hears it."""

    model: Text
    detector: Text
    family: Text
    mean: float  # of its evidence in training
    deviation: Positive
    weight: NotNegative  # a bot-like answer never makes a verdict more human
    correlation: Annotated[  # with each term, in their order
        tuple[float, ...], Rule(lambda v: all(abs(r) <= 1 + _ROUNDING for r in v), "a row of correlations")
    ] = field(metadata={"key": "together"})
    least: float | None = None  # evidence below it counts as it: what is usual among people; none: all of it counts
    unheard: float | None = None  # what silence counts as; none: what the others let expect


@dataclass(frozen=True, kw_only=True)
class FusionModel(CalibratedModel):
    """A fitted fusion: plain numbers, nothing that can run."""

    always_weak: ClassVar[tuple[str, ...]] = WEAKNESSES

    terms: Annotated[
        tuple[FusionTerm, ...], Rule(lambda v: 1 <= len(v) <= MOST_TERMS, f"a list of 1 to {MOST_TERMS} models")
    ] = field(metadata={"key": "voices"})
    intercept: float
    styles: StyleReferences = field()  # a period is always compared with people of its own style

    @property
    def base(self) -> float:
        """The log-odds of a period of which every model says what is usual."""
        return self.slope * self.intercept + self.offset

    @property
    def clock(self) -> Clock:
        """The periods it judges."""
        return Clock(self.feature.options["every"], self.feature.options["time_zone"])

    @property
    def discount(self) -> float:
        """How much of what repeats inside a period counts."""
        return float(self.feature.options["discount"])

    def score(self, features: pl.DataFrame) -> pl.DataFrame:
        """SCORES of a table with a column of evidence per model, in its order; null where none of them spoke."""
        decisions = decide(features, self.terms, self.intercept)
        spoke = pl.Series(~np.isnan(decisions))
        return self.scored(features, np.where(np.isnan(decisions), 0.0, decisions), spoke)

    def explain(self, features: pl.DataFrame) -> pl.DataFrame:
        """EVIDENCE: a period after the other, in each the model first that moved it most; who was silent comes last."""
        weights = np.column_stack(list(_parts(features, self.terms)))
        order = np.argsort(-np.abs(np.nan_to_num(weights)), axis=1, kind="stable")
        rows = [self._row(features, row, place, weights[row]) for row in range(features.height) for place in order[row]]
        return evidence_table(rows, features, self.detector)

    def agreements(self) -> Iterator[tuple[str, bool]]:
        """What must hold between its values."""
        yield from super().agreements()
        many = len(self.terms)
        yield "its detector is fusion", self.detector == "fusion"
        yield "its feature are scores", self.feature.name == SCORES_OF
        yield "its feature names models, periods and a discount", _are_options(self.feature.options)
        yield "each model has a correlation with each", all(len(term.correlation) == many for term in self.terms)
        yield "the correlations fit together", _sound([term.correlation for term in self.terms])
        yield "every model is heard once", len({term.model for term in self.terms}) == many

    def _row(self, table: pl.DataFrame, row: int, place: int, weights: Floats) -> tuple[Any, ...]:
        term, heard = self.terms[place], not np.isnan(weights).all()
        said = float(_evidence(table[row], term)[0])
        value = None if np.isnan(said) else said
        weight = float(np.nan_to_num(self.slope * weights[place])) if heard else None
        return row, term.model, value, term.mean, weight, _sentence(term, value)

    def _shown_feature(self) -> Mapping[str, Any]:
        return self.feature.options

    def _weak_here(self) -> list[str]:
        humans = self.reference.humans
        return [f"It saw {humans} humans, so no FPR is below 1 in {humans + 1}.", self._compared()]

    def _learned(self) -> Mapping[str, Any]:
        columns = {
            term.model: {
                "family": term.family,
                "mean": term.mean,
                "deviation": term.deviation,
                "weight": term.weight,
            }
            for term in self.terms
        }
        return {"intercept": self.intercept, "columns": columns}


def decide(table: pl.DataFrame, terms: tuple[FusionTerm, ...], intercept: float) -> Floats:
    """The decision value of each row, NaN where nobody spoke; the same for one row as among a million."""
    decisions, spoke = np.full(table.height, intercept), np.zeros(table.height, dtype=np.bool_)
    for part in _parts(table, terms):
        heard = ~np.isnan(part)
        decisions = np.where(heard, decisions + part, decisions)
        spoke |= heard
    told: Floats = np.where(spoke, decisions, np.nan)
    return told


def _parts(table: pl.DataFrame, terms: tuple[FusionTerm, ...]) -> Iterator[Floats]:
    """What each term adds to the decision of each row, NaN where it was silent and that says nothing, or all were."""
    said = [_counted(table, term) for term in terms]
    spoke = _patterns(said, table.height) > 0
    columns = [_with_silence(column, term) for column, term in zip(said, terms, strict=True)]
    patterns = _patterns(columns, table.height)
    weights = np.full((len(terms), table.height), np.nan)
    for pattern in np.unique(patterns[spoke]):
        rows = spoke & (patterns == pattern)
        for at, weight in _weights(terms, int(pattern)).items():
            weights[at, rows] = weight
    for at, term in enumerate(terms):
        yield weights[at] * ((columns[at] - term.mean) / term.deviation)


def _patterns(columns: list[Floats], height: int) -> NDArray[np.int64]:
    """Which terms say something of each row, a bit each."""
    patterns = np.zeros(height, dtype=np.int64)
    for at, column in enumerate(columns):
        patterns |= (~np.isnan(column)).astype(np.int64) << at
    return patterns


def _with_silence(column: Floats, term: FusionTerm) -> Floats:
    return column if term.unheard is None else np.where(np.isnan(column), term.unheard, column)


@lru_cache(maxsize=1024)
def _weights(terms: tuple[FusionTerm, ...], pattern: int) -> dict[int, float]:
    """The weight of each term that spoke, with its share of what the missing ones are expected to say."""
    spoke = [at for at in range(len(terms)) if pattern >> at & 1]
    silent = [at for at in range(len(terms)) if not pattern >> at & 1]
    weights = np.array([term.weight for term in terms])
    correlation = np.array([term.correlation for term in terms])
    own = weights[spoke]
    if silent:
        missing = correlation[np.ix_(spoke, silent)] @ weights[silent]
        own = own + np.linalg.solve(correlation[np.ix_(spoke, spoke)], missing)
    return dict(zip(spoke, np.maximum(own, 0.0).tolist(), strict=True))


def _counted(table: pl.DataFrame, term: FusionTerm) -> Floats:
    """The evidence as far as it counts."""
    values = _evidence(table, term)
    return values if term.least is None else np.maximum(values, term.least)


def _evidence(table: pl.DataFrame, term: FusionTerm) -> Floats:
    if term.model not in table.columns:
        return np.full(table.height, np.nan)
    values: Floats = np.ascontiguousarray(table[term.model].cast(pl.Float64).fill_null(np.nan).to_numpy())
    return values


def _sentence(term: FusionTerm, value: float | None) -> str:
    if value is None and term.unheard is not None:
        return f"{term.detector} was silent: that counts as what is usual among people."
    if value is None:
        return f"{term.detector} was silent: what it would have said is expected from the others."
    beyond = (value - term.mean) / term.deviation
    way = "more" if beyond > USUAL else "less" if beyond < -USUAL else ""
    lead = f"{term.detector} speaks {way} of a bot than on average" if way else f"{term.detector} says what is usual"
    return f"{lead}: its evidence is {value:.2f}, {term.mean:.2f} on average."


def _sound(correlations: list[tuple[float, ...]]) -> bool:
    table = np.array(correlations, dtype=np.float64)
    return np.allclose(table, table.T) and float(np.linalg.eigvalsh(table).min()) > LEAST_EIGENVALUE / 2


def _are_options(value: Mapping[str, Any]) -> bool:
    return (
        value.keys() == {"models", "every", "time_zone", "discount"}
        and isinstance(value["models"], list)
        and all(isinstance(name, str) and name for name in value["models"])
        and whole(value["every"])
        and value["every"] >= 1
        and is_time_zone(value["time_zone"])
        and finite(value["discount"])
        and 0 <= value["discount"] <= 1
    )
