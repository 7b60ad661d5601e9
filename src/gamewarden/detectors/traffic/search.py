"""Thresholds and tree of the traffic test, learned from labelled windows.

First each test alone takes the thresholds with the best balanced accuracy. Then the tree is the one that does best on
traces its thresholds never saw. Then, in one pass, each test takes the thresholds with which the whole does best:
accuracy, as long as the false alarms stay under the cap.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gamewarden.core.trees import MONOTONE, Tree

Flags = NDArray[np.bool_]
Counts = NDArray[np.int64]
Floats = NDArray[np.float64]
Profile = Mapping[str, Any]

SECOND = 1_000_000
_MILLISECOND = 1_000
# Candidates (our choice; the paper tuned by hand). Quantiles are of the training traces alone.
GAP_QUANTILES, GAP_SECONDS, PEAK_FACTORS = (0.90, 0.95, 0.98), (1, 2, 3), (2, 3)
LONG_QUANTILES, LONGISH_QUANTILES = (0.95, 0.98, 0.99), (0.85, 0.9, 0.95)
FEW_GAPS, PEAK_SHARES = (1, 2, 3), (0.1, 0.2, 0.3, 0.4, 0.5)
FEW_LONG, FEW_LONGISH = (1, 2, 3), tuple(range(1, 16))
CORRELATIONS = tuple(round(-0.3 + 0.05 * step, 2) for step in range(9))

_BIT = {"autocorrelation": 1, "interarrival": 2, "lengths": 4}
CELLS = 8


@dataclass(frozen=True)
class Layout:
    """All windows of one way to cut packets into sub-windows."""

    acn: int
    acv: int
    gaps: Counts  # a row a window, 0 where there is none: no threshold is below
    has_gap: Flags
    sizes: Counts
    correlations: Floats  # NaN where a sub-window could not vote
    bot: Flags
    trace: Counts  # the number of the trace a window is of
    # Folds try mostly the same settings: what was counted once is kept.
    _over: dict[tuple[str, int], Counts] = field(default_factory=dict, compare=False, repr=False)
    _said: dict[tuple[object, ...], tuple[Flags, Counts]] = field(default_factory=dict, compare=False, repr=False)

    def over(self, what: str, threshold: int) -> Counts:
        """How many values of each window are over the threshold."""
        key = what, threshold
        if key not in self._over:
            self._over[key] = np.count_nonzero(getattr(self, what) > threshold, axis=1)
        return self._over[key]

    def says(self, test: str, profile: Profile) -> tuple[Flags, Counts]:
        """What a test says on each window, and how often it says bot on each trace."""
        key = test, *(profile[name] for name in _OPTIONS[test])
        if key not in self._said:
            said = _TESTS[test](self, profile)
            self._said[key] = said, np.bincount(self.trace[said], minlength=self.trace.max() + 1)
        return self._said[key]


@dataclass(frozen=True)
class Candidates:
    """Settings of one test, the one to start from first."""

    test: str
    settings: list[dict[str, Any]]
    hits: Counts  # how often each setting says bot on each trace


@dataclass(frozen=True)
class Learned:
    """A profile, and the cell of each window of its layout."""

    layout: Layout
    profile: dict[str, Any]
    tree: Tree
    objective: float  # on traces the thresholds never saw

    @property
    def cells(self) -> Counts:
        """Which combination of answers each window has."""
        return cells(self.layout, self.profile)

    @property
    def says_bot(self) -> Flags:
        """The verdict on each window."""
        return verdicts(self.tree.bits)[self.cells]


def verdicts(bits: int) -> Flags:
    """What a tree says on each cell."""
    return np.array([bits >> at & 1 for at in range(CELLS)], np.bool_)


def answers(layout: Layout, profile: Profile) -> dict[str, Flags]:
    """What the three tests say on each window; who abstains is heard as human."""
    return {test: layout.says(test, profile)[0] for test in _TESTS}


def cells(layout: Layout, profile: Profile) -> Counts:
    """Which combination of answers each window has."""
    return sum((_BIT[name] * said for name, said in answers(layout, profile).items()), np.zeros(len(layout.bot), int))


def _autocorrelation(layout: Layout, profile: Profile) -> Flags:
    able = ~np.isnan(layout.correlations)
    votes = np.count_nonzero(layout.correlations < profile["acthr"], axis=1)
    valid = np.count_nonzero(able, axis=1)
    if profile["abstain_as"] != "abstain":
        votes = votes + (layout.acv - valid) * (profile["abstain_as"] == "bot")
        valid = np.full_like(valid, layout.acv)
    said: Flags = (2 * valid >= layout.acv) & (2 * votes > valid)
    return said


def _interarrival(layout: Layout, profile: Profile) -> Flags:
    long, peaks = layout.over("gaps", profile["itthr1"]), layout.over("gaps", profile["itthr2"])
    said: Flags = (long < profile["itrt1"]) | ((long > 0) & (peaks / np.maximum(long, 1) > profile["itrt2"]))
    return said


def _lengths(layout: Layout, profile: Profile) -> Flags:
    long, longish = layout.over("sizes", profile["dlthr1"]), layout.over("sizes", profile["dlthr2"])
    share = layout.acv * (layout.acn + 1) if profile["scaled"] else 100
    said: Flags = (100 * long < profile["dlrt1"] * share) & (100 * longish < profile["dlrt2"] * share)
    return said


_TESTS: Mapping[str, Callable[[Layout, Profile], Flags]] = {
    "lengths": _lengths,
    "interarrival": _interarrival,
    "autocorrelation": _autocorrelation,
}


_OPTIONS: Mapping[str, tuple[str, ...]] = {
    "lengths": ("dlthr1", "dlthr2", "dlrt1", "dlrt2", "scaled"),
    "interarrival": ("itthr1", "itthr2", "itrt1", "itrt2"),
    "autocorrelation": ("acthr", "abstain_as"),
}


def _settings_of(test: str, layout: Layout, rows: Flags) -> Iterator[dict[str, Any]]:
    """The settings to try of one test, from the windows of `rows`."""
    match test:
        case "autocorrelation":
            yield from ({"acthr": threshold} for threshold in CORRELATIONS)
        case "interarrival":
            human = rows & ~layout.bot
            usual = _quantiles(layout.gaps[human][layout.has_gap[human]], GAP_QUANTILES, _MILLISECOND)
            for long in (*usual, *(SECOND * seconds for seconds in GAP_SECONDS)):
                for factor, few, share in product(PEAK_FACTORS, FEW_GAPS, PEAK_SHARES):
                    yield {"itthr1": long, "itthr2": factor * long, "itrt1": few, "itrt2": share}
        case "lengths":
            sent = layout.sizes[rows & layout.bot].ravel()
            for long, longish in product(_quantiles(sent, LONG_QUANTILES, 1), _quantiles(sent, LONGISH_QUANTILES, 1)):
                for few, fewish in product(FEW_LONG, FEW_LONGISH):
                    yield {"dlthr1": long, "dlthr2": longish, "dlrt1": few, "dlrt2": fewish}


def _quantiles(values: Counts, shares: tuple[float, ...], step: int) -> list[int]:
    """Values that were seen, cut to whole steps."""
    if not values.size:
        return []
    found = np.quantile(values, shares, method="inverted_cdf")
    return sorted({int(value) // step * step for value in found})


def candidates(test: str, layout: Layout, rows: Flags, profile: Profile) -> Candidates:
    """What is tried of one test; the profile's own setting stands first."""
    own = {name: profile[name] for name in _OPTIONS[test]}
    settings = [own, *(own | setting for setting in _settings_of(test, layout, rows))]
    return Candidates(test, settings, np.array([layout.says(test, setting)[1] for setting in settings]))


