"""How probably one script runs on several accounts: what they do and where they walk, beyond what peers share."""

from dataclasses import dataclass
from typing import Any, ClassVar

from gamewarden.detectors.copies.model import CopyModel
from gamewarden.learning.logistic import EACH_ONCE, LogisticRecipe
from gamewarden.learning.recipe import option


@dataclass(frozen=True)
class CopyDetector(LogisticRecipe[CopyModel]):
    """A logistic regression on likeness beyond that of peers and on shared ways.

    Likeness as such is left out: whoever does one thing for hours is like everybody else who does.
    """

    name: ClassVar[str] = "copies"
    says: ClassVar[str] = "How alike an account's doings and ways are to others', as the probability of a bot."
    sees: ClassVar[str] = "copies"
    model: ClassVar[type[Any]] = CopyModel
    too_little: ClassVar[str] = "days with too little play to compare"
    counts: ClassVar[frozenset[str]] = frozenset({"alike_with", "same_way_with"})
    may_be_absent: ClassVar[frozenset[str]] = frozenset({"same_way", "same_way_with"})

    columns: tuple[str, ...] = option(
        ("alike_beyond", "alike_with", "same_way", "same_way_with"), (("alike_beyond", "alike"),), EACH_ONCE
    )
