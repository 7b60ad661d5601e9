"""Is this client a program? The traffic test of Hilaire et al., with thresholds and tree learned from labelled traces.

The paper set its thresholds by hand and named a training method as its first future work; this is one.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import polars as pl

from gamewarden.contracts import Recipe, frame_digest
from gamewarden.core.trees import NAMED, TESTS, Tree
from gamewarden.detectors.traffic.model import Reference, TrafficModel
from gamewarden.detectors.traffic.search import Flags, Layout, Learned, Search, answers, cells, verdicts
from gamewarden.errors import FitError, TableError
from gamewarden.learning.calibration import plain_json
from gamewarden.learning.days import Days
from gamewarden.learning.labels import Labelled, label_periods, more_labels
from gamewarden.learning.out_of_fold import training_digest, training_of
from gamewarden.learning.recipe import ByDay, DetectorRecipe, one_of, option
from gamewarden.learning.validation import Rule
from gamewarden.tables import FEATURES, check

BEST = "best"
LEAST = 2  # traces of a class: one to learn from, one to hold out
_WINDOW = ("actor", "acn", "acv", "window")
_LISTS = ("gaps", "sizes", "correlations")
_MEASURES = ("accuracy", "false_alarm", "fpr", "recall")


@dataclass(frozen=True)
class TrafficDetector(ByDay, DetectorRecipe):
    """Thresholds by coordinate ascent from a starting profile, and the best of the 18 trees or a named one.

    `feature` is traffic-details: what the table given to `fit` was measured with.
    """

    name: ClassVar[str] = "traffic"
    says: ClassVar[str] = (
        "The timing and the sizes of a client's packets, as the answer to whether a program sends them."
    )
    sees: ClassVar[str] = "traffic"
    model: ClassVar[type[Any]] = TrafficModel
    version: ClassVar[int] = 3

    tree: str = option(BEST, ("majority",), one_of(BEST, *NAMED), "A tree by its name, or the best.")
    thresholds: bool = option(True, (False,), says="Whether thresholds are learned, or kept as they are.")
    cap: float = option(
        0.08,
        (0.3,),
        Rule(lambda v: 0 < v <= 1, "give a share above 0, at most 1"),
        "The largest share of false alarms, FP/(FP+TP), to accept.",
    )

    def fit(self, features: pl.DataFrame, labels: pl.DataFrame) -> TrafficModel:
        """The model of these windows and labels, the same whatever the order of their rows.

        A trace is an actor, or the `group` its label names. Each trace is held out once, all of the search done anew
        without it: that gives the validation results, the probabilities and the reference humans.

        Raises:
            FitError: too few labelled traces of a class with a completed window.
            TableError: a table lacks a column or holds what it must not.
        """
        labelled = _labelled(_checked(features), labels)
        _refuse_too_few(labelled)
        rows = labelled.rows
        names = sorted(rows["group"].unique())
        traces = np.arange(len(names))
        layouts = _layouts(rows, names, self._start())
        if not self.thresholds:
            layouts = layouts[:1]
        search = Search(self._start(), None if self.tree == BEST else Tree.named(self.tree), self.thresholds, self.cap)
        held_out = [_HeldOut(name, at, search.learn(layouts, traces[traces != at])) for at, name in enumerate(names)]
        learned = search.learn(layouts, traces)
        reference = _reference(held_out)
        return TrafficModel(
            detector=self.name,
            recipe=self.to_dict(),
            feature=Recipe("traffic", plain_json({**learned.profile, "tree": learned.tree.to_dict()})),
            details=Recipe(self.feature.name, plain_json(self.feature.to_dict())),
            data=training_digest(rows, labels, _written),
            reference=reference,
            days=_days(held_out, rows, reference, self.time_zone),
            typical=_typical(learned),
            training=_training(labelled, learned),
            validation=_validation(held_out, layouts[0], self._start()),
        )

    def _start(self) -> dict[str, Any]:
        start: dict[str, Any] = dict(self.feature.to_dict()["start"])
        return start


@dataclass(frozen=True)
class _HeldOut:
    """A trace, and what was learned without it."""

    name: str
    trace: int
    learned: Learned

    @property
    def mine(self) -> Flags:
        mine: Flags = self.learned.layout.trace == self.trace
        return mine

    @property
    def bot(self) -> bool:
        return bool(self.learned.layout.bot[self.mine].any())

    def says_bot(self) -> Flags:
        """The verdict on each of its windows."""
        return self.learned.says_bot[self.mine]


def _checked(features: pl.DataFrame) -> pl.DataFrame:
    table = check(features, FEATURES, "fit traffic")
    missing = [name for name in (*_WINDOW, *_LISTS) if name not in table.columns]
    if missing:
        raise TableError(f"fit traffic: FEATURES lacks {', '.join(missing)}; measure traffic-details first")
    return table.select(*FEATURES.columns, *_WINDOW[1:], *_LISTS)


def _labelled(rows: pl.DataFrame, labels: pl.DataFrame) -> Labelled:
    """The windows with one verdict, and the trace each is of."""
    known = label_periods(rows.drop(_LISTS), labels, "fit traffic")
    judged = known.rows.select(*_WINDOW, "bot", "source", "group")
    mixed = judged.group_by("group").agg(pl.col("bot").n_unique()).filter(pl.col("bot") > 1)
    if mixed.height:
        raise FitError(
            f"fit traffic: {mixed['group'].sort()[0]} has windows of a bot and of a human; "
            "name their traces apart in the labels' group"
        )
    return Labelled(rows.join(judged, on=_WINDOW).sort("group", *_WINDOW), known.left_out)


def _refuse_too_few(labelled: Labelled) -> None:
    rows = labelled.rows
    bots, humans = (rows.filter(bot=bot)["group"].n_unique() for bot in (True, False))
    if min(bots, humans) < LEAST:
        raise FitError(
            f"fit traffic: {bots} traces of bots and {humans} of humans have a completed window; needed are {LEAST} "
            f"of each; {more_labels(labelled.left_out, 'label more traces or longer ones')}"
            + "".join(f" ({reason}: {count})" for reason, count in labelled.left_out.items())
        )


def _layouts(rows: pl.DataFrame, names: list[str], start: dict[str, Any]) -> list[Layout]:
    """The windows by layout, the start's own first."""
    own = (start["acn"], start["acv"])
    found = sorted(rows.select("acn", "acv").unique().rows(), key=lambda layout: (layout != own, layout))
    return [_layout(rows.filter(acn=acn, acv=acv), acn, acv, names) for acn, acv in found]


