"""One actor's windows, one by one: what a person looks at to believe a self-similarity."""

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from gamewarden.contracts import EventStream, Sight, sight_of
from gamewarden.core.clock import Clock
from gamewarden.core.durations import MINUTE
from gamewarden.errors import MeasureError
from gamewarden.features.folding import whole
from gamewarden.features.self_similarity.recipe import OTHER
from gamewarden.features.self_similarity.spans import OTHER_SESSION, Ints, session_kind, session_spans, union
from gamewarden.tables import TIME, DataType

if TYPE_CHECKING:
    from gamewarden.features.self_similarity.recipe import SelfSimilarity

_SILENCE = 30 * MINUTE  # a longer silence ends a run of activity
_ROW: dict[str, DataType] = {
    "slot": pl.Int32,
    "at": pl.Int64,
    "seq": pl.Int64,
    "kind": pl.String,
    "character": pl.String,
    "session": pl.String,
}


class _Rows(NamedTuple):
    """The rows of one actor in the order of time."""

    at: Ints
    seq: Ints
    kind: NDArray[np.object_]  # as the vocabulary calls it
    said: Ints  # what the kind says about being online
    session: Ints  # which rows belong together, 0 where nothing says so


class _Period(NamedTuple):
    rows: slice
    since: int
    until: int


def windows(recipe: "SelfSimilarity", events: EventStream, actor: str) -> pl.DataFrame:
    """One row per window of one actor, empty ones included as the recipe says.

    Raises:
        MeasureError: the source has no event of this actor.
    """
    return windows_of(recipe, events, [actor])[actor]


def windows_of(recipe: "SelfSimilarity", events: EventStream, actors: Sequence[str]) -> dict[str, pl.DataFrame]:
    """The windows of several actors, from one reading of the source; the rows of all of them are held at once.

    Raises:
        MeasureError: the source has no event of one of them.
    """
    if not actors:
        return {}
    picked = _Picked(recipe, sight_of("events", events), actors)
    for batch in events.batches(picked.columns):
        picked.push(batch)
    return {actor: _windows(recipe, rows, picked.kinds) for actor, rows in picked.rows().items()}


class _Picked:
    """The rows of some actors out of a source; the kernel's numbers would take longer to load than these to read."""

    def __init__(self, recipe: "SelfSimilarity", sight: Sight, actors: Sequence[str]) -> None:
        self._who = "character" if recipe.by == "character" else "actor"
        self._recipe, self._actors = recipe, actors
        beside = [name for name in ("seq", "character", "session") if sight.has(name)]
        wanted = dict.fromkeys((self._who, "at", "kind", *beside))
        self.columns = tuple(name for name in wanted if name != "character" or sight.has(name))
        self._seen: set[str] = set()  # kinds of anybody
        self._parts = [pl.DataFrame(schema=_ROW)]

    @property
    def kinds(self) -> int:
        """How many kinds count: those of the vocabulary, or those that occurred."""
        return len(self._seen) if self._recipe.vocabulary is None else len(self._recipe.vocabulary)

    def push(self, batch: pa.RecordBatch) -> None:
        """Pick out of one batch."""
        columns = dict(zip(self.columns, batch.columns, strict=True))
        for name in {"actor", "at", "kind"} & columns.keys():
            whole(columns[name], name, self._recipe.name)
        if self._recipe.vocabulary is None:
            self._seen |= set(_texts(columns["kind"].unique()).to_pylist())
        slot = self._slots(columns, batch.num_rows)
        mine = pc.indices_nonzero(slot.is_valid())
        if len(mine):
            picked = {name: _texts(column.take(mine)) for name, column in columns.items() if name in _ROW}
            picked["at"] = picked["at"].view(pa.int64())
            made = pl.DataFrame({"slot": pl.Series(slot.take(mine))} | {n: pl.Series(c) for n, c in picked.items()})
            self._parts.append(_complete(made))

    def rows(self) -> dict[str, _Rows]:
        """Those of each actor.

        Raises:
            MeasureError: the source has no event of one of them.
        """
        found = pl.concat(self._parts).sort("slot", "at", maintain_order=True)
        by_slot = {int(slot): part for (slot,), part in found.partition_by("slot", as_dict=True).items()}
        missing = next((actor for slot, actor in enumerate(self._actors) if slot not in by_slot), None)
        if missing is not None:
            raise MeasureError(f"self-similarity: actor {missing!r} has no events in this source; check the name")
        return {actor: self._numbers(by_slot[slot]) for slot, actor in enumerate(self._actors)}

    def _slots(self, columns: dict[str, pa.Array], rows: int) -> pa.Array:
        """The place of each row's actor among those asked for, null for others."""
        names = columns.get(self._who, pa.nulls(rows, pa.string()))
        wanted = pa.array(self._actors, pa.string())
        if not pa.types.is_dictionary(names.type):
            return pc.index_in(names.cast(pa.string()), wanted)
        return pc.index_in(names.dictionary.cast(pa.string()), wanted).take(names.indices)

    def _numbers(self, part: pl.DataFrame) -> _Rows:
        names, known = part["kind"].to_list(), self._recipe.vocabulary
        said = np.array([session_kind(name) for name in names], np.int64)
        shown = names if known is None else [name if name in known else OTHER for name in names]
        keys = _session_keys(part, said)
        return _Rows(part["at"].to_numpy(), part["seq"].to_numpy(), np.array(shown, object), said, keys)


