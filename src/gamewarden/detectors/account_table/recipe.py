"""How probably a row of an operator's own table is a bot's: boosted trees beside a logistic regression.

Many operators already have one row an account. The trees' mean over several runs decides; what a plain logistic
regression makes of the same columns stands beside it on the card, so that the gain can be seen.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar, Literal, Protocol, get_args

import numpy as np
import polars as pl

from gamewarden.contracts import Feature, Recipe, frame_digest
from gamewarden.detectors.account_table.boosting import SHARP, SMOOTH, grow
from gamewarden.detectors.account_table.forest import Forest
from gamewarden.detectors.account_table.model import (
    AccountTableModel,
    Column,
    Machine,
    added,
    checked,
    measured_of,
    numbers_of,
    squeezed,
)
from gamewarden.errors import ConfigError, FitError
from gamewarden.learning.calibration import (
    CALIBRATIONS,
    Flags,
    Floats,
    people_of,
    plain_json,
    platt,
    validation_of,
)
from gamewarden.learning.labels import Labelled, label_periods
from gamewarden.learning.ladders import FIFTHS, LEARNED, NONE, Crowd, Ladder
from gamewarden.learning.out_of_fold import (
    bots,
    fold_count,
    groups,
    out_of_fold,
    refuse_too_few,
    training_digest,
    training_of,
)
from gamewarden.learning.peers import Peers, reference_of
from gamewarden.learning.promises import ACCOUNT, ROW, Choice, as_persons, prices
from gamewarden.learning.ranges import Ranges
from gamewarden.learning.ratios import ratios_of
from gamewarden.learning.styles import Styles

Method = Literal["trees", "logistic"]
Promise = Literal["account", "row"]
METHOD = 4  # grows when the same recipe and data would give other numbers, so that a name never means two models
_GRID = np.linspace(0.0, 1.0, 101)
_STEADY = 1e-12  # a deviation this small beside its mean is rounding, not variation
_AWAKE = 16.0  # hours a day: who plays longer does not sleep for eight
_VALIDATED = "held-out rows, an actor or its group in one fold only"
_STYLES = ((SMOOTH, 1), (SHARP, 2))  # sharp trees differ more from run to run
_NEEDED = {
    "method": f"choose one of {', '.join(get_args(Method))}",
    "promise": f"choose one of {', '.join(get_args(Promise))}",
    "peers": f"choose {NONE}, {FIFTHS}, {LEARNED} or columns",
    "hours": "give a number above 0",
    "runs": "give 1 or more",
    "rounds": "give 1 or more",
    "strength": "give a number above 0",
    "enough": "give a share from 0 to 1",
    "folds": "give 2 or more",
    "calibration": f"choose one of {', '.join(CALIBRATIONS)}",
    "least": "give 2 or more",
}


class TableFeature(Feature, Protocol):
    """A frozen recipe of a table that knows which of its numbers are a time a day."""

    @property
    def day_lengths(self) -> Mapping[str, float]:
        """How long a day is in each number that is a time a day."""


@dataclass(frozen=True)
class AccountTableDetector:
    """The recipe; each field names in `also` what the contract tests shall try besides."""

    name: ClassVar[str] = "account-table"
    says: ClassVar[str] = "An operator's own table, one row an account, as the probability that a bot is behind it."

    feature: TableFeature  # frozen: what the table given to `fit` was measured with
    method: Method = field(
        default="trees", metadata={"also": ("logistic",), "says": "Boosted trees, or the logistic regression alone."}
    )
    runs: int = field(default=3, metadata={"also": (2,), "says": "Runs of the smooth boosting; the sharp has twice."})
    rounds: int = field(default=500, metadata={"also": (6,), "says": "Trees of the longest run."})
    ratios: bool = field(
        default=True, metadata={"also": (False,), "says": "Also divide by the columns that count days and logins."}
    )
    promise: Promise = field(
        default="account",
        metadata={"also": ("row",), "says": "An alarm of 1 in 100 flags 1 in 100 accounts (--group), or rows."},
    )
    peers: tuple[str, ...] = field(
        default=(LEARNED,),
        metadata={
            "also": ((NONE,), (FIFTHS,), ("Playtime:3600:7200", "Max_level")),
            "as": "kinds",
            "shown": LEARNED,
            "says": "Whom the promise holds for besides all: none, fifths of every number, learned (fifths, the top "
            "twentieth, 10 and 16 hours a day), or columns as Playtime:3600:7200,level.",
        },
    )
    hours: float = field(default=Styles().hardcore_hours, metadata={"also": (6.0,)})  # a day, of `learned`
    strength: float = field(default=1.0, metadata={"also": (0.1,)})  # C of the logistic regression
    enough: float = field(default=0.5, metadata={"also": (0.25,)})  # of what the columns can tell, in a row
    folds: int = field(default=5, metadata={"also": (3,)})
    calibration: str = field(default="platt", metadata={"also": ("none",)})
    least: int = field(default=5, metadata={"also": (2,)})
    seed: int = field(default=0, metadata={"also": (1,)})

    def __post_init__(self) -> None:
        """Check every option.

        Raises:
            ConfigError: an option has a value that nothing can be learned with.
        """
        wrong = {
            "method": self.method not in get_args(Method),
            "promise": self.promise not in get_args(Promise),
            "peers": not self.peers,
            "hours": not self.hours > 0,
            "runs": self.runs < 1,
            "rounds": self.rounds < 1,
            "strength": not self.strength > 0,
            "enough": not 0 <= self.enough <= 1,
            "folds": self.folds < 2,  # noqa: PLR2004 - one fold holds nothing out
            "calibration": self.calibration not in CALIBRATIONS,
            "least": self.least < 2,  # noqa: PLR2004 - with one actor a class nothing can be held out
        }
        for option, bad in wrong.items():
            if bad:
                raise ConfigError(f"{self.name}: {option} {getattr(self, option)!r} cannot be used; {_NEEDED[option]}")

    def to_dict(self) -> dict[str, Any]:
        """The options as JSON values, without the feature's."""
        options = {option.name: getattr(self, option.name) for option in fields(self) if option.name != "feature"}
        return plain_json({"version": METHOD, **options})

    def fit(self, features: pl.DataFrame, labels: pl.DataFrame) -> AccountTableModel:
        """The model of these rows and labels, the same whatever their order.

        Folds keep an actor, or the `group` its label names, on one side. Held-out values calibrate `probability`, are
        the reference humans of `alarm`, and give the validation results.

        Raises:
            FitError: too few labelled actors of a class.
            TableError: a table lacks a column or holds what it must not.
        """
        door = f"fit {self.name}"
        table = checked(features, self._columns, door)
        labelled = label_periods(table, labels, door)
        known = labelled.rows.filter(pl.Series(measured_of(labelled.rows, self._columns).any(axis=1)))
        refuse_too_few(known, self.least, door, labelled.left_out)
        used, unused = _usable(known, self._columns)
        told = {method: self._held_out(known, used, method) for method in dict.fromkeys((self.method, "logistic"))}
        machine = self._learn(known, used, self.method).informed(told[self.method].information(bots(known)))
        enough = machine.enough(known, self.enough)
        rows = known.filter(pl.Series(enough)).with_columns(held_out=told[self.method].decisions[enough])
        left_out = _left_out(labelled, rows)
        refuse_too_few(rows, self.least, door, left_out)
        slope, offset = platt(_values(rows), bots(rows)) if self.calibration == "platt" else (1.0, 0.0)
        crowd = self._crowd(rows, used)
        ladders = crowd.ladders(self.peers)
        reference, peers = reference_of(crowd.humans), Peers.of(ladders, crowd.humans)
        return AccountTableModel(
            detector=self.name,
            recipe=self.to_dict(),
            feature=Recipe(self.feature.name, plain_json(self.feature.to_dict())),
            data=training_digest(table, labels, self._written),
            slope=slope,
            offset=offset,
            reference=reference,
            peers=peers,
            people=people_of(crowd.humans, reference, peers),
            ranges=Ranges.of(rows, used),
            training=training_of(rows, left_out),
            validation={
                **validation_of(_values(rows), bots(rows), slope, offset, groups(rows)),
                "logistic_auc": _auc(told["logistic"].decisions[enough], rows),
                "says": _VALIDATED,
                "folds": fold_count(known, self.folds),
                "promises": plain_json(prices(rows, self._choices(crowd, ladders), crowd.ladders((LEARNED,)))),
            },
            machine=machine,
            left_out=unused,
        )

    def learn(self, features: pl.DataFrame, labels: pl.DataFrame) -> Machine:
        """What decides, without calibration: for evaluations that hold rows out themselves."""
        rows = label_periods(checked(features, self._columns, "learn"), labels, "learn").rows
        return self._learn(rows, _usable(rows, self._columns)[0], self.method)

    @property
    def _columns(self) -> tuple[str, ...]:
        return tuple(name for name in self.feature.names if name != "impossible")

    def _written(self, table: pl.DataFrame) -> list[str]:
        return [frame_digest(table.select("actor", *self._columns))]

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

    def _held_out(self, rows: pl.DataFrame, used: tuple[str, ...], method: Method) -> "_Strangers":
        """What machines that never saw a row's group make of it."""
        moved = np.zeros((rows.height, len(used) + len(self._ratios(used, method))))

        def decide(out: Flags) -> Floats:
            machine = self._learn(rows.filter(~pl.Series(out)), used, method, 1.0 - float(out.mean()))
            numbers = machine.numbers(rows.filter(pl.Series(out)))
            terms = machine.steps(numbers)
            moved[out] = np.where(np.isnan(numbers), 0.0, terms)
            return added(terms, machine.base)

        return _Strangers(out_of_fold(rows, self.folds, self.seed, decide), moved)

    def _ratios(self, used: tuple[str, ...], method: Method) -> tuple[tuple[str, str], ...]:
        return ratios_of(used) if self.ratios and method == "trees" else ()

    def _learn(self, rows: pl.DataFrame, used: tuple[str, ...], method: Method, share: float = 1.0) -> Machine:
        """Trees over columns and ratios, or a straight line over the columns alone, from a share of all rows."""
        ratios = self._ratios(used, method)
        numbers, bot = numbers_of(rows, used, ratios), bots(rows)
        names = (*used, *(f"{over} / {under}" for over, under in ratios))
        if method == "trees":
            size = {"rounds": self.rounds, "seed": 1000 * self.seed}
            styles = [(style.for_share(share), many * self.runs) for style, many in _STYLES]
            trees = [grow(numbers, bot, style, runs=runs, **size) for style, runs in styles]
            return Machine(_columns(names, numbers, bot, np.zeros(len(names))), ratios, 0.0, *trees)
        weights, intercept = _straight(numbers, bot, self.strength)
        return Machine(_columns(names, numbers, bot, weights), ratios, intercept, Forest.of(()), Forest.of(()))


