import gzip
from dataclasses import dataclass, field
from datetime import UTC, datetime

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gamewarden import features, pipeline, readers
from gamewarden.errors import ReadError
from gamewarden.readers.logs.lint import lint, lint_events
from gamewarden.readers.logs.mapping import load_mapping, parse_mapping
from gamewarden.readers.logs.tables import EventFile
from gamewarden.tables import FrameEvents
from plugged import offered

NOW = datetime(2026, 1, 1, tzinfo=UTC)


@dataclass
class Wish:
    requires: tuple[str, ...]
    optional: dict[str, str] = field(default_factory=dict)


DETECTORS = {
    "lee": Wish(("actor", "at", "kind"), {"level": "main_char_level", "trade.give": "trade_give_count"}),
    "moves": Wish(("x", "y"), {}),
    "plain": Wish(("actor", "at", "kind")),
}
GOOD = (
    "actor,at,kind,level,Map_ID\n"
    "a,2024-01-01T00:00:00Z,session.login,1,m1\n"
    "b,2024-01-01T00:00:05Z,1204,1,m1\n"
    "a,2024-01-01T00:00:09Z,1204,,m2\n"
)


def write(path, text):
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def test_a_sound_log_is_described_in_sentences(tmp_path):
    path = write(tmp_path / "log.csv", GOOD)

    assert lint(path, detectors=DETECTORS, now=NOW).sentences() == [
        f"{path}: CSV.",
        "Columns read: actor, at, kind, level.",
        "Columns missing: character, seq, zone, x, y, target, item, amount, other, session, ip.",
        "Columns not used: Map_ID.",
        "3 rows read, 3 kept.",
        "2 actors from 2024-01-01 00:00:00 to 2024-01-01 00:00:09 UTC.",
        "Reserved kinds seen: session.login 1.",
        "Other kinds seen: 1204 2.",
        "Detector: lee can work, but gets no trade_give_count without trade.give.",
        "Detector: moves stays blind: the log has no x and no y.",
        "Detector: plain gets all it needs.",
        "Next: See whether one of the unused columns is x or y, and name it under [columns], with all that are read.",
        "Next: Read it: gamewarden read SOURCE --to DIR.",
    ]


def test_a_log_with_other_column_names_gets_the_beginning_of_a_mapping(tmp_path):
    path = write(tmp_path / "log.csv.gz", gzip.compress(b"Account_ID;LogTime;Event;zone\n7;1700000000;x;z\n"))

    found = lint(path, detectors=DETECTORS)

    assert not found.readable
    assert found.form == "CSV, split by semicolons, packed with gzip"
    assert found.problem.startswith("lacks actor, at, kind; it has Account_ID, LogTime, Event")
    assert found.columns == ("zone",)
    assert found.advice[-1] == (
        'By their names, it could begin: [columns] actor = "Account_ID", at = "LogTime", kind = "Event", zone = "zone".'
    )
    begun = parse_mapping('[columns]\nactor = "Account_ID"\nat = "LogTime"\nkind = "Event"\n', "m")
    assert lint(path, begun, now=NOW).readable


def test_times_without_a_zone_are_explained_and_the_rest_is_still_told(tmp_path):
    path = write(tmp_path / "log.csv", GOOD.replace("Z,", ","))

    found = lint(path, now=NOW)

    assert not found.readable
    assert "times have no zone, and a guess of ours could be hours wrong." in found.suspicions
    assert found.advice[0].startswith("Name the zone")
    assert lint(path, time_zone="Asia/Seoul", now=NOW).readable


def suspicions(tmp_path, text):
    return " ".join(lint(write(tmp_path / "log.csv", text), now=NOW).suspicions)


def test_suspicious_things_are_pointed_out(tmp_path):
    head = "actor,at,kind\n"

    assert "one actor only, 'a'" in suspicions(tmp_path, head + "a,1700000000,k\n")
    assert "1 row in the future" in suspicions(tmp_path, head + "a,1700000000,k\nb,1900000000,k\n")
    assert "before 1990" in suspicions(tmp_path, head + "a,1,k\nb,2,k\n")
    assert "1 row earlier" in suspicions(tmp_path, head + "a,1700000009,k\nb,1700000000,k\na,1700000008,k\n")
    assert "an actor of its own" in suspicions(tmp_path, head + "".join(f"{i},1700000000,k\n" for i in range(20)))
    assert "free text" in suspicions(tmp_path, head + "".join(f"a,1700000000,k{i}\n" for i in range(5001)))
    assert "1 row with a seq seen before" in suspicions(
        tmp_path, "actor,at,kind,seq\na,1700000000,k,1\nb,1700000000,k,1\n"
    )


