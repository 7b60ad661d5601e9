"""How probably a row of an operator's own table is a bot's: boosted trees beside a logistic regression.

Many operators already have one row per account. The trees' mean over several runs decides; what a plain logistic
regression makes of the same columns stands beside it on the card, so that the gain can be seen.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal, Protocol, get_args

import numpy as np
import polars as pl

from gamewarden.contracts import Feature, Recipe, frame_digest
from gamewarden.core.extras import need
from gamewarden.detectors.account_table.boosting import SHARP, SMOOTH, grow
from gamewarden.detectors.account_table.forest import Forest
from gamewarden.detectors.account_table.model import (
    SIBLINGS,
    AccountTableModel,
    Column,
    Judges,
    TreeScorer,
    added,
    checked_table,
    has_siblings,
    numbers_of,
)
from gamewarden.errors import FitError
from gamewarden.learning.calibration import Calibration, Flags, Floats, Reference, plain_json, validation_of
from gamewarden.learning.columns import measured
from gamewarden.learning.exposure import People
from gamewarden.learning.fitting import Calibrated, Learned, Learner
from gamewarden.learning.labels import label_periods
from gamewarden.learning.ladders import FIFTHS, LEARNED, NONE, Crowd, Ladder
from gamewarden.learning.out_of_fold import bots, fold_count, groups, out_of_fold, training_of
from gamewarden.learning.peers import Peers
from gamewarden.learning.promises import ACCOUNT, ROW, Choice, as_persons, prices
from gamewarden.learning.ranges import Ranges, spread_out
from gamewarden.learning.ratios import ratios_of
from gamewarden.learning.recipe import AT_LEAST_1, POSITIVE, one_of, option
from gamewarden.learning.standard import Standard, percentiles_of
from gamewarden.learning.styles import Styles
from gamewarden.learning.validation import Rule

Method = Literal["trees", "logistic"]
Promise = Literal["account", "row"]
_AWAKE = 16.0  # hours a day: who plays longer does not sleep for eight
_STYLES = ((SMOOTH, 1), (SHARP, 2))  # sharp trees differ more from run to run


class TableFeature(Feature, Protocol):
    """A frozen recipe of a table that knows which of its numbers are a time a day, and which are of siblings."""

    @property
    def of_siblings(self) -> tuple[str, ...]:
        """The numbers of the other rows of a row's group, how many they are first; none where nobody asked."""

    @property
    def day_lengths(self) -> Mapping[str, float]:
        """How long a day is in each number that is a time a day."""


