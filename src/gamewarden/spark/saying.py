"""What a task says of the rows that it has measured: what each model makes of them, and what many rows add up to.

A row scores the same alone as in a crowd. What is said of all rows together, the driver adds up from small sums.
"""

import json
from base64 import b64decode, b64encode
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime
from functools import cached_property
from typing import Any, Self

import polars as pl
import pyarrow as pa

from gamewarden import detectors
from gamewarden.contracts import Feature, Fingerprint, Model, StreamKind, canonical_json, digest
from gamewarden.core.durations import from_micros, to_micros
from gamewarden.features.census import Census, CountedEvents
from gamewarden.learning.styles import Styles
from gamewarden.pipeline.measuring import beside_source, least_measured
from gamewarden.sources import PlainSource
from gamewarden.spark.arrow_types import batches_of, frame_of
from gamewarden.spark.pieces import gathered
from gamewarden.spark.tasks import Batches, Work, frames_of_actors, frames_of_days
from gamewarden.streams import PlainEvents
from gamewarden.tables import SCORES, DataType, Table
from gamewarden.verdicts.chunks import prior_of
from gamewarden.verdicts.meeting import Far, Limits, Partly, whole_enough
from gamewarden.verdicts.prevalence import at_share

PLAYED = "_played"  # of rows that say who played how: the first model that looks at them; null of scores
TALLY = "tally"


class _NoRows(PlainEvents):
    """Events with these columns, none of which is here."""

    def __init__(self, columns: Sequence[str]) -> None:
        self.columns = frozenset(columns)

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """None."""
        del columns
        return iter(())


def counted(columns: Sequence[str], census: Census) -> CountedEvents:
    """Events that were counted, and of which none is here."""
    return CountedEvents(_NoRows(columns), census)


class CountedSource(PlainSource):
    """A frame of events as the pipeline sees a source: counted, and read by tasks alone."""

    kinds: tuple[StreamKind, ...] = ("events",)
    is_a = "is a frame of events"

    def __init__(self, columns: Sequence[str], census: Census) -> None:
        super().__init__("frame of Spark")
        self._columns = columns
        self._census = census

    @property
    def parts(self) -> Sequence[Self]:
        """Itself alone."""
        return (self,)

    def fingerprint(self) -> Fingerprint:
        """What was counted of it."""
        return Fingerprint("frame", self.name, digest(self._census.to_bytes()))

    def events(
        self, since: datetime | None = None, until: datetime | None = None, actors: Collection[str] | None = None
    ) -> CountedEvents:
        """None of them, and what was counted of all."""
        del since, until, actors
        return counted(self._columns, self._census)


@dataclass(frozen=True)
class Voices:
    """Features with the models that look at them, and what is known of all events; as text it travels."""

    works: tuple[Work, ...]
    models: tuple[tuple[Model, ...], ...]  # of each work
    census: Census
    limits: Limits
    bots: float | None = None  # the share of bots to which probabilities are moved; None: they stay as models gave them
    styles: Styles | None = None  # where it has to be told who played how

    def text(self) -> str:
        """As JSON."""
        return canonical_json(
            {
                "works": [work.text() for work in self.works],
                "models": [[model.to_dict() for model in some] for some in self.models],
                "census": b64encode(self.census.to_bytes()).decode(),
                "limits": asdict(self.limits),
                "bots": self.bots,
                "styles": None if self.styles is None else asdict(self.styles),
            }
        )

    @classmethod
    def of(cls, text: str) -> Self:
        """Back from JSON."""
        told: dict[str, Any] = json.loads(text)
        return cls(
            tuple(Work.of(work) for work in told["works"]),
            tuple(tuple(detectors.load_model(model) for model in some) for some in told["models"]),
            Census.from_bytes(b64decode(told["census"])),
            Limits(**told["limits"]),
            told["bots"],
            None if told["styles"] is None else Styles(**told["styles"]),
        )

    @property
    def schema(self) -> dict[str, DataType]:
        """The columns of what is said."""
        return voice_schema(() if self.styles is None else names_of(self.styles))

    @cached_property
    def _features(self) -> tuple[Feature, ...]:
        return tuple(work.feature for work in self.works)

    @cached_property
    def _events(self) -> CountedEvents:
        return counted(self.works[0].columns, self.census)

    def said(self, place: int, frame: pl.DataFrame) -> Iterator[pl.DataFrame]:
        """SCORES of some rows by every model that looks at them, and who played how."""
        rows = beside_source(Table(frame), self._features[place], self._events, self.limits).frame
        for model in self.models[place]:
            scores = whole_enough(model.score(rows), least_measured(model, self.limits))
            yield scores if self.bots is None else at_share(scores, prior_of(model.card), self.bots)
        if self.styles is not None and self.styles.minutes in rows.columns:
            yield rows.with_columns(pl.lit(self.models[place][0].card.id).alias(PLAYED))

    def batches(self, place: int, frame: pl.DataFrame) -> Batches:
        """The same as Spark takes it, null where a table has no such column."""
        for told in self.said(place, frame):
            lacking = {name: dtype for name, dtype in self.schema.items() if name not in told.columns}
            whole = told.with_columns(pl.lit(None, dtype).alias(name) for name, dtype in lacking.items())
            yield from batches_of(whole, self.schema)


