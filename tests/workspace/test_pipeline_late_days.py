"""Days that come late, days without events, and events dated in the future: none of them ends maintenance."""

import shutil
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import polars as pl
import pytest

from gamewarden import pipeline, readers
from gamewarden.core.clock import Clock, Period
from gamewarden.core.durations import DAY, HOUR, to_micros
from gamewarden.pipeline.maintaining import maintain, told
from gamewarden.store.append_log import AppendLog
from gamewarden.store.lake import Lake
from gamewarden.store.maintenance_state import MaintenanceState
from gamewarden.tables import write_table
from upkeep_made_up import START, Log, make_game, task_of

pytestmark = pytest.mark.integration

DAYS = 9
LATER = datetime(2026, 6, 1, 12, tzinfo=UTC)


def clock():
    return LATER


def take(game, events, name):
    """One more log in the lake of a game."""
    write_table(events, game / name)
    pipeline.read(readers.open(game / name), game / "lake")


def day_of(events, day):
    begin = START + timedelta(days=day)
    return events.filter(pl.col("at").is_between(begin, begin + timedelta(days=1), closed="left"))


def one_event(at):
    return pl.DataFrame({"actor": ["bot000"], "at": [at], "kind": ["chat"], "seq": [0]}).cast(
        {"at": pl.Datetime("us", "UTC"), "seq": pl.Int64}
    )


def records(game):
    return MaintenanceState(game / "models", "account-day").history().records


def done_days(game):
    names = [record["period"] for record in records(game) if record["step"] == "done"]
    return [(datetime.fromisoformat(name) - START).days for name in names]


def steps_on(game, day):
    name = f"{START + timedelta(days=day):%Y-%m-%dT%H:%M:%SZ}"
    return [record for record in records(game) if record["period"] == name]


def files_of(directory):
    return {path.relative_to(directory): path.read_bytes() for path in directory.rglob("*") if path.is_file()}


@pytest.fixture(scope="module")
def whole():
    return Log(days=DAYS).events()


@pytest.fixture(scope="module")
def fifth_missing(tmp_path_factory):
    """A game whose fifth day has not come yet."""
    return make_game(tmp_path_factory.mktemp("missing"), Log(days=DAYS, empty=(4,)))


@pytest.fixture
def game(fifth_missing, tmp_path):
    return shutil.copytree(fifth_missing, tmp_path / "game")


@pytest.mark.parametrize("year", [2028, 9979])
def test_an_event_of_the_future_in_a_lake_declares_no_day_done_before_its_time(game, year):
    take(game, one_event(datetime(year, 3, 6, tzinfo=UTC)), "future.parquet")
    maintain(task_of(game, clock=clock))

    assert done_days(game) == list(range(DAYS - 1))  # the last real day may still get more


def test_a_real_day_that_comes_after_an_event_of_the_future_is_scored_and_watched(game, whole):
    take(game, one_event(datetime(9979, 3, 6, tzinfo=UTC)), "future.parquet")
    maintain(task_of(game, clock=clock))
    more = day_of(whole, DAYS - 1).with_columns(pl.col("at") + timedelta(days=1))
    take(game, more, "next.parquet")
    maintain(task_of(game, clock=clock))

    assert done_days(game) == list(range(DAYS))
    assert {record["step"] for record in steps_on(game, DAYS - 1)} >= {"score", "watch", "done"}


def test_a_stretch_without_events_is_not_walked_through(game, whole):
    shifted = whole.with_columns(pl.col("at") + timedelta(days=400))
    take(game, shifted, "a year on.parquet")
    maintain(task_of(game, clock=lambda: LATER + timedelta(days=800)))

    assert done_days(game) == [*range(DAYS + 3), *range(400, 400 + DAYS - 1)]


def test_the_calendar_leaps_over_years_without_events():
    far = datetime(9909, 12, 1, tzinfo=UTC)
    found = Clock(DAY).over([(0, 1), (to_micros(far), to_micros(far) + 1)], datetime(9999, 1, 1, tzinfo=UTC), 1)

    assert [one.since.year for one in found] == [1970, 1970, 9909, 9909]
    assert found[2] == Period(far, far + timedelta(days=1))


def test_a_day_that_comes_late_is_scored_and_what_was_decided_since_stays(game, whole):
    maintain(task_of(game, clock=clock))
    before = list(records(game))
    take(game, day_of(whole, 4), "late.parquet")
    done = maintain(task_of(game, clock=clock))

    more = records(game)[len(before) :]
    assert records(game)[: len(before)] == before
    assert [record["step"] for record in more] == ["late", "rescore", "done"]
    assert (before[0]["step"], more[1]["actors"]) == ("begin", 60)
    assert (done.new, done.notes[0]) == (1, "Events of 1 period came late; --explain says what was done with them")
    row = done.periods.filter(pl.col("period") == START + timedelta(days=4)).row(0, named=True)
    assert (row["status"], row["actors"]) == ("missing", 60)
    assert "2026-03-06  Events of this period came late: it is scored, and what was decided since stays." in told(
        task_of(game)
    )


