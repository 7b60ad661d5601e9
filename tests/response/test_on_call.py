"""A human on call: windows like a bot before and after a test and like a person during it, and nothing less."""

from datetime import UTC, datetime, timedelta

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gamewarden.cases import LOST, PASSED, Challenge
from gamewarden.errors import TableError
from gamewarden.features.traffic.recipe import TrafficTest
from gamewarden.lab.world.sending import dice_for, packets_of
from gamewarden.lab.world.traffic import sender_like
from gamewarden.policy import ChallengeSettings
from gamewarden.response.on_call import call_backs, on_call
from gamewarden.tables import TIME, FramePackets

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
SETTINGS = ChallengeSettings()
TEST = 120  # seconds


def passed(at=NOW, *, actor="ann", state=PASSED, seconds=TEST):
    end = at + timedelta(seconds=seconds)
    return Challenge(f"{actor}{at}", actor, "s", "image", at, end, "", state, 1, end)


def windows(before, during, after, *, actor="ann", at=NOW):
    """Windows of 30 s that say bot (1), human (0) or nothing (None), around a test."""
    rows = []
    for votes, first in ((before, -30 * len(before)), (during, 0), (after, TEST)):
        for number, vote in enumerate(votes):
            since = at + timedelta(seconds=first + 30 * number)
            rows.append((actor, since, since + timedelta(seconds=30), None if vote is None else bool(vote)))
    return pl.DataFrame(rows, schema=["actor", "since", "until", "bot"], orient="row")


def seen(before, during, after, settings=SETTINGS):
    return [one.actor for one in on_call(settings, windows(before, during, after), [passed()])]


def test_who_is_a_bot_before_and_after_a_test_and_a_person_during_it_is_called():
    (found,) = on_call(SETTINGS, windows([1, 1, 1], [0, 0, 0], [1, 1, 1]), [passed()])

    assert (found.actor, found.before, found.during, found.after) == ("ann", 1.0, 0.0, 1.0)
    assert (found.windows, found.challenges) == ((3, 3, 3), 1)
    assert str(found) == (
        "100% of 3 windows before 1 passed challenges look like a bot, 0% of 3 during them, 100% of 3 after them"
    )


@pytest.mark.parametrize(
    ("before", "during", "after"),
    [
        ([1, 1], [0, 0, 0], [1, 1, 1]),
        ([1, 1, 1], [0, 0], [1, 1, 1]),
        ([1, 1, 1], [0, 0, 0], [1, 1]),
        ([1, 1, 1, None], [0, 0, None], [1, 1, 1]),
        ([1, 1, 1], [0, 0, 0], [0, 0, 0]),  # it was a person's turn
        ([0, 0, 0], [0, 0, 0], [1, 1, 1]),
        ([1, 1, 1], [1, 0, 1], [1, 1, 1]),
        ([1, 1, 0, 0], [0, 0, 0], [1, 1, 1, 1]),
    ],
)
def test_too_few_windows_or_one_side_alone_say_nothing(before, during, after):
    assert seen(before, during, after) == []


votes = st.lists(st.booleans(), min_size=3, max_size=4)


@given(votes, votes, votes, st.sampled_from([0.3, 0.6, 1.0]))
def test_the_rule_is_the_difference_on_both_sides(before, during, after, difference):
    shares = [sum(part) / len(part) for part in (before, during, after)]
    settings = ChallengeSettings(on_call_difference=difference)

    expected = shares[0] - shares[1] >= difference and shares[2] - shares[1] >= difference
    assert (seen(before, during, after, settings) == ["ann"]) == expected


@given(st.booleans(), st.integers(1, 60), st.integers(0, 4), st.integers(1, 60))
def test_who_is_the_same_throughout_is_never_called(bot, before, during, after):
    assert seen([bot] * before, [bot] * during, [bot] * after) == []


