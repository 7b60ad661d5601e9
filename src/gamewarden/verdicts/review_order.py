"""In which order a rater sees accounts: odd ones early, everybody with a known chance, some places by chance alone.

A draw without replacement by exponential keys (Efraimidis & Spirakis 2006): whoever stops and goes on later, with the
same seed, sees the same order, whatever order the accounts come in. What a next place holds depends only on who was
shown before.
"""

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from heapq import heapify, heappop, heapreplace
from math import log
from types import MappingProxyType

SEED = "review"  # one for all raters of a ledger: the same accounts get several votes
CHANCE = 0.2  # of the places go to accounts drawn from everybody, so that estimates are honest
_EVEN = 0.05  # added to the share: who looks least odd comes up to 21 times later than who looks oddest, not never
_UNSURE = 2.0  # what a model is wholly unsure of counts one and this many times as much as what it is sure of
_SAME_GROUP = 0.6  # each further account of a group counts so much less: ten of one farm teach little more than two
_NOBODY: Mapping[str, bool] = MappingProxyType({})


@dataclass(frozen=True)
class Candidate:
    """An account that may be looked at."""

    actor: str
    as_odd: float  # the share of all players who look at least as odd
    probability: float | None = None  # of a bot, by a model that was learned from the votes so far
    group: str | None = None


@dataclass(frozen=True)
class Place:
    """The account at a place of the order."""

    actor: str
    drawn: bool  # chance named it, from everybody
    passed: tuple[str, ...] = ()  # whom chance named just before it, and who had been shown for another reason


def in_order(
    candidates: Iterable[Candidate], *, seed: str, chance: float, known: Mapping[str, bool] = _NOBODY
) -> Iterator[Place]:
    """Every candidate once, but those that were shown already (`known`: whether as drawn by chance).

    Whom chance names is the next in an order of its own, so that all whom it named, those it `passed` included, are a
    fair draw from everybody.
    """
    everybody = {one.actor: one for one in candidates}
    shown = {actor: drawn for actor, drawn in known.items() if actor in everybody}
    groups = Counter(everybody[actor].group for actor in shown)
    by_chance, by_worth = _by_chance(everybody, seed), _by_worth(everybody.values(), seed, groups)
    while len(shown) < len(everybody):
        drawn, passed = _uniform(seed, "place", str(len(shown))) < chance, list[str]()
        for actor in by_chance if drawn else by_worth:
            if actor not in shown:
                break
            if drawn and not shown[actor]:
                passed.append(actor)
        shown |= dict.fromkeys([actor, *passed], drawn)
        groups[everybody[actor].group] += 1
        yield Place(actor, drawn, tuple(passed))


def _by_chance(everybody: Iterable[str], seed: str) -> Iterator[str]:
    return iter(sorted(everybody, key=lambda actor: _digest(seed, "chance", actor)))


def _by_worth(candidates: Iterable[Candidate], seed: str, groups: Mapping[str | None, int]) -> Iterator[str]:
    """By exponential keys, the smallest first; `groups` counts who was placed, and may grow meanwhile."""
    drawn = [(_key(one, seed), one.actor, one) for one in candidates]
    heap = [(key * _later(one, groups), actor, key, one) for key, actor, one in drawn]
    heapify(heap)
    while heap:
        at, actor, key, one = heap[0]
        now = key * _later(one, groups)
        if now > at:  # others of its group were placed since
            heapreplace(heap, (now, actor, key, one))
        else:
            heappop(heap)
            yield actor


def _key(one: Candidate, seed: str) -> float:
    worth = 1 / (one.as_odd + _EVEN)
    if one.probability is not None:
        worth *= 1 + _UNSURE * 4 * one.probability * (1 - one.probability)
    return -log(_uniform(seed, "worth", one.actor)) / worth


def _later(one: Candidate, groups: Mapping[str | None, int]) -> float:
    return 1.0 if one.group is None else float((1 / _SAME_GROUP) ** min(groups.get(one.group, 0), 1_000))


def _uniform(*parts: str) -> float:
    """Above 0 and below 1."""
    return (int(_digest(*parts)[:13], 16) + 0.5) / (1 << 52)


def _digest(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()
