"""An operator's own table: one row an account or character, with whatever columns the operator already has.

What a column holds, what cannot be true in it, and which columns name rows instead of describing them is decided once,
when a model is fitted, and frozen.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, ClassVar, Self

import polars as pl
import pyarrow as pa

from gamewarden.contracts import Divides, Progress, Side, Sight, Stream, StreamKind, no_progress, sight_of
from gamewarden.errors import MeasureError
from gamewarden.features.account_table.columns import TableColumn, understood
from gamewarden.features.account_table.identifiers import why_identifier
from gamewarden.features.account_table.siblings import names_of, with_siblings
from gamewarden.features.folding import Lines, OnePass
from gamewarden.features.plain import ANY_SIGHT, PlainFeature
from gamewarden.phrases import Phrase
from gamewarden.tables import TIME, DataType, FrameRows

_GROUP = "\x00group"  # no column of a file is called so
IMPOSSIBLE = "impossible"  # the column that says which values of a row cannot be true
_AN_IDENTIFIER = "it looks like an identifier: "


@dataclass(frozen=True)
class AccountTable(PlainFeature):
    """One row an actor: the numbers of an operator's own table."""

    actor: str = field(default="actor", metadata={"also": ("character",), "says": "Column that names the row."})
    group: str | None = field(
        default=None, metadata={"also": ("account",), "says": "Column of who is held out together; never fed."}
    )
    label: str | None = field(default=None, metadata={"also": ("verdict",), "says": "Column of who is a bot."})
    drop: tuple[str, ...] = field(default=(), metadata={"also": (("ip_count",),)})
    keep: tuple[str, ...] = field(default=(), metadata={"also": (("ticket",),)})
    columns: tuple[TableColumn, ...] | None = field(
        default=None, metadata={"also": ((TableColumn("Playtime", low=0.0, because="it lasts"),),)}
    )
    left_out: Mapping[str, str] = field(default_factory=dict, metadata={"also": ({"ticket": "it is not wanted"},)})
    siblings: bool = field(
        default=False,
        metadata={"says": "Also what the other rows of the same group have, never their labels."},
    )

    name: ClassVar[str] = "account-table"
    input: ClassVar[StreamKind] = "table"
    requires: ClassVar[tuple[str, ...]] = ()
    optional: ClassVar[Mapping[str, str]] = {}
    tied: ClassVar[tuple[Mapping[str, Any], ...]] = ({"group": "account", "siblings": True},)

    def __post_init__(self) -> None:
        """Check that siblings can be known.

        Raises:
            MeasureError: nothing says who belongs together, or a column has the name of a number of siblings.
        """
        if self.siblings and self.group is None:
            raise MeasureError("account-table: siblings need a column of who belongs together; name it with --group")
        taken = sorted(set(self.of_siblings) & set(self.own_names)) if self.siblings else []
        if taken:
            raise MeasureError(f"account-table: a column is called {taken[0]!r}, as a number of siblings; leave it out")

    @property
    def divides(self) -> Divides:
        """Row by row; a row that knows its siblings needs the whole table."""
        return Divides(None, actors=not self.siblings)

    @property
    def own_names(self) -> tuple[str, ...]:
        """The numbers of a row itself."""
        return tuple(name for column in self.columns or () for name in column.names)

    @property
    def numbers(self) -> tuple[str, ...]:
        """The columns that hold numbers, and so no word that may be the answer."""
        return tuple(column.names[0] for column in self.columns or () if column.kind == "number")

    @property
    def counting(self) -> tuple[str, ...]:
        """The numbers that count something, or last."""
        return tuple(column.names[0] for column in self.columns or () if column.kind == "number" and column.low == 0)

    @property
    def of_siblings(self) -> tuple[str, ...]:
        """The numbers of the other rows of its group, where they were asked for."""
        return names_of(self.own_names) if self.siblings else ()

    @property
    def schema(self) -> Mapping[str, DataType]:
        """The columns after actor, since, until and events."""
        return dict.fromkeys((*self.own_names, *self.of_siblings), pl.Float64) | {IMPOSSIBLE: pl.String}

    @property
    def odd_when(self) -> Mapping[str, Side]:  # type: ignore[override]  # known only once there is a table
        """The numbers whose names say on which side they look odd."""
        found = ((column.names[0], column.oddity) for column in self.columns or ())
        return {name: oddity[1] for name, oddity in found if oddity is not None}

    @property
    def phrases(self) -> Mapping[str, Phrase]:
        """Plain words, made of the names of the columns, by what they are about as far as the names tell."""
        topics = {column.names[0]: column.oddity[0] for column in self.columns or () if column.oddity is not None}
        plain = super().phrases
        return {name: replace(phrase, topic=topics.get(name, phrase.topic)) for name, phrase in plain.items()}

    @property
    def own_needs(self) -> tuple[str, ...]:
        """The columns of the table without which the frozen recipe is blind."""
        groups = (self.group,) if self.siblings and self.group is not None else ()
        return (self.actor, *groups, *(column.name for column in self.columns or ()))

    @property
    def day_lengths(self) -> dict[str, float]:
        """How long a day is in each number that is a time a day, in the number's own unit."""
        return {column.names[0]: column.day for column in self.columns or () if column.day is not None}

    @property
    def identifiers(self) -> tuple[str, ...]:
        """The columns that were left out because they look like identifiers."""
        return tuple(name for name, why in self.left_out.items() if why.startswith(_AN_IDENTIFIER))

    def learn(self, stream: Stream, progress: Progress = no_progress) -> Self:
        """The recipe with its columns: what each holds, and why some are left out.

        Raises:
            MeasureError: a column that was named is not there, or no column is left to learn from.
        """
        if self.columns is not None:
            return self
        table = sight_of(self.input, stream)
        names = table.columns or ()
        self._refuse_missing(names, table.name, (*self._names_of_rows, *self.drop, *self.keep))
        frame = whole(stream, names, progress).unique(self.actor, keep="first", maintain_order=True)
        groups = None if self.group is None else frame[self.group].cast(pl.String)
        columns, left_out = [], {}
        for name in names:
            found = self._look_at(frame[name], groups)
            if isinstance(found, TableColumn):
                columns.append(found)
            elif found:
                left_out[name] = found
        if not columns:
            raise MeasureError(f"account-table: {table.name} has no column to learn from ({_listed(left_out)})")
        return replace(self, columns=tuple(columns), left_out=left_out)

    def unlearned(self) -> Self:
        """The recipe before it looked at a table."""
        return replace(self, columns=None, left_out={})

    def fold(self, sight: Sight = ANY_SIGHT) -> "TableFold":
        """All rows of the table, one per actor.

        Raises:
            MeasureError: a column is missing.
        """
        if self.columns is not None and sight.columns is not None:
            self._refuse_missing(sight.columns, sight.name, self.own_needs)
        return TableFold(self, sight)

    def numbers_of(self, frame: pl.DataFrame, table: str) -> pl.DataFrame:
        """FEATURES without times: one row per actor, sorted by actor; a row that stands twice counts once.

        Raises:
            MeasureError: a row has no actor, or an actor has two rows that differ.
        """
        parts = [(column, *column.numbers(frame[column.name])) for column in self.columns or ()]
        told = [text.alias(str(place)) for place, (_, _, text) in enumerate(parts)]
        wrong = pl.DataFrame(told).select(pl.concat_str(pl.all(), separator="; ", ignore_nulls=True)).to_series()
        heads = [
            self._named(frame[self.actor], table),
            *(pl.Series(name, [None] * frame.height, dtype=TIME) for name in ("since", "until")),
            pl.Series("events", [None] * frame.height, dtype=pl.Int64),
        ]
        numbers = [series for _, found, _ in parts for series in found]
        said = pl.select(pl.when(wrong != "").then(wrong)).to_series().alias(IMPOSSIBLE)
        if not self.siblings or self.group is None:
            return _one_row_an_actor(pl.DataFrame([*heads, *numbers, said]), table)
        group = frame[self.group].cast(pl.String).alias(_GROUP)
        once = _one_row_an_actor(pl.DataFrame([*heads, *numbers, said, group]), table)
        among = with_siblings(once, once[_GROUP], self.own_names)
        return among.select(*(series.name for series in (*heads, *numbers)), *self.of_siblings, IMPOSSIBLE)

    def _named(self, actors: pl.Series, table: str) -> pl.Series:
        """Who each row is about."""
        if actors.dtype.is_nested() or actors.dtype in {pl.Binary, pl.Object}:
            raise MeasureError(f"{table}: column {self.actor} holds {actors.dtype}, and an actor is a name; write text")
        return actors.cast(pl.String).alias("actor")

    def remarks_on(self, measured: pl.DataFrame) -> tuple[str, ...]:
        """What of the values cannot be true, a line a column."""
        lines = []
        for column in self.columns or ():
            wrong = measured.filter(pl.col(IMPOSSIBLE).str.contains(f"{column.name} is ", literal=True))
            if wrong.height:
                because = f" ({column.because})" if column.because else " (it is no such number)"
                example = f"{wrong['actor'][0]}: {wrong[IMPOSSIBLE][0]}"
                rows = f"{wrong.height:,} row{'s' * (wrong.height > 1)}"
                lines.append(f"{column.name} cannot be true in {rows}{because} and counts as missing there; {example}")
        return tuple(lines)

    def to_dict(self) -> dict[str, Any]:
        """The recipe as JSON values."""
        values = {option.name: getattr(self, option.name) for option in fields(self)}
        columns = None if self.columns is None else [column.to_dict() for column in self.columns]
        lists = {name: list(values[name]) for name in ("drop", "keep")}
        written = {**values, **lists, "columns": columns, "left_out": dict(self.left_out)}
        # A recipe without them is written as before there were siblings, and its models keep their names.
        return written if self.siblings else {name: value for name, value in written.items() if name != "siblings"}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """The recipe back from JSON values.

        Raises:
            MeasureError: it is none.
        """
        known = {option.name for option in fields(cls)} - ({"siblings"} - set(values))
        wrong = set(values) != known or values.get("siblings", True) is not True
        if not isinstance(values.get("actor"), str) or wrong or not _are_lists(values):
            raise MeasureError("account-table: the recipe names no actor, or other options; fit the model again")
        columns = values["columns"]
        lists: dict[str, Any] = {name: tuple(values[name]) for name in ("drop", "keep")}
        found = None if columns is None else tuple(TableColumn.from_dict(column) for column in columns)
        return cls(**{**values, **lists, "columns": found})

    @property
    def _names_of_rows(self) -> tuple[str, ...]:
        """Columns that name a row or judge it, and so are never fed."""
        return tuple(name for name in (self.actor, self.group, self.label) if name is not None)

    def _look_at(self, column: pl.Series, groups: pl.Series | None) -> TableColumn | str:
        """The column as it will be used, why it is left out, or nothing to say."""
        if column.name in self._names_of_rows:
            return ""
        if column.name in self.drop:
            return "it was dropped by name"
        why = None if column.name in self.keep else why_identifier(column, groups)
        return understood(column) if why is None else _AN_IDENTIFIER + why

    @staticmethod
    def _refuse_missing(columns: tuple[str, ...], table: str, names: tuple[str, ...]) -> None:
        missing = [name for name in dict.fromkeys(names) if name not in columns]
        if missing:
            raise MeasureError(
                f"account-table: {table} has no column {', '.join(missing)}; it has {', '.join(columns)}"
            )


