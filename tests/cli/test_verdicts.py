"""`judge`, `budget` and `fit fusion` at the command line, on a small synthetic game."""

import json

import polars as pl
import pytest

from commands import done, run
from gamewarden import pipeline, readers
from gamewarden.config import Config, Verdict
from gamewarden.core.durations import HOUR
from gamewarden.tables import EVIDENCE, VERDICTS, check
from gamewarden.verdicts.points import OperatingPoints
from gamewarden.verdicts.prevalence import SUPPOSED, scored

pytestmark = pytest.mark.integration

KINDS = "loot.*,npc.*,item.use"


@pytest.fixture(scope="module")
def game(tmp_path_factory):
    place = tmp_path_factory.mktemp("game")
    done("world", place / "world", "--accounts", 70, "--days", 1, "--seed", 5, "--game", "aion")
    log, labels = place / "world/events.parquet", place / "world/labels.csv"
    done("fit", "account-day", log, "--labels", labels, "--to", place / "models")
    done("fit", "actions-frequency", log, "--labels", labels, "--to", place / "models", "--kinds", KINDS)
    return place


@pytest.fixture(scope="module")
def unfused(game):
    return pipeline.judge(readers.open(game / "world/events.parquet"), game / "models")


@pytest.fixture(scope="module")
def card(game):
    log, labels = game / "world/events.parquet", game / "world/labels.csv"
    return json.loads(
        done(
            *("fit", "fusion", log, "--labels", labels, "--models", game / "models", "--to", game / "fused"),
            *("--folds", 3, "--json"),
        ).stdout
    )


@pytest.fixture(scope="module")
def shelf(game, card):
    """The models with their fusion beside them."""
    fusion = game / "fused" / f"{card['id']}.json"
    both = game / "both"
    both.mkdir()
    for file in (*(game / "models").glob("*.json"), fusion):
        (both / file.name).write_bytes(file.read_bytes())
    return both


def test_without_a_fusion_fprs_are_combined_and_the_point_to_act_stays_out_of_reach(game, unfused):
    ended = done("judge", game / "world/events.parquet", "--models", game / "models", "--json")

    rows = json.loads(ended.stdout)
    assert list(rows[0]) == list(VERDICTS.columns)
    assert "FPRs were combined without labels" in ended.stderr
    assert "0 reach the point to act" in ended.stderr
    assert len(rows) == unfused.verdicts.height


def test_days_made_of_chunks_are_ranked_among_human_days_and_other_periods_are_said_not_to_be(game):
    log = game / "world/events.parquet"
    days, halves = (pipeline.judge(readers.open(log), game / "models", every=every) for every in (None, 12 * HOUR))

    assert not [line for line in days.notes if "parts of a period" in line]
    (told,) = [line for line in halves.notes if "parts of a period" in line]
    assert told.startswith("actions-frequency@")
    assert "was calibrated on periods of 1d in UTC, not on periods of 12h in UTC" in told
    assert "of as many rows as this one" in pipeline.judgement_summary(days)[0]


def test_a_model_ranks_days_on_the_clock_it_was_fitted_with(game, tmp_path):
    log, labels = game / "world/events.parquet", game / "world/labels.csv"
    done(
        *("fit", "actions-frequency", log, "--labels", labels, "--to", tmp_path, "--kinds", KINDS),
        *("--zone", "Asia/Seoul"),
    )
    there, elsewhere = (
        pipeline.judge(readers.open(log), tmp_path, pipeline.RunOptions(zone)).notes for zone in ("Asia/Seoul", None)
    )

    assert not [line for line in there if "parts of a period" in line]
    assert [line for line in elsewhere if "periods of 1d in Asia/Seoul, not on periods of 1d in UTC" in line]


def test_a_judgement_holds_all_that_its_verdicts_rest_on(unfused):
    reached = unfused.points.reached(unfused.verdicts).is_in(["act", "watch"])

    assert set(unfused.features) == {model.card.id for model in unfused.models} == set(unfused.scores["model"])
    check(unfused.verdicts, VERDICTS, "test")
    check(unfused.evidence, EVIDENCE, "test")
    assert set(unfused.evidence["actor"]) == set(unfused.verdicts.filter(reached)["actor"])
    for model in unfused.models:
        again = scored(model, unfused.features[model.card.id], SUPPOSED)
        assert again.sort("actor", "since").equals(unfused.scores.filter(model=model.card.id).sort("actor", "since"))


