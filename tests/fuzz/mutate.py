"""How right things are spoiled: bytes, packing, text, JSON and rows of a table, each by the throw of a die."""

import copy
import gzip
import json
import random
import re
import zlib
from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from fuzz import values

Dice = random.Random
Row = dict[str, Any]
_LENGTHS = (0, 1, 3, 4, 7, 8, 16, 31, 255, 256, 4095, 65_535, 65_536, 2**31 - 1, 2**31, 2**32 - 4, 2**32 - 1)
_ENCODINGS = ("utf-16", "utf-16-le", "utf-32", "utf-8-sig", "cp949", "latin-1", "cp1252")
_ZSTD = pa.Codec("zstd")
_BOMBS: dict[str, bytes] = {}


class Raw(str):
    """JSON or TOML that stands as it is, right or not."""

    __slots__ = ()


def chance(dice: Dice, share: float) -> bool:
    """Whether it happens."""
    return dice.random() < share


# Bytes


def spoil_bytes(data: bytes, dice: Dice, words: Sequence[bytes]) -> bytes:
    """A few bytes changed, put in, taken away or moved."""
    out = bytearray(data)
    for _ in range(dice.choice((1, 1, 1, 2, 3, 8))):
        dice.choice(_BYTE_WAYS)(out, dice, words)
    return bytes(out)


def _place(out: bytearray, dice: Dice) -> int:
    """Anywhere, and often near an end, where headers and footers are."""
    size = len(out)
    return min(dice.choice((dice.randrange(size + 1), dice.randrange(64), size - dice.randrange(64))), size) % (
        size + 1
    )


def _flip(out: bytearray, dice: Dice, _words: Sequence[bytes]) -> None:
    if (place := _place(out, dice)) < len(out):
        out[place] ^= 1 << dice.randrange(8)


def _set(out: bytearray, dice: Dice, _words: Sequence[bytes]) -> None:
    out[(place := _place(out, dice)) : place + 1] = bytes([dice.randrange(256)])


def _length(out: bytearray, dice: Dice, _words: Sequence[bytes]) -> None:
    place, size = _place(out, dice), dice.choice((2, 4, 4, 8))
    value = dice.choice(_LENGTHS) % 2 ** (8 * size)
    out[place : place + size] = value.to_bytes(size, dice.choice(("little", "big")))


def _insert(out: bytearray, dice: Dice, words: Sequence[bytes]) -> None:
    out[(place := _place(out, dice)) : place] = dice.choice(words) * dice.choice((1, 1, 1, 2, 40))


def _overwrite(out: bytearray, dice: Dice, words: Sequence[bytes]) -> None:
    word = dice.choice(words)
    out[(place := _place(out, dice)) : place + len(word)] = word


def _delete(out: bytearray, dice: Dice, _words: Sequence[bytes]) -> None:
    del out[(place := _place(out, dice)) : place + dice.choice((1, 1, 2, 4, 16, 80))]


def _cut(out: bytearray, dice: Dice, _words: Sequence[bytes]) -> None:
    del out[_place(out, dice) :]


def _repeat(out: bytearray, dice: Dice, _words: Sequence[bytes]) -> None:
    start = _place(out, dice)
    out[(place := _place(out, dice)) : place] = out[start : start + dice.choice((4, 16, 80, 400))] * dice.choice(
        (1, 2, 30)
    )


_BYTE_WAYS = (_flip, _flip, _set, _length, _insert, _insert, _overwrite, _delete, _cut, _repeat)


# Packing


def pack(data: bytes, dice: Dice) -> bytes:
    """The bytes gzipped, in zstd, in another alphabet, and perhaps not whole."""
    return dice.choice(_PACKINGS)(data, dice)


def _gzip(data: bytes, _dice: Dice) -> bytes:
    return gzip.compress(data, 1, mtime=0)


def _zstd(data: bytes, _dice: Dice) -> bytes:
    return _ZSTD.compress(data, asbytes=True)


def _cut_pack(data: bytes, dice: Dice) -> bytes:
    packed = dice.choice((_gzip, _zstd))(data, dice)
    return packed[: dice.randrange(len(packed))]


