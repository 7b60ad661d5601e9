"""How probably an account belongs to a farm, by the week's one-way gifts around it (Lee et al., NDSS 2016, 2.10)."""

from dataclasses import dataclass
from typing import Any, ClassVar

from gamewarden.detectors.groups.model import COUNTS, GroupsModel
from gamewarden.learning.logistic import EACH_ONCE, LogisticRecipe
from gamewarden.learning.recipe import option

# How an account stands in a farm, and no more: how much it gives, or to how many, also tells a friendly veteran.
COLUMNS = ("star_score", "to_one", "chain_n", "passed_on", "exchanges")


@dataclass(frozen=True)
class Groups(LogisticRecipe[GroupsModel]):
    """A logistic regression on an account's place among those who give and take.

    Whoever neither gave nor got anything is not judged. How many others share an address is no column, since
    households and cafés do; nor is how much somebody gives, since whoever equips newcomers does.
    """

    name: ClassVar[str] = "groups"
    says: ClassVar[str] = "To whom an account hands what it earns, and who else does, as the probability of a farm."
    sees: ClassVar[str] = "flows"
    model: ClassVar[type[Any]] = GroupsModel
    too_little: ClassVar[str] = "days of accounts that neither gave nor got anything"
    counts: ClassVar[frozenset[str]] = COUNTS

    columns: tuple[str, ...] = option(COLUMNS, (("to_one", "loyal"),), EACH_ONCE)