def _layout(rows: pl.DataFrame, acn: int, acv: int, names: list[str]) -> Layout:
    win = acv * (acn + 1)
    padded = rows.select(gaps=pl.col("gaps").list.concat(pl.lit([None] * win, pl.List(pl.Int64))).list.head(win))
    gaps = np.array(padded["gaps"].explode().to_numpy(), np.float64).reshape(-1, win)
    correlations = np.array(rows["correlations"].explode().to_numpy(), np.float64)
    return Layout(
        acn=acn,
        acv=acv,
        gaps=np.nan_to_num(gaps).astype(np.int64),
        has_gap=~np.isnan(gaps),
        sizes=rows["sizes"].explode().to_numpy().reshape(-1, win).astype(np.int64),
        correlations=correlations.reshape(-1, acv),
        bot=rows["bot"].to_numpy(),
        trace=np.searchsorted(names, rows["group"].to_numpy()),
    )


def _written(rows: pl.DataFrame) -> list[str]:
    """The windows, lists and all; who labelled them is in the labels' digest."""
    lists = [pl.col(name).cast(pl.List(pl.String)).list.join(",", ignore_nulls=False) for name in _LISTS]
    return [frame_digest(rows.drop("source").with_columns(lists))]


def _reference(held_out: list[_HeldOut]) -> Reference:
    counts = np.zeros((2, 2))  # bot or human, called bot or not
    for trace in held_out:
        says = trace.says_bot()
        counts[int(not trace.bot)] += says.sum(), (~says).sum()
    (true, missed), (false, right) = counts
    if_bot, if_human = (true + 1) / (true + false + 2), (missed + 1) / (missed + right + 2)
    if if_bot < if_human:  # no better than chance: it says only how common bots were
        if_bot = if_human = (true + missed + 1) / (counts.sum() + 2)
    shares = tuple(float(trace.says_bot().mean()) for trace in held_out if not trace.bot)
    return Reference(float(if_bot), float(if_human), shares)