def _spoilt_pack(data: bytes, dice: Dice) -> bytes:
    return spoil_bytes(dice.choice((_gzip, _zstd))(data, dice), dice, (b"\x1f\x8b\x08", b"\x28\xb5\x2f\xfd", b"\0"))


def _members(data: bytes, dice: Dice) -> bytes:
    middle = dice.randrange(len(data) + 1)
    empty = _gzip(b"", dice) * dice.choice((0, 1, 300))
    return _gzip(data[:middle], dice) + empty + _gzip(data[middle:], dice)


def _trailing(data: bytes, dice: Dice) -> bytes:
    return _gzip(data, dice) + dice.choice((b"\0" * 20, b"junk", b"\x1f\x8b", data))


def _bomb(data: bytes, dice: Dice) -> bytes:
    kind = dice.choice(("x", "\n", ",", "\0", '"', "["))
    if kind not in _BOMBS:
        _BOMBS[kind] = gzip.compress(kind.encode() * (1 << 21), mtime=0)
    return dice.choice((_gzip(data, dice), b"")) + _BOMBS[kind]


def _twice(data: bytes, dice: Dice) -> bytes:
    return _gzip(_gzip(data, dice), dice)


def _deflate(data: bytes, _dice: Dice) -> bytes:
    return zlib.compress(data)


def _other_alphabet(data: bytes, dice: Dice) -> bytes:
    return data.decode("utf-8", "replace").encode(dice.choice(_ENCODINGS), "replace")


_PACKINGS = (
    *(_gzip, _zstd, _cut_pack, _spoilt_pack, _members, _trailing, _twice, _deflate),
    *(_other_alphabet, _other_alphabet, _bomb),
)


# Texts and tables


def odd_text(dice: Dice) -> str:
    """A text as somebody hostile would write it."""
    one = dice.choice(values.TEXTS)
    return one if len(one) < 1000 or chance(dice, 0.1) else one[:50]


def odd_value(dice: Dice) -> str:
    """Anything that can stand in a cell."""
    return dice.choice((odd_text, _number, _time))(dice)


def _number(dice: Dice) -> str:
    return dice.choice(values.NUMBERS)


def _time(dice: Dice) -> str:
    return dice.choice(values.TIMES)


def spoil_rows(rows: list[Row], dice: Dice) -> list[Row]:
    """Rows of a table with cells, columns and rows that are not as they were."""
    rows = [dict(row) for row in rows]
    for _ in range(dice.choice((0, 0, 1, 1, 1, 2, 4))):
        if rows:
            dice.choice(_ROW_WAYS)(rows, dice)
    return rows


def _column(rows: list[Row], dice: Dice) -> str:
    return dice.choice(list(rows[0]) or ["actor"])


def _odd_cell(rows: list[Row], dice: Dice) -> None:
    dice.choice(rows)[_column(rows, dice)] = odd_value(dice)


def _odd_column(rows: list[Row], dice: Dice) -> None:
    name = _column(rows, dice)
    for row in rows:
        row[name] = odd_value(dice)


def _time_cell(rows: list[Row], dice: Dice) -> None:
    dice.choice(rows)["at" if "at" in rows[0] else _column(rows, dice)] = _time(dice)


def _same_column(rows: list[Row], dice: Dice) -> None:
    name, value = _column(rows, dice), odd_value(dice)
    for row in rows:
        row[name] = value


def _drop_column(rows: list[Row], dice: Dice) -> None:
    name = _column(rows, dice)
    for row in rows:
        row.pop(name, None)


def _rename_column(rows: list[Row], dice: Dice) -> None:
    old, new = _column(rows, dice), dice.choice((*rows[0], odd_text(dice), "at", "bot", "actor"))
    rows[:] = [{new if name == old else name: value for name, value in row.items()} for row in rows]


def _more_columns(rows: list[Row], dice: Dice) -> None:
    for number in range(dice.choice((1, 1, 1, 3, 3, 60))):
        value = odd_value(dice)
        for row in rows:
            row[f"more{number}"] = value


def _reorder(rows: list[Row], dice: Dice) -> None:
    names = list(rows[0])
    dice.shuffle(names)
    rows[:] = [{name: row[name] for name in names if name in row} for row in rows]


