"""What an account did in a day: its minutes, its sessions, its ways, its packets and its raw events."""

from datetime import timedelta

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import workspaces_made_up as made_up
from account_made_up import DAY, UNHEARD, WANDERER, desk_of, leaks, wandering
from gamewarden.desk.account_events import PAGE, events
from gamewarden.desk.account_movement import MOST_POINTS, movement, side_of, squares_of, thinned
from gamewarden.desk.account_series import series
from gamewarden.desk.account_sessions import sessions, sessions_in
from gamewarden.desk.account_traffic import traffic
from gamewarden.desk.day_events import DayEvents, events_of
from gamewarden.desk.peers import peers_of, people_on, usual_bot
from gamewarden.errors import ConfigError
from gamewarden.tables import EVENTS, check
from gamewarden.verdicts.prevalence import Prevalence
from gamewarden.workspace.asking import Answers
from upkeep_made_up import START


@pytest.fixture(scope="module")
def desk(tmp_path_factory):
    return desk_of(tmp_path_factory.mktemp("desk"))


@pytest.fixture(scope="module")
def verdicts(desk):
    return desk.workspace.judged(made_up.LATER).verdicts()


def seal_of(desk, day=DAY):
    return desk.workspace.verdicts.current()[f"day={day}"]


@pytest.mark.parametrize("actor", ["bot003", "human030", WANDERER])
def test_the_series_is_what_explain_measures(desk, actor):
    story = Answers(desk.workspace).explain(actor, None, Prevalence.of(desk.workspace.config))
    day = f"{story.measured['since'][0]:%Y-%m-%d}"

    shown = series(desk, actor, day)

    drawn = pl.DataFrame({"since": shown.windows.at, "cosine": shown.windows.values, "events": shown.events})
    assert_frame_equal(drawn, story.windows.select("since", "cosine", "events"), check_dtypes=False)
    assert shown.self_sim == pytest.approx(story.measured["self_sim"][0], abs=1e-12)


def test_an_account_is_shown_beside_people_who_were_called_human(desk):
    shown = series(desk, "bot003", DAY)

    assert shown.peers.known_as == "labelled"
    assert 5 <= len(shown.peers.actors) <= 20
    assert all(name.startswith("human") for name in shown.peers.actors)
    assert shown.band.low <= shown.band.middle <= shown.band.high
    assert shown.usual_bot.known_as == "labelled"


def test_nobody_stands_beside_themselves(desk):
    for name in series(desk, "bot003", DAY).peers.actors:
        assert name not in peers_of(desk, name, seal_of(desk)).actors


def test_without_labels_accounts_that_reach_no_point_stand_in(desk):
    labels = desk.workspace.labels_file
    kept = labels.read_text()
    try:
        labels.write_text("actor,bot\n")
        seal = seal_of(desk)
        peers = peers_of(desk, "bot003", seal)
        known = people_on(desk, seal).filter(pl.col("actor").is_in(peers.actors))

        assert peers.known_as == "unsuspected"
        assert set(known["point"]) == {"neither"}
        assert usual_bot(desk, seal) is None or usual_bot(desk, seal).known_as == "suspected"
    finally:
        labels.write_text(kept)


def test_a_blind_series_compares_nobody_with_bots(desk, verdicts):
    row = verdicts.filter(actor="bot003", since=START).row(0, named=True)

    shown = series(desk, "bot003", DAY, blind=True)

    assert (shown.usual_bot, shown.pulses) == (None, ())
    assert shown.windows.at
    assert shown.band
    assert leaks(shown, row) == []


def test_sessions_begin_and_end_where_somebody_logs_in_and_out():
    moments = [(0, "login"), (5, ""), (90, ""), (95, "logout"), (96, "login"), (97, "logout")]
    rows = [(START + timedelta(minutes=at), f"session.{kind}" if kind else "move") for at, kind in moments]
    frame = check(
        pl.DataFrame(rows, schema=["at", "kind"], orient="row").with_columns(actor=pl.lit("a")), EVENTS, "test"
    )

    found = sessions_in(DayEvents(frame, frozenset()))

    assert [(one.began, one.ended, one.minutes, one.events) for one in found] == [
        ("login", "silence", 5.0, 2),
        ("seen", "logout", 5.0, 2),
        ("login", "logout", 1.0, 2),
    ]


