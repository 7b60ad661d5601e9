"""Which group of players a period belongs to, so that an error that falls on one group is not hidden in the mean."""

import polars as pl

from gamewarden.evaluation.splits import PERIOD
from gamewarden.learning.styles import UNKNOWN, Styles

STYLE = "style"  # of the labels, where the operator has groups of its own


def styles_of(features: pl.DataFrame, labels: pl.DataFrame) -> pl.DataFrame:
    """The group of each measured period (actor, since, until, style): as the labels say, else by how it was played.

    Null where neither tells.
    """
    if STYLE not in labels.columns:
        told = Styles().tell(features).alias(STYLE)
        return features.select(*PERIOD).with_columns(told.replace({UNKNOWN: None}))
    given = labels.group_by("actor").agg(pl.col(STYLE).cast(pl.String).drop_nulls().min())
    return features.select(*PERIOD).join(given, on="actor", how="left", maintain_order="left")
