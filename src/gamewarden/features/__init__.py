"""Events, packets, messages and tables to numbers: one family of features a package or file, named in REGISTRY."""

from gamewarden.contracts import Feature
from gamewarden.core.registry import Registry
from gamewarden.errors import MeasureError

# A family's name, and where its recipe lives. Recipes are imported when asked for: --help must not pay for them.
REGISTRY = Registry(
    "gamewarden.features",
    "feature family",
    {
        "self-similarity": "gamewarden.features.self_similarity.recipe:SelfSimilarity",
        "activity": "gamewarden.features.activity:Activity",
        "actions": "gamewarden.features.actions.recipe:Actions",
        "pulses": "gamewarden.features.pulses.recipe:Pulses",
        "traffic": "gamewarden.features.traffic.recipe:TrafficTest",
        "session": "gamewarden.features.session.recipe:Sessions",
        "copies": "gamewarden.features.copies.recipe:Copies",
        "paths": "gamewarden.features.paths.recipe:Paths",
        "flows": "gamewarden.features.flows:Flows",
        "rhythm": "gamewarden.features.rhythm.recipe:Rhythm",
        "names": "gamewarden.features.name_series:Names",
        "signs": "gamewarden.features.signs:Signs",
        "account-table": "gamewarden.features.account_table.recipe:AccountTable",
    },
    MeasureError,
)


def names() -> tuple[str, ...]:
    """Every family, those of installed packages last."""
    return REGISTRY.names


def usable() -> tuple[str, ...]:
    """The same without those of installed packages that cannot be loaded."""
    return REGISTRY.usable


def load(name: str) -> type[Feature]:
    """The recipe of a family by its name.

    Raises:
        MeasureError: there is no such family.
    """
    recipe: type[Feature] = REGISTRY.load(name)
    return recipe
