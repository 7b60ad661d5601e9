"""Whom two detectors find, among known bots and among accounts that nobody labelled, and whom both miss."""

from collections.abc import Sequence

import polars as pl

from gamewarden.evaluation.baselines import Fits
from gamewarden.evaluation.breakdowns import thresholds
from gamewarden.evaluation.capture_recapture import missed_between
from gamewarden.evaluation.cross_validation import by_actor, held_out
from gamewarden.evaluation.split_schemes import Ground, Plan
from gamewarden.evaluation.splits import Sides
from gamewarden.learning.label_sources import resolve

KNOWN, STRANGERS = "known bots, held out", "accounts without a label"


def missed_in(detectors: Sequence[Fits], scores: pl.DataFrame, strangers: pl.DataFrame | None) -> pl.DataFrame:
    """The estimates of both, at the thresholds that 1 of 100 held-out people passes; strangers where there are any.

    A share of the people among strangers is flagged too, so that their estimate counts who looks like a bot.
    """
    names = [detector.name for detector in detectors]
    actors = by_actor(scores).filter(pl.col("detector").is_in(names))
    bounds = thresholds(actors)
    bots = actors.filter("bot")
    known = missed_between(_above(bots, bounds), KNOWN, bots["actor"].n_unique())
    if strangers is None:
        return known
    return pl.concat([known, missed_between(_above(by_actor(strangers), bounds), STRANGERS, None)])


def _above(actors: pl.DataFrame, bounds: dict[str, float]) -> dict[str, set[str]]:
    return {
        name: set(actors.filter(pl.col("evidence") >= bound, detector=name)["actor"]) for name, bound in bounds.items()
    }


def judged_strangers(detectors: Sequence[Fits], made: Plan, ground: Ground) -> pl.DataFrame | None:
    """Scores of the unlabelled accounts by models of all labelled ones; None where everybody is labelled."""
    rows = ground.features.join(resolve(ground.labels).frame, on="actor", how="anti")
    if not rows.height or not detectors:
        return None
    test = rows.with_columns(bot=False, group=pl.col("actor"))
    side = Sides(0, made.labelled.rows, test)
    parts = [held_out(detector, side, ground.features, made.labels) for detector in detectors]
    return pl.concat(parts).drop_nulls("probability")
