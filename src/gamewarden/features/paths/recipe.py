"""How much of its way an actor walks again and again, from where its events were.

Mitterhofer et al. (2009): the way of a character as a poly-line, its corners as symbols, and long repeated sequences of
symbols as the mark of a script. Whoever walks a round by hand comes to the same spots, and never quite to the same
place.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import isfinite
from typing import TYPE_CHECKING, ClassVar, Literal, get_args

import polars as pl

from gamewarden.contracts import Sight
from gamewarden.core.durations import DAY, HOUR
from gamewarden.errors import MeasureError
from gamewarden.features.periods import ByPeriod
from gamewarden.features.plain import ANY_SIGHT
from gamewarden.phrases import Phrase
from gamewarden.phrases.ways import PHRASES
from gamewarden.tables import DataType

if TYPE_CHECKING:
    from gamewarden.features.paths.stream import PathFold

By = Literal["account", "character"]


@dataclass(frozen=True)
class Paths(ByPeriod):
    """One row per actor and period: its way-points, and how much of its way it had walked before.

    Without positions, or with fewer way-points than `min_points`, nothing is known of the way.
    """

    every: int = field(
        default=DAY, metadata={"also": (HOUR,), "as": "span", "shown": "1d", "says": "Length of one period."}
    )
    cell: float = field(
        default=4.0,
        metadata={"also": (0.5, 8.0), "says": "Places nearer than this, in units of the map, are the same place."},
    )
    min_points: int = field(
        default=30, metadata={"also": (1,), "says": "With fewer way-points nothing is said of the way."}
    )
    by: By = field(default="account", metadata={"also": ("character",), "says": "What stands in the column actor."})
    time_zone: str | None = field(default=None, metadata={"also": ("Asia/Seoul",)})

    name: ClassVar[str] = "paths"
    one_sided: ClassVar[bool] = True
    requires: ClassVar[tuple[str, ...]] = ("actor", "at", "x", "y")
    optional: ClassVar[Mapping[str, str]] = {"zone": "places of different zones are told apart by it"}

    def __post_init__(self) -> None:
        """Check every option.

        Raises:
            MeasureError: an option has a value that nothing can be measured with.
        """
        self._check_every()
        if not (isfinite(self.cell) and self.cell > 0):
            raise MeasureError(f"paths: cell is {self.cell}; it must be above 0")
        if self.min_points < 1:
            raise MeasureError(f"paths: min_points is {self.min_points}; it must be 1 at least")
        if self.by not in get_args(By):
            raise MeasureError(f"paths: by is {self.by!r}; choose {' or '.join(get_args(By))}")

    @property
    def schema(self) -> Mapping[str, DataType]:
        """The columns after actor, since, until and events."""
        return {
            "way_points": pl.Int64,
            "way_length": pl.Float64,
            "repeated_way": pl.Float64,
            "repeated_run": pl.Int64,
            "laps": pl.Int64,
            "same_places": pl.Float64,
        }

    @property
    def phrases(self) -> Mapping[str, Phrase]:
        """The words for ways."""
        return PHRASES

    def fold(self, sight: Sight = ANY_SIGHT) -> "PathFold":
        """The ways under way; memory grows with actors and their periods only."""
        from gamewarden.features.paths.stream import PathFold

        return PathFold(self, sight)
