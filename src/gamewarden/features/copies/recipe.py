"""How alike an actor's doings are to others', beyond what people of its level and zone have in common.

One script on many accounts does the same things in the same order at the same pace, and walks the same way. Sketches of
a day (what is done most, three moments in a row, and which way is walked most) are kept, and those of a week compared.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from math import isfinite
from typing import TYPE_CHECKING, ClassVar

import polars as pl

from gamewarden.contracts import Sight
from gamewarden.errors import MeasureError
from gamewarden.features.looking_back import LooksBack
from gamewarden.features.plain import ANY_SIGHT
from gamewarden.phrases import Phrase
from gamewarden.phrases.alike import PHRASES
from gamewarden.tables import DataType

if TYPE_CHECKING:
    from gamewarden.features.copies.stream import SketchFold

_NUMBERS = pl.List(pl.Int64)


@dataclass(frozen=True)
class Copies(LooksBack):
    """One row per actor and day: how alike its last days are to those of the account that is most like it.

    Whoever did too little is like nobody: its numbers are null, as are those of the ways in a log without positions.
    """

    cell: float = field(
        default=4.0,
        metadata={"also": (8.0,), "says": "Places nearer than this, in units of the map, are the same place."},
    )
    min_moments: int = field(
        default=200, metadata={"also": (20,), "says": "With fewer moments of play nothing is said of likeness."}
    )

    name: ClassVar[str] = "copies"
    requires: ClassVar[tuple[str, ...]] = ("actor", "at", "kind")
    optional: ClassVar[Mapping[str, str]] = {
        "x": "same_way, same_way_with",
        "y": "same_way, same_way_with",
        "zone": "whom an account is compared with",
        "level": "whom an account is compared with",
    }
    about_others: ClassVar[bool] = True
    one_sided: ClassVar[bool] = True
    parts: ClassVar[Mapping[str, DataType]] = {
        "actor": pl.String,  # null: the row says what the stretches of the day mean
        "events": pl.Int64,
        "level": pl.Int16,
        "zone": pl.Int64,
        "tenths": _NUMBERS,  # of the day, a bit for each ten minutes in which something was done
        "moments": pl.Int64,
        "stretches": _NUMBERS,
        "stretch_n": _NUMBERS,
        "walks": pl.Int64,
        "ways": _NUMBERS,
        "way_n": _NUMBERS,
        "words": pl.List(pl.String),
    }

    def __post_init__(self) -> None:
        """Check every option.

        Raises:
            MeasureError: an option has a value that nothing can be measured with.
        """
        super().__post_init__()
        if not (isfinite(self.cell) and self.cell > 0):
            raise MeasureError(f"copies: cell is {self.cell}; it must be above 0")
        if self.min_moments < 1:
            raise MeasureError(f"copies: min_moments is {self.min_moments}; it must be 1 at least")

    @property
    def schema(self) -> Mapping[str, DataType]:
        """The columns after actor, since, until and events."""
        return {
            "alike": pl.Float64,
            "alike_beyond": pl.Float64,
            "alike_with": pl.Int64,
            "same_way": pl.Float64,
            "same_way_with": pl.Int64,
            "together": pl.Float64,
            "shared": pl.String,
        }

    @property
    def phrases(self) -> Mapping[str, Phrase]:
        """The words for likeness."""
        return PHRASES

    def part_fold(self, sight: Sight = ANY_SIGHT) -> "SketchFold":
        """The sketches of each day; memory grows with actors and their days only."""
        from gamewarden.features.copies.stream import SketchFold

        return SketchFold(self, sight)

    @classmethod
    def without_rest(cls, parts: pl.DataFrame) -> pl.DataFrame:
        """The same, in which nothing is told of stretches that nobody does on that day."""
        done = parts.filter(pl.col("actor").is_not_null()).select("since", "stretches").explode("stretches")
        meant = parts.filter(pl.col("actor").is_null())
        book = meant.select("since", "stretches", "words").explode("stretches", "words")
        left = book.join(done, on=["since", "stretches"], how="semi").sort("since", "stretches")
        lists = left.group_by("since", maintain_order=True).agg("stretches", "words")
        told = meant.drop("stretches", "words").join(lists, on="since", how="left")
        none = [pl.col(name).fill_null(pl.lit([], dtype=cls.parts[name])) for name in ("stretches", "words")]
        return pl.concat([told.with_columns(none).select(parts.columns), parts.filter(pl.col("actor").is_not_null())])

    def unseen(self, sight: Sight) -> Sequence[str]:
        """Nothing is known of ways without positions."""
        return () if sight.has("x") and sight.has("y") else ("same_way", "same_way_with")

    def rows_of(self, parts: pl.DataFrame, since: datetime, until: datetime) -> pl.DataFrame:
        """The likeness of everybody who has events on the day to everybody who has some in the days before."""
        from gamewarden.groups.copying import compared

        today = parts.filter(pl.col("since") == since, pl.col("actor").is_not_null())
        alike = compared(parts, self.min_moments)
        rows = today.select("actor", "events", pl.lit(since).alias("since"), pl.lit(until).alias("until"))
        return rows.join(alike, on="actor", how="left")
