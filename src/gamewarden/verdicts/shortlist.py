"""Who may stand on a list, from the probabilities alone: of nobody else more has to be read for it.

Probabilities found here may differ from those of the list in their last bits, since sums depend on the order of what is
added. So whoever is within a hair's breadth of a border is looked at closely, and the list itself decides.
"""

from dataclasses import dataclass

import polars as pl

from gamewarden.verdicts.ranking import EDGE, mean_probability

GLANCE = ("actor", "since", "until", "probability", "covered")  # what of SCORES it takes


@dataclass(frozen=True)
class Shortlist:
    """The actors that a list has to look at closely."""

    actors: list[str]
    periods: pl.DataFrame  # since and until of the scores of all who may reach the list, each period once
    others: int = 0  # how many more reach the list, all of them below these


def shortlist(scores: pl.DataFrame, threshold: float, top: int = 0) -> Shortlist:
    """Those who may stand among the first `top` of a list that begins at a probability; of 0 all who may reach it."""
    near = _near(scores, threshold)
    first = _first(near, threshold, top)
    theirs = scores.filter(_is_one_of(near["actor"]))
    return Shortlist(first["actor"].to_list(), _periods(theirs), near.height - first.height)


def highest(scores: pl.DataFrame) -> Shortlist:
    """Those who may have the highest probability of all, whether it reaches a list or not."""
    believed = _believed(scores)
    best = believed.filter(pl.col("probability") >= pl.col("probability").max() - EDGE)
    return Shortlist(best["actor"].to_list(), _periods(scores))


def _near(scores: pl.DataFrame, threshold: float) -> pl.DataFrame:
    """Actor and probability of all who may reach a threshold, and of some who are an edge below it."""
    reaches = pl.col("probability") >= threshold - EDGE
    once = scores.filter(reaches)["actor"].unique()  # nobody's mean is above its highest period
    return _believed(scores.filter(_is_one_of(once))).filter(reaches)


def _first(near: pl.DataFrame, threshold: float, top: int) -> pl.DataFrame:
    sure = pl.col("probability") >= threshold + EDGE
    reached = near.filter(sure)["probability"]
    if not 0 < top < len(reached):
        return near
    last = pl.lit(reached.top_k(top).min())
    return near.filter(~sure | (pl.col("probability") >= last - EDGE))


def _believed(scores: pl.DataFrame) -> pl.DataFrame:
    return scores.group_by("actor").agg(mean_probability().alias("probability"))


def _periods(scores: pl.DataFrame) -> pl.DataFrame:
    return scores.select("since", "until").unique()


def _is_one_of(actors: pl.Series) -> pl.Expr:
    return pl.col("actor").is_in(actors.implode())