@dataclass(frozen=True)
class AccountTableDetector(Calibrated, Learner[AccountTableModel]):
    """The recipe; a row is judged by how much of what the columns can tell it has."""

    name: ClassVar[str] = "account-table"
    says: ClassVar[str] = "An operator's own table, one row per account, as the probability that a bot is behind it."
    sees: ClassVar[str] = "account-table"
    model: ClassVar[type[Any]] = AccountTableModel
    version: ClassVar[int] = 5
    version_key: ClassVar[str] = "version"
    too_little: ClassVar[str] = "rows that tell too little"
    validated: ClassVar[str] = "held-out rows, an actor or its group in one fold only"

    feature: TableFeature  # frozen: what the table given to `fit` was measured with
    method: Method = option(
        "trees", ("logistic",), one_of(*get_args(Method)), "Boosted trees, or the logistic regression alone."
    )
    runs: int = option(3, (2,), AT_LEAST_1, "Runs of the smooth boosting; the sharp has twice.")
    rounds: int = option(500, (6,), AT_LEAST_1, "Trees of the longest run.")
    ratios: bool = option(True, (False,), says="Also divide by the columns that count days and logins.")
    promise: Promise = option(
        "account",
        ("row",),
        one_of(*get_args(Promise)),
        "A false-positive rate of 1 in 100 flags 1 in 100 accounts (--group), or rows.",
    )
    peers: tuple[str, ...] = option(
        (FIFTHS,),
        ((NONE,), (LEARNED,), ("Playtime:3600:7200", "Max_level")),
        Rule(bool, f"choose {NONE}, {FIFTHS}, {LEARNED} or columns"),
        "Whom the promise holds for besides all: none, fifths of every number, learned (fifths, the top "
        "twentieth, 10 and 16 hours a day), or columns as Playtime:3600:7200,level.",
        **{"as": "kinds", "shown": FIFTHS},
    )
    hours: float = option(Styles().hardcore_hours, (6.0,), POSITIVE)  # a day, of `learned`
    strength: float = option(1.0, (0.1,), POSITIVE)  # C of the logistic regression
    enough: float = option(0.5, (0.25,), Rule(lambda v: 0 <= v <= 1, "give a share from 0 to 1"))  # of what rows tell

    def checked(self, features: pl.DataFrame, door: str) -> pl.DataFrame:
        """The table with its columns as numbers that can be used."""
        return checked_table(features, (*self._columns, *self._of_siblings), door)

    def judged(self, rows: pl.DataFrame) -> pl.Series:
        """Which rows have a number at all."""
        return measured(rows, self._columns)

    def written(self, features: pl.DataFrame) -> list[str]:
        """A digest of the columns."""
        every = (*self._columns, *self._of_siblings)
        return [frame_digest(self.checked(features, f"fit {self.name}").select("actor", *every))]

    def learned(self, rows: pl.DataFrame) -> Learned:
        """Trees, and their decisions on held-out rows; with siblings, also those that judge rows which have them.

        What judges a row alone is learned as if nobody knew of siblings, so that such a row is judged as before.
        """
        alone = self._judge_of(rows, *_usable(rows, self._columns))
        if not self._of_siblings:
            return alone
        few = self._too_few_siblings(rows)
        if few:
            parts = {**alone.parts, "left_out": {**alone.parts["left_out"], SIBLINGS: few}}
            return replace(alone, parts=parts)
        among = self._judge_of(rows, *_usable(rows, (*self._columns, *self._of_siblings)), among=has_siblings(rows))
        return _Together(
            **{**vars(alone), "parts": {**alone.parts, "among": self._model_among(rows, among)}}, among=among
        )

    def _too_few_siblings(self, rows: pl.DataFrame) -> str:
        """Why nothing can be learned of rows with siblings; nothing where it can."""
        having = rows.filter(has_siblings(rows))
        groups = [having.filter(bot=bot)["group"].n_unique() for bot in (True, False)]
        least = max(self.least, self.folds)
        return "" if min(groups) >= least else f"fewer than {least} groups of bots or of humans have several rows"

    def _model_among(self, rows: pl.DataFrame, learned: Learned) -> AccountTableModel:
        """The model of rows that have siblings."""
        return AccountTableModel(
            detector=self.name,
            recipe=self.to_dict(),
            feature=Recipe(self.feature.name, plain_json(self.feature.to_dict())),
            data=frame_digest(rows.select("actor", "bot", *self._of_siblings)),
            ranges=learned.ranges,
            training=training_of(learned.rows, {}),
            **super()._calibrated(learned, fold_count(rows, self.folds)),
            **learned.parts,
        )

    def _calibrated(self, learned: Learned, folds: int) -> dict[str, Any]:
        """The fields from decisions on strangers; with siblings, results and people are those of both judges."""
        alone = super()._calibrated(learned, folds)
        if not isinstance(learned, _Together):
            return alone
        among = learned.parts["among"]
        rows, by_itself = learned.rows, ~has_siblings(learned.rows).to_numpy()
        kept = pl.concat([rows.filter(by_itself), learned.among.rows], how="diagonal_relaxed")
        decisions = np.concatenate(
            [
                alone["slope"] * learned.decisions[by_itself] + alone["offset"],
                among.slope * learned.among.decisions + among.offset,
            ]
        )
        results = validation_of(decisions, bots(kept), 1.0, 0.0, groups(kept))
        told = {"auc_without_siblings": alone["validation"]["auc"], "auc_among_siblings": among.validation["auc"]}
        people = replace(
            alone["people"],
            lowest=tuple(sorted((*self._people_alone(learned, alone).lowest, *among.people.lowest))),
        )
        return {**alone, "people": people, "validation": {**alone["validation"], **results, **told}}

    def _people_alone(self, learned: Learned, fields: Mapping[str, Any]) -> People:
        """The people who have no siblings, as a budget counts them."""
        humans = self.humans(learned)
        calibration = Calibration(fields["slope"], fields["offset"], fields["reference"], None, learned.parts["peers"])
        found: People = self.counted(humans.filter(~has_siblings(humans)), calibration)["people"]
        return found

    def _judge_of(
        self, rows: pl.DataFrame, used: tuple[str, ...], unused: Mapping[str, str], among: pl.Series | None = None
    ) -> Learned:
        """Trees, and their decisions on held-out rows; rows that turn out to tell too little are left out.

        With `among` everybody is learned from, and these rows alone calibrate and are compared with.
        """
        told = {method: self._out_of_fold(rows, used, method) for method in dict.fromkeys((self.method, "logistic"))}
        scorer = self._learn(rows, used, self.method).informed(told[self.method].information(bots(rows)))
        enough = scorer.enough(rows, self.enough) & (True if among is None else among.to_numpy())
        decisions = {method: strangers.decisions[enough] for method, strangers in told.items()}
        kept = rows.filter(pl.Series(enough)).with_columns(held_out=decisions[self.method])
        crowd = self._crowd(kept, tuple(name for name in used if name not in self._of_siblings))
        ladders = crowd.ladders(self.peers)
        own = {
            "columns": scorer.columns,
            "ratios": scorer.ratios,
            "intercept": scorer.intercept,
            "smooth": scorer.smooth,
            "sharp": scorer.sharp,
            "left_out": unused,
            "peers": Peers.of(ladders, crowd.humans),
        }
        results = {
            "logistic_auc": _auc(decisions["logistic"], kept),
            "promises": plain_json(prices(kept, self._choices(crowd, ladders), crowd.ladders((LEARNED,)))),
        }
        return Learned(kept, decisions[self.method], own, Ranges.of(kept, used), results)

    def humans(self, learned: Learned) -> pl.DataFrame:
        """The humans' rows with the person that the promise is made to."""
        return as_persons(learned.rows.filter(~pl.col("bot")), self.promise)

    def reference(self, humans: pl.DataFrame) -> Reference:
        """People, each with the row that looks most like a bot."""
        return Reference.of(humans, "person")

    def learn(self, features: pl.DataFrame, labels: pl.DataFrame) -> TreeScorer | Judges:
        """What decides, without calibration: for evaluations that hold rows out themselves."""
        rows = label_periods(self.checked(features, "learn"), labels, "learn").rows
        alone = self._learn(rows, _usable(rows, self._columns)[0], self.method)
        if not self._of_siblings or self._too_few_siblings(rows):
            return alone
        every = (*self._columns, *self._of_siblings)
        return Judges(alone, self._learn(rows, _usable(rows, every)[0], self.method))

    @property
    def _columns(self) -> tuple[str, ...]:
        """The numbers of a row itself."""
        others = {"impossible", *self._of_siblings}
        return tuple(name for name in self.feature.names if name not in others)

    @property
    def _of_siblings(self) -> tuple[str, ...]:
        return tuple(getattr(self.feature, "of_siblings", ()))

    def _crowd(self, rows: pl.DataFrame, used: tuple[str, ...]) -> Crowd:
        """The humans the promise is made to, and which hours a day set people apart."""
        days = {name: day for name, day in self.feature.day_lengths.items() if name in used}
        known = {name: tuple(sorted({day * self.hours / 24, day * _AWAKE / 24})) for name, day in days.items()}
        return Crowd(as_persons(rows.filter(~pl.col("bot")), self.promise), used, known)

    def _choices(self, crowd: Crowd, ladders: tuple[Ladder, ...]) -> list[Choice]:
        """What could have been asked for, and what was."""
        asked = ",".join(self.peers)
        words = dict.fromkeys((NONE, FIFTHS, LEARNED, asked))
        known = {word: ladders if word == asked else crowd.ladders((word,)) for word in words}
        return [Choice(promise, word, known[word]) for promise in (ROW, ACCOUNT) for word in words]

    def _out_of_fold(self, rows: pl.DataFrame, used: tuple[str, ...], method: Method) -> "_Strangers":
        """What scorers that never saw a row's group make of it."""
        moved = np.zeros((rows.height, len(used) + len(self._ratios(used, method))))

        def decide(out: Flags) -> Floats:
            scorer = self._learn(rows.filter(~pl.Series(out)), used, method, 1.0 - float(out.mean()))
            numbers = scorer.numbers(rows.filter(pl.Series(out)))
            terms = scorer.steps(numbers)
            moved[out] = np.where(np.isnan(numbers), 0.0, terms)
            return added(terms, scorer.base)

        return _Strangers(out_of_fold(rows, self.folds, self.seed, decide), moved)

    def _ratios(self, used: tuple[str, ...], method: Method) -> tuple[tuple[str, str], ...]:
        own = tuple(name for name in used if name not in self._of_siblings)
        return ratios_of(own) if self.ratios and method == "trees" else ()

    def _learn(self, rows: pl.DataFrame, used: tuple[str, ...], method: Method, share: float = 1.0) -> TreeScorer:
        """Trees over columns and ratios, or a straight line over the columns alone, from a share of all rows."""
        ratios = self._ratios(used, method)
        numbers, bot = numbers_of(rows, used, ratios), bots(rows)
        names = (*used, *(f"{over} / {under}" for over, under in ratios))
        if method == "trees":
            size = {"rounds": self.rounds, "seed": 1000 * self.seed}
            styles = [(style.for_share(share), many * self.runs) for style, many in _STYLES]
            trees = [grow(numbers, bot, style, runs=runs, **size) for style, runs in styles]
            return TreeScorer(_columns(names, numbers, bot, np.zeros(len(names))), ratios, 0.0, *trees)
        weights, intercept = _straight(numbers, bot, self.strength)
        return TreeScorer(_columns(names, numbers, bot, weights), ratios, intercept, Forest.of(()), Forest.of(()))


