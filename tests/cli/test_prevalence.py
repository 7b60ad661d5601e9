"""One share of bots for every command that shows a probability, on a small synthetic game."""

import json
import shutil

import polars as pl
import pytest

from commands import done
from gamewarden import pipeline, readers
from gamewarden.config import config_from
from gamewarden.learning.reference import smallest_fpr
from gamewarden.pipeline import VerifyOptions
from gamewarden.store import verdicts
from gamewarden.verdicts.prevalence import Prevalence, moved

SUPPOSES = "suppose that 1 % of all accounts are bots"


@pytest.fixture(scope="module")
def game(tmp_path_factory):
    """A synthetic game of one day, half of it bots, and a model."""
    place = tmp_path_factory.mktemp("game")
    done("world", place / "world", "--accounts", 80, "--days", 1, "--seed", 5, "--game", "aion")
    done("read", place / "world/events.parquet", "--to", place / "lake")
    done("fit", "account-day", place / "lake", "--labels", place / "world/labels.csv", "--to", place / "models")
    return place


@pytest.fixture(scope="module")
def rare(game):
    """What every command says where one in a hundred is a bot, by command."""
    common = (game / "lake", "--models", game / "models", "--prevalence", 0.01)
    first = json.loads(done("rank", *common, "--probability", 0, "--json").stdout)[0]["actor"]
    return {
        "score": done("score", *common, "--json"),
        "rank": done("rank", *common, "--probability", 0, "--top", 0, "--json"),
        "judge": done("judge", *common, "--json"),
        "explain": done("explain", first, *common),
    }


def by_actor(ended):
    return {row["actor"]: row["probability"] for row in json.loads(ended.stdout) if row["probability"] is not None}


def test_score_rank_and_judge_show_the_same_probability(rare):
    scores, listed, judged = (by_actor(rare[name]) for name in ("score", "rank", "judge"))

    assert len(scores) > 50
    assert listed == pytest.approx(scores)
    assert judged == pytest.approx(scores, abs=1e-9)


def test_it_is_the_models_own_with_its_odds_moved(game, rare):
    (model,) = pipeline.load_models(game / "models")
    seen = pipeline.judge(readers.open(game / "lake"), game / "models").features[model.card.id]
    own = dict(model.score(seen).drop_nulls("probability").select("actor", "probability").iter_rows())
    share = model.card.training["periods"]

    prior = share["bot"] / (share["bot"] + share["human"])
    assert 0.3 < prior < 0.7
    assert by_actor(rare["score"]) == pytest.approx({actor: moved(p, prior, 0.01) for actor, p in own.items()})


def test_every_command_says_which_share_it_used(rare):
    assert all(SUPPOSES in ended.stderr for ended in rare.values())
    assert "if 1 % of all accounts are bots" in rare["explain"].stdout


def test_a_list_in_a_file_carries_the_share(game, tmp_path):
    done("rank", game / "lake", "--models", game / "models", "--prevalence", 0.3, "--out", tmp_path / "list.csv")

    assert pl.read_csv(tmp_path / "list.csv")["prevalence"].unique().to_list() == [0.3]


def test_a_list_says_so_when_nobody_has_said_how_common_bots_are(game):
    ended = done("rank", game / "lake", "--models", game / "models", "--json")

    assert "5 % of all accounts are bots, which nobody has said of this game: set [population] bots" in ended.stderr


def test_the_setting_is_used_where_the_command_line_is_silent(game, tmp_path, rare):
    (tmp_path / "own.toml").write_text("[population]\nbots = 0.01\n")

    ended = done("--config", tmp_path / "own.toml", "score", game / "lake", "--models", game / "models", "--json")

    assert json.loads(ended.stdout) == json.loads(rare["score"].stdout)
    assert f"{SUPPOSES} ([population] bots)" in ended.stderr


