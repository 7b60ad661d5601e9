"""Where it stands who is behind an address: a table in memory, a file, or messages that go on coming.

For packets that are all there, such as a file's, what is known when reading begins counts for all of it, so that a
second reading gives the same rows. For packets that come as they are sent it is looked up again every few seconds.
"""

import json
import time
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Protocol

import polars as pl

from gamewarden.errors import ReadError, Remark
from gamewarden.readers.byte_sources import Origin
from gamewarden.readers.captures.client_ends import Accounts
from gamewarden.readers.captures.packet_log import frames_of
from gamewarden.readers.places import File
from gamewarden.readers.row_report import shorten
from gamewarden.readers.timestamps import NO_ZONE, TimeReader

COLUMNS = ("address", "port", "from", "until", "account")
MOST_ROWS = 5_000_000  # all of them are in memory, about 300 bytes each
SECONDS = 2.0  # between two looks
_COST = 20  # a look that took long is not taken again before this many times as long has passed
_LONGEST_MESSAGE = 1 << 16
_ALSO_CALLED = {"actor": "account", "since": "from"}


class AccountSource(Protocol):
    """Who stands behind addresses, as far as it is known."""

    def now(self) -> Accounts:
        """All that is known now.

        Raises:
            ReadError: it cannot be read.
        """

    def news(self) -> Accounts | None:
        """The same when it has changed since it was asked for last; never waits, and never fails."""


class AccountFeed(Protocol):
    """Messages that say who is behind an address, of a topic for example; each is one JSON object."""

    @property
    def name(self) -> str:
        """What it is called, for people."""

    def so_far(self) -> list[bytes]:
        """All messages there are, in their order.

        Raises:
            ReadError: they cannot be read.
        """

    def since(self) -> list[bytes]:
        """Those that came since it was asked last; never waits.

        Raises:
            ReadError: they cannot be read any more.
        """


class Looking:
    """Looks again every few seconds, less often where a look takes long."""

    def __init__(self, source: AccountSource) -> None:
        self._source = source
        self._due = time.monotonic() + SECONDS

    def news(self) -> Accounts | None:
        """What has changed, when it is time to look and something has."""
        begun = time.monotonic()
        if begun < self._due:
            return None
        news = self._source.news()
        ended = time.monotonic()
        self._due = ended + max(SECONDS, _COST * (ended - begun))
        return news


class AccountTable:
    """A table in memory, which does not change."""

    def __init__(self, frame: pl.DataFrame, time_zone: str | None) -> None:
        self._accounts = Accounts.of_table(readable(frame, time_zone, "account table"))

    def now(self) -> Accounts:
        """The table."""
        return self._accounts

    def news(self) -> Accounts | None:
        """None."""
        return None


class AccountFile:
    """A file, read again when it has changed and is not being written any more.

    What cannot be read is said once, and what was known before still counts. An object of a store is read once.
    """

    def __init__(self, place: File | str, time_zone: str | None) -> None:
        self._place = place
        self._time_zone = time_zone
        self._read: object = None  # how the file looked that was read last
        self._seen: object = None  # and at the last look

    def now(self) -> Accounts:
        """What stands in it."""
        self._read = self._seen = self._looks()
        return self._accounts()

    def news(self) -> Accounts | None:
        """What stands in it, once it has changed and has stood still from one look to the next."""
        looks, before = self._looks(), self._seen
        self._seen = looks
        if looks in (self._read, None) or looks != before:
            return None
        try:
            accounts = self._accounts()
        except ReadError as error:
            self._read = looks
            warnings.warn(f"{error}; the account table from before still counts", Remark, stacklevel=2)
            return None
        if self._looks() != looks:  # somebody wrote to it meanwhile
            return None
        self._read = looks
        return accounts

    def _looks(self) -> object:
        if not isinstance(self._place, str | Path):
            return None
        try:
            found = Path(self._place).stat()
        except OSError:
            return None
        return found.st_ino, found.st_size, found.st_mtime_ns

    def _accounts(self) -> Accounts:
        frames = list(_not_too_many(frames_of(Origin(self._place), COLUMNS), self._place))
        if not frames:
            raise ReadError(f"{self._place}: has a header but no rows; it should say who used which address when")
        return Accounts.of_table(readable(pl.concat(frames), self._time_zone, str(self._place)))


