"""A fitted model of likeness: what it is blind to."""

from dataclasses import dataclass
from typing import ClassVar

from gamewarden.learning.logistic_model import ColumnModel

WEAKNESSES = (
    "It sees copies only: a bot whose script nobody else runs is like nobody.",
    "It speaks of others, so it is never enough alone: people who learned one rotation from one guide are alike, too.",
    "A script that draws its way and its rotation anew for each account leaves nothing to compare.",
)


@dataclass(frozen=True, kw_only=True)
class CopyModel(ColumnModel):
    """A fitted logistic regression on how alike an account is to others."""

    always_weak: ClassVar[tuple[str, ...]] = WEAKNESSES
