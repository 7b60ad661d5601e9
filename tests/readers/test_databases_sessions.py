"""Sessions told from log-ins and silence."""

from datetime import UTC, datetime, timedelta

import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from gamewarden.core.durations import MINUTE, to_micros
from gamewarden.readers.databases.sessions import with_sessions
from gamewarden.tables import EVENTS

START = datetime(2026, 3, 1, 12, tzinfo=UTC)


def events(*rows):
    """Rows of minutes, actor and kind."""
    frame = pl.DataFrame(
        [(actor, START + timedelta(minutes=minute), kind, None) for minute, actor, kind in rows],
        schema={"actor": pl.String, "at": EVENTS.columns["at"], "kind": pl.String, "character": pl.String},
        orient="row",
    )
    return frame.sort("at")


def told(frame):
    """Rows of minutes, actor, kind and in which of the actor's sessions, by the minute it began."""
    begun = pl.col("session").str.extract(r"-(\d+)$").cast(pl.Int64) - int(START.timestamp())
    minutes = (pl.col("at") - START).dt.total_minutes()
    return frame.select(minutes, "actor", "kind", begun // 60).rows()


def at(minute):
    return to_micros(START) + minute * MINUTE


def test_a_log_in_begins_a_session_and_half_an_hour_of_silence_ends_it_at_the_last_event():
    frame, playing = with_sessions(events((0, "a", "session.login"), (5, "a", "chat")), {}, at(36))

    assert told(frame) == [(0, "a", "session.login", 0), (5, "a", "chat", 0), (5, "a", "session.logout", 0)]
    assert playing == {}


def test_who_may_still_be_playing_is_remembered_and_not_logged_out():
    frame, playing = with_sessions(events((0, "a", "session.login"), (5, "a", "chat")), {}, at(35))

    assert told(frame) == [(0, "a", "session.login", 0), (5, "a", "chat", 0)]
    assert playing == {"a": (f"a-{int(START.timestamp())}", at(5))}


def test_a_remembered_session_goes_on_and_ends():
    _, playing = with_sessions(events((0, "a", "session.login")), {}, at(1))
    frame, playing = with_sessions(events((20, "a", "chat")), playing, at(21))

    assert told(frame) == [(20, "a", "chat", 0)]

    frame, playing = with_sessions(events(), playing, at(60))

    assert told(frame) == [(20, "a", "session.logout", 0)]
    assert playing == {}


def test_a_session_that_began_without_a_log_in_gets_one_at_its_first_event():
    frame, _ = with_sessions(events((0, "a", "chat"), (31, "a", "chat")), {}, at(31))

    assert told(frame) == [
        (0, "a", "session.login", 0),
        (0, "a", "chat", 0),
        (0, "a", "session.logout", 0),
        (31, "a", "session.login", 31),
        (31, "a", "chat", 31),
    ]


def test_choosing_a_character_just_after_the_log_in_begins_no_second_session():
    first = ((0, "a", "session.login"), (1, "a", "character.select"), (7, "a", "character.select"))
    frame, _ = with_sessions(events(*first), {}, at(8))

    assert [row for row in told(frame) if row[2] == "session.login"] == [
        (0, "a", "session.login", 0),
        (7, "a", "session.login", 7),
    ]


def test_what_comes_late_is_in_no_session_and_begins_none():
    _, playing = with_sessions(events((0, "a", "session.login"), (20, "a", "chat")), {}, at(21))
    frame, playing = with_sessions(events((10, "a", "session.login"), (22, "a", "chat")), playing, at(23))

    assert told(frame) == [(10, "a", "session.login", None), (22, "a", "chat", 0)]


MOVES = st.lists(
    st.tuples(
        st.integers(0, 200), st.sampled_from("ab"), st.sampled_from(["chat", "session.login", "character.select"])
    ),
    max_size=30,
)


@given(MOVES, st.lists(st.integers(0, 200), max_size=3))
def test_sessions_are_the_same_in_one_piece_and_in_several(moves, cuts):
    whole, playing = with_sessions(events(*moves), {}, at(300))
    parts, carried = [], {}
    for low, high in zip([0, *sorted(cuts)], [*sorted(cuts), 300], strict=True):
        some = [row for row in moves if low <= row[0] < high]
        part, carried = with_sessions(events(*some), carried, at(high))
        parts.append(part)

    assert sorted(told(pl.concat(parts, how="diagonal_relaxed")), key=str) == sorted(told(whole), key=str)
    assert playing == carried == {}
    logins, logouts = (whole.filter(pl.col("kind") == f"session.{one}")["session"] for one in ("login", "logout"))
    assert sorted(logouts) == sorted(set(logins))
