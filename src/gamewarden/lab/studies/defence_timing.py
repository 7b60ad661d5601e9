"""What an author of bots could learn from when something happened to an account.

Two questions. How much does the day of a ban tell of the day on which the evidence was there (mutual information)? And
how many accounts must an author lose to find that day, who knows how bans are timed and raises what a bot does from day
to day? Whoever knows the day knows what was noticed.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.stats import spearmanr

from gamewarden.core.durations import parse_span

Ints = NDArray[np.int64]
_SHUFFLES = 200
_LEAST = 8  # pairs below which nothing is said
_CROSSES = 21  # days on which a bot that does more each day may first be noticed
_LONGEST = 60  # days until a ban that are told apart
_DRAWN = 4000  # delays drawn to know how often each is
_TRIES, _MOST_ACCOUNTS = 200, 100
_SURE = 0.95
_WEEK = 7


@dataclass(frozen=True)
class Leak:
    """What the moment of a reaction tells of the moment of the evidence."""

    signal: str
    pairs: int
    correlation: float | None  # of ranks
    bits: float | None
    known: float | None  # of all bits that there are, 0 where chance tells as much
    accounts: int | None  # lost in the median until the day is known to one day; None: more than were tried


@dataclass(frozen=True)
class Timing:
    """How a reaction is timed, as an author may know it: days after the evidence, and waves that gather them."""

    delays: Sequence[float]
    wave: str = ""
    jitter: float = 0.0


def leak(signal: str, evident: Sequence[float], reacted: Sequence[float], timing: Timing | None = None) -> Leak:
    """Of days of evidence and of reactions; `timing` is what the author knows, by default how often each delay is."""
    if len(evident) < _LEAST:
        return Leak(signal, len(evident), None, None, None, None)
    first, last = np.asarray(evident, dtype=float), np.asarray(reacted, dtype=float)
    known, bits = information(np.floor(first).astype(np.int64), np.floor(last).astype(np.int64))
    known_by = timing or Timing(np.maximum(last - first, 0.0).tolist())
    correlation = float(spearmanr(first, last).statistic) if np.ptp(first) and np.ptp(last) else None
    return Leak(signal, len(evident), correlation, bits, known, accounts_lost(known_by))


def in_waves(moments: Sequence[float], wave: str, jitter: float) -> list[float]:
    """Days of reactions that leave in waves."""
    moved: list[float] = waved(np.asarray(moments, dtype=float), wave, jitter, np.random.default_rng(7)).tolist()
    return moved


def waved(moments: NDArray[np.float64], wave: str, jitter: float, dice: np.random.Generator) -> NDArray[np.float64]:
    """Days moved to the end of their wave, and that by up to a share of its length; all of one wave alike."""
    if not wave:
        return moments
    length = parse_span(wave) / parse_span("1d")
    number = np.floor(moments / length).astype(np.int64)
    late = length * jitter * dice.random(int(number.max(initial=0)) + 1)
    moved: NDArray[np.float64] = (number + 1) * length + late[number]
    return moved


def information(one: Ints, two: Ints) -> tuple[float, float]:
    """How much of `one` its partner tells: as a share and in bits, adjusted for chance.

    Few pairs always seem to tell something: what shuffled pairs show counts as nothing, and all of it still as all.
    """
    dice = np.random.default_rng(7)
    by_chance = float(np.mean([_information(one, dice.permutation(two)) for _ in range(_SHUFFLES)]))
    most = _entropy(one)
    share = (_information(one, two) - by_chance) / (most - by_chance) if most > by_chance else 0.0
    return max(0.0, share), max(0.0, share) * most


def _information(one: Ints, two: Ints) -> float:
    together = np.unique(one * 1000 + two, return_inverse=True)[1]
    return _entropy(one) + _entropy(two) - _entropy(together.astype(np.int64))


def _entropy(values: Ints) -> float:
    shares = np.unique(values, return_counts=True)[1] / values.size
    return float(-(shares * np.log2(shares)).sum())


def accounts_lost(timing: Timing) -> int | None:
    """Accounts an author loses in the median until one of three neighbouring days is it with 95 %.

    Each account begins on another day of the week, and whatever gives it away is first there on the same day of its
    life. The author knows how often each delay is.
    """
    dice = np.random.default_rng(11)
    chances = _chances(timing, dice)
    found = [_lost(chances, dice) for _ in range(_TRIES)]
    middle = float(np.median(found))
    return None if middle > _MOST_ACCOUNTS else int(np.ceil(middle))


def _chances(timing: Timing, dice: np.random.Generator) -> NDArray[np.float64]:
    """By day of the week of its beginning and day that it crosses on: how often it ends on each day of its life."""
    delays = np.asarray(timing.delays, dtype=float)
    found = np.full((_WEEK, _CROSSES, _LONGEST), 1e-6)
    for phase in range(_WEEK):
        for crossing in range(_CROSSES):
            drawn = phase + crossing + dice.choice(delays, _DRAWN // _CROSSES)
            # Each draw is a world of its own: how late a wave is nobody knows from another world.
            ends = np.array([waved(one, timing.wave, timing.jitter, dice)[0] for one in drawn[:, np.newaxis]])
            days = np.clip(np.floor(ends).astype(np.int64) - phase, 0, _LONGEST - 1)
            np.add.at(found[phase, crossing], days, 1.0)
    shares: NDArray[np.float64] = found / found.sum(axis=2, keepdims=True)
    return shares


def _lost(chances: NDArray[np.float64], dice: np.random.Generator) -> int:
    truth = int(dice.integers(1, _CROSSES - 1))
    belief = np.full(_CROSSES, 1 / _CROSSES)
    for account in range(1, _MOST_ACCOUNTS + 1):
        phase = int(dice.integers(_WEEK))
        seen = dice.choice(_LONGEST, p=chances[phase, truth])
        belief *= chances[phase, :, seen]
        belief /= belief.sum()
        if np.convolve(belief, np.ones(3), "valid").max() >= _SURE:
            return account
    return _MOST_ACCOUNTS + 1


def table(leaks: Sequence[Leak]) -> pl.DataFrame:
    """One row a signal."""
    return pl.DataFrame([asdict(one) for one in leaks], infer_schema_length=None)
