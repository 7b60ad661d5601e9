"""The log of bans of FluxCP, the control panel of Ragnarok servers: what its staff reads there is also what we did."""

import re
from datetime import datetime
from typing import Any

from sqlalchemy import BigInteger, Column, Connection, DateTime, MetaData, String, Table, func, select

from gamewarden.cases import DO, UNDO, Action
from gamewarden.response.actions import do_key
from gamewarden.response.adapters.accounts import ACCOUNT_ID
from gamewarden.response.adapters.poller import end_of

# cp_banlog.ban_type, and what FluxCP writes as ban_until where there is no end and where a ban is lifted.
_UNBAN, _TEMPORARY, _PERMANENT = 0, 1, 2
_NO_END, _OVER = datetime(9999, 12, 31, 23, 59, 59), datetime(1000, 1, 1)  # noqa: DTZ001  as the panel reads them
_REASON = re.compile(r"gamewarden: (?P<verb>do|undo) (?P<step>[a-z]+) \(action (?P<key>[0-9a-f]{32})\)")
CP_BANLOG = Table(
    "cp_banlog",
    MetaData(),
    Column("id", BigInteger, primary_key=True),
    Column(ACCOUNT_ID, BigInteger),
    Column("banned_by", BigInteger),  # an account; null is nobody in particular
    Column("ban_type", BigInteger),
    Column("ban_until", DateTime),
    Column("ban_date", DateTime),
    Column("ban_reason", String),
)


def note(connection: Connection, number: int, action: Action, *, ends: bool) -> None:
    """Note an action or its way back, once; `ends` says whether the game ends it by itself."""
    reason = _reason(action, action.verb)
    log = CP_BANLOG.c
    there = select(log.id).where(log[ACCOUNT_ID] == number, log.ban_reason == reason)
    if connection.execute(there).first() is not None:
        return
    kind, until = _told(action, ends=ends)
    values = {ACCOUNT_ID: number, "ban_type": kind, "ban_until": until, "ban_reason": reason}
    connection.execute(CP_BANLOG.insert().values(**values, ban_date=func.now()))


def is_noted(connection: Connection, number: int, action: Action) -> bool | None:
    """Whether the log says that an action holds; None: it says nothing of it."""
    log, verbs = CP_BANLOG.c, set()
    for verb in (DO, UNDO):
        there = select(log.id).where(log[ACCOUNT_ID] == number, log.ban_reason == _reason(action, verb))
        if connection.execute(there).first() is not None:
            verbs.add(verb)
    return verbs == {DO} if verbs else None


def own_notes(connection: Connection) -> dict[str, str]:
    """The actions that hold as the log says: the id of each, and what the log shows."""
    log, found = CP_BANLOG.c, {}
    asked = select(log[ACCOUNT_ID], log.ban_reason).where(log.ban_reason.like("gamewarden: %")).order_by(log.id)
    for row in connection.execute(asked):
        if match := _REASON.fullmatch(row.ban_reason):
            if match["verb"] == DO:
                found[match["key"]] = f"account {row.account_id}: {match['step']}"
            else:
                found.pop(match["key"], None)
    return found


def _reason(action: Action, verb: str) -> str:
    return f"gamewarden: {verb} {action.step} (action {do_key(action)})"


def _told(action: Action, *, ends: bool) -> tuple[int, Any]:
    """The type and the end of an entry."""
    if action.verb != DO:
        return _UNBAN, _OVER
    return (_TEMPORARY, func.from_unixtime(end_of(action))) if ends else (_PERMANENT, _NO_END)
