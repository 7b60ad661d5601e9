"""Exact chances of counts: how many of so many people, and what a count leaves possible."""

import math

from gamewarden.core.extras import need


def chance_of_at_most(counted: int, people: int, rate: float) -> float:
    """The binomial chance that at most so many of the people are counted where each is with this rate."""
    need("an exact chance", "scipy")
    from scipy.special import bdtr

    if counted >= people or rate <= 0:
        return 1.0
    return 0.0 if rate >= 1 or counted < 0 else float(bdtr(counted, people, rate))


def chance_of_mean_at_most(mean: float, people: int, rate: float) -> float:
    """No less than the chance of so low a mean where each person counts between 0 and 1, on average this rate.

    Hoeffding 1963, theorem 1: for people of any kind, and exact where nobody counts at all.
    """
    if mean >= rate:
        return 1.0
    if rate >= 1:
        return 0.0
    little = mean * math.log(mean / rate) if mean > 0 else 0.0
    return math.exp(-people * (little + (1 - mean) * math.log((1 - mean) / (1 - rate))))


def upper_bound(counted: int, people: int, doubt: float) -> float:
    """The highest rate that this count leaves possible (Clopper & Pearson 1934, one-sided)."""
    need("an exact interval", "scipy")
    from scipy.special import betaincinv

    return 1.0 if counted >= people else float(betaincinv(counted + 1, people - counted, 1.0 - doubt))


def lower_bound(counted: int, people: int, doubt: float) -> float:
    """The lowest rate that this count leaves possible (Clopper & Pearson 1934, one-sided)."""
    return 1.0 - upper_bound(people - counted, people, doubt)


def chance_beside(counted: int, people: int, allowed: int, reference: int) -> float:
    """The chance that so many people or more stand above a threshold that `allowed` of a reference stand above.

    Of new people, as many exceed the (allowed + 1)-th of `reference` exchangeable ones as a beta-binomial count says:
    it knows that the reference, too, was drawn by chance. -1 allowed: no threshold is that high, and nobody may.
    """
    need("an exact chance", "scipy")
    import numpy as np
    from scipy.special import betaln

    if allowed < 0:
        return 1.0 if counted == 0 else 0.0
    a, b, fewer = allowed + 1, reference - allowed, np.arange(counted)
    ways = -betaln(people - fewer + 1, fewer + 1) - np.log(people + 1)
    return max(0.0, 1.0 - math.fsum(np.exp(ways + betaln(fewer + a, people - fewer + b) - betaln(a, b))))
