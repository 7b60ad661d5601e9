"""A scripted year of one game: a new bot family in month 4, a patch, a ban wave, a holiday; one day of every week.

All of it is synthetic. An account keeps its habits from week to week; what happens to it is written down here, so that
whoever watches a detector over the year can say what it should have noticed.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import cached_property

import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow as pa

from gamewarden.core.durations import to_micros
from gamewarden.errors import ConfigError
from gamewarden.lab.world.games import Game, game_named
from gamewarden.lab.world.personas import PERSONAS
from gamewarden.lab.world.roster import Roster, roster_of
from gamewarden.lab.world.tabling import Tabling, actor_id
from gamewarden.lab.world.world import MONDAY, rows_of
from gamewarden.streams import PlainEvents
from gamewarden.tables import EVENTS, LABELS, check

Ints = npt.NDArray[np.int64]

WEEKS = 52
LEAST_ACCOUNTS = 100
NOBODY = -1  # the persona of an account that is not there this week
_CODE = {persona.name: code for code, persona in enumerate(PERSONAS)}
_NEVER = 10_000  # weeks


@dataclass(frozen=True)
class Script:
    """What happens in which week, counted from 0."""

    family_from: int = 14  # month 4: a new bot family begins to spread
    family_weeks: int = 6  # until all who change have changed
    family: str = "mimic"
    family_share: float = 0.4  # of all bots in the end
    before: str = "farmer"  # what those who change were until then
    new_accounts: float = 1 / 3  # share of the family that are new accounts; the others change programs
    patch: int = 26
    reworked: tuple[str, ...] = ("skill.use.*", "quest.step.*", "npc.talk.*")
    growth: float = 1.5  # of the reworked families
    ban_wave: int = 36
    banned: float = 0.6  # share of the bots that play then
    return_weeks: int = 8  # within which as many new accounts of theirs have come
    holiday: tuple[int, ...] = (47, 48)
    holiday_hours: float = 1.7  # how much longer people play then

    @property
    def happenings(self) -> Mapping[str, int]:
        """What to look for, and the week it begins."""
        return {
            "new bot family": self.family_from,
            "patch": self.patch,
            "ban wave": self.ban_wave,
            "holiday": self.holiday[0],
        }


@dataclass(frozen=True)
class Year:
    """So many accounts of a game through a scripted year.

    Beside `accounts` there are those that bots open again after a ban wave; they come later and count on top.

    Raises:
        ConfigError: the game is unknown, or there are too few accounts.
    """

    accounts: int = 400
    seed: int = 1
    game: str = "blade-and-soul"
    bots: float = 0.5
    start: datetime = MONDAY
    script: Script = field(default_factory=Script)

    def __post_init__(self) -> None:
        game_named(self.game)
        if self.accounts < LEAST_ACCOUNTS:
            raise ConfigError(f"year: accounts is {self.accounts}; it must be at least {LEAST_ACCOUNTS}")

    def week(self, number: int) -> "Week":
        """One day of a week as an EventStream, its events account after account."""
        return Week(self, number)

    def day(self, number: int) -> datetime:
        """When the day of a week begins."""
        return self.start + timedelta(weeks=number)

    def game_in(self, week: int) -> Game:
        """The game as it is that week."""
        game = game_named(self.game)
        if week < self.script.patch:
            return game
        return replace(game, vocabulary=game.vocabulary.patched(self.script.reworked, self.script.growth))

    @cached_property
    def roster(self) -> Roster:
        """Everybody who ever plays; those who come back after the wave are dealt the mix of all bots."""
        game = game_named(self.game)
        others = {name: share for name, share in game.bots.items() if name != self.script.family}
        scale = (1 - self.script.family_share) / sum(others.values())
        mix = {name: share * scale for name, share in others.items()} | {self.script.family: self.script.family_share}
        return roster_of(replace(game, bots=mix), self.everybody, self._bot_share, self.seed)

    @property
    def everybody(self) -> int:
        """All accounts of the year."""
        return self.accounts + self._again

    @property
    def _again(self) -> int:
        return round(self.accounts * self.bots * self.script.banned)

    @property
    def _bot_share(self) -> float:
        return (self.accounts * self.bots + self._again) / self.everybody

    @cached_property
    def lives(self) -> "Lives":
        """When each account comes, changes its program and is banned."""
        return _lives(self.roster.persona, self.script, self._again, self.seed)

    def personas(self, week: int) -> Ints:
        """The persona of each account that week."""
        persona, lives = self.roster.persona.copy(), self.lives
        persona[week < lives.changes] = _CODE[self.script.before]
        persona[(week < lives.comes) | (week >= lives.banned)] = NOBODY
        return persona

    def labels(self, week: int | None = None, judged_after: int = 2) -> pl.DataFrame:
        """LABELS: who is a bot; with `week` only those who had come `judged_after` weeks before it."""
        bot = np.array([PERSONAS[code].bot for code in self.roster.persona])
        known = np.ones(len(bot), np.bool_)
        if week is not None:
            known = (self.lives.comes == 0) | (self.lives.comes + judged_after <= week)
        rows = np.flatnonzero(known)
        frame = pl.DataFrame(
            {"actor": [actor_id(int(i)) for i in rows], "bot": bot[rows], "source": "simulation"},
            schema_overrides={"actor": pl.String},
        )
        return check(frame, LABELS, "year")

    def truth(self) -> dict[str, str]:
        """The persona of every account after all its changes."""
        return {actor_id(i): PERSONAS[code].name for i, code in enumerate(self.roster.persona)}


@dataclass(frozen=True)
class Lives:
    """Weeks by account; an account is there in [comes, banned)."""

    comes: Ints
    changes: Ints  # to the program of its persona
    banned: Ints


def _lives(persona: Ints, script: Script, again: int, seed: int) -> Lives:
    dice = np.random.Generator(np.random.PCG64(np.random.SeedSequence([seed, len(persona), 3])))
    n = len(persona)
    bot = np.array([PERSONAS[code].bot for code in persona])
    comes, changes, banned = np.zeros(n, np.int64), np.zeros(n, np.int64), np.full(n, _NEVER)
    returning = dice.permutation(np.flatnonzero(bot))[:again]
    comes[returning] = script.ban_wave + 1 + dice.integers(script.return_weeks, size=again)
    family = np.flatnonzero((persona == _CODE[script.family]) & (comes == 0))
    spread = script.family_from + dice.integers(script.family_weeks, size=family.size)
    new = dice.random(family.size) < script.new_accounts
    comes[family[new]], changes[family[~new]] = spread[new], spread[~new]
    there = np.flatnonzero(bot & (comes < script.ban_wave))
    banned[dice.permutation(there)[: round(script.banned * there.size)]] = script.ban_wave
    return Lives(comes, changes, banned)


class Week(PlainEvents):
    """The events of one day of a scripted year, as an EventStream."""

    def __init__(self, year: Year, number: int) -> None:
        self.year, self.number = year, number
        self.columns = frozenset(EVENTS.columns)

    @property
    def kinds(self) -> tuple[str, ...]:
        """All that the game can log this week."""
        return self.year.game_in(self.number).vocabulary.kinds

    def batches(self, columns: Sequence[str] = tuple(EVENTS.columns)) -> Iterator[pa.RecordBatch]:
        """The events, account after account, each account's in time."""
        from gamewarden.lab.world.agenda import Cast

        year = self.year
        tabling = Tabling(year.game_in(self.number), year.roster)
        cast = Cast(
            np.uint64(year.seed),
            to_micros(year.day(self.number)),
            1,
            year.personas(self.number),
            year.roster.first_partner,
            year.roster.partner,
            self.number,
        )
        seq = self.number << 40  # the rows of two weeks have different numbers
        for _, rows in rows_of(self._book(), cast, [(0, year.everybody)]):
            if len(rows):
                yield tabling.batch(rows, seq, columns)
            seq += len(rows)

    def _book(self) -> npt.NDArray[np.void]:
        from gamewarden.lab.world.rules import PERSON, rulebook

        book = rulebook(self.year.game_in(self.number))
        if self.number in self.year.script.holiday:
            people = [code for code, persona in enumerate(PERSONAS) if not persona.bot]
            book["person"][0][people, PERSON.index("hours"), 0] *= self.year.script.holiday_hours
        return book
