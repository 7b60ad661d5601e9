"""Play sessions: the published numbers, the gate, the turns, and the quirks of the published code."""

import math

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ragnarok_bytes as ro
import ragnarok_reference as reference
from gamewarden.errors import MeasureError
from gamewarden.features.session.recipe import PROPOSED, PUBLISHED_SCALE, Sessions
from gamewarden.readers.ragnarok.streams import MessageFile
from gamewarden.readers.ragnarok.thesis_profile import thesis_profile
from gamewarden.tables import SESSIONS

SECOND = 1_000_000
AT = 1_700_000_000 * SECOND
MINUTES = 60 * SECOND
PAPER = Sessions(paper_mode=True)


def measure(timed, recipe=None, *, batch=1 << 16):
    """SESSIONS of (seconds or None, message) pairs; None stands for a message without a tag."""
    data = b"".join((b"" if s is None else ro.tag(AT + round(s * SECOND))) + message for s, message in timed)
    return (recipe or Sessions()).measure(MessageFile(ro.Given(data), thesis_profile(), batch=batch))


def only(timed, recipe=None):
    (row,) = measure(timed, recipe).to_dicts()
    return row


def test_the_columns_are_those_of_the_contract_in_their_order():
    assert measure([(0, ro.connect())]).columns == [
        "actor",
        "since",
        "until",
        "events",
        "character",
        "valid",
        "enough",
        "packets_per_s",
        "move_dx",
        "move_dy",
        "move_distance",
        "move_gap_ms",
        "take_gap_ms",
        "turn_to_take_ms",
        "attack_to_take_ms",
        "continuous_attacks_per_s",
        "turn_mean_deg",
        "turn_circular_variance",
        "turn_back_share",
        "once_attacks_per_s",
    ]
    assert [*PUBLISHED_SCALE, *PROPOSED] == list(SESSIONS.columns)[7:]


@pytest.mark.parametrize(("seconds", "valid"), [(600, False), (600.000001, True), (599, False), (0, False)])
def test_ten_minutes_have_to_be_passed_not_reached(seconds, valid):
    row = only([(0, ro.connect()), (seconds, ro.tick())])

    assert row["valid"] is valid


@pytest.mark.parametrize(("gap", "mean"), [(6.999, 6999.0), (7, None), (7.001, None), (0, 0.0)])
def test_a_gap_of_seven_seconds_is_dropped_and_one_below_it_is_not(gap, mean):
    row = only([(0, ro.walk(1, 1)), (gap, ro.walk(1, 2))])

    assert row["move_gap_ms"] == mean


def test_rates_are_over_the_time_between_the_first_and_the_last_message():
    row = only([(0, ro.connect()), (1, ro.action(7)), (2, ro.action(0)), (3, ro.action(7)), (4, ro.action(2))])

    assert row["packets_per_s"] == 5 / 4
    assert row["continuous_attacks_per_s"] == 2 / 4
    assert row["once_attacks_per_s"] == 1 / 4


def test_moves_are_measured_from_one_to_the_next():
    row = only([(0, ro.walk(10, 10)), (0.2, ro.walk(13, 14)), (0.6, ro.walk(13, 10)), (9, ro.walk(12, 10))])

    assert (row["move_dx"], row["move_dy"]) == (4 / 3, 8 / 3)
    assert row["move_distance"] == (5 + 4 + 1) / 3
    assert row["move_gap_ms"] == 300.0


def test_a_leap_of_a_thousand_cells_does_not_count():
    row = only([(0, ro.walk(0, 0)), (0.2, ro.walk(600, 800)), (0.4, ro.walk(603, 804))])

    assert row["move_distance"] == 5.0
    assert row["move_gap_ms"] == 200.0


def test_the_chain_of_moves_is_cut_when_a_map_is_loaded_but_not_as_published():
    timed = [
        (0, ro.walk(10, 10)),
        (1, ro.walk(12, 10)),
        (2, ro.loaded()),
        (3, ro.walk(200, 200)),
        (4, ro.walk(202, 200)),
    ]

    assert only(timed)["move_distance"] == 2.0
    assert only(timed)["move_gap_ms"] == 1000.0
    assert only(timed)["turn_mean_deg"] is None
    assert only(timed, PAPER)["move_distance"] == pytest.approx((2 + math.hypot(188, 190) + 2) / 3)
    assert only(timed, PAPER)["move_gap_ms"] == pytest.approx(4000 / 3 / 100)


