"""`gamewarden evaluate` on a small synthetic game: splits side by side, a report, results beside the models."""

import json

import pytest

from commands import run
from gamewarden.store.evaluations import load_results

pytestmark = pytest.mark.integration


@pytest.fixture(scope="module")
def game(tmp_path_factory):
    place = tmp_path_factory.mktemp("game")
    for command in (
        ("world", place / "world", "--accounts", 70, "--days", 2, "--seed", 5, "--game", "aion"),
        (
            "fit",
            "account-day",
            place / "world/events.parquet",
            "--labels",
            place / "world/labels.csv",
            "--to",
            place / "models",
        ),
    ):
        ended = run(*command)
        assert ended.returncode == 0, ended.stderr
    return place


@pytest.fixture(scope="module")
def evaluated(game):
    ended = run(
        *(
            "evaluate",
            game / "world/events.parquet",
            "--labels",
            game / "world/labels.csv",
            "--split",
            "all",
            "--folds",
            3,
        ),
        *("--report", game / "report.html", "--models", game / "models", "--json"),
    )
    assert ended.returncode == 0, ended.stderr
    return ended


def test_every_split_is_there_with_its_baselines(evaluated):
    rows = json.loads(evaluated.stdout)

    assert {row["split"] for row in rows} == {"random", "actor", "farm", "time", "family"}
    assert {row["detector"] for row in rows} == {"account-day", "self-similarity", "dummy", "events alone"}
    assert all(row["tied"] == 0 for row in rows if row["split"] == "farm")
    assert all(row["tied"] > 0 for row in rows if row["split"] == "actor")


def test_a_farm_on_both_sides_is_said_aloud(evaluated):
    assert "WARNING: Accounts tested are tied by trade, address or named group" in evaluated.stderr


def test_the_report_says_that_it_is_synthetic(evaluated, game):
    del evaluated
    page = (game / "report.html").read_text()

    assert ">synthetic<" in page
    assert "http:" not in page


def test_results_lie_beside_the_model_of_the_same_recipe_and_data_only(evaluated, game):
    (model,) = [path.stem for path in (game / "models").glob("account-day@????????????.json")]

    kept = load_results(game / "models", model)

    assert {row["split"] for row in kept["splits"]} == {"random", "actor", "farm", "time", "family"}
    assert {row["detector"] for row in kept["splits"]} == {"account-day", "dummy", "events alone"}
    assert kept["labels"][0]["source"] == "simulation"
    assert len(list((game / "models").glob("*.results.json"))) == 1
    assert "has no model of this recipe, log and labels (self-similarity@" in evaluated.stderr


def test_the_models_card_shows_its_results_by_split(evaluated, game):
    del evaluated

    shown = run("model", "show", "account-day", "--models", game / "models")

    assert shown.returncode == 0, shown.stderr
    assert "## Results: by split" in shown.stdout
    assert "| random | account-day |" in shown.stdout
    assert "| farm | dummy |" in shown.stdout


@pytest.mark.parametrize(
    ("options", "code", "words"),
    [
        (["--split", "moon"], 2, "'moon' is not one of 'random', 'actor', 'farm', 'time', 'family', 'all'"),
        (["--report", "report.pdf"], 2, "end the name in .html"),
        (["--cut", "yesterday"], 2, "'yesterday' is not ISO 8601"),
        (["--cut", "0001-01-01T00:00:00+14:00"], 2, "'0001-01-01T00:00:00+14:00' is not ISO 8601"),
        (["--split", "time", "--cut", "2099-01-01"], 1, "choose another cut with --cut"),
    ],
    ids=["split", "report", "cut", "first-day", "far-cut"],
)
def test_what_cannot_be_done_is_said_in_one_line(game, options, code, words):
    ended = run("evaluate", game / "world/events.parquet", "--labels", game / "world/labels.csv", *options)

    assert ended.returncode == code
    assert words in ended.stderr
    assert "Traceback" not in ended.stderr
