"""The pipeline composes: few files, no statistics of its own, and no question that a contract does not answer."""

import ast
from pathlib import Path

import polars as pl
import pytest

from gamewarden import detectors, features, pipeline, readers
from gamewarden.core.durations import MINUTE
from gamewarden.detectors.logistic.recipe import AccountDay
from gamewarden.features.self_similarity.recipe import SelfSimilarity
from gamewarden.pipeline.fitting import detector_recipe
from made_up import account_days, action_log, labels_of

FILES = sorted(Path(pipeline.__file__).parent.glob("*.py"))


def calls(path):
    return [node for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(node, ast.Call)]


def named(call):
    return call.func.id if isinstance(call.func, ast.Name) else None


def test_the_pipeline_has_at_most_twelve_files():
    assert len(FILES) <= 12


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_no_file_of_the_pipeline_computes_with_arrays(path):
    imported = [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Import)]

    assert not {name.name for node in imported for name in node.names} & {"numpy", "pyarrow", "scipy", "math"}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_no_file_of_the_pipeline_asks_for_an_attribute_that_may_be_there(path):
    assert not [call for call in calls(path) if named(call) in {"getattr", "hasattr"}]


def test_every_name_that_the_pipeline_offers_is_there_under_it():
    offered = {name: getattr(pipeline, name) for name in pipeline.__all__}

    assert sorted(name for names in pipeline._FROM.values() for name in names) == sorted(offered)
    assert set(pipeline.__all__) <= set(dir(pipeline))
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        pipeline.nothing  # noqa: B018  asking is the point


def test_a_lake_can_be_read_in_parts_and_a_file_or_table_cannot(tmp_path):
    action_log().write_parquet(tmp_path / "log.parquet")
    pipeline.read(readers.open(tmp_path / "log.parquet"), tmp_path / "lake")
    lake = readers.open(tmp_path / "lake").parted()

    (first, last) = next(iter(lake.stretches))
    alone = lake.between(first, last + 1).of(["bot001"])
    assert {actor for batch in alone.batches(["actor"]) for actor in batch["actor"].to_pylist()} == {"bot001"}
    assert readers.open(tmp_path / "log.parquet").parted() is None
    assert readers.open(action_log()).parted() is None


def test_a_detector_is_put_around_another_feature_and_stays_as_it_was():
    recipe = detector_recipe("account-day", SelfSimilarity(), {"folds": 4})

    other = recipe.around(SelfSimilarity(unit=2 * MINUTE))

    assert (other.feature.unit, other.folds, recipe.feature.unit) == (2 * MINUTE, 4, MINUTE)


@pytest.mark.parametrize("name", features.names())
def test_a_feature_takes_the_options_that_it_has_and_leaves_the_others(name):
    recipe = features.load(name).taking({"time_zone": "Asia/Seoul", "no such option": 1})

    assert recipe.name == name
    assert "time_zone" not in recipe.to_dict() or recipe.to_dict()["time_zone"] == "Asia/Seoul"


def test_a_model_tells_styles_of_play_apart_or_says_that_it_does_not():
    rows = account_days()
    model = AccountDay(SelfSimilarity()).fit(rows, labels_of())

    styles = model.told_styles(rows)
    assert styles.len() == rows.height
    assert styles.name == "style"
    assert styles.dtype == pl.String
    assert "account-day" in detectors.names()
