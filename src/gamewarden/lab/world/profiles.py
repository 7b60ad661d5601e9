"""What the operator knows of an account beside its events: the columns of the published operator page."""

from collections.abc import Mapping
from datetime import datetime, timedelta

import numpy as np
import numpy.typing as npt
import polars as pl

from gamewarden.lab.world.personas import PERSONAS
from gamewarden.lab.world.tabling import actor_id
from gamewarden.tables import PROFILES, check

SERVERS = 45
_CLASSES = ("knight", "elf", "mage", "ranger", "dark-elf", "summoner", "monk", "prince")
_SYLLABLES = ("ka", "ren", "mi", "dor", "sha", "lu", "eth", "ion", "ba", "zel", "nor", "ti", "gan", "ros", "vey", "ul")
_GRADES = ("FAMILY", "SILVER", "GOLD")
_TICKETS = ("90-day unlimited", "30-day unlimited", "7-day 15-hour", "none")
_PATTERNS = ("1037", "1102", "2044")  # what the client guard may have seen
# Bots buy long tickets and pay little beside; the guard sees something in one bot in eight and one human in forty.
_TICKET_ODDS = {True: (0.55, 0.3, 0.1, 0.05), False: (0.25, 0.4, 0.2, 0.15)}
_GRADE_ODDS = {True: (0.35, 0.35, 0.3), False: (0.45, 0.33, 0.22)}
_GUARD_ODDS = {True: 0.125, False: 0.025}
_TYPICAL_PAYMENT = {True: 15_000.0, False: 24_000.0}


def profiles_of(
    persona: npt.NDArray[np.int64], levels: npt.NDArray[np.int64], start: datetime, seed: int
) -> pl.DataFrame:
    """One row an account; nothing in it tells the class for sure."""
    dice = np.random.Generator(np.random.PCG64(np.random.SeedSequence([seed, len(persona), 2])))
    n = len(persona)
    bot = np.array([PERSONAS[code].bot for code in persona], np.bool_)
    new = np.array([PERSONAS[code].name == "newbie" for code in persona], np.bool_)
    age = np.where(new, dice.uniform(1, 20, n), dice.uniform(10, 4500, n) ** dice.uniform(0.6, 1, n))
    columns = {
        "actor": [actor_id(i) for i in range(n)],
        "name": _names(n, dice),
        "server": [f"server-{i + 1:02d}" for i in dice.integers(SERVERS, size=n)],
        "class": _chosen(_CLASSES, dice.integers(len(_CLASSES), size=n)),
        "main_character": [f"{actor_id(i)}-c1" for i in range(n)],
        "level": levels,
        "first_login": [start - timedelta(seconds=int(86400 * days)) for days in age],
        "customer_grade": _chosen(_GRADES, _by_class(_GRADE_ODDS, bot, dice)),
        "ticket": _chosen(_TICKETS, _by_class(_TICKET_ODDS, bot, dice)),
        "payment": _payments(bot, dice),
        "guard_pattern": _guarded(bot, dice),
    }
    return check(pl.DataFrame(columns), PROFILES, "world")


def _chosen(names: tuple[str, ...], places: npt.NDArray[np.int64]) -> list[str]:
    return [names[place] for place in places]


def _by_class(
    odds: Mapping[bool, tuple[float, ...]], bot: npt.NDArray[np.bool_], dice: np.random.Generator
) -> npt.NDArray[np.int64]:
    luck = dice.random(len(bot))
    of_bots = np.searchsorted(np.cumsum(odds[True])[:-1], luck, side="right")
    of_humans = np.searchsorted(np.cumsum(odds[False])[:-1], luck, side="right")
    return np.where(bot, of_bots, of_humans)


def _names(n: int, dice: np.random.Generator) -> list[str]:
    picks = dice.integers(len(_SYLLABLES), size=(n, 3))
    return ["".join(_SYLLABLES[p] for p in row).capitalize() for row in picks]


def _payments(bot: npt.NDArray[np.bool_], dice: np.random.Generator) -> npt.NDArray[np.float64]:
    typical = np.where(bot, _TYPICAL_PAYMENT[True], _TYPICAL_PAYMENT[False])
    paid = np.round(typical * np.exp(dice.normal(0, 1, len(bot))), -2)
    return np.where(dice.random(len(bot)) < 0.4, 0.0, paid)  # noqa: PLR2004 -- four in ten pay nothing this month


def _guarded(bot: npt.NDArray[np.bool_], dice: np.random.Generator) -> list[str | None]:
    seen = dice.random(len(bot)) < np.where(bot, _GUARD_ODDS[True], _GUARD_ODDS[False])
    picks = dice.integers(len(_PATTERNS), size=len(bot))
    return [_PATTERNS[pick] if yes else None for pick, yes in zip(picks, seen, strict=True)]
