"""Players who are idle sleep here: their state lies on disk, and is taken up again when they send again.

The file belongs to a state, and a crash may leave it one snapshot ahead of it. Therefore it keeps, until the next
snapshot, what the last one changed, and takes that back when the state does not know of it. Without a state it is a
temporary file.
"""

import secrets
import sqlite3
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Self
from zlib import crc32

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from gamewarden.core.files import make_directory, unwritable
from gamewarden.errors import ReadError, WriteError
from gamewarden.features.traffic.kernel import PLAYER, Small, mark

NOTES = ("asleep_file", "asleep_snapshot")  # which file a state's sleepers are in, and which of its snapshots
_OURS = 0x47574153  # marks the file, so that no other is taken for it
_BITS = 16  # of the filter a sleeper; more than one in a thousand is then looked for in vain only after many came back
_FEWEST_BITS, _MOST_BITS = (
    1 << 16,
    1 << 27,
)  # of the filter: 8 KiB, and 16 MiB, with which it gets coarser and no larger
_CACHE_KIB = 8192  # of the file, in memory
_LONGEST_LOG = 64 << 20  # bytes of the write-ahead log that stay on disk between two snapshots
_SEAL = 4  # bytes behind a record: damage is noticed
_AT_ONCE = 1 << 14
_TABLES = """
CREATE TABLE asleep (name BLOB PRIMARY KEY, at INTEGER NOT NULL, record BLOB NOT NULL) WITHOUT ROWID;
CREATE INDEX by_time ON asleep (at);
CREATE TABLE before (name BLOB PRIMARY KEY, at INTEGER, record BLOB) WITHOUT ROWID;
CREATE TABLE snapshot (file INTEGER NOT NULL, number INTEGER NOT NULL);
"""


