"""One period of a live run, such as a day: its rows at rest, its folds, and who has changed since the last tick.

Folds are not kept: they are made of the rows again where somebody needs them and they are not there. So a period that
has not begun by the stream's own clock, which may be nobody's but an odd time's, costs a small file.
"""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from gamewarden.contracts import Feature, Fold, Sight
from gamewarden.core.clock import Clock
from gamewarden.core.durations import span_text
from gamewarden.features.census import COLUMNS, Census, CensusFold
from gamewarden.features.folding import Peeks, folded
from gamewarden.online.kept_rows import KeptEvents, KeptRows
from gamewarden.online.live_rows import as_block
from gamewarden.streams import ChosenEvents
from gamewarden.tables import FEATURES, TIME, DataType

_TOGETHER = 1 << 14  # rows that wait before they are written and folded
_BLOCK = 1 << 16  # rows of a block, at most
_GROWN = 8  # who came out of order is measured anew when the period has grown by an eighth
_CHANGED: dict[str, DataType] = {"actor": pl.String, "since": TIME}


class Distinct:
    """Rows that are kept once each, however often they come."""

    def __init__(self) -> None:
        self._parts: list[pl.DataFrame] = []
        self._held = self._known = 0

    def add(self, rows: pl.DataFrame) -> None:
        """Keep them; what is there twice goes before it is much."""
        self._parts.append(rows)
        self._held += rows.height
        if self._held > 2 * self._known + _TOGETHER:
            self.rows()

    def rows(self) -> pl.DataFrame:
        """Each of them once."""
        if not self._parts:
            return pl.DataFrame(schema=_CHANGED)
        self._parts = [pl.concat(self._parts).unique()]
        self._held = self._known = self._parts[0].height
        return self._parts[0]


@dataclass(frozen=True)
class Plan:
    """What is measured over the periods of one clock."""

    cut: Clock
    features: Mapping[str, Feature]  # by what names their recipes
    clocks: tuple[Clock, ...]  # by which kinds are counted
    columns: tuple[str, ...]  # that are kept

    def borders(self, number: int) -> tuple[int, int]:
        """When a period begins and ends."""
        since, until = self.cut.begins(np.array([number, number + 1])).tolist()
        return since, until

    def name_of(self, number: int) -> str:
        """What partitions call a period among themselves."""
        return f"{span_text(self.cut.every)}-{self.cut.time_zone.replace('/', '_')}-{number}"


def plan_of(cut: Clock, features: Mapping[str, Feature], clocks: tuple[Clock, ...]) -> Plan:
    """A plan that keeps the columns its folds ask for, and those of a census."""
    folds = [feature.fold() for feature in features.values()]
    return Plan(
        cut, features, clocks, tuple(dict.fromkeys((*COLUMNS, *(name for fold in folds for name in fold.columns))))
    )


@dataclass
class _Folds:
    """Measurements under way."""

    folds: dict[str, Fold]
    census: CensusFold
    shows: dict[str, int] = field(default_factory=dict)  # what they are told that the source can show


