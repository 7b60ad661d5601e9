"""A fitted logistic regression: scoring and explaining with plain NumPy, nothing in it that can run."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Any, ClassVar

import numpy as np
import polars as pl

from gamewarden.learning.abstaining import HeldOut
from gamewarden.learning.calibration import KEY, RATED, Calibration, Floats
from gamewarden.learning.columns import checked, measured, values
from gamewarden.learning.fitted import CalibratedModel
from gamewarden.learning.phrases import SeenNumber, median, says, topic_of
from gamewarden.learning.sharing import alone, shares
from gamewarden.learning.validation import Percentiles, Positive, Rule, Text
from gamewarden.phrases import Phrase
from gamewarden.tables import EVIDENCE, check

_ROUNDING = 1e-6  # of an eigenvalue


@dataclass(frozen=True)
class Column:
    """One feature as the model uses it."""

    name: Text
    log: bool  # a count: log1p before standardising
    mean: float
    deviation: Positive
    weight: float
    percentiles: Percentiles  # of the training humans' raw values, 0 % to 100 %

    def standard(self, values: Floats) -> Floats:
        """How many deviations the values are from the mean, NaN where nothing was measured."""
        scaled = np.log1p(values) if self.log else values
        standard: Floats = (scaled - self.mean) / self.deviation
        return standard

    def contribution(self, values: Floats) -> Floats:
        """The weight times z, and 0 where nothing was measured."""
        terms: Floats = np.where(np.isnan(values), 0.0, self.weight * self.standard(values))
        return terms


@dataclass(frozen=True, kw_only=True)
class ColumnModel(CalibratedModel):
    """A fitted logistic regression over columns of a feature: plain numbers, nothing that can run.

    What its numbers are called in sentences are the feature's own words, kept in the model.
    """

    window: ClassVar[str] = "window"  # what its feature's time unit is called
    always_weak: ClassVar[tuple[str, ...]] = (
        "It knows these columns and nothing else: what they do not show it misses.",
    )

    columns: Annotated[tuple[Column, ...], Rule(bool, "a list of at least one column")]
    left_out: Mapping[str, Text]  # feature -> why the model does not use it
    strength: Positive  # C of the regression
    intercept: float
    correlations: tuple[tuple[float, ...], ...]  # of the columns as standardised, over the training rows
    held_out: HeldOut | None = None  # the held-out rows, for doing without a column that a source cannot show
    phrases: Mapping[str, Phrase] | None = None  # the feature's words for its columns; none where it brought none

    def score(self, features: pl.DataFrame) -> pl.DataFrame:
        """SCORES: one row a period in the table's order; too little play gives null, never a number.

        A column that a row's source cannot show abstains: it adds nothing, and the held-out people and bots are looked
        at without it too.
        """
        table = self._table(features)
        enough = self.judged(table)
        scores = self.scored(table, self._decide(table), enough)
        for absent, rows in self._abstaining(table):
            part = table[rows]
            told = self._without(absent).scores(part, self._decide(part), enough[rows], (self.detector, self.id))
            numbers = [scores[name].scatter(rows, told[name]).alias(name) for name in RATED]
            scores = scores.with_columns(numbers)
        return scores

    def explain(self, features: pl.DataFrame) -> pl.DataFrame:
        """EVIDENCE: a period after the other, in each the heaviest feature first.

        `weight` is the feature's part of the log-odds of `probability`, measured from the average training row: they
        add up to it with `base`. Features that go together share what they say, so that a topic's weights add up to
        what its features say together. `alone` is what would be expected if the feature were all that is known. A
        period with too little play has neither. Features the model could not use come last with the weight 0.
        """
        table = self._table(features)
        told = self._told(table)
        parts = [self._evidence(table, name, told) for name in self.recipe["columns"]]
        heaviest = ["row", pl.col("weight").abs(), "order"]
        evidence = (
            pl.concat([part.with_columns(order=at) for at, part in enumerate(parts)])
            .sort(heaviest, descending=[False, True, False], nulls_last=True)
            .drop("row", "order")
        )
        return check(evidence, EVIDENCE, f"explain {self.detector}")

    @property
    def base(self) -> float:
        """The log-odds of the average training row."""
        return self.slope * self.intercept + self.offset

    def _abstaining(self, table: pl.DataFrame) -> Iterator[tuple[tuple[str, ...], pl.Series]]:
        """The places of judged rows by the columns that abstain in them, those with none left out."""
        may = () if self.held_out is None else tuple(sorted(self.held_out.parts))
        judged = table.select(*(pl.col(name).is_null() for name in may), row=pl.int_range(pl.len(), dtype=pl.UInt32))
        judged = judged.filter(self.judged(table))
        for pattern, part in judged.partition_by(may, as_dict=True).items() if may else ():
            if absent := tuple(name for name, missing in zip(may, pattern, strict=True) if missing):
                yield absent, part["row"]

    def _without(self, absent: tuple[str, ...]) -> Calibration:
        if self.held_out is None:
            return self.calibration
        return self.held_out.without(absent, self.calibration, fitted=self.recipe["calibration"] == "platt")

    def agreements(self) -> Iterator[tuple[str, bool]]:
        """What must hold between its values."""
        yield from super().agreements()
        used, asked = [column.name for column in self.columns], self.recipe.get("columns")
        yield "its recipe has columns", isinstance(asked, list) and all(isinstance(name, str) for name in asked)
        yield (
            "columns and left_out together are the recipe's columns",
            sorted([*used, *self.left_out]) == sorted(self.recipe["columns"]),
        )
        yield "correlations are those of the columns", _correlated(self.correlations, len(used))
        if self.held_out is not None:
            yield from self.held_out.fits(used, None if self.styles is None else self.styles.rule)

    @property
    def counts(self) -> frozenset[str]:
        """The columns that count something."""
        return frozenset(column.name for column in self.columns if column.log)

    def judged(self, table: pl.DataFrame) -> pl.Series:
        """Which rows say enough to be judged: those with a number at all."""
        return measured(table, [column.name for column in self.columns])

    def sentences(self, table: pl.DataFrame, name: str, percentiles: tuple[float, ...]) -> list[str]:
        """What one column says of each row."""
        phrase, unused = (self.phrases or {}).get(name), self.left_out.get(name, "")

        @cache
        def said(value: float | None) -> str:
            return says(SeenNumber(name, value, percentiles, self.window, unused=unused), phrase)

        return list(map(said, table[name].to_list()))

    @property
    def needed(self) -> tuple[str, ...]:
        """The columns without which no row can be read."""
        return tuple(self.recipe["columns"])

    def _table(self, features: pl.DataFrame) -> pl.DataFrame:
        return checked(features, self.needed, self.detector, f"measure {self.feature.name} first", self.counts)

    def _decide(self, table: pl.DataFrame) -> Floats:
        """The decision values, added column by column: the same numbers for one row as among a million."""
        decisions = np.full(table.height, self.intercept)
        for column in self.columns:
            decisions = decisions + column.contribution(values(table, column.name))
        return decisions

    def _told(self, table: pl.DataFrame) -> dict[str, tuple[Floats, Floats]]:
        """What each column says in each row: its share of the decision, and alone."""
        standard = np.column_stack([column.standard(values(table, column.name)) for column in self.columns])
        weights = tuple(column.weight for column in self.columns)
        topics = tuple(topic_of(column.name, self.phrases) for column in self.columns)
        parts = self._in_log_odds(table, shares(standard, weights, self.correlations, topics))
        single = self.slope * alone(standard, weights, self.correlations)
        return {column.name: (parts[:, at], single[:, at]) for at, column in enumerate(self.columns)}

    def _in_log_odds(self, table: pl.DataFrame, parts: Floats) -> Floats:
        """Shares of the decisions as parts of the log-odds, measured from `base`.

        Without a column the calibration is another. What it moves the average row by is shared out among the columns
        that speak, each as much as it says.
        """
        scaled = self.slope * parts
        for absent, rows in self._abstaining(table):
            known, at = self._without(absent), rows.to_numpy()
            own = known.slope * parts[at]
            said = np.abs(own) / np.maximum(np.abs(own).sum(axis=1, keepdims=True), np.finfo(np.float64).tiny)
            scaled[at] = own + (known.slope * self.intercept + known.offset - self.base) * said
        return scaled

    def _evidence(self, table: pl.DataFrame, name: str, told: Mapping[str, tuple[Floats, Floats]]) -> pl.DataFrame:
        """EVIDENCE of one feature for every row."""
        column = next((column for column in self.columns if column.name == name), None)
        nothing = np.zeros(table.height), np.zeros(table.height)
        weights, single = told.get(name, nothing)
        percentiles = column.percentiles if column else ()
        return table.select(
            *KEY,
            pl.int_range(pl.len()).alias("row"),
            pl.lit(self.detector).alias("detector"),
            pl.lit(name).alias("feature"),
            pl.col(name).alias("value"),
            pl.lit(median(percentiles) if percentiles else None, dtype=pl.Float64).alias("typical"),
            pl.when(self.judged(table)).then(pl.Series(weights)).alias("weight"),
            pl.when(self.judged(table)).then(pl.Series(single)).alias("alone"),
            pl.Series(self.sentences(table, name, percentiles), dtype=pl.String).alias("says"),
        )

    def _learned(self) -> dict[str, Any]:
        return {
            "strength": self.strength,
            "intercept": self.intercept,
            "columns": {
                column.name: {
                    "log1p": column.log,
                    "mean": column.mean,
                    "deviation": column.deviation,
                    "weight": column.weight,
                    "typical": median(column.percentiles),
                }
                for column in self.columns
            },
            "left_out": dict(self.left_out),
        }


def _correlated(table: tuple[tuple[float, ...], ...], count: int) -> bool:
    """Whether a table can be the correlations of so many columns: no sum of them varies less than not at all."""
    if [len(row) for row in table] != [count] * count:
        return False
    matrix = np.array(table, dtype=np.float64)
    plain = np.array_equal(matrix, matrix.T) and bool((np.diagonal(matrix) == 1).all())
    return plain and bool((np.abs(matrix) <= 1).all()) and float(np.linalg.eigvalsh(matrix)[0]) > -_ROUNDING
