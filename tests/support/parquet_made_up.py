"""Parquet columns of every type and of values that no calendar and no number holds."""

from decimal import Decimal

import numpy as np
import pyarrow as pa

_HIGHEST, _LOWEST = 2**63 - 1, -(2**63)
_ROWS = 3


def odd_columns() -> dict[str, pa.Array]:
    """Three rows of each type that a stranger's file may have, by a name for a test."""
    return {**_moments(), **_lengths(), **_numbers(), **_bytes(), **_nested(), **_dressed()}


def _moments() -> dict[str, pa.Array]:
    days = {f"date32 {day}": _as(day, pa.int32(), pa.date32()) for day in (2**31 - 1, -(2**31), 3_000_000, 0)}
    old = {f"date64 {ms}": _as(ms, pa.int64(), pa.date64()) for ms in (_HIGHEST, _LOWEST, 2**53, 0)}
    stamps = {
        f"timestamp {unit} {zone} {value}": _as(value, pa.int64(), pa.timestamp(unit, zone))
        for unit in ("ms", "us", "ns")  # Parquet has no seconds
        for zone in (None, "UTC", "+05:30", "Nowhere/Land", "localtime")
        for value in (_HIGHEST, _LOWEST, 2**53, 0)
    }
    return {**days, **old, **stamps}


def _lengths() -> dict[str, pa.Array]:
    durations = {
        f"duration {unit} {value}": _as(value, pa.int64(), pa.duration(unit))
        for unit in ("s", "ms", "us", "ns")
        for value in (_HIGHEST, _LOWEST, 5)
    }
    short = {f"time32 {ms}": _as(ms, pa.int32(), pa.time32("ms")) for ms in (2**31 - 1, -1, 5)}
    long = {f"time64 {ns}": _as(ns, pa.int64(), pa.time64("ns")) for ns in (_HIGHEST, -1, 5)}
    return {**durations, **short, **long}


def _numbers() -> dict[str, pa.Array]:
    wide = (pa.decimal128(38, 38), pa.decimal128(38, 0), pa.decimal256(76, 0), pa.decimal256(76, 76))
    decimals = {str(dtype): pa.array([Decimal(0), None, Decimal(0)], dtype) for dtype in wide}
    return {
        **decimals,
        "decimal256": pa.array([Decimal(10) ** 60] * _ROWS, pa.decimal256(76, 3)),
        "float16": pa.array(np.array([1, np.nan, np.inf], np.float16)),
        "float64": pa.array(np.array([1e308, np.nan, -np.inf])),
        "uint64": pa.array([2**64 - 1] * _ROWS, pa.uint64()),
        "bool": pa.array([True, None, False]),
        "null": pa.nulls(_ROWS),
    }


def _bytes() -> dict[str, pa.Array]:
    return {
        "binary": pa.array([b"a", b"\xff", b""]),
        "binary of three": pa.array([b"abc", b"\xff\0\0", None], pa.binary(3)),
        "binary view": pa.array([b"a", b"\xff", b""], pa.binary_view()),
        "string view": pa.array(["a", "", None], pa.string_view()),
        "string that is none": pa.array([b"a\xff", b"b", b"c"]).view(pa.string()),
    }


def _nested() -> dict[str, pa.Array]:
    far = pa.array([2**31 - 1] * _ROWS, pa.int32()).view(pa.date32())
    return {
        "list": pa.array([[1], [], None]),
        "large list": pa.array([[1], [], None], pa.large_list(pa.int64())),
        "list of two": pa.array([[1, 2], [3, 4], None], pa.list_(pa.int64(), 2)),
        "list view": pa.array([[1], [], None], pa.list_view(pa.int64())),
        "list of far days": pa.ListArray.from_arrays([0, 1, 2, 3], far),
        "list of decimal256": pa.array([[Decimal(1)]] * _ROWS, pa.list_(pa.decimal256(50, 0))),
        "map": pa.array([[("a", 1)], [], None], pa.map_(pa.string(), pa.int64())),
        "struct": pa.array([{"a": [{"b": 1}]}, {"a": []}, None]),
    }


def _dressed() -> dict[str, pa.Array]:
    far = pa.array([2**31 - 1] * _ROWS, pa.int32()).view(pa.date32())
    return {
        "dictionary": pa.array(["a", "b", None]).dictionary_encode(),
        "dictionary of far days": far.dictionary_encode(),
        "dictionary of decimal256": pa.array([Decimal(1)] * _ROWS, pa.decimal256(50, 1)).dictionary_encode(),
        "dictionary of bytes": pa.array([b"\xff"] * _ROWS).dictionary_encode(),
        "uuid": pa.ExtensionArray.from_storage(pa.uuid(), pa.array([b"0" * 16] * _ROWS, pa.binary(16))),
        "json": pa.ExtensionArray.from_storage(pa.json_(), pa.array(["{}"] * _ROWS)),
        "bool8": pa.ExtensionArray.from_storage(pa.bool8(), pa.array([1, 0, 5], pa.int8())),
    }


def _as(value: int, held: pa.DataType, dtype: pa.DataType) -> pa.Array:
    return pa.array([value, None, value], held).view(dtype)
