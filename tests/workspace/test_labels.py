"""What people say in the ledger stands beside the labels file: votes of raters, and accounts that appealed."""

from dataclasses import replace
from datetime import timedelta

import polars as pl
import pytest

from appeals_made_up import DAY, NOW
from gamewarden.cases import AuditLine, Label
from gamewarden.config import config_from, load_config
from gamewarden.drift.retraining import called_human
from gamewarden.errors import ConfigError, FitError, ResponseError
from gamewarden.evaluation.backtests import called
from gamewarden.learning.labels import label_periods
from gamewarden.learning.out_of_fold import refuse_too_few
from gamewarden.readers.logs.operator_tables import read_labels
from gamewarden.reviewing.votes import cast
from gamewarden.workspace.labels import told_by, vote
from gamewarden.workspace.place import Workspace
from gamewarden.workspace.setting_up import write_one_rater


@pytest.fixture
def workspace(tmp_path):
    (tmp_path / "labels.csv").write_text("actor,bot,source,family\nkim,true,ban,farm\nlee,false,rater,\n")
    return Workspace(tmp_path, config_from({"workspace": {"labels": "labels.csv"}}, "test"))


def say(workspace, actor, bot, by, **given):
    return vote(workspace.ledger, actor, bot=bot, by=by, at=given.pop("at", NOW), **given)


def rows(workspace):
    known = read_labels(workspace.labels).frame
    return {(one["actor"], one["source"]): (one["bot"], one["votes"]) for one in known.iter_rows(named=True)}


def test_without_labels_in_the_ledger_the_file_is_what_is_known(workspace):
    assert workspace.labels == workspace.root / "labels.csv"
    assert not workspace.has_ledger  # asking has made none


@pytest.mark.parametrize(
    ("votes", "known"),
    [
        ([True], None),
        ([True, True], True),
        ([True, False], None),
        ([True, True, False], True),
        ([True, False, False], False),
        ([True, True, True], True),
        ([False], None),
        ([False, False], False),
        ([False, False, False], False),
        ([True, True, False, False], None),
        ([True, False, False, False], False),
        ([True, True, True, False, False], None),
    ],
)
def test_two_of_three_raters_make_a_label_in_either_direction_and_one_makes_none(workspace, votes, known):
    for at, bot in enumerate(votes):
        say(workspace, "park", bot, f"rater{at}", at=NOW + timedelta(minutes=at))

    play = pl.DataFrame({"actor": ["park"], "since": [NOW - DAY], "until": [NOW], "events": [10]})
    labelled = label_periods(
        play.with_columns(pl.col("since", "until").cast(pl.Datetime("us", "UTC"))),
        read_labels(workspace.labels).frame,
        "test",
    )
    assert labelled.rows["bot"].to_list() == ([] if known is None else [known])
    one = "labels with one vote, where two reviewers must agree"
    several = "labels that reviewers do not agree on"
    missing = None if known is not None else one if len(votes) == 1 else several
    assert {reason for reason in (one, several) if reason in labelled.left_out} == {missing} - {None}


def test_each_vote_is_kept_and_a_rater_may_think_again(workspace):
    say(workspace, "park", bot=True, by="ann")
    say(workspace, "park", bot=True, by="bob", at=NOW + DAY, because="never stops")
    label = say(workspace, "park", bot=False, by="ann", at=NOW + 2 * DAY)

    assert label.votes == {"ann": False, "bob": True}
    assert workspace.ledger.find(Label) == [label]
    assert rows(workspace)["park", "review"][1] == 1
    said = [line.who for line in workspace.ledger.find(AuditLine, order=("number",))]
    assert said == ["ann", "bob", "ann"]


@pytest.mark.parametrize("source", ["appeal", "model", "account-day@0123456789ab", "not banned", " "])
def test_a_vote_has_a_source_that_is_a_persons_own(workspace, source):
    with pytest.raises(ResponseError, match="source"):
        say(workspace, "park", bot=True, by="ann", source=source)


def test_nobody_votes_without_a_name_or_as_the_ladder(workspace):
    for name in (" ", "ladder"):
        with pytest.raises(ResponseError, match="--by"):
            say(workspace, "park", bot=True, by=name)


def test_file_and_ledger_are_read_as_one_table_and_further_columns_stay(workspace):
    say(workspace, "park", bot=False, by="ann")

    known = read_labels(workspace.labels).frame

    assert sorted(known["actor"]) == ["kim", "lee", "park"]
    assert known.filter(actor="kim")["family"].to_list() == ["farm"]
    assert known.filter(actor="park")["at"].to_list() == [NOW]


