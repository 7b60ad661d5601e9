"""Periods on the clocks of ten time zones: three faces and a kernel, one answer."""

from datetime import UTC, datetime, timedelta
from functools import cache
from itertools import pairwise
from zoneinfo import ZoneInfo

import numpy as np
import polars as pl
import pytest

from gamewarden.core.clock import Clock
from gamewarden.core.durations import DAY, HOUR, MINUTE, parse_span, to_micros
from gamewarden.features.self_similarity import kernel
from gamewarden.tables import TIME

ZONES = (
    "UTC",
    "Europe/Berlin",
    "America/New_York",
    "America/Santiago",  # jumps at midnight: that day begins at one o'clock
    "Australia/Lord_Howe",  # moves by half an hour
    "Africa/Cairo",
    "Asia/Kathmandu",
    "Asia/Seoul",
    "Pacific/Chatham",
    "America/Havana",  # repeats the hour before one o'clock
)
SPANS = ("1h", "6h", "12h", "1d", "7d")
YEAR = to_micros(datetime(2024, 1, 1, tzinfo=UTC))


def moments():
    """Every half hour of a year, and the microsecond before each."""
    halves = np.arange(YEAR, YEAR + 366 * DAY, 30 * MINUTE)
    return np.sort(np.concatenate([halves - 1, halves]))


def shown(zone, at):
    """What the clock on the wall shows, in microseconds since 1970 on that wall."""
    wall = (datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=int(at))).astimezone(ZoneInfo(zone))
    return to_micros(wall.replace(tzinfo=UTC))


@cache
def walls(zone):
    return np.array([shown(zone, moment) for moment in moments()])


def reference(zone, every):
    """The numbers of the periods at the moments: the latest border that the wall clock has shown by then."""
    return np.maximum.accumulate(walls(zone) // every)


@pytest.mark.parametrize("zone", ZONES)
@pytest.mark.parametrize("span", SPANS)
def test_every_face_of_a_clock_tells_the_same_periods_and_so_does_the_wall(zone, span):
    every, at = parse_span(span), moments()
    clock = Clock(every, zone)
    numbers = clock.numbers(at)

    begins, ends = clock.begins(numbers), clock.begins(numbers + 1)
    told = pl.DataFrame({"at": pl.Series(at).cast(TIME)}).select(
        *(face.alias(name) for name, face in zip(("begin", "end"), clock.borders(pl.col("at")), strict=True))
    )
    offsets = clock.offsets(int(at[0]), int(at[-1]))
    some = range(0, len(at), 101)
    by_kernel = [kernel.period_of(at[one], every, offsets) for one in some]
    by_python = [clock.holding(datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=int(at[one]))) for one in some]

    assert numbers.tolist() == reference(zone, every).tolist()
    assert (begins <= at).all()
    assert (at < ends).all()
    assert told["begin"].to_physical().to_list() == begins.tolist()
    assert told["end"].to_physical().to_list() == ends.tolist()
    assert by_kernel == [(begins[one], ends[one]) for one in some]
    assert [(to_micros(one.since), to_micros(one.until)) for one in by_python] == by_kernel


@pytest.mark.parametrize("zone", ZONES)
def test_a_border_does_not_depend_on_which_moments_are_asked_for_together(zone):
    at = moments()[::977]
    clock = Clock(DAY, zone)
    far = np.concatenate([at, [at[0] - 40 * 365 * DAY, at[-1] + 60 * 365 * DAY]])

    together = clock.begins(clock.numbers(far))[: len(at)]

    assert together.tolist() == [int(clock.begins(clock.numbers(np.array([one])))[0]) for one in at]


def test_long_periods_have_the_same_border_from_either_end():
    every = parse_span("1000d")
    clock = Clock(every, "Europe/Berlin")
    number = clock.numbers(np.array([YEAR]))
    begin, end = clock.begins(number), clock.begins(number + 1)

    assert clock.numbers(begin) == number
    assert clock.numbers(begin - 1) == number - 1
    assert clock.numbers(end - 1) == number
    assert clock.numbers(end) == number + 1


def test_a_day_that_begins_at_one_o_clock_is_a_day():
    jump = datetime(2024, 9, 8, 4, tzinfo=UTC)  # midnight in Santiago, when the clock shows one

    day = Clock(DAY, "America/Santiago").holding(jump + timedelta(hours=5))

    assert day.since == jump
    assert day.until - day.since == timedelta(hours=23)


def test_periods_follow_each_other_without_a_gap():
    clock = Clock(6 * HOUR, "Australia/Lord_Howe")
    end = datetime(2024, 4, 15, tzinfo=UTC)
    walked = clock.over([(to_micros(datetime(2024, 4, 1, tzinfo=UTC)), to_micros(end))], end)

    assert all(one.until == other.since for one, other in pairwise(walked))
    assert [clock.before(other) for other in walked[1:]] == walked[:-1]
    assert clock.before(walked[-1], len(walked) - 1) == walked[0]
    assert walked[-1].until <= end < clock.before(walked[-1], -1).until


def test_what_lies_between_two_stretches_is_leapt_over():
    clock = Clock(DAY, "Europe/Berlin")
    late = datetime(9970, 1, 1, 12, tzinfo=UTC)
    stretches = [(YEAR, YEAR + HOUR), (to_micros(late), to_micros(late))]

    assert [one.since.date().isoformat() for one in clock.over(stretches, late + timedelta(days=3), after=1)] == [
        "2023-12-31",
        "2024-01-01",
        "9969-12-31",
        "9970-01-01",
    ]
    assert len(clock.over(stretches, datetime(2025, 1, 1, tzinfo=UTC))) == 1


@pytest.mark.parametrize("year", [2015, 2016, 2037, 2038, 2039, 2499, 2500, 5000, 9969])
def test_days_begin_at_midnight_of_the_zone_in_any_year(year):
    zone = ZoneInfo("Europe/Berlin")
    for month, day in ((7, 1), (10, 30), (12, 31)):
        midnight = datetime(year, month, day, tzinfo=zone).astimezone(UTC)

        assert Clock(DAY, "Europe/Berlin").holding(midnight + timedelta(microseconds=1)).since == midnight


def test_no_moment_is_in_no_period():
    frame = pl.DataFrame({"until": [None, datetime(2024, 1, 2, tzinfo=UTC)]}, schema={"until": TIME})
    begin, _ = Clock(DAY, "Europe/Berlin").borders(pl.col("until"))

    assert frame.select(begin)["until"].to_list() == [None, datetime(2024, 1, 1, 23, tzinfo=UTC)]


def test_the_ends_of_the_calendar_have_periods_too():
    ends = np.array([to_micros(datetime(2, 1, 1, tzinfo=UTC)), to_micros(datetime(9998, 12, 31, tzinfo=UTC))])
    clock = Clock(DAY, "America/New_York")

    numbers = clock.numbers(ends)

    assert (clock.begins(numbers) <= ends).all()
    assert (ends < clock.begins(numbers + 1)).all()


def test_rules_that_come_again_every_four_centuries_are_those_of_the_time_zone():
    at = to_micros(datetime(2911, 3, 1, tzinfo=UTC)) + np.arange(0, 300 * DAY, HOUR)
    clock = Clock(6 * HOUR, "America/New_York")

    assert (
        clock.numbers(at).tolist()
        == np.maximum.accumulate([shown("America/New_York", one) for one in at] // np.int64(6 * HOUR)).tolist()
    )
