"""A compacted lake: other files, the same events, the same results, and rows that are still known again."""

import hashlib
from datetime import UTC, date, datetime

import polars as pl
import pyarrow.parquet as pq
import pytest
from polars.testing import assert_frame_equal

from compacted_lakes import HEAD, frame, log_of
from gamewarden import features
from gamewarden.core.durations import DAY
from gamewarden.errors import ReadError
from gamewarden.readers.logs.tables import EventFile
from gamewarden.store.lake import Lake
from gamewarden.store.manifest import load
from gamewarden.store.source import LakeSource


def read_into(lake, path):
    return lake.add(EventFile(path).numbered())


@pytest.fixture
def lake(tmp_path):
    """Two logs of the same players and days."""
    lake = Lake(tmp_path / "lake")
    for name, seed in (("fights", 1), ("trades", 2)):
        (tmp_path / f"{name}.csv").write_text(log_of(seed))
        read_into(lake, tmp_path / f"{name}.csv")
    return lake


def sorted_rows(lake):
    return frame(lake.events()).sort(pl.all())


def said_of(lake):
    """All that is said of a lake beside its rows."""
    events = lake.events()
    days = [lake.stretches.content(day * DAY, (day + 1) * DAY) for day in range(4)]
    hours = [lake.stretches.content(hour * DAY // 24, (hour + 5) * DAY // 24) for hour in range(24)]
    held = (events.columns, events.rows, events.shows, events.coverage, list(lake.stretches), lake.span)
    return days, hours, held, LakeSource(lake.directory).fingerprint()


def files(directory):
    found = sorted(path for path in directory.rglob("*") if path.is_file())
    return {path.relative_to(directory).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest() for path in found}


def test_each_day_becomes_one_part_sorted_by_actor_time_and_seq(lake):
    before = sorted_rows(lake)

    done = lake.compact()

    parts = load(lake.directory).parts
    assert [(one.day, one.parts) for one in done] == [(f"1970-01-0{day}", 2) for day in (1, 2, 3)]
    assert sum(one.rows for one in done) == 800
    assert [part.day for part in parts] == ["1970-01-01", "1970-01-02", "1970-01-03"]
    for part in parts:
        rows = pl.read_parquet(lake.directory / part.file).with_columns(pl.col(pl.Categorical).cast(pl.String))
        assert rows.equals(rows.sort("actor", "at", "seq"))
        assert rows.height == part.rows
    assert_frame_equal(sorted_rows(lake), before)


def test_all_that_is_said_of_a_lake_stays_as_it_was(lake):
    before = said_of(lake)

    lake.compact()

    assert said_of(lake) == before


def test_results_stay_the_same_to_the_last_bit(lake):
    recipes = [features.load("self-similarity")(min_windows=1), features.load("actions")(), features.load("activity")()]
    before = [recipe.measure(lake.events()) for recipe in recipes]

    lake.compact()

    for recipe, wanted in zip(recipes, before, strict=True):
        assert wanted.height > 5
        assert_frame_equal(recipe.measure(lake.events()), wanted, check_exact=True)


def test_a_compacted_day_is_left_alone_and_one_with_late_events_is_compacted_again(lake, tmp_path):
    lake.compact()
    before, said = files(lake.directory), said_of(lake)
    assert lake.compact() == ()
    assert files(lake.directory) == before

    late = tmp_path / "late.csv"
    late.write_text(HEAD + f"p1é,{86400 + 500},move,3,,,,,1\n")
    read_into(lake, late)
    held = said_of(lake)
    assert [now == then for now, then in zip(held[0], said[0], strict=True)] == [True, False, True, True]
    assert [(one.day, one.parts) for one in lake.compact()] == [("1970-01-02", 2)]
    assert said_of(lake) == held
    assert sorted_rows(lake).height == 801


def test_only_the_days_asked_for_are_compacted(lake):
    assert [one.day for one in lake.compact(days=["1970-01-02"])] == ["1970-01-02"]
    assert [one.day for one in lake.compact(before=date(1970, 1, 3))] == ["1970-01-01"]


def test_rows_come_in_one_order_whatever_parts_they_were_in_and_whatever_fits_into_memory(tmp_path, monkeypatch, lake):
    other = Lake(tmp_path / "other")
    for name in ("trades", "fights"):
        read_into(other, tmp_path / f"{name}.csv")
    lake.compact()
    monkeypatch.setattr("gamewarden.store.lake_compaction.HELD_ROWS", 17)
    other.compact()

    assert_frame_equal(frame(lake.events()), frame(other.events()))


def test_rows_that_share_actor_time_and_seq_come_by_their_values(tmp_path):
    found = []
    for place, order in enumerate(((1, 2, 3), (3, 1, 2))):
        lake = Lake(tmp_path / f"lake{place}")
        for number in order:
            log = tmp_path / f"{number}.csv"
            log.write_text(f"actor,at,kind,seq\na,5,k{number},7\nb,5,k,\n")
            read_into(lake, log)
        lake.compact()
        found.append(frame(lake.events()))

    assert_frame_equal(*found)
    assert found[0]["kind"].to_list() == ["k1", "k2", "k3", "k", "k", "k"]


def test_one_actor_is_read_from_the_row_groups_that_hold_it(lake, monkeypatch):
    monkeypatch.setattr("gamewarden.store.lake_compaction.ROW_GROUP", 20)
    actors, wanted = ["p3é", "p8é"], frame(lake.events()).filter(pl.col("actor").is_in(["p3é", "p8é"]))
    lake.compact()
    asked = []
    monkeypatch.setattr("gamewarden.store.lake_parts.parquet_batches", counted(asked))

    found = frame(lake.events(actors=actors))

    parts = [pq.ParquetFile(lake.directory / part.file) for part in load(lake.directory).parts]
    touched = [
        sum(not set(actors).isdisjoint(part.read_row_group(group)["actor"].to_pylist()) for group in range(len_(part)))
        for part in parts
    ]
    assert_frame_equal(found.sort(pl.all()), wanted.sort(pl.all()))
    assert [len(groups) for groups in asked] == touched
    assert sum(touched) < sum(map(len_, parts)) / 2


def counted(asked):
    from gamewarden.tables import parquet_batches

    def reading(file, columns, groups=None, size=1 << 18):
        asked.append(range(file.num_row_groups) if groups is None else groups)
        yield from parquet_batches(file, columns, groups, size)

    return reading


def len_(file):
    return file.num_row_groups


def test_a_reader_keeps_what_it_reads_and_the_old_parts_go_when_nobody_does(lake):
    reader = lake.events()
    before = frame(reader)
    old = {part.file for part in load(lake.directory).parts}

    lake.compact()

    assert_frame_equal(frame(reader), before)
    assert all((lake.directory / file).exists() for file in old)
    del reader
    lake.compact()
    assert not any((lake.directory / file).exists() for file in old)
    assert set(files(lake.directory)) == {part.file for part in load(lake.directory).parts} | {"lake.json", ".lock"}


def test_a_source_is_known_again_after_compaction(lake, tmp_path):
    lake.compact()
    log = tmp_path / "fights.csv"

    assert read_into(lake, log).new == 0
    log.write_text(log.read_text() + "p0é,300000,chat,1,,,,,400\n")
    assert (read_into(lake, log).new, sorted_rows(lake).height) == (1, 801)


def test_rows_under_a_known_name_are_known_again_by_seq_and_values_among_those_of_their_own_source(lake, tmp_path):
    lake.compact()
    log = tmp_path / "fights.csv"
    lines = log.read_text().splitlines(keepends=True)
    of_the_other = (tmp_path / "trades.csv").read_text().splitlines(keepends=True)[50]
    log.write_text("".join([lines[0], *lines[200:], of_the_other, "p0é,300000,chat,1,,,,,400\n"]))

    added = read_into(lake, log)

    assert (added.new, added.known) == (2, 201)


def test_a_log_whose_last_line_was_cut_is_read_anew_and_the_other_source_stays(tmp_path):
    lake = Lake(tmp_path / "lake")
    whole, log = log_of(1).replace(",seq", "", 1), tmp_path / "fights.csv"
    whole = "".join(line.rpartition(",")[0] + "\n" if place else line for place, line in enumerate(lines_of(whole)))
    (tmp_path / "trades.csv").write_text(log_of(2))
    log.write_text(whole[: len(whole) // 2 - 3])
    lake.add(EventFile(log, max_bad_share=1).numbered())
    read_into(lake, tmp_path / "trades.csv")
    lake.compact()
    log.write_text(whole)

    read_into(lake, log)

    fresh = Lake(tmp_path / "fresh")
    read_into(fresh, log)
    read_into(fresh, tmp_path / "trades.csv")
    assert_frame_equal(sorted_rows(lake), sorted_rows(fresh))
    assert lake.shows == fresh.shows
    lake.compact()
    assert_frame_equal(sorted_rows(lake), sorted_rows(fresh))
    contents = [[one.stretches.content(day * DAY, (day + 1) * DAY) for day in range(3)] for one in (lake, fresh)]
    assert contents[0] == contents[1]


def lines_of(text):
    return text.splitlines(keepends=True)


def test_a_damaged_part_is_named_and_the_lake_stays_as_it_is(lake):
    part = next(lake.directory.glob("day=1970-01-02/*.parquet"))
    part.write_bytes(part.read_bytes()[:-30])
    before = files(lake.directory)

    with pytest.raises(ReadError, match=f"{part.name}: is damaged"):
        lake.compact(days=["1970-01-02"])
    assert files(lake.directory) == before


def test_there_is_nothing_to_compact_where_there_is_no_lake(tmp_path):
    with pytest.raises(ReadError, match="is not a lake"):
        Lake(tmp_path / "nothing").compact()
    assert not (tmp_path / "nothing").exists()


def test_a_window_of_a_compacted_lake_has_the_same_rows(lake):
    window = datetime(1970, 1, 1, 8, tzinfo=UTC), datetime(1970, 1, 2, 3, tzinfo=UTC)
    before = frame(lake.events(*window)).sort(pl.all())

    lake.compact()

    assert_frame_equal(frame(lake.events(*window)).sort(pl.all()), before)
