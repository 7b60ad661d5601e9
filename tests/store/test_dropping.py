"""What leaves a lake: days that are too old, and players who are to be forgotten."""

import json
import signal
import subprocess
import sys
from datetime import UTC, date, datetime

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from dropped_lakes import HEAD, ROWS, frame, read_into, texts_at_rest
from gamewarden.core.durations import DAY
from gamewarden.errors import ReadError, WriteError
from gamewarden.store import lake as lakes
from gamewarden.store.lake import Dropped, Lake
from gamewarden.store.manifest import load
from gamewarden.store.source import LakeSource


@pytest.fixture
def log(tmp_path):
    path = tmp_path / "log.csv"
    path.write_text(HEAD + ROWS)
    return path


@pytest.fixture(params=["as it came", "compacted"])
def lake(tmp_path, log, request):
    lake = Lake(tmp_path / "lake")
    read_into(lake, log)
    other = tmp_path / "other.csv"
    other.write_text(HEAD + "dan,300,move,,,,\n")
    read_into(lake, other)
    if request.param == "compacted":
        lake.compact()
    return lake


def content(lake):
    return [lake.stretches.content(day * DAY, (day + 1) * DAY) for day in range(3)]


def test_days_before_a_date_are_dropped_and_the_others_stay(lake):
    later = frame(lake.events(since=datetime(1970, 1, 2, tzinfo=UTC)))
    before = content(lake)

    assert lake.drop_days(date(1970, 1, 2)) == Dropped(rows=3, days=1)

    assert_frame_equal(frame(lake.events()), later)
    assert content(lake) == [None, *before[1:]]
    assert sorted(path.name for path in lake.directory.glob("day=*")) == ["day=1970-01-02", "day=1970-01-03"]
    assert lake.shows == {"chat": 1, "combat.kill": 1, "move": 1, "trade.give": 0, "trade.receive": 0}
    assert lake.drop_days(date(1970, 1, 2)) == Dropped(rows=0, days=0)


def test_what_was_dropped_does_not_come_back_with_its_file(lake, log, tmp_path):
    lake.drop_days(date(1970, 1, 2))

    assert read_into(lake, log).new == 0
    log.write_text(HEAD + ROWS + "eve,172950,move,,,,\n")
    assert read_into(lake, log).new == 1
    new = tmp_path / "new.csv"
    new.write_text(HEAD + "fay,400,move,,,,\nfay,90000,move,,,,\n")
    added = read_into(lake, new)
    assert (added.new, added.note) == (1, "1 row of days that were dropped left out")
    assert frame(lake.events())["at"].min() >= datetime(1970, 1, 2, tzinfo=UTC)


def test_a_forgotten_actor_is_in_no_file_any_more_neither_by_name_nor_by_what_it_had(lake):
    assert {"ann", "session-of-ann", "10.0.0.1"} <= texts_at_rest(lake)

    assert lake.forget("ann") == Dropped(rows=2, days=3)

    left = texts_at_rest(lake)
    assert not [text for text in left if "ann" in text or "10.0.0.1" in text]
    assert "session-of-bob" in left


def test_the_rows_of_others_stay_without_the_name(lake):
    before = frame(lake.events()).filter(pl.col("actor") != "ann")

    lake.forget("ann")

    unnamed = [pl.col(name).replace("ann", None) for name in ("other", "target")]
    assert_frame_equal(frame(lake.events()), before.with_columns(unnamed).sort(pl.all()))
    assert lake.shows["trade.give"] == 0
    assert lake.shows["move"] == 1


def test_what_a_period_holds_is_another_where_rows_of_the_actor_were(lake):
    before, seen = content(lake), LakeSource(lake.directory).fingerprint()

    lake.forget("ann")

    assert [now == then for now, then in zip(content(lake), before, strict=True)] == [False, False, True]
    assert LakeSource(lake.directory).fingerprint() != seen


def test_no_log_brings_a_forgotten_actor_back(lake, log, tmp_path):
    lake.forget("ann")
    lake.forget("dan")

    assert read_into(lake, log).new == 0
    log.write_text(HEAD + ROWS + "ann,172950,move,,,,\ncid,172960,move,ann,bob,,10.0.0.9\n")
    grown = read_into(lake, log)
    assert (grown.new, grown.note) == (1, "3 rows of forgotten actors left out")
    new = tmp_path / "new.csv"
    new.write_text(HEAD + "".join(reversed(ROWS.splitlines(keepends=True))))
    assert read_into(lake, new).new == 3
    assert not {"ann", "dan", "session-of-ann", "10.0.0.1"} & texts_at_rest(lake)


