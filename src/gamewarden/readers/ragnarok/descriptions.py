"""What tables say of client messages: the ids and their parts, the names of characters."""

from collections.abc import Sequence
from pathlib import Path

import polars as pl

from gamewarden.errors import ReadError
from gamewarden.readers.logs.operator_tables import read_table
from gamewarden.readers.ragnarok.messages import message_table
from gamewarden.tables import Table

NAME_COLUMNS = ("character", "name")


def character_names(path: Path) -> dict[str, str]:
    """Character id -> name, from a table `character,name`.

    Raises:
        ReadError: it cannot be read, or lacks a column.
    """
    frame = read_table(path)
    if missing := [name for name in NAME_COLUMNS if name not in frame.columns]:
        raise ReadError(f"{path}: lacks {', '.join(missing)}; a table of names has {', '.join(NAME_COLUMNS)}")
    texts = frame.select(pl.col(NAME_COLUMNS).cast(pl.String)).drop_nulls()
    return dict(texts.iter_rows())


def describe_table(paths: Sequence[Path], version: int | None = None, client: str | None = None) -> Table:
    """What a message table says, or several on top of each other: one row an id, up to a version.

    For headers of today's servers the version is a client's date, and `client` its kind.

    Raises:
        ReadError: it cannot be read, or is none.
        ConfigError: it has no such version, or lacks one.
    """
    db = message_table(paths, version, client)
    rows = [
        {
            "id": f"0x{entry.id:04x}",
            "length": entry.length,
            "function": entry.function,
            "parts": " ".join(f"{name}@{place}" for name, place in entry.fields.items())
            or ":".join(str(place) for place in entry.positions if place)
            or None,
            "version": entry.version,
        }
        for entry in db.entries.values()
    ]
    schema = {"id": pl.String, "length": pl.Int32, "function": pl.String, "parts": pl.String, "version": pl.Int32}
    return Table(pl.DataFrame(rows, schema=schema), tuple(db.lines()))
