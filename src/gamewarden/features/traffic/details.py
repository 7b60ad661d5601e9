"""What thresholds of the traffic test can be learned from: every gap, size and correlation of labelled traces.

The test itself never keeps a window's packets; training has to, since each candidate threshold counts them anew.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, ClassVar, Self

import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

from gamewarden.contracts import PACKET_COLUMNS, Sight, StreamKind
from gamewarden.errors import MeasureError
from gamewarden.features.folding import OnePass
from gamewarden.features.plain import ANY_SIGHT, PlainFeature
from gamewarden.features.traffic.recipe import TrafficTest
from gamewarden.tables import FEATURES, TIME, DataType

Layout = tuple[int, int]  # acn, acv
# Sub-windows of the paper, and others of about 100 packets with an odd number of votes.
LAYOUTS: tuple[Layout, ...] = ((19, 5), (9, 9), (9, 11), (13, 7), (33, 3))
_SCHEMA: dict[str, DataType] = {
    "acn": pl.Int64,
    "acv": pl.Int64,
    "window": pl.Int64,
    "gaps": pl.List(pl.Int64),
    "sizes": pl.List(pl.Int64),
    "correlations": pl.List(pl.Float64),
}


@dataclass(frozen=True)
class TrafficDetails(PlainFeature):
    """One row an actor, layout of sub-windows and completed window, with all that is in it."""

    name: ClassVar[str] = "traffic-details"
    input: ClassVar[StreamKind] = "packets"
    requires: ClassVar[tuple[str, ...]] = PACKET_COLUMNS
    optional: ClassVar[Mapping[str, str]] = {}

    start: TrafficTest = field(
        default=TrafficTest(),
        metadata={"also": (TrafficTest(itrt1=2),), "says": "The profile training starts from."},
    )
    layouts: tuple[Layout, ...] = field(
        default=LAYOUTS,
        metadata={"also": (((19, 5),),), "says": "Pairs a sub-window and votes a decision to try, the start's first."},
    )

    def __post_init__(self) -> None:
        """Put the start's own layout first.

        Raises:
            MeasureError: the test cannot be run with a layout.
        """
        own = (self.start.acn, self.start.acv)
        object.__setattr__(self, "layouts", tuple(dict.fromkeys((own, *self.layouts))))
        for layout in self.layouts:
            self._test(layout)

    @property
    def schema(self) -> Mapping[str, DataType]:
        """The columns after actor, since, until and events."""
        return _SCHEMA

    def fold(self, sight: Sight = ANY_SIGHT) -> "_DetailsFold":
        """The client packets of all players, kept until all have come."""
        del sight
        return _DetailsFold(self)

    def windows_of(self, packets: pl.DataFrame) -> pl.DataFrame:
        """One row per actor, layout and window of client packets, by actor, then layout as given, then window."""
        rows: list[dict[str, Any]] = []
        for (actor,), part in packets.group_by(["actor"], maintain_order=True):
            at, size = part["at"].to_numpy(), part["size"].to_numpy().astype(np.int64)
            rows += [{"actor": actor, **row} for layout in self.layouts for row in self._windows(at, size, layout)]
        order = {layout: place for place, layout in enumerate(self.layouts)}
        rows.sort(key=lambda row: (row["actor"], order[row["acn"], row["acv"]], row["window"]))
        whole = {**FEATURES.columns, **_SCHEMA}
        plain: dict[str, DataType] = {name: pl.Int64 if kind == TIME else kind for name, kind in whole.items()}
        return pl.DataFrame(rows, schema=plain).with_columns(pl.col("since", "until").cast(TIME))

    def _windows(self, at: NDArray[np.int64], size: NDArray[np.int64], layout: Layout) -> Iterator[dict[str, Any]]:
        test = self._test(layout)
        clock = np.maximum.accumulate(at)
        gaps = np.diff(clock, prepend=clock[:1])
        borders = [0, *np.flatnonzero(gaps > test.session_gap), len(at)]
        number = 0
        for begin, end in pairwise(borders):
            for first in range(begin, end - test.win + 1, test.win):
                window = slice(first, first + test.win)
                sizes = size[window]
                yield {
                    "since": int(clock[first]),
                    "until": int(clock[first + test.win - 1]),
                    "events": test.win,
                    "acn": test.acn,
                    "acv": test.acv,
                    "window": number,
                    # The first packet of a session has no gap before it.
                    "gaps": gaps[window][int(first == begin) :].tolist(),
                    "sizes": sizes.tolist(),
                    "correlations": _correlations(sizes.reshape(test.acv, test.acn + 1)),
                }
                number += 1

    def _test(self, layout: Layout) -> TrafficTest:
        acn, acv = layout
        return TrafficTest.from_dict(self.start.to_dict() | {"win": acv * (acn + 1), "acn": acn, "acv": acv})

    def to_dict(self) -> dict[str, Any]:
        """The recipe as JSON values."""
        return {"start": self.start.to_dict(), "layouts": [list(layout) for layout in self.layouts]}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """The recipe back from JSON values.

        Raises:
            MeasureError: they are not the values of such a recipe.
        """
        try:
            layouts = tuple((int(acn), int(acv)) for acn, acv in values["layouts"])
            return cls(TrafficTest.from_dict(values["start"]), layouts)
        except (KeyError, TypeError, ValueError) as error:
            raise MeasureError(f"traffic-details: {values!r} are not a start and layouts of (acn, acv)") from error


class _DetailsFold(OnePass):
    """Client packets, kept until all have come."""

    columns = PACKET_COLUMNS

    def __init__(self, recipe: TrafficDetails) -> None:
        self._recipe = recipe
        self._parts: list[pl.DataFrame] = []

    def push(self, batch: pa.RecordBatch) -> None:
        """Keep what clients sent."""
        mine = pl.DataFrame(pl.from_arrow(batch)).filter("up")
        self._parts.append(mine.select(pl.col("actor").cast(pl.String), pl.col("at").cast(pl.Int64), "size"))

    def frame(self) -> pl.DataFrame:
        """FEATURES: one row per actor, layout and window."""
        nobody = pl.DataFrame(schema={"actor": pl.String, "at": pl.Int64, "size": pl.Int32})
        return self._recipe.windows_of(pl.concat([nobody, *self._parts]))


def _correlations(sizes: NDArray[np.int64]) -> list[float | None]:
    """The lag-1 correlation of each row, None where a side does not vary."""
    later, earlier = sizes[:, 1:], sizes[:, :-1]
    n = later.shape[1]
    x, y = later.sum(axis=1), earlier.sum(axis=1)
    a = n * (later * later).sum(axis=1) - x * x
    b = n * (earlier * earlier).sum(axis=1) - y * y
    c = n * (later * earlier).sum(axis=1) - x * y
    able = (a > 0) & (b > 0)
    r = np.clip(c / np.sqrt(np.where(able, a.astype(np.float64) * b.astype(np.float64), 1.0)), -1.0, 1.0)
    return [float(value) if voted else None for value, voted in zip(r, able, strict=True)]
