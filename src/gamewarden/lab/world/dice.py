"""Chance that is counted, not kept: every draw is a hash of the world's seed, the account and a running number.

So an account's life is the same in whatever company, order or batch it is played (splitmix64, Steele et al. 2014).
"""

from typing import Any

import numpy as np
from numba import njit

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)
_UNIT = 2.0**-53
_MOST = 1000  # a Poisson number is never larger; no mean here comes near it

# What a kernel's arguments are to a reader; Numba works out the exact types from the values.
Number = Any  # a scalar
Array = Any  # an array, or a tuple of them
Record = Any  # a NumPy record or a named tuple, whose fields are declared where it is made

jit = njit(nogil=True, error_model="numpy")


@jit
def mixed(z: Number) -> Number:
    """A number whose every bit depends on every bit of z."""
    z = (z ^ (z >> np.uint64(30))) * _MIX_1
    z = (z ^ (z >> np.uint64(27))) * _MIX_2
    return z ^ (z >> np.uint64(31))


@jit
def key(seed: Number, one: Number, two: Number) -> Number:
    """A fixed number for a pair of numbers, such as an account and a purpose."""
    return mixed(mixed(mixed(seed + _GOLDEN) + np.uint64(one) * _GOLDEN) + np.uint64(two) * _MIX_1)


@jit
def unit(fixed: Number) -> Number:
    """The fixed number as a share in [0, 1)."""
    return (mixed(fixed) >> np.uint64(11)) * _UNIT


@jit
def fixed_bell(fixed: Number) -> Number:
    """The fixed number as a nearly normal one, never beyond ±3."""
    return 2.0 * (unit(fixed + np.uint64(1)) + unit(fixed + np.uint64(2)) + unit(fixed + np.uint64(3))) - 3.0


@jit
def chance(me: Record) -> Number:
    """The next share in [0, 1) of whoever holds these dice."""
    me.dice += _GOLDEN
    return (mixed(me.dice) >> np.uint64(11)) * _UNIT


@jit
def bell(me: Record) -> Number:
    """The next nearly normal number, never beyond ±3."""
    return 2.0 * (chance(me) + chance(me) + chance(me)) - 3.0


@jit
def about(me: Record, center: Number, log_factor: Number) -> Number:
    """The next value around a centre."""
    return center * np.exp(log_factor * bell(me)) if log_factor > 0.0 else center


@jit
def times(me: Record, mean: Number) -> Number:
    """The next Poisson number, by the gaps of its process."""
    n = 0
    left = mean + np.log(1.0 - chance(me))
    while left >= 0.0 and n < _MOST:
        n += 1
        left += np.log(1.0 - chance(me))
    return n


@jit
def among(size: Number, share: Number) -> Number:
    """A place in a list of `size`: the n-th is chosen 1/n as often as the first (Zipf)."""
    return int((size + 1.0) ** share) - 1
