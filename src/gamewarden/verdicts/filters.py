"""Conditions on a list of accounts as people write them: level>=50, customer_grade=GOLD, zone in Dion,Giran."""

import re
from dataclasses import dataclass
from datetime import UTC, datetime

import polars as pl

from gamewarden.errors import ConfigError
from gamewarden.tables import TIME

_WRITTEN = re.compile(
    r"\s*(?P<column>[^\s<>=!]+)\s*(?:(?P<sign><=|>=|!=|==|=|<|>)|\s(?P<word>in)\s)\s*(?P<value>.*?)\s*"
)
_ORDERED = frozenset({"<", "<=", ">", ">="})
_TRUTH = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}


@dataclass(frozen=True)
class Filter:
    """One condition on one column."""

    column: str
    operator: str  # = != < <= > >= in
    values: tuple[str, ...]  # one, or several for `in`

    def __str__(self) -> str:
        return f"{self.column} {self.operator} {','.join(self.values)}"


def parse_filter(text: str) -> Filter:
    """A condition from what was typed.

    Raises:
        ConfigError: it is not a column, an operator and a value.
    """
    match = _WRITTEN.fullmatch(text)
    several = match["value"].strip("()").split(",") if match and match["word"] else [match["value"]] if match else []
    values = tuple(value.strip() for value in several if value.strip())
    if match is None or not values:
        raise ConfigError(
            f"filter {text!r} is not a column, an operator (= != < <= > >= in) and a value; "
            "write for example level>=50 or customer_grade in GOLD,SILVER"
        )
    return Filter(match["column"], match["word"] or match["sign"].replace("==", "="), values)


def apply_filters(table: pl.DataFrame, filters: tuple[Filter, ...]) -> pl.DataFrame:
    """The rows for which every condition holds.

    What is not known satisfies no condition but !=: an account of unknown grade is not known to be GOLD.

    Raises:
        ConfigError: there is no such column, or the value or operator does not fit it.
    """
    for condition in filters:
        table = table.filter(_expression(condition, table.schema))
    return table


def _expression(condition: Filter, schema: pl.Schema) -> pl.Expr:
    if condition.column not in schema:
        raise ConfigError(
            f"filter {str(condition)!r}: there is no column {condition.column!r}; there are {', '.join(schema)}"
        )
    dtype = schema[condition.column]
    if condition.operator in _ORDERED and not (dtype.is_numeric() or dtype.is_temporal()):
        raise ConfigError(f"filter {str(condition)!r}: {condition.column} has no order; use =, != or in")
    # Numbers are compared as written: level<49.5 holds for 49.
    kind = pl.Float64() if dtype.is_numeric() else dtype
    values = pl.Series([_value(condition, text, dtype) for text in condition.values], dtype=kind)
    column, first = pl.col(condition.column).cast(kind), pl.lit(values[0], dtype=kind)
    match condition.operator:
        case "in" | "=":
            return column.is_in(values.implode()).fill_null(False)
        case "!=":
            return column.ne_missing(first)
        case "<":
            return column < first
        case "<=":
            return column <= first
        case ">":
            return column > first
        case _:
            return column >= first


def _value(condition: Filter, text: str, dtype: pl.DataType) -> object:
    """The text as the column's kind of value."""
    try:
        if dtype.is_numeric():
            return float(text)
        if dtype == pl.Boolean:
            return _TRUTH[text.lower()]
        if dtype == TIME:
            moment = datetime.fromisoformat(text)
            return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    except (ValueError, KeyError) as error:
        kind = "a number" if dtype.is_numeric() else "true or false" if dtype == pl.Boolean else "an ISO 8601 time"
        raise ConfigError(
            f"filter {str(condition)!r}: {text!r} is not {kind}, which {condition.column} holds"
        ) from error
    return text


def range_filters(column: str, text: str | None) -> tuple[Filter, ...]:
    """Filters for FROM, FROM:TO or :TO.

    Raises:
        ConfigError: a border is not a number.
    """
    if text is None:
        return ()
    first, _, last = text.partition(":")
    for border in filter(None, (first, last)):
        if not border.replace(".", "", 1).isdigit():
            raise ConfigError(f"{column}: {text!r} is not FROM, FROM:TO or :TO in numbers")
    wanted = ((">=", first), ("<=", last))
    return tuple(parse_filter(f"{column}{sign}{border}") for sign, border in wanted if border)
