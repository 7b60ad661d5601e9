"""A fitted logistic regression: scoring and explaining with plain NumPy, nothing in it that can run."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
import polars as pl

from gamewarden.contracts import Recipe
from gamewarden.detectors.logistic.sharing import alone, shares
from gamewarden.errors import TableError
from gamewarden.learning.abstaining import HeldOut
from gamewarden.learning.calibration import KEY, Calibration, Floats, Reference
from gamewarden.learning.fitted import CalibratedModel, optional_parts, refuse_misnamed, shallow
from gamewarden.learning.model_json import logistic_fields
from gamewarden.learning.phrases import Seen, median, says, topic_of, window_word
from gamewarden.tables import EVIDENCE, FEATURES, check

SELF_SIM = "self_sim"  # null here means: too little play to judge
COUNTS = frozenset(
    {
        "cosim_count",
        "cosim_uniq_count",
        "cosim_zero_count",
        "cosim_mode",
        "total_log_count",
        "npc_kill_count",
        "trade_get_count",
        "trade_give_count",
        "retrieve_count",
        "deposit_count",
    }
)

WEAKNESSES = (
    "Self-similarity cannot tell (3, 2) from (2, 3) or (1, 1) from (10, 10): different behaviour may look alike.",
    "It holds for one game and one vocabulary: new event kinds change what is usual, and then a new model is needed.",
    "Bots that play a short time, and people who run a bot for an hour a day, are mostly missed.",
    "People who do one thing for hours (grinding, sitting) look more like bots than they are.",
)


@dataclass(frozen=True)
class Column:
    """One feature as the model uses it."""

    name: str
    log: bool  # a count: log1p before standardising
    mean: float
    deviation: float
    weight: float
    percentiles: tuple[float, ...]  # of the training humans' raw values, 0 % to 100 %

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
class LogisticModel(CalibratedModel):
    """A fitted logistic regression: plain numbers, nothing that can run."""

    always_weak: ClassVar[tuple[str, ...]] = WEAKNESSES

    columns: tuple[Column, ...]
    left_out: Mapping[str, str]  # feature -> why the model does not use it
    strength: float  # C of the regression
    intercept: float
    correlations: tuple[tuple[float, ...], ...]  # of the columns as standardised, over the training rows
    held_out: HeldOut | None = None  # the held-out rows, for doing without a column that a source cannot show

    def score(self, features: pl.DataFrame) -> pl.DataFrame:
        """SCORES: one row a period in the table's order; too little play gives null, never a number.

        A column that a row's source cannot show abstains: it adds nothing, and the held-out people and bots are looked
        at without it too.
        """
        table = self._table(features)
        enough = table[SELF_SIM].is_not_null()
        scores = self.scored(table, self._decide(table), enough)
        for absent, rows in self._abstaining(table):
            part = table[rows]
            told = self._without(absent).scores(part, self._decide(part), enough[rows], (self.detector, self.id))
            numbers = [scores[name].scatter(rows, told[name]).alias(name) for name in ("probability", "alarm")]
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
        judged = judged.filter(table[SELF_SIM].is_not_null())
        for pattern, part in judged.partition_by(may, as_dict=True).items() if may else ():
            if absent := tuple(name for name, missing in zip(may, pattern, strict=True) if missing):
                yield absent, part["row"]

    def _without(self, absent: tuple[str, ...]) -> Calibration:
        if self.held_out is None:
            return self.calibration
        return self.held_out.without(absent, self.calibration, fitted=self.recipe["calibration"] == "platt")

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """The model back from JSON values, each looked at before it is believed.

        Raises:
            ModelError: a value is missing, of another type or length, or the name does not fit the recipe and data.
        """
        given = logistic_fields(values)
        model = cls(
            **given
            | {
                "feature": Recipe(**given["feature"]),
                "columns": tuple(Column(**column) for column in given["columns"]),
                "reference": Reference(**given["reference"]),
                "held_out": HeldOut.from_dict(given["held_out"]) if "held_out" in given else None,
            }
            | optional_parts(given)
        )
        refuse_misnamed(model, values)
        return model

    def _table(self, features: pl.DataFrame) -> pl.DataFrame:
        return checked(features, tuple(self.recipe["columns"]), self.detector)

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
        topics = tuple(topic_of(column.name) for column in self.columns)
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
            pl.when(pl.col(SELF_SIM).is_not_null()).then(pl.Series(weights)).alias("weight"),
            pl.when(pl.col(SELF_SIM).is_not_null()).then(pl.Series(single)).alias("alone"),
            pl.Series(self._sentences(table, name, percentiles), dtype=pl.String).alias("says"),
        )

    def _sentences(self, table: pl.DataFrame, name: str, percentiles: tuple[float, ...]) -> list[str]:
        window = window_word(self.feature.options.get("unit"))
        minutes = (table["until"] - table["since"]).dt.total_seconds() / 60
        windows = table["windows"] if "windows" in table.columns else [None] * table.height
        unused = self.left_out.get(name, "")
        rows = zip(table[name], minutes, windows, strict=True)
        return [says(Seen(name, value, percentiles, window, period, count, unused)) for value, period, count in rows]

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

    def _kept(self) -> dict[str, Any]:
        columns = [shallow(column) for column in self.columns]
        parts = {name: getattr(self, name) for name in ("left_out", "strength", "intercept", "correlations")}
        rows = {} if self.held_out is None else {"held_out": self.held_out.to_dict()}
        return {"columns": columns, **parts, **rows}


def checked(features: pl.DataFrame, columns: tuple[str, ...], door: str) -> pl.DataFrame:
    """FEATURES with the columns as numbers that can be used."""
    table = check(features, FEATURES, door)
    needed = dict.fromkeys((SELF_SIM, *columns))
    missing = [name for name in needed if name not in table.columns]
    if missing:
        raise TableError(f"{door}: FEATURES lacks {', '.join(missing)}; measure self-similarity first")
    numbers = table.with_columns(pl.col(list(needed)).cast(pl.Float64))
    for name in needed:
        if not numbers[name].drop_nulls().is_finite().all():
            raise TableError(f"{door}: FEATURES.{name} holds an infinite number; write null for what was not measured")
        if name in COUNTS and (numbers[name] < 0).any():
            raise TableError(
                f"{door}: FEATURES.{name} is a count and holds {numbers[name].min()!r}; counts are 0 or more"
            )
    return numbers


def values(table: pl.DataFrame, name: str) -> Floats:
    """A column as an array of its own, NaN where the table has null."""
    return np.ascontiguousarray(table[name].to_numpy(), dtype=np.float64)