class TableFold(OnePass):
    """The rows of a table in memory; a recipe that has not learned its columns learns them from these rows."""

    def __init__(self, recipe: AccountTable, sight: Sight) -> None:
        fresh = recipe.columns is None and sight.columns is not None
        self.columns = tuple(dict.fromkeys(sight.columns or () if fresh else recipe.own_needs))
        self._recipe = recipe
        self._name = sight.name
        self._batches: list[pa.RecordBatch] = []
        self._measured: tuple[AccountTable, pl.DataFrame] | None = None

    def push(self, batch: pa.RecordBatch) -> None:
        """Keep the rows."""
        self._batches.append(batch)

    def frame(self) -> pl.DataFrame:
        """FEATURES without times."""
        return self._found()[1]

    def notes(self) -> Lines:
        """What of the values cannot be true."""
        recipe, frame = self._found()
        return Lines(recipe.remarks_on(frame))

    def _found(self) -> tuple[AccountTable, pl.DataFrame]:
        if self._measured is None:
            frame = _joined(self._batches, self.columns)
            recipe = self._recipe.learn(FrameRows(frame, self._name))
            self._measured = recipe, recipe.numbers_of(frame, self._name)
        return self._measured


def whole(rows: Stream, columns: list[str] | tuple[str, ...], progress: Progress = no_progress) -> pl.DataFrame:
    """These columns of a table, in memory."""
    batches = []
    for batch in rows.batches(columns):
        batches.append(batch)
        progress(batch.num_rows)
    return _joined(batches, columns)