def test_fprs_and_operating_points_do_not_depend_on_the_share(game):
    few, many = (
        pipeline.judge(readers.open(game / "lake"), game / "models", prevalence=Prevalence(share))
        for share in (0.0001, 0.9)
    )

    assert few.verdicts.drop("probability").equals(many.verdicts.drop("probability"))
    assert few.scores.drop("probability").equals(many.scores.drop("probability"))
    assert few.evidence.equals(many.evidence)
    assert (few.verdicts["probability"] < many.verdicts["probability"]).drop_nulls().all()


def test_a_fused_probability_moves_too_and_its_fpr_does_not(game, tmp_path):
    shelf = shutil.copytree(game / "models", tmp_path / "models")
    labels = game / "world/labels.csv"
    done("fit", "self-similarity", game / "lake", "--labels", labels, "--to", shelf)
    done("fit", "fusion", game / "lake", "--labels", labels, "--models", shelf, "--folds", 3)

    few, many = (
        pipeline.judge(readers.open(game / "lake"), shelf, prevalence=Prevalence(share)) for share in (0.01, 0.5)
    )

    assert few.fusion is not None
    assert few.verdicts.drop("probability").equals(many.verdicts.drop("probability"))
    back = few.verdicts.with_columns(moved(pl.col("probability"), 0.01, 0.5))["probability"]
    assert back.to_list() == pytest.approx(many.verdicts["probability"].to_list(), abs=1e-12)


@pytest.mark.integration
def test_a_kept_verdict_is_verified_at_the_share_it_was_given_at(game, tmp_path):
    judged = pipeline.judge(readers.open(game / "lake"), game / "models", prevalence=Prevalence(0.01))
    pipeline.record(judged, readers.open(game / "lake"), tmp_path / "kept", every_one=True)

    table = pipeline.verify([tmp_path / "kept"], VerifyOptions(game / "models", readers.open(game / "lake")))

    assert table["holds"].all(), table["says"][0]
    kept = verdicts.load(verdicts.stored(tmp_path / "kept")[0])
    assert kept["rules"]["bots"] == 0.01
    mine = judged.verdicts.filter(actor=kept["actor"])
    assert kept["probability"] == mine["probability"][0]


def test_models_are_compared_at_one_share(game):
    common = ("backtest", game / "lake", "--models", game / "models", game / "models", "--probability", 0.5, "--json")
    ended = done(*common, "--prevalence", 0.01)
    flagged = [json.loads(one.stdout)[0]["flagged_a"] for one in (ended, done(*common, "--prevalence", 0.9))]
    model = next((game / "models").glob("*.json")).stem
    diff = done("model", "diff", model, model, "--models", game / "models", "--on", game / "lake", "--prevalence", 0.01)

    assert flagged[0] < flagged[1]
    assert SUPPOSES in ended.stderr
    assert SUPPOSES in diff.stderr


def test_a_cost_gives_the_probability_that_lists_show_and_the_models_own_beside_it(game):
    common = ("budget", "--cost", "10:1", "--models", game / "models", "--json")
    (rare_row,) = json.loads(done(*common, "--prevalence", 0.01).stdout)
    (even_row,) = json.loads(done(*common, "--prevalence", rare_row["own_prevalence"]).stdout)

    assert rare_row["probability"] == pytest.approx(10 / 11)
    assert rare_row["own_probability"] > 0.99
    assert even_row["own_probability"] == pytest.approx(even_row["probability"])


def test_precision_is_stated_at_the_same_setting():
    from gamewarden.pipeline import Protocol

    written = config_from({"population": {"bots": 0.02}}, "warden.toml")

    assert Protocol.of(written, group=None, folds=None).prevalence == Prevalence(0.02, "[population] bots")


@pytest.mark.integration
def test_the_demo_ends_with_a_list_and_says_the_share_of_its_world(tmp_path):
    told = done("demo", "--to", tmp_path, "--accounts", 90).stdout

    assert "suppose that 50 % of all accounts are bots (as the synthetic game has them" in told
    assert f"Next: cd {tmp_path} && gamewarden rank" in told
    listed = done("--workspace", tmp_path, "rank", "--json")
    assert json.loads(listed.stdout)


