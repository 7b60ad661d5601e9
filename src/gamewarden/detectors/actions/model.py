"""A fitted linear machine over chunks of play: scoring and explaining with plain NumPy, nothing in it that can run."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any, ClassVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from gamewarden.detectors.actions import sentences as action_sentences
from gamewarden.detectors.actions.vectors import DONE, StageOne, checked, counts_of, inputs, is_input
from gamewarden.learning.calibration import Floats
from gamewarden.learning.fitted import CalibratedModel, evidence_table
from gamewarden.learning.phrases import median
from gamewarden.learning.validation import Percentiles, Positive, Rule, whole

FLAGGED = 1.0  # the least margin of whoever the first stage flags: the bots' side of the machine's own margin
LISTED = 12  # numbers of a chunk that evidence lists one by one; the others stand together as REST
REST = "rest"
ACTED, MIXED = "number of actions", "mixture of actions and intervals"  # what makes a chunk near or far

WEAKNESSES = (
    "A bot that does what people do at the intervals of people is not told apart; it also earns no more than they do.",
    "It holds for one game and one vocabulary: new kinds have no column, and a patch can change all intervals.",
    "Chunks of one actor overlap and resemble each other: many flagged chunks of one evening are hardly more than one.",
    "People who do one thing for an hour (fishing, crafting, grinding) look more like bots than they are.",
    "Intervals say least where little is done: people were flagged there twice as often as promised (synthetic).",
)


@dataclass(frozen=True)
class Column:
    """One number of a chunk as the machine weighs it."""

    name: Annotated[str, Rule(is_input, "a number of a chunk")]
    mean: float  # of the training chunks: contributions are measured from there
    weight: float
    percentiles: Percentiles  # of the training humans' chunks, 0 % to 100 %

    def contribution(self, values: Floats) -> Floats:
        """The weight times the distance from the mean, and 0 where nothing was measured."""
        terms: Floats = np.where(np.isnan(values), 0.0, self.weight * (values - self.mean))
        return terms


@dataclass(frozen=True)
class LinearScorer:
    """A linear decision over chunks: positive is a bot's. Whoever a first stage flags is a bot's by 1 or more.

    This is the published classifier itself; calibration comes on top of it.
    """

    columns: tuple[Column, ...]
    intercept: float  # the decision of the average training chunk
    stage: StageOne | None
    enough: int  # fewer actions are too little evidence

    def decide(self, features: pl.DataFrame) -> Floats:
        """The signed margin of each chunk, NaN where there is too little evidence."""
        table = checked(features, "decide")
        margins: Floats = np.where(table["events"].to_numpy() >= self.enough, self.decide_checked(table), np.nan)
        return margins

    def decide_checked(self, table: pl.DataFrame) -> Floats:
        """The margins, added column by column: the same numbers for one row as among a million."""
        decisions = np.full(table.height, self.intercept)
        for column in self.columns:
            decisions = decisions + column.contribution(inputs(table, column.name))
        flagged = (self.flags(table) > 0).any(axis=1)
        lifted: Floats = np.where(flagged, np.maximum(decisions, FLAGGED), decisions)
        return lifted

    def flags(self, table: pl.DataFrame) -> Floats:
        """How far each action is beyond the first stage's bound, 0 where it is not; a column a kind."""
        if self.stage is None:
            return np.zeros((table.height, 1))
        return self.stage.ratios(counts_of(table, self.kinds), self.kinds)

    def outline(self, table: pl.DataFrame) -> pl.DataFrame:
        """A chunk in short: how many actions, and how far its numbers are from the mean of the training chunks."""
        squares = np.zeros(table.height)
        for column in self.columns:
            squares += np.nan_to_num(inputs(table, column.name) - column.mean) ** 2
        return table.select(pl.col("events").alias(ACTED), pl.Series(MIXED, np.sqrt(squares)))

    @property
    def kinds(self) -> tuple[str, ...]:
        """The actions that the first stage looks at."""
        return tuple(column.name.removeprefix(DONE) for column in self.columns)


