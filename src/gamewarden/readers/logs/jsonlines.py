"""JSON Lines: one object a line, numbers kept as they were written.

Blocks of lines that are all alike go through Arrow's parser; a block that surprises it is read again line by line,
slower, so that only the lines at fault are lost.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json

from gamewarden.errors import ReadError
from gamewarden.readers.compression import Unpacked
from gamewarden.readers.logs.columns import at_path
from gamewarden.readers.logs.normalize import ROW
from gamewarden.readers.logs.paths import steps, value_at
from gamewarden.readers.row_report import Tally

LONGEST_ROW = 4 << 20
_BLOCK = 1 << 20
_SAMPLE = 100  # lines
_NOT_JSON = "line is not JSON"
_NOT_OBJECT = "line is not a JSON object"
_NOT_UTF8 = "line is not UTF-8"
_NESTED = "is nested"
_BETWEEN = re.compile(rb"\}[ \t\r]*\n[ \t]*\{")
# A line that lacks most of a table's keys costs memory for each of them: so many values for a byte, beyond the first.
_VALUES_A_BYTE = 16
_FEW_VALUES = 10_000_000

# Numbers stay text: an id keeps its digits and a time keeps its microseconds.
_decode: Callable[[str], Any] = json.JSONDecoder(parse_float=str, parse_int=str, parse_constant=str).decode


def first_object(line: bytes) -> dict[str, Any] | None:
    """The object on one line, if there is one."""
    value = _parse(line)
    return value if isinstance(value, dict) else None


def read_rows(
    stream: Unpacked, wanted: Sequence[str], tally: Tally, exact: Mapping[str, pa.DataType] | None = None
) -> Iterator[pl.DataFrame]:
    """ROW and the wanted keys, a block of lines at a time: as text, or as the type in `exact` that loses nothing.

    Raises:
        ReadError: a line is absurdly long, or the bytes under the lines cannot be read.
    """
    row, schema, values, read = 0, None, 0, 0
    for block in blocks(stream, "is this one object a line?"):
        lines = block.count(b"\n") + 1
        found = None if schema is None else _alike(block, lines, schema)
        if found is not None:
            yield found.with_columns(_rows(range(row, row + lines)))
            row += lines
            continue
        written = [line for line in block.split(b"\n") if line.strip()]
        objects, places = _objects(written, row, tally)
        row += len(written)
        values, read = values + len(objects) * len(wanted), read + len(block)
        if values > _FEW_VALUES + _VALUES_A_BYTE * read:
            raise ReadError(
                f"{stream.path}: of its {len(wanted):,} keys nearly all are missing in most lines; write the same keys "
                "in every line, or a log's events"
            )
        schema = None if exact is None else _sampled(block, wanted, exact)
        if objects:
            columns = [pl.Series(name, _texts(objects, name, places, tally), dtype=pl.String) for name in wanted]
            yield pl.DataFrame([*columns, _rows(places)])


def parsed(block: bytes, schema: pa.Schema) -> pa.Table | None:
    """The lines of a block, if every one is an object of this schema as Arrow reads it; keys beside it are left out."""
    table = _read_alike(block, block.count(b"\n") + 1, schema)
    return None if table is None else table.select(schema.names)


def line_by_line(block: bytes, row: int, wanted: Sequence[str], tally: Tally) -> pl.DataFrame:
    """ROW and the wanted keys of a block's lines as text; lines that are no objects are counted as bad."""
    written = [line for line in block.split(b"\n") if line.strip()]
    objects, places = _objects(written, row, tally)
    columns = [pl.Series(name, _texts(objects, name, places, tally), dtype=pl.String) for name in wanted]
    return pl.DataFrame([*columns, _rows(places)])


def _read_json(block: bytes, schema: pa.Schema) -> pa.Table:
    return pyarrow.json.read_json(
        pa.BufferReader(block),
        pyarrow.json.ReadOptions(use_threads=False, block_size=len(block) + 1),
        pyarrow.json.ParseOptions(explicit_schema=schema, unexpected_field_behavior="ignore"),
    )


def _rows(places: Sequence[int]) -> pl.Series:
    return pl.Series(ROW, np.array(places, dtype=np.int64))


def _alike(block: bytes, lines: int, schema: pa.Schema) -> pl.DataFrame | None:
    """The wanted keys as Arrow reads the block, if every line is an object of this schema."""
    table = _read_alike(block, lines, schema)
    return None if table is None else _flat(table, schema)


def _read_alike(block: bytes, lines: int, schema: pa.Schema) -> pa.Table | None:
    """The block as Arrow reads it, if every line is an object of this schema."""
    if not _looks_alike(block):
        return None
    try:
        block.decode()
        table = _read_json(block, schema)
    except (UnicodeDecodeError, pa.ArrowException):
        return None
    return table if table.num_rows == lines else None