def test_rows_of_a_known_name_are_known_again_though_a_name_in_them_is_gone(tmp_path):
    lake, log = Lake(tmp_path / "lake"), tmp_path / "log.csv"
    log.write_text("actor,at,kind,other,seq\nbob,5,k,ann,1\nann,6,k,bob,2\n")
    read_into(lake, log)
    lake.forget("ann")
    log.write_text("actor,at,kind,other,seq\nann,6,k,bob,2\nbob,5,k,ann,1\nbob,9,k,ann,3\n")

    assert (read_into(lake, log).new, frame(lake.events())["other"].to_list()) == (1, [None, None])


def test_an_actor_nobody_has_seen_is_forgotten_before_it_comes(lake, tmp_path):
    assert lake.forget("zoe") == Dropped(rows=0, days=0)

    new = tmp_path / "new.csv"
    new.write_text(HEAD + "zoe,400,move,,,,\n")
    assert read_into(lake, new).new == 0


def test_digests_of_two_lakes_cannot_be_compared(tmp_path, log):
    lists = []
    for name in ("one", "two"):
        lake = Lake(tmp_path / name)
        read_into(lake, log)
        lake.forget("ann")
        lists.append(json.loads((lake.directory / "lake.json").read_text())["forgotten"])

    assert lists[0] != lists[1]


def test_a_reader_keeps_what_it_reads_while_days_and_actors_go(lake):
    reader = lake.events()
    before = frame(reader)

    lake.forget("ann")
    lake.drop_days(date(1970, 1, 3))

    assert_frame_equal(frame(reader), before)
    del reader
    lake.drop_days(date(1970, 1, 3))
    parts = {path.relative_to(lake.directory).as_posix() for path in lake.directory.rglob("*.parquet")}
    assert parts == {part.file for part in load(lake.directory).parts}


ACTS = {"forget": lambda lake: lake.forget("ann"), "drop": lambda lake: lake.drop_days(date(1970, 1, 2))}
STEPS = [(act, step) for act, own in (("forget", ("rewritten", "publish")), ("drop", ("kinds_of",))) for step in own]


@pytest.mark.parametrize(("act", "step"), [*STEPS, ("forget", "manifests.save"), ("drop", "manifests.save")])
def test_after_a_failure_the_lake_is_as_it_was(lake, monkeypatch, act, step):
    before = frame(lake.events()), content(lake)

    def full(*_args, **_options):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(f"{lakes.__name__}.{step}", full)
        with pytest.raises(WriteError, match="No space left"):
            ACTS[act](lake)

    assert_frame_equal(frame(lake.events()), before[0])
    assert content(lake) == before[1]
    assert only_what_counts(lake)


KILLED = """
import os, signal, sys
from datetime import date
from pathlib import Path
from gamewarden.store import lake as lakes, manifest

act, step, times = sys.argv[2], sys.argv[3], int(sys.argv[4])
held, module = [], manifest if step == "save" else lakes
usual = getattr(module, step)


def dying(*given):
    held.append(given)
    if len(held) == times:
        os.kill(os.getpid(), signal.SIGKILL)
    return usual(*given)


setattr(module, step, dying)
lake = lakes.Lake(Path(sys.argv[1]))
lake.forget("ann") if act == "forget" else lake.drop_days(date(1970, 1, 2))
"""


@pytest.mark.parametrize(
    ("act", "step", "times"), [("forget", "publish", 2), ("forget", "save", 1), ("drop", "save", 1)]
)
def test_a_kill_leaves_the_lake_as_it_was_and_the_next_one_sweeps_up(lake, act, step, times):
    before = frame(lake.events()), content(lake)

    line = [sys.executable, "-c", KILLED, str(lake.directory), act, step, str(times)]
    killed = subprocess.run(line, check=False)

    assert killed.returncode == -signal.SIGKILL
    assert_frame_equal(frame(lake.events()), before[0])
    assert content(lake) == before[1]
    assert ACTS[act](lake).rows > 0
    assert only_what_counts(lake)


def only_what_counts(lake):
    parts = {path.relative_to(lake.directory).as_posix() for path in lake.directory.rglob("*.parquet")}
    return parts == {part.file for part in load(lake.directory).parts}


def test_a_manifest_with_a_digest_that_is_none_is_damaged(lake):
    values = json.loads((lake.directory / "lake.json").read_text())
    (lake.directory / "lake.json").write_text(json.dumps({**values, "salt": "xy"}))

    with pytest.raises(ReadError, match="a digest of a forgotten actor is none"):
        lake.events()
