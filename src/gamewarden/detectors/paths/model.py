"""A fitted model of ways: what it is blind to."""

from dataclasses import dataclass
from typing import ClassVar

from gamewarden.learning.logistic_model import ColumnModel

WEAKNESSES = (
    "It sees only what walks: whoever stands still, trades or crafts has no way.",
    "A script that chooses its places anew each time, or scatters them by more than a cell, looks like a person.",
    "Where a map leaves only one way (corridors, rails, portals), people repeat theirs too: fit it on the same game.",
)


@dataclass(frozen=True, kw_only=True)
class PathModel(ColumnModel):
    """A fitted logistic regression on how much of a way was walked before."""

    always_weak: ClassVar[tuple[str, ...]] = WEAKNESSES
