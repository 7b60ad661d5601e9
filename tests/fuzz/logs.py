"""Game logs: CSV, JSON Lines, and Parquet of every type a column can have."""

import datetime as dt
import decimal
import io
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from fuzz import values
from fuzz.case import Case, command, perhaps, shown
from fuzz.kit import Kit
from fuzz.mutate import Dice, Row, chance, csv_text, json_rows, odd_text, pack, spoil_bytes, spoil_rows

ACTORS = ("ann", "bob", "한글", "c 3")


def events(dice: Dice) -> list[Row]:
    """Some events as they should be."""
    start = dt.datetime(2026, 3, 1, 12, tzinfo=dt.UTC)
    optional = dice.sample(_OPTIONAL, dice.randrange(len(_OPTIONAL)))
    return [_event(dice, start, number, optional) for number in range(dice.choice((0, 1, 2, 5, 12, 12, 40)))]


_OPTIONAL = ("character", "seq", "zone", "x", "y", "level", "target", "item", "amount", "other", "session", "ip")
_MADE: dict[str, Callable[[Dice, int], Any]] = {
    "seq": lambda _dice, number: str(number),
    "x": lambda dice, _number: f"{dice.uniform(-9, 9):.2f}",
    "y": lambda dice, _number: f"{dice.uniform(-9, 9):.2f}",
    "level": lambda dice, _number: str(dice.randrange(1, 80)),
    "amount": lambda dice, _number: str(dice.randrange(-500, 500)),
    "ip": lambda dice, _number: f"192.0.2.{dice.randrange(255)}",
}


def _event(dice: Dice, start: dt.datetime, number: int, optional: list[str]) -> Row:
    at = start + dt.timedelta(seconds=number * dice.choice((1, 7, 60)))
    row: Row = {"actor": dice.choice(ACTORS), "at": at.isoformat(), "kind": dice.choice(values.KINDS)}
    for name in optional:
        row[name] = _MADE[name](dice, number) if name in _MADE else f"{name}{dice.randrange(3)}"
    return row


def csv(dice: Dice, kit: Kit) -> Case:
    """A log as delimited text."""
    text = csv_text(spoil_rows(events(dice), dice), dice)
    return _asked(dice, kit, "log.csv", _finished(text.encode("utf-8", "surrogatepass"), dice, "csv"))


def jsonl(dice: Dice, kit: Kit) -> Case:
    """A log as JSON Lines."""
    text = json_rows(spoil_rows(events(dice), dice), dice)
    return _asked(dice, kit, "log.jsonl", _finished(text.encode("utf-8", "surrogatepass"), dice, "jsonl"))


def parquet(dice: Dice, kit: Kit) -> Case:
    """A log as Parquet, with columns of any type."""
    data = parquet_bytes(spoil_rows(events(dice), dice), dice)
    if chance(dice, 0.35):
        data = spoil_bytes(data, dice, values.WORDS["parquet"])
    return _asked(dice, kit, "log.parquet", pack(data, dice) if chance(dice, 0.03) else data)


def _finished(data: bytes, dice: Dice, words: str) -> bytes:
    if chance(dice, 0.3):
        data = spoil_bytes(data, dice, values.WORDS[words])
    return pack(data, dice) if chance(dice, 0.12) else data


def _asked(dice: Dice, _kit: Kit, name: str, data: bytes) -> Case:
    words = command(
        dice,
        (40, f"lint {name}"),
        (25, f"read {name} --to lake"),
        (4, f"read {name} {name} --to lake --keep-truncated"),
        (6, f"measure activity {name}"),
        (4, f"measure self-similarity {name} --min-windows 1 --min-events 1 --min-active 1"),
        (4, f"measure actions {name} --min-actions 1"),
        (4, f"measure account-table {name} --actor actor"),
        (1, f"rank {name} --models {{kit}}/kept --probability 0"),
        (1, f"score {name} --models {{kit}}/shelf"),
        (1, f"judge {name} --models {{kit}}/kept"),
        (1, f"explain ann {name} --models {{kit}}/kept"),
        (1, f"explain ACTOR {name} --models {{kit}}/kept"),
    )
    words = [odd_text(dice) if word == "ACTOR" else word for word in words]
    zone = perhaps(
        dice, 0.1, "--zone", dice.choice(("Asia/Seoul", "UTC", "localtime", "Factory", "posix/UTC", "../x", ""))
    )
    loose = perhaps(dice, 0.3, "--max-bad-share", dice.choice(("1", "0.5", "0", "nan")))
    return Case([*words, *zone, *loose, *shown(dice)], {name: data})


# Parquet by types: what a column of texts becomes, where it can.

_MICRO = dt.datetime(2026, 3, 1, tzinfo=dt.UTC)


def parquet_bytes(rows: list[Row], dice: Dice) -> bytes:
    """Rows as a Parquet file in which each column has some type."""
    names = list(rows[0]) if rows else ["actor", "at", "kind"]
    columns = [_typed([row.get(name) for row in rows], name, dice) for name in names]
    options = {
        "compression": dice.choice(("snappy", "zstd", "none", "gzip")),
        "row_group_size": dice.choice((1, 5, 1000)),
    }
    options |= {"use_dictionary": chance(dice, 0.5), "version": dice.choice(("1.0", "2.6"))}
    try:
        return _parquet(names, columns, options)
    except pa.ArrowException:  # a time that this version of the format cannot say
        return _parquet(names, [_as_text([row.get(name) for row in rows], dice) for name in names], options)


