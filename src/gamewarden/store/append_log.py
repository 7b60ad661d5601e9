"""A log that only grows: one JSON object a line, each bound to all before it, so that edits show.

A line reaches the disk before anybody is told so. A line that a crash cut short never happened: it is cut off by the
next writer, and no reader sees it. Writers take turns; what another has added meanwhile is read before one adds.
"""

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from gamewarden.contracts import canonical_json, digest
from gamewarden.core.files import hold, make_directory, sync_name, unwritable
from gamewarden.errors import GamewardenError, ReadError

LARGEST = 128 << 20  # bytes; a period of maintenance writes some kilobytes
_FIRST = "0" * 12


class AppendLog:
    """The records of one file; made with its directory when the first record comes.

    Where `unbound` lines are allowed, those that an earlier version wrote without a link may stand first; the links
    after them cover them too.

    Raises:
        GamewardenError: of the kind given; the file cannot be read, was edited or is damaged.
    """

    def __init__(
        self,
        path: Path,
        error: type[GamewardenError] = ReadError,
        *,
        called: str = "history",
        largest: int = LARGEST,
        unbound: bool = False,
    ) -> None:
        self.path = path
        self._error = error
        self._called = called
        self._largest = largest
        self._unbound = unbound
        self._records: list[dict[str, Any]] = []
        self._link = _FIRST
        self._whole = 0  # bytes that are whole lines, and known
        self._pen: BinaryIO | None = None
        self._load()

    @property
    def records(self) -> Sequence[Mapping[str, Any]]:
        """All of them, the first one first."""
        return self._records

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Hold the only pen: within it nobody else adds, and all that others added before is known.

        Raises:
            WriteError: the file cannot be written.
        """
        try:
            make_directory(self.path.parent)
            with self.path.open("a+b", buffering=0) as pen:
                hold(pen.fileno())
                self._load()
                self._pen = pen
                try:
                    yield
                finally:
                    self._pen = None
        except OSError as error:
            raise unwritable(self.path, error) from error

    def append(self, record: Mapping[str, Any]) -> None:
        """One more, on the disk before this returns.

        Raises:
            WriteError: it cannot be written.
        """
        if self._pen is None:
            with self.alone():
                self.append(record)
            return
        body = canonical_json(dict(record))
        link = digest(self._link, body)
        line = f'{{"link":"{link}","record":{body}}}\n'.encode()
        self._pen.truncate(self._whole)
        if self._pen.write(line) != len(line):
            self._pen.truncate(self._whole)
            raise OSError(None, "the disk is full", str(self.path))
        os.fsync(self._pen.fileno())
        if not self._whole:
            sync_name(self.path)
        self._records.append(json.loads(body))
        self._link, self._whole = link, self._whole + len(line)

    def _load(self) -> None:
        """Take what was added since, whole lines only."""
        try:
            size = self.path.stat().st_size if self.path.exists() else 0
            if size > self._largest:
                raise self._error(
                    f"{self.path}: {size:,} bytes are too many for a {self._called} (at most {self._largest:,})"
                )
            new = self._added() if size else b""
        except OSError as error:
            raise self._error(f"{self.path}: cannot be read ({error.strerror or error})") from error
        if size < self._whole:
            raise self._error(
                f"{self.path}: has {size:,} bytes and had {self._whole:,}, so the {self._called} was cut; "
                "put a copy of it back"
            )
        for number, line in enumerate(new.splitlines(), len(self._records) + 1):
            self._take(line, number)
        self._whole += len(new)

    def _added(self) -> bytes:
        """The whole lines after those that are known; the known ones are not read again."""
        with self.path.open("rb") as file:
            file.seek(self._whole)
            content = file.read()
        return content[: content.rfind(b"\n") + 1]

    def _take(self, line: bytes, number: int) -> None:
        try:
            values = json.loads(line)
            self._unbound = self._unbound and "link" not in values
            record = values if self._unbound else values["record"]
            link = digest(self._link, canonical_json(record))
            fits = isinstance(record, dict) and (self._unbound or values["link"] == link)
        except (ValueError, TypeError, KeyError, RecursionError):
            fits = False
        if not fits:
            raise self._error(
                f"{self.path}:{number}: does not follow from the lines before it, so the {self._called} was edited or "
                "damaged; put a copy of it back"
            )
        self._records.append(record)
        self._link = link
