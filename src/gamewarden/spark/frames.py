"""A frame of Spark as EVENTS: its columns looked at before a job starts, and given the types that folds expect."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from pyspark.sql import functions

from gamewarden.errors import TableError
from gamewarden.tables import EVENTS

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

AT, MICROS = "at", "unix_micros(at)"
_WHOLE = ("byte", "short", "integer", "long")
_TEXT = ("string", "varchar", "char", *_WHOLE)  # many games number their accounts
_TIMES = ("timestamp", "timestamp_ntz")
_NUMBERS = (*_WHOLE, "float", "double", "decimal")
_NOTHING = "void"  # a column of nothing but null, and no type
# By the type of EVENTS: what may stand there, and as what it travels.
_TAKEN = {
    "String": (_TEXT, "string"),
    "Int64": (_WHOLE, "bigint"),
    "Int16": (_WHOLE, "bigint"),  # made small where a number that does not fit can be said
    "Float32": (_NUMBERS, "float"),
    "Float64": (_NUMBERS, "double"),
}
# A time without a zone is one of UTC, whatever zone the session has; nothing that a clock does in it may matter.
_AS_UTC = (
    "make_timestamp(year(at), month(at), day(at), hour(at), minute(at), cast(extract(SECOND FROM at) AS decimal(8,6)),"
    " 'UTC')"
)


@dataclass(frozen=True)
class Events:
    """EVENTS of a frame: those columns that it has."""

    frame: "DataFrame"
    columns: tuple[str, ...]

    def select(self, columns: tuple[str, ...], **more: "Column") -> "DataFrame":
        """Some of the columns, and others made of them."""
        return self.frame.select(*columns, *(column.alias(name) for name, column in more.items()))


def events_of(df: object, door: str) -> Events:
    """EVENTS of a frame; `door` says who asks.

    Raises:
        TableError: it is none, lacks a column, or has one of a type that it cannot be.
    """
    frame = _frame(df, door)
    types = {field.name: field.dataType.typeName() for field in frame.schema.fields if field.name in EVENTS.columns}
    _refuse(frame, types, door)
    there = [name for name in EVENTS.columns if types.get(name, _NOTHING) != _NOTHING]
    return Events(frame.select(*(_column(name, types[name]) for name in there)), tuple(there))


def _frame(df: object, door: str) -> "DataFrame":
    if not hasattr(df, "mapInArrow"):
        raise TableError(f"{door}: {type(df).__name__} is no DataFrame of Spark; `spark.read` gives one")
    frame = cast("DataFrame", df)  # of a session of this process, or of one elsewhere
    if frame.isStreaming:
        raise TableError(f"{door}: the frame is a stream without end; give a table, and use `gamewarden watch` live")
    return frame


def _refuse(frame: "DataFrame", types: dict[str, str], door: str) -> None:
    """Stop over columns from which no job can come."""
    if missing := [name for name in EVENTS.required if name not in types]:
        has = ", ".join(frame.columns) or "no columns"
        raise TableError(f"{door}: EVENTS lacks {', '.join(missing)}; the frame has {has}: rename them")
    if twice := [name for name in types if frame.columns.count(name) > 1]:
        raise TableError(f"{door}: the frame has {twice[0]} more than once; give one of them another name")
    for name, found in types.items():
        taken = _taken(name)
        if found not in taken and not (found == _NOTHING and name not in EVENTS.required):
            raise TableError(f"{door}: EVENTS.{name} is {found}; it must be {_listed(taken)}")


def _taken(name: str) -> tuple[str, ...]:
    return _TIMES if name == AT else _TAKEN[str(EVENTS.columns[name])][0]


def _listed(types: tuple[str, ...]) -> str:
    return f"{', '.join(types[:-1])} or {types[-1]}"


def _column(name: str, found: str) -> "Column":
    if name != AT:
        return functions.col(name).cast(_TAKEN[str(EVENTS.columns[name])][1]).alias(name)
    return (functions.expr(_AS_UTC) if found == "timestamp_ntz" else functions.col(AT)).alias(AT)
