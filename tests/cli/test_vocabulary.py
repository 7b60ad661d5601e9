"""One account has one self-similarity: every command says over which kinds, and how to get the same number."""

import json
import re
import shlex

import polars as pl
import pytest

from commands import done, run

pytestmark = pytest.mark.integration

COMMAND = re.compile(r"`gamewarden (measure [^`]*)`")
DETECTORS = ("account-day", "actions-frequency")


@pytest.fixture(scope="module")
def game(tmp_path_factory):
    """A model of a whole game, and a later log that shows a few of its accounts and so a few of its kinds."""
    place = tmp_path_factory.mktemp("a game")
    done("world", place / "world", "--accounts", 60, "--seed", 5, "--game", "aion")
    log = place / "world/events.parquet"
    for name in DETECTORS:
        done("fit", name, log, "--labels", place / "world/labels.csv", "--to", place / "models")
    done("fit", DETECTORS[1], log, "--labels", place / "world/labels.csv", "--to", place / "chunks alone")
    events = pl.read_parquet(log)
    some = events["actor"].unique().sort().head(12)
    events.filter(pl.col("actor").is_in(some.implode())).write_parquet(place / "few.parquet")
    return place


def self_similarities(rows):
    return {row["actor"]: row["self_sim"] for row in rows}


def ranked(game, models, *options):
    ended = done("rank", game / "few.parquet", "--models", game / models, "--probability", 0, *options, "--json")
    return self_similarities(json.loads(ended.stdout)), ended.stderr


def measured(*arguments):
    return self_similarities(json.loads(done("measure", "self-similarity", *arguments, "--json").stdout))


def repeated(text):
    """What the command in a text gives."""
    (command,) = COMMAND.findall(text)
    return self_similarities(json.loads(done(*shlex.split(command), "--json").stdout))


@pytest.mark.parametrize("options", [(), ("--detector", "actions-frequency"), ("--detector", "account-day")])
def test_the_command_that_a_ranking_names_gives_its_self_similarities(game, options):
    numbers, told = ranked(game, "models", *options)

    assert numbers
    assert numbers.items() <= repeated(told).items()


def test_all_detectors_of_one_shelf_show_one_self_similarity_an_account(game):
    (days, _), (chunks, _) = (ranked(game, "models", "--detector", name) for name in DETECTORS)

    assert days.items() <= chunks.items() or chunks.items() <= days.items()
    assert days.items() & chunks.items()


def test_a_shelf_without_a_model_of_days_measures_over_the_kinds_of_the_source_and_says_so(game):
    numbers, told = ranked(game, "chunks alone")

    assert "over the kinds of this source" in told
    assert numbers.items() <= repeated(told).items()
    assert numbers.items() <= measured(game / "few.parquet").items()


def test_the_command_that_an_explanation_names_gives_the_number_in_its_sentence(game):
    actor = next(iter(ranked(game, "models")[0]))
    told = done("explain", actor, game / "few.parquet", "--models", game / "models", "--detector", "account-day").stdout

    assert f"self-similarity {repeated(told)[actor]:.4f}," in told
    assert f"self-similarity {measured(game / 'few.parquet')[actor]:.4f}," not in told


def test_measuring_says_over_which_kinds_it_did(game):
    log, models = game / "few.parquet", game / "models"
    kinds = pl.read_parquet(log)["kind"].n_unique()
    own = done("measure", "self-similarity", log)
    like = done("measure", "self-similarity", log, "--models", models)
    model = next(models.glob("account-day@*.json")).stem
    shown = json.loads(done("model", "show", model, "--models", models, "--json").stdout)["feature"]["vocabulary"]

    assert f"over the {kinds:,} kinds of this source" in own.stderr
    assert f"over the {shown['size']:,} kinds that {model} learned (vocabulary {shown['digest']})" in like.stderr
    assert own.stdout != like.stdout


def test_measuring_with_a_vocabulary_file_names_it_by_size_and_digest(game, tmp_path):
    (tmp_path / "kinds.txt").write_text("combat.kill\nmove\n")
    told = done("measure", "self-similarity", game / "few.parquet", "--vocabulary", tmp_path / "kinds.txt").stderr

    assert re.search(r"over the 2 kinds given \(vocabulary [0-9a-f]{12}\)", told)


def test_measuring_as_a_model_does_takes_no_option_of_its_own(game):
    ended = run("measure", "self-similarity", game / "few.parquet", "--models", game / "models", "--unit", "10m")

    assert ended.returncode == 1
    assert ended.stderr.count("\n") == 1
    assert "--unit" in ended.stderr


def test_measuring_as_no_model_does_is_our_error(game):
    ended = run("measure", "self-similarity", game / "few.parquet", "--models", game / "chunks alone")

    assert (ended.returncode, ended.stderr.count("\n")) == (1, 1)
    assert "no model looks at self-similarity" in ended.stderr