@dataclass(frozen=True)
class Search:
    """How thresholds and tree are looked for."""

    start: Profile
    tree: Tree | None = None  # None: the best of all
    thresholds: bool = True
    cap: float = 0.08

    def learn(self, layouts: list[Layout], traces: Counts) -> Learned:
        """The best profile for these traces: for each layout thresholds and tree, then the layout that does best."""
        learned = [self._one_layout(layout, traces) for layout in layouts]
        return max(learned, key=lambda found: found.objective)

    def _one_layout(self, layout: Layout, traces: Counts) -> Learned:
        tree, objective = self._tree(layout, traces)
        profile, tried = self._each_test(layout, traces)
        for found in tried:
            profile |= self._together(layout, traces, profile, found, tree)
        return Learned(layout, profile, tree, objective)

    def _each_test(self, layout: Layout, traces: Counts) -> tuple[dict[str, Any], list[Candidates]]:
        """Each test alone takes the setting with the best balanced accuracy."""
        win = layout.acv * (layout.acn + 1)
        profile = {**self.start, "acn": layout.acn, "acv": layout.acv, "win": win}
        if not self.thresholds:
            return profile, []
        rows = np.isin(layout.trace, traces)
        bots = np.bincount(layout.trace[rows & layout.bot], minlength=layout.trace.max() + 1)
        humans = np.bincount(layout.trace[rows & ~layout.bot], minlength=layout.trace.max() + 1)
        gain = (bots > 0) / max(1, bots.sum()) - (humans > 0) / max(1, humans.sum())
        tried = [candidates(test, layout, rows, profile) for test in _TESTS]
        for found in tried:
            profile |= _best(found.settings, found.hits @ gain)
        return profile, tried

    def _tree(self, layout: Layout, traces: Counts) -> tuple[Tree, float]:
        """The tree that does best on each trace with thresholds learned from the others, and how well it does."""
        bots, humans = np.zeros(CELLS), np.zeros(CELLS)
        for held_out in traces:
            others = traces[traces != held_out]
            known = layout.bot[np.isin(layout.trace, others)]
            if known.all() or not known.any():
                continue  # nothing to compare
            profile, _ = self._each_test(layout, others)
            mine = layout.trace == held_out
            seen = cells(layout, profile)
            bots += np.bincount(seen[mine & layout.bot], minlength=CELLS)
            humans += np.bincount(seen[mine & ~layout.bot], minlength=CELLS)
        trees = [self.tree] if self.tree else [Tree(bits) for bits in _simplest_first()]
        says = np.array([verdicts(tree.bits) for tree in trees])
        score = self.objective(says @ bots, says @ humans, bots.sum(), humans.sum())
        best = int(np.argmax(score))
        return trees[best], float(score[best])

    def _together(
        self, layout: Layout, traces: Counts, profile: dict[str, Any], found: Candidates, tree: Tree
    ) -> dict[str, Any]:
        """The setting of one test with which the whole does best, the others as they are."""
        rows = np.isin(layout.trace, traces)
        settings = [{name: profile[name] for name in _OPTIONS[found.test]}, *found.settings]
        said = np.array([layout.says(found.test, setting)[0][rows] for setting in settings])
        rest = cells(layout, profile)[rows] & ~_BIT[found.test]
        says, bot = verdicts(tree.bits), layout.bot[rows]
        flagged = partial(_flagged, said, says[rest | _BIT[found.test]], says[rest])
        return _best(settings, self.objective(flagged(bot), flagged(~bot), bot.sum(), (~bot).sum()))

    def objective(self, true: Floats, false: Floats, bots: float, humans: float) -> Floats:
        """Accuracy where the share of false alarms is within the cap, else how far it is from it, below zero."""
        accuracy = (true + humans - false) / max(1, bots + humans)
        false_alarm = false / np.maximum(1, true + false)
        score: Floats = np.where(false_alarm <= self.cap, accuracy, -false_alarm)
        return score


def _best(settings: list[dict[str, Any]], score: Floats) -> dict[str, Any]:
    """The setting with the best score; among equals the one nearest to the start of the list."""
    return settings[int(np.argmax(score > score.max() - 1e-12))]


def _flagged(said: Flags, if_bot: Flags, if_human: Flags, of_class: Flags) -> Floats:
    """How many windows of a class the tree calls bot, for each setting of one test."""
    gained = of_class * (if_bot.astype(float) - if_human)
    flagged: Floats = said @ gained + np.count_nonzero(of_class & if_human)
    return flagged


def _simplest_first() -> list[int]:
    """Majority first, as the published default; among equals a tree that asks less."""
    majority = Tree.named("majority").bits
    return sorted(MONOTONE, key=lambda bits: (bits != majority, len(Tree(bits).rule), bits))
