"""The shelf as people use it: which models there are, what each card says, how two differ, who is in force."""

import json
from dataclasses import replace
from datetime import UTC, datetime

import polars as pl
import pytest
from click.testing import CliRunner

from gamewarden import detectors, pipeline, readers
from gamewarden.cli import root
from gamewarden.contracts import Recipe
from gamewarden.core.durations import MINUTE
from gamewarden.errors import ConfigError, ModelError
from gamewarden.features.self_similarity.recipe import SelfSimilarity
from gamewarden.pipeline import RunOptions
from gamewarden.store import models
from gamewarden.verdicts.filters import range_filters
from gamewarden.verdicts.prevalence import SUPPOSED, scored
from made_up import action_log, labels_of

NOON = datetime(2026, 4, 1, 12, tzinfo=UTC)


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A log, its labels, and a shelf with two models of one detector and one of another."""
    place = tmp_path_factory.mktemp("shelf")
    action_log().write_parquet(place / "log.parquet")
    labels_of(12, 14, source="rater").write_csv(place / "labels.csv")
    for name, feature in (
        ("account-day", SelfSimilarity(min_windows=10)),
        ("account-day", SelfSimilarity(min_windows=10, unit=2 * MINUTE)),
        ("self-similarity", SelfSimilarity(min_windows=10)),
    ):
        recipe = pipeline.detector_recipe(name, feature, {})
        pipeline.fit(recipe, readers.open(place / "log.parquet"), place / "labels.csv", place / "models")
    return place


@pytest.fixture
def shelf(place, tmp_path):
    """A copy of the shelf, so that a test may change it."""
    for stored in models.stored(place / "models"):
        (tmp_path / stored.path.name).write_bytes(stored.path.read_bytes())
    return tmp_path


def ids(shelf, detector="account-day"):
    return [stored.id for stored in models.stored(shelf) if stored.detector == detector]


def run(*words):
    return CliRunner().invoke(root, [str(word) for word in words], catch_exceptions=False)


def measured(model, log):
    return pipeline.measure(SelfSimilarity.from_dict(model.feature.options), readers.open(log)).frame


def test_every_model_stands_in_the_list_with_what_it_was_made_from(place):
    table = pipeline.models_on(place / "models")

    assert table["detector"].to_list() == ["account-day", "account-day", "self-similarity"]
    assert table["in_force"].to_list() == [False, True, True]
    assert table["bots"].to_list() == [12] * 3
    assert table["humans"].to_list() == [14] * 3
    assert table["auc"].is_between(0, 1).all()
    assert (table["since"] < table["until"]).all()
    assert table["problem"].null_count() == 3


def test_a_damaged_model_stands_in_the_list_with_its_reason(shelf):
    first = models.stored(shelf)[0].path
    first.write_text(first.read_text()[:-9])

    table = pipeline.models_on(shelf)

    assert table.filter(pl.col("problem").is_not_null())["problem"].to_list()[0].startswith("it ends early")
    assert "problem" in pipeline.models_in_short(table).columns


def test_the_list_comes_as_json_too(place):
    rows = json.loads(run("model", "list", "--models", place / "models", "--json").output)

    assert [row["model"] for row in rows] == [stored.id for stored in models.stored(place / "models")]


def test_a_page_says_all_that_a_card_must(place):
    text = run("model", "show", "self-similarity", "--models", place / "models").output

    for words in (
        "# self-similarity@",
        "- in force",
        "- columns: actor, at, kind",
        "- since: 2026-03-01T00:00:00+00:00",
        "- sources: rater (bot 12, human 14)",
        "- auc: ",
        "| self_sim | no |",
        "## Where it fails",
    ):
        assert words in text


def test_the_page_of_every_detector_names_period_sources_results_needs_and_weaknesses(place, tmp_path):
    for name in ("actions-two-stage", "account-day"):
        feature = pipeline.feature_class_of(name)()
        recipe = pipeline.detector_recipe(name, feature, {})
        model = pipeline.fit(recipe, readers.open(place / "log.parquet"), place / "labels.csv", tmp_path).model
        values = json.loads(pipeline.page_of(model, tmp_path).json())

        assert values["training"]["since"] < values["training"]["until"]
        assert values["training"]["sources"] == {"rater": {"bot": 12, "human": 14}}
        assert 0 <= values["validation"]["auc"] <= 1
        assert values["needs"]["columns"]
        assert len(values["weaknesses"]) > 3


def test_promoting_and_rolling_back_say_what_is_in_force_and_why_is_kept(shelf):
    old, new = ids(shelf)

    promoted = run("model", "promote", old.partition("@")[2][:6], "--models", shelf, "--because", "it held up")
    again = run("model", "promote", old, "--models", shelf, "--because", "once more")
    back = run("model", "roll-back", "account-day", "--models", shelf, "--because", "complaints", "--by", "Ann")
    history = json.loads(run("model", "history", "--models", shelf, "--json").output)

    assert promoted.output == f"{old} is in force instead of {new}\n"
    assert "as it was before" in again.output
    assert back.output == f"{new} is in force instead of {old}\n"
    assert [(line["model"], line["because"], line["rolled_back"]) for line in history] == [
        (old, "it held up", False),
        (new, "complaints", True),
    ]
    assert history[1]["by"] == "Ann"


def test_scores_come_from_the_promoted_model(place, shelf):
    old, new = ids(shelf)
    before = pipeline.score(readers.open(place / "log.parquet"), shelf).frame
    pipeline.promote(shelf, old, because="", by="x", at=NOON)

    after = pipeline.score(readers.open(place / "log.parquet"), shelf).frame

    assert new in before["model"].to_list()
    assert old in after["model"].to_list()
    assert new not in after["model"].to_list()


def test_a_model_fitted_beside_a_promoted_one_says_how_it_would_take_over(place, shelf):
    old, new = ids(shelf)
    pipeline.promote(shelf, old, because="", by="x", at=NOON)
    recipe = pipeline.detector_recipe("account-day", SelfSimilarity(min_windows=10, unit=2 * MINUTE), {})

    fitted = pipeline.fit(recipe, readers.open(place / "log.parquet"), place / "labels.csv", shelf)

    assert fitted.notes[-1].startswith(f"{old} was promoted and stays in force; `gamewarden model promote {new}")
    assert [one.card.id for one in pipeline.load_models(shelf, "account-day")] == [old]


def test_a_detector_without_a_model_cannot_be_rolled_back(shelf):
    with pytest.raises(ModelError, match="no model of 'traffic', only of account-day, self-similarity"):
        pipeline.roll_back(shelf, "traffic", because="", by="x", at=NOON)


def test_two_models_are_compared_in_sentences_and_value_by_value(place):
    first, second = (pipeline.load_model(place / "models", one) for one in ids(place / "models"))

    found = pipeline.compare(first, second)

    text = "\n".join(found.sentences)
    assert "What they look at differs in unit (1m, 2m)." in text
    assert "The recipe is the same." in text
    assert "Both learned from 12 bots and 14 humans" in text
    units = found.table.filter(what="unit").row(0, named=True)
    assert (units["part"], units["first"], units["second"]) == ("what they look at", "1m", "2m")
    change = found.table.filter(what="auc")["change"].to_list()
    assert change == [] or abs(change[0]) == abs(first.validation["auc"] - second.validation["auc"])


def test_a_model_does_not_differ_from_itself(place):
    model = pipeline.load_model(place / "models", "self")

    found = pipeline.compare(model, model)

    assert found.sentences[0].endswith("the same model.")
    assert found.table.height == 0


def test_a_learned_number_that_differs_is_found(place):
    model = pipeline.load_model(place / "models", "self")
    (column,) = model.columns
    other = replace(model, columns=(replace(column, weight=column.weight + 0.5),))

    found = pipeline.compare(model, other)

    assert found.table.select("what", "change").rows() == [("columns self_sim weight", pytest.approx(0.5))]
    assert "self_sim's" in "\n".join(found.sentences)


def test_who_scores_differently_is_listed_with_the_largest_difference_first(place):
    both = tuple(pipeline.load_model(place / "models", one) for one in ids(place / "models"))

    told = pipeline.compare_on(both, readers.open(place / "log.parquet"), 0.5)

    scores = [scored(model, measured(model, place / "log.parquet"), SUPPOSED) for model in both]
    assert told.frame.height == scores[0].height
    assert told.frame["change"].drop_nulls().abs().is_sorted(descending=True)
    top = told.frame.row(0, named=True)
    expected = [one.filter(actor=top["actor"], since=top["since"])["probability"][0] for one in scores]
    assert [top["probability_first"], top["probability_second"]] == expected
    assert any(line.startswith("From 0.5 on both list") for line in told.notes)


def test_the_comparison_runs_at_the_command_line(place, tmp_path):
    first, second = ids(place / "models")
    done = run(
        "model", "diff", first, second, "--models", place / "models", "--on", place / "log.parquet",
        "--out", tmp_path / "difference.csv",
    )  # fmt: skip

    assert done.exit_code == 0
    assert pl.read_csv(tmp_path / "difference.csv").columns == ["part", "what", "first", "second", "change"]
    assert "probability_first" in pl.read_csv(tmp_path / "difference-scores.csv").columns


def test_a_bad_condition_is_found_before_anything_is_measured(place):
    wishes = pipeline.RankOptions(0.5, 10, "account-day", filters=range_filters("wealth", "3:"))
    measured = []

    with pytest.raises(ConfigError, match="there is no column 'wealth'"):
        pipeline.rank(readers.open(place / "log.parquet"), place / "models", wishes, progress=measured.append)

    assert not measured


def test_a_zone_that_the_model_was_not_fitted_with_is_spoken_of(place):
    told = pipeline.score(readers.open(place / "log.parquet"), place / "models", RunOptions("Asia/Seoul"))

    assert any("cuts days by UTC, as fitted; Asia/Seoul is only" in line for line in told.notes)
    without = pipeline.score(readers.open(place / "log.parquet"), place / "models")
    assert not any("cuts days" in line for line in without.notes)


def test_what_a_feature_needs_comes_from_its_registry():
    for name in detectors.of_sources():
        feature = pipeline.feature_class_of(name)
        recipe = feature(**({"actor": "id"} if feature.input == "table" else {}))
        needs = pipeline.needs_of(Recipe(feature.name, recipe.to_dict()))

        assert set(needs) >= {"a stream of", "columns"}
