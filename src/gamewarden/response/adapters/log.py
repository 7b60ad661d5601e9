"""A line of JSON per action in a file: what a person or another program then carries out."""

import fcntl
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gamewarden.cases import Action
from gamewarden.contracts import canonical_json
from gamewarden.core.files import make_directory, sync_name
from gamewarden.core.outside import plain_json
from gamewarden.policy import AdapterSettings
from gamewarden.response.adapters import CARRIED, Blind, TryLaterError, steps_of
from gamewarden.response.adapters.told import told


@dataclass(frozen=True)
class LogAdapter(Blind):
    """Appends actions to a file, each once; on the disk before it counts as done."""

    name: str
    steps: tuple[str, ...]
    path: Path
    sure: bool = True

    @classmethod
    def of(cls, settings: AdapterSettings, root: Path) -> "LogAdapter":
        """The adapter that these settings describe."""
        return cls(settings.name, steps_of(settings, CARRIED), root / settings.path)

    def slot(self, step: str) -> str:
        """Each step for itself."""
        return step

    def look(self, action: Action) -> Mapping[str, Any]:  # noqa: ARG002  a log sees nothing
        """Nothing: a log does not see the game."""
        return {}

    def carry(self, action: Action) -> Mapping[str, Any]:
        """Append the action, unless it is there already.

        Raises:
            TryLaterError: the file cannot be written.
        """
        line = plain_json(canonical_json(told(action))).encode() + b"\n"
        try:
            handle = _opened(self.path.absolute())
            try:
                return {"line": _append_once(handle, action.id, line)}
            finally:
                os.close(handle)
        except OSError as error:
            raise TryLaterError(f"{self.path}: {error.strerror or error}; let gamewarden write there") from error


def _opened(path: Path) -> int:
    make_directory(path.parent)
    try:
        return os.open(path, os.O_RDWR | os.O_APPEND)
    except FileNotFoundError:
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o640)
        sync_name(path)
        return handle


def _append_once(handle: int, key: str, line: bytes) -> int:
    """Write the line where no line has this key; the number of the line that has it."""
    fcntl.flock(handle, fcntl.LOCK_EX)  # let go of when the file is closed
    last, number, there, sought = b"", 0, False, key.encode()
    with os.fdopen(os.dup(handle), "rb") as lines:
        lines.seek(0)
        for last in lines:
            number += 1
            if there := sought in last and _key(last) == key:
                break
    torn = bool(last) and not last.endswith(b"\n")  # whoever wrote it died within the line
    _write(handle, (b"\n" if torn else b"") + (b"" if there else line))
    os.fsync(handle)  # also where the line is there: whoever wrote it may have died before it was on the disk
    return number if there else number + 1


def _write(handle: int, data: bytes) -> None:
    while data:
        data = data[os.write(handle, data) :]


def _key(line: bytes) -> str | None:
    """The key of a line; None of one that is torn, or not ours."""
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return value.get("key") if isinstance(value, dict) else None
