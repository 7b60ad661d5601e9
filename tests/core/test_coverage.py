"""When a source was there: cuts and broken feeds are told from quiet nights."""

from datetime import UTC, datetime, timedelta

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gamewarden import readers
from gamewarden.core.coverage import Coverage, Pulse
from gamewarden.core.durations import DAY, HOUR, to_micros
from gamewarden.pipeline import read
from gamewarden.readers.options import LogOptions, SourceOptions
from gamewarden.store.lake import Lake
from gamewarden.tables import FrameEvents

START = datetime(2026, 3, 1, tzinfo=UTC)
DAY_ONE = to_micros(START)
COLUMNS = ("actor", "at", "kind")


def evening(actors: int = 12, begins: float = 16.0, ends: float = 23.0, *, days: int = 1) -> pl.DataFrame:
    """A small server: people come one after the other, act every minute, and leave one after the other."""
    rows = []
    for day in range(days):
        for who, come in enumerate(np.linspace(begins, begins + 2, actors)):
            gone = ends - (begins + 2 - come)
            times = np.arange(come, gone, 1 / 60)
            kinds = ["session.login", *["combat.kill"] * (len(times) - 2), "session.logout"]
            rows += [
                (f"p{who:02}", START + timedelta(days=day, hours=float(h)), k)
                for h, k in zip(times, kinds, strict=True)
            ]
    return pl.DataFrame(rows, schema=["actor", "at", "kind"], orient="row").sort("at")


def coverage_of(frame: pl.DataFrame, batch: int = 1 << 20) -> Coverage:
    return Pulse.of(FrameEvents(frame, batch).batches(COLUMNS)).coverage()


def hours(coverage: Coverage, day: int = 0) -> float:
    since = DAY_ONE + day * DAY
    return 24 * coverage.share(since, since + DAY)


def test_a_quiet_night_is_no_gap():
    assert coverage_of(evening(days=3)) == Coverage()


def test_a_log_that_begins_in_the_middle_of_an_evening_covers_the_rest_of_the_day():
    late = evening().filter(pl.col("at") >= START + timedelta(hours=19))

    assert hours(coverage_of(late)) == pytest.approx(5, abs=0.1)


def test_a_log_that_ends_in_the_middle_of_an_evening_covers_the_day_until_then():
    early = evening().filter(pl.col("at") < START + timedelta(hours=19))

    assert hours(coverage_of(early)) == pytest.approx(19, abs=0.1)


def test_a_feed_that_breaks_for_an_hour_and_comes_back_is_a_gap():
    broken = evening().filter(~pl.col("at").is_between(START + timedelta(hours=19), START + timedelta(hours=20)))

    found = coverage_of(broken)

    assert hours(found) == pytest.approx(23, abs=0.2)
    assert len(found.gaps) == 1


def test_when_everybody_logs_out_nobody_vanished():
    closed = evening().filter(pl.col("at") < START + timedelta(hours=19))
    last = closed.group_by("actor").agg(pl.col("at").max()).with_columns(kind=pl.lit("session.logout"))
    orderly = pl.concat([closed, last.select(closed.columns)]).sort("at")

    assert hours(coverage_of(orderly)) == 24


def test_two_players_who_stop_together_are_no_cut():
    few = evening(actors=2).filter(pl.col("at") < START + timedelta(hours=19))

    assert hours(coverage_of(few)) == 24


@given(st.integers(1, 5000))
def test_a_pulse_does_not_depend_on_how_events_are_cut_into_batches(size):
    frame = evening(actors=4, ends=19.0)

    assert Pulse.of(FrameEvents(frame, size).batches(COLUMNS)) == Pulse.of(FrameEvents(frame).batches(COLUMNS))


def test_a_pulse_survives_json_and_refuses_what_is_none():
    pulse = Pulse.of(FrameEvents(evening()).batches(COLUMNS))

    assert Pulse.from_dict(pulse.to_dict()) == pulse
    with pytest.raises(ValueError, match="pulse"):
        Pulse.from_dict({**pulse.to_dict(), "active": "1 2 3"})


