"""Holds, suspensions and bans in the accounts of an rAthena server, and exactly what was there before."""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlalchemy import BigInteger, Column, Connection, Engine, MetaData, String, Table, create_engine, make_url, select
from sqlalchemy.exc import ArgumentError, SQLAlchemyError
from sqlalchemy.pool import NullPool

from gamewarden.cases import DO, Action
from gamewarden.core.durations import SECOND, parse_span
from gamewarden.core.extras import need
from gamewarden.core.outside import cut, visible
from gamewarden.errors import ConfigError
from gamewarden.policy import BAN, HOLD, SUSPEND, AdapterSettings
from gamewarden.response.actions import OVER
from gamewarden.response.adapters import NOW, RefusedError, TryLaterError, steps_of

ACCOUNT_ID, USERID, STATE, UNBAN_TIME = "account_id", "userid", "state", "unban_time"
# login.state: the reason of a refused login plus one; 102 is "locked for an investigation", 5 "blocked by the GM team".
_STATES = {HOLD: 102, BAN: 5}
_SLOTS = {HOLD: STATE, BAN: STATE, SUSPEND: UNBAN_TIME}
_SERVER = "S"  # login.sex of the servers' own accounts
_LARGEST = 0xFFFF_FFFF  # int unsigned
_LONGEST = 23  # letters of login.userid
_DRIVERS = {"mysql": ("mysql+pymysql", "pymysql"), "mariadb": ("mariadb+pymysql", "pymysql"),
            "postgresql": ("postgresql+psycopg", "psycopg")}  # fmt: skip
LOGIN = Table(
    "login",
    MetaData(),
    Column(ACCOUNT_ID, BigInteger, primary_key=True),
    Column(USERID, String(_LONGEST)),
    Column("sex", String(1)),
    Column(STATE, BigInteger),
    Column(UNBAN_TIME, BigInteger),
)


@dataclass(frozen=True)
class RathenaAdapter:
    """Writes login.state and login.unban_time; the next login sees it."""

    name: str
    steps: tuple[str, ...]
    engine: Engine
    account: str  # the column that names the account: account_id or userid
    sure: bool = True

    @classmethod
    def of(cls, settings: AdapterSettings, root: Path) -> "RathenaAdapter":
        """The adapter that these settings describe.

        Raises:
            ConfigError: the environment has no URL of a database, or accounts are named by another column.
            InstallError: the database's library is not installed.
        """
        del root
        if settings.account not in {ACCOUNT_ID, USERID}:
            raise ConfigError(
                f"[[response.adapter]] {visible(settings.name)}: account = {visible(settings.account)} is no column"
                f" that names accounts; write {ACCOUNT_ID} or {USERID}"
            )
        return cls(settings.name, steps_of(settings, tuple(_SLOTS)), _engine(settings), settings.account)

    def slot(self, step: str) -> str:
        """The column that a step changes; a step that is none of ours changes nothing here."""
        return _SLOTS.get(step, step)

    def look(self, action: Action) -> Mapping[str, Any]:
        """The account's number, and what the column of the step holds.

        Raises:
            RefusedError: there is no such account, or it is none of a player.
            TryLaterError: the database does not answer.
        """
        if action.step == SUSPEND:
            _end_of(action)
        slot = self.slot(action.step)
        with self._connected() as connection:
            number = self._number(connection, action.actor)
            return {ACCOUNT_ID: number, slot: _value(connection, number, slot)}

    def carry(self, action: Action) -> Mapping[str, Any]:
        """Write the column, or what it held before, where it still holds what we know of.

        Raises:
            RefusedError: somebody else changed the account meanwhile, or it is gone.
            TryLaterError: the database does not answer.
        """
        before, slot = action.before or {}, self.slot(action.step)
        if slot not in before:
            raise RefusedError(f"{self.name}: nobody wrote down what was there before; carry it out by hand")
        number, was = int(before[ACCOUNT_ID]), int(before[slot])
        over = {int(one[slot]) for one in before.get(OVER, ())}
        with self._connected() as connection:
            current = _value(connection, number, slot)
            if action.verb == DO:
                new = _do(connection, _Column(number, slot, current), _wanted(action, was), {was, *over})
                return {NOW: {ACCOUNT_ID: number, slot: new}}
            return _undo(connection, _Column(number, slot, current), was, {_wanted(action, was), *over})

    def _number(self, connection: Connection, actor: str) -> int:
        """The number of the one account that is called so."""
        wanted = self._wanted_key(actor)
        asked = select(LOGIN.c[ACCOUNT_ID], LOGIN.c[self.account], LOGIN.c.sex).where(LOGIN.c[self.account] == wanted)
        # Databases take ANN for ann; we do not.
        found = [row for row in connection.execute(asked) if row[1] == wanted]
        if len(found) != 1:
            raise RefusedError(
                f"{self.name}: {len(found)} accounts have the {self.account} {visible(actor)}; one is needed"
            )
        if found[0].sex == _SERVER:
            raise RefusedError(f"{self.name}: account {visible(actor)} is a server's own; it is never touched")
        return int(found[0][0])

    def _wanted_key(self, actor: str) -> Any:  # noqa: ANN401  a number or a text, as the column has it
        """What the column that names accounts would hold."""
        if self.account == USERID:
            if len(actor) > _LONGEST or visible(actor) != actor:
                raise RefusedError(f"{self.name}: {visible(cut(actor, 60))} is no {USERID} that an account can have")
            return actor
        if not (actor.isascii() and actor.isdecimal()) or len(actor) > _LONGEST or int(actor) > _LARGEST:
            shown = visible(cut(actor, 60))
            raise RefusedError(f'{self.name}: {shown} is no {ACCOUNT_ID}; write account = "{USERID}", if it is a name')
        return int(actor)

    @contextmanager
    def _connected(self) -> Iterator[Connection]:
        try:
            with self.engine.begin() as connection:
                yield connection
        except SQLAlchemyError as error:
            cause = str(getattr(error, "orig", None) or error).strip().split("\n", 1)[0]
            raise TryLaterError(f"{self.name}: the game's database: {visible(cause)}") from error