class FedAccounts:
    """Messages, each a row of the table; what a later one says of an address counts from its `since` on.

    A message that cannot be read is left out; the first of each kind is said.
    """

    def __init__(self, feed: AccountFeed, time_zone: str | None) -> None:
        self._feed = feed
        self._time_zone = time_zone
        self._rows = pl.DataFrame(schema=_SCHEMA)
        self._broken = False
        self.left_out: Counter[str] = Counter()  # by reason

    def now(self) -> Accounts:
        """All that was said so far."""
        self._take(self._feed.so_far())
        return Accounts.told_one_by_one(self._rows)

    def news(self) -> Accounts | None:
        """All of it, when something was said since."""
        try:
            came = self._feed.since()
        except ReadError as error:
            if not self._broken:
                warnings.warn(f"{error}; what was said of accounts before still counts", Remark, stacklevel=2)
            self._broken = True
            return None
        self._broken = False
        return Accounts.told_one_by_one(self._rows) if self._take(came) else None

    def _take(self, messages: Sequence[bytes]) -> bool:
        said = [row for message in messages if (row := self._object(message)) is not None]
        rows = self._readable(said)
        self._rows = pl.concat([self._rows, *rows]).tail(MOST_ROWS)
        return bool(rows)

    def _object(self, message: bytes) -> dict[str, Any] | None:
        try:
            found = json.loads(message) if len(message) <= _LONGEST_MESSAGE else None
        except (ValueError, RecursionError):
            found = None
        if not isinstance(found, dict):
            self._leave_out("is no JSON object", message)
            return None
        named = {_ALSO_CALLED.get(name, name): value for name, value in found.items()}
        return {name: None if (value := named.get(name)) is None else str(value) for name in COLUMNS}

    def _readable(self, said: list[dict[str, Any]]) -> list[pl.DataFrame]:
        """The rows in frames, without those that cannot be read: these are looked for half by half."""
        try:
            return [self._frame(said)] if said else []
        except ReadError as error:
            if len(said) == 1:
                self._leave_out(str(error), b"")
                return []
        half = len(said) // 2
        return [*self._readable(said[:half]), *self._readable(said[half:])]

    def _frame(self, said: list[dict[str, Any]]) -> pl.DataFrame:
        texts = pl.DataFrame(said, schema=dict.fromkeys(COLUMNS, pl.String))
        frame = readable(texts, self._time_zone, self._feed.name, nobody=True).cast(_SCHEMA)
        Accounts.told_one_by_one(frame)  # addresses and ports are looked at here, not when all rows are
        return frame

    def _leave_out(self, why: str, message: bytes) -> None:
        reason = why.removeprefix(f"{self._feed.name}: row 1: ")
        kind = reason.split(" ", 1)[0]
        if not self.left_out[kind]:
            seen = f" ({message[:60]!r})" if message else ""
            warnings.warn(f"{self._feed.name}: a message is left out: {reason}{seen}", Remark, stacklevel=2)
        self.left_out[kind] += 1


_SCHEMA = pl.Schema({"address": pl.String, "port": pl.Int64, "from": pl.Int64, "until": pl.Int64, "account": pl.String})


def _not_too_many(frames: Iterable[pl.DataFrame], name: str | File) -> Iterator[pl.DataFrame]:
    rows = 0
    for frame in frames:
        rows += frame.height
        if rows > MOST_ROWS:
            raise ReadError(f"{name}: has more than {MOST_ROWS:,} rows; give those of the time that the capture covers")
        yield frame


def readable(frame: pl.DataFrame, time_zone: str | None, name: str, *, nobody: bool = False) -> pl.DataFrame:
    """Ports as numbers, times as microseconds, nothing unreadable; with `nobody` an account may be missing.

    Raises:
        ReadError: a column is missing, or a value is not what its column needs.
    """
    missing = [column for column in COLUMNS if column not in frame.columns]
    if missing:
        raise ReadError(f"{name}: lacks {', '.join(missing)}; an account table has {', '.join(COLUMNS)}")
    raw = frame.select(COLUMNS).with_columns(pl.col(pl.String).replace("", None))
    read = raw.with_columns(
        pl.col("address", "account").cast(pl.String),
        pl.col("port").cast(pl.Int64, strict=False),
        _micros(raw["from"], time_zone, name),
        _micros(raw["until"], time_zone, name),
    )
    needed = ("address",) if nobody else ("address", "account")
    for column in COLUMNS:
        lost = read[column].is_null() & (raw[column].is_not_null() | (column in needed))
        if lost.any():
            row = int(lost.arg_true()[0])
            raise ReadError(f"{name}: row {row + 1}: {column} {shorten(raw[column][row])} cannot be read")
    return read


def _micros(times: pl.Series, time_zone: str | None, name: str) -> pl.Series:
    moments = TimeReader(time_zone=time_zone).read(times if times.dtype != pl.Null else times.cast(pl.String))
    if NO_ZONE in moments.faults:
        raise ReadError(f"{name}: a time in {times.name!r} has no zone; name it with --time-zone")
    return moments.at.to_physical()
