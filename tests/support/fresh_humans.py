"""Synthetic people by the thousand, measured once, for tests of what FPRs promise."""

from functools import cache

import polars as pl

from gamewarden.features.self_similarity.recipe import SelfSimilarity
from gamewarden.lab.world import World

GAME = "lineage"


@cache
def recipe() -> SelfSimilarity:
    return SelfSimilarity().learn(World(GAME, 300, 1, seed=901))


@cache
def people(seed: int, accounts: int, bots: float = 0.0) -> tuple[pl.DataFrame, pl.DataFrame]:
    """FEATURES of a day, and LABELS."""
    world = World(GAME, accounts, 1, seed, bots=bots)
    return recipe().measure(world), world.labels()
