"""What `rank` and `judge` say of each other: which operating points can be reached, and where the two may differ."""

import math
from collections.abc import Iterator, Sequence
from pathlib import Path

import polars as pl

from gamewarden import detectors, features
from gamewarden.contracts import Card, Model
from gamewarden.pipeline.sources import detectors_of_sources
from gamewarden.store import model_registry
from gamewarden.verdicts.points import CONSERVATIVE, NEITHER, PROGRESSIVE, Points
from gamewarden.verdicts.reach import Reach, Voice

_ORDER = {CONSERVATIVE: 0, PROGRESSIVE: 1, NEITHER: 2}


def reach_of(models: Sequence[Model], fusion: Model | None, points: Points) -> tuple[str, ...]:
    """Why nobody can reach the conservative point with these models, where that is so."""
    families = [Voice(model.feature.name, _humans(model.card)) for model in _speaking(models)]
    fused = None if fusion is None else Voice(fusion.id, _humans(fusion.card))
    inputs = {features.load(model.feature.name).input for model in models}
    others = [
        name
        for name in detectors_of_sources()
        if (seen := detectors.feature_of(name)) not in {voice.name for voice in families}
        and features.load(seen).input in inputs
    ]
    told = Reach(points, families, fused).sentence(others)
    heard = [*(model.card for model in _speaking(models)), *([] if fusion is None else [fusion.card])]
    return (*rare_styles(heard, points), *([] if told is None else [told]))


def rare_styles(cards: Sequence[Card], points: Points) -> Iterator[str]:
    """Of which styles of play too few people are known for even the progressive point, where there are some."""
    counts: dict[str, int] = {}
    for card in cards:
        for style, humans in card.parameters.get("humans_by_style", {}).items():
            counts[style] = max(humans, counts.get(style, 0))
    rare = [f"{style} ({humans})" for style, humans in sorted(counts.items()) if 1 / (humans + 1) > points.progressive]
    if rare and points.progressive:
        yield (
            f"Of some styles of play too few people are known for anybody to reach a point: {', '.join(rare)}; an "
            f"alarm of {points.progressive:g} takes {math.ceil(1 / points.progressive) - 1} of one style. Models that "
            "do not tell styles apart may reach it still."
        )


def best_points(verdicts: pl.DataFrame, points: Points) -> pl.DataFrame:
    """One row an actor: the highest operating point that one of its periods reaches; null where none was judged."""
    told = verdicts.with_columns(points.reached(verdicts))
    order = pl.col("point").replace_strict(_ORDER, default=len(_ORDER), return_dtype=pl.Int64)
    return told.sort(order, "actor").unique("actor", keep="first", maintain_order=True).select("actor", "point")


def other_voices(directory: Path, model: Model) -> Iterator[str]:
    """Why `judge` may see an account otherwise than this model alone does, where it may."""
    stored = {one.detector for one in model_registry.in_force(directory)}
    kind = features.load(model.feature.name).input
    mates = [name for name in detectors_of_sources() if features.load(detectors.feature_of(name)).input == kind]
    fusing = [name for name in detectors.usable() if detectors.fuses(name)]
    others = [name for name in (*fusing, *mates) if name in stored]
    others = [name for name in others if name != model.card.detector]
    first = next(name for name in detectors.of_feature(model.feature.name) if name in stored)
    if all(detectors.feature_of(name) == model.feature.name for name in others) and first == model.card.detector:
        same = ", ".join((first, *others))
        yield from [f"`judge` gives the same points; its probability is the mean of {same}."] if others else []
    else:
        heard = ", ".join(others)
        yield f"Alarm and point are {model.card.detector}'s alone; `judge` hears {heard} too and may see it otherwise."


def beside_the_list(verdicts: pl.DataFrame, points: Points, listed_from: float) -> Iterator[str]:
    """How many periods a list of probabilities would show though their alarm reaches no point, where there are some."""
    probable = points.reached(verdicts.filter(pl.col("probability") >= listed_from)) == NEITHER
    if count := int(probable.sum()):
        yield (
            f"{count:,} periods reach no point with a probability of {listed_from:g} or more, from which `rank` lists: "
            f"points go by the alarm, here above {points.progressive:g}; too many people of their style look alike, or "
            "too few people of it are known."
        )


def _speaking(models: Sequence[Model]) -> list[Model]:
    """The detector that speaks for each family: the first."""
    first: dict[str, Model] = {}
    for model in models:
        first.setdefault(model.feature.name, model)
    return list(first.values())


def _humans(card: Card) -> int:
    """The held-out humans of the style, or the length of a day, that has most; of all where none are told apart."""
    parts = card.parameters.get("humans_by_rows_of_a_day") or card.parameters.get("humans_by_style")
    return max(parts.values()) if parts else int(card.parameters.get("humans", 0))
