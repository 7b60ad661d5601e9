"""What play brings, and what an account owns when the world begins: money and goods.

Whoever hands over all it has is played beforehand, so that it gives what its log says it gained; the others, who give
little of much, own what their persona may expect.
"""

import numpy as np
import numpy.typing as npt

from gamewarden.lab.world.dice import fixed_bell, jit, key
from gamewarden.lab.world.games import Game
from gamewarden.lab.world.personas import CASUAL, PERSONAS, Bout, Persona
from gamewarden.lab.world.routines import Routine, Step

Floats = npt.NDArray[np.float64]

KEPT = 0.6  # share of the expected gains that is there to be given: the rest is spent, or luck
BY_THE_LOG = ("star-farmer", "chain-link")  # who owns what their log says they gained
GAINED = np.dtype([("account", np.int64), ("t", np.float64), ("money", np.float64), ("goods", np.float64)])
_COUNTED = 600.0  # seconds after which gains are in the purse
_MONEY, _GOODS = "currency.gain", "loot.pickup"
_PURSE = 6500  # purpose of the dice
_SPREAD = 0.5  # σ of the logarithm of what accounts of one persona own
# Days of a casual player's gains that are saved when the world begins.
_USUAL = {False: 5.0, True: 1.0}  # people, bots
_SAVED = {
    "trader": 15.0,
    "guild-bank": 12.0,
    "veteran": 60.0,
    "hard-core": 20.0,
    "newbie": 0.5,
    "star-farmer": 0.3,
    "star-hub": 0.5,
    "mule": 0.2,
    "chain-link": 3.0,
}


def gains(game: Game) -> Floats:
    """Money and goods that an hour online may be expected to bring, by persona; none where the log is asked."""
    expected = np.array([_gains(persona, game) for persona in PERSONAS]) * KEPT
    expected[[code for code, persona in enumerate(PERSONAS) if persona.name in BY_THE_LOG]] = 0.0
    return expected


def gained(game: Game, rows: npt.NDArray[np.void], start: int) -> npt.NDArray[np.void]:
    """What accounts gained by their rows of a log, in order, counted every ten minutes."""
    kinds = [game.vocabulary.first[kind] for kind in (_MONEY, _GOODS)]
    rows = rows[np.isin(rows["kind"], kinds)]
    counted = np.ceil((rows["at"] - start) / (1e6 * _COUNTED)).astype(np.int64)
    keys, place = np.unique(rows["account"].astype(np.int64) << 32 | counted, return_inverse=True)
    found = np.zeros(len(keys), GAINED)
    found["account"], found["t"] = keys >> 32, (keys & 0xFFFFFFFF) * _COUNTED
    for name, kind in zip(("money", "goods"), kinds, strict=True):
        found[name] = np.bincount(place, np.where(rows["kind"] == kind, rows["amount"], 0.0), len(keys))
    return found


def savings(game: Game, persona: npt.NDArray[np.int64], seed: int) -> Floats:
    """Money and goods that each account owns when the world begins."""
    usual = CASUAL.schedule.hours.center * np.array(_gains(CASUAL, game))
    days = np.array([_SAVED.get(one.name, _USUAL[one.bot]) for one in PERSONAS])[persona]
    luck = np.exp(_SPREAD * _bells(np.uint64(seed), len(persona)))
    return np.floor(usual[None, :] * (days * luck)[:, None])


@jit
def _bells(seed: np.uint64, accounts: int) -> Floats:
    found = np.empty(accounts)
    for account in range(accounts):
        found[account] = fixed_bell(key(seed, account, _PURSE))
    return found


def _gains(persona: Persona, game: Game) -> tuple[float, float]:
    """Of the last phase: whoever switches a bot on does so for most of the time."""
    bouts = persona.phases[-1].bouts
    minutes = sum(bout.weight * bout.minutes.center for bout in bouts)
    money, goods = zip(*(_brought(bout, game.routines[bout.activity]) for bout in bouts), strict=True)
    shares = [bout.weight * bout.minutes.center / minutes for bout in bouts]
    return float(np.dot(shares, money)), float(np.dot(shares, goods))


def _brought(bout: Bout, routine: Routine) -> tuple[float, float]:
    total = sum(step.chance for step in routine.steps) if routine.one_of else 1.0
    seconds = bout.hand.pace.center * (
        routine.rest + sum(_times(step) * step.seconds for step in routine.steps) / total
    )
    rounds = 3600.0 / seconds
    return tuple(  # type: ignore[return-value]
        rounds * sum(_times(step) * _mean(step) for step in routine.steps if step.kind == kind) / total
        for kind in (_MONEY, _GOODS)
    )


def _times(step: Step) -> float:
    return step.chance * sum(step.times) / 2


def _mean(step: Step) -> float:
    return sum(step.amount or (0, 0)) / 2
