"""Accounts of AzerothCore and TrinityCore: barred by their table of bans or their console, and given back as they were.

One row of `account_banned` is active at the most, as the servers themselves have it: who bans ends what was active, and
the way back deletes our row and lets that hold again.
"""

import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlalchemy import BigInteger, Column, Connection, MetaData, Row, String, Table, func, or_, select

from gamewarden.cases import DO, Action
from gamewarden.core.outside import visible
from gamewarden.policy import HOLD, SANCTIONS, SUSPEND, AdapterSettings
from gamewarden.response.actions import OVER, do_key
from gamewarden.response.adapters import LEFT, NOW, GameState, RefusedError, TryLaterError, refuse_repeated, steps_of
from gamewarden.response.adapters.accounts import ACCOUNT_ID, LARGEST, Accounts
from gamewarden.response.adapters.database import Database
from gamewarden.response.adapters.poller import end_of
from gamewarden.response.adapters.soap import Console

ACTIVE = "active"  # what is kept: when the bans began that are active
_US = "gamewarden"
# Letters that cannot end an argument of a command; TrinityCore's accounts are called 12#1.
_SAYABLE = re.compile(r"[A-Za-z0-9_.@#-]{1,32}")
_FOR_EVER = "-1"  # a length of time that the commands take for no end
_GLANCE = 0.05  # seconds between two looks whether the server has written the ban
ACCOUNT = Table("account", MetaData(), Column("id", BigInteger, primary_key=True), Column("username", String(32)))
_LEVELS = {"azerothcore": ("id", "gmlevel"), "trinitycore": ("AccountID", "SecurityLevel")}
BANNED = Table(
    "account_banned",
    MetaData(),
    Column("id", BigInteger, primary_key=True),
    Column("bandate", BigInteger, primary_key=True),
    Column("unbandate", BigInteger),  # the same as bandate: without end
    Column("bannedby", String(50)),
    Column("banreason", String(255)),
    Column(ACTIVE, BigInteger),
)