@given(votes, votes, votes, st.randoms())
def test_neither_the_order_of_windows_nor_other_actors_matter(before, during, after, chance):
    mine = windows(before, during, after)
    rows = [*mine.rows(), *windows([1] * 9, [0] * 4, [1] * 9, actor="bob").rows()]
    chance.shuffle(rows)
    shuffled = pl.DataFrame(rows, schema=mine.schema, orient="row")

    assert call_backs(SETTINGS, shuffled, [passed()]) == call_backs(SETTINGS, mine, [passed()])


def test_windows_of_several_short_tests_are_taken_together():
    several = [NOW + timedelta(hours=hour) for hour in range(3)]
    tests = [passed(at, seconds=35) for at in several]
    each = [windows([1, 1], [0], [], at=at) for at in several]
    after = [windows([], [], [1], at=at) for at in several]

    assert on_call(SETTINGS, pl.concat(each[:2] + after[:2]), tests[:2]) == ()
    assert [one.challenges for one in on_call(SETTINGS, pl.concat(each + after), tests)] == [3]


def test_what_lies_far_from_a_test_does_not_count():
    far = windows([1] * 9, [0, 0, 0], [1] * 9).filter(
        (pl.col("since") < NOW - timedelta(minutes=3)) | (pl.col("since") >= NOW)
    )
    near = ChallengeSettings(on_call_reach="2m")

    assert [one.actor for one in on_call(SETTINGS, far, [passed()])] == ["ann"]
    assert on_call(near, far, [passed()]) == ()


def test_only_tests_that_were_passed_tell_of_somebody_who_passed_them():
    assert on_call(SETTINGS, windows([1] * 3, [0] * 3, [1] * 3), [passed(state=LOST)]) == ()


def test_no_windows_and_no_tests_are_no_pattern():
    none = windows([], [], []).cast({"actor": pl.String, "bot": pl.Boolean, "since": TIME, "until": TIME})

    assert on_call(SETTINGS, none, [passed()]) == ()
    assert on_call(SETTINGS, windows([1] * 3, [0] * 3, [1] * 3), []) == ()


def test_a_table_without_times_is_refused():
    with pytest.raises(TableError, match="WINDOWS lacks since"):
        on_call(SETTINGS, pl.DataFrame({"actor": ["ann"], "until": [NOW], "bot": [True]}), [])


def packets(kind, number, tests):
    """An hour of packets per test of a person, a program, or a program with a person during tests."""
    persona = ("newbie", "casual", "grinder", "hard-core")[number % 4] if kind == "person" else "farmer"
    name, start = f"{kind}{number}", _micros(NOW) - 30 * 60 * 1_000_000
    sent = packets_of(sender_like(persona, name), start, 3600 * len(tests), dice_for(1, number))
    for place, test in enumerate(tests if kind == "called" else []):
        inside = (pl.col("at") >= test.issued) & (pl.col("at") < test.ended)
        person = packets_of(sender_like("casual", name), _micros(test.issued), TEST, dice_for(2, 100 * number + place))
        sent = pl.concat([sent.filter(~inside), person])
    return sent


def _micros(moment):
    return int(moment.timestamp()) * 1_000_000


def test_on_synthetic_packets_those_with_a_human_on_call_are_seen_and_no_person_is():
    crowd = [(kind, number) for kind in ("person", "program", "called") for number in range(40)]
    several = [NOW + timedelta(hours=hour) for hour in range(3)]
    tests = {f"{kind}{number}": [passed(at, actor=f"{kind}{number}") for at in several] for kind, number in crowd}
    sent = pl.concat([packets(kind, number, tests[f"{kind}{number}"]) for kind, number in crowd])
    measured = TrafficTest().measure(FramePackets(sent.sort("at", maintain_order=True)))
    found = on_call(SETTINGS, measured, [test for one in tests.values() for test in one])

    counts = {kind: sum(one.actor.startswith(kind) for one in found) for kind in ("person", "program", "called")}
    assert counts["person"] == 0
    assert counts["program"] <= 1
    assert counts["called"] >= 30