def _flat(table: pa.Table, schema: pa.Schema) -> pl.DataFrame:
    """The wanted keys, those that are paths from the end of their path."""
    paths = [name for name in schema.names if steps(name)]
    if not paths:
        return pl.DataFrame(pl.from_arrow(table.select(schema.names)))
    found = {name: table.column(name) for name in schema.names if not pa.types.is_struct(schema.field(name).type)}
    for name in paths:
        found[name] = pc.coalesce(found[name], at_path(table, name))
    return pl.DataFrame(pl.from_arrow(pa.table(found)))


def _looks_alike(block: bytes) -> bool:
    """Whether every line begins and ends as an object does.

    Arrow dies of a block whose first value is null, takes null elsewhere for an object without keys, and does not
    mind where lines end.
    """
    block = block.strip(b" \t\r")
    if not (block.startswith(b"{") and block.endswith(b"}")):
        return False
    signs = np.frombuffer(block, dtype=np.uint8)
    breaks = np.flatnonzero(signs == ord("\n"))
    closed = signs[breaks - 1]
    if (closed == ord("\r")).all():
        closed = signs[breaks - 2]
    plainly = (closed == ord("}")).all() and (signs[breaks + 1] == ord("{")).all()
    return bool(plainly) or len(_BETWEEN.findall(block)) == len(breaks)


def _sampled(block: bytes, wanted: Sequence[str], exact: Mapping[str, pa.DataType]) -> pa.Schema | None:
    """What the first lines of a block let us expect of the next; nothing where a path below a wanted key is wanted."""
    numbers: set[str] = set()
    for line in block.split(b"\n", _SAMPLE)[:_SAMPLE]:
        with suppress(ValueError, RecursionError):
            value = json.loads(line)
            numbers |= {
                key for key in wanted if isinstance(value, dict) and isinstance(value_at(value, key), int | float)
            }
    types = {key: exact.get(key, pa.int64()) if key in numbers else pa.string() for key in wanted}
    below = _below(types)
    return None if below is None or below.keys() & types.keys() else pa.schema({**types, **below})


def _below(types: Mapping[str, pa.DataType]) -> dict[str, pa.DataType] | None:
    """The structs in which all paths end; None where one path ends within another."""
    tree: dict[str, Any] = {}
    for name, dtype in types.items():
        *above, last = steps(name) or ("",)
        branch = tree
        for key in above:
            branch = branch.setdefault(key, {})
            if not isinstance(branch, dict):
                return None
        if above and branch.setdefault(last, dtype) is not dtype:
            return None
    return {key: _struct(branch) for key, branch in tree.items()}


def _struct(branch: Mapping[str, Any]) -> pa.DataType:
    return pa.struct([(key, _struct(one) if isinstance(one, dict) else one) for key, one in branch.items()])


def blocks(stream: Unpacked, doubt: str) -> Iterator[bytes]:
    """Whole lines, many at a time.

    Raises:
        ReadError: a line is absurdly long, which makes one ask whether they are lines at all.
    """
    tail = b""
    while chunk := stream.read(_BLOCK):
        head, newline, rest = chunk.rpartition(b"\n")
        if newline:
            yield (tail + head).rstrip(b"\r\n")
            tail = rest
        else:
            tail += chunk
        if len(tail) > LONGEST_ROW:
            raise ReadError(f"{stream.path}: a line is longer than {LONGEST_ROW >> 20} MiB; {doubt}")
    if tail.strip():
        yield tail


def _objects(lines: list[bytes], row: int, tally: Tally) -> tuple[list[dict[str, Any]], list[int]]:
    objects, places = [], []
    for place, line in enumerate(lines, row):
        value = _parse(line)
        if isinstance(value, dict):
            objects.append(value)
            places.append(place)
        else:
            tally.rows += 1
            tally.add("bad", value if isinstance(value, str) else _NOT_OBJECT, 1, place + 1, line[:80])
    return objects, places


def _parse(line: bytes) -> object:
    try:
        value = _decode(line.decode("utf-8-sig"))
        if b"\\u" in line:
            json.dumps(value, ensure_ascii=False).encode()  # half of a surrogate pair is no character
    except UnicodeError:
        return _NOT_UTF8
    except (ValueError, RecursionError):
        return _NOT_JSON
    return value if isinstance(value, dict) else None


def _texts(objects: list[dict[str, Any]], name: str, places: list[int], tally: Tally) -> list[str | None]:
    look = value_at if steps(name) else dict.get
    values: list[Any] = [look(each, name) for each in objects]
    if all(value is None or isinstance(value, str) for value in values):
        return values
    return [_text(value, name, place, tally) for value, place in zip(values, places, strict=True)]


def _text(value: object, name: str, place: int, tally: Tally) -> str | None:
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    tally.add("nulled", f"{name} {_NESTED}", 1, place + 1, value)
    return None
