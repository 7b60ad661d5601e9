"""An operator's own table from the command line: fit, score, explain, and the leaks that are caught on the way."""

import json

import polars as pl
import pytest

from commands import run
from tables_made_up import account_table

NAMED = ["--actor", "actor", "--group", "account", "--label", "verdict"]
QUICK = ["--rounds", "30", "--runs", "1"]


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    place = tmp_path_factory.mktemp("table")
    account_table().drop("character").write_csv(place / "known.csv")
    account_table(10, 20, seed=8).drop("character", "verdict", "account").write_csv(place / "new.csv")
    return place


@pytest.fixture(scope="module")
def fitted(place):
    return run("fit", "account-table", place / "known.csv", *NAMED, "--to", place / "models", *QUICK, "--json")


def test_an_identifier_that_leaks_is_left_out_with_how_well_it_alone_separates(fitted):
    """The tickets were given to bots first: fed to the model they would tell nearly everything."""
    (line,) = [line for line in fitted.stderr.splitlines() if line.startswith("ticket ")]
    separates = float(line.rpartition("AUC of ")[2])

    assert "it looks like an identifier" in line
    assert separates > 0.75
    card = json.loads(fitted.stdout)
    assert "ticket" not in card["parameters"]["columns"]
    assert "ticket" in card["feature"]["left_out"]


def test_play_time_a_day_is_a_strong_honest_column_and_is_used(fitted):
    assert "playtime_per_day" in json.loads(fitted.stdout)["parameters"]["columns"]


def test_the_fit_shows_what_its_promise_costs_and_what_the_other_choices_would(fitted):
    (line,) = [line for line in fitted.stderr.splitlines() if line.startswith("--promise ")]

    promises = json.loads(fitted.stdout)["validation"]["promises"]
    assert line.startswith("--promise account --peers fifths catches of the bots ")
    assert {choice.split()[1] for choice in promises} == {"account", "row"}
    assert {choice.split()[3] for choice in promises} == {"none", "fifths", "learned"}
    caught = {choice: price["bots caught at 1.0%"] for choice, price in promises.items()}
    assert caught["--promise row --peers none"] >= caught["--promise account --peers none"]
    assert caught["--promise account --peers none"] >= caught["--promise account --peers learned"]


def test_peers_along_a_column_that_is_not_there_are_refused_in_one_line(place):
    done = run("fit", "account-table", place / "known.csv", *NAMED, "--to", place / "no", *QUICK, "--peers", "guild")

    assert done.returncode == 1
    assert "peers 'guild' is none of none, fifths, learned" in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_kept_by_name_the_leak_makes_the_model_look_better_than_it_is(place, fitted):
    kept = run(
        "fit",
        "account-table",
        place / "known.csv",
        *NAMED,
        "--keep",
        "ticket",
        "--to",
        place / "kept",
        *QUICK,
        "--json",
    )

    honest, leaking = (json.loads(done.stdout)["validation"]["auc"] for done in (fitted, kept))
    assert leaking > honest


def test_another_table_without_labels_is_scored(place, fitted):
    assert fitted.returncode == 0

    done = run("score", place / "new.csv", "--models", place / "models", "--out", place / "scores.csv")

    scores = pl.read_csv(place / "scores.csv")
    assert done.returncode == 0, done.stderr
    assert scores.height == 30
    bot = scores["actor"].str.starts_with("bot")
    assert scores.filter(bot)["probability"].mean() > scores.filter(~bot)["probability"].mean() + 0.2
    assert scores["since"].null_count() == 30


def test_a_row_is_explained_in_sentences(place, fitted):
    assert fitted.returncode == 0

    done = run("explain", "bot003", place / "new.csv", "--models", place / "models")

    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("bot003\nBot probability ")
    assert "Speaks for a " in done.stdout
    assert "a typical human has" in done.stdout