def test_every_actor_and_day_of_the_log_has_exactly_one_verdict(unfused):
    keys = unfused.verdicts.select("actor", "since")

    assert keys.is_unique().all()
    assert set(unfused.scores["actor"]) == set(keys["actor"])


def test_the_settings_decide_who_reaches_a_point(game):
    nobody = Config(verdict=Verdict(watch=0.0, act=0.0))

    found = pipeline.judge(readers.open(game / "world/events.parquet"), game / "models", config=nobody)

    assert found.points == OperatingPoints(0.0, 0.0, 2, bots=nobody.population.bots)
    assert set(found.points.reached(found.verdicts).drop_nulls()) == {"neither"}
    assert found.evidence.is_empty()


def test_a_fusion_names_its_models_and_how_good_it_was_on_strangers(game, card):
    models = sorted(path.stem for path in (game / "models").glob("*.json"))

    assert card["feature"]["models"] == models
    assert card["validation"]["auc"] > 0.8
    assert set(card["parameters"]["columns"]) == set(models)


def test_judging_with_a_fusion_says_so_and_gives_one_row_a_day(game, shelf, card, unfused):
    ended = done("judge", game / "world/events.parquet", "--models", shelf, "--json")

    rows = json.loads(ended.stdout)
    assert f"fused by {card['id']}" in ended.stderr
    assert [row["actor"] for row in rows] == unfused.verdicts["actor"].to_list()
    assert [row["fpr"] for row in rows] != unfused.verdicts["fpr"].to_list()


def test_a_fusion_does_without_a_missing_model_and_says_so(game, shelf, card, tmp_path):
    for file in shelf.glob("*.json"):
        if not file.name.startswith("actions-frequency"):
            (tmp_path / file.name).write_bytes(file.read_bytes())

    found = pipeline.judge(readers.open(game / "world/events.parquet"), tmp_path)

    assert found.fusion.id == card["id"]
    assert any("is missing: the fusion does without it" in line for line in found.notes)
    assert found.verdicts["fpr"].drop_nulls().len() > 0


def test_a_fusion_of_other_periods_is_not_used_and_that_is_said(game, shelf):
    found = pipeline.judge(readers.open(game / "world/events.parquet"), shelf, every=6 * 3_600_000_000)

    assert found.fusion is None
    assert any("was fitted on periods of 1d" in line for line in found.notes)


def test_scoring_and_ranking_go_on_beside_a_fusion(game, shelf):
    done("score", game / "world/events.parquet", "--models", shelf, "--out", game / "scores.csv")
    done("rank", game / "world/events.parquet", "--models", shelf, "--json")

    assert set(pl.read_csv(game / "scores.csv")["detector"]) == {"account-day", "actions-frequency"}


def test_one_model_needs_no_fusing(game, tmp_path):
    (file,) = (game / "models").glob("account-day*.json")
    (tmp_path / file.name).write_bytes(file.read_bytes())

    with pytest.raises(Exception, match="fit a second detector first"):
        done(
            *("fit", "fusion", game / "world/events.parquet", "--labels", game / "world/labels.csv"),
            *("--models", tmp_path),
        )


def test_a_budget_says_in_words_and_numbers_that_a_model_saw_too_few_humans(shelf, card):
    asked = ("budget", "--wrong-per-month", 2, "--players", 300_000, "--models", shelf)

    rows = json.loads(done(*asked, "--json").stdout)
    words = done(*asked).stdout

    assert rows[0]["model"] == card["id"]
    assert all(not row["above_review"] and row["fpr"] is None for row in rows)
    assert "Let a person review everything the model flags" in " ".join(words.split())


def test_a_generous_budget_gives_a_threshold_that_its_own_humans_keep(game):
    (row,) = json.loads(
        done(
            *("budget", "--wrong-per-month", 999, "--players", 1000, "--models", game / "models", "--json"),
            *("--confidence", 50),
        ).stdout
    )[:1]

    assert row["above_review"]
    assert 0 < row["fpr"] <= 1
    assert row["upper_bound"] <= row["may_be_accused"]


