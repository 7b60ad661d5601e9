"""Exact chances of counts: how many of so many people, and what a count leaves possible."""

import math

_HALVINGS = 80  # of an interval of rates, until nothing is left of it


def chance_of_at_most(counted: int, people: int, rate: float) -> float:
    """The binomial chance that at most so many of the people are counted where each is with this rate."""
    if counted >= people or rate <= 0:
        return 1.0
    if rate >= 1 or counted < 0:
        return 0.0
    log_p, log_q = math.log(rate), math.log1p(-rate)
    return min(
        1.0, math.fsum(math.exp(_ways(people, k) + k * log_p + (people - k) * log_q) for k in range(counted + 1))
    )


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
    low, high = counted / people, 1.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if chance_of_at_most(counted, people, middle) > doubt else (low, middle)
    return high


def lower_bound(counted: int, people: int, doubt: float) -> float:
    """The lowest rate that this count leaves possible (Clopper & Pearson 1934, one-sided)."""
    return 1.0 - upper_bound(people - counted, people, doubt)


def chance_beside(counted: int, people: int, allowed: int, reference: int) -> float:
    """The chance that so many people or more stand above a threshold that `allowed` of a reference stand above.

    Of new people, as many exceed the (allowed + 1)-th of `reference` exchangeable ones as a beta-binomial count says:
    it knows that the reference, too, was drawn by chance. -1 allowed: no threshold is that high, and nobody may.
    """
    if allowed < 0:
        return 1.0 if counted == 0 else 0.0
    a, b = allowed + 1, reference - allowed
    fewer = (math.exp(_ways(people, k) + _beta(k + a, people - k + b) - _beta(a, b)) for k in range(counted))
    return max(0.0, 1.0 - math.fsum(fewer))


def _ways(people: int, counted: int) -> float:
    return math.lgamma(people + 1) - math.lgamma(counted + 1) - math.lgamma(people - counted + 1)


def _beta(a: float, b: float) -> float:
    return math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b)
