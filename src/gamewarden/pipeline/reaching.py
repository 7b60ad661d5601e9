"""What `rank` and `judge` say of each other: which operating points can be reached, and where the two may differ."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from gamewarden import detectors, features
from gamewarden.contracts import Model
from gamewarden.store import model_registry
from gamewarden.verdicts.points import Points
from gamewarden.verdicts.reach import otherwise_judged, out_of_reach


def reach_of(models: Sequence[Model], fusion: Model | None, points: Points) -> tuple[str, ...]:
    """Why nobody can reach the conservative point with these models, where that is so."""
    seen = {model.feature.name for model in models}
    inputs = {features.load(name).input for name in seen}
    others = [
        name
        for name in detectors.of_sources()
        if (other := detectors.feature_of(name)) not in seen and features.load(other).input in inputs
    ]
    return out_of_reach(models, fusion, points, others)


def other_voices(directory: Path, model: Model) -> Iterator[str]:
    """Why `judge` may see an account otherwise than this model alone does, where it may."""
    stored = {one.detector for one in model_registry.in_force(directory)}
    kind = features.load(model.feature.name).input
    mates = [name for name in detectors.of_sources() if features.load(detectors.feature_of(name)).input == kind]
    fusing = [name for name in detectors.names() if detectors.fuses(name)]
    others = [name for name in (*fusing, *mates) if name in stored]
    others = [name for name in others if name != model.card.detector]
    first = next(name for name in detectors.of_feature(model.feature.name) if name in stored)
    alike = all(detectors.feature_of(name) == model.feature.name for name in others) and first == model.card.detector
    return otherwise_judged(model.card.detector, others, alike=alike)