def test_near_misses_of_reserved_kinds_come_with_the_line_that_maps_them(tmp_path):
    path = write(tmp_path / "log.csv", "actor,at,kind\na,1700000000,login\nb,1700000000,Session.Logout\n")

    found = lint(path, now=NOW)

    assert "kind 'login' looks like the reserved kind 'session.login' and is not counted as it." in found.suspicions
    assert found.advice[0] == (
        'Map them in the mapping file: [kinds] "Session.Logout" = "session.logout", "login" = "session.login".'
    )


def test_rows_that_do_not_parse_are_counted_among_the_first(tmp_path):
    path = write(tmp_path / "log.csv", "actor,at,kind,level\n" + "a,1700000000,k,x\nb,never,k,1\n" * 50)

    found = lint(path, now=NOW)

    assert (found.report.rows, found.report.kept) == (100, 50)
    assert "Left out: time does not parse in 50 rows (first in row 2: 'never')." in found.sentences()
    assert "Value set to null: level is not a whole number in 50 rows (first in row 1: 'x')." in found.sentences()


def test_only_the_first_rows_of_a_long_log_are_looked_at(tmp_path, monkeypatch):
    monkeypatch.setattr("gamewarden.readers.logs.delimited.LONGEST_ROW", 1 << 16)
    path = write(tmp_path / "log.csv", "actor,at,kind\n" + "a,1700000000,k\nb,1700000000,k\n" * 50_000)

    found = lint(path, first_rows=1_000, now=NOW)

    assert not found.whole
    assert 1_000 <= found.report.kept < 20_000
    assert any(line.startswith("Of the first ") for line in found.sentences())


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b"", "is empty"),
        (b"BZh9", "is packed with bzip2"),
        (gzip.compress(GOOD.encode())[:-9], "ends early"),
        (GOOD.encode() + b'c,1,"k\n', "never closes"),
    ],
)
def test_whatever_is_wrong_with_a_file_stands_in_the_answer(tmp_path, data, problem):
    found = lint(write(tmp_path / "log", data), detectors=DETECTORS, now=NOW)

    assert problem in found.problem
    assert any(line.startswith("Problem: ") for line in found.sentences())
    assert found.advice


def test_a_column_that_is_there_and_always_empty_leaves_a_detector_blind(tmp_path):
    path = write(tmp_path / "log.csv", "actor,at,kind,x,y\na,1700000000,k,,\n")

    assert lint(path, detectors=DETECTORS, now=NOW).sights[1].blind == ("x", "y")


def test_the_table_says_what_the_sentences_say(tmp_path):
    table = lint(write(tmp_path / "log.csv", GOOD), detectors=DETECTORS, now=NOW).table()

    assert table.columns == ["topic", "subject", "count", "says"]
    assert table.filter(pl.col("says") == "not mapped").rows() == [("kind", "1204", 2, "not mapped")]
    assert table.filter(pl.col("topic") == "detector").height == 3


def test_events_in_memory_or_in_a_lake_are_linted_too():
    frame = pl.DataFrame({"actor": ["a", "b"], "at": [NOW, NOW], "kind": ["move", "k"]})

    found = lint_events(FrameEvents(frame), "the lake", DETECTORS, now=NOW)

    assert found.readable
    assert dict(found.reserved) == {"move": 1}


def test_the_preset_for_another_game_says_what_it_misses(tmp_path):
    found = lint(write(tmp_path / "log.csv", GOOD), load_mapping("blade-and-soul"), now=NOW)

    assert "'Actor_Account_ID' (our actor)" in found.problem


def test_a_log_without_one_good_row_says_nothing_of_detectors(tmp_path):
    path = tmp_path / "bad.csv"
    path.write_text("actor,at,kind\n,x,y\n")

    lines = lint(path, detectors=DETECTORS).sentences()

    assert "Suspicious: no row could be kept, so that nothing can be said of detectors." in lines
    assert not any("stays blind" in line for line in lines)


FAMILY = '''
from dataclasses import dataclass


@dataclass(frozen=True)
class Part:
    """How far somebody walks."""

    name = "strides"
    input = "events"
    requires = ("actor", "x", "y")
    optional = {"combat.kill": "strides to a kill"}
'''