@dataclass(frozen=True)
class _Together(Learned):
    """What was made of rows as if each were alone, and of those that have siblings beside them."""

    among: Learned = field(kw_only=True)


@dataclass(frozen=True)
class _Strangers:
    """Each row's decision by a scorer that never saw its group, and what each measured number added to it."""

    decisions: Floats
    moved: Floats

    def information(self, bot: Flags) -> Floats:
        """How much further each number moved bots than humans: nothing where it moved them no further."""
        further: Floats = self.moved[bot].mean(axis=0) - self.moved[~bot].mean(axis=0)
        return np.maximum(further, 0.0)


def _auc(decisions: Floats, rows: pl.DataFrame) -> float:
    found: float = validation_of(decisions, bots(rows), 1.0, 0.0, groups(rows))["auc"]
    return found


def _straight(numbers: Floats, bot: Flags, strength: float) -> tuple[Floats, float]:
    need("learning a model", "sklearn")
    from sklearn.linear_model import LogisticRegression

    squeezed = spread_out(numbers)
    standard = Standard.of(squeezed).scale(squeezed)
    fitted = LogisticRegression(C=strength, solver="newton-cholesky", tol=1e-8, max_iter=1000).fit(standard, bot)
    return fitted.coef_[0], float(fitted.intercept_[0])


def _columns(names: tuple[str, ...], numbers: Floats, bot: Flags, weights: Floats) -> tuple[Column, ...]:
    standard = Standard.of(spread_out(numbers))
    return tuple(
        Column(
            name=name,
            mean=float(standard.means[at]),
            deviation=float(standard.deviations[at]),
            weight=float(weights[at]),
            percentiles=_percentiles(numbers[:, at], bot),
            information=0.0,
        )
        for at, name in enumerate(names)
    )


def _percentiles(numbers: Floats, bot: Flags) -> tuple[float, ...]:
    """Of the humans; of all where no human has the number."""
    people = numbers[~bot]
    return percentiles_of(numbers if np.isnan(people).all() else people)


def _usable(rows: pl.DataFrame, columns: tuple[str, ...]) -> tuple[tuple[str, ...], dict[str, str]]:
    """The columns that vary among the labelled rows, and why not the others."""
    unused = {
        name: "never measured in training" if not rows[name].count() else "the same in every training row"
        for name in columns
        if rows[name].drop_nulls().n_unique() <= 1
    }
    used = tuple(name for name in columns if name not in unused)
    if not used:
        raise FitError("fit account-table: no column varies among the labelled rows; give a table with more columns")
    return used, unused