@dataclass(frozen=True)
class AzerothcoreAdapter:
    """Bars accounts by the world server where it has a url, which also sends them out of the game; else by SQL."""

    name: str
    steps: tuple[str, ...]
    database: Database
    accounts: Accounts
    access: Table
    console: Console | None
    patience: float  # seconds until a ban that the server said it wrote must be there
    sure: bool = True

    @classmethod
    def of(cls, settings: AdapterSettings, root: Path) -> "AzerothcoreAdapter":
        """The adapter that these settings describe.

        Raises:
            ConfigError: the environment has no URL of a database, or no user and password for the url.
            InstallError: the database's library is not installed.
        """
        del root
        number, level = _LEVELS[settings.kind]
        access = Table("account_access", MetaData(), Column(number, BigInteger), Column(level, BigInteger))
        console, accounts = Console.of(settings), Accounts.of(settings, ACCOUNT)
        steps, database = steps_of(settings, SANCTIONS), Database.of(settings)
        return cls(settings.name, steps, database, accounts, access, console, console.timeout if console else 0.0)

    def slot(self, step: str) -> str:
        """All are bans, of which one is active."""
        return ACTIVE if step in SANCTIONS else step

    def look(self, action: Action) -> Mapping[str, Any]:
        """The account's number, and when its active bans began.

        Raises:
            RefusedError: there is no such account, it is a game master's, or the step cannot be said.
            TryLaterError: the database does not answer.
        """
        if action.step == SUSPEND and action.until is None:
            raise RefusedError("a suspension needs an end; decide a ban, if it has none")
        with self.database.open() as connection:
            account = self.accounts.find(connection, action.actor)
            self._refuse_staff(connection, account)
            bans = _Bans.read(connection, int(account.id))
            refuse_repeated(bans.state(action))
            return bans.seen

    def state(self, action: Action) -> GameState:
        """The active bans of the account; the marker is the reason of a ban.

        Raises:
            RefusedError: there is no such account.
            TryLaterError: the database does not answer.
        """
        with self.database.open() as connection:
            return _Bans.read(connection, self.accounts.number_of(connection, action)).state(action)

    def own_keys(self) -> Mapping[str, str]:
        """The active bans with a reason of ours.

        Raises:
            TryLaterError: the database does not answer.
        """
        bans = BANNED.c
        asked = select(bans.id, bans.banreason).where(bans.active == 1, bans.banreason.like(f"{_US} %"))
        with self.database.open() as connection:
            return {
                row.banreason.rpartition(" ")[2]: f"account {row.id}: {visible(row.banreason)}"
                for row in connection.execute(asked)
            }

    def carry(self, action: Action) -> Mapping[str, Any]:
        """Bar the account, or let hold again what did before.

        Raises:
            RefusedError: somebody else barred or freed the account meanwhile, or it is a game master's now.
            TryLaterError: the database or the server does not answer.
        """
        before = action.before or {}
        if ACTIVE not in before:
            raise RefusedError(f"{self.name}: nobody wrote down what was there before; carry it out by hand")
        number, was = int(before[ACCOUNT_ID]), [int(one) for one in before[ACTIVE]]
        over = [[int(began) for began in one[ACTIVE]] for one in before.get(OVER, ())]
        if action.verb != DO:
            with self.database.open() as connection:
                return _Bans.read(connection, number).given_back(connection, _reason(action), was, over)
        with self.database.open() as connection:
            account = self.accounts.numbered(connection, number)
            self._refuse_staff(connection, account)
            bans = _Bans.read(connection, number)
            if bans.of(_reason(action)) or not bans.may_be_changed(action, (was, *over)):
                return {NOW: bans.seen}
            command = None if self.console is None or bans.active else self._command(account, action, bans.now)
            if command is None:
                return bans.barred(connection, action)
        # Outside of our transaction: the server writes the same rows.
        return self._said(command, action, number)

    def _said(self, command: str, action: Action, number: int) -> Mapping[str, Any]:
        """Have the server bar the account; it writes a moment after it answered."""
        assert self.console is not None  # noqa: S101  without one there is no command
        self.console.say(command)
        until = time.monotonic() + self.patience
        while True:
            with self.database.open() as connection:
                bans = _Bans.read(connection, number)
            if bans.of(_reason(action)):
                return {NOW: bans.seen}
            if time.monotonic() >= until:
                raise TryLaterError(f"{self.name}: the world server took the command, and there is no ban of it yet")
            time.sleep(_GLANCE)

    def _command(self, account: Row[Any], action: Action, now: int) -> str:
        if not _SAYABLE.fullmatch(account.username):
            raise RefusedError(
                f"{self.name}: account {account.id} is called {visible(account.username)}, which no command is given;"
                " carry it out by hand, or without url"
            )
        end = _end(action, now)
        lasts = _FOR_EVER if end is None else f"{end - now}s"
        return f".ban account {account.username} {lasts} {_reason(action)}"

    def _refuse_staff(self, connection: Connection, account: Row[Any]) -> None:
        number, level = self.access.columns
        if connection.execute(select(level).where(number == account.id, level > 0)).first() is not None:
            shown = visible(account.username)
            raise RefusedError(f"{self.name}: account {shown} is a game master's (account_access); it is never touched")


