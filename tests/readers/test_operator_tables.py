from datetime import UTC, datetime

import polars as pl
import pytest

from gamewarden.errors import GamewardenError, ReadError
from gamewarden.readers.logs.operator_tables import read_labels, read_profiles, read_table, read_vocabulary
from gamewarden.tables import LABELS


def write(path, text):
    path.write_text(text)
    return path


@pytest.mark.parametrize(("yes", "no"), [("true", "false"), ("1", "0"), ("TRUE", "False")])
def test_labels_say_bot_in_words_or_numbers(tmp_path, yes, no):
    labels = read_labels(write(tmp_path / "l.csv", f"actor,bot\n007,{yes}\nb,{no}\n"))

    assert labels.frame.select("actor", "bot").rows() == [("007", True), ("b", False)]
    assert labels.frame.columns == list(LABELS.columns)
    assert labels.notes == ()


def test_labels_may_say_when_who_and_how_many(tmp_path):
    text = "bot,actor,since,until,source,votes,farm\n1,a,2024-01-01T00:00:00Z,1704153600,ban,3,f1\n"
    (row,) = read_labels(write(tmp_path / "l.csv", text)).frame.to_dicts()

    assert row == {
        "actor": "a",
        "character": None,
        "since": datetime(2024, 1, 1, tzinfo=UTC),
        "until": datetime(2024, 1, 2, tzinfo=UTC),
        "bot": True,
        "source": "ban",
        "votes": 3,
        "group": None,
        "at": None,
        "farm": "f1",
    }


def test_a_ban_and_the_appeal_against_it_do_not_tear_an_actor_apart(tmp_path):
    text = "actor,bot,source\na,1,ban\na,0,appeal\nb,1,model\nb,0,rater\nc,1,rater\nc,0,appeal\n"

    labels = read_labels(write(tmp_path / "l.csv", text))

    assert labels.frame["actor"].to_list() == ["a", "a", "b", "b"]
    assert "1 actors are called bot and human at once and are left out (c, …)" in labels.notes[0]


def test_labels_of_parquet_and_json_lines_are_the_same(tmp_path):
    frame = pl.DataFrame({"actor": [1, 2], "bot": [True, False]})
    frame.write_parquet(tmp_path / "l.parquet")
    frame.write_ndjson(tmp_path / "l.jsonl")

    assert read_labels(tmp_path / "l.parquet").frame.equals(read_labels(tmp_path / "l.jsonl").frame)


def test_labels_there_twice_count_once_and_contradictions_are_left_out_and_named(tmp_path):
    labels = read_labels(write(tmp_path / "l.csv", "actor,bot\na,1\na,true\nb,1\nb,0\nc,0\n"))

    assert labels.frame["actor"].to_list() == ["a", "c"]
    assert "1 rows are there twice" in labels.notes[0]
    assert "bot and human at once" in labels.notes[1]
    assert "(b, …)" in labels.notes[1]


def test_labels_of_different_times_or_characters_do_not_contradict(tmp_path):
    times = (
        "actor,bot,character,since,until\na,0,,,2024-01-01T00:00:00Z\na,1,,2024-01-01T00:00:00Z,\nb,1,x,,\nb,0,y,,\n"
    )

    labels = read_labels(write(tmp_path / "l.csv", times))

    assert labels.frame.height == 4
    assert labels.notes == ()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("actor,bot\na,maybe\n", "row 1: bot is 'maybe'; it must be true, false, 1 or 0"),
        ("actor,bot\na,1\n,1\n", "row 2: actor is None; it must always be there"),
        ("actor,bot\na,\n", "row 1: bot is None; it must always be there"),
        ("actor,label\na,1\n", "lacks bot; it has actor, label"),
        ("actor,bot,votes\na,1,many\n", "row 1: votes is 'many'; it must be Int32"),
        ("actor,bot,since\na,1,2024-01-01\n", "row 1: since is '2024-01-01'; time has no zone"),
        ("actor,bot\na,1,2\n", "row has not the 2 fields of the header"),
        ("actor,actor\na,1\n", "two columns have the same name"),
        ("", "is empty"),
    ],
)
def test_labels_that_cannot_be_read_get_one_line(tmp_path, text, message):
    with pytest.raises(GamewardenError) as caught:
        read_labels(write(tmp_path / "l.csv", text))

    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_profiles_keep_further_columns_and_know_numbers_from_ids(tmp_path):
    text = "actor,level,first_login,guild,rating,code,hours\n1,60,2020-01-01T00:00:00Z,red,1.5,007,3\n2,,,,2,012,4\n"
    frame = read_profiles(write(tmp_path / "p.csv", text))

    assert frame.row(0, named=True) | {} == {
        **dict.fromkeys(frame.columns),
        "actor": "1",
        "level": 60,
        "first_login": datetime(2020, 1, 1, tzinfo=UTC),
        "guild": "red",
        "rating": 1.5,
        "code": "007",
        "hours": 3,
    }


def test_a_profile_is_one_row_an_account(tmp_path):
    with pytest.raises(ReadError, match="actor '1' has more than one row"):
        read_profiles(write(tmp_path / "p.csv", "actor\n1\n1\n"))


def test_a_vocabulary_is_one_kind_a_line_in_any_order(tmp_path):
    assert read_vocabulary(write(tmp_path / "v.txt", "\ufeffmove\r\n\ncombat.kill\n move\n")) == ("combat.kill", "move")


@pytest.mark.parametrize(
    ("data", "message"), [(b"\n\n", "names no kind"), (b"", "names no kind"), (b"\xff", "not UTF-8")]
)
def test_a_vocabulary_that_is_none_gets_one_line(tmp_path, data, message):
    (tmp_path / "v.txt").write_bytes(data)

    with pytest.raises(ReadError, match=message):
        read_vocabulary(tmp_path / "v.txt")


def test_a_table_with_a_header_alone_has_no_rows(tmp_path):
    assert read_table(write(tmp_path / "t.csv", "a,b\n")).shape == (0, 2)
