"""A light look at what benchmarks/bench_world_calibration.py measures in earnest."""

import polars as pl
import pytest

from gamewarden.evaluation.metrics import auc
from gamewarden.features.self_similarity.recipe import SelfSimilarity
from gamewarden.lab.world import World
from gamewarden.lab.world.games import GAMES

pytestmark = pytest.mark.integration

PUBLISHED = {"lineage": 0.8967, "aion": 0.9557, "blade-and-soul": 0.8280}  # Lee et al., model 1
FEATURES = [name for name in SelfSimilarity().names if name != "windows"]


@pytest.fixture(scope="module")
def measured() -> dict[str, pl.DataFrame]:
    worlds = {game.name: World(game.name, accounts=300, days=1, seed=1) for game in GAMES}
    return {
        name: SelfSimilarity()
        .measure(world)
        .join(world.labels().select("actor", "bot"), on="actor")
        .drop_nulls("self_sim")
        for name, world in worlds.items()
    }


@pytest.mark.parametrize("game", PUBLISHED)
def test_self_similarity_alone_tells_about_as_much_as_published(game: str, measured: dict[str, pl.DataFrame]):
    frame = measured[game]

    assert auc(frame["self_sim"].to_numpy(), frame["bot"].to_numpy()) == pytest.approx(PUBLISHED[game], abs=0.08)


@pytest.mark.parametrize("game", PUBLISHED)
def test_no_single_feature_gives_bots_away(game: str, measured: dict[str, pl.DataFrame]):
    frame = measured[game]

    for feature in FEATURES:
        known = frame.drop_nulls(feature)
        assert 0.01 < auc(known[feature].to_numpy().astype(float), known["bot"].to_numpy()) < 0.99, feature


def test_medians_of_self_similarity_are_ordered_as_published(measured: dict[str, pl.DataFrame]):
    medians = {
        (game, bot): frame.filter(bot=bot)["self_sim"].median()
        for game, frame in measured.items()
        for bot in (True, False)
    }

    for bot in (True, False):
        assert medians["lineage", bot] > medians["aion", bot] > medians["blade-and-soul", bot]
    assert all(medians[game, True] > medians[game, False] for game in PUBLISHED)