def test_pick_ups_reuse_the_last_change_of_direction_and_clear_the_attack():
    timed = [
        (0, ro.face()),
        (1, ro.action(7)),
        (2, ro.action(0)),
        (2.5, ro.take()),
        (3, ro.take()),
        (3.1, ro.action(3)),
        (3.5, ro.take()),
    ]

    row = only(timed)

    assert row["take_gap_ms"] == 500.0
    assert row["turn_to_take_ms"] == 3000.0  # 2.5, 3 and 3.5 s
    assert row["attack_to_take_ms"] == 500.0  # the first pick-up after the last attack alone


@pytest.mark.parametrize(
    ("places", "angles"),
    [
        ([(0, 0), (1, 0), (2, 0)], [0]),
        ([(0, 0), (1, 0), (1, 1)], [90]),
        ([(0, 0), (1, 0), (0, 0)], [180]),
        ([(0, 0), (1, 0), (1, 0), (1, 1)], [90]),
        ([(5, 5), (6, 5), (5, 6), (4, 6)], [135, 45]),
        ([(0, 0), (1, 0)], []),
        ([(3, 3), (3, 3), (3, 3)], []),
    ],
    ids=["straight", "right angle", "back", "a step of no length", "corrections", "one step", "standing"],
)
def test_turns_are_angles_between_steps_that_have_a_length(places, angles):
    row = only([(place * 0.1, ro.walk(*at)) for place, at in enumerate(places)])

    assert row["turn_mean_deg"] == (pytest.approx(sum(angles) / len(angles)) if angles else None)
    assert row["turn_back_share"] == (sum(angle > 90 for angle in angles) / len(angles) if angles else None)


