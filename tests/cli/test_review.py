"""`gamewarden review` as people type it: answers in a pipe and keys at a terminal, breaks, and what is left of them."""

import json
import os
import re
import subprocess

import polars as pl
import pytest

from commands import GAMEWARDEN, done, run
from gamewarden.cases import Label
from gamewarden.config import load_config
from gamewarden.desk_records import Review
from gamewarden.readers.logs.operator_tables import read_labels
from gamewarden.store.ledger.ledger import Ledger
from made_up import action_log
from outside_text import NASTY, steering_in
from reviewing_commands import shown, typing
from terminal import at_terminal

KEYS = "b bot · p person · u unsure · s skip · n note · z back · q quit · ? help"


@pytest.fixture(scope="module")
def log(tmp_path_factory):
    """A small log of made-up accounts."""
    path = tmp_path_factory.mktemp("log") / "events.parquet"
    action_log(hours=1).write_parquet(path)
    return path


def reviewed(log, to, answers, *words, by="Ada"):
    with typing(answers):
        return done("review", log, "--to", to, "--by", by, *words)


def votes(to):
    """What stands in the ledger, in order."""
    ledger = Ledger.at(to / "ledger.db")
    found = [one for one in ledger.find(Review, order=("at",)) if one.undone_at is None]
    ledger.close()
    return found


def test_answers_become_votes_labels_and_a_command_to_go_on_with(log, tmp_path):
    ended = reviewed(log, tmp_path, "b never sleeps\np\nn reads the chat\nu\nq\n")

    first, second, third, _ = shown(ended)
    assert [(one.actor, one.says, one.note, one.rater) for one in votes(tmp_path)] == [
        (first, "bot", "never sleeps", "Ada"),
        (second, "human", None, "Ada"),
        (third, "unsure", "reads the chat", "Ada"),
    ]
    assert read_labels(tmp_path / "labels.csv").frame.select("actor", "bot").rows() == [(first, True), (second, False)]
    assert "Ada said today: 1 bot, 1 person, 1 unsure; in all: 1 bot, 1 person, 1 unsure." in ended.stdout
    assert f"gamewarden fit signs {log} --labels {tmp_path}/labels.csv --to models" in ended.stdout
    assert "--by NAME" not in ended.stdout, "outside a workspace one rater's word is a label"


def test_what_the_list_says_is_told_only_after_the_answer_and_not_after_a_skip(log, tmp_path):
    asked, answered, skipped = (reviewed(log, tmp_path / key, f"{key}\n", "--most", 1) for key in "qbs")

    assert "The list:" not in asked.stdout
    assert answered.stdout.index(KEYS) < answered.stdout.index("The list:")
    assert "The list:" not in skipped.stdout


def test_whoever_stops_goes_on_with_the_same_order(log, tmp_path):
    whole = shown(reviewed(log, tmp_path / "whole", "p\n" * 9, "--most", 9))

    first = shown(reviewed(log, tmp_path / "parts", "p\np\np\n", "--most", 3))
    rest = shown(reviewed(log, tmp_path / "parts", "p\n" * 6, "--most", 6))

    assert first + rest == whole
    assert len(set(whole)) == 9


def test_a_step_back_shows_the_account_again_and_forgets_the_vote(log, tmp_path):
    ended = reviewed(log, tmp_path, "b\nz\np\nq\n")

    first, second, again, after = shown(ended)
    assert (again, after) == (first, second)
    assert [(one.actor, one.says) for one in votes(tmp_path)] == [(first, "human")]
    assert read_labels(tmp_path / "labels.csv").frame.select("actor", "bot").rows() == [(first, False)]


def test_a_vote_that_was_taken_back_is_in_no_file_of_labels(log, tmp_path):
    reviewed(log, tmp_path, "b\nz\nq\n")

    assert read_labels(tmp_path / "labels.csv").frame.height == 0


def test_a_step_back_before_the_first_answer_is_a_line(log, tmp_path):
    ended = reviewed(log, tmp_path, "z\nq\n")

    assert "review: there is no vote of yours to take back\n" in ended.stdout
    assert len(shown(ended)) == 1


@pytest.mark.parametrize("line", ["x", "bb", "\x1b[A", "", "ㅠ", "\udcff", "x" * 5_000])
def test_a_key_that_is_no_answer_is_a_line_and_nothing_else(log, tmp_path, line):
    ended = reviewed(log, tmp_path, f"{line}\nq\n")

    said = ended.stdout.split(f"{KEYS}\n", 1)[1].splitlines()
    assert said[0].endswith(f" is no answer; {KEYS}")
    assert said[1].startswith("Ada said today: nobody")
    assert votes(tmp_path) == []
    assert steering_in(ended.stdout) == set()


def test_too_long_a_note_is_a_line_and_the_account_is_asked_for_again(log, tmp_path):
    ended = reviewed(log, tmp_path, f"b {'x' * 5_000}\nb short\n", "--most", 1)

    assert "a note of at most 4,000 letters" in ended.stdout
    assert [one.note for one in votes(tmp_path)] == ["short"]