class LivePeriod:
    """A period under way; `ticked` rows of it were there at the last tick, `again` when somebody was measured anew."""

    def __init__(self, plan: Plan, number: int, kept: KeptRows, ticked: int = 0, again: int = 0) -> None:
        self.plan = plan
        self.number = number
        self.kept = kept
        self.since, self.until = plan.borders(number)
        self._ticked = ticked
        self._again = again
        self._waiting: list[pa.RecordBatch] = []
        self._waiting_rows = 0
        self._under_way: _Folds | None = None
        self._finished = False
        # Who has rows since the last tick, and within which of the period's own periods; who has some since `again`.
        self._changed: dict[tuple[str, Clock | None], Distinct] = defaultdict(Distinct)
        self._owed: dict[str, Distinct] = defaultdict(Distinct)

    @property
    def name(self) -> str:
        """What partitions call it among themselves."""
        return self.plan.name_of(self.number)

    @property
    def rows(self) -> int:
        """How many rows it has."""
        return self.kept.rows + self._waiting_rows

    @property
    def has_changed(self) -> bool:
        """Whether rows have come since the last tick."""
        return self.rows > self._ticked

    def to_dict(self) -> dict[str, Any]:
        """What a state has to know of it, once it was written."""
        return {
            "cut": [self.plan.cut.every, self.plan.cut.time_zone],
            "number": self.number,
            "file": self.kept.path.name,
            "length": self.kept.length,
            "rows": self.kept.rows,
            "ticked": self._ticked,
            "again": self._again,
        }

    def take(self, batch: pa.RecordBatch) -> None:
        """Take rows in; they wait until they are many, or somebody asks."""
        self._waiting.append(batch)
        self._waiting_rows += batch.num_rows
        if self._waiting_rows >= _TOGETHER:
            self.write()

    def write(self) -> None:
        """Let what waits be written and folded."""
        if not self._waiting:
            return
        whole = as_block(self._waiting)
        self._waiting, self._waiting_rows = [], 0
        for begin in range(0, whole.num_rows, _BLOCK):
            block = whole.slice(begin, _BLOCK)
            self.kept.append(block)
            if self._under_way is not None:
                self._fold(self._under_way, block)
                self._note_changes(block)

    def glimpses(self, shows: Mapping[str, int]) -> dict[str, pl.DataFrame]:
        """FEATURES of those who have changed since the last tick, by recipe; from now on they have not.

        Whoever came out of order is measured anew by the rows at rest, each time the period has grown by an eighth.
        """
        folds = self._awake()
        folds.shows = dict(shows)
        anew = self.rows * _GROWN >= self._again * (_GROWN + 1)
        frames = {key: self._glimpse(key, fold, anew=anew) for key, fold in folds.folds.items()}
        _mark(folds)
        for (entity, _), changed in self._changed.items():
            self._owed[entity].add(changed.rows().select("actor"))
        self._changed.clear()
        self._ticked = self.kept.rows
        if anew:
            self._again = self.kept.rows
            self._owed.clear()
        return frames

    def kinds(self) -> Census:
        """Events by kind so far, and nothing of when everybody was there."""
        return self._awake().census.kinds()

    def census(self) -> Census:
        """What was counted."""
        return self._awake().census.census()

    def finals(self, shows: Mapping[str, int]) -> dict[str, pl.DataFrame]:
        """FEATURES of all rows, by recipe; no further rows come."""
        folds = self._awake()
        if not self._finished:
            for fold in folds.folds.values():
                while fold.again():
                    for batch in self.kept.batches(fold.columns):
                        fold.push(batch)
            self._finished = True
        folds.shows = dict(shows)
        return {key: fold.frame() for key, fold in folds.folds.items()}

    def sleep(self) -> None:
        """Let go of the folds: they can be made again."""
        self._under_way, self._finished = None, False
        self._changed.clear()
        self._owed.clear()

    def _awake(self) -> _Folds:
        self.write()
        if self._under_way is None:
            self._under_way = made = self._made()
            place = 0
            for batch in self.kept.batches(self.plan.columns):
                told = min(max(self._ticked - place, 0), batch.num_rows)
                self._fold(made, batch.slice(0, told))
                if place + told == self._ticked:
                    _mark(made)
                self._fold(made, batch.slice(told))
                self._note_owed(batch.slice(0, told).slice(min(max(self._again - place, 0), told)))
                self._note_changes(batch.slice(told))
                place += batch.num_rows
        return self._under_way

    def _made(self) -> _Folds:
        made = _Folds({}, CensusFold(self.plan.clocks))
        sight = Sight("the stream", shows=lambda: made.shows)
        made.folds.update({key: feature.fold(sight) for key, feature in self.plan.features.items()})
        return made

    @staticmethod
    def _fold(folds: _Folds, block: pa.RecordBatch) -> None:
        if not block.num_rows:
            return
        for fold in folds.folds.values():
            fold.push(block.select(list(fold.columns)))
        folds.census.push(block.select(list(folds.census.columns)))

    @cached_property
    def _watched(self) -> dict[str, tuple[str, Clock | None]]:
        """By recipe, whose rows can change, and within which of the period's own periods; None: they are told."""
        own = {key: feature.divides.clock for key, feature in self.plan.features.items()}
        return {
            key: (feature.entity, None if own[key] == self.plan.cut else own[key])
            for key, feature in self.plan.features.items()
        }

    def _note_owed(self, block: pa.RecordBatch) -> None:
        for entity in {entity for entity, _ in self._watched.values()} if block.num_rows else ():
            self._owed[entity].add(_whoever(block.column(entity)))

    def _note_changes(self, block: pa.RecordBatch) -> None:
        for entity, clock in dict.fromkeys(self._watched.values()) if block.num_rows else ():
            names = block.column(entity)
            if clock is None:
                found = _whoever(names).with_columns(pl.lit(None, TIME).alias("since"))
            else:
                since = clock.begins(clock.numbers(block.column("at").cast(pa.int64()).to_numpy()))
                text = pl.Series(names.dictionary_decode(), dtype=pl.String)
                found = pl.DataFrame({"actor": text, "since": pl.Series(since).cast(TIME)}, schema=_CHANGED).unique()
            self._changed[entity, clock].add(found)

    def _glimpse(self, key: str, fold: Fold, *, anew: bool) -> pl.DataFrame:
        entity, clock = self._watched[key]
        changed = self._changed[entity, clock].rows()
        schema: dict[str, DataType] = {**FEATURES.columns, **self.plan.features[key].schema}
        frames = [pl.DataFrame(schema=schema)]
        if isinstance(fold, Peeks):
            now = fold.peek(_names(changed))
            frames.append(now if clock is None else now.join(changed, on=["actor", "since"], how="semi"))
        if anew:
            owed = _names(pl.concat([changed.select("actor"), self._owed[entity].rows().select("actor")]))
            late = fold.out_of_order(owed) if isinstance(fold, Peeks) else owed
            frames += [self._measured(self.plan.features[key], late)] if len(late) else []
        return pl.concat(frames).sort("actor", "since")

    def _measured(self, feature: Feature, names: pa.Array) -> pl.DataFrame:
        """FEATURES of some actors, by their rows at rest."""
        folds = self._awake()
        events = KeptEvents(self.kept, self.plan.columns, lambda: folds.shows)
        return folded(feature, ChosenEvents(events, feature.entity, lambda column: _among(column, names))).frame


def _mark(folds: _Folds) -> None:
    for fold in folds.folds.values():
        if isinstance(fold, Peeks):
            fold.mark()


def _whoever(names: pa.DictionaryArray) -> pl.DataFrame:
    used = names.dictionary.take(pc.drop_null(pc.unique(names.indices)))
    return pl.DataFrame({"actor": pl.Series(used, dtype=pl.String)})


def _names(frame: pl.DataFrame) -> pa.Array:
    return frame["actor"].drop_nulls().unique().sort().to_arrow()


def _among(column: pa.DictionaryArray, names: pa.Array) -> pa.Array:
    return pc.is_in(column.dictionary.cast(names.type), names).take(column.indices)
