"""gamewarden inside a Spark job of one's own: DataFrames in, DataFrames out, the same numbers to the last bit.

A frame of events goes in, with the columns of EVENTS that a game tells; FEATURES, SCORES or VERDICTS come out. Events
stay where they are: the driver sees counts alone. What stands beside the numbers is said as a warning
(`gamewarden.errors.Remark`), as in a notebook without Spark.
"""

import warnings
from collections.abc import Mapping
from os import PathLike
from typing import TYPE_CHECKING, Any

from gamewarden.core.extras import need
from gamewarden.errors import Remark

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from gamewarden.config import Config
    from gamewarden.contracts import Feature, Recipe
    from gamewarden.spark.judging import Told

__all__ = ["judge", "measure", "release", "score"]


def measure(
    df: "DataFrame",
    recipe: "str | Recipe | Feature | Mapping[str, Any]" = "self-similarity",
    *,
    time_zone: str | None = None,
    partitions: int | None = None,
    **options: Any,  # noqa: ANN401  each feature brings options of its own
) -> "DataFrame":
    """FEATURES of a frame of events, by a feature's name and options, or by a recipe.

    Raises:
        TableError: the frame lacks a column, or one is of a type that it cannot be.
        MeasureError: there is no such feature, or it is not measured from events.
        ConfigError: there is no such option, or a value that it cannot have.
    """
    need("gamewarden.spark", "pyspark")
    from gamewarden.spark.frames import events_of
    from gamewarden.spark.measuring import measured, recipe_of

    return measured(events_of(df, "measure"), recipe_of(recipe, time_zone, options), partitions)


def score(
    df: "DataFrame",
    models: "str | PathLike[str]",
    *,
    prevalence: float | None = None,
    time_zone: str | None = None,
    config: "Config | None" = None,
    partitions: int | None = None,
    keep: bool = True,
) -> "DataFrame":
    """SCORES of every account and period by every model in force that can judge these events.

    Whether a model can is known when all rows are: they are computed once before this returns, and kept (`release`
    frees them) unless `keep` is off, when whatever is done with the frame computes them again.

    Raises:
        ModelError: no model judges these events.
        TableError: the frame lacks a column, or one is of a type that it cannot be.
    """
    need("gamewarden.spark", "pyspark")
    from gamewarden.spark.judging import Bench

    bench = Bench.of(
        df,
        "score",
        models,
        config,
        time_zone=time_zone,
        prevalence=prevalence,
        partitions=partitions,
        keep=keep,
    )
    return _warned(bench.scores())


def judge(
    df: "DataFrame",
    models: "str | PathLike[str]",
    *,
    config: "Config | None" = None,
    every: str | int | None = None,
    prevalence: float | None = None,
    time_zone: str | None = None,
    partitions: int | None = None,
    keep: bool = True,
) -> "DataFrame":
    """VERDICTS of every account and period, from the models and the fusion in force.

    As with `score`, the rows behind them are computed once before this returns, and kept unless `keep` is off.

    Raises:
        ModelError: no model judges these events.
        TableError: the frame lacks a column, or one is of a type that it cannot be.
    """
    need("gamewarden.spark", "pyspark")
    from gamewarden.spark.judging import Bench

    bench = Bench.of(
        df,
        "judge",
        models,
        config,
        time_zone=time_zone,
        prevalence=prevalence,
        partitions=partitions,
        keep=keep,
    )
    return _warned(bench.verdicts(every))


def _warned(told: "Told") -> "DataFrame":
    """A frame, once its notes are said."""
    for line in told.notes:
        warnings.warn(line, Remark, stacklevel=3)
    return told.frame


def release(found: "DataFrame") -> None:
    """Free what `score` or `judge` keeps behind a frame; the frame stays good, and computes it again where needed."""
    from gamewarden.spark.keeping import release as freed

    freed(found)
