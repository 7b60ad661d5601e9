"""Ways that are walked again: what a script does to the pace, and a person does not."""

import math
from collections import Counter
from datetime import UTC, datetime, timedelta

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gamewarden.errors import MeasureError
from gamewarden.features.paths.recipe import Paths
from gamewarden.tables import FrameEvents

START = datetime(2026, 3, 2, 8, tzinfo=UTC)
SHARES = ("repeated_way", "repeated_run", "laps", "same_places")


def walk(places, *, actor="a", zone="Dion", seconds=10.0, start=START):
    """An event at each place, one after the other."""
    x, y = zip(*places, strict=True)
    return pl.DataFrame(
        {
            "actor": actor,
            "at": [start + timedelta(seconds=seconds * step) for step in range(len(places))],
            "kind": "move",
            "zone": zone,
            "x": pl.Series(x, dtype=pl.Float32),
            "y": pl.Series(y, dtype=pl.Float32),
        },
        schema_overrides={"at": pl.Datetime("us", "UTC")},
    )


def measure(events, **options):
    return Paths(**options).measure(FrameEvents(events))


def one(events, **options):
    (row,) = measure(events, **options).to_dicts()
    return row


def corners(count, seed=1, size=100.0):
    return [tuple(place) for place in np.random.default_rng(seed).uniform(0, size, (count, 2))]


def scattered(places, paces, seed=2):
    draw = np.random.default_rng(seed)
    return [(x + paces * draw.normal(), y + paces * draw.normal()) for x, y in places]


def test_whoever_walks_one_round_again_and_again_repeats_nearly_all_of_the_way():
    row = one(walk(corners(12) * 20))

    assert row["way_points"] == 12 * 20 - 2
    assert row["repeated_way"] > 0.85
    assert row["repeated_run"] == 12 * 20 - 2 - 2 * 12 - 2
    assert row["laps"] == 20
    assert row["same_places"] > 0.85


def test_whoever_walks_a_round_by_hand_comes_near_its_spots_and_repeats_next_to_nothing():
    row = one(walk(scattered(corners(12) * 20, paces=4.0)))

    assert row["way_points"] > 200
    assert row["repeated_way"] < 0.02
    assert row["repeated_run"] <= 2
    assert row["laps"] <= 3


def test_whoever_hunts_in_one_small_place_for_hours_does_not_walk_the_same_way():
    row = one(walk(corners(2000, size=24.0)))

    assert row["repeated_way"] < 0.01
    assert row["same_places"] > 0.1  # places come again in so small a one, ways do not


def test_whoever_stands_still_has_no_way():
    row = one(walk([(5.0, 5.0)] * 500))

    assert row["events"] == 500
    assert all(row[name] is None for name in Paths().names)


def test_a_few_way_points_are_too_few_to_speak_of_a_way():
    row = one(walk(corners(20)))

    assert 15 <= row["way_points"] <= 18
    assert row["way_length"] > 0
    assert all(row[name] is None for name in SHARES)


def test_a_log_without_positions_says_nothing_of_ways():
    rows = measure(walk(corners(100)).with_columns(x=None, y=None))

    assert rows.height == 1
    assert all(rows[name].null_count() == 1 for name in Paths().names)


def test_what_is_logged_on_the_way_between_two_corners_is_no_way_point():
    round_ = corners(12)
    draw = np.random.default_rng(4)
    between = []
    for (x, y), (to_x, to_y) in zip(round_ * 20, (round_ * 20)[1:], strict=False):
        share = draw.uniform(0.3, 0.7)
        between += [(x, y), (x + share * (to_x - x), y + share * (to_y - y))]

    row = one(walk(between), cell=2.0)

    assert row["way_points"] == pytest.approx(12 * 20, abs=3)
    assert row["repeated_way"] > 0.85


def test_the_same_numbers_in_another_zone_are_another_place():
    round_ = walk(corners(12) * 4)
    zones = [f"zone {lap}" for lap in range(4) for _ in range(12)]

    assert one(round_)["laps"] == 4
    assert one(round_.with_columns(zone=pl.Series(zones)))["repeated_way"] == 0


def test_each_day_begins_anew():
    events = pl.concat([walk(corners(12) * 5), walk(corners(12) * 5, start=START + timedelta(days=1))])

    rows = measure(events)

    assert rows["laps"].to_list() == [5, 5]
    assert rows["since"].to_list() == [datetime(2026, 3, day, tzinfo=UTC) for day in (2, 3)]


def test_a_place_that_is_infinitely_far_away_is_none():
    events = walk(corners(12) * 20)
    holes = pl.concat([events, walk([(1.0, -math.inf), (math.inf, 1.0)] * 20, seconds=7.0)]).sort("at")

    assert one(holes)["events"] == 280
    assert one(holes)["laps"] == 20


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"cell": 0.0}, "paths: cell is 0.0; it must be above 0"),
        ({"cell": math.nan}, "cell is nan"),
        ({"min_points": 0}, "min_points is 0"),
        ({"every": 0}, "every is 0"),
        ({"by": "guild"}, "choose account or character"),
    ],
)
def test_an_option_that_nothing_can_be_measured_with_is_refused(options, says):
    with pytest.raises(MeasureError, match=says):
        Paths(**options)


def reference(places, cell):
    """The same in plain Python, with room for everything: way-points, repeated ones, longest run, laps."""
    turns, last, turn = [], places[0], None
    for place in places[1:]:
        step = (place[0] - last[0], place[1] - last[1])
        length = math.hypot(*step)
        if length < cell:
            last = place
            continue
        if turn is None:
            turn = last
        else:
            way = (last[0] - turn[0], last[1] - turn[1])
            if way[0] * step[0] + way[1] * step[1] < 0.9 * math.hypot(*way) * length:
                turns.append(last)
                turn = last
        last = place
    cells = [(math.floor(x / cell), math.floor(y / cell)) for x, y in turns]
    seen, run, longest, repeated, laps = Counter(), 0, 0, 0, 0
    for stretch in [None, None, *zip(cells, cells[1:], cells[2:], strict=False)][: len(cells)]:
        before = seen[stretch] if stretch else 0
        seen[stretch] += 1
        laps = max(laps, before + 1) if stretch else laps
        run = run + 1 if before >= 2 else 0
        repeated += before >= 2
        longest = max(longest, run)
    return len(turns), repeated, longest, laps


@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=4, max_size=25), st.sampled_from([0.5, 2.0, 5.0])
)
def test_the_kernel_agrees_with_plain_python_as_long_as_its_table_has_room(places, cell):
    steps = [(3.0 * x, 3.0 * y) for x, y in places] * 3

    row = one(walk(steps), cell=cell, min_points=1)

    points, repeated, longest, laps = reference(steps, cell)
    assert (row["way_points"] or 0) == points
    if points:
        assert (round(row["repeated_way"] * points), row["repeated_run"], row["laps"]) == (repeated, longest, laps)
