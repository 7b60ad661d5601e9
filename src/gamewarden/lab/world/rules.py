"""Personas and routines of one game as one flat record, which is what the kernel plays from."""

from collections.abc import Iterable, Sequence
from dataclasses import fields
from typing import Any

import numpy as np
import numpy.typing as npt

from gamewarden.lab.world.games import Game
from gamewarden.lab.world.personas import PERSONAS, Around, Habits, Hand, Schedule
from gamewarden.lab.world.routines import ASIDE, ERRAND, Routine, Step

ITEMS = 300
MONSTERS = 4  # kinds of monster a zone
FOLK = 8  # people to talk to a zone

PERSON = tuple(field.name for field in (*fields(Schedule), *fields(Habits)))
HAND = tuple(field.name for field in fields(Hand))
HANDS = len({bout.hand for persona in PERSONAS for phase in persona.phases for bout in phase.bouts})
TARGETS = ("nothing", "monster", "npc")
PLACES = ("anywhere", "town", "field")

# The kinds that the kernel logs by itself.
SPOKEN = (
    "session.login",
    "session.logout",
    "zone.enter",
    "combat.kill",
    "combat.death",
    "loot.pickup",
    "trade.give",
    "trade.receive",
    "level.up",
    "party.join",
    "party.leave",
)
ASIDE_ROUTINE, ERRAND_ROUTINE = 0, 1

# What a game's `restless` and `rough` scale.
_UNEVEN = ("drift", "variety", "pause", "aside")

_STEP = np.dtype(
    [
        ("first", np.int64),
        ("size", np.int64),
        ("chance", np.float64),  # in a one_of routine the cumulative share
        ("least", np.int64),
        ("most", np.int64),
        ("seconds", np.float64),
        ("target", np.int64),
        ("has_item", np.int64),
        ("has_amount", np.int64),
        ("low", np.float64),
        ("high", np.float64),
    ]
)
_ROUTINE = np.dtype(
    [("first", np.int64), ("end", np.int64), ("place", np.int64), ("one_of", np.int64), ("rest", np.float64)]
)
_BOUT = np.dtype(
    [
        ("routine", np.int64),
        ("hand", np.int64),
        ("odds", np.float64),  # cumulative within the phase
        ("minutes", np.float64),
        ("minutes_factor", np.float64),
    ]
)
_PHASE = np.dtype([("first", np.int64), ("end", np.int64), ("hours", np.float64), ("hours_factor", np.float64)])
_SPAN = np.dtype([("first", np.int64), ("end", np.int64)])


def rulebook(game: Game) -> npt.NDArray[np.void]:
    """A game's rules as an array of one record. A spread value is a pair: centre, logarithm of the factor."""
    tables = {
        "person": np.array([_pairs(persona.schedule) + _pairs(persona.habits) for persona in PERSONAS]),
        "personas": np.array(_spans(len(persona.phases) for persona in PERSONAS), _SPAN),
        "phases": np.array(_phase_rows(), _PHASE),
        "bouts": np.array(_bout_rows(list(game.routines)), _BOUT),
        "hands": np.array([_hand_row(hand, game) for hand in _all_hands()]),
        "routines": np.array(_routine_rows(_all_routines(game)), _ROUTINE),
        "steps": np.array([row for routine in _all_routines(game) for row in _step_rows(routine, game)], _STEP),
        "kinds": np.array([game.vocabulary.first[kind] for kind in SPOKEN]),
        "limits": np.array([game.highest_level, game.towns, game.fields]),
    }
    book = np.zeros(1, np.dtype([(name, table.dtype, table.shape) for name, table in tables.items()], align=True))
    for name, table in tables.items():
        book[name][0] = table
    return book


def _all_hands() -> list[Hand]:
    return list(dict.fromkeys(bout.hand for persona in PERSONAS for phase in persona.phases for bout in phase.bouts))


def _all_routines(game: Game) -> list[Routine]:
    return [ASIDE, ERRAND, *game.routines.values()]


def _pair(value: Around) -> tuple[float, float]:
    return value.center, float(np.log(value.factor))


def _pairs(part: Schedule | Habits | Hand) -> list[tuple[float, float]]:
    return [_pair(getattr(part, field.name)) for field in fields(part)]


def _hand_row(hand: Hand, game: Game) -> list[tuple[float, float]]:
    scale = game.rough if hand.loop.center else game.restless
    return [
        (center * scale if name in _UNEVEN else center, factor)
        for name, (center, factor) in zip(HAND, _pairs(hand), strict=True)
    ]


def _spans(lengths: Iterable[int]) -> list[tuple[int, int]]:
    ends = np.cumsum(list(lengths)).tolist()
    return list(zip([0, *ends[:-1]], ends, strict=True))


def _shares(weights: Sequence[float]) -> list[float]:
    cumulative: list[float] = (np.cumsum(weights) / np.sum(weights)).tolist()
    return cumulative


def _phase_rows() -> list[tuple[Any, ...]]:
    phases = [phase for persona in PERSONAS for phase in persona.phases]
    spans = _spans(len(phase.bouts) for phase in phases)
    return [(*span, *_pair(phase.hours)) for span, phase in zip(spans, phases, strict=True)]


def _bout_rows(activities: list[str]) -> list[tuple[Any, ...]]:
    hands = _all_hands()
    return [
        (2 + activities.index(bout.activity), hands.index(bout.hand), odds, *_pair(bout.minutes))
        for persona in PERSONAS
        for phase in persona.phases
        for bout, odds in zip(phase.bouts, _shares([bout.weight for bout in phase.bouts]), strict=True)
    ]


def _routine_rows(routines: Sequence[Routine]) -> list[tuple[Any, ...]]:
    spans = _spans(len(routine.steps) for routine in routines)
    return [
        (*span, PLACES.index(routine.place), routine.one_of, routine.rest)
        for span, routine in zip(spans, routines, strict=True)
    ]


def _step_rows(routine: Routine, game: Game) -> list[tuple[Any, ...]]:
    chances = [step.chance for step in routine.steps]
    odds = _shares(chances) if routine.one_of else chances
    return [_step_row(step, share, game) for step, share in zip(routine.steps, odds, strict=True)]


def _step_row(step: Step, odds: float, game: Game) -> tuple[Any, ...]:
    return (
        game.vocabulary.first[step.kind],
        game.vocabulary.size(step.kind),
        odds,
        *step.times,
        step.seconds,
        TARGETS.index(step.target),
        step.item,
        step.amount is not None,
        *(step.amount or (0, 0)),
    )