def _days(held_out: list[_HeldOut], rows: pl.DataFrame, reference: Reference, time_zone: str | None) -> Days | None:
    """The held-out humans' days, by what was said of their windows."""
    return Days.of(
        pl.concat(
            rows.filter(acn=trace.learned.layout.acn, acv=trace.learned.layout.acv)
            .filter(pl.Series(trace.mine))
            .select(
                "actor",
                "until",
                probability=pl.Series(np.where(trace.says_bot(), reference.if_bot, reference.if_human)),
            )
            for trace in held_out
            if not trace.bot
        ).sort("actor", "until"),
        time_zone,
    )


def _typical(learned: Learned) -> dict[str, float]:
    """The median human window's number behind each test."""
    layout, profile = learned.layout, learned.profile
    votes = np.count_nonzero(layout.correlations < profile["acthr"], axis=1)
    numbers = {
        "lengths": layout.over("sizes", profile["dlthr2"]),
        "interarrival": layout.over("gaps", profile["itthr1"]),
        "autocorrelation": votes,
    }
    return {test: float(np.median(numbers[test][~layout.bot])) for test in TESTS}


def _training(labelled: Labelled, learned: Learned) -> dict[str, Any]:
    mine = labelled.rows.filter(acn=learned.layout.acn, acv=learned.layout.acv)
    traces = {side: mine.filter(bot=bot)["group"].n_unique() for side, bot in (("bot", True), ("human", False))}
    return {**training_of(mine, labelled.left_out), "traces": traces}


def _validation(held_out: list[_HeldOut], usual: Layout, start: dict[str, Any]) -> dict[str, Any]:
    """Each trace judged by what was learned without it: the tree, each test alone, and the starting profile beside."""
    bot = np.concatenate([np.full(trace.mine.sum(), trace.bot) for trace in held_out])
    tree = [trace.says_bot() for trace in held_out]
    tests = {
        test: np.concatenate(
            [answers(trace.learned.layout, trace.learned.profile)[test][trace.mine] for trace in held_out]
        )
        for test in TESTS
    }
    accuracies = [float((says == trace.bot).mean()) for says, trace in zip(tree, held_out, strict=True)]
    start_says = verdicts(Tree.from_dict(start["tree"]).bits)[cells(usual, start)]
    return {
        **_measures(np.concatenate(tree), bot),
        "accuracy_mean": float(np.mean(accuracies)),
        "accuracy_spread": float(np.std(accuracies)),
        "traces": {
            trace.name: {"bot": trace.bot, "windows": len(says), "accuracy": accuracy, "tree": str(trace.learned.tree)}
            for trace, says, accuracy in zip(held_out, tree, accuracies, strict=True)
        },
        "tests_alone": {test: _measures(said, bot) for test, said in tests.items()},
        "start": _measures(start_says, usual.bot),
        "says": "windows of held-out traces; each trace was judged by a search that never saw it",
    }


def _measures(says: Flags, bot: Flags) -> dict[str, float | None]:
    """Accuracy, false_alarm = FP/(FP+TP), fpr = FP/(FP+TN) and recall; None where there is nothing to divide by."""
    true, false = int((says & bot).sum()), int((says & ~bot).sum())
    bots, humans = int(bot.sum()), int((~bot).sum())
    ratios = ((true + humans - false, bots + humans), (false, true + false), (false, humans), (true, bots))
    return {name: above / below if below else None for name, (above, below) in zip(_MEASURES, ratios, strict=True)}
