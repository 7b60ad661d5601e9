"""Accounts of rAthena and Hercules: held, suspended, banned, and what a poller in the game does to who is online."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlalchemy import BigInteger, Column, Connection, MetaData, Row, String, Table

from gamewarden.cases import DO, Action
from gamewarden.core.outside import visible
from gamewarden.policy import BAN, HOLD, REACTIONS, SANCTIONS, SUSPEND, AdapterSettings
from gamewarden.response.actions import OVER
from gamewarden.response.adapters import RefusedError, steps_of
from gamewarden.response.adapters.accounts import ACCOUNT_ID, LARGEST, Accounts
from gamewarden.response.adapters.database import Database, tables_of
from gamewarden.response.adapters.fluxcp import CP_BANLOG, note
from gamewarden.response.adapters.poller import GW_ACTIONS, Poller, end_of
from gamewarden.response.adapters.rows import LEFT, Change, Record

STATE, UNBAN_TIME = "state", "unban_time"
# login.state: the reason of a refused login plus one; 102 is "locked for an investigation", 5 "blocked by the GM team".
_STATES = {HOLD: 102, BAN: 5}
_COLUMNS = {HOLD: STATE, BAN: STATE, SUSPEND: UNBAN_TIME}
_SERVER = "S"  # login.sex of the servers' own accounts
# Groups of players as they come: 0 player, 1 super player, 5 VIP, which Hercules does not have. All others have powers.
_PLAYERS = {"rathena": (0, 1, 5), "hercules": (0, 1)}
LOGIN = Table(
    "login",
    MetaData(),
    Column(ACCOUNT_ID, BigInteger, primary_key=True),
    Column("userid", String(23)),
    Column("sex", String(1)),
    Column("group_id", BigInteger),
    Column(STATE, BigInteger),
    Column(UNBAN_TIME, BigInteger),
)


@dataclass(frozen=True)
class RathenaAdapter:
    """Writes login.state and login.unban_time, and rows for the poller where its table is."""

    name: str
    steps: tuple[str, ...]
    database: Database
    accounts: Accounts
    players: tuple[int, ...]  # the groups that may be touched
    sure: bool = True

    @classmethod
    def of(cls, settings: AdapterSettings, root: Path) -> "RathenaAdapter":
        """The adapter that these settings describe; steps that need the poller are carried out where they are named.

        Raises:
            ConfigError: the environment has no URL of a database, or accounts are named by another column.
            InstallError: the database's library is not installed.
        """
        del root
        steps = steps_of(settings, (*REACTIONS, *SANCTIONS)) if settings.steps else SANCTIONS
        accounts = Accounts.of(settings, LOGIN)
        return cls(settings.name, steps, Database.of(settings), accounts, _PLAYERS[settings.kind])

    def slot(self, step: str) -> str:
        """The column that a step changes; what the poller does stands for itself."""
        return _COLUMNS.get(step, step)

    def look(self, action: Action) -> Mapping[str, Any]:
        """The account's number, and what is there of the step.

        Raises:
            RefusedError: there is no such account, it is none of a player, or there is no table for the poller.
            TryLaterError: the database does not answer.
        """
        if action.step == SUSPEND:
            _end(action)
        with self.database.open() as connection:
            account = self.accounts.find(connection, action.actor)
            self._refuse_staff(account)
            number = int(account.account_id)
            if action.step in REACTIONS:
                return self._poller(connection, number).seen(action.step)
            return Record.read(connection, LOGIN, number, (_COLUMNS[action.step],)).seen

    def carry(self, action: Action) -> Mapping[str, Any]:
        """Write what the step means, or what was there before it, where nobody else wrote since.

        Raises:
            RefusedError: somebody else changed the account meanwhile, it is gone, or it is no player's any more.
            TryLaterError: the database does not answer.
        """
        before, slot = action.before or {}, self.slot(action.step)
        if slot not in before:
            raise RefusedError(f"{self.name}: nobody wrote down what was there before; carry it out by hand")
        number = int(before[ACCOUNT_ID])
        with self.database.open() as connection:
            if action.verb == DO:
                self._refuse_staff(self.accounts.numbered(connection, number))
            if action.step in REACTIONS:
                poller = self._poller(connection, number)
                return poller.do(action) if action.verb == DO else poller.undo(action, before[slot])
            return self._written(connection, action, number)

    def _written(self, connection: Connection, action: Action, number: int) -> Mapping[str, Any]:
        """A column of the account; then, where they are there, the poller's table and the panel's log."""
        change = _change(action)
        record = Record.read(connection, LOGIN, number, tuple(change.was))
        receipt = (change.do if action.verb == DO else change.undo)(connection, record)
        if LEFT not in receipt and not change.is_none:
            self._told(connection, action, number)
        return receipt

    def _told(self, connection: Connection, action: Action, number: int) -> None:
        tables = tables_of(connection)
        if GW_ACTIONS.name in tables:
            poller = Poller(connection, number)
            (poller.kick if action.verb == DO else poller.withdraw)(action)
        if CP_BANLOG.name in tables:
            note(connection, number, action, ends=action.step == SUSPEND)

    def _poller(self, connection: Connection, number: int) -> Poller:
        if GW_ACTIONS.name not in tables_of(connection):
            raise RefusedError(
                f"{self.name}: the game's database has no table {GW_ACTIONS.name} that its user may write; load"
                " integrations/tables.sql, or leave the step out of its steps"
            )
        return Poller(connection, number)

    def _refuse_staff(self, account: Row[Any]) -> None:
        shown = visible(account.userid)
        if account.sex == _SERVER:
            raise RefusedError(f"{self.name}: account {shown} is a server's own; it is never touched")
        if account.group_id not in self.players:
            raise RefusedError(
                f"{self.name}: account {shown} is in group {account.group_id}, which is not among the players'"
                f" ({', '.join(map(str, self.players))}); it is never touched"
            )


def _change(action: Action) -> Change:
    """What a step makes of its column; a suspension never ends an older one early."""
    before, column = action.before or {}, _COLUMNS[action.step]
    was = int(before[column])
    wanted = max(was, _end(action)) if action.step == SUSPEND else _STATES[action.step]
    return Change({column: was}, {column: wanted}, [{column: int(one[column])} for one in before.get(OVER, ())])


def _end(action: Action) -> int:
    end = end_of(action) or 0
    if not 0 < end <= LARGEST:
        raise RefusedError("a suspension needs an end that login.unban_time can hold; decide a ban, if it has none")
    return end
