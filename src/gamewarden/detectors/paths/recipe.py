"""How probably a script walks: how much of an account's way it had walked before (Mitterhofer et al. 2009)."""

from dataclasses import dataclass
from typing import Any, ClassVar

from gamewarden.detectors.paths.model import PathModel
from gamewarden.learning.logistic import EACH_ONCE, LogisticRecipe
from gamewarden.learning.recipe import option


@dataclass(frozen=True)
class PathDetector(LogisticRecipe[PathModel]):
    """A logistic regression on the repeated way, its longest run, its laps and the places turned at again."""

    name: ClassVar[str] = "paths"
    says: ClassVar[str] = "How much of its way an account walks again and again, as the probability of a bot."
    sees: ClassVar[str] = "paths"
    model: ClassVar[type[Any]] = PathModel
    too_little: ClassVar[str] = "periods with too few way-points"
    counts: ClassVar[frozenset[str]] = frozenset({"repeated_run", "laps"})

    columns: tuple[str, ...] = option(
        ("repeated_way", "repeated_run", "laps", "same_places"), (("repeated_way",),), EACH_ONCE
    )
