"""What in a ledger is over and old goes: never what is in force, waits for somebody, or carries what stays.

An account is left alone as a whole while anything about it is in force or open: a decision, an action on its way, an
appeal, protection, or an exoneration, by which later models are tried. The audit stays; `forget` alone rewrites it.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from typing import Any

from sqlalchemy import ColumnElement, Connection, Table, and_, delete, or_, select

from gamewarden.cases import CANCELLED, CHALLENGE, DONE, OPEN, REHEARSED, UNDO, UNDONE, VERDICT
from gamewarden.store.ledger.asking import MANY
from gamewarden.store.ledger.ledger import Ledger
from gamewarden.store.ledger.replay import REMOVED, TIDY
from gamewarden.store.ledger.schema import (
    ACT_BATCHES,
    ACTIONS,
    APPEALS,
    CHALLENGES,
    DECISIONS,
    EXONERATED,
    LOGIN_FAILURES,
    LOGIN_SESSIONS,
    NOT_TAKEN,
    NOTES,
    OBSERVATIONS,
    PROTECTED,
    SUSPICIONS,
    VERDICTS,
)

_WHO = "gamewarden retention"
_NAMED = frozenset({DECISIONS, ACTIONS, APPEALS, CHALLENGES, NOTES, ACT_BATCHES})  # the audit says which went
_OVER = (UNDONE, REHEARSED, CANCELLED)  # nothing more becomes of such an action, nor of a way back that is done


def tidy(ledger: Ledger, before: datetime, now: datetime) -> dict[str, int]:
    """Remove what was over before a moment; how many records of each table.

    Raises:
        LedgerError: the ledger cannot be written.
    """
    with ledger.writing(_WHO, now) as work:
        tidying = _Tidying(work.connection, before, now)
        counts = {name: count for name, count in tidying.all() if count}
        if counts:
            new = {**counts, REMOVED: {name: sorted(ids) for name, ids in tidying.removed.items() if ids}}
            work.audit(TIDY, f"before {before.isoformat()}", None, new)
    return counts


@dataclass(frozen=True)
class _Tidying:
    connection: Connection
    before: datetime
    now: datetime
    removed: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))  # ids, by table

    def all(self) -> Iterator[tuple[str, int]]:
        """Each table with how much of it went."""
        decisions = self._old_decisions()
        yield DECISIONS.name, self._remove(DECISIONS, DECISIONS.c.id, decisions)
        yield ACTIONS.name, self._remove(ACTIONS, ACTIONS.c.decision, decisions)
        yield APPEALS.name, self._remove(APPEALS, APPEALS.c.decision, decisions)
        yield OBSERVATIONS.name, self._remove(OBSERVATIONS, OBSERVATIONS.c.id, self._old_observations())
        yield CHALLENGES.name, self._remove(CHALLENGES, CHALLENGES.c.id, self._old_challenges())
        yield VERDICTS.name, self._remove(VERDICTS, VERDICTS.c.verdict, self._old_verdicts())
        yield NOT_TAKEN.name, self._remove_of_free(NOT_TAKEN, NOT_TAKEN.c.at < self.before)
        yield SUSPICIONS.name, self._remove_of_free(SUSPICIONS, SUSPICIONS.c.as_of < self.before)
        yield NOTES.name, self._remove_of_free(NOTES, NOTES.c.at < self.before)
        yield ACT_BATCHES.name, self._remove_all(ACT_BATCHES, ACT_BATCHES.c.undo_until < self.before)
        yield LOGIN_SESSIONS.name, self._remove_all(LOGIN_SESSIONS, LOGIN_SESSIONS.c.expires < self.before)
        yield LOGIN_FAILURES.name, self._remove_all(LOGIN_FAILURES, LOGIN_FAILURES.c.at < self.before)

    @cached_property
    def _kept_accounts(self) -> frozenset[str]:
        """Whom nothing is removed of."""
        in_force = and_(DECISIONS.c.undone_at.is_(None), _not_before(DECISIONS.c.until, self.now))
        asked = (
            select(DECISIONS.c.actor).where(in_force),
            select(ACTIONS.c.actor).where(may_hold()),
            select(APPEALS.c.actor).where(APPEALS.c.outcome.is_(None)),
            select(CHALLENGES.c.actor).where(CHALLENGES.c.state == OPEN),
            select(PROTECTED.c.actor).where(PROTECTED.c.until > self.now),
            select(EXONERATED.c.actor),
        )
        return frozenset(name for one in asked for name in self.connection.execute(one.distinct()).scalars())

    def _old_decisions(self) -> list[str]:
        """Those that ended long ago: undone, or run out, whichever was later known."""
        ended = or_(DECISIONS.c.undone_at < self.before, DECISIONS.c.until < self.before)
        return self._of_free(DECISIONS, DECISIONS.c.id, and_(DECISIONS.c.at < self.before, ended))

    def _old_observations(self) -> list[str]:
        """Those that no decision rests on that stays."""
        rested_on = {id for ids in self._all(DECISIONS.c.evidence) for id in ids}  # noqa: A001  of an observation
        old = self._of_free(OBSERVATIONS, OBSERVATIONS.c.id, OBSERVATIONS.c.at < self.before)
        return [one for one in old if one not in rested_on]

    def _old_challenges(self) -> list[str]:
        told_of = set(self._all(OBSERVATIONS.c.ref, OBSERVATIONS.c.kind == CHALLENGE))
        old = self._of_free(CHALLENGES, CHALLENGES.c.id, CHALLENGES.c.expires < self.before)
        return [one for one in old if one not in told_of]

    def _old_verdicts(self) -> list[str]:
        told_of = set(self._all(OBSERVATIONS.c.ref, OBSERVATIONS.c.kind == VERDICT))
        old = self._of_free(VERDICTS, VERDICTS.c.verdict, VERDICTS.c.until < self.before)
        return [one for one in old if one not in told_of]

    def _of_free(self, table: Table, key: ColumnElement[str], old: ColumnElement[bool]) -> list[str]:
        """The keys of old rows of accounts that nothing holds."""
        rows = self.connection.execute(select(key.label("key"), table.c.actor).where(old))
        return [row.key for row in rows if row.actor not in self._kept_accounts]

    def _remove_of_free(self, table: Table, old: ColumnElement[bool]) -> int:
        actors = {*self._all(table.c.actor, old)} - self._kept_accounts
        return self._remove(table, table.c.actor, actors, old)

    def _remove(self, table: Table, column: ColumnElement[Any], values: Collection[str], *also: Any) -> int:  # noqa: ANN401  conditions
        return sum(self._remove_all(table, and_(column.in_(some), *also)) for some in _parts(values))

    def _remove_all(self, table: Table, old: ColumnElement[bool]) -> int:
        if table not in _NAMED:
            return self.connection.execute(delete(table).where(old)).rowcount
        ids = self.connection.execute(delete(table).where(old).returning(table.c.id)).scalars().all()
        self.removed[table.name].extend(ids)
        return len(ids)

    def _all(self, column: ColumnElement[Any], *where: ColumnElement[bool]) -> Iterable[Any]:
        return self.connection.execute(select(column).where(*where)).scalars()


def may_hold() -> ColumnElement[bool]:
    """Actions that are on their way, or may hold in the game and have not been taken back."""
    return and_(ACTIONS.c.state.not_in(_OVER), or_(ACTIONS.c.verb != UNDO, ACTIONS.c.state != DONE))


def _not_before(column: ColumnElement[Any], moment: datetime) -> ColumnElement[bool]:
    return or_(column.is_(None), column > moment)


def _parts(values: Collection[str]) -> Iterator[list[str]]:
    every = list(values)
    yield from (every[start : start + MANY] for start in range(0, len(every), MANY))