def test_the_end_of_input_is_an_end_like_any_other(log, tmp_path):
    ended = reviewed(log, tmp_path, "b\n")

    assert "Ada said today: 1 bot; in all: 1 bot." in ended.stdout
    assert re.fullmatch("Not measured of anybody here, and so no sign: .*\n", ended.stderr)


def test_help_says_what_the_keys_do(log, tmp_path):
    assert "take your last answer back" in reviewed(log, tmp_path, "?\n").stdout


def test_only_the_accounts_that_were_named_are_shown_and_none_of_them_by_chance(log, tmp_path):
    wanted = sorted(pl.read_parquet(log)["actor"].unique())[:3]

    ended = reviewed(log, tmp_path, "p\n" * 9, "--accounts", ", ".join(wanted))

    assert sorted(shown(ended)) == wanted
    assert "Nobody is left that you have not looked at." in ended.stdout
    assert [one.drawn for one in votes(tmp_path)] == [False] * 3


def test_two_raters_see_the_same_accounts_and_their_agreement_is_told(log, tmp_path):
    ada = reviewed(log, tmp_path, "b\n" + "p\n" * 11, "--most", 12)
    ben = reviewed(log, tmp_path, "b\nb\n" + "p\n" * 10, "--most", 12, by="Ben")

    told = done("review", "--to", tmp_path, "--agreement").stdout
    values = json.loads(done("review", "--to", tmp_path, "--agreement", "--json").stdout)

    assert shown(ada) == shown(ben)
    assert told == (
        "Ada and Ben agree in 92 % of what they say of 12 accounts; Cohen's kappa, beyond chance, is 0.62.\n"
    )
    assert told in ben.stdout
    assert [(one["raters"], one["accounts"]) for one in values] == [(["Ada", "Ben"], 12)]
    labels = read_labels(tmp_path / "labels.csv").frame
    assert dict(labels.select("actor", "votes").iter_rows()) == dict.fromkeys(shown(ada), 0) | {
        shown(ada)[0]: 2,
        shown(ada)[1]: 1,
    }


def test_the_share_of_bots_is_told_from_the_accounts_that_chance_chose(log, tmp_path):
    ended = reviewed(log, tmp_path, "b\n" * 3 + "p\n" * 17, "--chance", 1, "--most", 20)

    told = done("review", log, "--to", tmp_path, "--estimate").stdout
    values = json.loads(done("review", "--to", tmp_path, "--estimate", "--json").stdout)

    sentence = "Of 20 accounts that chance chose 3 are bots: 15 % of all accounts, between 3 and 38 %.\n"
    assert sentence in ended.stdout
    assert told == f"{sentence}Chance found 3 bots so far; from 5 on they say how many a list misses.\n"
    assert (values["bots"]["share"], values["missed"]) == (0.15, None)


@pytest.mark.parametrize("asked", ["--agreement", "--estimate"])
def test_asking_makes_no_ledger(tmp_path, asked):
    ended = run("review", "--to", tmp_path / "none", asked)

    assert (ended.returncode, ended.stdout) == (1, "")
    assert ended.stderr == f"gamewarden: review: {tmp_path}/none/ledger.db: nobody has voted yet\n"
    assert not (tmp_path / "none").exists()


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ((), "name the SOURCE"),
        (("--json",), "--agreement or --estimate"),
        (("--agreement", "--estimate"), "one is asked for at a time"),
        (("--chance", "2"), "0<=x<=1"),
    ],
)
def test_wrong_usage_is_said(tmp_path, words, says):
    ended = run("review", *words, cwd=tmp_path)

    assert ended.returncode == 2
    assert says in ended.stderr


def test_an_empty_source_is_a_line_and_leaves_nothing(tmp_path):
    pl.DataFrame(schema=action_log(1, 1).schema).write_parquet(tmp_path / "empty.parquet")

    ended = run("review", tmp_path / "empty.parquet", "--to", tmp_path / "reviews")

    assert (ended.returncode, ended.stdout, ended.stderr.count("\n")) == (1, "", 1)
    assert not (tmp_path / "reviews").exists()


def test_a_name_that_nobody_has_is_a_line(log, tmp_path):
    ended = run("review", log, "--to", tmp_path, "--accounts", "nobody")

    assert (ended.returncode, ended.stderr) == (1, "gamewarden: review: nobody called 'nobody' can be looked at here\n")


@pytest.mark.parametrize("kind", ["a file for a directory", "a directory for a ledger", "no database"])
def test_a_ledger_that_cannot_be_written_is_a_line(log, tmp_path, kind):
    to = tmp_path / "reviews"
    if kind == "a file for a directory":
        to.write_text("")
    elif kind == "a directory for a ledger":
        (to / "ledger.db").mkdir(parents=True)
    else:
        to.mkdir()
        (to / "ledger.db").write_text("x" * 10_000)

    with typing("b\n"):
        ended = run("review", log, "--to", to)

    assert (ended.returncode, ended.stdout, ended.stderr.count("\n")) == (1, "", 1)
    assert str(to) in ended.stderr


