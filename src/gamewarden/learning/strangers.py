"""What a recipe says of actors that it was fitted without."""

from collections.abc import Callable

import numpy as np
import polars as pl

from gamewarden.contracts import Detector, Model
from gamewarden.learning.folds import assign_folds, max_folds
from gamewarden.learning.labels import label_periods


def scores_of_strangers(
    recipe: Detector,
    features: pl.DataFrame,
    labels: pl.DataFrame,
    *,
    folds: int,
    seed: int,
    door: str,
    shown: Callable[[Model], pl.DataFrame] | None = None,
) -> pl.DataFrame:
    """SCORES of every labelled actor by a recipe that was fitted without it.

    `shown` gives what a fitted model looks at, of a method that learns from other rows than it judges.
    """
    actors = (
        label_periods(features, labels, door)
        .rows.group_by("actor")
        .agg(pl.col("bot").max(), pl.col("group").first())
        .sort("actor")
    )
    bot = actors["bot"].to_numpy()
    groups = actors["group"].to_numpy().astype(np.str_)
    fold = assign_folds(groups, bot, max_folds(groups, bot, folds), seed)
    parts = []
    for part in range(int(fold.max()) + 1):
        out = actors.filter(pl.Series(fold == part))["actor"].implode()
        learned = recipe.fit(features.filter(~pl.col("actor").is_in(out)), labels.filter(~pl.col("actor").is_in(out)))
        seen = features if shown is None else shown(learned)
        parts.append(learned.score(seen.filter(pl.col("actor").is_in(out))))
    return pl.concat(parts)