@dataclass(frozen=True)
class _Strangers:
    """Each row's decision by a machine that never saw its group, and what each measured number added to it."""

    decisions: Floats
    moved: Floats

    def information(self, bot: Flags) -> Floats:
        """How much further each number moved bots than humans: nothing where it moved them no further."""
        further: Floats = self.moved[bot].mean(axis=0) - self.moved[~bot].mean(axis=0)
        return np.maximum(further, 0.0)


def _values(rows: pl.DataFrame) -> Floats:
    """The decisions on the rows as strangers'."""
    return rows["held_out"].to_numpy()


def _auc(decisions: Floats, rows: pl.DataFrame) -> float:
    found: float = validation_of(decisions, bots(rows), 1.0, 0.0, groups(rows))["auc"]
    return found


def _straight(numbers: Floats, bot: Flags, strength: float) -> tuple[Floats, float]:
    from sklearn.linear_model import LogisticRegression

    means, deviations = _moments(squeezed(numbers))
    standard = np.where(np.isnan(numbers), 0.0, (squeezed(numbers) - means) / deviations)
    fitted = LogisticRegression(C=strength, solver="newton-cholesky", tol=1e-8, max_iter=1000).fit(standard, bot)
    return fitted.coef_[0], float(fitted.intercept_[0])


