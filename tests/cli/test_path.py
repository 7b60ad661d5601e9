"""The whole path at the command line, on a small synthetic game."""

import csv
import json
import re

import polars as pl
import pytest

from commands import done, run

MEASURED = (
    "actor,since,until,events,windows,self_sim,cosim_count,cosim_uniq_count,cosim_zero_count,cosim_mode,total_log_count,"
    "main_char_level,total_use_time_min,npc_kill_count,trade_get_count,trade_give_count,retrieve_count,deposit_count,"
    "log_count_per_min"
)


@pytest.fixture(scope="module")
def game(tmp_path_factory):
    place = tmp_path_factory.mktemp("game")
    done("world", place / "world", "--accounts", 80, "--days", 1, "--seed", 5, "--game", "aion")
    done("read", place / "world/events.parquet", "--to", place / "lake")
    for detector in ("self-similarity", "account-day"):
        done("fit", detector, place / "lake", "--labels", place / "world/labels.csv", "--to", place / "models")
    return place


def files_of(directory):
    return {path: path.read_bytes() for path in directory.rglob("*") if path.is_file()}


def test_reading_the_same_log_twice_changes_no_byte_of_the_lake(game):
    before = files_of(game / "lake")

    done("read", game / "world/events.parquet", "--to", game / "lake")

    assert files_of(game / "lake") == before


def test_a_lake_and_its_log_measure_the_same_with_exactly_the_published_columns(game, tmp_path):
    done("measure", "self-similarity", game / "lake", "--out", tmp_path / "lake.csv")
    done("measure", "self-similarity", game / "world/events.parquet", "--out", tmp_path / "log.csv")

    assert (tmp_path / "lake.csv").read_bytes() == (tmp_path / "log.csv").read_bytes()
    assert (tmp_path / "lake.csv").read_text().splitlines()[0] == MEASURED


def test_the_three_kinds_of_output_hold_the_same_table(game, tmp_path):
    for ending in ("csv", "parquet", "json"):
        done("score", game / "lake", "--models", game / "models", "--out", tmp_path / f"scores.{ending}")

    parquet = pl.read_parquet(tmp_path / "scores.parquet")
    with (tmp_path / "scores.csv").open(newline="") as file:
        from_csv = [float(row["fpr"]) for row in csv.DictReader(file) if row["fpr"]]
    from_json = [row["fpr"] for row in json.loads((tmp_path / "scores.json").read_text()) if row["fpr"] is not None]
    assert from_csv == from_json == parquet["fpr"].drop_nulls().to_list()


def test_an_ending_that_names_no_format_is_our_error(game, tmp_path):
    ended = run("score", game / "lake", "--models", game / "models", "--out", tmp_path / "scores.xlsx")

    assert (ended.returncode, ended.stderr.count("\n")) == (1, 1)
    assert "end the name in .csv, .parquet, .json, .jsonl or .html" in ended.stderr


def test_every_account_is_scored_by_both_detectors(game):
    rows = json.loads(done("score", game / "lake", "--models", game / "models", "--json").stdout)
    played = json.loads(done("measure", "self-similarity", game / "lake", "--json").stdout)

    assert {row["detector"] for row in rows} == {"self-similarity", "account-day"}
    assert len(rows) == 2 * len(played)


def test_a_ranking_is_sorted_filtered_and_gives_reasons(game):
    wanted = ("--profiles", game / "world/profiles.csv", "--probability", 0.5, "--where", "customer_grade=GOLD")
    rows = json.loads(done("rank", game / "lake", "--models", game / "models", *wanted, "--json").stdout)

    probabilities = [row["probability"] for row in rows]
    assert probabilities == sorted(probabilities, reverse=True)
    assert min(probabilities, default=1) >= 0.5
    assert {row["customer_grade"] for row in rows} <= {"GOLD"}
    assert all(row["reasons"] for row in rows)


def test_a_filter_on_a_column_that_is_not_there_is_our_error(game):
    ended = run("rank", game / "lake", "--models", game / "models", "--where", "colour=red")

    assert ended.returncode == 1
    assert "colour" in ended.stderr


def test_an_explanation_reads_as_sentences_and_draws_the_windows(game, tmp_path):
    models = ("--models", game / "models")
    first = json.loads(done("rank", game / "lake", *models, "--probability", 0, "--json").stdout)[0]
    ended = done("explain", first["actor"], game / "lake", *models, "--plot", tmp_path / "windows.png")

    assert "a typical human has" in ended.stdout
    assert "never a verdict" in ended.stdout
    assert (tmp_path / "windows.png").read_bytes().startswith(b"\x89PNG")


def test_an_actor_that_is_not_there_is_our_error(game):
    ended = run("explain", "nobody", game / "lake", "--models", game / "models")

    assert ended.returncode == 1
    assert "has no event of actor 'nobody'" in ended.stderr


def test_evaluation_puts_the_detectors_beside_a_dummy(game):
    labels = game / "world/labels.csv"
    rows = json.loads(done("evaluate", game / "lake", "--labels", labels, "--folds", 4, "--json").stdout)
    auc = {row["detector"]: row["auc"] for row in rows if row["unit"] == "period"}

    assert auc["dummy"] == 0.5
    assert auc["account-day"] > 0.6


def test_a_group_column_that_is_not_there_is_our_error(game):
    ended = run("evaluate", game / "lake", "--labels", game / "world/labels.csv", "--group", "guild")

    assert ended.returncode == 1
    assert "has no column 'guild'" in ended.stderr


def test_lint_names_the_blind_and_the_missing(game):
    text = done("lint", game / "lake").stdout

    assert "account-day gets all it needs" in text


def test_what_the_accounts_of_a_list_have_in_common_is_said_once_above_it(game):
    wanted = ("rank", game / "lake", "--models", game / "models", "--probability", 0.5)
    shown, rows = done(*wanted), json.loads(done(*wanted, "--json").stdout)
    (line,) = [line for line in shown.stderr.splitlines() if line.startswith("The accounts listed have in common: ")]
    common = re.findall(r"(?:: |; )([^;(]+) \((\d+) of (\d+)\)", line)

    assert common
    for says, count, listed in common:
        assert int(listed) == len(rows)
        assert int(count) == sum(says in row["reasons"].split("; ") for row in rows) >= 0.75 * len(rows)
    assert len({row["reasons"] for row in rows}) > len(rows) / 2


def test_nothing_is_common_to_a_list_of_one(game):
    ended = done("rank", game / "lake", "--models", game / "models", "--probability", 0, "--top", 1)

    assert "in common" not in ended.stderr + ended.stdout


def test_two_log_ins_half_an_hour_apart_are_too_little_to_speak_of(tmp_path):
    log = tmp_path / "log.csv"
    log.write_text("actor,at,kind\na,2026-03-01T10:00:00Z,session.login\na,2026-03-01T10:35:00Z,session.login\n")

    done("measure", "self-similarity", log, "--out", tmp_path / "gated.csv")
    done("measure", "self-similarity", log, "--min-windows", 1, "--out", tmp_path / "asked.csv")
    gated, asked = (pl.read_csv(tmp_path / f"{name}.csv").row(0, named=True) for name in ("gated", "asked"))

    assert (gated["windows"], gated["self_sim"]) == (36, None)
    assert asked["self_sim"] is not None
