"""A session as the numbers a classifier weighs: Cornelissen's nine, and what stands in for one not measured."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from gamewarden.errors import FitError
from gamewarden.learning.calibration import KEY, Flags, Floats
from gamewarden.learning.columns import checked as numbers_of
from gamewarden.learning.standard import GRID, steady
from gamewarden.learning.validation import Percentiles, Positive, Text

# The order of the published code, not of its text.
NINE = (
    "packets_per_s",
    "move_dx",
    "move_dy",
    "move_distance",
    "move_gap_ms",
    "take_gap_ms",
    "turn_to_take_ms",
    "attack_to_take_ms",
    "continuous_attacks_per_s",
)
# What the thesis proposes for later, and the rate that it counts and leaves out.
MORE = ("turn_mean_deg", "turn_circular_variance", "turn_back_share", "once_attacks_per_s")
MISSING = ("median", "indicator")
Z_SCORES, PUBLISHED = "z-scores", "published"


@dataclass(frozen=True)
class Column:
    """One number of a session as a machine sees it: (value − center) / spread."""

    name: Text
    center: float
    spread: Positive
    fill: float  # stands in for a value that was not measured
    flag: bool  # a further input, 1 where it was not measured and 0 elsewhere
    percentiles: Percentiles  # of the training humans, 0 % to 100 %

    @property
    def typical(self) -> float:
        """The median human of training."""
        return self.percentiles[len(self.percentiles) // 2]


def checked(features: pl.DataFrame, columns: Sequence[str], door: str) -> pl.DataFrame:
    """Sessions as FEATURES, with the columns as numbers that can be used.

    Raises:
        TableError: a column is missing, a number is infinite, or a session has no actor or no time.
    """
    counted = features if "events" in features.columns else features.rename({"packets": "events"}, strict=False)
    numbers = numbers_of(counted, ("valid", "enough", *columns), door, f"sessions have {', '.join((*NINE, *MORE))}")
    return numbers.with_columns(pl.col("valid", "enough").cast(pl.Boolean).fill_null(False))


def judged(table: pl.DataFrame, *, as_published: bool) -> pl.Series:
    """Which sessions can be judged: those of more than ten minutes, and with enough in them.

    As published every session of more than ten minutes is judged, even one spent sitting.
    """
    return table["valid"] & (table["enough"] | pl.repeat(as_published, table.height, eager=True))


def learn_columns(names: Sequence[str], values: Floats, bot: Flags, how: str, missing: str) -> tuple[Column, ...]:
    """How each number is scaled, from the training sessions alone."""
    return tuple(_learn_column(name, values[:, at], bot, how, missing) for at, name in enumerate(names))


def _learn_column(name: str, values: Floats, bot: Flags, how: str, missing: str) -> Column:
    measured = values[~np.isnan(values)]
    human = values[~bot & ~np.isnan(values)]
    fill = float(np.median(measured)) if measured.size else 0.0
    percentiles = np.quantile(human if human.size else np.array([fill]), GRID)
    if how == PUBLISHED:
        center, spread = 0.0, 1.0
    else:
        center = float(measured.mean()) if measured.size else 0.0
        deviation = float(measured.std()) if measured.size else 0.0
        spread = 1.0 if steady(np.array(center), np.array(deviation)) else deviation
    flag = missing == "indicator" and 0 < measured.size < values.size
    return Column(name, center, spread, fill, flag, tuple(percentiles.tolist()))


def inputs(columns: Sequence[Column], values: Floats) -> Floats:
    """What a machine is shown, a row a session: the scaled numbers, then the flags."""
    holes = np.isnan(values)
    scaled = [
        (np.where(holes[:, at], column.fill, values[:, at]) - column.center) / column.spread
        for at, column in enumerate(columns)
    ]
    flags = [holes[:, at].astype(np.float64) for at, column in enumerate(columns) if column.flag]
    return np.column_stack([*scaled, *flags])


def width(columns: Sequence[Column]) -> int:
    """How many inputs a machine is shown."""
    return len(columns) + sum(column.flag for column in columns)


def refuse_unmeasured(values: Floats, names: Sequence[str], door: str) -> None:
    """Stop where a number was never measured in training: nothing can be learned from it.

    Raises:
        FitError: there is such a number.
    """
    empty = [name for at, name in enumerate(names) if np.isnan(values[:, at]).all()]
    if empty:
        raise FitError(f"{door}: {', '.join(empty)} was never measured in training; leave it out of --columns")


def digest_parts(table: pl.DataFrame, columns: Sequence[str]) -> list[Any]:
    """Names and values of what a model learns from, rows in a fixed order."""
    ordered = table.sort([*KEY, *columns], nulls_last=True)
    seen = ordered.select("since", "until", "events", "valid", "enough", *columns)
    values = [np.ascontiguousarray(column.to_physical().cast(pl.Float64).to_numpy()) for column in seen]
    return ["\x00".join(columns), "\x00".join(ordered["actor"].to_list()), *(column.tobytes() for column in values)]
