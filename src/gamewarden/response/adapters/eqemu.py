"""Accounts of EQEmu: held, suspended, banned, and exactly what was there before."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlalchemy import (
    CHAR,
    BigInteger,
    Column,
    ColumnElement,
    Connection,
    MetaData,
    Row,
    String,
    Table,
    cast,
    func,
    or_,
    select,
)
from sqlalchemy.types import TypeDecorator

from gamewarden.cases import DO, Action
from gamewarden.core.outside import visible
from gamewarden.policy import BAN, SANCTIONS, SUSPEND, AdapterSettings
from gamewarden.response.actions import OVER, do_key
from gamewarden.response.adapters import GameState, RefusedError, refuse_repeated, steps_of
from gamewarden.response.adapters.accounts import ACCOUNT_ID, LARGEST, Accounts
from gamewarden.response.adapters.database import Database
from gamewarden.response.adapters.poller import end_of
from gamewarden.response.adapters.rows import Change, Record, Values, shown

STATUS, UNTIL, BAN_REASON, SUSPEND_REASON = "status", "suspendeduntil", "ban_reason", "suspend_reason"
_COLUMNS = (STATUS, UNTIL, BAN_REASON, SUSPEND_REASON)
# account.status: 0 is a player, above are stewards, guides and game masters; these two are refused at the login.
_SUSPENDED, _BANNED = -1, -2


class _Moment(TypeDecorator[str]):
    """A moment of the server's own time zone, as it is written: what was there comes back whatever the zone is."""

    impl = String
    cache_ok = True

    def column_expression(self, column: ColumnElement[str]) -> ColumnElement[str]:
        """How it is read."""
        return cast(column, CHAR)


ACCOUNT = Table(
    "account",
    MetaData(),
    Column("id", BigInteger, primary_key=True),
    Column("name", String(30)),
    Column(STATUS, BigInteger),
    Column(UNTIL, _Moment),
    Column(BAN_REASON, String),
    Column(SUSPEND_REASON, String),
)


@dataclass(frozen=True)
class EqemuAdapter:
    """Writes account.status and what belongs to it; the next login sees it."""

    name: str
    steps: tuple[str, ...]
    database: Database
    accounts: Accounts
    sure: bool = True

    @classmethod
    def of(cls, settings: AdapterSettings, root: Path) -> "EqemuAdapter":
        """The adapter that these settings describe.

        Raises:
            ConfigError: the environment has no URL of a database, or accounts are named by another column.
            InstallError: the database's library is not installed.
        """
        del root
        steps = steps_of(settings, SANCTIONS)
        return cls(settings.name, steps, Database.of(settings), Accounts.of(settings, ACCOUNT))

    def slot(self, step: str) -> str:
        """All are one status."""
        return STATUS if step in SANCTIONS else step

    def look(self, action: Action) -> Mapping[str, Any]:
        """The account's number, its status, and until when and why.

        Raises:
            RefusedError: there is no such account, or it is none of a player.
            TryLaterError: the database does not answer.
        """
        if action.step == SUSPEND:
            _end(action)
        with self.database.open() as connection:
            account = self.accounts.find(connection, action.actor)
            self._refuse_staff(account)
            record = Record.read(connection, ACCOUNT, int(account.id), _COLUMNS)
            refuse_repeated(_state(action, record))
            return record.seen

    def carry(self, action: Action) -> Mapping[str, Any]:
        """Write the status, or what was there before, where nobody else wrote since.

        Raises:
            RefusedError: somebody else changed the account meanwhile, it is gone, or it is no player's any more.
            TryLaterError: the database does not answer.
        """
        before = action.before or {}
        if STATUS not in before:
            raise RefusedError(f"{self.name}: nobody wrote down what was there before; carry it out by hand")
        number, over = int(before[ACCOUNT_ID]), [_values(one) for one in before.get(OVER, ())]
        with self.database.open() as connection:
            if action.verb == DO:
                self._refuse_staff(self.accounts.numbered(connection, number))
            was = _values(before)
            change = Change(was, _wanted(connection, action, was), over)
            record = Record.read(connection, ACCOUNT, number, _COLUMNS)
            return (change.do if action.verb == DO else change.undo)(connection, record)

    def state(self, action: Action) -> GameState:
        """The status of the account; the marker is the reason beside it.

        Raises:
            RefusedError: there is no such account.
            TryLaterError: the database does not answer.
        """
        with self.database.open() as connection:
            number = self.accounts.number_of(connection, action)
            return _state(action, Record.read(connection, ACCOUNT, number, _COLUMNS))

    def own_keys(self) -> Mapping[str, str]:
        """The reasons of ours beside a status that bars.

        Raises:
            TryLaterError: the database does not answer.
        """
        columns, found = ACCOUNT.c, {}
        ours = or_(columns[BAN_REASON].like("gamewarden %"), columns[SUSPEND_REASON].like("gamewarden %"))
        with self.database.open() as connection:
            for row in connection.execute(select(ACCOUNT).where(columns[STATUS] < 0, ours)):
                reason = row.ban_reason if row.status == _BANNED else row.suspend_reason
                if str(reason).startswith("gamewarden "):
                    found[reason.rpartition(" ")[2]] = f"account {row.id}: {visible(reason)}"
        return found

    def _refuse_staff(self, account: Row[Any]) -> None:
        if account.status > 0:
            raise RefusedError(
                f"{self.name}: account {visible(account.name)} has status {account.status}, which is none of players;"
                " it is never touched"
            )


def _state(action: Action, record: Record) -> GameState:
    status, column = (_BANNED, BAN_REASON) if action.step == BAN else (_SUSPENDED, SUSPEND_REASON)
    holds = record.values[STATUS] in {status, _BANNED}
    own = record.values[STATUS] == status and record.values[column] == _reason(action)
    cleared = {ACCOUNT_ID: record.number, STATUS: 0, UNTIL: None, BAN_REASON: None, SUSPEND_REASON: None}
    return GameState(f"account {record.number}: {shown(record.values)}", holds, own, cleared)


def _reason(action: Action) -> str:
    return f"gamewarden {action.step} {do_key(action)}"


def _values(seen: Mapping[str, Any]) -> Values:
    return {name: seen[name] for name in _COLUMNS}


def _wanted(connection: Connection, action: Action, was: Values) -> Values:
    """What a step writes; a suspension never ends an older one early.

    Where a ban leaves `suspendeduntil` standing, the server takes the ban for a suspension and lifts it then.
    """
    reason = _reason(action)
    if action.step == BAN:
        return {STATUS: _BANNED, UNTIL: None, BAN_REASON: reason}
    until = None
    if action.step == SUSPEND:
        until = connection.execute(select(cast(func.from_unixtime(_end(action)), CHAR))).scalar_one()
        if was[STATUS] == _BANNED or (was[STATUS] == _SUSPENDED and not (was[UNTIL] and was[UNTIL] < until)):
            return was
    return {STATUS: _SUSPENDED, UNTIL: until, SUSPEND_REASON: reason}


def _end(action: Action) -> int:
    end = end_of(action) or 0
    if not 0 < end <= LARGEST:
        raise RefusedError("a suspension needs an end that the server knows; decide a ban, if it has none")
    return end
