"""A Delta log beside a lake's manifest: so that other systems read a lake as a table, without asking us.

The manifest stays the truth. The log follows it after every change, and whoever writes next catches up on what a crash
left out. It is there for readers: what another system writes into it is taken out again by the next commit.
"""

import json
import re
import uuid
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from gamewarden.core.files import make_directory, write_text
from gamewarden.errors import ReadError
from gamewarden.store.lake_parts import COMPACT
from gamewarden.store.manifest import Manifest, Part
from gamewarden.tables import TEXT_COLUMNS

DIRECTORY = "_delta_log"
_COMMIT = re.compile(r"\d{20}\.json")
_READER, _WRITER = 1, 2  # the oldest versions of the protocol that have all this needs
_TYPES = {
    pa.timestamp("us", "UTC"): "timestamp",
    pa.int64(): "long",
    pa.int32(): "integer",
    pa.int16(): "short",
    pa.float32(): "float",
    pa.float64(): "double",
}

Action = Mapping[str, Any]


def is_kept(directory: Path) -> bool:
    """Whether a lake has a Delta log."""
    return (directory / DIRECTORY).is_dir()


def begin(directory: Path, manifest: Manifest) -> int:
    """Keep a Delta log from now on; the number of its last commit.

    Raises:
        ReadError: there is a log, and it is damaged.
        WriteError: it cannot be written.
    """
    make_directory(directory / DIRECTORY)
    return follow(directory, manifest) or 0


def follow(directory: Path, manifest: Manifest) -> int | None:
    """Let the Delta log say what the manifest says, where there is one; the number of its last commit.

    Raises:
        ReadError: the log is damaged.
        WriteError: it cannot be written.
    """
    if not is_kept(directory):
        return None
    commits = _commits(directory / DIRECTORY)
    live = _live(commits)
    parts = {part.file: part for part in manifest.parts}
    actions = [
        *([] if commits else _head()),
        *(_remove(path) for path in sorted(live - parts.keys())),
        *(_add(parts[path], directory) for path in sorted(parts.keys() - live)),
    ]
    last = int(commits[-1].stem) if commits else -1
    if not actions:
        return last
    write_text(directory / DIRECTORY / f"{last + 1:020}.json", "".join(map(_line, actions)))
    return last + 1


def _commits(log: Path) -> list[Path]:
    return sorted(path for path in log.iterdir() if _COMMIT.fullmatch(path.name))


def _live(commits: Iterable[Path]) -> set[str]:
    """The files that count after these commits."""
    live: set[str] = set()
    for path in commits:
        for is_added, file in _moves(path):
            (live.add if is_added else live.discard)(file)
    return live


def _moves(path: Path) -> list[tuple[bool, str]]:
    """The files that a commit adds (True) and removes, in its order."""
    try:
        actions = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        return [(name == "add", str(one[name]["path"])) for one in actions for name in ("add", "remove") if name in one]
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise ReadError(
            f"{path}: is no commit of a Delta log ({error}); remove {path.parent.name} and begin it anew"
        ) from error


def _head() -> list[Action]:
    """What a log begins with: the version of the protocol, and the columns of the table."""
    fields = [{"name": name, "type": _type_of(name), "nullable": True, "metadata": {}} for name in COMPACT.names]
    day = {"name": "day", "type": "date", "nullable": True, "metadata": {}}
    schema = {"type": "struct", "fields": [*fields, day]}
    table = {
        "id": str(uuid.uuid4()),
        "format": {"provider": "parquet", "options": {}},
        "schemaString": json.dumps(schema),
        "partitionColumns": ["day"],
        "configuration": {},
    }
    return [{"protocol": {"minReaderVersion": _READER, "minWriterVersion": _WRITER}}, {"metaData": table}]


def _type_of(name: str) -> str:
    return "string" if name in TEXT_COLUMNS else _TYPES[COMPACT.field(name).type]


def _add(part: Part, directory: Path) -> Action:
    said = {
        "path": part.file,
        "partitionValues": {"day": part.day},
        "size": (directory / part.file).stat().st_size,
        "modificationTime": part.last // 1000,  # the same whenever it is written
        "dataChange": True,
        "stats": json.dumps({"numRecords": part.rows}),
    }
    return {"add": said}


def _remove(path: str) -> Action:
    return {"remove": {"path": path, "dataChange": True}}


def _line(action: Action) -> str:
    return json.dumps(action, separators=(",", ":")) + "\n"
