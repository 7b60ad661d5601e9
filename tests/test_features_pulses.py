"""Pulses: a program for some hours of somebody's play is found, and nothing else is."""

import statistics
from datetime import UTC, datetime, timedelta

import polars as pl
from hypothesis import given, settings
from hypothesis import strategies as st

from gamewarden.features.self_similarity.pulses import RUN, pulses, spans
from gamewarden.tables import TIME

START = datetime(2026, 3, 2, tzinfo=UTC)
MINUTE = timedelta(minutes=1)


def windows_of(cosines, gaps=()):
    """Windows of a minute each; before those whose numbers are in `gaps` there is a silence."""
    moments, at = [], START
    for number in range(len(cosines)):
        at += 30 * MINUTE if number in gaps else 0 * MINUTE
        moments.append(at)
        at += MINUTE
    schema = {"since": TIME, "until": TIME, "events": pl.Int64, "cosine": pl.Float64}
    rows = [(since, since + MINUTE, int(one > 0), one) for since, one in zip(moments, cosines, strict=True)]
    return pl.DataFrame(rows, schema=schema, orient="row")


def plainly(windows, bot_median, span=60, step=10):
    """Pulses as spec 2.10 says them, in plain words."""
    rows = windows.rows(named=True)
    runs = []
    for row in rows:
        if runs and runs[-1][-1]["until"] == row["since"]:
            runs[-1].append(row)
        else:
            runs.append([row])
    told = []
    for number, run in enumerate(runs):
        for first in range(0, len(run) - span + 1, step):
            part = run[first : first + span]
            if sum(row["events"] > 0 for row in part) >= 0.8 * span:
                self_sim = 1 - statistics.pstdev(row["cosine"] for row in part) / 2
                told.append((number, first, part[0]["since"], part[-1]["until"], self_sim))
    if not told:
        return []
    middle = statistics.median(one[4] for one in told)
    border = max(bot_median, middle + 4 * statistics.median(abs(one[4] - middle) for one in told))
    stretches = []
    for one in told:
        if one[4] < border:
            continue
        if stretches and stretches[-1][-1][:2] == (one[0], one[1] - step):
            stretches[-1].append(one)
        else:
            stretches.append([one])
    return [(part[0][2], part[-1][3]) for part in stretches if len(part) >= RUN]


def test_hours_of_a_program_in_a_day_of_play_are_one_pulse():
    human = [0.2 + 0.5 * (number * 7919 % 97) / 97 for number in range(600)]
    program = [0.4 + 0.001 * (number % 3) for number in range(180)]

    (found,) = pulses(windows_of(human[:400] + program + human[400:]), bot_median=0.99)

    assert START + 400 * MINUTE <= found.since < found.until <= START + 580 * MINUTE
    assert found.until - found.since >= 80 * MINUTE
    assert found.self_sim >= 0.99
    assert 0.1 < found.share < 180 / 780 + 0.01


def test_a_day_that_is_even_throughout_has_no_pulse_of_its_own():
    even = [0.4 + 0.004 * (number * 7919 % 97) / 97 for number in range(900)]

    assert pulses(windows_of(even), bot_median=0.9) == []


def test_silence_is_no_pulse():
    human = [0.2 + 0.5 * (number * 7919 % 97) / 97 for number in range(600)]

    assert pulses(windows_of(human + [0.0] * 200), bot_median=0.9) == []


def test_nothing_is_found_in_little_play():
    assert pulses(windows_of([0.3] * 20), bot_median=0.9) == []
    assert pulses(windows_of([]), bot_median=0.9) == []


def test_no_span_crosses_a_silence():
    told = spans(windows_of([0.3] * 200, gaps={90}))

    assert told.select(pl.col("until") - pl.col("since")).to_series().unique().to_list() == [60 * MINUTE]
    assert told["place"].to_list() == [0, 10, 20, 30, 0, 10, 20, 30, 40, 50]


@settings(max_examples=60, deadline=None)
@given(
    parts=st.lists(
        st.tuples(st.sampled_from([0.0, 0.001, 0.2, 0.5]), st.integers(20, 140), st.integers(1, 1000)), max_size=6
    ),
    gaps=st.sets(st.integers(1, 400), max_size=2),
    bot_median=st.floats(0.85, 0.999),
)
def test_pulses_are_those_of_the_plain_reference(parts, gaps, bot_median):
    cosines = [
        0.0 if spread == 0.0 and number % 3 == 0 else 0.3 + spread * (number * seed % 89) / 89
        for spread, many, seed in parts
        for number in range(many)
    ]
    windows = windows_of(cosines, gaps)

    assert [(one.since, one.until) for one in pulses(windows, bot_median)] == plainly(windows, bot_median)