def appealed(workspace, actor="kim", **given):
    label = Label(actor, bot=False, source="appeal", at=NOW, by="gm", votes={"gm": False}, **given)
    with workspace.ledger.writing("gm", NOW) as work:
        work.add([label])


def test_an_appeal_holds_against_a_ban_of_the_file(workspace):
    appealed(workspace)

    assert rows(workspace) == {
        ("kim", "ban"): (True, None),
        ("kim", "appeal"): (False, 0),
        ("lee", "rater"): (False, None),
    }
    periods = pl.DataFrame({"actor": ["kim"], "since": [NOW - DAY], "until": [NOW], "events": [10]})
    periods = periods.with_columns(pl.col("since", "until").cast(pl.Datetime("us", "UTC")))
    assert label_periods(periods, read_labels(workspace.labels).frame, "test").rows["bot"].to_list() == [False]


def test_an_appeal_holds_against_what_raters_said_before_it_and_not_against_what_they_say_after(workspace):
    for name in ("ann", "bob"):
        say(workspace, "choi", bot=True, by=name, at=NOW - DAY)
    appealed(workspace, "choi", since=NOW - 5 * DAY, until=NOW)
    assert rows(workspace)["choi", "appeal"] == (False, 0)
    assert ("choi", "review") not in rows(workspace)

    say(workspace, "choi", bot=True, by="ann", at=NOW + DAY)

    assert told_by(workspace.ledger.find(Label))["source"].to_list() == ["appeal", "review"]


def test_a_workspace_without_a_labels_file_knows_what_the_ledger_says(workspace):
    alone = Workspace(workspace.root, config_from({"workspace": {}}, "test"))
    assert alone.labels is None

    say(alone, "park", bot=False, by="ann")

    assert rows(alone) == {("park", "review"): (False, 1)}


def alone(workspace):
    """The same workspace, in which the word of one rater is a label."""
    return replace(workspace, config=config_from({"workspace": {"labels": "labels.csv", "one_rater": True}}, "test"))


@pytest.mark.parametrize(
    ("votes", "known"),
    [
        ([True], True),
        ([False], False),
        ([True, False], None),
        ([True, True], True),
        ([True, False, False], False),
        ([False, False], False),
    ],
)
def test_where_one_rater_is_enough_the_word_of_one_is_a_label_until_a_second_one_looks(workspace, votes, known):
    for at, bot in enumerate(votes):
        say(workspace, "park", bot, f"rater{at}", at=NOW + timedelta(minutes=at))

    play = pl.DataFrame({"actor": ["park"], "since": [NOW - DAY], "until": [NOW], "events": [10]})
    labelled = label_periods(
        play.with_columns(pl.col("since", "until").cast(pl.Datetime("us", "UTC"))),
        read_labels(alone(workspace).labels).frame,
        "test",
    )
    assert labelled.rows["bot"].to_list() == ([] if known is None else [known])


def test_the_word_of_one_rater_is_one_of_three_votes_unless_somebody_says_otherwise(workspace):
    label = say(workspace, "park", bot=True, by="ann")

    assert told_by([label])["votes"].to_list() == [1]
    assert told_by([label], alone=True)["votes"].to_list() == [None]
    assert not config_from({}, "test").workspace.one_rater


def test_an_appeal_holds_against_one_rater_alone_too(workspace):
    say(workspace, "kim", bot=True, by="ann", at=NOW - DAY)
    appealed(workspace)

    told = told_by(workspace.ledger.find(Label, order=("at",)), alone=True)

    assert told.select("actor", "bot", "source").rows() == [("kim", False, "appeal")]


def test_a_vote_on_an_account_that_chance_named_says_so_in_the_labels(workspace):
    cast(workspace.ledger, "drawn", "human", rater="Ada", at=NOW, drawn=True)
    cast(workspace.ledger, "odd", "human", rater="Ada", at=NOW, drawn=False)

    told = workspace.labels.filter(pl.col("actor").is_in(["drawn", "odd"])).select("actor", "source").sort("actor")

    assert told.rows() == [("drawn", "random-review"), ("odd", "review")]


def play_of(actor):
    rows = pl.DataFrame({"actor": [actor], "since": [NOW - DAY], "until": [NOW], "events": [10]})
    return rows.with_columns(pl.col("since", "until").cast(pl.Datetime("us", "UTC")))


def learned_from(workspace, actor):
    """What a model learns about an account of the workspace."""
    return label_periods(play_of(actor), read_labels(workspace.labels).frame, "test").rows["bot"].to_list()


