"""One actor's windows, one by one: what a person looks at to believe a self-similarity."""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

from gamewarden.contracts import EventStream, sight_of
from gamewarden.core.clock import Clock, Offsets
from gamewarden.errors import MeasureError
from gamewarden.features.self_similarity import kernel
from gamewarden.features.self_similarity.recipe import OTHER
from gamewarden.features.self_similarity.stream import EventTable
from gamewarden.tables import TIME

if TYPE_CHECKING:
    from gamewarden.features.self_similarity.recipe import SelfSimilarity


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
    table = EventTable(recipe, sight_of("events", events))
    table.actors.numbers(pa.array(actors, pa.string()))
    slots = np.arange(len(actors))
    rows = table.in_order([table.of_slots(table.rows(batch), slots) for batch in events.batches(table.columns)])
    ends = np.searchsorted(rows.slot, np.arange(len(actors) + 1))
    places = {actor: slice(int(one), int(other)) for actor, (one, other) in zip(actors, pairwise(ends), strict=True)}
    missing = next((actor for actor, part in places.items() if part.start == part.stop), None)
    if missing is not None:
        raise MeasureError(f"self-similarity: actor {missing!r} has no events in this source; check the name")
    return {actor: _windows(recipe, table, rows, part) for actor, part in places.items()}


def _windows(recipe: "SelfSimilarity", table: EventTable, rows: kernel.Rows, mine: slice) -> pl.DataFrame:
    """The windows of the actor whose rows these are."""
    names = table.kinds.texts().to_pylist()
    size = len(recipe.vocabulary) if recipe.vocabulary is not None else int(np.count_nonzero(table.tally))
    if recipe.vocabulary is not None:
        names[size:] = [OTHER] * (len(names) - size)
    known, at = np.array(names, object), rows.at[mine]
    offsets = Clock(recipe.every, recipe.time_zone or "UTC").offsets(int(at[0]), int(at[-1]))
    periods = [
        _shown(recipe, rows, known[rows.kind[period.rows]], period, table.session_kinds())
        for period in _cut(rows.at, mine, recipe.every, offsets)
    ]
    cosine = (pl.col("events") / pl.col("squares").sqrt() / np.sqrt(size)).clip(upper_bound=1).fill_null(0.0)
    return pl.concat(periods).select("since", "until", "events", "kinds", cosine.alias("cosine"), "top_kind")


def _cut(at: NDArray[np.int64], mine: slice, every: int, offsets: Offsets) -> Iterator[_Period]:
    begin = mine.start
    while begin < mine.stop:
        since, until = kernel.period_of(at[begin], every, offsets)
        end = begin + int(np.searchsorted(at[begin : mine.stop], until))
        yield _Period(slice(begin, end), since, until)
        begin = end


def _shown(
    recipe: "SelfSimilarity",
    rows: kernel.Rows,
    kinds: NDArray[np.object_],
    period: _Period,
    session_kinds: NDArray[np.int8],
) -> pl.DataFrame:
    part, since, until = period
    numbers = (rows.at[part] - since) // recipe.unit
    counts = (
        pl.DataFrame({"number": numbers, "kind": pl.Series(kinds, dtype=pl.String)}).group_by("number", "kind").len()
    )
    by_count = counts.sort("len", "kind", descending=[True, False], maintain_order=True)
    full = by_count.group_by("number").agg(
        pl.col("len").sum().cast(pl.Int64).alias("events"),
        pl.len().cast(pl.Int64).alias("kinds"),
        pl.col("len").cast(pl.Float64).pow(2).sum().alias("squares"),
        pl.col("kind").first().alias("top_kind"),
    )
    every_number = np.union1d(numbers, _empty(recipe, rows, period, session_kinds))
    moments = since + every_number * recipe.unit
    frame = pl.DataFrame(
        {"number": every_number, "since": moments, "until": np.minimum(moments + recipe.unit, until)}
    ).join(full, on="number", how="left", maintain_order="left")
    return frame.with_columns(
        pl.col("since", "until").cast(pl.Datetime("us")).dt.replace_time_zone("UTC").cast(TIME),
        pl.col("events", "kinds").fill_null(0),
    )


def _empty(
    recipe: "SelfSimilarity", rows: kernel.Rows, period: _Period, session_kinds: NDArray[np.int8]
) -> NDArray[np.int64]:
    """The numbers of windows that count though nothing may have happened in them."""
    part, since, _ = period
    at, said = rows.at[part], session_kinds[rows.kind[part]]
    if recipe.empty == "active":
        return np.empty(0, np.int64)
    if recipe.empty == "gap" or not said.any():
        spans = [(one, other) for one, other in pairwise(at.tolist()) if other - one <= kernel.SILENCE]
    else:
        spans = list(zip(*_online(rows, period, session_kinds), strict=True))
    ranges = [
        np.arange((begin - since) // recipe.unit, (end - since) // recipe.unit + 1)
        for begin, end in spans
        if (end - begin) >= recipe.unit
    ]
    return np.concatenate([np.empty(0, np.int64), *ranges])


def _online(
    rows: kernel.Rows, period: _Period, session_kinds: NDArray[np.int8]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    part, since, _ = period
    before = int(np.count_nonzero(session_kinds[rows.kind[: part.start]]))
    places = np.flatnonzero(session_kinds[rows.kind[part]]) + part.start
    said = session_kinds[rows.kind[places]].astype(np.int64)
    keys = (rows.session[before : before + len(places)] << 2) | said
    counts = said != kernel.OTHER_SESSION
    places, keys = places[counts], keys[counts]
    starts, ends = kernel.online_spans(
        rows.at[places].copy(), rows.seq[places].copy(), keys, since, int(rows.at[part][-1])
    )
    return starts, ends
