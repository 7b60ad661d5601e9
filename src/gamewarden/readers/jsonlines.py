"""JSON Lines: one object a line, numbers kept as they were written."""

import json
from collections.abc import Callable, Iterator, Sequence
from itertools import count
from typing import Any

import numpy as np
import polars as pl

from gamewarden.errors import ReadError
from gamewarden.readers.conform import ROW
from gamewarden.readers.packed import Unpacked
from gamewarden.readers.tally import Tally

LONGEST_ROW = 4 << 20
_BLOCK = 1 << 20
_NOT_JSON = "line is not JSON"
_NOT_OBJECT = "line is not a JSON object"
_NOT_UTF8 = "line is not UTF-8"
_NESTED = "is nested"

# Numbers stay text: an id keeps its digits and a time keeps its microseconds. NaN and Infinity are no JSON: null.
_decode: Callable[[str], Any] = json.JSONDecoder(
    parse_float=str, parse_int=str, parse_constant=lambda _name: None
).decode


def first_object(line: bytes) -> dict[str, Any] | None:
    """The object on one line, if there is one."""
    value = _parse(line)
    return value if isinstance(value, dict) else None


def read_rows(stream: Unpacked, wanted: Sequence[str], tally: Tally) -> Iterator[pl.DataFrame]:
    """ROW and the wanted keys as text, a block of lines at a time.

    Raises:
        ReadError: a line is absurdly long, or the bytes under the lines cannot be read.
    """
    row = count()
    for block in _blocks(stream):
        lines = [line for line in block.split(b"\n") if line.strip()]
        objects, places = _objects(lines, row, tally)
        if objects:
            columns = [pl.Series(name, _texts(objects, name, places, tally), dtype=pl.String) for name in wanted]
            yield pl.DataFrame([*columns, pl.Series(ROW, np.array(places, dtype=np.uint64))])


def _blocks(stream: Unpacked) -> Iterator[bytes]:
    tail = b""
    while chunk := stream.read(_BLOCK):
        head, newline, rest = chunk.rpartition(b"\n")
        if newline:
            yield tail + head
            tail = rest
        else:
            tail += chunk
        if len(tail) > LONGEST_ROW:
            raise ReadError(f"{stream.path}: a line is longer than {LONGEST_ROW >> 20} MiB; is this one object a line?")
    yield tail


def _objects(lines: list[bytes], row: Iterator[int], tally: Tally) -> tuple[list[dict[str, Any]], list[int]]:
    objects, places = [], []
    for line in lines:
        place = next(row)
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
    values = [each.get(name) for each in objects]
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
