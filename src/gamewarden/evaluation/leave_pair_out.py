"""How well chunks are judged when every pair of one human and one bot is held out in turn (Thawonmas & Kashifuji).

Seven of each give 49 folds. All chunks of a held-out pair are tested by a classifier that saw neither of the two; the
counts of all folds are added up, and one MCC is made of them. Chunks overlap, so nobody may stand on both sides.
"""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Any, Protocol

import numpy as np
import polars as pl
from numpy.typing import NDArray

from gamewarden.contracts import Decides, Progress, no_progress
from gamewarden.errors import ConfigError, FitError
from gamewarden.evaluation.counting import DECIDED, SAYS, beside_counting
from gamewarden.evaluation.metrics import Confusion, Floats
from gamewarden.evaluation.splits import Split
from gamewarden.learning.labels import label_periods

MOST_PAIRS = 400  # beyond this many the pairs are a sample in which everybody is held out about equally often
DRAWS = 1000
LEVEL = 0.95
_LEAST = 2  # one to hold out, one to learn from
Counts = NDArray[np.int64]


class Learns(Protocol):
    """A method that can be tried on a pair."""

    @property
    def name(self) -> str:
        """How results call it."""

    def learn(self, features: pl.DataFrame, labels: pl.DataFrame) -> Decides:
        """The classifier of these periods and labels."""


@dataclass(frozen=True)
class PairsHeldOut:
    """The results, the counts of every pair they come from, and what has to be said beside them."""

    summary: pl.DataFrame  # one row a method
    pairs: pl.DataFrame  # detector, bot (group), human (group), tp, fp, tn, fn, unsure
    notes: tuple[str, ...]


def leave_pair_out(
    methods: Sequence[Learns],
    features: pl.DataFrame,
    labels: pl.DataFrame,
    *,
    most: int = MOST_PAIRS,
    seed: int = 0,
    draws: int = DRAWS,
    progress: Progress = no_progress,
) -> PairsHeldOut:
    """Hold out every pair of a bot and a human, or of the groups their labels name; beyond `most` pairs a sample.

    Raises:
        ConfigError: a method is named twice, or there are no pairs to try.
        FitError: fewer than two groups of a class.
    """
    names = [method.name for method in methods]
    if not names or len(set(names)) < len(names) or most < 1:
        raise ConfigError(f"evaluate: {', '.join(names) or 'nobody'} over {most} pairs; name each detector once")
    labelled = label_periods(features, labels, "evaluate")
    splits = list(pair_splits(labelled.rows, most, seed))
    rows = []
    for pair, split in splits:
        train = split.train.select("actor").unique()
        known = labels.join(train, on="actor", how="semi")
        rows += [{**pair, **counts} for counts in _tested(methods, split, known)]
        progress(1)
    pairs = pl.DataFrame(rows)
    found = pl.DataFrame([_summary(name, pairs.filter(detector=name), seed, draws) for name in names])
    summary = beside_counting(found, DECIDED)
    return PairsHeldOut(summary, pairs, tuple(_notes(summary, labelled.rows, labelled.left_out)))


def pair_splits(rows: pl.DataFrame, most: int, seed: int) -> Iterator[tuple[dict[str, str], Split]]:
    """One split a pair of groups: who is held out, and the periods on both sides.

    Raises:
        FitError: fewer than two groups of a class, or somebody stands on both sides.
    """
    classes = rows.group_by("group").agg(pl.col("bot").any()).sort("group")
    bots, humans = (classes.filter(bot=bot)["group"].to_list() for bot in (True, False))
    if min(len(bots), len(humans)) < _LEAST:
        raise FitError(
            f"evaluate: {len(bots)} groups have a bot and {len(humans)} only humans; "
            "2 of each are needed to hold a pair out"
        )
    for fold, (bot, human) in enumerate(chosen_pairs(bots, humans, most, seed)):
        out = pl.col("group").is_in([bot, human])
        yield {"bot": bot, "human": human}, Split(fold, rows.filter(~out), rows.filter(out))