@dataclass(frozen=True)
class _Column:
    """What a column of an account holds."""

    number: int
    slot: str
    current: int


def _do(connection: Connection, column: _Column, wanted: int, ours: set[int]) -> int:
    """Write a value where the column holds one that we saw or wrote; what it holds then."""
    if column.current != wanted:
        if column.current not in ours:
            raise RefusedError(_elsewhere(column))
        _write(connection, column, wanted)
    return wanted


def _undo(connection: Connection, column: _Column, was: int, ours: set[int]) -> Mapping[str, Any]:
    """Write back what was there, unless somebody else wrote something since."""
    if column.current != was:
        if column.current not in ours:
            return {"left": _elsewhere(column), NOW: {ACCOUNT_ID: column.number, column.slot: column.current}}
        _write(connection, column, was)
    return {NOW: {ACCOUNT_ID: column.number, column.slot: was}}


def _write(connection: Connection, column: _Column, new: int) -> None:
    """Change the column from what was just read: a table without transactions keeps its word too."""
    login = LOGIN.c
    changed = connection.execute(
        LOGIN.update()
        .where(login[ACCOUNT_ID] == column.number, login[column.slot] == column.current)
        .values({column.slot: new})
    )
    if changed.rowcount != 1:
        raise TryLaterError(f"account {column.number} was changed by somebody else at the same moment")


def _value(connection: Connection, number: int, slot: str) -> int:
    asked = select(LOGIN.c[slot]).where(LOGIN.c[ACCOUNT_ID] == number).with_for_update()
    found = connection.execute(asked).scalar()
    if found is None:
        raise RefusedError(f"account {number} is gone from the game's database")
    return int(found)


def _wanted(action: Action, was: int) -> int:
    """What a step writes; a suspension never ends an older one early."""
    return max(was, _end_of(action)) if action.step == SUSPEND else _STATES[action.step]


def _end_of(action: Action) -> int:
    end = -1 if action.until is None else int(action.until.timestamp())
    if not 0 < end <= _LARGEST:
        raise RefusedError("a suspension needs an end that login.unban_time can hold; decide a ban, if it has none")
    return end


def _elsewhere(column: _Column) -> str:
    return f"{column.slot} of account {column.number} is {column.current}, which somebody else wrote; it was left alone"


def _engine(settings: AdapterSettings) -> Engine:
    """The database that the environment names; nothing is opened yet."""
    who = f"[[response.adapter]] {visible(settings.name)}: {visible(settings.database_from)}"
    text = os.environ.get(settings.database_from, "")
    try:
        url = make_url(text)
        backend = url.get_backend_name()
    except (ArgumentError, ValueError) as error:
        raise ConfigError(f"{who} has no URL of a database; set it to mysql://user:password@host/name") from error
    seconds = max(1, round(parse_span(settings.timeout) / SECOND))
    if backend in _DRIVERS:
        driver, library = _DRIVERS[backend]
        need(f"adapter {visible(settings.name)}", library)
        url = url.set(drivername=driver)
    elif backend != "sqlite":
        raise ConfigError(f"{who} names a database of {visible(backend)}; rAthena has MariaDB or MySQL")
    return create_engine(url, poolclass=NullPool, hide_parameters=True, connect_args=_limits(backend, seconds))


def _limits(backend: str, seconds: int) -> dict[str, Any]:
    """How long each database waits, as it wants to be told."""
    if backend == "sqlite":
        return {"timeout": seconds}
    if backend == "postgresql":
        return {"connect_timeout": seconds, "options": f"-c statement_timeout={seconds}s -c lock_timeout={seconds}s"}
    return {"connect_timeout": seconds, "read_timeout": seconds, "write_timeout": seconds}
