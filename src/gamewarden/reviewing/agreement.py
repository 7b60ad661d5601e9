"""Do the people who look at accounts see the same? Raw agreement, and what is left of it beyond chance (kappa)."""

from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

LEAST = 10  # accounts that two or three people judged: with fewer nothing is said of agreement
THREE = 3  # raters, as in Lee et al.
_RAW_OF = 2  # raters from whom on they can agree


@dataclass(frozen=True)
class Agreement:
    """How far raters agree on some accounts."""

    kind: str  # Cohen's kappa of two people, or Fleiss' kappa of any three per account
    raters: tuple[str, ...]  # the two; empty where they differ from account to account
    accounts: int
    raw: float  # the share of pairs of votes that are the same
    kappa: float | None  # None where all votes are the same, so that chance agrees as well


def cohen_kappa(pairs: Sequence[tuple[Hashable, Hashable]]) -> float | None:
    """Agreement of two raters beyond chance; None without a pair, or where chance alone agrees always.

    Cohen, A coefficient of agreement for nominal scales (1960): (p_o - p_e) / (1 - p_e), p_e from each rater's shares.
    """
    if not pairs:
        return None
    n = len(pairs)
    agreed = sum(one == other for one, other in pairs) / n
    first, second = (Counter(pair[side] for pair in pairs) for side in (0, 1))
    return _beyond_chance(agreed, sum(first[said] * second[said] for said in first) / n**2)


def fleiss_kappa(votes: Sequence[Sequence[Hashable]]) -> float | None:
    """Agreement beyond chance of raters who may be others on each account; as many votes on each.

    Fleiss, Measuring nominal scale agreement among many raters (1971): mean of each account's share of pairs of votes
    that are the same, against the sum of the squared shares of what is said.
    """
    if not votes:
        return None
    agreed = sum(map(raw_agreement, votes)) / len(votes)
    said = Counter(one for account in votes for one in account)
    total = sum(said.values())
    return _beyond_chance(agreed, sum((count / total) ** 2 for count in said.values()))


def raw_agreement(votes: Sequence[Hashable]) -> float:
    """The share of pairs of votes on one account that are the same; 0 of fewer than two votes."""
    n = len(votes)
    if n < _RAW_OF:
        return 0.0
    return sum(count * (count - 1) for count in Counter(votes).values()) / (n * (n - 1))


def agreements(votes: Mapping[str, Mapping[str, str]], least: int = LEAST) -> tuple[Agreement, ...]:
    """Of votes by account and rater: of all that three looked at, then of each two people with enough in common."""
    return (*_of_three(votes, least), *_of_two(votes, least))


def _of_three(votes: Mapping[str, Mapping[str, str]], least: int) -> Iterator[Agreement]:
    """Of each account the first three votes: Fleiss needs as many on each."""
    three = [list(said.values())[:THREE] for said in votes.values() if len(said) >= THREE]
    if len(three) >= least:
        yield Agreement("Fleiss", (), len(three), sum(map(raw_agreement, three)) / len(three), fleiss_kappa(three))


def _of_two(votes: Mapping[str, Mapping[str, str]], least: int) -> Iterator[Agreement]:
    found: dict[tuple[str, str], list[tuple[Hashable, Hashable]]] = {}
    for said in votes.values():
        for one, other in combinations(sorted(said), 2):
            found.setdefault((one, other), []).append((said[one], said[other]))
    for raters, pairs in sorted(found.items()):
        if len(pairs) >= least:
            raw = sum(one == other for one, other in pairs) / len(pairs)
            yield Agreement("Cohen", raters, len(pairs), raw, cohen_kappa(pairs))


def _beyond_chance(agreed: float, by_chance: float) -> float | None:
    return None if by_chance >= 1 else (agreed - by_chance) / (1 - by_chance)
