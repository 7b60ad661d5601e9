"""A history that only grows: one JSON object a line, each bound to the line before it, so that edits show.

A line reaches the disk before anybody is told so. A line that a crash cut short never happened: it is cut off by the
next writer, and no reader sees it.
"""

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from gamewarden.contracts import canonical_json, digest
from gamewarden.errors import ReadError
from gamewarden.files import make_directory, sync_name, unwritable

LARGEST = 128 << 20  # bytes; a period writes some kilobytes
_FIRST = "0" * 12


class History:
    """The records of one file; made with its directory when the first record comes."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._records: list[dict[str, Any]] = []
        self._link = _FIRST
        self._whole = 0  # bytes that are whole lines
        self._load()

    @property
    def records(self) -> Sequence[Mapping[str, Any]]:
        """All of them, the first one first."""
        return self._records

    def append(self, record: Mapping[str, Any]) -> None:
        """One more, on the disk before this returns.

        Raises:
            WriteError: it cannot be written.
        """
        body = canonical_json(dict(record))
        link = digest(self._link, body)
        line = f'{{"link":"{link}","record":{body}}}\n'.encode()
        try:
            make_directory(self.path.parent)
            there = self.path.exists()
            with self.path.open("r+b" if there else "wb") as file:
                file.truncate(self._whole)
                file.seek(self._whole)
                file.write(line)
                file.flush()
                os.fsync(file.fileno())
            if not there:
                sync_name(self.path)
        except OSError as error:
            raise unwritable(self.path, error) from error
        self._records.append(json.loads(body))
        self._link, self._whole = link, self._whole + len(line)

    def _load(self) -> None:
        try:
            size = self.path.stat().st_size if self.path.exists() else 0
            if size > LARGEST:
                raise ReadError(f"{self.path}: {size:,} bytes are too many for a history (at most {LARGEST:,})")
            content = self.path.read_bytes() if size else b""
        except OSError as error:
            raise ReadError(f"{self.path}: cannot be read ({error.strerror or error})") from error
        self._whole = content.rfind(b"\n") + 1
        for number, line in enumerate(content[: self._whole].splitlines(), 1):
            self._take(line, number)

    def _take(self, line: bytes, number: int) -> None:
        try:
            values = json.loads(line)
            link, record = values["link"], values["record"]
            fits = isinstance(record, dict) and digest(self._link, canonical_json(record)) == link
        except (ValueError, TypeError, KeyError, RecursionError):
            fits = False
        if not fits:
            raise ReadError(
                f"{self.path}:{number}: does not follow from the lines before it, so the history was edited or "
                "damaged; put a copy of it back"
            )
        self._records.append(record)
        self._link = link