@dataclass(frozen=True, kw_only=True)
class ActionModel(CalibratedModel):
    """A fitted chunk classifier: plain numbers, nothing that can run."""

    always_weak: ClassVar[tuple[str, ...]] = WEAKNESSES

    columns: Annotated[tuple[Column, ...], Rule(bool, "a list of at least one column")]
    strength: Positive  # C of the support vector machine
    intercept: float  # the decision of the average training chunk
    stage: StageOne | None

    @cached_property
    def scorer(self) -> LinearScorer:
        """The published classifier, without calibration."""
        return LinearScorer(self.columns, self.intercept, self.stage, self.recipe["enough"])

    @property
    def base(self) -> float:
        """The log-odds of the average training chunk."""
        return self.slope * self.scorer.intercept + self.offset

    def decide(self, features: pl.DataFrame) -> Floats:
        """The signed margin of each chunk before calibration, NaN where there is too little evidence."""
        return self.scorer.decide(features)

    def score(self, features: pl.DataFrame) -> pl.DataFrame:
        """SCORES: one row a chunk in the table's order; too few actions give null, never a number."""
        table = checked(features, self.detector)
        margins = self.scorer.decide_checked(table)
        return self.scored(table, margins, self._enough(table))

    def explain(self, features: pl.DataFrame) -> pl.DataFrame:
        """EVIDENCE: a chunk after the other, in each the heaviest number first, the light ones together at the end.

        `weight` is a number's part of the log-odds of `probability`, measured from the average training chunk: they
        add up to it with `base`. A flag of the first stage belongs to the action that is furthest beyond its bound.
        """
        table = checked(features, self.detector)
        terms, flagging = self._terms(table)
        order = np.argsort(-np.abs(terms), axis=1, kind="stable")[:, :LISTED]
        rows = [self._row(table, row, terms, order[row], int(flagging[row])) for row in range(table.height)]
        return evidence_table((part for parts in rows for part in parts), table, self.detector)

    def agreements(self) -> Iterator[tuple[str, bool]]:
        """What must hold between its values."""
        yield from super().agreements()
        enough, names = self.recipe.get("enough"), [column.name for column in self.columns]
        yield "its recipe says how many actions are enough", whole(enough) and self.recipe["enough"] >= 1
        yield "every column is there once", len(set(names)) == len(names)
        if self.stage is not None:
            kinds = {DONE + kind for kind in self.stage.most}
            yield "the first stage knows the kinds of the columns", kinds == set(names)

    def _outline(self, table: pl.DataFrame) -> pl.DataFrame:
        return self.scorer.outline(table)

    def _enough(self, table: pl.DataFrame) -> pl.Series:
        return table["events"] >= self.scorer.enough

    def _terms(self, table: pl.DataFrame) -> tuple[Floats, NDArray[np.int64]]:
        """Each column's part of the log-odds, and the column that the first stage flags (-1: none)."""
        parts = [column.contribution(inputs(table, column.name)) for column in self.scorer.columns]
        terms = np.column_stack(parts)
        flags = self.scorer.flags(table)
        flagging = np.where((flags > 0).any(axis=1), flags.argmax(axis=1), -1)
        flagged = np.flatnonzero(flagging >= 0)
        terms[flagged, flagging[flagged]] += np.maximum(
            FLAGGED - self.scorer.intercept - terms[flagged].sum(axis=1), 0.0
        )
        return self.slope * terms, flagging.astype(np.int64)

    def _row(self, table: pl.DataFrame, row: int, terms: Floats, listed: Any, flagging: int) -> list[tuple[Any, ...]]:  # noqa: ANN401 - an array of places
        """The evidence of one chunk."""
        one = table[row]
        enough = bool(self._enough(one)[0])
        counts = counts_of(one, (self.scorer.kinds[flagging],))[0, 0] if flagging >= 0 else 0
        evidence: list[tuple[Any, ...]] = []
        for place in listed:
            column = self.scorer.columns[place]
            value = float(inputs(one, column.name)[0])
            known = None if np.isnan(value) else value
            says = (
                self._flag_sentence(flagging, int(counts))
                if place == flagging
                else action_sentences.sentence(column.name, known, column.percentiles, self._last_bin)
            )
            weight = float(terms[row, place]) if enough else None
            evidence.append((row, column.name, known, median(column.percentiles), weight, says))
        left = float(terms[row].sum() - terms[row, listed].sum()) if enough else None
        rest = terms.shape[1] - len(listed)
        says = action_sentences.rest(rest) if enough else action_sentences.too_little(int(one["events"][0]))
        evidence.append((row, REST, None, None, left, says))
        return evidence

    def _flag_sentence(self, flagging: int, count: int) -> str:
        kind = self.scorer.kinds[flagging]
        stage = self.scorer.stage
        return action_sentences.flagged(kind, count, 0 if stage is None else stage.most[kind])

    @property
    def _last_bin(self) -> int:
        return int(self.feature.options.get("t", 0))

    def _learned(self) -> dict[str, Any]:
        stage = self.scorer.stage
        return {
            "strength": self.strength,
            "intercept": self.scorer.intercept,
            **({} if stage is None else {"rho": stage.rho}),
            "columns": {
                column.name: {"mean": column.mean, "weight": column.weight, "typical": median(column.percentiles)}
                for column in self.scorer.columns
                if column.weight
            },
        }