def voice_schema(names: Sequence[str]) -> dict[str, DataType]:
    """SCORES, and where numbers tell how somebody played, rows of these."""
    played = {PLAYED: pl.String(), **dict.fromkeys(names, pl.Float64())} if names else {}
    return {**SCORES.columns, **played}


def names_of(styles: Styles) -> tuple[str, ...]:
    """The columns that tell styles of play apart."""
    return tuple(dict.fromkeys((styles.minutes, styles.kills, styles.level)))


def voices_of_actors(told: str, key: str, batches: Batches) -> Batches:
    """What models say of the actors whose events are in this task."""
    voices = Voices.of(told)
    for frames in frames_of_actors(voices.works, key, batches):
        for place, frame in enumerate(frames):
            yield from voices.batches(place, frame)


def voices_of_days(told: str, batches: Batches) -> Batches:
    """What models say of the days to which parts were sent."""
    voices = Voices.of(told)
    for frame in frames_of_days(voices.works[0], batches):
        yield from voices.batches(0, frame)


@dataclass(frozen=True)
class Tally:
    """What has to be known of all rows that a model has judged."""

    far: Far = field(default=Far())
    partly: Partly = field(default=Partly())

    def __add__(self, other: "Tally") -> "Tally":
        """Both together."""
        return Tally(self.far + other.far, self.partly + other.partly)

    def values(self) -> dict[str, Any]:
        """As JSON values."""
        periods = [[to_micros(since), to_micros(until), part] for since, until, part in sorted(self.partly.periods)]
        far = {"judged": self.far.judged, "some": sorted(self.far.some), "by": dict(self.far.by)}
        return {"far": far, "rows": self.partly.rows, "periods": periods}

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> "Tally":
        """Back from JSON values."""
        far = values["far"]
        periods = frozenset((from_micros(since), from_micros(until), part) for since, until, part in values["periods"])
        return cls(Far(far["judged"], frozenset(far["some"]), far["by"]), Partly(values["rows"], periods))


def tallies(least: str, batches: Batches) -> Batches:
    """What the scores of a task add up to: how much of a period each model needs comes as JSON."""
    needed: dict[str, float] = json.loads(least)
    found = dict.fromkeys(needed, Tally())
    for batch in gathered(batches):
        for (model,), scores in frame_of([batch], SCORES.columns).partition_by("model", as_dict=True).items():
            if model is not None:
                found[str(model)] += Tally(Far.of(scores), Partly.of(scores, needed[str(model)]))
    text = canonical_json({model: tally.values() for model, tally in found.items()})
    yield pa.RecordBatch.from_arrays([pa.array([text], pa.string())], [TALLY])