def around_midnight(*minutes, kind="move"):
    """Events so many minutes after the day began; those before 0 and from 1,440 on are other days'."""
    rows = [(START + timedelta(minutes=at), kind, "a") for at in minutes]
    return DayEvents(
        check(pl.DataFrame(rows, schema=["at", "kind", "actor"], orient="row"), EVENTS, "test"), frozenset()
    )


def test_a_session_that_is_cut_at_midnight_says_so():
    day = around_midnight(2, 12, 600, 1425)

    found = sessions_in(day, around_midnight(-28, -5), around_midnight(1441, 1460))

    assert [(one.began, one.ended, one.minutes, one.events) for one in found] == [
        ("before", "silence", 10.0, 2),
        ("seen", "silence", 0.0, 1),
        ("seen", "after", 0.0, 1),
    ]


def test_a_session_that_ended_before_midnight_does_not_go_on_after_it():
    day, left = around_midnight(2, 1425), around_midnight(-5, kind="session.logout")

    found = sessions_in(day, left, around_midnight(1441, kind="session.login"))

    assert [(one.began, one.ended) for one in found] == [("seen", "silence")] * 2


def test_two_characters_at_once_are_two_sessions():
    rows = [(START + timedelta(minutes=at), "move", f"c{at % 2}") for at in range(10)]
    frame = pl.DataFrame(rows, schema=["at", "kind", "character"], orient="row").with_columns(actor=pl.lit("a"))

    found = sessions_in(DayEvents(check(frame, EVENTS, "test"), frozenset()))

    assert [(one.characters, one.events, one.minutes) for one in found] == [(("c0",), 5, 8.0), (("c1",), 5, 8.0)]


def test_sessions_without_logins_are_told_by_silence(desk):
    shown = sessions(desk, WANDERER, DAY, whole_addresses=True)

    assert not shown.told
    assert [(one.began, one.ended) for one in shown.sessions] == [("seen", "silence")] * 2
    assert [one.zones for one in shown.sessions] == [("<b>swamp</b>",), ("hill",)]
    assert [one.addresses for one in shown.sessions] == [("10.0.0.1",), ("10.0.0.2",)]
    assert shown.addresses == ("10.0.0.1", "10.0.0.2")
    assert sessions(desk, "human030", DAY).sessions[0].addresses == ()


def test_addresses_are_shortened_for_whoever_may_not_decide_and_are_as_many(desk):
    shown, page = sessions(desk, WANDERER, DAY), events(desk, WANDERER, DAY)

    assert shown.addresses == ("10.0.…", "10.0.…")
    assert [one.addresses for one in shown.sessions] == [("10.0.…",), ("10.0.…",)]
    assert {row["ip"] for row in page.rows} == {"10.0.…"}
    whole = events(desk, WANDERER, DAY, whole_addresses=True)
    assert {row["ip"] for row in whole.rows} <= {"10.0.0.1", "10.0.0.2"}


def test_a_way_is_drawn_in_the_zone_that_is_asked_for(desk):
    first, other = movement(desk, WANDERER, DAY), movement(desk, WANDERER, DAY, "hill")

    assert {one.zone for one in first.zones} == {"<b>swamp</b>", "hill"}
    assert (first.positions, other.positions) == (50, 50)
    assert set(other.y) == {5.0}
    assert sum(one.visits for one in other.squares) == 50
    assert sum(one.events for one in other.crowd) == 50
    assert other.revisited == pytest.approx((50 - 7) / 50)


