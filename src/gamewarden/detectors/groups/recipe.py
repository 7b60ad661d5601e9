"""How probably an account belongs to a farm, by the week's one-way gifts around it (Lee et al., NDSS 2016, 2.10)."""

from dataclasses import dataclass
from typing import Any, ClassVar

from gamewarden.detectors.groups.model import COUNTS, GroupsModel
from gamewarden.learning.logistic import EACH_ONCE, LogisticRecipe
from gamewarden.learning.recipe import option

COLUMNS = (
    "to_one",
    "one_way",
    "passed_on",
    "takers",
    "givers",
    "gave_n",
    "got_n",
    "loyal",
    "loyal_share",
    "star_n",
    "star_score",
    "chain_n",
    "mesh",
    "exchanges",
    "parties",
    "market",
)


@dataclass(frozen=True)
class Groups(LogisticRecipe[GroupsModel]):
    """A logistic regression on an account's place among those who give and take.

    Whoever neither gave nor got anything is not judged. How many others share an address is no column: households and
    cafés do.
    """

    name: ClassVar[str] = "groups"
    says: ClassVar[str] = "To whom an account hands what it earns, and who else does, as the probability of a farm."
    sees: ClassVar[str] = "flows"
    model: ClassVar[type[Any]] = GroupsModel
    too_little: ClassVar[str] = "days of accounts that neither gave nor got anything"
    counts: ClassVar[frozenset[str]] = COUNTS
    may_be_absent: ClassVar[frozenset[str]] = frozenset({"parties", "market"})

    columns: tuple[str, ...] = option(COLUMNS, (("to_one", "loyal"),), EACH_ONCE)
