"""A lake as other systems see it: what the Delta log names is what the manifest names."""

import json
import shutil
from datetime import date

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from compacted_lakes import frame, log_of
from gamewarden.errors import ReadError
from gamewarden.readers.logs.tables import EventFile
from gamewarden.store import delta_log
from gamewarden.store.lake import Lake
from gamewarden.store.manifest import load
from gamewarden.tables import EVENTS

deltalake = pytest.importorskip("deltalake", reason="deltalake is not installed: nobody else reads the lake here")


@pytest.fixture
def lake(tmp_path):
    lake = Lake(tmp_path / "lake")
    add(lake, tmp_path, "fights", 1)
    return lake


def add(lake, place, name, seed):
    log = place / f"{name}.csv"
    log.write_text(log_of(seed))
    return lake.add(EventFile(log).numbered())


def as_deltalake(lake):
    found = deltalake.DeltaTable(str(lake.directory)).to_pyarrow_table()
    return pl.DataFrame(pl.from_arrow(found)).select(pl.col(name).cast(kind) for name, kind in EVENTS.columns.items())


def as_polars(lake):
    return pl.scan_delta(str(lake.directory)).select(*EVENTS.columns).collect().cast(dict(EVENTS.columns))


READERS = [as_deltalake, as_polars]


def assert_all_read_the_same(lake):
    ours = frame(lake.events()).sort(pl.all())
    for reader in READERS:
        assert_frame_equal(reader(lake).sort(pl.all()), ours)
    days = pl.scan_delta(str(lake.directory)).group_by("day").len().collect()
    wanted = ours.group_by(pl.col("at").dt.date().alias("day")).len()
    assert_frame_equal(days.sort("day"), wanted.sort("day"))


def commits(lake):
    return sorted(path.name for path in (lake.directory / "_delta_log").iterdir())


def test_other_systems_read_the_same_rows_after_every_change(lake, tmp_path):
    assert lake.keep_delta_log() == 0
    assert_all_read_the_same(lake)

    add(lake, tmp_path, "trades", 2)
    assert_all_read_the_same(lake)
    lake.compact(before=date(1970, 1, 3))
    assert_all_read_the_same(lake)
    lake.forget("p3é")
    assert_all_read_the_same(lake)
    lake.drop_days(date(1970, 1, 2))
    assert_all_read_the_same(lake)
    add(lake, tmp_path, "fights", 3)
    assert_all_read_the_same(lake)
    assert lake.events().rows > 500


def test_a_lake_that_was_not_asked_to_keep_a_log_keeps_none(lake, tmp_path):
    add(lake, tmp_path, "trades", 2)

    assert not (lake.directory / "_delta_log").exists()


def test_what_has_not_changed_is_no_commit(lake, tmp_path):
    lake.keep_delta_log()
    lake.compact()
    before = commits(lake)

    assert lake.keep_delta_log() == len(before) - 1
    lake.compact()
    add(lake, tmp_path, "fights", 1)
    assert commits(lake) == before == [f"{number:020}.json" for number in range(4)]


def test_the_next_writer_catches_up_on_what_a_crash_left_out_before_it_removes_anything(lake, tmp_path, monkeypatch):
    lake.keep_delta_log()
    with monkeypatch.context() as dying:
        dying.setattr(delta_log, "follow", lambda *_: None)
        add(lake, tmp_path, "trades", 2)
        assert as_polars(lake).height == 400

    lake.compact(days=())

    assert_all_read_the_same(lake)
    assert as_polars(lake).height == 800


def test_the_log_never_names_a_file_that_is_gone(lake, tmp_path, monkeypatch):
    lake.keep_delta_log()
    add(lake, tmp_path, "trades", 2)

    def swept(self, known):
        live = delta_log._live(delta_log._commits(self.directory / "_delta_log"))
        assert live == {part.file for part in known.parts}

    monkeypatch.setattr(Lake, "sweep", swept)

    assert len(lake.compact()) == 3


def test_what_others_write_into_the_log_is_taken_out_again(lake, tmp_path):
    lake.keep_delta_log()
    more = as_polars(lake).head(3).with_columns(day=pl.col("at").dt.date(), source=pl.lit(0, pl.Int32))
    deltalake.write_deltalake(str(lake.directory), more.to_arrow(), mode="append")
    assert as_polars(lake).height == 403

    add(lake, tmp_path, "trades", 2)

    assert_all_read_the_same(lake)


def test_a_damaged_log_is_refused_before_anything_changes_and_can_be_begun_anew(lake, tmp_path):
    lake.keep_delta_log()
    (lake.directory / "_delta_log" / f"{0:020}.json").write_text('{"add":{}}\n')
    before = load(lake.directory)

    with pytest.raises(ReadError, match=r"0.json: is no commit of a Delta log .*; remove _delta_log and begin it anew"):
        add(lake, tmp_path, "trades", 2)
    assert load(lake.directory) == before
    shutil.rmtree(lake.directory / "_delta_log")
    assert lake.keep_delta_log() == 0
    assert_all_read_the_same(lake)


def test_a_commit_is_lines_of_json_with_the_columns_of_events(lake):
    lake.keep_delta_log()

    lines = (lake.directory / "_delta_log" / f"{0:020}.json").read_text().splitlines()
    protocol, table, *added = map(json.loads, lines)
    assert protocol == {"protocol": {"minReaderVersion": 1, "minWriterVersion": 2}}
    named = [field["name"] for field in json.loads(table["metaData"]["schemaString"])["fields"]]
    assert named == [*EVENTS.columns, "source", "day"]
    assert [line["add"]["partitionValues"]["day"] for line in added] == [f"1970-01-0{day}" for day in (1, 2, 3)]