def _drop_row(rows: list[Row], dice: Dice) -> None:
    del rows[dice.randrange(len(rows)) :]


def _double_rows(rows: list[Row], dice: Dice) -> None:
    rows += [dict(row) for row in rows[: dice.randrange(len(rows)) + 1]] * dice.choice((1, 1, 5))


def _shuffle_rows(rows: list[Row], dice: Dice) -> None:
    dice.shuffle(rows)


_ROW_WAYS = (
    *(_odd_cell, _odd_cell, _odd_cell, _time_cell, _odd_column, _same_column, _drop_column, _rename_column),
    *(_more_columns, _reorder, _drop_row, _double_rows, _shuffle_rows),
)


def csv_text(rows: list[Row], dice: Dice) -> str:
    """Rows as delimited text, written in one of the ways that people write it."""
    delimiter, end = dice.choice(",,,,,,,,,;\t|"), dice.choice(("\n",) * 8 + ("\r\n", "\r\n", "\r"))
    always = chance(dice, 0.15)
    names = list(rows[0]) if rows else ["actor", "at", "kind"]
    lines = [names, *([row.get(name, "") for name in names] for row in rows)]
    if chance(dice, 0.05):
        _tear(lines, dice)
    text = end.join(delimiter.join(_quoted(cell, delimiter, always=always) for cell in line) for line in lines)
    before = dice.choice(("",) * 16 + ("\ufeff", "\ufeff", "\n" * 50, "# a remark\n", "\x00"))
    return before + text + dice.choice((end, end, "", end * 3))


def _tear(lines: list[list[Any]], dice: Dice) -> None:
    """Lines with too many or too few cells."""
    line = dice.choice(lines)
    if chance(dice, 0.5):
        line += ["more"] * dice.choice((1, 2, 500))
    else:
        del line[dice.randrange(len(line) + 1) :]


def _quoted(cell: object, delimiter: str, *, always: bool) -> str:
    text = "" if cell is None else str(cell)
    if always or any(sign in text for sign in (delimiter, '"', "\n", "\r")):
        return '"' + text.replace('"', '""') + '"'
    return text


def json_rows(rows: list[Row], dice: Dice) -> str:
    """Rows as JSON Lines; some lines are something else."""
    numbers = chance(dice, 0.4)
    lines = [json_text({name: _as_json(value, dice, numbers=numbers) for name, value in row.items()}) for row in rows]
    for _ in range(dice.choice((0, 0, 0, 1, 2))):
        lines.insert(dice.randrange(len(lines) + 1), dice.choice(_ODD_LINES))
    if chance(dice, 0.05):
        return "[" + ",".join(lines) + "]"
    return dice.choice(("", "", "", "\ufeff", "\n\n")) + "\n".join(lines) + dice.choice(("\n", "\n", "\n", "", " "))


_ODD_LINES = (
    *("null", "true", "1", '"x"', "[]", "[{}]", "{}", "", " ", "{", "}", '{"actor":', "[" * 500, '{"a":' * 300, "NaN"),
    *('{"actor":null,"at":null,"kind":null}', '{"actor":"a","actor":"b"}', '{"":""}', '{"actor":"\\ud800"}', "{}{}"),
    *(
        '{"actor":{"actor":1}}',
        '{"at":[1,2]}',
        '{"at":1e999}',
        '{"at":' + "9" * 400 + "}",
        '{"kind":"\\u0000"}',
        "null null",
    ),
)


def _as_json(value: object, dice: Dice, *, numbers: bool) -> object:
    if chance(dice, 0.02):
        return copy.copy(dice.choice(values.JSON))
    if numbers and isinstance(value, str) and re.fullmatch(r"-?[0-9.]+(e[0-9]+)?|NaN|-?Infinity|true", value):
        return Raw(value)
    return value


# JSON


def json_text(value: object, **options: Any) -> str:
    """JSON in which a Raw stands as it is."""
    found: list[str] = []

    def marked(part: Any) -> Any:
        match part:
            case Raw():
                found.append(str(part))
                return f"\ue000{len(found) - 1}\ue001"
            case dict():
                return {name: marked(inner) for name, inner in part.items()}
            case list():
                return [marked(inner) for inner in part]
        return part

    text = json.dumps(marked(value), **options)
    return re.sub(r'"\\ue000(\d+)\\ue001"', lambda at: found[int(at[1])], text) if found else text


