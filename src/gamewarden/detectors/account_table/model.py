"""A model of an operator's own table: scoring and explaining with plain arrays, nothing in it that can run."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Annotated, Any, ClassVar, Self

import numpy as np
import polars as pl

from gamewarden.detectors.account_table.forest import LARGEST, Forest
from gamewarden.learning.calibration import KEY, Calibration, Flags, Floats, sigmoid
from gamewarden.learning.columns import checked
from gamewarden.learning.fitted import CalibratedModel
from gamewarden.learning.ladders import LEAST
from gamewarden.learning.peers import Peers
from gamewarden.learning.phrases import SeenNumber, median, says
from gamewarden.learning.promises import ACCOUNT, told
from gamewarden.learning.ranges import spread_out
from gamewarden.learning.reference import smallest_fpr
from gamewarden.learning.validation import NotNegative, Percentiles, Positive, Rule, Text, finite
from gamewarden.phrases import Phrase
from gamewarden.tables import EVIDENCE, check

SIBLINGS = "siblings"  # the column that says how many others a row's group has
IMPOSSIBLE = "impossible"  # the column that says which values of a row cannot be true
_SHOWN = 4  # steps of few people that a sentence names
_ROUNDING = 1e-9  # of a sum of shares
SHARP_FROM = 2.0  # sharp trees have half the say where smooth ones give a bot odds of 1 to 7
WEAKNESSES = (
    "It knows the operator's columns and nothing else: what they do not show, such as a pace, it cannot see.",
    "It learned from labels: bots that nobody banned count as humans, and it learns to overlook their like.",
    "A patch, an event or a new way of counting changes the columns' meaning, and then a new model is needed.",
    "People who play as long and as alone as bots do look more like bots than they are.",
)


@dataclass(frozen=True)
class Column:
    """One number as the model uses it; `weight` is the straight part of it, 0 where only trees ask."""

    name: Text
    mean: float  # of log(1 + |x|) with the number's sign
    deviation: Positive
    weight: float
    percentiles: Percentiles  # of the training humans, 0 % to 100 %
    information: NotNegative  # how much further its values moved held-out bots than held-out humans

    def contribution(self, values: Floats) -> Floats:
        """The weight times z, and 0 where nothing was measured."""
        terms: Floats = np.where(
            np.isnan(values), 0.0, self.weight * ((spread_out(values) - self.mean) / self.deviation)
        )
        return terms


@dataclass(frozen=True)
class TreeScorer:
    """What turns a row into a decision value: trees, or a straight line.

    Smooth trees rank everybody; the more bot-like they find a row, the more the sharp ones have to say on it. With the
    share g of the sharp ones, a number adds g times what it adds there and 1 - g times what it adds to the smooth ones.
    """

    columns: tuple[Column, ...]  # the operator's, then the ratios
    ratios: tuple[tuple[str, str], ...]
    intercept: float
    smooth: Forest
    sharp: Forest

    @property
    def plain(self) -> tuple[str, ...]:
        """The operator's own columns."""
        return tuple(column.name for column in self._own)

    @property
    def _own(self) -> tuple[Column, ...]:
        return self.columns[: len(self.columns) - len(self.ratios)]

    @property
    def base(self) -> float:
        """The decision before any number is looked at."""
        return self.intercept + self.smooth.base

    def numbers(self, table: pl.DataFrame) -> Floats:
        """One column a number the scorer asks for, NaN where it was not measured."""
        return numbers_of(table, self.plain, self.ratios)

    def enough(self, table: pl.DataFrame, share: float) -> Flags:
        """Which rows have a number at all, and at least this share of what the operator's columns can tell.

        A ratio tells half for each of its two columns. Where no column told anything, all count the same.
        """
        told = dict.fromkeys(self.plain, 0.0) | {column.name: column.information for column in self._own}
        for (over, under), ratio in zip(self.ratios, self.columns[len(self._own) :], strict=True):
            told[over] += ratio.information / 2
            told[under] += ratio.information / 2
        weights = list(told.values()) if any(told.values()) else [1.0] * len(told)
        measured = np.column_stack([table[name].is_not_null().to_numpy() for name in self.plain])
        known = added(measured * np.array(weights), 0.0)
        enough: Flags = (known >= share * sum(weights) * (1 - _ROUNDING)) & measured.any(axis=1)
        return enough

    def informed(self, information: Floats) -> Self:
        """The same scorer, with what each of its numbers tells."""
        columns = zip(self.columns, information.tolist(), strict=True)
        return replace(self, columns=tuple(replace(column, information=told) for column, told in columns))

    def terms(self, numbers: Floats) -> Floats:
        """What each number adds to the decision: with `base` they are the decision.

        The share of the sharp trees is taken as it is for the row, and both kinds of trees are shared out exactly.
        """
        return self._mixed(numbers, self.smooth.parts(numbers), self.sharp.parts(numbers))

    def steps(self, numbers: Floats) -> Floats:
        """The same by sums along the path: for averages over many rows, since it takes a 300th of the time."""
        return self._mixed(numbers, self.smooth.steps(numbers), self.sharp.steps(numbers))

    def _mixed(self, numbers: Floats, smooth: Floats, sharp: Floats) -> Floats:
        share = self._sharp(self.smooth.decide(numbers))[:, None]
        return smooth + share * (sharp - smooth) + self._straight(numbers)

    def decide(self, table: pl.DataFrame) -> Floats:
        """The decision values, added column by column: the same for one row as among a million."""
        numbers = self.numbers(table)
        smooth, sharp = self.smooth.decide(numbers), self.sharp.decide(numbers)
        return added(self._straight(numbers), self.base) + smooth + self._sharp(smooth) * (sharp - smooth)

    def _sharp(self, smooth: Floats) -> Floats:
        """How much the sharp trees have to say where the smooth ones say this."""
        return sigmoid(self.smooth.base + smooth + SHARP_FROM)

    def _straight(self, numbers: Floats) -> Floats:
        terms = np.zeros(numbers.shape)
        for at, column in enumerate(self.columns):
            if column.weight:
                terms[:, at] += column.contribution(numbers[:, at])
        return terms


