"""What a poller in the game shall do to who is online: rows of our own table `gw_actions`, each done once."""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import BigInteger, Column, Connection, MetaData, String, Table, select

from gamewarden.cases import DO, UNDO, Action
from gamewarden.policy import CHALLENGE
from gamewarden.response.actions import do_key
from gamewarden.response.adapters import NOW
from gamewarden.response.adapters.accounts import ACCOUNT_ID

KICK = "kick"
REFUSED = "refused"  # gw_actions.outcome of what was never done
_NO_END = 0  # what is kept of a step that holds until it is taken back
GW_ACTIONS = Table(
    "gw_actions",
    MetaData(),
    Column("id", BigInteger, primary_key=True),
    Column("key", String(32)),
    Column(ACCOUNT_ID, BigInteger),
    Column("verb", String(8)),
    Column("step", String(16)),
    Column("until", BigInteger),
    Column("created", BigInteger),
    Column("taken", BigInteger),
    Column("outcome", String(16)),
)


@dataclass(frozen=True)
class Poller:
    """The rows of one account; of several rows for one step the last counts."""

    connection: Connection
    number: int

    def seen(self, step: str) -> Mapping[str, Any]:
        """Until when a step holds, as its last row says; null where it does not, and of challenges, which pass."""
        rows = GW_ACTIONS.c
        asked = select(rows.verb, rows.until).where(rows[ACCOUNT_ID] == self.number, rows.step == step)
        last = self.connection.execute(asked.order_by(rows.id.desc()).limit(1)).first()
        if last is None or last.verb != DO or step == CHALLENGE:
            return {ACCOUNT_ID: self.number, step: None}
        return {ACCOUNT_ID: self.number, step: last.until or _NO_END}

    def holds(self, action: Action) -> bool:
        """Whether the last row for the step is this action's."""
        rows = GW_ACTIONS.c
        asked = select(rows.key, rows.verb).where(rows[ACCOUNT_ID] == self.number, rows.step == action.step)
        last = self.connection.execute(asked.order_by(rows.id.desc()).limit(1)).first()
        return last is not None and (last.key, last.verb) == (do_key(action), DO)

    def has_kicked(self, action: Action) -> bool:
        """Whether a row of this action asked to send the account out of the game."""
        rows = GW_ACTIONS.c
        asked = select(rows.id).where(rows.key == do_key(action), rows.step == KICK)
        return self.connection.execute(asked).first() is not None

    def do(self, action: Action) -> dict[str, Any]:
        """Ask for a step; a receipt."""
        end = end_of(action)
        self._ask(action.id, DO, action.step, end)
        return {NOW: {ACCOUNT_ID: self.number, action.step: None if action.step == CHALLENGE else end or _NO_END}}

    def undo(self, action: Action, was: int | None) -> dict[str, Any]:
        """Ask for what was there before a step, and withdraw the step where nobody has begun with it; a receipt.

        Both, since a poller may have read the row and not yet said so: it learns of no change that it was late.
        """
        holds = was is not None and (was == _NO_END or was > time.time())
        self._ask(action.id, DO if holds else UNDO, action.step, was or None)
        self.withdraw(action)
        return {NOW: {ACCOUNT_ID: self.number, action.step: was}}

    def kick(self, action: Action) -> None:
        """Ask that the account is sent out of the game: a database that bars it does not."""
        self._ask(do_key(action), DO, KICK, None)

    def withdraw(self, action: Action) -> None:
        """Let a row that nobody has begun with be none; it stays, so that who was slow does not write it again."""
        rows = GW_ACTIONS.c
        self.connection.execute(
            GW_ACTIONS.update()
            .where(rows.key == do_key(action), rows.taken.is_(None))
            .values(taken=int(time.time()), outcome=REFUSED)
        )

    def _ask(self, key: str, verb: str, step: str, until: int | None) -> None:
        if self.connection.execute(select(GW_ACTIONS.c.id).where(GW_ACTIONS.c.key == key)).first() is not None:
            return
        values = {"key": key, ACCOUNT_ID: self.number, "verb": verb, "step": step, "until": until}
        self.connection.execute(GW_ACTIONS.insert().values(**values, created=int(time.time())))


def own_rows(connection: Connection) -> dict[str, str]:
    """The steps that rows of ours ask for until a later moment: the id of the action, and what the game shows."""
    rows, found = GW_ACTIONS.c, {}
    asked = select(rows.key, rows[ACCOUNT_ID], rows.verb, rows.step, rows.until).where(rows.step != KICK)
    for row in connection.execute(asked.order_by(rows.id)):
        found[row.account_id, row.step] = row
    now = time.time()
    return {
        row.key: f"account {row.account_id}: {row.step}"
        for row in found.values()
        if row.verb == DO and row.step != CHALLENGE and (row.until is None or row.until > now)
    }


def end_of(action: Action) -> int | None:
    """When an action ends by itself, in seconds since 1970."""
    return None if action.until is None else int(action.until.timestamp())