def test_it_is_said_why_there_is_no_way(desk):
    assert movement(desk, "human030", DAY).missing == "account"
    assert movement(desk, WANDERER, DAY, "nowhere").missing == "zone"


def test_a_long_way_is_thinned_and_keeps_its_ends():
    way = pl.DataFrame({"x": range(10_000), "y": range(10_000)})

    kept = thinned(way)

    assert kept.height == MOST_POINTS
    assert (kept["x"][0], kept["x"][-1]) == (0, 9_999)
    assert thinned(way.head(5)).height == 5


def test_squares_of_any_zone_are_few():
    for wide in (0.0, 1e-3, 7.0, 1e6, 3e9):
        places = pl.DataFrame({"x": [0.0, wide], "y": [0.0, 0.0]})
        side = side_of(places)

        assert wide / side <= 40
        assert 1 <= len(squares_of(places, side)) <= 2
    assert side_of(pl.DataFrame(schema={"x": pl.Float32, "y": pl.Float32})) is None


def test_packet_windows_stand_beside_those_of_people(desk):
    shown = traffic(desk, "bot001", DAY)

    assert len(shown.windows) == 3
    assert {one.packets for one in shown.windows} == {100}
    assert all(one.votes.keys() >= {"interarrival", "lengths"} for one in shown.windows)
    assert shown.peers_numbers["gaps_over_1"] is not None


def test_no_vote_of_a_packet_test_is_shown_to_the_blind(desk):
    shown = traffic(desk, "bot001", DAY, blind=True)

    assert {(one.votes, one.bot) for one in shown.windows} == {(None, None)}
    assert (shown.bot_share, shown.peers_share) == (None, None)


def test_it_is_said_that_no_packets_were_caught(desk):
    assert traffic(desk, UNHEARD, DAY).missing == "account"


def test_raw_events_come_a_page_at_a_time_and_each_once(desk):
    seen, after = [], None
    while True:
        page = events(desk, WANDERER, DAY, after=after)
        seen += [row["at"] for row in page.rows]
        assert page.shown <= PAGE
        after = page.next
        if after is None:
            break

    assert seen == sorted(wandering()["at"])
    assert page.of == len(seen)
    assert len(seen) > PAGE


def test_events_of_one_hour_and_kind_are_found(desk):
    page = events(desk, WANDERER, DAY, hour=2, kind="trade.give")

    assert page.of == 5
    assert {row["at"].hour for row in page.rows} == {2}
    assert set(page.columns) == {"at", "kind", "zone", "amount", "other", "ip"}
    assert [one.number for one in page.hours if one.events] == [2, 5]


def test_events_at_the_same_moment_are_neither_lost_nor_shown_twice(desk, monkeypatch):
    monkeypatch.setattr("gamewarden.desk.account_events.PAGE", 3)
    seen, after = [], None
    while True:
        page = events(desk, "bot003", DAY, hour=1, after=after)
        seen += [tuple(row.items()) for row in page.rows]
        after = page.next
        if after is None:
            break

    assert len(seen) == page.of


@pytest.mark.parametrize("after", ["x", "1.2", "1.2.3.4", "9" * 40 + ".1.1", ".."])
def test_a_place_that_no_page_gave_is_refused(desk, after):
    with pytest.raises(ConfigError, match="take `next` of a page"):
        events(desk, WANDERER, DAY, after=after)


def refuses(*_):
    raise AssertionError("it was read again")


def test_the_events_of_an_account_are_read_once_for_all_that_shows_them(desk, monkeypatch):
    sessions(desk, "human031", DAY)
    monkeypatch.setattr("gamewarden.desk.day_events._read", refuses)

    series(desk, "human031", DAY)
    movement(desk, "human031", DAY)
    events(desk, "human031", DAY)


def test_only_so_many_events_are_held(desk, monkeypatch):
    monkeypatch.setattr("gamewarden.desk.day_events.MOST_ROWS", 10)

    found = events_of(desk, "human032", START, START.replace(day=3))

    assert found.cut
    assert found.frame.height == 10