def chosen_pairs(bots: Sequence[str], humans: Sequence[str], most: int, seed: int) -> list[tuple[str, str]]:
    """All pairs, or so many that everybody is in about equally many; the same whatever the order of the names."""
    if len(bots) * len(humans) <= most:
        return [(bot, human) for bot in bots for human in humans]
    one, two = (sorted(names, key=lambda name: _shuffled(name, seed)) for names in (bots, humans))
    rounds = max(len(one), len(two))
    # Round by round: pair n of round r joins the nth of the one with the (n + r)th of the other.
    pairs = dict.fromkeys(
        (one[place % len(one)], two[(place + turn) % len(two)]) for turn in range(rounds) for place in range(rounds)
    )
    return list(pairs)[:most]


def _shuffled(name: str, seed: int) -> bytes:
    return hashlib.sha256(f"{seed}:{name}".encode()).digest()


def _tested(methods: Sequence[Learns], split: Split, labels: pl.DataFrame) -> Iterator[dict[str, Any]]:
    """What each method decides on the held-out chunks that all of them can judge."""
    train, test = (part.drop("bot", "source", "group") for part in (split.train, split.test))
    decisions = [method.learn(train, labels).decide(test) for method in methods]
    sure, bot = ~np.isnan(decisions).any(axis=0), split.test["bot"].to_numpy()
    for method, decided in zip(methods, decisions, strict=True):
        counts = Confusion.count((decided > 0)[sure], bot[sure])
        yield {"detector": method.name, **vars(counts), "unsure": int((~sure).sum())}


def _summary(name: str, pairs: pl.DataFrame, seed: int, draws: int) -> dict[str, object]:
    counts = pairs.select("tp", "fp", "tn", "fn").to_numpy()
    pooled = Confusion(*(int(cell) for cell in counts.sum(axis=0)))
    low, high = _interval(pairs, counts, seed, draws)
    return {
        "detector": name,
        "pairs": pairs.height,
        "bots": pairs["bot"].n_unique(),
        "humans": pairs["human"].n_unique(),
        "mcc": pooled.mcc,
        "mcc_low": low,
        "mcc_high": high,
        "recall": pooled.recall,
        "fpr": pooled.fpr,
        "false_alarm": pooled.false_alarm,
        "accuracy": pooled.accuracy,
        "tp": pooled.tp,
        "fp": pooled.fp,
        "tn": pooled.tn,
        "fn": pooled.fn,
        "unsure": int(pairs["unsure"].sum()),
    }


def _interval(pairs: pl.DataFrame, counts: Counts, seed: int, draws: int) -> tuple[float, float]:
    """The bootstrap interval of the MCC: bots and humans are drawn anew, a pair counts as often as both were drawn."""
    sides = [np.unique(pairs[side].to_numpy().astype(np.str_), return_inverse=True) for side in ("bot", "human")]
    random = np.random.default_rng(seed)
    results = []
    for _ in range(draws):
        weights = np.ones(pairs.height)
        for names, of_pair in sides:
            drawn = np.bincount(random.integers(names.size, size=names.size), minlength=names.size)
            weights = weights * drawn[of_pair]
        results.append(_mcc(weights @ counts))
    low, high = np.quantile(results, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return float(low), float(high)


def _mcc(cells: Floats) -> float:
    tp, fp, tn, fn = (float(cell) for cell in cells)
    margins = (tp + fp) * (tp + fn) * (tn + fp) * (tn + fn)
    return (tp * tn - fp * fn) / sqrt(margins) if margins else 0.0


def _notes(summary: pl.DataFrame, rows: pl.DataFrame, left_out: Mapping[str, int]) -> Iterator[str]:
    classes = rows.group_by("group").agg(pl.col("bot").any())
    bots, pairs = int(classes["bot"].sum()), summary["pairs"][0]
    humans = classes.height - bots
    of = "every pair" if pairs == bots * humans else f"a sample of the {bots * humans:,} pairs"
    yield f"{pairs:,} folds, {of} of {bots} bots and {humans} humans, who have {rows.height:,} chunks."
    yield "The counts of all folds are added up, then one MCC; each chunk is tested once a pair its actor is in."
    if summary["unsure"][0]:
        yield f"Left out in all, chunks tested that say too little for one of the methods: {summary['unsure'][0]:,}."
    yield "Intervals are a bootstrap over bots and over humans: meant to hold 95 %, and less with few of them."
    yield from (f"Left out, {reason}: {count}." for reason, count in left_out.items())
    told = summary.filter(pl.col(SAYS).is_not_null()).select("detector", SAYS)
    yield from (f"WARNING: {name}: {said[0].lower()}{said[1:]}" for name, said in told.iter_rows())