def _moments(values: Floats) -> tuple[Floats, Floats]:
    """Mean and deviation of what was measured; a column that does not vary here gets deviation 1 and so counts as 0."""
    measured = ~np.isnan(values)
    count = np.maximum(measured.sum(axis=0), 1)
    means = np.where(measured, values, 0.0).sum(axis=0) / count
    deviations = np.sqrt((np.where(measured, values - means, 0.0) ** 2).sum(axis=0) / count)
    return means, np.where(deviations <= _STEADY * np.maximum(1.0, np.abs(means)), 1.0, deviations)


def _columns(names: tuple[str, ...], numbers: Floats, bot: Flags, weights: Floats) -> tuple[Column, ...]:
    means, deviations = _moments(squeezed(numbers))
    return tuple(
        Column(
            name=name,
            mean=float(means[at]),
            deviation=float(deviations[at]),
            weight=float(weights[at]),
            percentiles=_percentiles(numbers[:, at], bot),
        )
        for at, name in enumerate(names)
    )


def _percentiles(numbers: Floats, bot: Flags) -> tuple[float, ...]:
    """Of the humans; of all where no human has the number."""
    measured = ~np.isnan(numbers)
    seen = numbers[measured & ~bot] if (measured & ~bot).any() else numbers[measured]
    return tuple(float(value) for value in np.quantile(seen if seen.size else np.zeros(1), _GRID))


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


def _left_out(labelled: Labelled, rows: pl.DataFrame) -> Mapping[str, int]:
    thin = labelled.rows.height - rows.height
    return {**labelled.left_out, **({"rows that tell too little": thin} if thin else {})}