@pytest.fixture(scope="module")
def two(game):
    """A shelf with two models of one family, as the demo has it."""
    shelf = shutil.copytree(game / "models", game / "two")
    done("fit", "self-similarity", game / "lake", "--labels", game / "world/labels.csv", "--to", shelf)
    return shelf


def test_rank_shows_the_point_that_judge_gives(game, two):
    common = (game / "lake", "--models", two)
    listed = done("rank", *common, "--probability", 0, "--top", 0, "--json")
    judged = pipeline.judge(readers.open(game / "lake"), two)

    points = {row["actor"]: row["point"] for row in json.loads(listed.stdout)}
    reached = judged.verdicts.with_columns(judged.points.reached(judged.verdicts))
    assert points == {actor: point for actor, point in reached.select("actor", "point").iter_rows() if actor in points}
    assert "watch" in points.values()
    assert "`judge` gives the same points; its probability is the mean of account-day, self-similarity" in listed.stderr


def test_a_weaker_detector_of_the_family_keeps_nobody_from_a_point(game, two):
    alone, both = (pipeline.judge(readers.open(game / "lake"), models) for models in (game / "models", two))

    assert both.verdicts["fpr"].equals(alone.verdicts["fpr"])
    assert (alone.points.reached(alone.verdicts) == "watch").any()


def test_rank_says_that_judge_hears_more(game, two):
    ended = done("rank", game / "lake", "--models", two, "--detector", "self-similarity", "--json")

    assert "FPR and point are self-similarity's alone; `judge` hears account-day too" in ended.stderr


def test_judge_says_in_one_line_why_nobody_can_reach_the_point_to_act(game, two):
    ended = done("judge", game / "lake", "--models", two, "--json")

    (line,) = [line for line in ended.stderr.splitlines() if line.startswith("Nobody can reach the point to act")]
    assert "only self-similarity can speak" in line
    assert "`gamewarden fit actions-interval`" in line


def test_judge_names_the_styles_of_which_too_few_people_are_known_to_reach_any_point(game):
    ended = done("judge", game / "lake", "--models", game / "models", "--json")
    (model,) = pipeline.load_models(game / "models")
    known = model.card.parameters["humans_by_style"]

    (line,) = [line for line in ended.stderr.splitlines() if "too few people are known for anybody" in line]
    lowest = {style: smallest_fpr(humans, model.card.parameters["humans"]) for style, humans in known.items()}
    assert all((f"{style} ({known[style]})" in line) == (rate > 0.05) for style, rate in lowest.items())
    assert max(lowest.values()) > 0.05


def test_rank_says_why_a_listed_account_has_no_point(game):
    ended = done("rank", game / "lake", "--models", game / "models", "--prevalence", 0.5, "--json")

    assert "neither" in {row["point"] for row in json.loads(ended.stdout)}
    assert "Of some styles of play too few people are known for anybody to reach a point" in ended.stderr


def test_one_model_is_not_said_to_be_combined(game):
    ended = done("judge", game / "lake", "--models", game / "models", "--json")

    assert "1 model; one family of features, self-similarity, and the FPR is account-day's." in ended.stderr


def test_judge_counts_those_a_list_would_show_and_says_why_they_reach_no_point(game, tmp_path):
    (tmp_path / "own.toml").write_text("[verdict]\nwatch = 0.0\nact = 0.0\n")
    common = ("judge", game / "lake", "--models", game / "models", "--prevalence", 0.5, "--json")
    ended = done("--config", tmp_path / "own.toml", *common)

    listed = sum((row["probability"] or 0) >= 0.8 for row in json.loads(ended.stdout))
    assert listed > 10
    assert f"{listed} periods reach no point with a probability of 0.8 or more" in ended.stderr
    assert "The point to act is closed" in ended.stderr