def _texts(column: pa.Array) -> pa.Array:
    """A few rows stand better alone than on a dictionary of all."""
    return column.dictionary_decode() if pa.types.is_dictionary(column.type) else column


def _complete(rows: pl.DataFrame) -> pl.DataFrame:
    absent = [pl.lit(None, dtype).alias(name) for name, dtype in _ROW.items() if name not in rows.columns]
    typed = rows.with_columns(absent).select(pl.col(name).cast(dtype) for name, dtype in _ROW.items())
    return typed.with_columns(pl.col("seq").fill_null(0))


def _session_keys(part: pl.DataFrame, said: Ints) -> Ints:
    """Which rows belong together: by session where there is one, else by character, else by actor."""
    keys, numbers = np.zeros(part.height, np.int64), dict[tuple[str, str], int]()
    for name in ("character", "session"):  # the session has the last word
        texts = part[name].to_list()
        for row in np.flatnonzero(said):
            if texts[row] is not None:
                keys[row] = numbers.setdefault((name, texts[row]), len(numbers) + 1)
    return keys


def _windows(recipe: "SelfSimilarity", rows: _Rows, size: int) -> pl.DataFrame:
    """The windows of the actor whose rows these are."""
    periods = [_shown(recipe, rows, period) for period in _cut(rows.at, recipe)]
    cosine = (pl.col("events") / pl.col("squares").sqrt() / np.sqrt(size)).clip(upper_bound=1).fill_null(0.0)
    return pl.concat(periods).select("since", "until", "events", "kinds", cosine.alias("cosine"), "top_kind")


def _cut(at: Ints, recipe: "SelfSimilarity") -> list[_Period]:
    clock = Clock(recipe.every, recipe.time_zone or "UTC")
    numbers, firsts = np.unique(clock.numbers(at), return_index=True)
    borders = zip(clock.begins(numbers).tolist(), clock.begins(numbers + 1).tolist(), strict=True)
    rows = pairwise([*firsts.tolist(), len(at)])
    return [_Period(slice(*part), since, until) for part, (since, until) in zip(rows, borders, strict=True)]


def _shown(recipe: "SelfSimilarity", rows: _Rows, period: _Period) -> pl.DataFrame:
    part, since, until = period
    numbers = (rows.at[part] - since) // recipe.unit
    counts = (
        pl.DataFrame({"number": numbers, "kind": pl.Series(rows.kind[part], dtype=pl.String)})
        .group_by("number", "kind")
        .len()
    )
    by_count = counts.sort("len", "kind", descending=[True, False], maintain_order=True)
    full = by_count.group_by("number").agg(
        pl.col("len").sum().cast(pl.Int64).alias("events"),
        pl.len().cast(pl.Int64).alias("kinds"),
        pl.col("len").cast(pl.Float64).pow(2).sum().alias("squares"),
        pl.col("kind").first().alias("top_kind"),
    )
    every_number = np.union1d(numbers, _empty(recipe, rows, period))
    moments = since + every_number * recipe.unit
    frame = pl.DataFrame(
        {"number": every_number, "since": moments, "until": np.minimum(moments + recipe.unit, until)}
    ).join(full, on="number", how="left", maintain_order="left")
    return frame.with_columns(
        pl.col("since", "until").cast(pl.Datetime("us")).dt.replace_time_zone("UTC").cast(TIME),
        pl.col("events", "kinds").fill_null(0),
    )


def _empty(recipe: "SelfSimilarity", rows: _Rows, period: _Period) -> Ints:
    """The numbers of windows that count though nothing may have happened in them."""
    part, since, _ = period
    at = rows.at[part]
    if recipe.empty == "active":
        return np.empty(0, np.int64)
    if recipe.empty == "gap" or not rows.said[part].any():
        spans = [(one, other) for one, other in pairwise(at.tolist()) if other - one <= _SILENCE]
    else:
        spans = list(zip(*_online(rows, period), strict=True))
    ranges = [
        np.arange((begin - since) // recipe.unit, (end - since) // recipe.unit + 1)
        for begin, end in spans
        if (end - begin) >= recipe.unit
    ]
    return np.concatenate([np.empty(0, np.int64), *ranges])


def _online(rows: _Rows, period: _Period) -> tuple[Ints, Ints]:
    part, since, _ = period
    said = rows.said[part]
    places = np.flatnonzero((said != 0) & (said != OTHER_SESSION)) + part.start
    keys = (rows.session[places] << 2) | rows.said[places]
    return union(*session_spans(rows.at[places], rows.seq[places], keys, since, int(rows.at[part][-1])))
