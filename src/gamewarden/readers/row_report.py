"""What a reader saw: rows read, rows kept, and everything it could not take as it stood, counted by reason."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from gamewarden.errors import ReadError

_LONGEST_VALUE = 60
# Judged before the end of a file only when it is hopeless: so many rows seen, more than half of them bad.
_EARLY_ROWS = 1_000


@dataclass(frozen=True)
class Fault:
    """One reason, how often it was met, and the first row that shows it."""

    reason: str
    count: int
    example: str

    def __str__(self) -> str:
        """One line for a person."""
        return f"{self.reason} in {rows_text(self.count)} ({self.example})"


@dataclass(frozen=True)
class Report:
    """What one reading of a source gave."""

    rows: int
    kept: int
    duplicates: int  # rows whose seq was there already
    bad: tuple[Fault, ...]  # rows left out
    nulled: tuple[Fault, ...]  # rows kept, one value of them set to null
    notes: tuple[Fault, ...]  # rows kept as they are, with a choice made for them
    skipped: tuple[Fault, ...] = ()  # rows that are not meant

    def sentences(self) -> list[str]:
        """The report in lines for a person."""
        lines = [f"{rows_text(self.rows)} read, {self.kept:,} kept."]
        lines += [f"Left out {one.reason}: {rows_text(one.count)} ({one.example})." for one in self.skipped]
        lines += [f"Left out: {fault}." for fault in self.bad]
        lines += [f"Left out: {rows_text(self.duplicates)} whose seq was there already."] if self.duplicates else []
        lines += [f"Value set to null: {fault}." for fault in self.nulled]
        lines += [f"Note: {fault}." for fault in self.notes]
        return lines


@dataclass
class Tally:
    """The running count behind a Report."""

    source: str
    max_bad_share: float
    rows: int = 0
    kept: int = 0
    duplicates: int = 0
    faults: dict[str, dict[str, Fault]] = field(
        default_factory=lambda: {"bad": {}, "nulled": {}, "notes": {}, "skipped": {}}
    )

    def add(self, what: str, reason: str, count: int, row: int, value: object) -> None:
        """Count `count` rows under a reason; `row` (from 1) and `value` become the example if it is the first."""
        if not count:
            return
        seen = self.faults[what].get(reason)
        example = seen.example if seen else _example(what, row, value)
        self.faults[what][reason] = Fault(reason, count + (seen.count if seen else 0), example)

    @property
    def bad(self) -> int:
        """Rows left out because something is wrong with them."""
        return sum(fault.count for fault in self.faults["bad"].values())

    @property
    def skipped(self) -> int:
        """Rows left out on purpose."""
        return sum(fault.count for fault in self.faults["skipped"].values())

    def report(self) -> Report:
        """What has been seen so far."""
        parts = {what: tuple(_commonest_first(faults.values())) for what, faults in self.faults.items()}
        return Report(self.rows, self.kept, self.duplicates, **parts)

    def judge(self, *, ended: bool) -> None:
        """Stop when too much is bad: after the last row by the share allowed, before it only when it is hopeless.

        Raises:
            ReadError: more than the share allowed is bad.
        """
        share = self.max_bad_share if ended else max(self.max_bad_share, 0.5)
        meant = self.rows - self.skipped
        if self.bad > share * meant and (ended or meant >= _EARLY_ROWS):
            reasons = "; ".join(str(fault) for fault in self.report().bad)
            raise ReadError(
                f"{self.source}: {self.bad:,} of {'' if ended else 'the first '}{meant:,} rows are bad, more than "
                f"{self.max_bad_share:.2%} ({reasons})"
            )


def shorten(value: object) -> str:
    """A value as it can stand in a message: quoted, on one line, not too long."""
    value = value[:_LONGEST_VALUE] if isinstance(value, str | bytes | list) else value
    try:
        text = repr(value.decode(errors="replace") if isinstance(value, bytes) else value)
    except RecursionError:
        text = "nested too deep to be shown"
    return text if len(text) <= _LONGEST_VALUE else text[: _LONGEST_VALUE - 1] + "…"


def _example(what: str, row: int, value: object) -> str:
    shown = "" if what == "notes" and value is None else f": {shorten(value)}"
    return f"first in row {row:,}{shown}"


def _commonest_first(faults: Iterable[Fault]) -> list[Fault]:
    return sorted(faults, key=lambda fault: (-fault.count, fault.reason))


def rows_text(count: int) -> str:
    """A number of rows in words."""
    return f"{count:,} row{'' if count == 1 else 's'}"
