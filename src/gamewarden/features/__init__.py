"""Events, packets, records and tables to numbers: one family of features a file, named in FEATURES."""

from importlib import import_module
from typing import cast

from gamewarden.contracts import Feature
from gamewarden.errors import MeasureError

# A family's name, and where its recipe lives. Recipes are imported when asked for: --help must not pay for them.
FEATURES = (
    ("self-similarity", "gamewarden.features.self_similarity", "SelfSimilarity"),
    ("activity", "gamewarden.features.activity", "Activity"),
    ("actions", "gamewarden.features.actions", "Actions"),
    ("traffic", "gamewarden.features.traffic", "TrafficTest"),
    ("session", "gamewarden.features.session", "Sessions"),
    ("account-table", "gamewarden.features.account_table", "AccountTable"),
)
NAMES = tuple(name for name, *_ in FEATURES)


def load(name: str) -> type[Feature]:
    """The recipe of a family by its name.

    Raises:
        MeasureError: there is no such family.
    """
    for known, module, recipe in FEATURES:
        if known == name:
            return cast("type[Feature]", getattr(import_module(module), recipe))
    raise MeasureError(f"feature family {name!r} is unknown; choose one of: {', '.join(NAMES)}")
