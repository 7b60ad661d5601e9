"""What drivers of databases hand over, as columns of few types."""

from collections.abc import Sequence
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any

import polars as pl

LARGEST = (1 << 63) - 1  # whole number of a column


def series_of(name: str, values: Sequence[Any], encoding: str = "") -> pl.Series:
    """A column: whole numbers, numbers, moments without a zone, or text."""
    kinds = {type(value) for value in values if value is not None}
    if kinds <= {int, bool}:
        if all(value is None or -LARGEST <= value <= LARGEST for value in values):
            return pl.Series(name, [None if value is None else int(value) for value in values], dtype=pl.Int64)
    elif kinds <= {int, bool, float, Decimal}:
        return pl.Series(name, [None if value is None else float(value) for value in values], dtype=pl.Float64)
    elif kinds == {datetime} and all(value is None or value.tzinfo is None for value in values):
        return pl.Series(name, values, dtype=pl.Datetime("us"))
    return pl.Series(name, [_text(value, encoding) for value in values], dtype=pl.String)


def _text(value: Any, encoding: str) -> str | None:  # noqa: ANN401  whatever a driver gives
    if value is None:
        return None
    if isinstance(value, bytes | bytearray | memoryview):
        return bytes(value).decode(encoding or "utf-8", errors="replace")
    if isinstance(value, datetime | date):
        return value.isoformat(" ") if isinstance(value, datetime) else value.isoformat()
    return str(int(value.total_seconds())) if isinstance(value, timedelta) else str(value)