@dataclass(frozen=True)
class _Bans:
    """All bans of an account, and the database's clock, as they were just read."""

    number: int
    rows: Sequence[Row[Any]]
    now: int

    @classmethod
    def read(cls, connection: Connection, number: int) -> "_Bans":
        asked = select(BANNED).where(BANNED.c.id == number).order_by(BANNED.c.bandate).with_for_update()
        rows = connection.execute(asked).all()
        return cls(number, rows, int(connection.execute(select(func.unix_timestamp())).scalar_one()))

    @property
    def active(self) -> list[int]:
        """When those began that are active."""
        return [int(row.bandate) for row in self.rows if row.active]

    @property
    def seen(self) -> dict[str, Any]:
        """What is kept of them."""
        return {ACCOUNT_ID: self.number, ACTIVE: self.active}

    def of(self, reason: str) -> list[Row[Any]]:
        """Those of an action."""
        return [row for row in self.rows if row.banreason == reason]

    def state(self, action: Action) -> GameState:
        """What is shown of an action."""
        own = any(row.active for row in self.of(_reason(action)))
        text = ", ".join(visible(str(row.banreason)) for row in self.rows if row.active) or "no active ban"
        cleared = {ACCOUNT_ID: self.number, ACTIVE: []}
        return GameState(f"account {self.number}: {text}", bool(self.active), own, cleared)

    def may_be_changed(self, action: Action, ours: Sequence[list[int]]) -> bool:
        """Whether there is something to write: who is barred for longer already stays so, and nothing ends early."""
        if self.active not in ours:
            raise RefusedError(self._mismatch(ours[0]))
        end = _end(action, self.now)
        return end is None or not any(row.active and (_is_endless(row) or row.unbandate >= end) for row in self.rows)

    def barred(self, connection: Connection, action: Action) -> Mapping[str, Any]:
        """Write a ban in the place of what is active."""
        # Two bans of one second would be one row.
        began = max([self.now, *(int(row.bandate) + 1 for row in self.rows)])
        end = _end(action, began)
        self._set(connection, self.active, active=False)
        values = {"id": self.number, "bandate": began, "unbandate": began if end is None else end}
        connection.execute(
            BANNED.insert().values(**values, bannedby=_US, banreason=_reason(action), active=1),
        )
        return {NOW: {ACCOUNT_ID: self.number, ACTIVE: [began]}}

    def given_back(
        self, connection: Connection, reason: str, was: list[int], over: Sequence[list[int]]
    ) -> Mapping[str, Any]:
        """Delete what we wrote, and let what was active be so again, unless somebody else had their say since."""
        beneath = {began for one in over for began in one} - set(was)
        ours = [row for row in self.rows if row.banreason == reason or (row.bandate in beneath and _is_ours(row))]
        if not ours:
            return {NOW: self.seen} if self.active == was else self._left(was)
        began = [int(row.bandate) for row in ours]
        if not set(self.active) <= set(began) or not any(row.active or self._has_ended(row) for row in ours):
            return self._left(began)
        connection.execute(BANNED.delete().where(BANNED.c.id == self.number, BANNED.c.bandate.in_(began)))
        self._set(connection, was, active=True)
        return {NOW: _Bans.read(connection, self.number).seen}

    def _set(self, connection: Connection, began: list[int], *, active: bool) -> None:
        bans = BANNED.c
        lasting = or_(bans.unbandate == bans.bandate, bans.unbandate > self.now)  # servers end the others themselves
        where = [bans.id == self.number, bans.bandate.in_(began), *([lasting] if active else [])]
        connection.execute(BANNED.update().where(*where).values(active=int(active)))

    def _has_ended(self, row: Row[Any]) -> bool:
        return not _is_endless(row) and bool(row.unbandate <= self.now)

    def _left(self, expected: list[int]) -> Mapping[str, Any]:
        return {LEFT: self._mismatch(expected), NOW: self.seen}

    def _mismatch(self, expected: list[int]) -> str:
        return (
            f"account {self.number}: the game has {_began(self.active)}, and the ledger expects {_began(expected)};"
            " somebody else changed it, so it was left alone"
        )


def _reason(action: Action) -> str:
    """What game masters read, and what an action is known by."""
    return f"{_US} {action.step} {do_key(action)}"


def _began(bans: list[int]) -> str:
    return f"bans that began at {', '.join(map(str, bans))}" if bans else "no active ban"


def _is_ours(row: Row[Any]) -> bool:
    return str(row.banreason).startswith(f"{_US} ")


def _is_endless(row: Row[Any]) -> bool:
    return bool(row.unbandate == row.bandate)


def _end(action: Action, now: int) -> int | None:
    """When the server ends a ban by itself; a hold is ended by whoever looked."""
    end = None if action.step == HOLD else end_of(action)
    if end is not None and not now < end <= LARGEST:
        raise RefusedError(f"a {action.step} until {end} cannot begin at {now}; decide it anew")
    return end