def test_an_actor_who_is_not_there_is_named(place, fitted):
    assert fitted.returncode == 0

    done = run("explain", "nobody", place / "new.csv", "--models", place / "models")

    assert done.returncode == 1
    assert "has no row whose actor is 'nobody'" in done.stderr


def test_a_table_that_lacks_a_column_of_the_model_is_refused(place, fitted):
    assert fitted.returncode == 0
    pl.read_csv(place / "new.csv").drop("Playtime").write_csv(place / "short.csv")

    done = run("score", place / "short.csv", "--models", place / "models")

    assert done.returncode == 1
    assert "has no column Playtime" in done.stderr


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["--label", "class"], "say with --positive which of them is a bot"),
        (["--label", "class", "--positive", "Wizard"], "class never is 'Wizard'"),
        (["--label", "nothing"], "has no column nothing"),
    ],
)
def test_a_label_that_says_nothing_is_refused_in_one_line(place, given, said):
    done = run("fit", "account-table", place / "known.csv", "--actor", "actor", *given, "--to", place / "none")

    assert done.returncode == 1
    assert said in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_rows_nobody_has_judged_are_neither_bot_nor_human(place):
    frame = pl.read_csv(place / "known.csv")
    some = frame.with_columns(
        verdict=pl.when(pl.int_range(pl.len()) % 5 == 0).then(pl.lit("unknown")).otherwise("verdict")
    )
    some.write_csv(place / "some.csv")

    done = run("fit", "account-table", place / "some.csv", *NAMED, "--to", place / "some", *QUICK, "--json")

    assert "28 rows have no label and are neither bot nor human" in done.stderr
    assert json.loads(done.stdout)["training"]["actors"] == {"bot": 48, "human": 64}


def test_judging_a_table_is_refused_in_one_line_that_says_what_to_do_instead(place, fitted):
    assert fitted.returncode == 0

    done = run("judge", place / "new.csv", "--models", place / "models")

    assert done.returncode == 1
    assert "rows belong to no period" in done.stderr
    assert "`gamewarden score`" in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_evaluating_on_a_table_is_refused_in_one_line_that_says_what_to_do_instead(place):
    pl.read_csv(place / "known.csv").select("actor", bot=pl.col("actor").str.starts_with("bot")).write_csv(
        place / "labels.csv"
    )

    done = run("evaluate", place / "known.csv", "--labels", place / "labels.csv", "--detector", "account-table")

    assert done.returncode == 1
    assert "`gamewarden fit account-table FILE" in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_a_budget_of_a_table_asks_in_one_line_how_many_days_a_row_covers(place, fitted):
    assert fitted.returncode == 0
    asked = ("budget", "--wrong-per-month", 300, "--players", 1000, "--models", place / "models", "--json")

    timeless, told = run(*asked), run(*asked, "--days", 30)

    assert timeless.returncode == told.returncode == 0, timeless.stderr
    (row,), (answer,) = json.loads(timeless.stdout), json.loads(told.stdout)
    assert row["says"].startswith("Its rows have no times; say with --days how many days a row covers.")
    assert (row["fpr"], row["above_review"]) == (None, False)
    assert answer["above_review"]
    assert answer["humans"] == account_table().filter(verdict="Human")["account"].n_unique()


def test_a_budget_of_scores_without_times_asks_in_one_line_how_many_days_a_row_covers(place, fitted):
    assert fitted.returncode == 0
    run("score", place / "known.csv", "--models", place / "models", "--out", place / "rows.csv")
    told = account_table().select("actor", bot=pl.col("verdict") == "Bot", group=pl.col("account").cast(pl.String))
    told.write_csv(place / "labels.csv")
    asked = ("budget", place / "rows.csv", "--labels", place / "labels.csv", "--wrong-per-month", 300, "--players", 999)

    timeless, answer = run(*asked), run(*asked, "--days", 30, "--json")

    assert (timeless.returncode, timeless.stderr.count("\n")) == (1, 1)
    assert "say with --days how many days a row covers" in timeless.stderr
    assert json.loads(answer.stdout)[0]["fewest_days"] == 30
