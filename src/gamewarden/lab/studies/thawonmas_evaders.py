"""What the chunk methods make of bots that hide, and what hiding costs: the same accounts, played in four disguises.

A farmer's account is played as it is, with a wide range of actions at a script's intervals, with few actions at random
intervals, and as a mimic of both. Nobody had labelled any of them: methods learn from the fourteen characters alone.
"""

from collections.abc import Iterator
from dataclasses import replace
from itertools import islice

import numpy as np
import polars as pl

from gamewarden.core.durations import HOUR, MINUTE
from gamewarden.detectors.actions.model import LinearScorer
from gamewarden.detectors.actions.recipe import Frequency, Interval, TwoStage
from gamewarden.features.actions.recipe import Actions
from gamewarden.lab.studies.thawonmas_cast import RESOURCES, Cast, Stage
from gamewarden.lab.studies.thawonmas_folds import chunks_of, held_out
from gamewarden.tables import FrameEvents

FARMER, CHEAT, HUMAN = "farmer", "cheat", "human"
WIDE, RANDOMISED, MIMIC = "wide-mimic", "randomised-farmer", "mimic"
SPARE = 4  # accounts of each family a world
SECONDS = 60  # t of the interval method
FIRST, SECOND = "first stage", "second stage"
BY = (FIRST, SECOND, TwoStage.name, Frequency.name, Interval.name)
LOOT = "loot an hour"
AS_CAST = "as cast"
ONE_RANDOMISED = f"one farmer as {RANDOMISED}"


def evaders(stage: Stage, cast: Cast) -> pl.DataFrame:
    """One row each kind of stranger: the share of its chunks of 60 minutes that each method catches, and its loot."""
    recipe = Actions(chunk=HOUR, t=SECONDS, kinds=RESOURCES, max_freq=True)
    known = _log(stage, [(actor, None) for actor in cast.all])
    feature = recipe.learn(known)
    machines = _machines(feature, known, stage.labels)
    return pl.DataFrame([_row(stage, feature, machines, who, lives) for who, lives in _strangers(stage, cast)])


def disguised(stage: Stage, cast: Cast) -> pl.DataFrame:
    """The MCC of every method at 60 minutes when the fourteen are the same but one or all of their farmers hide.

    The hidden are labelled and learned from, unlike the strangers of `evaders`.
    """
    farmers = stage.of(FARMER, cast.bots)
    casts: dict[str, dict[str, str]] = {AS_CAST: {}}
    for disguise in (RANDOMISED, WIDE):
        casts[f"one farmer as {disguise}"] = {farmers[0]: disguise}
        casts[f"all farmers as {disguise}"] = dict.fromkeys(farmers, disguise)
    return pl.DataFrame([{"cast": name, **_mcc(stage, cast, hidden)} for name, hidden in casts.items()])


def _mcc(stage: Stage, cast: Cast, hidden: dict[str, str]) -> dict[str, float]:
    chunks = chunks_of(stage, cast, HOUR // MINUTE, hidden)
    return {name: counts.mcc for name, _, counts in held_out(chunks, [SECONDS])}


def _strangers(stage: Stage, cast: Cast) -> Iterator[tuple[str, list[tuple[str, str | None]]]]:
    """Accounts beside the fourteen, each with the persona it plays; None is its own."""
    farmers = _spare(stage, stage.of(FARMER), cast)
    yield HUMAN, [(actor, None) for actor in _spare(stage, stage.humans(), cast)]
    yield FARMER, [(actor, None) for actor in farmers]
    for disguise in (WIDE, RANDOMISED, MIMIC):
        yield disguise, [(actor, disguise) for actor in farmers]
    yield CHEAT, [(actor, None) for actor in _spare(stage, stage.of(CHEAT), cast)]


def _spare(stage: Stage, actors: list[str], cast: Cast) -> list[str]:
    others = [actor for actor in actors if actor not in cast.all]
    return list(islice(stage.long_enough(others), SPARE))


def _log(stage: Stage, lives: list[tuple[str, str | None]]) -> FrameEvents:
    return FrameEvents(pl.concat([stage.life(*life).log for life in lives]))


def _machines(feature: Actions, known: FrameEvents, labels: pl.DataFrame) -> dict[str, LinearScorer]:
    table = feature.measure(known)
    two, often, gaps = (method(feature, enough=2).learn(table, labels) for method in (TwoStage, Frequency, Interval))
    weightless = tuple(replace(column, weight=0.0) for column in two.columns)
    alone = (replace(two, columns=weightless, intercept=-1.0), replace(two, stage=None))
    return dict(zip(BY, (*alone, two, often, gaps), strict=True))


def _row(
    stage: Stage, feature: Actions, machines: dict[str, LinearScorer], who: str, lives: list[tuple[str, str | None]]
) -> dict[str, object]:
    if not lives:
        return {"who": who, **dict.fromkeys((*BY, LOOT))}
    chunks = feature.measure(_log(stage, lives))
    caught = {how: float(np.mean(machine.decide(chunks) > 0)) for how, machine in machines.items()}
    return {"who": who, **caught, LOOT: float(np.mean([stage.life(*life).loot for life in lives]))}