class Asleep:
    """Sleeping players in a file that is made when the first one falls asleep."""

    def __init__(self, path: Path | None, idle: int) -> None:
        """With a `path` the file outlives the process; without one it is temporary."""
        self.idle = idle
        self.path = path
        self.filter: NDArray[np.uint64] = np.zeros(_FEWEST_BITS // 64, np.uint64)
        self._marked = 0  # names in the filter, those who came back since too
        self._count = 0
        self._file: sqlite3.Connection | None = None
        self._named = 0
        self._number = 0
        self._changed = False

    @classmethod
    def of(cls, state: Path | None, idle: int, note: Mapping[str, Any], asleep: int) -> Self:
        """The sleepers that a state with this note knows, of which there are so many.

        Raises:
            ReadError: the file is not there, is damaged, or is of another state.
            WriteError: the file cannot be written, or another watch is writing to it.
        """
        self = cls(None if state is None else state.with_name(f"{state.name}.asleep"), idle)
        known = [note.get(name) for name in NOTES]
        if self.path is None:
            self._refuse_lost(asleep)
        elif known == [None, None]:
            self._remove()  # what a crash before the first snapshot left, or a state that is no more
            self._refuse_lost(asleep)
        else:
            self._resume(self.path, known, asleep)
        return self

    @property
    def nbytes(self) -> int:
        """The memory that sleepers take: the filter."""
        return self.filter.nbytes

    def lay(self, names: pa.Array, records: NDArray[np.void]) -> None:
        """Let these sleep."""
        file = self._opened()
        texts = names.cast(pa.binary()).to_pylist()
        times = records["at"].tolist()
        rows = sorted(
            (name, at, _sealed(name, record.tobytes())) for name, at, record in zip(texts, times, records, strict=True)
        )
        with self._told():
            self._remember(file, [(name, None, None) for name, _, _ in rows])
            file.executemany("INSERT OR REPLACE INTO asleep VALUES (?, ?, ?)", rows)
        self._count += len(rows)
        self._mark([name for name, _, _ in rows])
        self._changed = True

    def wake(self, names: pa.Array) -> tuple[Small, NDArray[np.void]]:
        """Which of these names slept, and their records; they do so no more."""
        file = self._opened()
        found: list[int] = []
        rows: list[tuple[bytes, int, bytes]] = []
        with self._told():
            for at, name in enumerate(names.cast(pa.binary()).to_pylist()):
                row = file.execute("SELECT name, at, record FROM asleep WHERE name = ?", (name,)).fetchone()
                if row is not None:
                    found.append(at)
                    rows.append(row)
            if rows:
                self._remember(file, rows)
                file.executemany("DELETE FROM asleep WHERE name = ?", [(name,) for name, _, _ in rows])
                self._changed = True
        self._count -= len(rows)
        records = b"".join(self._unsealed(name, record) for name, _, record in rows)
        return np.array(found, np.int32), np.frombuffer(bytearray(records), PLAYER)

    def forget(self, before: int) -> int:
        """Let go of those whose last packet was before this time; how many there were."""
        if self._file is None:
            return 0
        with self._told():
            if self._file.execute("SELECT 1 FROM asleep WHERE at < ? LIMIT 1", (before,)).fetchone() is None:
                return 0
            if self.path is not None:
                self._file.execute(
                    "INSERT OR IGNORE INTO before SELECT name, at, record FROM asleep WHERE at < ?", (before,)
                )
            gone = self._file.execute("DELETE FROM asleep WHERE at < ?", (before,)).rowcount
        self._count -= gone
        self._changed = True
        return gone

    def save(self) -> dict[str, int]:
        """From here on it can go on with a state that has this note, and, until saved again, with the one before it.

        Raises:
            WriteError: it cannot be written.
        """
        if self._file is None or self.path is None:
            return {}
        if self._changed:
            with self._told():
                self._number += 1
                self._file.execute("UPDATE snapshot SET number = ?", (self._number,))
                self._file.execute("COMMIT")
                self._begin(self._file)
        return dict(zip(NOTES, (self._named, self._number), strict=True))

    def close(self) -> None:
        """Let go of the file, of a temporary one for ever."""
        if self._file is not None:
            self._file.close()
            self._file = None
            if self.path is None:
                self._folder.cleanup()

    def _remember(self, file: sqlite3.Connection, rows: Sequence[tuple[bytes, int | None, bytes | None]]) -> None:
        """What these names were at the last snapshot, unless that is known."""
        if self.path is not None:
            file.executemany("INSERT OR IGNORE INTO before VALUES (?, ?, ?)", rows)

    def _opened(self) -> sqlite3.Connection:
        """The file, made if it is not there."""
        if self._file is None:
            self._file = self._made()
        return self._file

    def _made(self) -> sqlite3.Connection:
        path = self.path
        if path is None:
            self._folder = tempfile.TemporaryDirectory(prefix="gamewarden-", ignore_cleanup_errors=True)
            path = Path(self._folder.name) / "asleep"
        self._named = secrets.randbits(62)
        with self._told():
            try:
                make_directory(path.parent)
            except OSError as error:
                raise unwritable(path, error) from error
            file = self._connected(path)
            file.execute(f"PRAGMA application_id = {_OURS}")
            file.executescript(_TABLES)
            file.execute("INSERT INTO snapshot VALUES (?, 0)", (self._named,))
            self._begin(file)
        return file

    def _connected(self, path: Path) -> sqlite3.Connection:
        file = sqlite3.connect(path, isolation_level=None, timeout=0, check_same_thread=False)
        kept = self.path is not None
        for setting in (
            "locking_mode = EXCLUSIVE",  # nobody else has it meanwhile, and no memory is shared
            f"journal_mode = {'WAL' if kept else 'OFF'}",
            f"synchronous = {'FULL' if kept else 'OFF'}",
            f"cache_size = -{_CACHE_KIB}",
            f"journal_size_limit = {_LONGEST_LOG}",
            "mmap_size = 0",
        ):
            file.execute(f"PRAGMA {setting}")
        return file

    def _begin(self, file: sqlite3.Connection) -> None:
        """All until the next snapshot is one transaction: it is there, or it is not."""
        file.execute("BEGIN IMMEDIATE")
        file.execute("DELETE FROM before")
        self._changed = False

    def _resume(self, path: Path, known: list[Any], asleep: int) -> None:
        if not path.is_file():
            raise ReadError(f"{path}: is not there, but the state's sleepers are in it; {_REMEDY}")
        with self._told():
            file = self._file = self._connected(path)
            ours = file.execute("PRAGMA application_id").fetchone() == (_OURS,)
            said = file.execute("SELECT file, number FROM snapshot").fetchone() if ours else None
            if said is None or known not in ([said[0], said[1]], [said[0], said[1] - 1]):
                raise ReadError(f"{path}: these are not the sleepers that the state was made with; {_REMEDY}")
            self._named, self._number = known
            file.execute("BEGIN IMMEDIATE")
            if said[1] != self._number:
                _take_back(file, self._number)
            file.execute("COMMIT")
            self._begin(file)
            self._sift(file)
        if self._count != asleep:
            raise ReadError(f"{path}: {self._count:,} players sleep in it, but the state knows {asleep:,}; {_REMEDY}")

    def _refuse_lost(self, asleep: int) -> None:
        if asleep:
            raise ReadError(f"the state knows {asleep:,} players who sleep, but not where; {_REMEDY}")

    def _remove(self) -> None:
        """What is no state's any more."""
        if self.path is None or not self.path.exists():
            return
        with self._told():
            file = self._connected(self.path)
            (application,) = file.execute("PRAGMA application_id").fetchone()
            # A process killed while it makes the file leaves an empty database without the mark.
            empty = not application and file.execute("SELECT 1 FROM sqlite_master").fetchone() is None
            ours = application == _OURS or empty
            file.close()
        if not ours:
            raise WriteError(f"{self.path}: it is no file of sleepers; move it away or name another state")
        for beside in ("", "-wal", "-shm"):
            self.path.with_name(self.path.name + beside).unlink(missing_ok=True)

    def _mark(self, names: Sequence[bytes]) -> None:
        """Let the filter have these names, or make it anew when it is full of those who came back."""
        self._marked += len(names)
        full = 64 * len(self.filter) * 2 // _BITS
        if self._marked > full and (self._marked > 2 * self._count or 64 * len(self.filter) < _MOST_BITS):
            self._sift(self._opened())
        else:
            _mark_in(self.filter, names)

    def _sift(self, file: sqlite3.Connection) -> None:
        """The filter anew, of those who sleep."""
        ((self._count,),) = file.execute("SELECT count(*) FROM asleep").fetchall()
        bits = 1 << (_BITS * self._count).bit_length()
        self.filter = np.zeros(min(max(bits, _FEWEST_BITS), _MOST_BITS) // 64, np.uint64)
        self._marked = self._count
        for names in _in_parts(file.execute("SELECT name FROM asleep")):
            _mark_in(self.filter, names)

    def _unsealed(self, name: bytes, record: bytes) -> bytes:
        if len(record) != PLAYER.itemsize + _SEAL or _sealed(name, record[:-_SEAL]) != record:
            raise ReadError(f"{self.path}: a sleeper's record is damaged; {_REMEDY}")
        return record[:-_SEAL]

    @contextmanager
    def _told(self) -> Iterator[None]:
        """What SQLite refuses, in one line."""
        try:
            yield
        except sqlite3.OperationalError as error:
            if "locked" in str(error):
                raise WriteError(f"{self.path}: another watch is writing to it; stop that one") from error
            raise WriteError(f"{self.path}: cannot be written ({error}); make room, or name another state") from error
        except sqlite3.DatabaseError as error:
            raise ReadError(f"{self.path}: the file of sleepers is damaged ({error}); {_REMEDY}") from error

    def __del__(self) -> None:
        with suppress(sqlite3.Error, AttributeError):
            self.close()


_REMEDY = "restore both from one time, or remove the state to start anew"


def _take_back(file: sqlite3.Connection, number: int) -> None:
    """The state does not know of the last snapshot: all is as it was before it."""
    file.execute("DELETE FROM asleep WHERE name IN (SELECT name FROM before)")
    file.execute("INSERT INTO asleep SELECT * FROM before WHERE at IS NOT NULL")
    file.execute("UPDATE snapshot SET number = ?", (number,))


def _sealed(name: bytes, record: bytes) -> bytes:
    return record + crc32(record, crc32(name)).to_bytes(_SEAL, "little")


def _in_parts(rows: sqlite3.Cursor) -> Iterator[list[bytes]]:
    while part := rows.fetchmany(_AT_ONCE):
        yield [name for (name,) in part]


def _mark_in(asleep: NDArray[np.uint64], names: Sequence[bytes]) -> None:
    starts = np.zeros(len(names) + 1, np.int64)
    np.cumsum([len(name) for name in names], out=starts[1:])
    mark(asleep, starts, np.frombuffer(b"".join(names) or b"\0", np.uint8))
