"""The log of bans of FluxCP, the control panel of Ragnarok servers: what its staff reads there is also what we did."""

from datetime import datetime
from typing import Any

from sqlalchemy import BigInteger, Column, Connection, DateTime, MetaData, String, Table, func, select

from gamewarden.cases import DO, Action
from gamewarden.response.actions import do_key
from gamewarden.response.adapters.accounts import ACCOUNT_ID
from gamewarden.response.adapters.poller import end_of

# cp_banlog.ban_type, and what FluxCP writes as ban_until where there is no end and where a ban is lifted.
_UNBAN, _TEMPORARY, _PERMANENT = 0, 1, 2
_NO_END, _OVER = datetime(9999, 12, 31, 23, 59, 59), datetime(1000, 1, 1)  # noqa: DTZ001  as the panel reads them
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
    reason = f"gamewarden: {action.verb} {action.step} (action {do_key(action)})"
    log = CP_BANLOG.c
    there = select(log.id).where(log[ACCOUNT_ID] == number, log.ban_reason == reason)
    if connection.execute(there).first() is not None:
        return
    kind, until = _told(action, ends=ends)
    values = {ACCOUNT_ID: number, "ban_type": kind, "ban_until": until, "ban_reason": reason}
    connection.execute(CP_BANLOG.insert().values(**values, ban_date=func.now()))


def _told(action: Action, *, ends: bool) -> tuple[int, Any]:
    """The type and the end of an entry."""
    if action.verb != DO:
        return _UNBAN, _OVER
    return (_TEMPORARY, func.from_unixtime(end_of(action))) if ends else (_PERMANENT, _NO_END)
