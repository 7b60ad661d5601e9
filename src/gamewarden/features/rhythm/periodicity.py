"""Whether what somebody does comes back in a fixed period: the share of one period in how its counts vary.

Fisher (1929), Tests of significance in harmonic analysis: the largest value of the periodogram as a share of all of it.
By itself that share is the larger the shorter somebody plays, and whoever plays and pauses at will has large ones at
long periods. So from each share is taken what chance gives one account in twenty that goes on much as a moment before:
Fisher's bar over the spectrum of such red noise (Torrence and Compo 1998, A practical guide to wavelet analysis, 4).
The periodogram is looked at in finer steps than those of its own length, so that no period falls between two of them.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gamewarden.features.rhythm.kernel import STEP, STEPS, Counts

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

SHORTEST, LONGEST = 6, 120  # minutes
LEAST = 3 * 60 // STEP  # steps of the shortest stretch of play in which periods are looked for
CHANCE = 0.05
REDDEST = 0.99  # what goes on as it was has no end otherwise
FINE = 2048  # frequencies a step
_WAVES = np.arange(-(-FINE * STEP // LONGEST), FINE * STEP // SHORTEST + 1)  # the frequencies looked at
_BEND = 2 * np.cos(2 * np.pi * _WAVES / FINE)
_AT_ONCE = 256  # days
_SAME = 1e-9  # of the counts' squares: who varies less does the same all the time
_PLACE = np.arange(STEPS)


class Periodic(NamedTuple):
    """Of each day the share of its strongest period beyond chance, and that period in minutes.

    The share is NaN where no period was looked for, and the period where there is none.
    """

    share: Floats
    minutes: Floats


class _Stretches(NamedTuple):
    """Stretches of play without their trend."""

    beside: Floats  # what of the counts is not on a straight line; nothing before and after the stretch
    steps: Ints
    squares: Floats  # the sum of those of `beside`, 0 where it only fails to be 0


def strongest(counts: Counts) -> Periodic:
    """The strongest period of each day, from its counts per two minutes."""
    found = Periodic(np.full(len(counts), np.nan), np.full(len(counts), np.nan))
    for begin in range(0, len(counts), _AT_ONCE):
        _look(counts[begin : begin + _AT_ONCE], *(one[begin : begin + _AT_ONCE] for one in found))
    return found


def _look(counts: Counts, share: Floats, minutes: Floats) -> None:
    first, last = _ends(counts)
    long = np.flatnonzero(last - first >= LEAST - 1)
    played = _without_trend(counts[long].astype(np.int64), first[long], last[long])
    varies = played.squares > 0
    beyond = _beyond_chance(_Stretches(played.beside[varies], played.steps[varies], played.squares[varies]))
    best = beyond.argmax(axis=1)
    top = beyond[np.arange(len(best)), best]
    share[long[varies]] = np.maximum(top, 0)
    minutes[long[varies]] = np.where(top > 0, FINE * STEP / _WAVES[best], np.nan)


def _ends(counts: Counts) -> tuple[Ints, Ints]:
    """The first and the last step with an event."""
    there = counts > 0
    return there.argmax(axis=1), STEPS - 1 - there[:, ::-1].argmax(axis=1)


def _without_trend(counts: Ints, first: Ints, last: Ints) -> _Stretches:
    """Sums stay whole numbers as long as they can: they are the same in whatever company they are added up."""
    steps = last - first + 1
    total, middle = counts.sum(axis=1), (first + last) / 2
    squares = (counts * counts).sum(axis=1)
    along = (counts * _PLACE).sum(axis=1) - middle * total
    slope = along / ((steps * steps - 1) * steps / 12)
    line = (total / steps)[:, None] + slope[:, None] * (_PLACE - middle[:, None])
    within = (first[:, None] <= _PLACE) & (last[:, None] >= _PLACE)
    left = (steps * squares - total * total) / steps - slope * along
    return _Stretches(np.where(within, counts - line, 0.0), steps, np.where(left > _SAME * squares, left, 0.0))


def _beyond_chance(played: _Stretches) -> Floats:
    """Of each frequency its share in the variation, less the share that chance may give it."""
    waves = np.fft.rfft(played.beside, FINE)[:, _WAVES[0] : _WAVES[-1] + 1]
    shares = (waves.real**2 + waves.imag**2) * (2 / (played.steps * played.squares))[:, None]
    tried = played.steps * len(_WAVES) / FINE
    bar = np.log(tried / CHANCE) / (played.steps / 2)
    return shares - bar[:, None] * _red_noise(played)


def _red_noise(played: _Stretches) -> Floats:
    """How much the frequencies have, beside their mean, of noise that goes on as much as the counts do."""
    onward = (played.beside[:, 1:] * played.beside[:, :-1]).sum(axis=1) / played.squares
    red = np.clip(onward, 0, REDDEST)[:, None]
    return (1 - red * red) / (1 - red * _BEND + red * red)