def test_turns_that_cancel_each_other_have_the_variance_of_their_directions():
    # A square wave: left, right, right, left … of 90° each.
    row = only([(i * 0.1, ro.walk(10 + (i + 1) // 2, 10 + i // 2 % 2)) for i in range(9)])

    assert row["turn_mean_deg"] == pytest.approx(90.0)
    assert row["turn_circular_variance"] == pytest.approx(1 - math.hypot(0, 1 / 7))


@pytest.mark.parametrize(
    ("moves", "attacks", "takes", "enough"), [(50, 6, 4, True), (49, 6, 4, False), (50, 5, 4, False), (50, 0, 10, True)]
)
def test_enough_are_fifty_moves_and_ten_attacks_or_pick_ups(moves, attacks, takes, enough):
    said = [ro.walk(1, 1)] * moves + [ro.action(7)] * attacks + [ro.take()] * takes + [ro.action(2), ro.action(3)] * 5

    assert only([(0, message) for message in said])["enough"] is enough
    assert only([(0, message) for message in said], PAPER)["enough"] is True
    assert only([(0, message) for message in said], Sessions(min_moves=0, min_actions=0))["enough"] is True


def test_as_published_nothing_measured_is_seven_seconds_in_the_published_scale():
    row = only([(0, ro.connect()), (1000, ro.tick())], PAPER)

    assert [row[name] for name in PUBLISHED_SCALE] == [0.002, 0.0, 0.0, 0.0, 70.0, 7.0, 7.0, 7.0, 0.0]


def test_nothing_measured_is_null():
    row = only([(0, ro.connect()), (1000, ro.tick())])

    assert [row[name] for name in PUBLISHED_SCALE] == [0.002, *[None] * 7, 0.0]
    assert [row[name] for name in PROPOSED] == [None, None, None, 0.0]


def test_as_published_a_session_ends_when_the_next_one_connects():
    timed = [(0, ro.connect(1, 11)), (100, ro.tick()), (1000, ro.connect(2, 22)), (1010, ro.tick())]

    for recipe, rate, valid in ((Sessions(), 2 / 100, False), (PAPER, 2 / 1000, True)):
        first, second = measure(timed, recipe).to_dicts()
        assert (first["actor"], first["packets_per_s"], first["valid"]) == ("1", rate, valid)
        assert (second["actor"], second["packets_per_s"], second["valid"]) == ("2", 2 / 10, False)


def test_a_stream_without_tags_has_no_times_no_rates_and_is_not_valid():
    row = only(
        [(None, ro.connect()), (None, ro.walk(1, 1)), (None, ro.walk(4, 5)), (None, ro.take()), (None, ro.take())]
    )

    assert [row[name] for name in ("since", "until", "packets_per_s", "once_attacks_per_s", "move_gap_ms")] == [
        None
    ] * 5
    assert (row["valid"], row["events"], row["move_distance"]) == (False, 5, 5.0)


def test_a_session_of_no_length_has_no_rates():
    row = only([(5, ro.connect()), (5, ro.tick())])

    assert (row["packets_per_s"], row["valid"]) == (None, False)


def test_a_session_before_any_connect_message_has_no_actor_and_comes_first():
    frame = measure([(9, ro.tick()), (10, ro.connect(5, 6)), (11, ro.tick()), (12, ro.connect(4, 3))])

    assert frame["actor"].to_list() == [None, "4", "5"]
    assert frame["character"].to_list() == [None, "3", "6"]


def test_by_character_the_character_stands_in_actor_and_keeps_its_own_column():
    frame = measure([(9, ro.connect(5, 66)), (10, ro.connect(5, 33))], Sessions(by="character"))

    assert frame.select("actor", "character").rows() == [("33", "33"), ("66", "66")]


def test_a_recipe_kept_before_there_was_a_choice_of_actor_is_one_of_accounts():
    kept = {"paper_mode": False, "min_moves": 50, "min_actions": 10}

    assert Sessions.from_dict(kept) == Sessions(by="account")
    with pytest.raises(MeasureError, match="by is 'clan'; choose account or character"):
        Sessions.from_dict({**kept, "by": "clan"})


def test_a_gate_below_nothing_is_refused():
    with pytest.raises(MeasureError, match="min_moves is -1"):
        Sessions(min_moves=-1)
    with pytest.raises(MeasureError, match="unknown"):
        Sessions.from_dict({"moves": 1})


MESSAGES = st.one_of(
    st.builds(ro.walk, st.integers(0, 1023), st.integers(0, 1023)),
    st.builds(ro.walk, st.integers(10, 13), st.integers(10, 13)),
    st.builds(ro.action, st.sampled_from([0, 7, 2, 3, 9])),
    st.sampled_from([ro.take(), ro.face(), ro.loaded(), ro.tick(), ro.connect(1, 2), ro.connect(3, 4)]),
)
STEPS = st.sampled_from([0, 1, 137, 6_999_999, 7_000_000, 7_000_001, 300_000_000, -5_000])


@given(st.lists(st.tuples(STEPS, MESSAGES, st.booleans()), max_size=60), st.booleans(), st.sampled_from([1, 7, 1000]))
def test_sessions_are_measured_as_the_plain_reference_measures_them(parts, paper, batch):
    at, data = AT, b""
    for step, message, tagged in parts:
        at += step
        data += (ro.tag(at) if tagged else b"") + message
    recipe = Sessions(paper_mode=paper, min_moves=3, min_actions=2)
    found = reference.sessions(reference.parse(data, thesis_profile())[0])
    starts = [next((m["at"] for m in messages if m["at"] is not None), None) for messages in found]
    expected = [
        reference.features(messages, paper=paper, following=following, min_moves=3, min_actions=2)
        for messages, following in zip(found, [*starts[1:], None], strict=False)
    ]

    fold = recipe.fold()
    for piece in MessageFile(ro.Given(data), thesis_profile(), batch=batch).batches(fold.columns):
        fold.push(piece)
    rows = fold.sessions().with_columns(
        pl.col("since", "until").to_physical(), pl.col("actor", "character").cast(pl.Int64)
    )

    assert rows.height == len(expected)
    for row, other in zip(rows.to_dicts(), expected, strict=True):
        assert row.keys() == other.keys()
        for name, value in other.items():
            assert row[name] == (pytest.approx(value, rel=1e-12, abs=1e-12) if isinstance(value, float) else value), (
                name
            )


def test_every_mean_is_the_same_in_any_batch():
    draw = np.random.default_rng(3)
    timed = [(i * 0.3, ro.walk(*draw.integers(0, 400, 2).tolist())) for i in range(500)]

    assert measure(timed, batch=7).equals(measure(timed))
