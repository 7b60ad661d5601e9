"""A lake with twice as many sources, parts or days costs at most about twice the work: counted in calls, not timed."""

import sys
from datetime import UTC, datetime, timedelta

import polars as pl
import pytest
from click.testing import CliRunner

from gamewarden.cli import root
from gamewarden.readers.logs.tables import EventFile
from gamewarden.store import manifest
from gamewarden.store.lake import Lake

DAY = 86_400


def calls_of(work):
    """How many functions are called in Python and in C."""
    count = 0

    def counted(_frame, event, _argument):
        nonlocal count
        count += event in {"call", "c_call"}

    sys.setprofile(counted)
    try:
        work()
    finally:
        sys.setprofile(None)
    return count


def lake_of(place, sources, days):
    lake = Lake(place)
    for source in range(sources):
        log = place.with_name(f"{place.name}-{source}.csv")
        rows = (f"a{source},{day * DAY + source},k\n" for day in range(days))
        log.write_text("actor,at,kind\n" + "".join(rows))
        lake.add(EventFile(log).numbered())
    return lake


def one_more(lake, place):
    log = place / "more.csv"
    log.write_text("actor,at,kind\nmore,5,k\n")
    return calls_of(lambda: lake.add(EventFile(log).numbered()))


def every_day(lake, days):
    start = datetime(1970, 1, 1, tzinfo=UTC)
    for day in range(days):
        window = lake.events(start + timedelta(days=day), start + timedelta(days=day + 1))
        assert sum(batch.num_rows for batch in window.batches(["actor"])) > 0


def everything(lake):
    assert sum(batch.num_rows for batch in lake.events().batches(["actor", "at"])) > 0


@pytest.mark.parametrize(("sources", "days"), [((10, 20), (4, 4)), ((3, 3), (15, 30))], ids=["sources", "days"])
def test_one_more_source_costs_at_most_in_proportion_to_what_is_there(tmp_path, sources, days):
    small, large = (lake_of(tmp_path / f"lake{n}", sources[n], days[n]) for n in (0, 1))
    one_more(lake_of(tmp_path / "warm", 1, 1), tmp_path)

    assert one_more(large, tmp_path) < 2.2 * one_more(small, tmp_path)


def test_reading_twice_as_many_files_at_once_costs_twice_the_work(tmp_path):
    def calls(files):
        logs = [tmp_path / f"{files}-{number}.csv" for number in range(files)]
        for number, log in enumerate(logs):
            log.write_text(f"actor,at,kind\na{files},{1_700_000_000 + number},k\n")
        read = ["read", *map(str, logs), "--to", str(tmp_path / f"lake{files}")]
        return calls_of(lambda: CliRunner().invoke(root, read, catch_exceptions=False))

    calls(2)
    small, large = calls(40), calls(80)

    assert len(Lake(tmp_path / "lake80").sources) == 80
    assert large < 2.1 * small


@pytest.mark.parametrize("work", [every_day, lambda lake, _days: everything(lake)], ids=["a day at a time", "at once"])
def test_reading_twice_as_many_days_costs_twice_the_work(tmp_path, work):
    lakes = [(lake_of(tmp_path / f"lake{days}", 3, days), days) for days in (20, 40)]
    work(lakes[0][0], 1)
    manifest._parsed.cache_clear()  # so that both are read, and not only the one that is new

    small, large = (calls_of(lambda lake=lake, days=days: work(lake, days)) for lake, days in lakes)

    assert large < 2.4 * small


def test_the_coverage_of_twice_as_many_days_costs_twice_the_work(tmp_path):
    small, large = (lake_of(tmp_path / f"lake{days}", 2, days) for days in (30, 60))

    first, second = (calls_of(lambda lake=lake: lake.events().coverage) for lake in (small, large))

    assert second < 2.4 * first


def test_taking_in_a_file_of_ten_rows_costs_at_most_five_thousand_calls(tmp_path):
    logs = [tmp_path / f"{place}.csv" for place in range(2)]
    for place, log in enumerate(logs):
        rows = (f"a{row},2026-05-01T0{place}:00:{row:02}Z,k{row % 3},{row}.5,{row}\n" for row in range(10))
        log.write_text("actor,at,kind,x,amount\n" + "".join(rows))

    with Lake(tmp_path / "lake").batch() as batch:
        first, second = (calls_of(lambda log=log: batch.add(EventFile(log, number_rows=True))) for log in logs)

    assert second <= first
    assert second < 5_000


def test_rows_with_a_seq_of_their_own_that_come_again_cost_in_proportion_to_their_number(tmp_path, monkeypatch):
    monkeypatch.setattr("gamewarden.readers.logs.delimited.LONGEST_ROW", 1 << 10)

    joined = 0
    concat = pl.concat

    def counted(frames, **options):
        nonlocal joined
        together = concat(frames, **options)
        joined += together.height
        return together

    monkeypatch.setattr(pl, "concat", counted)

    def again(rows):
        log, lake = tmp_path / "seq.csv", Lake(tmp_path / f"lake{rows}")
        lines = [f"a,{(n * 7 % 10) * DAY + n},k,{n}\n" for n in range(rows)]
        log.write_text("actor,at,kind,seq\n" + "".join(lines))
        lake.add(EventFile(log).numbered())
        log.write_text("actor,at,kind,seq\n" + "".join(reversed(lines)) + "b,5,k,999999\n")
        before = joined
        calls = calls_of(lambda: lake.add(EventFile(log).numbered()))
        return calls, joined - before

    again(100)
    small, large = again(1_000), again(2_000)

    assert large[0] < 2.4 * small[0]
    assert large[1] < 2.4 * small[1]