def test_a_day_that_was_passed_by_without_a_record_is_scored_when_it_comes(game, whole):
    take(game, whole.with_columns(pl.col("at") + timedelta(days=100)), "later.parquet")
    maintain(task_of(game, clock=lambda: LATER + timedelta(days=200)))
    assert not steps_on(game, 50)
    take(game, day_of(whole, 4).with_columns(pl.col("at") + timedelta(days=46)), "late.parquet")
    maintain(task_of(game, clock=lambda: LATER + timedelta(days=200)))

    assert [record["step"] for record in steps_on(game, 50)] == ["late", "score", "done"]
    assert not steps_on(game, 51)


def test_a_day_that_was_done_and_gets_more_events_is_scored_again_once(game):
    maintain(task_of(game, clock=clock))
    take(game, one_event(START + timedelta(days=2, hours=5)).with_columns(actor=pl.lit("somebody")), "more.parquet")
    assert maintain(task_of(game, clock=clock)).new == 1
    after = files_of(game)

    first, again = (record["events"] for record in steps_on(game, 2) if record["step"] in {"score", "rescore"})
    assert again == first + 1
    assert maintain(task_of(game, clock=clock)).new == 0
    assert files_of(game) == after


def test_an_empty_day_behind_the_last_one_with_events_is_watched_when_its_events_come(game, whole):
    beyond = START + timedelta(days=DAYS + 2)
    maintain(replace(task_of(game, clock=clock), until=beyond))
    assert [record["events"] for record in steps_on(game, DAYS) if record["step"] == "score"] == [0]
    take(game, day_of(whole, 8).with_columns(pl.col("at") + timedelta(days=1)), "late.parquet")
    maintain(replace(task_of(game, clock=clock), until=beyond))

    again = [record["step"] for record in steps_on(game, DAYS)]
    assert again[again.index("late") :][:3] == ["late", "score", "watch"]
    assert [record["x"] is None for record in steps_on(game, DAYS) if record["step"] == "watch"] == [True, False]


def test_a_history_that_declared_empty_days_done_takes_them_up_when_they_come(game, whole):
    maintain(replace(task_of(game, clock=clock), until=START + timedelta(days=DAYS + 3)))
    old = [{key: value for key, value in record.items() if key != "content"} for record in records(game)]
    path = game / "models" / "maintenance" / "account-day" / "history.jsonl"
    path.unlink()
    history = AppendLog(path)
    for record in old:
        history.append(record)
    take(game, day_of(whole, 8).with_columns(pl.col("at") + timedelta(days=1)), "late.parquet")
    done = maintain(replace(task_of(game, clock=clock), until=START + timedelta(days=DAYS + 3)))

    assert done.new == 1
    again = [record["step"] for record in steps_on(game, DAYS)]
    assert again[again.index("late") :][:3] == ["late", "score", "watch"]


class Crash(Exception):  # noqa: N818  it is none of our errors, and nothing may catch it
    pass


def test_a_run_that_stops_anywhere_among_late_days_goes_on_to_the_same_end(game, whole, tmp_path):
    maintain(task_of(game, clock=clock))
    take(game, day_of(whole, 4), "late.parquet")
    take(game, day_of(whole, 8).with_columns(pl.col("at") + timedelta(days=1)), "next.parquet")
    straight = shutil.copytree(game, tmp_path / "straight")
    ticks = []
    maintain(task_of(straight, clock=clock), lambda *tick: ticks.append(tick))

    for stop in range(1, len(ticks) + 1):
        place = shutil.copytree(game, tmp_path / f"stopped-{stop}")
        left = iter(range(1, 1000))

        def tick(*_step, left=left, stop=stop):
            if next(left) == stop:
                raise Crash

        with pytest.raises(Crash):
            maintain(task_of(place, clock=clock), tick)
        maintain(task_of(place, clock=clock))
        assert files_of(place / "models") == files_of(straight / "models")
    assert len(ticks) > 6


def test_what_a_lake_holds_of_a_period_has_a_name_that_changes_with_late_events_only(game):
    def content(day):
        begin = to_micros(START) + day * DAY
        return Lake(game / "lake").stretches.content(begin, begin + DAY)

    before = [content(day) for day in range(DAYS + 1)]
    take(game, one_event(START + timedelta(days=2, hours=5)), "more.parquet")

    assert [content(day) != before[day] for day in range(DAYS + 1)] == [day == 2 for day in range(DAYS + 1)]
    assert (before[4], before[DAYS]) == (None, None)


def test_hours_of_a_day_that_lie_outside_a_part_are_not_touched_by_it():
    calendar = Clock(HOUR, "Asia/Kolkata")
    begin = to_micros(START) + 5 * HOUR
    touched = calendar.over([(begin, begin + 2 * HOUR)], START + timedelta(days=2))

    assert [one.since for one in touched] == [START + timedelta(hours=4.5 + hour) for hour in range(3)]
