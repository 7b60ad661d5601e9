"""The tables compared with the audit: its lines are replayed, and every record must be what they leave.

Three kinds of lines change records without a line for each. `tidy` names the removed records (an earlier version wrote
only how many). `forget` names the stubs of forgotten persons: of their records only what forgetting keeps is compared.
Lines of other kinds touch no table.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Connection, Table, select

from gamewarden.contracts import canonical_json
from gamewarden.core.outside import cut, visible
from gamewarden.errors import LedgerError
from gamewarden.store.ledger.asking import records_of
from gamewarden.store.ledger.audit import FORGET, PERSONAL, every_line
from gamewarden.store.ledger.schema import TABLES, UNAUDITED, secrets_in
from gamewarden.store.ledger.values import json_value, told

TIDY = "tidy"  # the line of retention
REMOVED = "removed"  # in it: the ids of the removed records, by table
_SHOWN = 60  # letters of a value
_AUDITED = {table.name: kind for kind, table in TABLES.items() if kind not in UNAUDITED}
# What forgetting changes in the records of a person beside what it empties.
_FORGOTTEN = PERSONAL | {"state", "undone_at", "undone_by"}
Key = tuple[Any, ...]
Fields = dict[str, Any]


@dataclass
class Comparison:
    """What a comparison of the tables with the audit found."""

    records: int = 0  # compared
    not_compared: int = 0  # their lines do not say enough
    faults: list[str] = field(default_factory=list)


def compare(connection: Connection) -> Comparison:
    """Replay the audit, and compare every audited record with what its lines leave."""
    replay, result = _Replay(), Comparison()
    for row in connection.execute(every_line()):
        replay.apply(row)
    for kind in _AUDITED.values():
        try:
            rows: list[Any] = records_of(kind, connection.execute(select(TABLES[kind])))
        except LedgerError as error:
            result.faults.append(str(error))
        else:
            replay.compare(TABLES[kind], [told(one) for one in rows], result)
    return result


@dataclass
class _Replay:
    """The records as the lines so far leave them."""

    records: dict[str, dict[str, dict[Key, Fields]]] = field(default_factory=lambda: defaultdict(dict))
    unclear: set[tuple[str, Key]] = field(default_factory=set)  # changed by a line that fits several records
    stubs: set[str] = field(default_factory=set)  # of persons who were forgotten
    tidied: Counter[str] = field(default_factory=Counter)  # records that retention removed, not saying which

    def apply(self, row: Any) -> None:  # noqa: ANN401  a row
        """Follow one line."""
        deed, _, name = row.what.partition(" ")
        if row.what == FORGET:
            self.stubs.update(row.subject.split(", "))
        elif row.what == TIDY:
            self._tidy(json_value(row.new))
        elif name in _AUDITED and deed in {"add", "change", "remove"}:
            old, new = ({} if text is None else json_value(text) for text in (row.old, row.new))
            known = self.records[name].setdefault(row.subject, {})
            if deed == "add":
                known[_key(TABLES[_AUDITED[name]], new)] = dict(new)
            elif deed == "remove":
                known.pop(_key(TABLES[_AUDITED[name]], old), None)
            else:
                self._change(name, known, old, new)

    def compare(self, table: Table, rows: list[Fields], result: Comparison) -> None:
        """Compare the rows of a table with the replayed records."""
        expected = {key: one for known in self.records[table.name].values() for key, one in known.items()}
        missing = dict(expected)
        for row in sorted(rows, key=lambda row: canonical_json(_key(table, row))):  # databases order them differently
            key = _key(table, row)
            missing.pop(key, None)
            if (table.name, key) in self.unclear:
                result.not_compared += 1
            else:
                result.records += 1
                result.faults += self._differences(table, row, expected.get(key))
        gone = [key for key, one in missing.items() if one.get("actor") not in self.stubs]
        result.not_compared += min(len(gone), self.tidied[table.name])
        if self.tidied[table.name] and len(gone) > self.tidied[table.name]:
            removed = self.tidied[table.name]
            result.faults.append(f"{table.name}: {len(gone)} are missing, and retention removed {removed} of them")
        elif not self.tidied[table.name]:
            fault = "is missing, and in the audit it was not removed"
            result.faults += [f"{table.name} {_shown_key(key)}: {fault}" for key in gone]

    def _differences(self, table: Table, row: Fields, expected: Fields | None) -> Iterator[str]:
        name = f"{table.name} {_shown_key(_key(table, row))}"
        if expected is None:
            yield f"{name}: no line of the audit added it"
            return
        skipped = secrets_in(table) | (_FORGOTTEN if row.get("actor") in self.stubs else frozenset())
        for column, value in row.items():
            if column not in skipped and canonical_json(value) != canonical_json(expected.get(column)):
                yield f"{name}: {column} is {_shown(value)}, and {_shown(expected.get(column))} in the audit"

    def _change(self, name: str, known: dict[Key, Fields], old: Mapping[str, Any], new: Mapping[str, Any]) -> None:
        fits = [key for key, one in known.items() if all(one.get(field) == value for field, value in old.items())]
        if len(known) > 1 and len(fits) > 1:
            self.unclear |= {(name, key) for key in fits}
            return
        for key in fits if len(known) > 1 else list(known):
            changed = known.pop(key) | dict(new)
            known[_key(TABLES[_AUDITED[name]], changed)] = changed

    def _tidy(self, counts: Mapping[str, Any]) -> None:
        if REMOVED not in counts:
            self.tidied.update({name: count for name, count in counts.items() if name in _AUDITED})
        for name, ids in counts.get(REMOVED, {}).items():
            for one in ids:
                self.records[name].pop(one, None)


def _key(table: Table, fields: Mapping[str, Any]) -> Key:
    return tuple(fields.get(column.name) for column in table.primary_key.columns)


def _shown_key(key: Key) -> str:
    return visible(cut(str(key[0]), _SHOWN))


def _shown(value: Any) -> str:  # noqa: ANN401  as JSON
    return visible(cut(repr(value) if isinstance(value, str) else canonical_json(value), _SHOWN))