def test_one_vote_against_a_known_bot_leaves_it_in_training_and_two_take_it_out(workspace):
    say(workspace, "kim", bot=False, by="ann")
    assert learned_from(workspace, "kim") == [True]

    say(workspace, "kim", bot=False, by="bob")
    assert learned_from(workspace, "kim") == []


def test_where_one_vote_is_enough_it_takes_no_known_bot_out_before_a_third_person_has_voted(workspace):
    settings = {"workspace": {"labels": "labels.csv", "one_rater": True}}
    alone = Workspace(workspace.root, config_from(settings, "test"))
    say(alone, "kim", bot=False, by="ann")
    say(alone, "park", bot=False, by="ann")

    assert (learned_from(alone, "kim"), learned_from(alone, "park")) == ([True], [False])
    assert alone.disputed == {"kim"}

    say(alone, "kim", bot=False, by="bob")
    assert learned_from(alone, "kim") == []


def test_one_vote_is_no_label_for_backtests_and_maintenance_either(workspace):
    say(workspace, "park", bot=False, by="ann")
    say(workspace, "choi", bot=True, by="ann")
    known = read_labels(workspace.labels).frame

    assert sorted(called(known)["actor"]) == ["kim", "lee"]
    assert called_human(known) == {"lee"}


@pytest.mark.parametrize(
    ("actor", "votes", "waits"),
    [
        ("kim", [False], True),  # the file calls kim a bot
        ("kim", [True], False),
        ("kim", [False, True], False),  # two of three: a bot
        ("kim", [False, False], False),  # two of three: a person
        ("lee", [True], True),  # the file calls lee human
        ("park", [True], False),  # nothing is known of park
        ("park", [True, False], True),
        ("park", [True, False, False], False),
        ("park", [True, True, False, False], True),
    ],
)
def test_a_vote_against_what_is_known_asks_for_a_third_person(workspace, actor, votes, waits):
    for at, bot in enumerate(votes):
        say(workspace, actor, bot, f"rater{at}", at=NOW + timedelta(minutes=at))

    assert workspace.disputed == ({actor} if waits else frozenset())


def test_votes_before_an_appeal_wait_for_nobody(workspace):
    say(workspace, "park", bot=True, by="ann", at=NOW - DAY)
    say(workspace, "park", bot=False, by="bob", at=NOW - DAY)
    appealed(workspace, "park")

    assert workspace.disputed == frozenset()


def test_too_few_labels_name_the_setting_where_single_votes_wait(workspace):
    lonely = Workspace(workspace.root, config_from({"workspace": {}}, "test"))
    for number in range(6):
        say(lonely, f"p{number}", bot=number < 3, by="ann")
    play = pl.concat([play_of(f"p{number}") for number in range(6)])
    labelled = label_periods(play, read_labels(lonely.labels).frame, "fit signs")

    with pytest.raises(FitError) as error:
        refuse_too_few(labelled.rows, 3, "fit signs", labelled.left_out)

    assert "let a second reviewer vote, or set [workspace] one_rater = true if one vote is enough" in str(error.value)
    assert "label more actors" not in str(error.value)
    assert "labels with one vote, where two reviewers must agree: 6" in str(error.value)


@pytest.mark.parametrize(
    "text",
    [
        "[workspace]\nlake = 'lake'  # events\n\n[read]\ntime_zone = 'UTC'\n",
        "# nothing\n[workspace]",
        "[[source]]\nname = 'a'\nlocator = 'logs'\n",
        "[workspace]  # places\r\nlake = 'lake'\r\n",
    ],
)
@pytest.mark.parametrize("enough", [True, False])
def test_the_answer_is_written_into_the_settings_and_nothing_else_changes(tmp_path, text, enough):
    path = tmp_path / "warden.toml"
    path.write_bytes(text.encode())
    before = load_config(path)

    write_one_rater(path, enough=enough)

    after = load_config(path)
    assert after.workspace.one_rater is enough
    assert after.given - before.given == {"[workspace] one_rater"}
    assert replace(after, workspace=replace(after.workspace, one_rater=False), given=before.given) == before


def test_settings_that_cannot_be_added_to_stay_as_they_are(tmp_path):
    path = tmp_path / "warden.toml"
    path.write_text("workspace = { lake = 'lake' }\n")

    with pytest.raises(ConfigError, match=r"write one_rater = true under \[workspace\]"):
        write_one_rater(path, enough=True)

    assert path.read_text() == "workspace = { lake = 'lake' }\n"
