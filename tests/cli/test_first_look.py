"""`rank`, `explain`, `review` and `fit oddness` as people type them before anybody has said who is a bot."""

import json
import os
import re
import shlex
import sys
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path

import polars as pl
import pytest

from commands import done, run
from gamewarden.lab.world import World
from gamewarden.lab.world.world import MONDAY
from gamewarden.readers.logs.operator_tables import read_labels
from gamewarden.store import lake_parts
from reviewing_commands import shown, typing
from tables_made_up import account_table

NO_PROMISE = "neither a false-positive rate nor a probability"
WORLD = World("lineage", 40, 2, 5, bots=0.5, society=True)


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A log, profiles and tables of accounts."""
    made = tmp_path_factory.mktemp("first")
    events = pl.concat([pl.DataFrame(pl.from_arrow(batch)) for batch in WORLD.batches()])
    events.write_parquet(made / "log.parquet")
    few = events["actor"].unique().sort()[:5]
    events.filter(pl.col("actor").is_in(few.implode())).write_parquet(made / "few.parquet")
    events.clear().write_parquet(made / "empty.parquet")
    WORLD.profiles().write_csv(made / "profiles.csv")
    accounts = account_table(40, 50).select(
        pl.col("actor").alias("Actor"), "Playtime", "Social_diversity", "Max_level", "verdict"
    )
    accounts.drop("verdict").write_csv(made / "accounts.csv")
    accounts.drop("verdict").rename({"Actor": "hero"}).write_csv(made / "heroes.csv")
    accounts.head(5).drop("verdict").write_csv(made / "five.csv")
    return made


@pytest.fixture(scope="module")
def kept(place):
    """A directory in which a population is kept, and how that was said."""
    return place / "models", done("fit", "oddness", place / "log.parquet", "--to", place / "models")


def ranked(*words):
    return json.loads(done("rank", *words, "--json").stdout)


def line_of(*words):
    """What a command that cannot be done says, in one line."""
    ended = run(*words)
    assert (ended.returncode, ended.stdout) == (1, ""), ended
    assert ended.stderr.startswith("gamewarden: ")
    assert ended.stderr.count("\n") == 1
    return ended.stderr.removeprefix("gamewarden: ").strip()


def test_without_models_rank_lists_who_looks_odd_and_why(place):
    ended = done("rank", place / "log.parquet", "--top", 5)

    head, *rows = ended.stdout.splitlines()
    assert head.split()[:2] == ["actor", "as_odd"]
    assert head.split()[-1] == "reasons"
    assert len(rows) == 5
    assert re.match(r"u\d{7} +1 in 40 ", rows[0])
    assert NO_PROMISE in ended.stderr
    assert "35 more are not shown; --top 0 lists all" in ended.stderr
    assert "than nearly all players" in ended.stdout + ended.stderr
    assert "human" not in ended.stdout


def test_the_list_as_json_has_numbers_and_no_probability(place):
    rows = ranked(place / "log.parquet", "--top", 0)

    assert len(rows) == 40
    assert [row["as_odd"] for row in rows] == sorted(row["as_odd"] for row in rows)
    assert rows[0]["as_odd"] == pytest.approx(1 / 40)
    assert all(isinstance(row["oddness"], float) and isinstance(row["play_hours"], float) for row in rows)
    assert not {"probability", "fpr", "point"} & rows[0].keys()


def test_the_list_is_written_where_it_is_asked_for(place, tmp_path):
    done("rank", place / "log.parquet", "--top", 3, "--out", tmp_path / "odd.csv")

    assert pl.read_csv(tmp_path / "odd.csv")["as_odd"].to_list() == pytest.approx([1 / 40, 2 / 40, 3 / 40])


def test_conditions_choose_whom_the_list_shows(place):
    everybody = {row["actor"]: row for row in ranked(place / "log.parquet", "--top", 0)}

    long, middle, knights = (
        {row["actor"] for row in ranked(place / "log.parquet", "--top", 0, *words)}
        for words in (
            ("--where", "play_hours>=8"),
            ("--level", "30:60"),
            ("--profiles", place / "profiles.csv", "--where", "class=knight"),
        )
    )

    assert long == {actor for actor, row in everybody.items() if row["play_hours"] >= 8}
    assert middle == {actor for actor, row in everybody.items() if 30 <= row["level"] <= 60}
    assert knights == set(WORLD.profiles().filter(**{"class": "knight"})["actor"]) & set(everybody)
    assert all(0 < len(some) < 40 for some in (long, middle, knights))


def test_a_condition_that_nobody_meets_gives_an_empty_list(place):
    ended = done("rank", place / "log.parquet", "--where", "play_hours>24")

    assert ended.stdout.split() == ["actor", "as_odd", "reasons"]
    assert ranked(place / "log.parquet", "--where", "play_hours>24") == []


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--where", "nothing>3"), "there is no column 'nothing'; there are actor, as_odd, oddness"),
        (("--where", "probability>0.5"), "there is no column 'probability'"),
        (("--where", "play_hours>many"), "many"),
        (("--level", "low"), "level: 'low' is not FROM, FROM:TO or :TO in numbers"),
        (("--probability", "0.5"), "--probability is for models that learned from labels, and there is none"),
        (("--html", "list.html"), "--html is for models that learned from labels, and there is none"),
        (("--detector", "signs"), "--detector is for models that learned from labels, and there is none"),
        (("--without", "copies,nothing"), "'nothing' cannot be left out; choose among pulses, paths"),
        (("--models", "nowhere"), "nowhere: there is no such directory"),
        (("--profiles", "nowhere.csv"), "nowhere.csv"),
    ],
)
def test_what_cannot_be_asked_without_models_is_one_line(place, words, says):
    assert says in line_of("rank", place / "log.parquet", *words)
    assert not Path("list.html").exists()


def test_signs_can_be_done_without(place):
    ended = done("rank", place / "log.parquet", "--without", "copies, flows", "--top", 1)

    assert "gave_n, star_score, chain_n, alike_beyond" in ended.stderr


@pytest.mark.parametrize("file", ["few.parquet", "five.csv"])
def test_five_accounts_are_too_few_to_be_compared(place, file):
    for words in (("rank",), ("explain", "u0000001"), ("review",), ("fit", "oddness")):
        to = ("--to", place / "none") if words[0] in {"review", "fit"} else ()
        wanted = "fit oddness: 5 players are too few to say who is odd; 20 are needed"
        assert line_of(*words, place / file, *to) == wanted
    assert not (place / "none").exists()


def test_an_empty_log_is_one_line(place):
    for words in (("rank",), ("explain", "u0000001"), ("fit", "oddness")):
        to = ("--to", place / "none") if words[0] == "fit" else ()
        assert "the source has no events" in line_of(*words, place / "empty.parquet", *to)


def test_explain_says_what_looks_odd_by_topic_and_draws_the_days(place):
    oddest = ranked(place / "log.parquet", "--top", 1)[0]["actor"]

    ended = done("explain", oddest, place / "log.parquet")

    assert ended.stdout.startswith(f"{oddest}, the days up to 2015-08-25\nNone of the other 39 players looks as odd")
    assert NO_PROMISE in ended.stdout
    assert re.search(r"^\w[\w ]+: unusual ●", ended.stdout, re.MULTILINE)
    assert "Its hours, 0 to 24 o'clock in UTC (the darker, the more it did):" in ended.stdout
    assert len(re.findall(r"^  \w{3} 08-2[45] \|[ ░▒▓█]{24}\|$", ended.stdout, re.MULTILINE)) == 2


def test_explain_as_json_is_the_evidence(place):
    rows = json.loads(done("explain", "u0000001", place / "log.parquet", "--json").stdout)

    assert {row["actor"] for row in rows} == {"u0000001"}
    assert {row["detector"] for row in rows} == {"oddness"}
    assert len({row["feature"] for row in rows}) == len(rows) > 10


def test_explain_draws_the_windows_of_the_newest_day(place, tmp_path):
    ended = done("explain", "u0000001", place / "log.parquet", "--plot", tmp_path / "days.png")

    assert (tmp_path / "days.png").read_bytes()[:4] == b"\x89PNG"
    assert f"Its windows are drawn in {tmp_path}/days.png" in ended.stderr


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("nobody",), "there is no account 'nobody' here"),
        (("u0000001", "--detector", "signs"), "--detector is for models that learned from labels"),
    ],
)
def test_what_cannot_be_explained_is_one_line(place, words, says):
    actor, *rest = words

    assert says in line_of("explain", actor, place / "log.parquet", *rest)


def test_a_population_is_kept_beside_models_with_what_it_does_not_promise(kept):
    models, ended = kept

    (path,) = (models / "unlabelled").iterdir()
    assert re.fullmatch(r"oddness@[0-9a-f]{12}\.json", path.name)
    assert list(models.glob("*.json")) == []
    assert ended.stdout.startswith(f"# {path.stem}\n40 players, each by its newest days: ")
    assert "No share is below 1 in 40." in ended.stdout
    assert NO_PROMISE in ended.stdout
    assert f"The population is in {path}" in ended.stderr


def test_what_a_population_is_can_be_had_as_json(place):
    ended = done("fit", "oddness", place / "accounts.csv", "--to", place / "others", "--json")

    card = json.loads(ended.stdout)
    assert (card["players"], set(card["signs"])) == (90, {"Playtime", "Social_diversity"})


def test_rank_and_explain_compare_with_the_population_that_was_kept(place, kept):
    models, _ = kept
    (name,) = (path.stem for path in (models / "unlabelled").iterdir())

    ended = done("rank", place / "few.parquet", "--models", models, "--top", 0)
    story = done("explain", "u0000001", place / "few.parquet", "--models", models)

    note = f"Compared with 40 players as they were when {name} was kept."
    assert note in ended.stderr
    assert note in story.stderr
    assert len(ended.stdout.splitlines()) == 6
    assert f"Compared by {name}." in story.stdout


def test_a_kept_population_judges_nobody(place, kept):
    models, _ = kept

    for command in ("judge", "score"):
        assert "there is no model in it" in line_of(command, place / "log.parquet", "--models", models)


def test_a_table_is_not_compared_with_the_population_of_a_log(place, kept):
    assert "lacks actor, at, kind" in line_of("rank", place / "accounts.csv", "--models", kept[0])


@pytest.mark.parametrize(
    ("harm", "says"),
    [
        (lambda text: text[:-40], "it ends early"),
        (lambda text: text.replace('"players": 40', '"players": 41', 1), "does not fit its sha256"),
        (lambda _: "[]", ""),
        (lambda _: "\x80\x02", ""),
    ],
)
def test_a_damaged_population_is_one_line(place, kept, tmp_path, harm, says):
    (path,) = (kept[0] / "unlabelled").iterdir()
    (tmp_path / "unlabelled").mkdir()
    (tmp_path / "unlabelled" / path.name).write_text(harm(path.read_text()))

    for words in (("rank",), ("explain", "u0000001")):
        said = line_of(*words, place / "log.parquet", "--models", tmp_path)
        assert path.name in said
        assert says in said


def test_a_table_without_a_log_is_ranked_and_explained(place):
    ended = done("rank", place / "accounts.csv", "--top", 10)
    story = done("explain", "bot003", place / "accounts.csv")

    assert ended.stdout.splitlines()[0].split() == ["actor", "as_odd", "reasons"]
    assert sum("bot" in line for line in ended.stdout.splitlines()) > 6
    assert "Social diversity is lower than with nearly all players" in ended.stdout
    assert story.stdout.startswith("bot003\n")
    assert "Whom it has to do with: unusual" in story.stdout
    assert "there are no windows to draw here" in line_of(
        "explain", "bot003", place / "accounts.csv", "--plot", place / "days.png"
    )


def test_a_table_whose_rows_nobody_names_is_one_line_and_a_name_helps(place):
    said = line_of("rank", place / "heroes.csv")

    assert "no column says whose a row is; name the column of who each row is about with --actor" in said
    named = ranked(place / "heroes.csv", "--actor", "hero", "--top", 3)
    assert named == ranked(place / "accounts.csv", "--top", 3)
    assert "has no column nobody" in line_of("rank", place / "heroes.csv", "--actor", "nobody")


class Answers:
    """Somebody who reads which account is shown and answers by the truth."""

    def __init__(self, truth):
        self._truth = truth

    def isatty(self):
        return False

    @property
    def buffer(self):
        while True:
            seen = sys.stdout.fileno()
            told = os.pread(seen, os.fstat(seen).st_size, 0).decode()
            actor = re.findall(r"^\d+\. (.*)$", told, re.MULTILINE)[-1]
            yield b"b\n" if self._truth[actor] else b"p\n"


@contextmanager
def answering(truth):
    before, sys.stdin = sys.stdin, Answers(truth)
    try:
        yield
    finally:
        sys.stdin = before


def typed(text):
    """A command as it was printed for somebody to copy."""
    found = re.findall(r"^ *gamewarden (.*)$", text, re.MULTILINE)
    return [shlex.split(one) for one in found]


@pytest.mark.integration
def test_from_a_log_without_labels_to_a_model_nothing_is_edited_by_hand(tmp_path):
    world = World("lineage", 120, 2, 3, bots=0.5, society=True)
    pl.concat([pl.DataFrame(pl.from_arrow(batch)) for batch in world.batches()]).write_parquet(tmp_path / "log.parquet")
    truth = dict(world.labels().select("actor", "bot").iter_rows())

    linted = done("lint", tmp_path / "log.parquet")
    done("read", tmp_path / "log.parquet", "--to", tmp_path / "lake")
    first = ranked(tmp_path / "lake", "--top", 0)
    with answering(truth):
        reviewed = done(
            "review", tmp_path / "lake", "--to", tmp_path / "reviews", "--by", "Ada", "--most", 45, "--chance", 0.5
        )
    (learn,) = typed(reviewed.stdout)
    fitted = done(*learn, cwd=tmp_path)
    told = ranked(tmp_path / "lake", "--models", tmp_path / "models", "--top", 0, "--probability", 0)

    labels = read_labels(tmp_path / "reviews" / "labels.csv").frame
    drawn = labels.filter(source="random-review")
    assert "Detector: signs gets all it needs." in linted.stdout
    assert len(first) == 120
    assert labels.height == len(set(shown(reviewed))) == 45
    assert dict(labels.select("actor", "bot").iter_rows()) == {actor: truth[actor] for actor in labels["actor"]}
    assert labels["votes"].null_count() == 45
    assert learn[:2] == ["fit", "signs"]
    assert 0 < drawn.height < 45
    assert f"Of {drawn.height} accounts that chance chose " in fitted.stderr
    share = re.search(r"--prevalence ([\d.]+) lets", fitted.stderr)[1]
    assert 0 < float(share) < 1
    probability = {row["actor"]: row["probability"] for row in told}
    strangers = [actor for actor in probability if actor not in set(labels["actor"])]
    bots, people = ([probability[one] for one in strangers if truth[one] == bot] for bot in (True, False))
    right = sum((bot > human) + (bot == human) / 2 for bot in bots for human in people)
    assert right / (len(bots) * len(people)) > 0.8
    assert "signs@" in done("explain", strangers[0], tmp_path / "lake", "--models", tmp_path / "models").stdout


def test_what_review_says_to_do_with_a_table_can_be_done(place, tmp_path):
    truth = {actor: actor.startswith("bot") for actor in pl.read_csv(place / "accounts.csv")["Actor"]}
    with answering(truth):
        ended = done("review", place / "accounts.csv", "--to", tmp_path / "reviews", "--by", "Ada", "--most", 40)

    (learn,) = typed(ended.stdout)
    fitted = done(*learn, "--json", cwd=tmp_path)

    assert learn[:2] == ["fit", "table-signs"]
    card = json.loads(fitted.stdout)
    assert card["validation"]["auc"] > 0.6
    assert "accounts that chance chose" in fitted.stderr
    assert done("score", place / "accounts.csv", "--models", tmp_path / "models", "--json").stdout


def test_a_table_is_fitted_with_labels_beside_it_as_with_those_in_it(tmp_path):
    accounts = account_table(40, 50).drop("character")
    accounts.write_csv(tmp_path / "known.csv")
    accounts.drop("verdict").write_csv(tmp_path / "accounts.csv")
    accounts.select("actor", bot=pl.col("verdict") == "Bot").write_csv(tmp_path / "labels.csv")
    named, quick = ("--actor", "actor", "--group", "account"), ("--rounds", 10, "--runs", 1, "--json")

    inside, beside = (
        json.loads(
            done("fit", "account-table", tmp_path / file, *named, *words, *quick, "--to", tmp_path / file[:3]).stdout
        )
        for file, words in (
            ("known.csv", ("--label", "verdict")),
            ("accounts.csv", ("--labels", tmp_path / "labels.csv")),
        )
    )

    assert beside["validation"]["auc"] == inside["validation"]["auc"]
    assert beside["parameters"]["columns"] == inside["parameters"]["columns"]
    assert beside["training"]["actors"] == inside["training"]["actors"] == {"bot": 40, "human": 50}


@pytest.mark.parametrize("detector", ["account-table", "table-signs"])
@pytest.mark.parametrize("words", [(), ("--label", "verdict", "--labels", "labels.csv")], ids=["none", "both"])
def test_a_table_needs_labels_in_it_or_beside_it_and_not_both(place, detector, words):
    ended = run("fit", detector, place / "accounts.csv", "--actor", "Actor", *words, "--to", place / "none")

    assert ended.returncode == 2
    assert "say who is known, by a column of the table (--label) or a file beside it (--labels)" in ended.stderr
    assert not (place / "none").exists()


@pytest.fixture(scope="module")
def home(place):
    """A workspace of the log that has no model."""
    made = place / "home"
    done("init", made)
    done("--workspace", made, "read", place / "log.parquet")
    return made


@pytest.fixture
def readings(monkeypatch):
    """The files of events that are read."""
    seen, batches = [], lake_parts.parquet_batches

    def counted(file, columns, *more, **options):
        seen.append(tuple(columns))
        return batches(file, columns, *more, **options)

    monkeypatch.setattr(lake_parts, "parquet_batches", counted)
    return seen


def test_a_workspace_answers_as_its_log_does_and_reads_no_event_twice(place, home, readings):
    first = ranked_at(home)
    assert readings
    readings.clear()

    again = ranked_at(home)

    assert readings == []
    assert again == first == ranked(place / "log.parquet", "--top", 0)


def ranked_at(home, *words):
    return json.loads(done("--workspace", home, "rank", "--top", 0, "--json", *words).stdout)


def test_explain_in_a_workspace_reads_the_days_of_one_account(place, home, readings):
    ranked_at(home)
    readings.clear()

    ended = done("--workspace", home, "explain", "u0000001")

    assert ended.stdout == done("explain", "u0000001", place / "log.parquet").stdout
    assert all("actor" in columns for columns in readings)
    assert len({*readings}) <= 2  # moments, and windows


def test_a_population_that_a_workspace_keeps_is_compared_with(home):
    before = ranked_at(home)

    kept = done("--workspace", home, "fit", "oddness")
    ended = done("--workspace", home, "rank", "--top", 1)
    after = ranked_at(home)
    (path,) = (home / "models" / "unlabelled").iterdir()
    path.unlink()

    assert f"The population is in {path}" in kept.stderr
    assert f"Compared with 40 players as they were when {path.stem} was kept." in ended.stderr
    assert after == before


def test_a_workspace_that_took_nothing_in_is_one_line(tmp_path):
    done("init", tmp_path / "home")

    for words in (("rank",), ("explain", "u0000001")):
        assert "nothing was taken in yet" in line_of("--workspace", tmp_path / "home", *words)


def test_a_time_chooses_the_days_that_a_workspace_looks_at(home):
    since = (MONDAY + timedelta(days=1)).date().isoformat()

    rows = ranked_at(home, "--since", since)

    assert {row["since"][:10] for row in rows} == {since}


def test_a_review_in_a_workspace_shows_signs_and_keeps_votes_there(home):
    with typing("b\np\nq\n"):
        ended = done("--workspace", home, "review", "--by", "Ada")

    assert len(shown(ended)) == 3
    assert "o'clock in UTC" in ended.stdout
    assert "unless warden.toml says [workspace] one_rater = true." in ended.stdout


def test_hostile_names_steer_no_terminal(place, tmp_path):
    table = pl.read_csv(place / "accounts.csv").with_columns(pl.col("Actor") + "\x1b[2J\n9. forged")
    table.write_csv(tmp_path / "nasty.csv")
    name = table["Actor"][3]

    told = [done("rank", tmp_path / "nasty.csv"), done("explain", name, tmp_path / "nasty.csv")]

    assert not any("\x1b" in ended.stdout + ended.stderr for ended in told)
    assert not any(line.startswith("9. forged") for ended in told for line in ended.stdout.splitlines())
