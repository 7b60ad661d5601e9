"""Logs that change while they are read: the rows must be those of the bytes a log is known by."""

import hashlib
from collections.abc import Iterator

from gamewarden.errors import ReadError


class Expected:
    """So many first bytes of a file with this digest, looked at as they pass; what was appended since is left out."""

    def __init__(self, name: str, size: int, digest: str) -> None:
        self.left = size
        self._name = name
        self._digest = digest
        self._running = hashlib.sha256()

    def take(self, data: bytes | memoryview) -> None:
        """The next bytes, no more than are left.

        Raises:
            ReadError: these were the last, and they are not the bytes the file is known by.
        """
        self._running.update(data)
        self.left -= len(data)
        if self.left == 0:
            self._compare()

    def end(self) -> None:
        """The file has no more bytes.

        Raises:
            ReadError: some are missing.
        """
        if self.left:
            raise moved(self._name)

    def _compare(self) -> None:
        if self._running.hexdigest() != self._digest:
            raise moved(self._name)

    def only(self, chunks: Iterator[bytes]) -> Iterator[bytes]:
        """The chunks up to where the file ended when its digest was taken.

        Raises:
            ReadError: they are not the bytes the file is known by.
        """
        for whole in chunks:
            chunk = whole[: self.left]
            self.take(chunk)
            yield chunk
            if not self.left:
                next(chunks, None)  # so that a packed file can still say that it ended early
                return
        self.end()


def moved(name: object) -> ReadError:
    """The one line for a log that became another one while it was read."""
    return ReadError(
        f"{name}: changed while it was read (cut short, overwritten or replaced, as when logs are rotated); nothing of "
        "it was taken in; read it again, and its rotated copy too"
    )