def test_pulses_of_two_sources_add_up():
    frame = evening()
    one, two = (frame.filter(pl.col("actor").is_in(list(part))) for part in (("p00", "p01"), set(frame["actor"][2:])))
    both = Pulse.of(FrameEvents(pl.concat([one, two]).sort("at")).batches(COLUMNS))

    added = Pulse.of(FrameEvents(one).batches(COLUMNS)) + Pulse.of(FrameEvents(two).batches(COLUMNS))

    assert added.beats == both.beats
    assert all(a >= b for a, b in zip(added.active, both.active, strict=True))


def test_a_lake_knows_what_it_can_show_and_when_it_was_there(tmp_path):
    late = evening().filter(pl.col("at") >= START + timedelta(hours=19))
    late.write_parquet(tmp_path / "late.parquet")
    read(readers.open(tmp_path / "late.parquet"), tmp_path / "lake")
    lake = Lake(tmp_path / "lake")

    assert lake.shows == dict(late["kind"].value_counts().iter_rows())
    assert hours(lake.events().coverage) == pytest.approx(5, abs=0.1)
    assert lake.events(START, START + timedelta(hours=20)).coverage == lake.events().coverage


def test_the_missing_hours_make_a_day_whole_when_they_are_read(tmp_path):
    whole = evening()
    for name, part in (
        ("late", whole.filter(pl.col("at") >= START + timedelta(hours=19))),
        ("early", whole.filter(pl.col("at") < START + timedelta(hours=19))),
    ):
        part.write_parquet(tmp_path / f"{name}.parquet")
        read(readers.open(tmp_path / f"{name}.parquet"), tmp_path / "lake")

    assert hours(Lake(tmp_path / "lake").events().coverage) == 24


def test_a_lake_from_before_anybody_counted_is_counted_when_asked(tmp_path):
    import json

    frame = evening().filter(pl.col("at") >= START + timedelta(hours=19))
    frame.write_parquet(tmp_path / "log.parquet")
    read(readers.open(tmp_path / "log.parquet"), tmp_path / "lake")
    counted = Lake(tmp_path / "lake").events()
    shows, coverage = counted.shows, counted.coverage
    path = tmp_path / "lake" / "lake.json"
    values = json.loads(path.read_text())
    for part in values["parts"]:
        del part["pulse"]
    for source in values["sources"]:
        del source["kinds"]
    path.write_text(json.dumps(values))

    old = Lake(tmp_path / "lake").events()

    assert (dict(old.shows), old.coverage) == (dict(shows), coverage)


def test_a_mapping_promises_kinds_that_nobody_did_that_day(tmp_path):
    (tmp_path / "map.toml").write_text('[kinds]\n"kill" = "combat.kill"\n"give" = "trade.give"\n')
    log = evening(actors=3).with_columns(pl.col("kind").replace({"combat.kill": "kill"}))
    log.write_csv(tmp_path / "log.csv", datetime_format="%Y-%m-%dT%H:%M:%SZ")
    mapped = SourceOptions(LogOptions(mapping=str(tmp_path / "map.toml")))
    read(readers.open(tmp_path / "log.csv", mapped), tmp_path / "lake")

    assert Lake(tmp_path / "lake").shows["trade.give"] == 0
    assert "trade.receive" not in Lake(tmp_path / "lake").shows


def test_the_share_of_an_hour_that_is_missing_is_what_is_not_covered():
    gap = Coverage(((DAY_ONE + HOUR, DAY_ONE + 2 * HOUR),))
    rows = pl.DataFrame(
        {"since": [START, START + timedelta(hours=1)], "until": [START + timedelta(hours=h) for h in (4, 2)]}
    )

    assert gap.of(rows).to_list() == [0.75, 0.0]


def test_adding_many_pulses_up_costs_one_look_at_each():
    pulses = [Pulse((day, day + 1), (2, 3), (1, 1), (1, 2)) for day in range(300)]
    one_by_one = Pulse()
    for pulse in pulses:
        one_by_one += pulse
    looked = []

    def watched():
        for pulse in pulses:
            looked.append(len(pulse.beats))
            yield pulse

    assert Pulse.total(watched()) == one_by_one
    assert sum(looked) == 600
    assert Pulse.total(()) == Pulse()