def test_a_budget_from_held_out_scores_counts_each_human_once(tmp_path):
    days = [f"2026-01-{day:02}T00:00:00Z" for day in (1, 2, 3)]
    rows = [
        {
            "actor": f"h{at}",
            "since": days[day],
            "until": days[day + 1],
            "detector": "d",
            "fpr": (at + day * 100 + 1) / 400,
        }
        for at in range(100)
        for day in (0, 1)
    ]
    pl.DataFrame(rows).write_csv(tmp_path / "scores.csv")
    pl.DataFrame({"actor": [f"h{at}" for at in range(100)], "bot": False}).write_csv(tmp_path / "labels.csv")

    (row,) = json.loads(
        done(
            *("budget", tmp_path / "scores.csv", "--labels", tmp_path / "labels.csv", "--json"),
            *("--wrong-per-month", 500, "--players", 1000),
        ).stdout
    )

    # Two days of thirty: 1 in 30 may be accused, and none of 100 is what 95 % confidence leaves.
    assert (row["humans"], row["fewest_days"], row["accused"]) == (100, 2.0, 0)
    assert row["upper_bound"] == pytest.approx(15 * (1 - 0.05 ** (1 / 100)), rel=1e-6)
    assert row["upper_bound"] <= row["may_be_accused"] == 0.5
    assert row["fpr"] < 1 / 400


def january(place, days, *, characters=1, people=300):
    """SCORES of people on some days of January, each with a few characters, and LABELS that name the account."""
    rows = [
        {
            "actor": f"h{at}-{own}",
            "since": f"2026-01-{day:02}T00:00:00Z",
            "until": f"2026-01-{day + 1:02}T00:00:00Z",
            "detector": "d",
            "fpr": (at * characters + own + 1) / (people * characters + 1),
        }
        for at in range(people)
        for own in range(characters)
        for day in days(at)
    ]
    pl.DataFrame(rows).write_csv(place / "scores.csv")
    labels = {row["actor"]: row["actor"].split("-")[0] for row in rows}
    pl.DataFrame({"actor": list(labels), "bot": False, "group": list(labels.values())}).write_csv(place / "labels.csv")
    return ("budget", place / "scores.csv", "--labels", place / "labels.csv", "--json")


def test_a_budget_counts_accounts_and_not_their_characters(tmp_path):
    asked = january(tmp_path, lambda _: range(1, 31), characters=2)

    (row,) = json.loads(done(*asked, "--wrong-per-month", 10, "--players", 1000).stdout)

    assert (row["humans"], row["accused"]) == (300, 0)


def test_people_who_were_seen_on_one_day_of_a_month_promise_a_thirtieth(tmp_path):
    asked = january(tmp_path, lambda at: [at % 30 + 1])

    (row,) = json.loads(done(*asked, "--wrong-per-month", 10, "--players", 1000).stdout)
    (told,) = json.loads(done(*asked, "--wrong-per-month", 10, "--players", 1000, "--days", 30).stdout)

    assert (row["fewest_days"], row["above_review"]) == (1.0, False)
    assert row["humans_needed"] == pytest.approx(30 * 299, rel=0.01)
    assert (told["fewest_days"], told["accused"]) == (30.0, 0)


def test_an_account_with_a_bot_in_it_is_no_human(tmp_path):
    asked = january(tmp_path, lambda _: range(1, 31), characters=2)
    labels = pl.read_csv(tmp_path / "labels.csv")
    labels.with_columns(bot=pl.col("actor") == "h0-1").write_csv(tmp_path / "labels.csv")

    (row,) = json.loads(done(*asked, "--wrong-per-month", 10, "--players", 1000).stdout)

    assert row["humans"] == 299


def test_costs_give_a_probability_from_which_to_act(game):
    rows = json.loads(done("budget", "--cost", "10:1", "--models", game / "models", "--json").stdout)

    assert all(0.9 < row["probability"] < 1 for row in rows)


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        (["--wrong-per-month", "2"], "give --wrong-per-month and --players, --reviewed, or --cost"),
        (["--cost", "10:1"], "--cost needs --models"),
        (["--cost", "ten"], "is not two numbers such as 10:1"),
    ],
    ids=["half a budget", "no models", "no costs"],
)
def test_what_is_no_budget_is_a_matter_of_usage(asked, words):
    ended = run("budget", *asked)

    assert ended.returncode == 2
    assert words in ended.stderr
