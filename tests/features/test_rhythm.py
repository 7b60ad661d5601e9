"""Rhythm: what an account around the clock has and somebody who sleeps, pauses and has a weekend has not."""

from datetime import UTC, date, datetime, timedelta

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

import rhythm_reference as reference
from gamewarden.errors import MeasureError
from gamewarden.features.folding import feed
from gamewarden.features.rhythm import periodicity
from gamewarden.features.rhythm.kernel import STEPS
from gamewarden.features.rhythm.recipe import Rhythm
from gamewarden.learning.phrases import SeenNumber, says
from gamewarden.tables import FrameEvents

MONDAY = datetime(2026, 3, 2, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
BERLIN = "Europe/Berlin"
NUMBERS = ("gap_entropy", "periodic", "period_min")


def log(**moments):
    """Events of actors at some moments, in the order of time."""
    rows = [(actor, at, "combat.kill") for actor, times in moments.items() for at in times]
    schema = {"actor": pl.String, "at": pl.Datetime("us", "UTC"), "kind": pl.String}
    return pl.DataFrame(rows, schema=schema, orient="row").sort("at")


def parts_of(events, batch=1 << 20, **options):
    recipe = Rhythm(**options)
    fold = recipe.part_fold()
    feed(fold, FrameEvents(events, batch=batch))
    return fold.frame()


def measure(events, **options):
    return Rhythm(**options).measure(FrameEvents(events))


def last_of(events, actor="a", **options):
    return measure(events, **options).filter(actor=actor).sort("since").to_dicts()[-1]


def seconds(*after, start=MONDAY):
    return [start + timedelta(seconds=float(second)) for second in after]


def every_minute(hours, day=0, start=MONDAY):
    """An event each minute of some hours of a day."""
    return [start + timedelta(days=day, hours=hour, minutes=minute) for hour in hours for minute in range(60)]


def test_events_minutes_hours_and_the_busiest_of_them_are_counted():
    (part,) = parts_of(log(a=seconds(0, 10, 10, 60, 3660, 3700))).to_dicts()

    assert (part["events"], part["active_min"], part["hours"]) == (6, 3, 0b11)
    assert (part["busiest_min"], part["busiest_hour"]) == (3, 4)
    assert all(part[name] is None for name in NUMBERS)


def test_gaps_that_are_always_the_same_have_no_entropy_and_two_lengths_by_turns_one_bit():
    even = seconds(*np.arange(200))
    by_turns = seconds(*np.cumsum([1, 4] * 100))

    parts = parts_of(log(even=even, turns=by_turns + by_turns)).sort("actor")

    assert parts["gap_entropy"].to_list() == [0.0, pytest.approx(1.0, abs=1e-4)]


def test_a_hundred_gaps_are_needed_and_breaks_are_none():
    before, after = seconds(*np.arange(0, 51)), seconds(*np.arange(1851, 1901))

    assert parts_of(log(a=before + after[:-1]))["gap_entropy"].to_list() == [None]
    assert parts_of(log(a=before + after + seconds(1901)))["gap_entropy"].to_list() == [0.0]


def test_counts_that_are_full_stay_full():
    flood = [MONDAY + timedelta(milliseconds=step) for step in range(70_001)]
    calm = [flood[-1] + timedelta(seconds=step) for step in range(1, 10_001)]

    (part,) = parts_of(log(a=flood + calm)).to_dicts()

    share = 10_000 / (10_000 + (1 << 16) - 1)
    assert (part["events"], part["busiest_min"], part["busiest_hour"]) == (80_001, 60_000, 70_001 + 3529)
    assert part["gap_entropy"] == pytest.approx(-share * np.log2(share) - (1 - share) * np.log2(1 - share))


def loop(minutes, hours, *, uneven=0.0, seed=1):
    """Hunts for half of each round and sells for the rest; a round takes so many minutes, or about so many."""
    draw = np.random.default_rng(seed)
    moments, at = [], 0.0
    while at < 60 * hours:
        length = minutes * np.exp(uneven * draw.normal())
        moments += [at + 0.2 * step for step in range(int(length / 0.4))]
        at += length
    return [MONDAY + at * MINUTE for at in moments if at < 24 * 60]


def test_a_script_with_a_fixed_round_is_periodic_and_one_whose_rounds_differ_is_not():
    row = last_of(log(a=loop(20, 23)))
    uneven = last_of(log(a=loop(20, 23, uneven=0.5)))

    assert row["periodic"] > 0.6
    assert row["period_min"] == pytest.approx(20, abs=0.2)
    assert uneven["periodic"] < 0.1


def test_a_fixed_round_shows_in_four_hours_as_well():
    row = last_of(log(a=loop(30, 4)))

    assert row["periodic"] > 0.5
    assert row["period_min"] == pytest.approx(30, abs=2)


def test_periods_are_not_looked_for_in_less_than_three_hours():
    steps = 2 * MINUTE * np.arange(90)
    long = [MONDAY + step for step in steps for _ in range(1 + step // MINUTE % 4)]

    assert last_of(log(a=long))["periodic"] is not None
    assert last_of(log(a=long[:-1]))["periodic"] is not None
    assert last_of(log(a=[at for at in long if at < long[-1]]))["periodic"] is None


def test_whoever_does_the_same_all_the_time_does_not_vary_in_any_period():
    row = last_of(log(a=every_minute(range(24))))

    assert row["periodic"] is None
    assert row["gap_entropy"] == 0.0


@pytest.mark.parametrize("hours", [4, 23])
def test_whoever_plays_and_pauses_at_will_is_not_periodic_however_long(hours):
    draw = np.random.default_rng(7)
    found = []
    for _ in range(40):
        turns = np.cumsum(draw.exponential(15, 400))
        minutes = np.arange(60 * hours)
        plays = np.searchsorted(turns, minutes) % 2 == 0
        moments = [MONDAY + int(minute) * MINUTE for minute in minutes[plays] for _ in range(draw.poisson(4))]
        moments += [MONDAY, MONDAY + 60 * hours * MINUTE]
        found.append(last_of(log(a=moments))["periodic"])

    assert np.quantile(found, 0.9) < 0.1


def week(hours_of_day):
    return [at for day in range(7) for at in every_minute(hours_of_day, day)]


def test_whoever_sleeps_rests_every_night_and_an_account_around_the_clock_never():
    events = log(ann=week(range(17, 23)), bot=week(range(24)))

    ann, bot = last_of(events, "ann"), last_of(events, "bot")

    assert (ann["awake_hours"], ann["hours_of_day"], ann["play_hours"]) == (6.0, 6, 6.0)
    assert (bot["awake_hours"], bot["hours_of_day"], bot["play_hours"]) == (168.0, 24, 24.0)
    assert (bot["days_seen"], bot["days_played"], bot["day_spread"]) == (7, 7, 0.0)


def test_a_rest_is_as_long_as_one_says_and_may_lie_on_both_sides_of_midnight():
    naps = [at for day in range(3) for at in every_minute([3, 4, 9, 21], day)]  # idle: 4, 11 and 5 hours

    assert last_of(log(a=naps))["awake_hours"] == 7.0
    assert last_of(log(a=naps), rest=6)["awake_hours"] == 13.0
    assert last_of(log(a=naps), rest=4)["awake_hours"] == 2.0


def test_days_without_play_count_as_days_and_as_rest():
    ann = every_minute([12], 0) + every_minute([12], 6)
    row = last_of(log(ann=ann, other=every_minute([1], 0)), "ann")

    assert (row["days_seen"], row["days_played"], row["awake_hours"]) == (7, 2, 1.0)
    assert row["play_hours"] == pytest.approx(2 / 7)
    assert row["day_spread"] == pytest.approx(np.std([60, 0, 0, 0, 0, 0, 60]) / np.mean([60, 0, 0, 0, 0, 0, 60]))


def test_days_are_known_from_the_first_on_which_anybody_played():
    events = log(first=every_minute([1], 0), late=every_minute([1], 2) + every_minute([1], 4))
    rows = measure(events).sort("actor", "since")

    assert rows["days_seen"].to_list() == [1, 3, 5]
    assert rows["day_spread"].to_list() == [None, None, pytest.approx(np.std([0, 0, 60, 0, 60]) / 24)]


def test_what_lies_further_back_is_forgotten():
    ann = every_minute([12], 0) + every_minute([13, 14], 8)

    row = last_of(log(ann=ann), "ann")

    assert (row["days_seen"], row["days_played"], row["hours_of_day"], row["busiest_hour"]) == (1, 1, 2, 60)
    assert last_of(log(ann=ann), "ann", back=9)["days_played"] == 2


def test_the_day_in_the_middle_speaks_for_all():
    days = [loop(20, 20), loop(20, 20, uneven=0.7), loop(40, 20)]
    events = log(a=[at + timedelta(days=day) for day, moments in enumerate(days) for at in moments])

    shares = parts_of(events)["periodic"].to_list()
    row = last_of(events)

    assert row["periodic"] == sorted(shares)[1]
    assert row["period_min"] == parts_of(events)["period_min"][shares.index(sorted(shares)[1])]


@pytest.mark.parametrize(("day", "hours", "shown"), [(date(2026, 3, 29), 23, 23), (date(2026, 10, 25), 25, 24)])
def test_a_day_on_which_clocks_change_has_the_hours_that_it_has(day, hours, shown):
    since = reference.midnight(day, BERLIN)
    around = [since + minute * MINUTE for minute in range(60 * hours)]

    (part,) = parts_of(log(a=around), time_zone=BERLIN).to_dicts()
    row = last_of(log(a=around), time_zone=BERLIN)

    assert part["until"] - part["since"] == timedelta(hours=hours)
    assert (part["hours"], part["active_min"]) == ((1 << hours) - 1, 60 * hours)
    assert (row["awake_hours"], row["hours_of_day"]) == (float(hours), shown)


def test_hours_of_the_day_are_those_that_clocks_show_also_on_days_on_which_they_change():
    days = [reference.midnight(date(2026, 3, day), BERLIN) for day in (28, 29, 30)]
    at_noon = [days[0] + timedelta(hours=12), days[1] + timedelta(hours=11), days[2] + timedelta(hours=12)]

    assert last_of(log(a=at_noon), time_zone=BERLIN)["hours_of_day"] == 1


def made_up(seed, count, scale):
    """Moments of somebody with pauses, some of them twice, in whole microseconds."""
    draw = np.random.default_rng(seed)
    gaps = np.exp(draw.normal(np.log(scale), 1.5, count)) * (draw.random(count) < 0.9)
    gaps[draw.random(count) < 0.02] += 5000
    begin = datetime(2026, 3, 28, tzinfo=UTC) + timedelta(seconds=float(draw.uniform(0, 86400)))
    return [begin + timedelta(microseconds=int(at * 1e6)) for at in np.cumsum(np.minimum(gaps, 1e5))]


@given(
    st.integers(0, 2**32),
    st.integers(1, 1500),
    st.sampled_from([0.0003, 0.05, 5, 60]),
    st.sampled_from([BERLIN, "UTC"]),
)
def test_the_kernel_agrees_with_plain_python(seed, count, scale, zone):
    moments = made_up(seed, count, scale)

    found = parts_of(log(a=moments), time_zone=zone).drop("actor", "until").to_dicts()

    wanted = reference.parts(moments, zone)
    assert len(found) == len(wanted)
    for ours, theirs in zip(found, wanted, strict=True):
        assert {**ours, **theirs} == {name: close(value) for name, value in ours.items()}


def close(value):
    return pytest.approx(value, abs=1e-6) if isinstance(value, float) else value


@given(st.lists(st.tuples(st.integers(0, 6), st.integers(0, (1 << 24) - 1)), min_size=1), st.integers(1, 12))
def test_the_longest_time_without_rest_is_that_of_plain_python(used, rest):
    hours = dict(used) | {6: used[0][1] | 1}
    moments = [
        MONDAY + timedelta(days=day, hours=hour)
        for day, bits in hours.items()
        for hour in range(24)
        if bits >> hour & 1
    ]

    row = last_of(log(a=moments, other=[MONDAY]), rest=rest)

    days = [(MONDAY + timedelta(days=day), MONDAY + timedelta(days=day + 1), bits) for day, bits in hours.items()]
    assert row["awake_hours"] == reference.awake_hours(days, rest)


@pytest.fixture(scope="module")
def crowd():
    """Six hundred actors of two days, most of them there for hours."""
    return log(**{f"a{seed:03}": made_up(seed, 200, 60) for seed in range(600)})


def test_neither_batches_nor_the_order_of_rows_matter(crowd):
    wanted = parts_of(crowd)

    assert wanted["periodic"].count() > 500
    for batch in (7_001, 50_000):
        shuffled = crowd.sample(fraction=1.0, shuffle=True, seed=batch)
        assert_frame_equal(parts_of(crowd, batch), wanted, check_exact=True)
        assert_frame_equal(parts_of(shuffled, batch), wanted, check_exact=True)


def test_a_day_has_the_same_period_in_whatever_company_it_is_summed_up():
    counts = np.random.default_rng(3).poisson(1.5, (300, STEPS)).astype(np.uint16)

    together = periodicity.strongest(counts)

    for place in range(0, 300, 17):
        alone = periodicity.strongest(counts[place : place + 1])
        assert np.array_equal([one[place] for one in together], [one[0] for one in alone], equal_nan=True)


def test_only_summaries_of_days_that_are_over_stay_in_memory(crowd):
    fold = Rhythm().part_fold()

    feed(fold, FrameEvents(crowd, batch=1000))

    kept = sum(one.nbytes for one in fold._done)
    assert kept < 100 * parts_of(crowd).height
    assert not fold._over


def test_a_day_that_begins_inside_an_hour_of_utc_is_counted_in_its_own_hours():
    kathmandu = [MONDAY - timedelta(hours=5, minutes=45) + minute * MINUTE for minute in range(60)]

    (part,) = parts_of(log(a=kathmandu), time_zone="Asia/Kathmandu").to_dicts()

    assert (part["hours"], part["busiest_hour"]) == (1, 60)
    assert part["since"] == kathmandu[0]


def test_no_rest_is_longer_than_a_day():
    with pytest.raises(MeasureError, match="rhythm: rest is 25; it is from 1 to 24 hours"):
        Rhythm(rest=25)


def test_the_words_name_the_rest_that_was_looked_for():
    assert "without a rest of 5 hours" in Rhythm().phrases["awake_hours"].more
    assert "without a rest of 8 hours" in Rhythm(rest=8).phrases["awake_hours"].more


def test_what_is_odd_is_named_by_column_and_side():
    assert {*Rhythm.odd_when} <= {*Rhythm.schema}
    assert {*Rhythm.odd_when.values()} == {"high", "low"}
    assert not Rhythm().about_others


def test_a_few_minutes_across_the_full_hour_are_not_called_hours_without_a_rest():
    row = last_of(log(a=seconds(*range(3500, 3800, 10))))
    people = [float(hours) for hours in range(101)]

    told = says(SeenNumber("awake_hours", row["awake_hours"], people), Rhythm().phrases["awake_hours"])

    assert told == (
        "Plays across fewer clock hours without a rest of 5 hours than nearly all humans: 2 from the first to the "
        "last, a typical human has 50 (only 3 % of humans are that far down)."
    )


def test_hours_of_play_are_said_to_count_minutes_with_an_event():
    row = last_of(log(a=[MONDAY + 5 * step * MINUTE for step in range(288)]))

    told = says(SeenNumber("play_hours", row["play_hours"], [1.0] * 101), Rhythm().phrases["play_hours"])

    assert "4.8 hours of minutes with an event" in told