def spoil_json(value: Any, dice: Dice) -> Any:
    """JSON with some of its parts exchanged, dropped, doubled or put elsewhere; what was given is changed."""
    for _ in range(dice.choice((1, 1, 1, 2, 4))):
        _spoil_place(value, dice)
    return value


def _spoil_place(out: Any, dice: Dice) -> None:
    holder, key = _way_down(out, dice)
    if holder is None:
        return
    match dice.randrange(8):
        case 0:
            del holder[key]
        case 1 if isinstance(holder, dict):
            holder[dice.choice(("more", "", *(str(name) for name in holder)))] = holder[key]
        case 1:
            holder[key:key] = [copy.deepcopy(holder[key])] * dice.choice((1, 2, 50))
        case 2:
            holder[key] = [holder[key]]
        case 3 if isinstance(holder[key], bool | int | float):
            holder[key] = dice.choice((-holder[key], holder[key] * 10**6, str(holder[key]), holder[key] + 1))
        case _:
            holder[key] = copy.deepcopy(dice.choice(values.JSON))


def _way_down(out: Any, dice: Dice) -> tuple[Any, Any]:
    """A random place: what holds it, and its key or number."""
    holder, key, now = None, None, out
    while isinstance(now, dict | list) and now:
        if holder is not None and chance(dice, 0.25):
            break
        holder = now
        key = dice.choice(list(now)) if isinstance(now, dict) else dice.randrange(len(now))
        now = now[key]
    return holder, key


# TOML


def toml_text(tree: dict[str, Any]) -> str:
    """Sections of settings as TOML; a Raw stands as it is."""
    loose = [f"{_key(name)} = {_toml(value)}" for name, value in tree.items() if not isinstance(value, dict)]
    parts = [[f"[{_key(name)}]", *_settings(part)] for name, part in tree.items() if isinstance(part, dict)]
    return "\n".join([*loose, *(line for part in parts for line in part)]) + "\n"


def _settings(part: dict[str, Any]) -> list[str]:
    return [f"{_key(name)} = {_toml(value)}" for name, value in part.items()]


def _key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else json.dumps(name)


def _toml(value: Any) -> str:
    match value:
        case Raw():
            return str(value)
        case dict():
            return "{" + ", ".join(_settings(value)) + "}"
        case list():
            return "[" + ", ".join(map(_toml, value)) + "]"
        case str():
            return json.dumps(value)
    return str(value).lower()


def odd_toml(dice: Dice) -> Raw:
    """A value of any type that TOML has, or nearly has."""
    return Raw(dice.choice(_TOML_VALUES)) if chance(dice, 0.6) else Raw(json.dumps(odd_value(dice)))


_TOML_VALUES = (
    *(
        "nan",
        "inf",
        "-inf",
        "-nan",
        "0",
        "-1",
        "1",
        "2",
        "0.5",
        "-0.0",
        "1e400",
        "1e308",
        "5e-324",
        "9223372036854775807",
    ),
    *(
        "9223372036854775808",
        "9" * 5000,
        "0xff",
        "0b1",
        "1_0",
        "true",
        "false",
        '""',
        '"x"',
        '"\\u0000"',
        '"\\u001b[31m"',
    ),
    *(
        "[]",
        "[1]",
        '["a"]',
        "[[]]",
        "{}",
        "{a=1}",
        "1979-05-27",
        "1979-05-27T07:32:00Z",
        "07:32:00",
        "'''x'''",
        '"1d"',
        '"0s"',
    ),
    *(
        '"-1d"',
        '"1e9d"',
        '"99999999999999d"',
        '"localtime"',
        '"Factory"',
        '"posix/UTC"',
        '"Europe/Berlin"',
        '"UTC"',
        "[" * 400,
    ),
    *("{a=" * 300, "", "01", "+5", '"given"', '"learned"', '"fisher"', '"spearman"', '"lower"', '"allowed"'),
)
