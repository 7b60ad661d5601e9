"""Times that cannot be true are bad rows like others: what is dated in the future never comes into a lake."""

import gzip
from datetime import UTC, datetime, timedelta

import polars as pl
import pytest

from commands import done
from gamewarden.config import Read, config_from
from gamewarden.core.durations import to_micros
from gamewarden.errors import ConfigError
from gamewarden.readers.logs.plausible import ANY_TIME, Plausible
from gamewarden.readers.logs.tables import EventFile

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
GOOD = [f"a{row % 7},2026-02-28T{row % 24:02d}:00:00Z,move" for row in range(500)]


def write_log(path, *more, good=GOOD):
    path.write_text("\n".join(["actor,at,kind", *good, *more]) + "\n", encoding="utf-8")
    return path


def kept(path, plausible):
    file = EventFile(path, plausible=plausible)
    rows = sum(batch.num_rows for batch in file.batches(("actor", "at", "kind")))
    return rows, file.report


def usual(now=NOW, **settings):
    return Plausible.of(Read(**settings), now)


def test_a_time_in_the_future_is_a_bad_row_with_its_reason_and_the_setting_that_says_so(tmp_path):
    rows, report = kept(write_log(tmp_path / "log.csv", "a0,2027-01-01T00:00:00Z,move"), usual())

    assert rows == 500
    (fault,) = report.bad
    assert fault.count == 1
    assert fault.reason == "time is after 2026-03-02T12:00:00Z ([read] latest of warden.toml)"
    assert fault.example == "first in row 501: '2027-01-01T00:00:00Z'"


def test_a_time_before_any_such_game_is_a_bad_row(tmp_path):
    rows, report = kept(write_log(tmp_path / "log.csv", "a0,1970-01-01T00:00:00Z,move"), usual())

    assert rows == 500
    assert [fault.reason for fault in report.bad] == ["time is before 1995-01-01 ([read] earliest of warden.toml)"]


def test_a_clock_that_runs_hours_ahead_is_believed(tmp_path):
    rows, report = kept(write_log(tmp_path / "log.csv", "a0,2026-03-02T12:00:00Z,move"), usual())

    assert (rows, report.bad) == (501, ())


def test_a_log_of_long_ago_is_read_whole_whatever_the_clock(tmp_path):
    old = [f"a{row % 7},2015-06-{row % 28 + 1:02d}T10:00:00Z,move" for row in range(500)]
    path = write_log(tmp_path / "log.csv", good=old)

    assert kept(path, usual())[0] == kept(path, usual(NOW + timedelta(days=4000)))[0] == 500


def test_true_rows_are_the_same_whatever_the_clock_was_when_they_were_read(tmp_path):
    path = write_log(tmp_path / "log.csv", "a0,9979-01-01T00:00:00Z,move")

    assert {kept(path, usual(NOW + timedelta(days=ahead)))[0] for ahead in (0, 1, 400, 4000)} == {500}


def test_setting_a_latest_time_asks_no_clock(tmp_path):
    path = write_log(tmp_path / "log.csv", "a0,2030-01-01T00:00:00Z,move", "a0,2030-01-03T00:00:00Z,move")
    rows, report = kept(path, usual(latest="2030-01-02", now=datetime(2050, 1, 1, tzinfo=UTC)))

    assert rows == 501
    assert [fault.reason for fault in report.bad] == ["time is after 2030-01-02 ([read] latest of warden.toml)"]


def test_parquet_of_our_own_types_is_looked_at_too(tmp_path):
    times = [*[NOW - timedelta(hours=row) for row in range(300)], NOW + timedelta(days=900)]
    frame = pl.DataFrame({"actor": "a", "at": times, "kind": "move"}, schema_overrides={"at": pl.Datetime("us", "UTC")})
    frame.write_parquet(tmp_path / "log.parquet")

    rows, report = kept(tmp_path / "log.parquet", usual())
    assert (rows, [fault.count for fault in report.bad]) == (300, [1])
    assert kept(tmp_path / "log.parquet", ANY_TIME)[0] == 301


def test_numbers_of_seconds_are_held_against_the_same_span(tmp_path):
    good = [f"a,{to_micros(NOW) // 1_000_000 - row},move" for row in range(300)]
    path = write_log(tmp_path / "log.csv", "a,0,move", f"a,{to_micros(NOW) // 1_000_000 + 90_000},move", good=good)
    path.with_suffix(".gz").write_bytes(gzip.compress(path.read_bytes()))

    for file in (path, path.with_suffix(".gz")):
        rows, report = kept(file, usual())
        assert rows == 300
        assert sorted(fault.reason.split(" (")[0] for fault in report.bad) == [
            "time is after 2026-03-02T12:00:00Z",
            "time is before 1995-01-01",
        ]


@pytest.mark.parametrize(
    "values", [{"earliest": "soon"}, {"latest": "2026-02-30"}, {"earliest": "2026-01-01", "latest": "2025-01-01"}]
)
def test_settings_that_are_no_span_are_refused(values):
    with pytest.raises(ConfigError, match=r"\[read\] (earliest|latest)"):
        config_from({"read": values}, "warden.toml")


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def days_of(lake):
    return {path.name for path in lake.glob("day=*")}


def test_read_keeps_the_future_out_of_a_lake_and_says_so(here):
    write_log(here / "log.csv", "a0,9979-01-01T00:00:00Z,move")

    assert "Left out: time is after" in done("read", "log.csv", "--to", "lake").stderr
    assert days_of(here / "lake") == {"day=2026-02-28"}


def test_read_takes_what_the_settings_allow(here):
    write_log(here / "log.csv", "a0,2090-01-01T00:00:00Z,move")
    (here / "warden.toml").write_text('[read]\nlatest = "2100-01-01"\n', encoding="utf-8")

    done("read", "log.csv", "--to", "lake")
    assert days_of(here / "lake") == {"day=2026-02-28", "day=2090-01-01"}


def test_a_host_whose_clock_is_wrong_loses_nothing_since_the_log_is_refused(tmp_path):
    path = write_log(tmp_path / "log.csv")

    with pytest.raises(Exception, match=r"500 of 500 rows are bad.*\[read\] latest"):
        kept(path, usual(datetime(1999, 1, 1, tzinfo=UTC)))


def test_lint_says_of_such_rows_what_read_would(here):
    write_log(here / "log.csv", "a0,9979-01-01T00:00:00Z,move")

    assert "time is after" in done("lint", "log.csv").stdout