def _parquet(names: list[str], columns: list[pa.Array], options: dict[str, Any]) -> bytes:
    out = io.BytesIO()
    pq.write_table(
        pa.table(columns, names=[name.encode("utf-8", "replace").decode() for name in names]), out, **options
    )
    return out.getvalue()


def _typed(cells: list[Any], name: str, dice: Dice) -> pa.Array:
    usual = _as_time if name in {"at", "since", "until", "from"} else _as_text
    way = usual if chance(dice, 0.7) else dice.choice(_WAYS)
    try:
        return way(cells, dice)
    except (pa.ArrowException, ValueError, TypeError, OverflowError):
        return _as_text(cells, dice)


def _as_text(cells: list[Any], dice: Dice) -> pa.Array:
    texts = [None if cell is None else str(cell).encode("utf-8", "replace").decode() for cell in cells]
    kind = dice.choice((pa.string(), pa.string(), pa.large_string(), pa.string_view(), "dictionary"))
    return pa.array(texts).dictionary_encode() if kind == "dictionary" else pa.array(texts, kind)


def _as_time(cells: list[Any], dice: Dice) -> pa.Array:
    unit = dice.choice(("us", "us", "ms", "ns", "s"))
    zone = dice.choice(("UTC", "UTC", None, "Asia/Seoul", "+05:30"))
    step = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[unit]
    ticks = [int(_MICRO.timestamp()) * step + number * step for number in range(len(cells))]
    if chance(dice, 0.15) and ticks:
        ticks[dice.randrange(len(ticks))] = dice.choice((2**63 - 1, -(2**63), 2**62, 0, -1, 10**17))
    return pa.array(ticks, pa.int64()).cast(pa.timestamp(unit, zone))


def _as_date(cells: list[Any], dice: Dice) -> pa.Array:
    if chance(dice, 0.5):
        return pa.array([dice.choice((20_000, 0, -1, 2**31 - 1, -(2**31), 3_000_000)) for _ in cells], pa.int32()).cast(
            pa.date32()
        )
    days = [dice.choice((20_000, 0, -1, 10**11, -(10**11))) * 86_400_000 for _ in cells]
    return pa.array(days, pa.int64()).cast(pa.date64(), safe=False)


def _as_integer(cells: list[Any], dice: Dice) -> pa.Array:
    kind = dice.choice((pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint32(), pa.uint64()))
    top = 2 ** (kind.bit_width - 1) - 1
    return pa.array([dice.choice((0, 1, 7, top, number)) for number, _ in enumerate(cells)], kind)


def _as_float(cells: list[Any], dice: Dice) -> pa.Array:
    odd = (0.0, -0.0, 1.5, float("nan"), float("inf"), float("-inf"), 1e308, 1772366400.0)
    return pa.array([dice.choice(odd) for _ in cells], dice.choice((pa.float64(), pa.float32())))


def _as_decimal(cells: list[Any], dice: Dice) -> pa.Array:
    kind = dice.choice((pa.decimal128(38, 5), pa.decimal128(9, 2), pa.decimal256(76, 10), pa.decimal256(40, 0)))
    return pa.array([decimal.Decimal(dice.choice(("1", "-1.5", "12345", "0"))) for _ in cells], kind)


def _as_duration(cells: list[Any], dice: Dice) -> pa.Array:
    return pa.array([dice.choice((0, 1, -1, 2**62)) for _ in cells], pa.int64()).cast(
        pa.duration(dice.choice(("s", "ms", "us", "ns")))
    )


def _as_clock(cells: list[Any], dice: Dice) -> pa.Array:
    kind = dice.choice((pa.time32("s"), pa.time32("ms"), pa.time64("us"), pa.time64("ns")))
    small = pa.int32() if kind.bit_width == 32 else pa.int64()
    return pa.array([dice.choice((0, 1, 86_399, -1, 2**31 - 1)) for _ in cells], small).cast(kind)


def _as_bytes(cells: list[Any], dice: Dice) -> pa.Array:
    odd = (b"", b"x", b"\xff\xfe", b"\x00", b"ann", b"\xed\xa0\x80")
    kind = dice.choice((pa.binary(), pa.large_binary(), pa.binary(3)))
    return pa.array([dice.choice(odd).ljust(3)[:3] if kind == pa.binary(3) else dice.choice(odd) for _ in cells], kind)


def _as_nested(cells: list[Any], dice: Dice) -> pa.Array:
    made = dice.choice(([1, 2], [], {"a": 1}, {"a": {"b": [None]}}, [[1], [2]], [{"a": None}]))
    return pa.array([made for _ in cells] or [made])[: len(cells)]


def _as_map(cells: list[Any], _dice: Dice) -> pa.Array:
    return pa.array([[("a", 1)] for _ in cells], pa.map_(pa.string(), pa.int64()))


def _as_nothing(cells: list[Any], dice: Dice) -> pa.Array:
    return dice.choice(
        (pa.nulls(len(cells)), pa.nulls(len(cells), pa.string()), pa.array([chance(dice, 0.5) for _ in cells]))
    )


def _as_coded(cells: list[Any], dice: Dice) -> pa.Array:
    inner = dice.choice((_as_integer, _as_float, _as_bytes, _as_date, _as_time))(cells, dice)
    return inner.dictionary_encode()


_WAYS = (
    *(
        _as_text,
        _as_time,
        _as_date,
        _as_integer,
        _as_float,
        _as_decimal,
        _as_duration,
        _as_clock,
        _as_bytes,
        _as_nested,
    ),
    *(_as_map, _as_nothing, _as_coded),
)