@pytest.mark.integration
def test_an_answer_is_kept_although_the_process_is_killed_after_it(log, tmp_path):
    words = [*GAMEWARDEN, "review", str(log), "--to", str(tmp_path), "--by", "Ada"]
    child = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    child.stdin.write("b seen\n")
    child.stdin.flush()
    while "The list:" not in child.stdout.readline():
        pass
    child.kill()
    child.communicate()

    (kept,) = votes(tmp_path)
    assert (kept.says, kept.note) == ("bot", "seen")
    assert read_labels(tmp_path / "labels.csv").frame["actor"].to_list() == [kept.actor]
    assert kept.actor not in shown(reviewed(log, tmp_path, "q\n"))


def test_labels_that_a_crash_left_behind_the_ledger_catch_up(log, tmp_path):
    reviewed(log, tmp_path, "p\n")
    (tmp_path / "labels.csv").unlink()

    reviewed(log, tmp_path, "q\n")

    assert read_labels(tmp_path / "labels.csv").frame.height == 1


@pytest.mark.integration
def test_one_key_is_enough_at_a_terminal_and_ctrl_c_ends_it_with_what_was_said(log, tmp_path):
    wait = "? help"
    keys = [(wait, "b"), (wait, "n"), ("note", "walks in circles\r"), ("is kept", "p"), (wait, "x"), (wait, "\x03")]

    ended = at_terminal("review", log, "--to", tmp_path, "--by", "Ada", typed=keys, width=100)

    assert ended.returncode == 0, ended.text
    assert [(one.says, one.note) for one in votes(tmp_path)] == [("bot", None), ("human", "walks in circles")]
    assert "'x' is no answer" in ended.text
    assert "Ada said today: 1 bot, 1 person; in all: 1 bot, 1 person." in ended.text


def test_names_and_notes_steer_no_terminal(log, tmp_path):
    frame = pl.read_parquet(log).with_columns(pl.col("actor") + NASTY + "\n9. forged")
    frame.write_parquet(tmp_path / "nasty.parquet")

    ended = reviewed(tmp_path / "nasty.parquet", tmp_path, f"b {NASTY}\n\x1b[2J\nz\np\nq\n")
    again = done("review", "--to", tmp_path, "--agreement")

    assert steering_in(ended.stdout + ended.stderr + again.stdout) == set()
    assert "9. forged" not in ended.stdout.splitlines()
    assert len(votes(tmp_path)) == 1


def test_in_a_workspace_votes_are_in_its_ledger_and_its_lake_is_looked_at(log, tmp_path):
    home = tmp_path / "home"
    done("init", home)
    done("--workspace", home, "read", log)

    with typing("b\np\nq\n"):
        ended = done("--workspace", home, "review", "--by", "Ada")

    ledger = Ledger.at(home / "ledger.db")
    assert [dict(one.votes) for one in ledger.find(Label, order=("at",))] == [{"Ada": True}, {"Ada": False}]
    ledger.close()
    assert not (home / "reviews").exists()
    assert "labels.csv" not in ended.stdout


@pytest.mark.integration
def test_the_only_reviewer_of_a_workspace_is_asked_once_whether_one_vote_is_enough(log, tmp_path):
    home = tmp_path / "home"
    done("init", home)
    done("--workspace", home, "read", log)
    review = ("--workspace", home, "review", "--by", "Ada")

    asked = at_terminal(*review, typed=[("enough for a label?", "y\r"), ("? help", "b"), ("? help", "q")], width=200)
    again = at_terminal(*review, typed=[("? help", "q")], width=200)

    assert asked.returncode == 0, asked.text
    assert load_config(home / "warden.toml").workspace.one_rater
    assert "Nobody but Ada has reviewed accounts here." in asked.text
    assert "with one vote" not in asked.text
    assert "gamewarden fit signs" in asked.text
    assert "enough for a label?" not in again.text


def test_nobody_is_asked_whether_one_vote_is_enough_where_a_second_person_votes(log, tmp_path):
    home = tmp_path / "home"
    done("init", home)
    done("--workspace", home, "read", log)
    with typing("p\nq\n"):
        first = done("--workspace", home, "review", "--by", "Ada")

    shown_to = at_terminal("--workspace", home, "review", "--by", "Ben", typed=[("? help", "q")], width=200)

    assert "1 account with one vote: no model learns from them before a second reviewer agrees" in first.stdout
    assert "enough for a label?" not in shown_to.text


def test_without_a_name_the_login_is_the_rater(log, tmp_path):
    with typing("b\n"):
        done("review", log, "--to", tmp_path, env={**os.environ, "LOGNAME": "kim"})

    assert [one.rater for one in votes(tmp_path)] == ["kim"]
