"""The compiled half of likeness: what two sketches have in common, for many pairs at once."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gamewarden.core.kernels import kernel

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


class Sketches(NamedTuple):
    """Everybody's entries, sorted by whose they are, then by what: those of i are first[i] to first[i + 1]."""

    first: Ints
    what: Ints  # the number of a stretch or a way
    share: Floats  # of all that its actor did
    rare: Floats  # 1: nobody else has it; 0: everybody has


@kernel
def telling(sketches: Sketches, most: int) -> Ints:
    """The entries that tell most of each account and that somebody else has too, at most so many, one after the other.

    Of several that tell as much the first counts.
    """
    found = np.empty(len(sketches.first) * most, np.int64)
    used = 0
    for who in range(len(sketches.first) - 1):
        begin = used
        for entry in range(sketches.first[who], sketches.first[who + 1]):
            tells = sketches.share[entry] * sketches.rare[entry]
            if tells <= 0.0 or sketches.rare[entry] >= 1.0:
                continue
            place = used
            while place > begin and tells > sketches.share[found[place - 1]] * sketches.rare[found[place - 1]]:
                place -= 1
            if place - begin >= most:
                continue
            used = min(used + 1, begin + most)
            for later in range(used - 1, place, -1):
                found[later] = found[later - 1]
            found[place] = entry
    return found[:used]


@kernel
def in_common(sketches: Sketches, one: Ints, other: Ints) -> tuple[Floats, Ints]:
    """The likeness of each pair, and the entry of the first one that adds most to it, or -1."""
    alike = np.zeros(len(one))
    most = np.full(len(one), -1)
    for pair in range(len(one)):
        here, end = sketches.first[one[pair]], sketches.first[one[pair] + 1]
        there, last = sketches.first[other[pair]], sketches.first[other[pair] + 1]
        best = 0.0
        while here < end and there < last:
            if sketches.what[here] < sketches.what[there]:
                here += 1
            elif sketches.what[here] > sketches.what[there]:
                there += 1
            else:
                both = min(sketches.share[here], sketches.share[there]) * sketches.rare[here]
                alike[pair] += both
                if both > best:
                    best = both
                    most[pair] = here
                here += 1
                there += 1
    return alike, most


@kernel
def in_step(tenths: NDArray[np.uint64], one: Ints, other: Ints) -> Floats:
    """How far two accounts are online at the same times: the correlation of their ten minutes, 0 where one has none.

    `tenths` has a row an account, with as many bits a day as words hold.
    """
    step = np.zeros(len(one))
    total = 64.0 * tenths.shape[1]
    for pair in range(len(one)):
        here, there, both = 0, 0, 0
        for word in range(tenths.shape[1]):
            here += _ones(tenths[one[pair], word])
            there += _ones(tenths[other[pair], word])
            both += _ones(tenths[one[pair], word] & tenths[other[pair], word])
        spread = np.sqrt(here * (total - here) * there * (total - there))
        if spread > 0:
            step[pair] = (both * total - here * there) / spread
    return step


@kernel
def _ones(word: np.uint64) -> int:
    """How many bits are set."""
    count = 0
    while word:
        word &= word - np.uint64(1)
        count += 1
    return count
