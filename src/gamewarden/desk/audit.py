"""The audit as people at the desk read it: who did what, the newest first, and whether every line still holds."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import polars as pl

from gamewarden.cases import AuditLine
from gamewarden.contracts import canonical_json
from gamewarden.core.spreadsheets import harmless
from gamewarden.desk.desk import Desk
from gamewarden.desk.jobs import Job, jobs
from gamewarden.errors import LedgerError
from gamewarden.tables import TIME, DataType
from gamewarden.workspace.auditing import Auditing, in_words

PAGE = 100
_AT_ONCE = 2_000  # lines that a file is written with


@dataclass(frozen=True)
class AuditRow:
    """One line."""

    number: int
    at: datetime
    who: str
    what: str
    subject: str
    says: str
    old: str | None  # as JSON
    new: str | None
    hash: str


@dataclass(frozen=True)
class Asked:
    """Which lines somebody wants to see."""

    who: str = ""
    what: str = ""
    about: str = ""  # an account, or the id of a record
    since: datetime | None = None


@dataclass(frozen=True)
class AuditView:
    """Some lines of the audit, the newest first."""

    asked: Asked
    rows: tuple[AuditRow, ...]
    next: int | None  # the number after which the list goes on
    lines: int  # in all
    head: str  # to be noted elsewhere
    check: str | None  # running, ready, failed; None: nobody asked
    checked: datetime | None
    says: str | None  # what the check found


def audit(desk: Desk, asked: Asked | None = None, *, before: int | None = None) -> AuditView:
    """Some lines, the newest first.

    Raises:
        LedgerError: the ledger cannot be read.
    """
    asked = asked or Asked()
    if not desk.workspace.has_ledger:
        return AuditView(asked=asked, rows=(), next=None, lines=0, head="", check=None, checked=None, says=None)
    found = _found(desk, asked, before, PAGE + 1)
    head = desk.workspace.ledger.head
    job = jobs(desk).last("audit", "all")
    return AuditView(
        asked=asked,
        rows=tuple(map(_row, found[:PAGE])),
        next=found[PAGE - 1].number if len(found) > PAGE else None,
        lines=head.number,
        head=str(head),
        check=None if job is None else job.state,
        checked=None if job is None else job.ended or job.begun,
        says=None if job is None else job.value or job.error,
    )


def begin_check(desk: Desk) -> Job:
    """Let every line be looked at, beside whatever else happens.

    Raises:
        LedgerError: there is no ledger yet.
    """
    if not desk.workspace.has_ledger:
        raise LedgerError("audit: there is no ledger yet; nothing was ever decided")
    return jobs(desk).begin(desk, "audit", "all", Auditing.of(desk.workspace).verified)


def as_csv(desk: Desk, asked: Asked) -> Iterator[str]:
    """All lines that somebody wants to see as pieces of a CSV file, the newest first.

    Raises:
        LedgerError: the ledger cannot be read.
    """
    before: int | None = None
    header = True
    while found := _found(desk, asked, before, _AT_ONCE) if desk.workspace.has_ledger else []:
        yield harmless(_table(found)).write_csv(include_header=header)
        before, header = found[-1].number, False
        if len(found) < _AT_ONCE:
            return
    if header:
        yield _table([]).write_csv()


def _found(desk: Desk, asked: Asked, before: int | None, most: int) -> list[AuditLine]:
    ledger = desk.workspace.ledger
    where: dict[str, Any] = {name: value for name, value in (("who", asked.who), ("what", asked.what)) if value}
    if asked.about:
        where["subject"] = ledger.subjects(asked.about)
    since = {} if asked.since is None else {"at": asked.since}
    below = None if before is None else (before,)
    return ledger.find(AuditLine, at_least=since, newest=most, below=below, **where)


def _row(line: AuditLine) -> AuditRow:
    old, new = (None if value is None else canonical_json(value) for value in (line.old, line.new))
    return AuditRow(
        number=line.number,
        at=line.at,
        who=line.who,
        what=line.what,
        subject=line.subject,
        says=in_words(line),
        old=old,
        new=new,
        hash=line.hash,
    )


def _table(found: list[AuditLine]) -> pl.DataFrame:
    kinds: dict[str, DataType] = {"number": pl.Int64, "at": TIME}
    names = ("number", "at", "who", "what", "subject", "says", "old", "new", "hash")
    rows = [{name: getattr(row, name) for name in names} for row in map(_row, found)]
    return pl.DataFrame(rows, schema={name: kinds.get(name, pl.String) for name in names})
