"""Where a model's own probability becomes the one that people see: at the share of bots that the run supposes."""

import polars as pl

from gamewarden.contracts import Model
from gamewarden.verdicts.chunks import prior_of
from gamewarden.verdicts.prevalence import Prevalence, moved


def scored(model: Model, features: pl.DataFrame, prevalence: Prevalence) -> pl.DataFrame:
    """SCORES of a model, its probabilities moved from the share of bots among its labels to the supposed one."""
    return at_share(model.score(features), prior_of(model.card), prevalence.bots)


def at_share(scores: pl.DataFrame, prior: float, bots: float) -> pl.DataFrame:
    """Scores or verdicts whose probability supposed the share `prior`, where it is `bots`."""
    return scores.with_columns(moved(pl.col("probability"), prior, bots))
