"""What a task of Spark does: rows of events in, rows of numbers out, both as Arrow.

A task is told what to do as JSON text and finds these functions by their names; nothing of ours is pickled.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from tempfile import TemporaryFile
from typing import IO, Any, Self

import polars as pl
import pyarrow as pa

from gamewarden import features
from gamewarden.contracts import Feature, Fold, Recipe, Sight, canonical_json
from gamewarden.core.clock import Period
from gamewarden.errors import MeasureError
from gamewarden.features import strangers
from gamewarden.features.looking_back import LooksBack
from gamewarden.spark.arrow_types import batches_of, frame_of
from gamewarden.spark.pieces import Pieces, chosen, conformed, gathered, pieces
from gamewarden.tables import FEATURES, DataType

Batches = Iterator[pa.RecordBatch]
DAY, TARGET, PLACE, WHO = "_day", "_target", "_place", "_who"
ENOUGH = 1 << 20  # rows of whole actors before what was measured of them leaves


@dataclass(frozen=True, eq=False)
class Work:
    """One feature to measure, and what is known of all events; as text it travels."""

    recipe: Recipe
    columns: tuple[str, ...]  # that the frame has
    kinds: tuple[str, ...] | None = None  # of all events, where the recipe counts over them and has learned none
    shows: Mapping[str, int] | None = None  # the kinds that all events show; None: whatever is asked for

    def text(self) -> str:
        """As JSON."""
        return canonical_json(
            {
                "name": self.recipe.name,
                "options": dict(self.recipe.options),
                "columns": self.columns,
                "kinds": self.kinds,
                "shows": None if self.shows is None else dict(self.shows),
            }
        )

    @classmethod
    def of(cls, text: str) -> Self:
        """Back from JSON."""
        told: dict[str, Any] = json.loads(text)
        kinds = None if told["kinds"] is None else tuple(told["kinds"])
        return cls(Recipe(told["name"], told["options"]), tuple(told["columns"]), kinds, told["shows"])

    @property
    def feature(self) -> Feature:
        """What is measured."""
        return features.load(self.recipe.name).from_dict(self.recipe.options)

    @property
    def sight(self) -> Sight:
        """What is known of all events."""
        return Sight(columns=self.columns, shows=lambda: self.shows)

    @property
    def schema(self) -> dict[str, DataType]:
        """The columns of the rows."""
        return {**FEATURES.columns, **strangers.learned(self.feature, self.kinds).schema}

    @property
    def parts_schema(self) -> dict[str, DataType]:
        """The columns of the parts of a day as they travel, with its number and the place of each among them."""
        own = _looking_back(self.feature).parts_schema
        return {DAY: pl.Int64(), PLACE: pl.Int64(), **{new: own[name] for name, new in self.parts_names.items()}}

    @property
    def parts_names(self) -> dict[str, str]:
        """How the columns of the parts are called on their way: Spark stumbles over points in names."""
        return {name: f"_part{place}" for place, name in enumerate(_looking_back(self.feature).parts_schema)}

    def fold(self) -> Fold:
        """A measurement of some actors, as it is among all."""
        return self._among_all(self.feature.fold(self.sight))

    def part_fold(self) -> Fold:
        """The same of the parts of a day."""
        return self._among_all(_looking_back(self.feature).part_fold(self.sight))

    def _among_all(self, fold: Fold) -> Fold:
        return fold if self.kinds is None else strangers.AmongAll(fold, self.kinds)


def _looking_back(feature: Feature) -> LooksBack:
    if not isinstance(feature, LooksBack):
        raise MeasureError(
            f"{feature.name}: can be cut neither by actor nor by day; measure it with `gamewarden measure`"
        )
    return feature


class _Kept:
    """Rows in a temporary file, for folds of others that may ask for them once more."""

    def __init__(self, stack: ExitStack) -> None:
        self._file: IO[bytes] = stack.enter_context(TemporaryFile(prefix="gamewarden-"))  # noqa: SIM115  it does
        self._writer: Any = None

    def add(self, batch: pa.RecordBatch) -> None:
        """Keep some."""
        if self._writer is None:
            self._writer = pa.ipc.new_stream(self._file, batch.schema)
        self._writer.write_batch(batch)

    def batches(self) -> Batches:
        """All of them."""
        if self._writer is not None:
            self._writer.close()
            self._file.seek(0)
            yield from pa.ipc.open_stream(self._file)


class _Together:
    """The folds of several features, fed the same rows."""

    def __init__(self, folds: Mapping[Work, Fold], stack: ExitStack) -> None:
        self._folds = folds
        ours = all(work.recipe.name in features.REGISTRY.own for work in folds)
        self._kept = None if ours else _Kept(stack)
        self.rows = 0

    def push(self, batch: pa.RecordBatch) -> None:
        """Let each see its columns."""
        self.rows += batch.num_rows
        if self._kept is not None:
            self._kept.add(batch)
        for fold in self._folds.values():
            fold.push(chosen(batch, fold.columns))

    def frames(self) -> list[pl.DataFrame]:
        """What each made of the rows."""
        for work, fold in self._folds.items():
            while fold.again():
                self._once_more(work, fold)
        return [fold.frame() for fold in self._folds.values()]

    def _once_more(self, work: Work, fold: Fold) -> None:
        if self._kept is None:
            raise MeasureError(f"{work.recipe.name}: asks again for rows that came in order, which none of ours does")
        for batch in self._kept.batches():
            fold.push(chosen(batch, fold.columns))


def _frames(make: Callable[[], Mapping[Work, Fold]], cut: Pieces) -> Iterator[list[pl.DataFrame]]:
    """What folds make of each stretch of rows that begins anew."""
    with ExitStack() as stack:
        together = _Together(make(), stack)
        for anew, piece in cut:
            if anew:
                yield together.frames()
                stack.close()
                together = _Together(make(), stack)
            together.push(piece)
        if together.rows:
            yield together.frames()


def _events(batches: Batches, door: str) -> Batches:
    return conformed(gathered(batches), door)


def frames_of_actors(works: Sequence[Work], key: str, batches: Batches) -> Iterator[list[pl.DataFrame]]:
    """FEATURES of some actors at a time, a table a work; all rows of an actor are here, sorted by time."""
    events = _events(batches, works[0].recipe.name)
    yield from _frames(lambda: {work: work.fold() for work in works}, pieces(events, key, ENOUGH))


def rows_of_actors(work: str, key: str, batches: Batches) -> Batches:
    """FEATURES of the actors whose events are in this task."""
    told = Work.of(work)
    for (frame,) in frames_of_actors([told], key, batches):
        yield from batches_of(frame, told.schema)


def parts_of_days(work: str, batches: Batches) -> Batches:
    """What is kept of the days whose events are in this task; all events of a day are here."""
    told = Work.of(work)
    feature = _looking_back(told.feature)
    days = pieces(_events(batches, told.recipe.name), DAY)
    for (found,) in _frames(lambda: {told: told.part_fold()}, days):
        parts = found if told.kinds is None else feature.without_rest(found)
        day = feature.clock.numbers(parts["since"].to_physical().to_numpy())
        named = parts.rename(told.parts_names).with_columns(pl.Series(DAY, day)).with_row_index(PLACE)
        yield from batches_of(named, told.parts_schema)


def frames_of_days(work: Work, batches: Batches) -> Iterator[pl.DataFrame]:
    """FEATURES of a day at a time, from the parts of the days that it looks back on; all of them are here."""
    schema = {TARGET: pl.Int64(), **work.parts_schema}
    waiting: list[pa.RecordBatch] = []
    for anew, piece in pieces((batch for batch in batches if batch.num_rows), TARGET):
        if anew:
            yield from _rows_of_day(work, frame_of(waiting, schema))
            waiting = []
        waiting.append(piece)
    yield from _rows_of_day(work, frame_of(waiting, schema))


def _rows_of_day(work: Work, parts: pl.DataFrame) -> Iterator[pl.DataFrame]:
    """The rows of the day that parts were sent to; none where nobody played on it."""
    feature = _looking_back(work.feature)
    told = parts.rename({new: name for name, new in work.parts_names.items()})
    for since, until in told.filter(pl.col(DAY) == pl.col(TARGET)).select("since", "until")[:1].iter_rows():
        yield feature.rows_from(told.drop(TARGET, DAY, PLACE), Period(since, until), work.sight)


def rows_of_days(work: str, batches: Batches) -> Batches:
    """FEATURES of the days to which parts were sent."""
    told = Work.of(work)
    for frame in frames_of_days(told, batches):
        yield from batches_of(frame, told.schema)
