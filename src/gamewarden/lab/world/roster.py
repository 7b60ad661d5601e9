"""Who is who: each account's persona, its partners in trade and its address. No id tells the class."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from gamewarden.lab.world.games import Game
from gamewarden.lab.world.personas import PERSONAS

Ints = npt.NDArray[np.int64]

FRIENDS = 3  # partners an account may have for hand-to-hand trades
LEAVES = 30  # star farmers that hand over to one hub; NCSOFT saw "dozens to hundreds" (algorithms.md §2.10)
CAFE = 6  # accounts behind the one address of a household or an internet café
FARM = 4  # bots of one farm behind one address

_CODE = {persona.name: code for code, persona in enumerate(PERSONAS)}
_FARMED = ("farmer", "randomised-farmer", "gatherer", "star-farmer")


@dataclass(frozen=True)
class Roster:
    """Arrays by account; the partners of account i are partner[first_partner[i]:first_partner[i + 1]]."""

    persona: Ints
    first_partner: Ints
    partner: Ints
    address: Ints  # the account whose address this one shares; mostly itself


def roster_of(game: Game, accounts: int, bots: float, seed: int) -> Roster:
    """Deal the game's mix to the accounts: exact shares, shuffled places."""
    dice = np.random.Generator(np.random.PCG64(np.random.SeedSequence([seed, accounts, 1])))
    n_bots = round(accounts * bots)
    persona = np.concatenate([dealt(game.humans, accounts - n_bots), _with_hubs(dealt(game.bots, n_bots))])
    persona = dice.permutation(persona)
    first, partner = partners_of(accounts, [*_stars(persona, dice), *_friendships(persona, dice)])
    return Roster(persona, first, partner, _addresses(persona, dice))


def farms_of(roster: Roster) -> Ints:
    """The farm of each account, named by its first member, -1 for none: a star with its hub, or bots at one address."""
    parent = list(range(len(roster.persona)))

    def root(account: int) -> int:
        while parent[account] != account:
            parent[account] = parent[parent[account]]
            account = parent[account]
        return account

    for one, two in _farm_ties(roster):
        first, second = sorted((root(one), root(two)))
        parent[second] = first
    farm = np.array([root(account) for account in parent], np.int64)
    return np.where(np.bincount(farm, minlength=len(farm))[farm] > 1, farm, -1)


def _farm_ties(roster: Roster) -> Iterator[tuple[int, int]]:
    for name in _FARMED:
        for account in np.flatnonzero(roster.persona == _CODE[name]).tolist():
            yield account, int(roster.address[account])
    for account in np.flatnonzero(roster.persona == _CODE["star-farmer"]).tolist():
        for hub in roster.partner[roster.first_partner[account] : roster.first_partner[account + 1]].tolist():
            yield account, hub


def dealt(mix: Mapping[str, float], n: int) -> Ints:
    """Codes of `n` personas in the mix's shares; what rounding leaves goes to the largest remainders."""
    share = np.array(list(mix.values())) / sum(mix.values()) * n
    count = np.floor(share).astype(np.int64)
    count[np.argsort(count - share, kind="stable")[: n - count.sum()]] += 1
    return np.repeat([_CODE[name] for name in mix], count)


def _with_hubs(bots: Ints) -> Ints:
    """Every star of farmers gives one of its places to a hub."""
    leaves = np.flatnonzero(bots == _CODE["star-farmer"])
    hubs = len(leaves) // 2 if len(leaves) < 4 else max(1, round(len(leaves) / (LEAVES + 1)))  # noqa: PLR2004 -- a pair is the smallest star
    bots[leaves[:hubs]] = _CODE["star-hub"]
    return bots


def partners_of(accounts: int, pairs: Sequence[Ints]) -> tuple[Ints, Ints]:
    """Where each account's partners begin, and the partners, of pairs in two rows."""
    one, two = np.concatenate(pairs, axis=1) if pairs else np.zeros((2, 0), np.int64)
    owner, partner = np.concatenate([one, two]), np.concatenate([two, one])
    order = np.lexsort((partner, owner))
    first = np.zeros(accounts + 1, np.int64)
    np.cumsum(np.bincount(owner, minlength=accounts), out=first[1:])
    return first, partner[order]


def _stars(persona: Ints, dice: np.random.Generator) -> list[Ints]:
    leaves = dice.permutation(np.flatnonzero(persona == _CODE["star-farmer"]))
    hubs = np.flatnonzero(persona == _CODE["star-hub"])
    return [np.stack([leaves, hubs[np.arange(len(leaves)) % len(hubs)]])] if len(hubs) else []


def _friendships(persona: Ints, dice: np.random.Generator) -> list[Ints]:
    """Random pairs of all but star farmers, who hand over to their hub alone."""
    sociable = np.flatnonzero(persona != _CODE["star-farmer"])
    even = len(sociable) // 2 * 2
    found: dict[tuple[int, int], None] = {}
    for _ in range(FRIENDS):
        halves = np.sort(dice.permutation(sociable)[:even].reshape(-1, 2), axis=1)
        found.update(dict.fromkeys(map(tuple, halves.tolist())))
    return [np.array(list(found), np.int64).T] if found else []


def _addresses(persona: Ints, dice: np.random.Generator) -> Ints:
    address = np.arange(len(persona))
    sharers = dice.permutation(np.flatnonzero(persona == _CODE["sharer"]))
    _share(address, sharers, CAFE)
    if len(sharers) == 1:
        address[sharers] = dice.choice(np.flatnonzero(persona != _CODE["sharer"]))
    for name in _FARMED:
        _share(address, np.flatnonzero(persona == _CODE[name])[::2], FARM)
    return address


def _share(address: Ints, members: Ints, size: int) -> None:
    for k in range(0, len(members), size):
        address[members[k : k + size]] = members[k]