@dataclass(frozen=True)
class Judges:
    """What decides where rows know their siblings: one judges a row alone, the other one among siblings."""

    alone: TreeScorer
    among: TreeScorer

    def decide(self, table: pl.DataFrame) -> Floats:
        """The decision values; a row alone gets what it would get if nobody knew of siblings."""
        decisions: Floats = np.where(has_siblings(table), self.among.decide(table), self.alone.decide(table))
        return decisions


@dataclass(frozen=True, kw_only=True)
class AccountTableModel(CalibratedModel):
    """A fitted model of an operator's own table: plain numbers, nothing that can run."""

    always_weak: ClassVar[tuple[str, ...]] = WEAKNESSES

    columns: Annotated[tuple[Column, ...], Rule(bool, "a list of at least one column")]
    ratios: tuple[tuple[Text, Text], ...]
    intercept: float
    smooth: Forest
    sharp: Forest
    left_out: Mapping[str, Text]  # column -> why the model does not use it
    peers: Peers
    among: "AccountTableModel | None" = None  # what judges rows that have siblings; none where nobody asked

    @cached_property
    def scorer(self) -> TreeScorer:
        """What decides, without calibration."""
        return TreeScorer(self.columns, self.ratios, self.intercept, self.smooth, self.sharp)

    @property
    def calibration(self) -> Calibration:
        """What turns a decision value into a probability and an FPR."""
        return Calibration(self.slope, self.offset, self.reference, peers=self.peers)

    @property
    def compared_with(self) -> tuple[int, ...]:
        """How many people stand on each step, or all of them."""
        own = tuple(self.peers.counts().values()) or (self.reference.humans,)
        return own if self.among is None else (*own, *self.among.compared_with)

    @property
    def counts_siblings(self) -> bool:
        """Whether it looks at how many siblings a row has, and judges all rows by itself."""
        return SIBLINGS in self.scorer.plain and self.among is None

    @property
    def price(self) -> str:
        """What the promise of its FPR costs, in one line."""
        return told(
            self.validation["promises"], f"--promise {self.recipe['promise']} --peers {','.join(self.recipe['peers'])}"
        )

    @property
    def base(self) -> float:
        """The log-odds before any number is looked at."""
        return self.slope * self.scorer.base + self.offset

    def score(self, features: pl.DataFrame) -> pl.DataFrame:
        """SCORES: one row per actor in the table's order; a row that tells too little gives null."""
        table = checked_table(features, self.scorer.plain, self.detector)
        if self.among is not None:
            alone, among = self._parted(table)
            parts = [replace(self, among=None).score(alone), self.among.score(among)]
            return _in_order(table, parts).with_columns(model=pl.lit(self.id))
        enough = pl.Series(self.scorer.enough(table, self.recipe["enough"]))
        return self.scored(table, self.scorer.decide(table), enough)

    def explain(self, features: pl.DataFrame) -> pl.DataFrame:
        """EVIDENCE: a row after the other, in each the heaviest number first.

        `weight` is a number's part of the log-odds of `probability`, measured from the training rows' expectation: they
        add up to it with `base`. A row that tells too little has no weights.
        """
        table = checked_table(features, self.scorer.plain, self.detector)
        if self.among is not None:
            alone, among = self._parted(table)
            parts = [replace(self, among=None).explain(alone), self._moved(self.among.explain(among))]
            return _in_order(table, parts)
        numbers = self.scorer.numbers(table)
        weights = self.slope * self.scorer.terms(numbers)
        enough = pl.Series(self.scorer.enough(table, self.recipe["enough"]))
        parts = [self._evidence(table, at, numbers[:, at], weights[:, at], enough) for at in range(numbers.shape[1])]
        heaviest = ["row", pl.col("weight").abs(), "order"]
        evidence = (
            pl.concat(parts).sort(heaviest, descending=[False, True, False], nulls_last=True).drop("row", "order")
        )
        return check(evidence, EVIDENCE, f"explain {self.detector}")

    def _parted(self, table: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
        """The rows that are alone, and those that have siblings."""
        having = has_siblings(table)
        return table.filter(~having), table.filter(having)

    def _moved(self, evidence: pl.DataFrame) -> pl.DataFrame:
        """Evidence among siblings, measured from where a row alone begins: having siblings is what moves it there."""
        begins = 0.0 if self.among is None else self.among.base - self.base
        return evidence.with_columns(
            pl.when(feature=SIBLINGS).then(pl.col("weight") + begins).otherwise("weight").alias("weight")
        )

    def agreements(self) -> Iterator[tuple[str, bool]]:
        """What must hold between its values."""
        yield from super().agreements()
        yield "what judges siblings knows how many there are", self.among is None or self.among.counts_siblings
        names, pairs = [column.name for column in self.columns], [f"{over} / {under}" for over, under in self.ratios]
        plain = set(names[: len(names) - len(pairs)])
        yield "its recipe says how much of a row is enough", finite(self.recipe.get("enough"))
        yield "its recipe says to whom its FPR is a promise", bool(self.recipe.get("promise"))
        yield "every column is there once", len(set(names)) == len(names)
        yield "the last columns are the ratios", pairs == names[len(plain) :]
        yield "a ratio is of two columns", all(name in plain for pair in self.ratios for name in pair)
        yield "a ladder stands on a column", all(ladder.column in plain for ladder in self.peers.ladders)
        yield "prices of promises are rows of texts and numbers", _are_prices(self.validation.get("promises", {}))
        for trees in (self.smooth, self.sharp):
            trees.refuse_wild(len(names))

    def _compared(self) -> str:
        """With whom its FPR compares, and where people are too few for 1 in 100."""
        whom, humans = "accounts" if self.recipe["promise"] == ACCOUNT else "rows", self.reference.humans
        if not self.peers.ladders:
            return f"Its FPR holds for {whom} of people as a whole, not for the busiest of them."
        smallest = {words: smallest_fpr(people, humans) for words, people in self.peers.counts().items()}
        few = {words: rate for words, rate in smallest.items() if rate > 1 / (LEAST + 1)}
        most = f"; it is at least {_listed(few)}" if few else ""
        return (
            f"Its FPR holds for {whom} of people as a whole and, on average, on each step of its numbers that holds "
            f"more of the people than the rate{most}. On rarer steps it promises nothing. An account with rows on "
            "several steps may be flagged on each of them."
        )

    def _weak_here(self) -> list[str]:
        """With siblings, also whom a row is compared with that has them."""
        if self.among is None:
            return super()._weak_here()
        people = self.among.reference.humans
        return [
            *super()._weak_here(),
            (
                "A row alone is judged as if nobody knew of siblings; a row with siblings is judged by theirs too, and "
                f"compared with {people} people who have siblings."
            ),
            "Who shares a group with a bot looks more like one: a family on one account, or characters that were sold.",
        ]

    def _learned(self) -> Mapping[str, Any]:
        columns = {
            column.name: {
                "typical": median(column.percentiles),
                "straight weight": column.weight,
                "information": column.information,
                **self.peers.people_along(column.name),
            }
            for column in self.scorer.columns
        }
        kinds = {"smooth": self.scorer.smooth, "sharp": self.scorer.sharp}
        trees = {f"{kind} trees": {"trees": len(part.starts), "nodes": part.size} for kind, part in kinds.items()}
        among = {} if self.among is None else {"with siblings": self.among.card.parameters}
        return {"base": self.base, **trees, "columns": columns, "left_out": dict(self.left_out), **among}

    def _evidence(
        self, table: pl.DataFrame, at: int, numbers: Floats, weights: Floats, enough: pl.Series
    ) -> pl.DataFrame:
        """EVIDENCE of one number for every row."""
        column = self.scorer.columns[at]
        value = pl.Series(numbers).fill_nan(None)
        wrong = table[IMPOSSIBLE] if IMPOSSIBLE in table.columns else pl.Series([None] * table.height, dtype=pl.String)
        told = [self._sentence(column, number, text) for number, text in zip(value, wrong, strict=True)]
        return table.select(
            *KEY,
            pl.int_range(pl.len()).alias("row"),
            pl.lit(at).alias("order"),
            pl.lit(self.detector).alias("detector"),
            pl.lit(column.name).alias("feature"),
            value.alias("value"),
            pl.lit(median(column.percentiles)).alias("typical"),
            pl.when(enough).then(pl.Series(weights)).alias("weight"),
            pl.Series(told, dtype=pl.String).alias("says"),
        )

    def _sentence(self, column: Column, value: float | None, wrong: str | None) -> str:
        if value is None and wrong is not None:
            found = next((part for part in wrong.split("; ") if part.startswith(f"{column.name} is ")), None)
            if found is not None:
                because = self._because(column.name)
                return f"{_plainly(column.name)} cannot be true: {_plainly(found)}{because}; it counts as missing."
        return says(SeenNumber(column.name, value, column.percentiles), Phrase.plain(_plainly(column.name)))

    def _because(self, name: str) -> str:
        columns = self.feature.options.get("columns") or []
        told = next((c["because"] for c in columns if isinstance(c, dict) and c.get("name") == name), "")
        return f", and {_plainly(told)}" if told else ""


def has_siblings(table: pl.DataFrame) -> pl.Series:
    """Which rows have others in their group."""
    if SIBLINGS not in table.columns:
        return pl.Series([False] * table.height, dtype=pl.Boolean)
    return (table[SIBLINGS] > 0).fill_null(value=False)


def _in_order(table: pl.DataFrame, parts: Sequence[pl.DataFrame]) -> pl.DataFrame:
    """What was said of both kinds of rows, in the order of the table; of one row in the order it was said."""
    order = table.select("actor", row=pl.int_range(pl.len()))
    said = pl.concat(parts, how="diagonal_relaxed")
    return said.join(order, on="actor", how="left", maintain_order="left").sort("row", maintain_order=True).drop("row")


def _are_prices(value: object) -> bool:
    return isinstance(value, dict) and all(
        isinstance(row, dict) and all((isinstance(part, str) and part) or finite(part) for part in row.values())
        for row in value.values()
    )


def added(terms: Floats, base: float) -> Floats:
    """The sum of each row's terms, column by column."""
    total = np.full(terms.shape[0], base)
    for term in terms.T:
        total = total + term
    return total


def checked_table(features: pl.DataFrame, columns: tuple[str, ...], door: str) -> pl.DataFrame:
    """FEATURES with the columns as numbers that can be used.

    Raises:
        TableError: a column is missing, holds no numbers, or one of them is infinite.
    """
    return checked(features, columns, door, "add what the model learned from, and measure the table")


def numbers_of(table: pl.DataFrame, columns: tuple[str, ...], ratios: tuple[tuple[str, str], ...]) -> Floats:
    """The columns, then their ratios, NaN where something was not measured or would be divided by 0."""
    own = {name: np.asarray(table[name].to_numpy(), dtype=np.float64) for name in columns}
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        divided = [own[over] / own[under] for over, under in ratios]
    tame = [np.clip(np.where(np.isfinite(part), part, np.nan), -LARGEST, LARGEST) for part in divided]
    stacked = np.column_stack([*own.values(), *tame])
    return np.ascontiguousarray(stacked)


def _listed(smallest: Mapping[str, float]) -> str:
    """The steps on which the smallest FPR is largest, and how low it can be there."""
    highest = sorted(smallest, key=lambda words: (-smallest[words], words))
    shown = ", ".join(f"1 in {1 / smallest[words]:.3g} ({_plainly(words)})" for words in highest[:_SHOWN])
    return shown + (
        f" and more than 1 in {LEAST + 1} on {len(smallest) - _SHOWN} more" if len(smallest) > _SHOWN else ""
    )


def _plainly(text: str) -> str:
    """An operator's words where braces would mean something to us."""
    return text.replace("{", "(").replace("}", ")")
