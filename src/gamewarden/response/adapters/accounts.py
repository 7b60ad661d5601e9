"""The accounts of a game server: found by number or by name, exactly, whatever a name says."""

from dataclasses import dataclass
from typing import Any

from sqlalchemy import Column, Connection, Row, Table, select

from gamewarden.cases import Action
from gamewarden.core.outside import canonical_number, cut, visible
from gamewarden.errors import ConfigError
from gamewarden.policy import AdapterSettings
from gamewarden.response.adapters import RefusedError

ACCOUNT_ID = "account_id"  # in what is seen and kept of an account, whatever a game calls its number
LARGEST = 0xFFFF_FFFF  # int unsigned
_LONGEST = 64  # letters: no game's names are as long
_SHOWN = 60  # letters


@dataclass(frozen=True)
class Accounts:
    """A table of accounts, and what actors are in it."""

    who: str  # the adapter
    table: Table  # its first column is the number, its second one the name
    by_name: bool

    @classmethod
    def of(cls, settings: AdapterSettings, table: Table) -> "Accounts":
        """The accounts of an adapter.

        Raises:
            ConfigError: it names accounts by a column that does not.
        """
        number, name = (column.name for column in _keys(table))
        if settings.account not in {ACCOUNT_ID, number, name}:
            raise ConfigError(
                f"[[response.adapter]] {visible(settings.name)}: account = {visible(settings.account)} is no column"
                f" that names accounts; write {ACCOUNT_ID} or {name}"
            )
        return cls(settings.name, table, settings.account == name)

    def find(self, connection: Connection, actor: str) -> Row[Any]:
        """The one account that is called so.

        Raises:
            RefusedError: there is none, there are several, or no account can be called so.
        """
        column = _keys(self.table)[self.by_name]
        wanted = self._name(actor) if self.by_name else self._number(actor)
        asked = select(self.table).where(column == wanted)
        # Databases take ANN for ann; we do not.
        found = [row for row in connection.execute(asked) if row[self.by_name] == wanted]
        if len(found) != 1:
            raise RefusedError(
                f"{self.who}: {len(found)} accounts have the {column.name} {visible(actor)}; one is needed"
            )
        return found[0]

    def number_of(self, connection: Connection, action: Action) -> int:
        """The number of an action's account, as it was written down or as it is now.

        Raises:
            RefusedError: there is no such account.
        """
        known = (action.before or {}).get(ACCOUNT_ID)
        return int(self.find(connection, action.actor)[0] if known is None else known)

    def numbered(self, connection: Connection, number: int) -> Row[Any]:
        """The account of a number.

        Raises:
            RefusedError: it is gone.
        """
        found = connection.execute(select(self.table).where(_keys(self.table)[0] == number)).first()
        if found is None:
            raise RefusedError(f"account {number} is gone from the game's database")
        return found

    def _name(self, actor: str) -> str:
        if not 0 < len(actor) <= _LONGEST or visible(actor) != actor:
            raise RefusedError(f"{self.who}: {visible(cut(actor, _SHOWN))!r} is no name that an account can have")
        return actor

    def _number(self, actor: str) -> int:
        most = len(str(LARGEST))
        if not (actor.isascii() and actor.isdecimal()) or len(actor) > most or int(actor) > LARGEST:
            name = _keys(self.table)[1].name
            shown = visible(cut(actor, _SHOWN))
            raise RefusedError(f'{self.who}: {shown} is no {ACCOUNT_ID}; write account = "{name}", if it is a name')
        if canonical_number(actor) != actor:  # the ledger takes both for different accounts
            raise RefusedError(f"{self.who}: {actor} is account {int(actor)}; write it without leading zeros")
        return int(actor)


def _keys(table: Table) -> tuple[Column[Any], Column[Any]]:
    """The columns with the numbers and the names of accounts."""
    number, name, *_ = table.columns
    return number, name
