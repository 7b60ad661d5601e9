"""A whole synthetic game: its events in batches, its labels, who is who, and what the operator knows of them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow as pa

from gamewarden.core.durations import to_micros
from gamewarden.errors import ConfigError
from gamewarden.lab.world.circles import Society, farm_of, society_of
from gamewarden.lab.world.games import Game, game_named
from gamewarden.lab.world.personas import PERSONAS
from gamewarden.lab.world.profiles import profiles_of
from gamewarden.lab.world.roster import Roster, farms_of, roster_of
from gamewarden.lab.world.tabling import Tabling, account_of, actor_id
from gamewarden.streams import PlainEvents
from gamewarden.tables import EVENTS, LABELS, check

if TYPE_CHECKING:
    from gamewarden.lab.world.agenda import Cast

MONDAY = datetime(2015, 8, 24, tzinfo=UTC)  # the day on the published operator page
MOST_ACCOUNTS = 1 << 24  # as many as there are addresses
MOST_DAYS = 3660
BATCH_ROWS = 1 << 19


@dataclass(frozen=True)
class World(PlainEvents):
    """So many accounts of a game for so many days. The same values give the same world, whatever the batch size.

    It is an EventStream, so it can be measured without being written. `bots` is their share: half, as in the labelled
    sets of Lee et al.; about 0.15 is what Kang et al. found in Aion.

    Raises:
        ConfigError: the game is unknown, or a number is out of range.
    """

    game: str
    accounts: int
    days: int
    seed: int
    bots: float = 0.5
    start: datetime = MONDAY
    recasts: tuple[tuple[str, str], ...] = ()  # accounts that play another persona than the mix gave them
    batch_rows: int = field(default=BATCH_ROWS, compare=False)
    society: bool = False  # farms that share a hub or a script, guilds, households, raids, and purses that add up

    def __post_init__(self) -> None:
        game_named(self.game)
        _in_range("accounts", self.accounts, 1, MOST_ACCOUNTS)
        _in_range("days", self.days, 1, MOST_DAYS)
        _in_range("seed", self.seed, 0, (1 << 63) - 1)
        _in_range("bots", self.bots, 0, 1)
        _in_range("batch_rows", self.batch_rows, 1, 1 << 30)

    @property
    def columns(self) -> frozenset[str]:
        """Every column of EVENTS is there."""
        return frozenset(EVENTS.columns)

    @cached_property
    def roster(self) -> Roster:
        """Who is who."""
        dealt = self._society.roster if self.society else roster_of(self._game, self.accounts, self.bots, self.seed)
        persona = dealt.persona.copy()
        for actor, name in self.recasts:
            persona[self._account(actor)] = _persona_code(name)
        return replace(dealt, persona=persona)

    @cached_property
    def _society(self) -> Society:
        return society_of(self._game, self.accounts, self.bots, self.seed)

    def circles(self) -> pl.DataFrame:
        """Who belongs together: group, kind, actor, role; one row for each account of each circle of a society.

        `kind` is star, chain, script, guild, raid, household, café or mentor. An account may be of several.
        """
        rows = [
            (f"{circle.kind}-{number:05d}", circle.kind, actor_id(account), role)
            for number, circle in enumerate(self._society.circles if self.society else ())
            for account, role in zip(circle.members, circle.roles, strict=True)
        ]
        return pl.DataFrame(rows, dict.fromkeys(("group", "kind", "actor", "role"), pl.String), orient="row")

    def recast(self, personas: Mapping[str, str]) -> "World":
        """The same world in which some accounts play another persona, with the same dice, partners and address.

        Raises:
            ConfigError: there is no such account or persona.
        """
        for actor, name in personas.items():
            self._account(actor)
            _persona_code(name)
        return replace(self, recasts=tuple(sorted({**dict(self.recasts), **personas}.items())))

    def _account(self, actor: str) -> int:
        account = account_of(actor)
        if account is None or account >= self.accounts:
            raise ConfigError(f"world: there is no account {actor!r} among the {self.accounts:,}")
        return account

    @property
    def _game(self) -> Game:
        return game_named(self.game)

    def batches(self, columns: Sequence[str] = tuple(EVENTS.columns)) -> Iterator[pa.RecordBatch]:
        """The events, account after account, each account's in time."""
        return (batch for _, batch in self.played(columns))

    def played(self, columns: Sequence[str] = tuple(EVENTS.columns)) -> Iterator[tuple[int, pa.RecordBatch]]:
        """As `batches`, each with the number of accounts whose whole life it holds."""
        tabling = Tabling(self._game, self.roster)
        seq = 0
        for accounts, rows in self._rows([(0, self.accounts)]):
            yield accounts, tabling.batch(rows, seq, columns)
            seq += len(rows)

    def lives(self, actors: Sequence[str], columns: Sequence[str] = tuple(EVENTS.columns)) -> Iterator[pa.RecordBatch]:
        """The events of some accounts alone, as they are among all the others but for `seq`.

        Raises:
            ConfigError: there is no such account.
        """
        accounts = [self._account(actor) for actor in actors]
        tabling = Tabling(self._game, self.roster)
        seq = 0
        for _, rows in self._rows([(account, account + 1) for account in accounts]):
            yield tabling.batch(rows, seq, columns)
            seq += len(rows)

    def _rows(self, spans: Sequence[tuple[int, int]]) -> Iterator[tuple[int, npt.NDArray[np.void]]]:
        """Whole accounts from each span's first up to its end."""
        from gamewarden.lab.world.rules import rulebook

        return rows_of(rulebook(self._game), self._cast, spans, self.batch_rows)

    @cached_property
    def _cast(self) -> "Cast":
        from gamewarden.lab.world.agenda import Cast

        roster = self.roster
        start = to_micros(self.start)
        cast = Cast(np.uint64(self.seed), start, self.days, roster.persona, roster.first_partner, roster.partner)
        return self._with_deals(cast) if self.society else cast

    def _with_deals(self, cast: "Cast") -> "Cast":
        from gamewarden.lab.world.dealing import Purses, deals_of
        from gamewarden.lab.world.economy import gains, savings
        from gamewarden.lab.world.rules import rulebook
        from gamewarden.lab.world.ties import ties_of

        game, society = self._game, self._society
        cast = cast._replace(way=society.way, rotation=society.rotation, call=society.call)
        gained = self._gained(cast)
        first_gain = np.searchsorted(gained["account"], np.arange(self.accounts + 1))
        purses = Purses(savings(game, cast.persona, self.seed), gains(game), first_gain, gained)
        first, deals = deals_of(game, rulebook(game), cast, ties_of(society, self.seed), purses)
        return cast._replace(first_deal=first, deal=deals)

    def _gained(self, cast: "Cast") -> npt.NDArray[np.void]:
        """What those gain who hand over all they have: they are played once before anybody deals."""
        from gamewarden.lab.world.economy import BY_THE_LOG, GAINED, gained
        from gamewarden.lab.world.rules import rulebook

        codes = [code for code, persona in enumerate(PERSONAS) if persona.name in BY_THE_LOG]
        accounts = np.flatnonzero(np.isin(cast.persona, codes)).tolist()
        lives = rows_of(rulebook(self._game), cast, [(account, account + 1) for account in accounts], self.batch_rows)
        return np.concatenate([np.zeros(0, GAINED), *(gained(self._game, rows, cast.start) for _, rows in lives)])

    def labels(self) -> pl.DataFrame:
        """LABELS: one row an account, for the whole time, with its family (bots) or group of people, and its farm.

        A farm are the bots that hand over to one hub or share an address; accounts of no farm have null.
        """
        personas = [PERSONAS[code] for code in self.roster.persona]
        frame = pl.DataFrame(
            {
                "actor": [actor_id(i) for i in range(self.accounts)],
                "bot": [persona.bot for persona in personas],
                "source": "simulation",
                "family": [persona.name for persona in personas],
                "farm": self._farms(),
            }
        )
        return check(frame, LABELS, "world")

    def _farms(self) -> pl.Series:
        farms = farm_of(self._society) if self.society else farms_of(self.roster)
        named = [None if farm < 0 else f"farm-{farm:07d}" for farm in farms]
        return pl.Series(named, dtype=pl.String)

    def truth(self) -> dict[str, str]:
        """The persona of every account: a bot family or a group of humans."""
        return {actor_id(i): PERSONAS[code].name for i, code in enumerate(self.roster.persona)}

    def profiles(self) -> pl.DataFrame:
        """PROFILES: one row an account."""
        from gamewarden.lab.world.agenda import first_levels
        from gamewarden.lab.world.rules import rulebook

        levels = first_levels(rulebook(self._game), np.uint64(self.seed), self.roster.persona)
        return profiles_of(self.roster.persona, levels, self.start, self.seed)


def rows_of(
    book: npt.NDArray[np.void],
    cast: "Cast",
    spans: Sequence[tuple[int, int]],
    batch_rows: int = BATCH_ROWS,
) -> Iterator[tuple[int, npt.NDArray[np.void]]]:
    """The kernel's rows of whole accounts from each span's first up to its end, with the number of accounts played."""
    from gamewarden.lab.world.play import EVENT, play

    log = np.empty(batch_rows, EVENT)
    for first, end in spans:
        account = first
        while account < end:
            upto, rows = play(book, cast, account, end, log)
            if rows < 0:
                log = np.empty(-rows, EVENT)
            else:
                yield upto - account, log[:rows]
            account = upto


def _in_range(name: str, value: float, least: float, most: float) -> None:
    if not least <= value <= most:
        raise ConfigError(f"world: {name} is {value}; it must lie from {least} to {most}")


def _persona_code(name: str) -> int:
    names = [persona.name for persona in PERSONAS]
    if name not in names:
        raise ConfigError(f"world: there is no persona {name!r}; choose one of {', '.join(names)}")
    return names.index(name)