def _joined(batches: Sequence[pa.RecordBatch], columns: Sequence[str]) -> pl.DataFrame:
    if not batches:
        return pl.DataFrame(schema=dict.fromkeys(columns, pl.String))
    return pl.DataFrame(pl.from_arrow(pa.Table.from_batches(batches)))


def _one_row_an_actor(measured: pl.DataFrame, source: str) -> pl.DataFrame:
    if measured["actor"].null_count():
        raise MeasureError(f"account-table: {source} has rows without an actor; every row needs one")
    once = measured.unique(maintain_order=True)
    twice = once.filter(pl.col("actor").is_duplicated())["actor"].sort()
    if len(twice):
        raise MeasureError(
            f"account-table: {source} has several rows of actor {twice[0]!r} that differ (so have "
            f"{twice.n_unique():,} actors); name a column that tells rows apart with --actor, or add the rows up"
        )
    return once.sort("actor")


def _are_lists(values: Mapping[str, Any]) -> bool:
    texts = all(isinstance(values[name], list) and all(map(_is_text, values[name])) for name in ("drop", "keep"))
    names = all(values[name] is None or _is_text(values[name]) for name in ("group", "label"))
    reasons = values["left_out"]
    said = isinstance(reasons, dict) and all(map(_is_text, (*reasons, *reasons.values())))
    columns = values["columns"]
    return texts and names and said and (columns is None or (isinstance(columns, list) and bool(columns)))


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _listed(reasons: Mapping[str, str]) -> str:
    return "; ".join(f"{name}: {why}" for name, why in reasons.items()) or "there is none beside those named"