def test_the_command_speaks_of_every_feature_of_events_those_of_installed_packages_too(tmp_path, monkeypatch):
    log = tmp_path / "log.csv"
    write(log, "actor,at,kind\na,2026-03-01T00:00:00Z,move\n")

    with offered(features.REGISTRY, "strides", FAMILY, tmp_path, monkeypatch):
        found = pipeline.lint(readers.open(log))

    said = {sight.name: sight.sentence() for sight in found.sights if sight.what == "feature"}
    assert said["strides"] == "strides stays blind: the log has no x and no y."
    assert "activity" in said
    assert not {"traffic", "session", "account-table"} & said.keys()
    assert "Feature: strides (of made_up_strides 1.0) stays blind: the log has no x and no y." in found.sentences()
    assert ("feature", "strides") in found.table().select("topic", "subject").rows()


def test_a_guessed_column_that_loses_rows_is_said_with_what_it_loses(tmp_path):
    rows = "".join(f"{'' if n % 8 == 0 else 'a'},170000000{n % 10},k\n" for n in range(80))

    found = lint(write(tmp_path / "log.csv", "Account,Time,Event\n" + rows), now=NOW)

    assert found.advice[-1] == (
        "With that 70 of the first 80 rows would be kept: actor is missing in 10 rows (first in row 1: '')."
    )


def test_of_several_columns_that_may_be_ours_the_one_that_loses_fewest_rows_is_suggested(tmp_path):
    text = "Account,UserId,Time,Event\n,u,1700000000,k\na,u,1700000000,k\n"

    assert 'actor = "UserId", at = "Time"' in lint(write(tmp_path / "log.csv", text), now=NOW).advice[-1]


def test_a_column_named_like_a_time_that_holds_none_is_not_suggested(tmp_path):
    found = lint(write(tmp_path / "log.csv", "Account,Time,Event\na,noon,k\n"), now=NOW)

    assert found.advice[-1] == 'By their names, it could begin: [columns] actor = "Account", kind = "Event".'


def test_a_unit_that_only_its_size_tells_is_named_and_not_guessed_silently(tmp_path):
    found = lint(write(tmp_path / "log.csv", "Account,Time,Event\na,1700000000123,k\n"), now=NOW)

    assert found.advice[-1].endswith('kind = "Event" [time] format = "epoch_ms".')


def test_a_word_for_nobody_is_said_to_cost_rows_where_it_does(tmp_path):
    found = lint(write(tmp_path / "log.csv", "actor,at,kind,zone\n-,1700000000,k,-\nb,1700000000,k,z\n"), now=NOW)

    assert any("these rows are then left out" in line for line in found.suspicions if line.startswith("actor"))


HEADS = st.permutations(["Account", "user_id", "Player", "Time", "created-at", "Event", "Type", "zone", "Memo", "at"])
CELLS = st.sampled_from(["", "a", "b", "NULL", "1700000000", "1700000000123", "2024-05-06T07:08:09Z", "noon"])


@given(HEADS, st.integers(3, 7), st.lists(st.lists(CELLS, min_size=7, max_size=7), min_size=1, max_size=8), st.data())
def test_what_lint_suggests_keeps_as_many_rows_as_it_says(tmp_path, heads, width, rows, data):
    if data.draw(st.booleans()):  # times that are times
        rows = [[data.draw(st.sampled_from(["a", "1700000000"])), *row[1:]] for row in rows]
    lines = [",".join(heads[:width]), *(",".join(row[:width]) for row in rows)]
    path = write(tmp_path / "log.csv", "\n".join(lines) + "\n")
    advice = lint(path, now=NOW).advice
    begun = next((line for line in advice if "could begin: " in line), None)
    if begun is None:
        return
    text = (
        begun.partition("could begin: ")[2]
        .removesuffix(".")
        .replace(" [time] ", "\n[time]\n")
        .partition(" or format")[0]
    )
    mapping = parse_mapping(text.replace("[columns] ", "[columns]\n").replace('", ', '"\n'), "m")
    try:
        file = EventFile(path, mapping, max_bad_share=1.0)
        kept = sum(batch.num_rows for batch in file.batches(("actor",)))
    except ReadError:
        return  # it begins a mapping, and more is missing than names tell
    lost = [line for line in advice if line.startswith("With that ")]
    assert bool(lost) == (kept < file.report.rows)
    assert not lost or lost[0].startswith(f"With that {kept:,} of the first {file.report.rows:,} row")
