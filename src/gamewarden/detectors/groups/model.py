"""A fitted model of an account's place among those who give and take."""

from dataclasses import dataclass
from typing import ClassVar

from gamewarden.learning.logistic_model import ColumnModel

__all__ = ["COUNTS", "GroupsModel"]

COUNTS = frozenset(
    {"takers", "givers", "gave_n", "got_n", "loyal", "star_n", "chain_n", "exchanges", "parties", "market"}
)
WEAKNESSES = (
    "It speaks of those around an account more than of the account: alone it is a reason to watch, and for no more.",
    "A farm that pays for what it hands over, or hands it over outside the game, is not seen.",
    "A guild whose members give to one bank and take nothing back for a week looks like a farm's collector.",
)


@dataclass(frozen=True, kw_only=True)
class GroupsModel(ColumnModel):
    """A fitted logistic regression on gifts."""

    always_weak: ClassVar[tuple[str, ...]] = WEAKNESSES
