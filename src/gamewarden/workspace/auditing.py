"""The audit of a workspace's ledger for people: who did what, the value before and after, and whether it all holds."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import polars as pl

from gamewarden.cases import AuditLine
from gamewarden.contracts import canonical_json
from gamewarden.core.text import counted
from gamewarden.errors import LedgerError, short
from gamewarden.store.ledger.audit import Head
from gamewarden.store.ledger.ledger import Ledger
from gamewarden.tables import TIME, DataType
from gamewarden.workspace.place import Workspace
from gamewarden.workspace.reconciling import noted_head

_LINES: dict[str, DataType] = {
    "line": pl.Int64,
    "at": TIME,
    "who": pl.String,
    "what": pl.String,
    "subject": pl.String,
    "old": pl.String,
    "new": pl.String,
    "hash": pl.String,
    "says": pl.String,
}
_UNNAMED = "cannot be compared, because lines of an earlier version do not name them"
_UNSAID = frozenset(
    {"id", "ladder", "evidence", "answer", "before", "receipt", "lines", "removed"}
)  # long, and for programs


@dataclass(frozen=True)
class Auditing:
    """The audit of one ledger."""

    ledger: Ledger
    noted: Head | None = None  # the last line as the latest run noted it outside the ledger

    @classmethod
    def of(cls, workspace: Workspace) -> "Auditing":
        """The audit of a workspace.

        Raises:
            LedgerError: nothing was decided yet, the ledger cannot be opened, or what was noted is damaged.
        """
        if not workspace.has_ledger:
            raise LedgerError(f"{workspace.ledger_place}: there is no ledger yet; `gamewarden decide` begins one")
        return cls(workspace.ledger, noted_head(workspace))

    def lines(self, about: str | None = None, since: datetime | None = None) -> pl.DataFrame:
        """Its lines as a table, in their order.

        Raises:
            LedgerError: nothing is known of whom or what is asked about, or the ledger is damaged.
        """
        found = self.ledger.lines(about, since)
        if not found and about is not None and not self.ledger.lines(about):
            raise LedgerError(f"audit: nothing was done about {short(about)}; look how it is written")
        return pl.DataFrame(list(map(_row, found)), schema=_LINES, orient="row")

    def verified(self, noted: str | None = None) -> str:
        """A sentence that says that the audit is as it was written.

        Raises:
            LedgerError: it is not, or not the one whose last line was noted.
        """
        head, since = self.ledger.head, None if noted is None else Head.of(noted)
        faults = list(self.ledger.audit_faults(since))
        if not faults and self.noted is not None and not self.ledger.has_line(self.noted):
            faults = [f"audit: line {self.noted.number} is not the one that the latest run noted outside the ledger"]
        if faults:
            more = f", and {counted(len(faults) - 1, 'more fault')}" if len(faults) > 1 else ""
            raise LedgerError(f"{self.ledger.name}: {faults[0]}{more}; put a copy back, and ask who could change it")
        beyond = "" if since is None else f", and line {since.number} is the one that was noted"
        tables = self.ledger.compared()
        match = f"; {counted(tables.records, 'record')} in the tables match them" if tables.records else ""
        unclear = f"; {counted(tables.not_compared, 'record')} {_UNNAMED}" if tables.not_compared else ""
        return f"{counted(head.number, 'line')} hold{beyond}{match}{unclear}"

    def head(self) -> str:
        """The number and the hash of the last line."""
        return str(self.ledger.head)


def _row(line: AuditLine) -> tuple[Any, ...]:
    old, new = (None if value is None else canonical_json(value) for value in (line.old, line.new))
    return line.number, line.at, line.who, line.what, line.subject, old, new, line.hash, in_words(line)


def in_words(line: AuditLine) -> str:
    """What a line says that was changed."""
    return "; ".join(_said(line.old or {}, line.new or {}))


def _said(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[str]:
    """What changed, a piece per value."""
    for name in dict.fromkeys((*old, *new)):
        if name in _UNSAID or not (old.get(name) or new.get(name)) or (name in old and old[name] == new.get(name)):
            continue
        if name in old and name in new:
            yield f"{name}: {_word(old[name])} → {_word(new[name])}"
        else:
            yield f"{name}: {_word(new[name] if name in new else old[name])}"


def _word(value: Any) -> str:  # noqa: ANN401  as JSON
    if value is None or value == "":
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return " ".join(map(_word, value)) if isinstance(value, tuple | list) else str(value)
