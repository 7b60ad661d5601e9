"""Where results rest: FEATURES by recipe, events by kind, SCORES by model, each cut into partitions."""

from dataclasses import dataclass
from pathlib import Path

import polars as pl

from gamewarden.contracts import Feature, Recipe, canonical_json, digest
from gamewarden.core.clock import Clock
from gamewarden.core.durations import span_text
from gamewarden.store.partitions import Partitions
from gamewarden.store.verdicts import feature_name
from gamewarden.tables import FEATURES, SCORES, TIME, Schema

METHOD = 1  # raised when a later version measures or scores otherwise: whatever rests here is then computed anew
KINDS = Schema(
    "KINDS",  # how many events of each kind there were in each period
    {"since": TIME, "until": TIME, "kind": pl.String, "n": pl.Int64},
    required=("since", "until", "kind", "n"),
)


@dataclass(frozen=True)
class Rest:
    """The tables of one directory of results."""

    directory: Path

    def features(self, recipe: Recipe) -> Partitions:
        """FEATURES as this recipe measures them."""
        return Partitions(self.directory / "features" / f"{recipe.name}@{feature_name(recipe)}", FEATURES)

    def kinds(self, clock: Clock) -> Partitions:
        """How many events of each kind there are in the periods of a clock."""
        name = f"{span_text(clock.every)}@{digest(clock.time_zone)}"
        return Partitions(self.directory / "kinds" / name, KINDS)

    def scores(self, model: str) -> Partitions:
        """SCORES of a model, at the share of bots that it supposes itself."""
        return Partitions(self.directory / "scores" / model, SCORES)


def recipe_of(feature: Feature) -> Recipe:
    """A feature as results and models name it."""
    return Recipe(feature.name, feature.to_dict())


def came_from(*parts: object) -> str:
    """A digest of all that a partition depends on."""
    return digest(canonical_json([METHOD, *parts]))
