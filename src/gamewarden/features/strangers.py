"""A player who is not there and does everything once.

A feature without a vocabulary counts over the kinds of the whole source, and a task sees a part of it. With the other
kinds done once by somebody, whose rows are left out again, the part is measured as it is among all.
"""

from collections.abc import Sequence
from dataclasses import replace

import polars as pl
import pyarrow as pa

from gamewarden.contracts import Feature, Fold, Notes
from gamewarden.errors import MeasureError
from gamewarden.features.self_similarity.recipe import Usage
from gamewarden.tables import TIME, FrameEvents

NAME = "\x00nobody"  # no account is called so
_UTC = pa.timestamp("us", "UTC")


def learned(feature: Feature, kinds: Sequence[str] | None) -> Feature:
    """The feature with the columns that it has over these kinds; as it is where it needs none, or none counts."""
    if not kinds:
        return feature
    done = pl.DataFrame({"kind": list(kinds)}).with_columns(actor=pl.lit(NAME), at=pl.lit(0).cast(TIME))
    try:
        return feature.learn(FrameEvents(done))
    except MeasureError:  # none of them is an action: then there is no column for one
        return feature


class AmongAll:
    """A fold before which a stranger did every kind."""

    def __init__(self, fold: Fold, kinds: Sequence[str]) -> None:
        self._fold = fold
        self._kinds = pa.array(kinds, pa.string())
        self._met = False
        self.columns = tuple(fold.columns)

    def push(self, batch: pa.RecordBatch) -> None:
        """Take the rows in, after those of the stranger at the time of the first."""
        if batch.num_rows and not self._met:
            self._met = True
            self._fold.push(self._strange(batch.schema, batch.column("at")[0].value))
        self._fold.push(batch)

    def _strange(self, schema: pa.Schema, at: int) -> pa.RecordBatch:
        rows = len(self._kinds)
        known = {
            "actor": pa.array([NAME] * rows, pa.string()),
            "character": pa.array([NAME] * rows, pa.string()),
            "at": pa.array([at] * rows, pa.int64()).view(_UTC),
            "kind": self._kinds,
        }
        arrays = [known[field.name] if field.name in known else pa.nulls(rows, field.type) for field in schema]
        return pa.RecordBatch.from_arrays(arrays, schema.names)

    def again(self) -> bool:
        """As the fold needs it; then the stranger comes again too, so that every row stands where it stood."""
        self._met = False
        return self._fold.again()

    def notes(self) -> Notes:
        """What the fold has to say of the rows that were there."""
        notes = self._fold.notes()
        return replace(notes, rows=max(0, notes.rows - len(self._kinds))) if isinstance(notes, Usage) else notes

    def frame(self) -> pl.DataFrame:
        """All rows but the stranger's."""
        return self._fold.frame().filter(pl.col("actor").ne_missing(NAME))
