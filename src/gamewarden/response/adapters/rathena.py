"""Accounts of rAthena and Hercules: held, suspended, banned, and what a poller in the game does to who is online."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlalchemy import BigInteger, Column, Connection, MetaData, Row, String, Table, func, or_, select

from gamewarden.cases import DO, UNDONE, Action
from gamewarden.core.outside import visible
from gamewarden.policy import BAN, HOLD, REACTIONS, SANCTIONS, SUSPEND, AdapterSettings
from gamewarden.response.actions import OVER
from gamewarden.response.adapters import LEFT, STILL, GameState, RefusedError, refuse_repeated, steps_of
from gamewarden.response.adapters.accounts import ACCOUNT_ID, LARGEST, Accounts
from gamewarden.response.adapters.database import Database, tables_of
from gamewarden.response.adapters.fluxcp import CP_BANLOG, is_noted, note, own_notes
from gamewarden.response.adapters.poller import GW_ACTIONS, KICK, Poller, end_of, own_rows
from gamewarden.response.adapters.rows import Change, Record, shown

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
            refuse_repeated(self._state(connection, action, number))
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

    def state(self, action: Action) -> GameState:
        """The columns of the account; the marker is a row for the poller, or of the panel's log, where they are there.

        Raises:
            RefusedError: there is no such account.
            TryLaterError: the database does not answer.
        """
        with self.database.open() as connection:
            number = self.accounts.number_of(connection, action)
            return self._state(connection, action, number)

    def own_keys(self) -> Mapping[str, str]:
        """What the panel's log says to hold, or, without it, who was sent out of the game and is barred now.

        Raises:
            TryLaterError: the database does not answer.
        """
        with self.database.open() as connection:
            tables = tables_of(connection)
            rows = own_rows(connection) if GW_ACTIONS.name in tables else {}
            if CP_BANLOG.name in tables:
                return rows | own_notes(connection)
            return rows | (_kicked_and_barred(connection) if GW_ACTIONS.name in tables else {})

    def _state(self, connection: Connection, action: Action, number: int) -> GameState:
        tables = tables_of(connection)
        poller = Poller(connection, number) if GW_ACTIONS.name in tables else None
        if action.step in REACTIONS:
            seen = {} if poller is None else poller.seen(action.step)
            own = None if poller is None else poller.holds(action)
            return GameState(
                f"account {number}: {action.step} {seen.get(action.step)}", own, own, {**seen, action.step: None}
            )
        column = _COLUMNS[action.step]
        record = Record.read(connection, LOGIN, number, (column,))
        holds = record.values[column] >= _end(action) if action.step == SUSPEND else record.values == _alone(action)
        own = is_noted(connection, number, action) if CP_BANLOG.name in tables else None
        # A row that asked for a kick stays after its way back, so it says nothing of an action that is undone.
        if own is None and poller is not None and action.state != UNDONE:
            own = poller.has_kicked(action)
        text = f"account {number}: {shown(record.values)}"
        return GameState(text, holds, None if own is None else own and holds, {ACCOUNT_ID: number, column: 0})

    def _written(self, connection: Connection, action: Action, number: int) -> Mapping[str, Any]:
        """A column of the account; then, where they are there, the poller's table and the panel's log."""
        change = _change(action)
        record = Record.read(connection, LOGIN, number, tuple(change.was))
        receipt = (change.do if action.verb == DO else change.undo)(connection, record)
        if LEFT not in receipt and not change.is_none:
            self._told(connection, action, number)
        if action.verb != DO and LEFT not in receipt and change.was == _alone(action):
            receipt[STILL] = (
                f"account {number}: the game has {shown(record.values)}, and the ledger has the same as what was there"
                " before; lift it by hand if nobody else wrote it, then `decisions settle`"
            )
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


def _kicked_and_barred(connection: Connection) -> dict[str, str]:
    rows, login = GW_ACTIONS.c, LOGIN.c
    barred = or_(login[STATE] != 0, login[UNBAN_TIME] > func.unix_timestamp())
    asked = select(rows.key, login[ACCOUNT_ID], login[STATE], login[UNBAN_TIME]).where(
        rows.step == KICK, rows[ACCOUNT_ID] == login[ACCOUNT_ID], barred
    )
    return {
        row.key: f"account {row.account_id}: {shown({STATE: row.state, UNBAN_TIME: row.unban_time})}"
        for row in connection.execute(asked)
    }


def _change(action: Action) -> Change:
    """What a step makes of its column; a suspension never ends an older one early."""
    before, column = action.before or {}, _COLUMNS[action.step]
    was = int(before[column])
    wanted = max(was, _end(action)) if action.step == SUSPEND else _STATES[action.step]
    return Change({column: was}, {column: wanted}, [{column: int(one[column])} for one in before.get(OVER, ())])


def _alone(action: Action) -> dict[str, int]:
    """What a step writes into its column of an account that was free."""
    return {_COLUMNS[action.step]: _end(action) if action.step == SUSPEND else _STATES[action.step]}


def _end(action: Action) -> int:
    end = end_of(action) or 0
    if not 0 < end <= LARGEST:
        raise RefusedError("a suspension needs an end that login.unban_time can hold; decide a ban, if it has none")
    return end
