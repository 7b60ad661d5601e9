"""Pulses of a day: a program for some hours is found at any moment of the stream, and no hand is taken for one."""

from datetime import timedelta

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from gamewarden.contracts import sight_of
from gamewarden.errors import MeasureError
from gamewarden.features.pulses.recipe import Pulses
from gamewarden.features.pulses.rows import pulses_of, spans_of
from gamewarden.tables import FrameEvents
from pulses_made_up import KINDS, START, day, hand, log, rounds, script
from pulses_reference import measured


def measure(events, **options):
    return Pulses(vocabulary=KINDS, **options).measure(log(a=events)).row(0, named=True)


def test_hours_of_a_program_after_an_evening_by_hand_are_one_pulse_with_its_times():
    row = measure(day((120, hand(120)), (180, script(180)), (60, hand(60, seed=3))))

    assert row["pulses"] == 1
    assert row["pulse_begin_min"] == pytest.approx(8 * 60 + 120, abs=10)
    assert row["pulse_end_min"] == pytest.approx(8 * 60 + 300, abs=10)
    assert row["pulse_share"] == pytest.approx(0.5, abs=0.04)
    assert row["pulse_steady"] > 0.8
    assert row["own_steady"] < 0.5
    assert row["jump"] > 0.5


def test_who_plays_by_hand_all_day_has_no_pulse():
    row = measure(day((400, hand(400))))

    assert row["pulses"] == row["pulse_minutes"] == row["pulse_share"] == 0
    assert (row["pulse_begin_min"], row["pulse_steady"], row["jump"]) == (None, None, None)
    assert row["span_steady"] < 0.4


def test_the_crafter_at_the_anvil_is_alike_and_no_clock():
    row = measure(day((180, rounds(("item.craft", "craft.sword"), 9, 0.35, 180, 5))))

    assert row["span_self_sim"] > 0.999
    assert row["pulses"] == 0
    assert row["span_steady"] < 0.5


def test_the_fisher_waits_as_the_fish_do_and_is_no_clock():
    fishing = rounds(("loot.pickup",), 25, 0.5, 240, 6)

    assert measure(day((240, fishing)))["pulses"] == 0


def test_the_idle_are_not_looked_at():
    row = measure(day((400, rounds(("chat",), 1200, 0.1, 400, 7))))

    assert row["spans"] == row["pulses"] == 0
    assert (row["span_self_sim"], row["span_steady"]) == (None, None)


def test_actions_too_quick_to_be_anybodys_pace_do_not_count():
    row = measure(day((180, rounds(("combat.kill",), 2, 0.01, 180, 8))))

    assert row["spans"] > 0
    assert row["span_steady"] is None


def test_the_published_rule_can_be_asked_for_and_knows_what_a_usual_bot_is_like():
    evening = day((300, hand(300)), (120, script(120)))

    assert measure(evening, rule="published")["pulses"] == 1
    assert measure(evening, rule="published", bot_level=0.99)["pulses"] == 1
    assert measure(day((400, hand(400))), rule="published", bot_level=0.99)["pulses"] == 0


def made_up(seed, rows):
    """Play of chance: bursts of even and uneven rounds with silences between them."""
    draw, parts = np.random.default_rng(seed), []
    for _ in range(rows):
        minutes = int(draw.integers(20, 200))
        kinds = tuple(draw.choice(KINDS, size=int(draw.integers(1, 4)), replace=False))
        jitter = float(draw.choice([0.02, 0.1, 0.4]))
        parts.append(
            (minutes, rounds(kinds, float(draw.uniform(4, 40)), jitter, minutes, seed, float(draw.choice([0, 0.2]))))
        )
        parts.append((int(draw.choice([0, 5, 40])), []))
    return day(*parts)


@given(
    st.integers(0, 1 << 20),
    st.integers(1, 6),
    st.sampled_from([{}, {"span": 30, "step": 5}, {"published": 0.5}]),
    st.sampled_from([KINDS, ("combat.kill", "move")]),
)
def test_rows_are_those_of_the_plain_reference(seed, parts, options, vocabulary):
    events = made_up(seed, parts)
    published = {"rule": "published", "bot_level": options["published"]} if "published" in options else options
    rows = Pulses(vocabulary=vocabulary, **published).measure(log(a=events)).rows(named=True)

    wanted = measured(events, vocabulary=vocabulary, **options)

    assert len(rows) == len(wanted)
    for row, plain in zip(rows, wanted, strict=True):
        assert {name: row[name] for name in plain} == pytest.approx(plain, abs=1e-9)


@settings(max_examples=settings.default.max_examples * 15 // 25)
@given(st.integers(0, 1 << 20), st.floats(0, 1), st.integers(1, 500))
def test_what_a_stream_says_at_any_moment_is_what_measuring_its_rows_so_far_says(seed, share, batch):
    whole = log(a=made_up(seed, 3), b=made_up(seed + 1, 2))
    recipe = Pulses(vocabulary=KINDS)
    rows = whole.frame[: int(share * whole.frame.height)]
    stream = FrameEvents(rows, batch=batch)
    fold = recipe.fold(sight_of("events", stream))

    for part in stream.batches(fold.columns):
        fold.push(part)
        fold.frame()  # asking changes nothing

    assert_frame_equal(fold.frame(), recipe.measure(FrameEvents(rows)), check_exact=True)


def test_spans_and_pulses_are_tables_in_time_with_their_shares():
    recipe = Pulses(vocabulary=KINDS)
    stream = log(a=day((120, hand(120)), (180, script(180))))
    fold = recipe.fold(sight_of("events", stream))
    for batch in stream.batches(fold.columns):
        fold.push(batch)

    spans, (pulse,) = spans_of(recipe, fold.pieces()), pulses_of(recipe, fold.pieces()).rows(named=True)

    assert spans["since"].is_sorted()
    assert (spans["until"] - spans["since"]).unique().to_list() == [timedelta(hours=1)]
    assert spans.filter("pulse")["steady"].min() >= recipe.steady
    assert pulse["since"] == START + timedelta(hours=2)
    assert pulse["share"] == pytest.approx(0.6, abs=0.05)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"unit": 7_000_000}, "does not divide every"),
        ({"step": 7}, "step 7 does not divide span 60"),
        ({"steady": 1.5}, "steady is 1.5; it must lie from 0 to 1"),
        ({"rule": "mine"}, "choose beat or published"),
        ({"time_zone": "Mars/Olympus"}, "Mars/Olympus"),
        ({"vocabulary": ()}, "the vocabulary is empty"),
    ],
)
def test_an_option_that_nothing_can_be_measured_with_is_refused(options, words):
    with pytest.raises(MeasureError, match=words):
        Pulses(**options)
