import math
import random
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import fields, replace
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace

import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gamewarden.contracts import canonical_json, sight_of
from gamewarden.core.durations import DAY, HOUR, MINUTE, SECOND
from gamewarden.errors import MeasureError, TableError
from gamewarden.features import load
from gamewarden.features.actions.recipe import Actions
from gamewarden.features.disorder import LateRows
from gamewarden.features.folding import feed, folded
from gamewarden.features.self_similarity.recipe import SelfSimilarity
from gamewarden.features.self_similarity.stream import SimilarityFold
from gamewarden.streams import PlainEvents
from gamewarden.tables import EVENTS, FrameEvents, check
from self_similarity_reference import measured

DAY_ONE = datetime(2024, 3, 30, tzinfo=UTC)  # the clocks of Europe jump on the 31st
COLUMNS = [
    *("actor", "since", "until", "events", "windows", "self_sim"),
    *("cosim_count", "cosim_uniq_count", "cosim_zero_count", "cosim_mode", "total_log_count"),
    *("main_char_level", "total_use_time_min", "npc_kill_count", "trade_get_count", "trade_give_count"),
    *("retrieve_count", "deposit_count", "log_count_per_min"),
]


class Batches(PlainEvents):
    """Events in batches of any size, as a reader may give them: texts plain or on dictionaries."""

    def __init__(self, frame: pl.DataFrame, size: int, *, on_dictionary: bool = False) -> None:
        frame = check(frame, EVENTS, "test")
        self.columns = frozenset(name for name in frame.columns if frame[name].null_count() < frame.height)
        self._arrow = frame.to_arrow(compat_level=pl.CompatLevel.oldest())
        self._size, self._on_dictionary = size, on_dictionary

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        for batch in self._arrow.select(columns).to_batches(max_chunksize=self._size):
            yield pa.record_batch([self._text(column) for column in batch.columns], names=list(columns))

    def _text(self, column: pa.Array) -> pa.Array:
        if not pa.types.is_large_string(column.type):
            return column
        text = column.cast(pa.string())
        if not self._on_dictionary:
            return text
        encoded = text.dictionary_encode()
        unseen = pa.concat_arrays([pa.array(["nobody has this"]), encoded.dictionary])
        shifted = pa.array([None if index is None else index + 1 for index in encoded.indices.to_pylist()], pa.int32())
        return pa.DictionaryArray.from_arrays(shifted, unseen)


def log(*rows, **columns) -> pl.DataFrame:
    """(actor, seconds since the first day began, kind), and whole columns by name."""
    frame = pl.DataFrame(
        {
            "actor": [row[0] for row in rows],
            "at": [DAY_ONE + timedelta(seconds=row[1]) for row in rows],
            "kind": [row[2] for row in rows],
            **columns,
        }
    )
    return check(frame, EVENTS, "test")


def vectors(*windows: Sequence[int]) -> pl.DataFrame:
    """A log of one actor whose minutes hold these counts of the kinds k0, k1, …"""
    return log(
        *(
            ("a", 60 * minute + kind, f"k{kind}")
            for minute, counts in enumerate(windows)
            for kind, count in enumerate(counts)
            for _ in range(count)
        )
    )


def only_row(frame: pl.DataFrame, recipe: SelfSimilarity) -> dict:
    (row,) = recipe.measure(FrameEvents(frame)).to_dicts()
    return row


# The published values (algorithms §7, "Lee", and the worked example of §2.5).


def test_the_figure_of_the_paper_has_its_cosines_and_self_similarity():
    frame = vectors((0, 1, 1, 3), (2, 1, 1, 1), (0, 1, 1, 1), (0, 0, 0, 1))
    recipe = SelfSimilarity(min_windows=1)

    shown = recipe.windows(FrameEvents(frame), "a")

    assert shown["cosine"].to_list() == pytest.approx([0.753778, 0.944911, 0.866025, 0.5], abs=1e-6)
    assert only_row(frame, recipe)["self_sim"] == pytest.approx(0.915991, abs=1e-6)
    assert only_row(frame, replace(recipe, ddof=1))["self_sim"] == pytest.approx(0.902995, abs=1e-6)


def test_the_three_vectors_of_the_slides_have_their_cosines_and_self_similarity():
    frame = vectors((5, 3), (2, 1), (3, 2))
    recipe = SelfSimilarity(min_windows=1)

    shown = recipe.windows(FrameEvents(frame), "a")

    assert shown["cosine"].to_list() == pytest.approx([0.970143, 0.948683, 0.980581], abs=1e-6)
    assert only_row(frame, recipe)["self_sim"] == pytest.approx(0.9933607, abs=1e-7)


def test_the_worked_example_of_a_reader_of_the_paper_comes_out():
    frame = vectors((1, 2, 0), (0, 0, 0), (3, 0, 0), (3, 0, 0))
    recipe = SelfSimilarity(min_windows=1, vocabulary=("k0", "k1", "k2"))

    shown = recipe.windows(FrameEvents(frame), "a")
    row = only_row(frame, recipe)

    assert shown["cosine"].to_list() == pytest.approx([0.775, 0, 0.577, 0.577], abs=5e-4)
    assert row["self_sim"] == pytest.approx(0.8551, abs=5e-5)
    assert [row[name] for name in COLUMNS if name.startswith("cosim")] == [3, 2, 1, 2]
    assert row["total_log_count"] == 9


def test_one_window_is_too_little_to_speak_of():
    row = only_row(vectors((3, 1)), SelfSimilarity())

    assert (row["windows"], row["self_sim"], row["cosim_count"]) == (1, None, 1)


def test_a_sample_deviation_of_one_window_is_not_measured():
    assert only_row(vectors((3, 1)), SelfSimilarity(min_windows=1))["self_sim"] == 1
    assert only_row(vectors((3, 1)), SelfSimilarity(min_windows=1, ddof=1))["self_sim"] is None


# The contract of the output, rule by rule.


def test_the_columns_are_those_of_the_issue_in_order():
    frame = SelfSimilarity().measure(FrameEvents(vectors((1, 2))))

    assert frame.columns == COLUMNS
    assert list(SelfSimilarity().names) == COLUMNS[4:]
    assert frame["since"].dtype == frame["until"].dtype == pl.Datetime("us", "UTC")


def test_an_empty_source_has_an_empty_table_with_all_columns():
    assert SelfSimilarity().measure(FrameEvents(log())).columns == COLUMNS


def test_min_windows_counts_empty_windows_too():
    frame = log(("a", 0, "x"), ("a", 29 * 60, "x"))

    assert only_row(frame, SelfSimilarity(min_windows=30))["self_sim"] is not None
    assert only_row(frame, SelfSimilarity(min_windows=31))["self_sim"] is None
    assert only_row(frame, SelfSimilarity(min_windows=30, empty="active"))["self_sim"] is None


def test_events_and_windows_that_hold_one_are_asked_for_beside_windows():
    frame = log(("a", 0, "session.login"), ("a", 35 * 60, "session.login"))
    busy = log(*(("b", 60 * minute, "x") for minute in range(36)))

    gated = SelfSimilarity(min_events=30, min_active=10)

    assert only_row(frame, SelfSimilarity())["self_sim"] is not None
    assert only_row(frame, gated)["self_sim"] is None
    assert only_row(frame, SelfSimilarity(min_active=10))["self_sim"] is None
    assert only_row(busy, gated)["self_sim"] is not None


def test_events_thirty_minutes_apart_fill_the_windows_between_and_a_microsecond_more_does_not():
    near = log(("a", 0, "x"), ("a", 1800, "x"))
    far = near.with_columns(
        pl.when(pl.col("at") > DAY_ONE).then(pl.col("at").dt.offset_by("1us")).otherwise("at").alias("at")
    )

    assert only_row(near, SelfSimilarity(empty="gap"))["cosim_zero_count"] == 29
    assert only_row(far, SelfSimilarity(empty="gap"))["cosim_zero_count"] == 0
    assert only_row(near, SelfSimilarity())["total_use_time_min"] == 30
    assert only_row(far, SelfSimilarity())["total_use_time_min"] == 0
    assert only_row(far, SelfSimilarity())["log_count_per_min"] is None


def test_silences_inside_a_long_window_end_a_run_of_activity():
    frame = log(("a", 0, "x"), ("a", 60, "x"), ("a", 3000, "x"), ("a", 3060, "x"))

    assert only_row(frame, SelfSimilarity(unit=HOUR))["total_use_time_min"] == 2
    assert only_row(frame.reverse(), SelfSimilarity(unit=HOUR))["total_use_time_min"] == 2


def test_a_session_fills_its_windows_whatever_the_silence():
    frame = log(("a", 0, "session.login"), ("a", 7200, "session.logout"))

    assert only_row(frame, SelfSimilarity())["windows"] == 121
    assert only_row(frame, SelfSimilarity(empty="gap"))["windows"] == 2
    assert only_row(frame, SelfSimilarity(empty="gap"))["total_use_time_min"] == 120


def test_a_logout_alone_means_online_since_the_period_began():
    row = only_row(log(("a", 600, "session.logout")), SelfSimilarity())

    assert (row["windows"], row["total_use_time_min"]) == (11, 10)


def test_a_login_alone_means_online_until_the_last_event():
    row = only_row(log(("a", 600, "session.login"), ("a", 4200, "x"), ("b", 9000, "x")).head(2), SelfSimilarity())

    assert (row["windows"], row["total_use_time_min"]) == (61, 60)


def test_a_second_logout_adds_nothing_and_a_second_login_joins_the_first():
    frame = log(
        *(("a", at, f"session.{what}") for at, what in ((0, "login"), (60, "login"), (120, "logout"), (600, "logout")))
    )

    assert only_row(frame, SelfSimilarity())["total_use_time_min"] == 2


def test_sessions_pair_by_session_then_character_then_actor():
    frame = log(
        ("a", 0, "session.login"),
        ("a", 60, "session.login"),
        ("a", 120, "session.logout"),
        ("a", 600, "session.logout"),
        session=["s", None, None, "s"],
        character=["one", "two", "two", "two"],
    )

    assert only_row(frame, SelfSimilarity())["total_use_time_min"] == 10
    assert (
        only_row(frame.with_columns(pl.lit(None, pl.String).alias("session")), SelfSimilarity())["total_use_time_min"]
        == 10
    )  # login of "one" to the last event; "two" inside it


def test_a_session_and_a_character_of_the_same_name_are_not_the_same():
    frame = log(
        ("a", 0, "session.login"),
        ("a", 600, "session.logout"),
        ("a", 1200, "x"),
        session=["1", None, None],
        character=["2", "1", "1"],
    )

    assert only_row(frame, SelfSimilarity())["total_use_time_min"] == 20


def test_any_kind_of_session_event_is_a_session_event_but_only_logins_and_logouts_pair():
    frame = log(("a", 0, "session.heartbeat"), ("a", 600, "x"))
    row = only_row(frame, SelfSimilarity())

    assert (row["windows"], row["total_use_time_min"], row["log_count_per_min"]) == (2, 0, None)


def test_a_period_stands_alone_even_when_a_session_goes_on():
    frame = log(("a", DAY // SECOND - 60, "session.login"), ("a", DAY // SECOND + 60, "session.logout"))

    rows = SelfSimilarity().measure(FrameEvents(frame))

    assert rows["total_use_time_min"].to_list() == [0, 1]
    assert rows["since"].to_list() == [DAY_ONE, DAY_ONE + timedelta(days=1)]
    assert rows["until"].to_list() == [DAY_ONE + timedelta(days=1), DAY_ONE + timedelta(days=2)]


def test_a_role_is_zero_when_the_vocabulary_has_it_and_null_when_not():
    frame = log(("a", 0, "trade.give"), ("b", 0, "combat.kill"))

    given = SelfSimilarity(vocabulary=("trade.give", "storage.deposit")).measure(FrameEvents(frame))
    learned = SelfSimilarity().measure(FrameEvents(frame))

    assert given["trade_give_count"].to_list() == [1, 0]
    assert given["deposit_count"].to_list() == [0, 0]
    assert given["npc_kill_count"].to_list() == [None, None]
    assert learned["npc_kill_count"].to_list() == [0, 1]
    assert learned["deposit_count"].to_list() == [None, None]


def test_unknown_kinds_share_one_column_that_is_not_in_m():
    frame = log(("a", 0, "x"), ("a", 1, "new"), ("a", 2, "newer"))
    recipe = SelfSimilarity(vocabulary=("x", "y"))

    shown = recipe.windows(FrameEvents(frame), "a")
    _, usage = rows_and_usage(recipe, FrameEvents(frame))

    assert shown["cosine"].to_list() == pytest.approx([3 / math.sqrt(5) / math.sqrt(2)])
    assert shown["top_kind"].to_list() == ["OTHER"]
    assert (usage.other, usage.other_kinds) == (2, ("new", "newer"))


def test_a_cosine_never_passes_one():
    frame = log(*(("a", 0, kind) for kind in "xyz"))

    assert SelfSimilarity(vocabulary=("x",)).windows(FrameEvents(frame), "a")["cosine"].to_list() == [1]


def test_the_main_character_has_most_events_and_ties_go_to_the_smallest_id():
    kinds = [("a", second, "x") for second in range(6)]

    def level(characters, levels):
        return only_row(log(*kinds[: len(levels)], character=characters, level=levels), SelfSimilarity())[
            "main_char_level"
        ]

    assert level(["c1", "c2", "c2", "c1", "c2"], [1, 20, 21, 2, None]) == 21
    assert level(["c10", "c2", "c10", "c2"], [1, 2, 3, 4]) == 3
    assert level(["c10", "c2", None, None, None], [1, 2, 3, 4, 5]) == 1
    assert level([None, None, None], [1, 2, None]) == 2
    assert level(["c1", "c1"], [None, None]) is None


def test_the_last_level_among_equal_times_is_the_one_with_the_highest_seq():
    rows = [("a", 0, "x")] * 3

    assert only_row(log(*rows, level=[1, 2, 3], seq=[2, 3, 1]), SelfSimilarity())["main_char_level"] == 2
    assert only_row(log(*rows, level=[1, 2, 3]), SelfSimilarity())["main_char_level"] == 3


def test_a_character_keeps_its_last_level_when_another_one_plays_between():
    rows = [("a", at, "x") for at in (0, 50, 20, 10)]  # late rows inside a minute

    frame = log(*rows, character=["c", "c", "d", "c"], level=[1, 3, 9, 2])

    assert only_row(frame, SelfSimilarity())["main_char_level"] == 3


def test_without_characters_a_row_cannot_be_measured_by_character_and_is_counted():
    frame = log(("a", 0, "x"), ("a", 1, "x"), character=["c", None])

    rows, usage = rows_and_usage(SelfSimilarity(by="character"), FrameEvents(frame))

    assert (rows["actor"].to_list(), usage.nameless) == (["c"], 1)
    assert SelfSimilarity(by="character").measure(FrameEvents(log(("a", 0, "x")))).is_empty()


def test_days_of_a_zone_begin_at_its_midnight_and_may_have_23_hours():
    frame = log(("a", 0, "x"), ("a", DAY // SECOND, "x"), ("a", 2 * DAY // SECOND, "x"))

    rows = SelfSimilarity(time_zone="Europe/Berlin").measure(FrameEvents(frame))

    assert rows["since"].dt.hour().to_list() == [23, 23, 22]
    assert (rows["until"] - rows["since"]).dt.total_hours().to_list() == [24, 23, 24]


def test_an_hour_that_a_clock_repeats_belongs_to_the_period_that_was_running():
    autumn = datetime(2024, 10, 27, tzinfo=UTC)  # 01:00 UTC: the clock of Berlin goes from 03:00 back to 02:00
    frame = log(*(("a", 0, "x") for _ in range(4))).with_columns(
        pl.Series("at", [autumn + timedelta(minutes=30 + 60 * hour) for hour in range(4)], EVENTS.columns["at"])
    )

    rows = SelfSimilarity(time_zone="Europe/Berlin", every=HOUR).measure(FrameEvents(frame))

    assert rows["since"].dt.hour().to_list() == [0, 2, 3]
    assert rows["until"].dt.hour().to_list() == [2, 3, 4]
    assert rows["events"].to_list() == [2, 1, 1]


def test_half_hours_that_a_clock_repeats_all_belong_to_the_last_one_before_it_went_back():
    autumn = datetime(2024, 10, 27, tzinfo=UTC)
    halves = [("a", half) for half in range(5)] + [("b", 2)]
    frame = log(*((actor, 0, "x") for actor, _ in halves)).with_columns(
        pl.Series("at", [autumn + timedelta(minutes=15 + 30 * half) for _, half in halves], EVENTS.columns["at"])
    )

    rows = SelfSimilarity(time_zone="Europe/Berlin", every=30 * MINUTE).measure(FrameEvents(frame))

    assert [moment.strftime("%H:%M") for moment in rows["since"]] == ["00:00", "00:30", "02:00", "00:30"]
    assert rows["events"].to_list() == [1, 3, 1, 1]


def test_a_border_that_a_clock_leaves_out_is_the_moment_of_the_jump():
    frame = log(*(("a", DAY // SECOND + 1800 * half, "x") for half in range(4)))  # the jump is after two halves

    rows = SelfSimilarity(time_zone="Europe/Berlin", every=30 * MINUTE).measure(FrameEvents(frame))

    assert [moment.strftime("%H:%M") for moment in rows["since"]] == ["00:00", "00:30", "01:00", "01:30"]
    assert [moment.strftime("%H:%M") for moment in rows["until"]] == ["00:30", "01:00", "01:30", "02:00"]


def test_times_before_1970_have_their_periods_too():
    frame = log(("a", 0, "x")).with_columns(pl.lit(datetime(1969, 12, 31, 23, tzinfo=UTC)).alias("at"))

    assert only_row(frame, SelfSimilarity())["since"] == datetime(1969, 12, 31, tzinfo=UTC)


def test_a_missing_actor_is_refused_with_a_line_that_says_where():
    frame = log(("a", 0, "x"), ("b", 1, "x"))
    stream = FrameEvents(frame)
    stream.frame = frame.with_columns(pl.lit(None, pl.String).alias("actor"))

    with pytest.raises(TableError, match=r"EVENTS.actor is null in 2 of 2 rows"):
        SelfSimilarity().measure(stream)


# The kernel against the plain reference.

KINDS = ("combat.kill", "move", "trade.give", "session.login", "session.logout", "session.ping", "chat", "loot.pickup")
TEXT = st.sampled_from((None, "1", "2", "10"))


@st.composite
def moments(draw) -> datetime:
    """Times that tie, cluster into minutes, and straddle midnights."""
    day = draw(st.integers(0, 2))
    minute = draw(st.one_of(st.integers(0, 40), st.integers(1400, 1439), st.integers(0, 1439)))
    return DAY_ONE + timedelta(days=day, minutes=minute, seconds=draw(st.sampled_from((0, 0, 30, 59))))


EVENT = st.fixed_dictionaries(
    {
        "actor": st.sampled_from(("a", "b", "ä", "a\U0001f600")),
        "character": TEXT,
        "at": moments(),
        "kind": st.sampled_from(KINDS),
        "level": st.one_of(st.none(), st.integers(1, 60)),
        "session": TEXT,
    }
)


@st.composite
def logs(draw) -> list[dict]:
    events = draw(st.lists(EVENT, min_size=1, max_size=60))
    if draw(st.booleans()):
        events.sort(key=lambda event: event["at"])
    seqs = draw(
        st.sampled_from(
            (
                lambda _: None,
                lambda place: place,
                lambda place: place // 2,
                lambda place: place * 7 % 11,
                lambda place: None if place % 3 else place % 5,
                lambda place: (place * 7 % 11 - 5) << 60,
            )
        )
    )
    blank = draw(st.sets(st.sampled_from(("character", "level", "session"))))
    return [{**event, **dict.fromkeys(blank), "seq": seqs(place)} for place, event in enumerate(events)]


RECIPES = st.builds(
    SelfSimilarity,
    unit=st.sampled_from((20 * SECOND, MINUTE, 10 * MINUTE, 30 * MINUTE, HOUR, 12 * HOUR)),
    every=st.sampled_from((DAY, 2 * DAY)),
    empty=st.sampled_from(("online", "gap", "active")),
    ddof=st.sampled_from((0, 1)),
    min_windows=st.sampled_from((1, 3, 30)),
    by=st.sampled_from(("account", "character")),
    time_zone=st.sampled_from((None, "UTC", "Europe/Berlin", "Asia/Kathmandu", "America/Caracas")),
    vocabulary=st.sampled_from((None, None, KINDS[:2], (*KINDS, "storage.deposit"))),
)


def rows_and_usage(recipe, stream):
    found = folded(recipe, stream)
    return found.frame, found.notes


def to_frame(events: list[dict]) -> pl.DataFrame:
    schema = {name: EVENTS.columns[name] for name in events[0]}
    return pl.DataFrame([[event[name] for event in events] for name in schema], schema=schema)


def assert_same_rows(ours: list[dict], theirs: list[dict]) -> None:
    assert len(ours) == len(theirs)
    for our, their in zip(ours, theirs, strict=True):
        for name in COLUMNS:
            expected = (
                pytest.approx(their[name], abs=1e-12, rel=1e-12) if isinstance(their[name], float) else their[name]
            )
            assert our[name] == expected, name


def as_the_reference(recipe: SelfSimilarity, events: list[dict]) -> list[dict]:
    return measured(
        events,
        unit=timedelta(microseconds=recipe.unit),
        every=timedelta(microseconds=recipe.every),
        empty=recipe.empty,
        ddof=recipe.ddof,
        min_windows=recipe.min_windows,
        by=recipe.by,
        time_zone=recipe.time_zone,
        vocabulary=set(recipe.vocabulary or {event["kind"] for event in events}),
    )


@given(
    events=logs(),
    recipe=RECIPES,
    size=st.sampled_from((1, 3, 7, 1000)),
    on_dictionary=st.booleans(),
    room=st.fixed_dictionaries(
        {"kinds_a_player": st.sampled_from((1, 2, 16)), "budget": st.sampled_from((1, 700, 1 << 28))}
    ),
)
def test_the_kernel_agrees_with_the_plain_reference(events, recipe, size, on_dictionary, room):
    stream = Batches(to_frame(events), size, on_dictionary=on_dictionary)

    fold = SimilarityFold(recipe, sight_of("events", stream), **room)
    feed(fold, stream)

    assert_same_rows(fold.frame().to_dicts(), as_the_reference(recipe, events))


def busy_log(seed: int, *, actors: int, rows: int, kinds: int) -> list[dict]:
    """A synthetic log in which minutes have many kinds and periods many windows, mostly in order."""
    chance = random.Random(seed)  # noqa: S311 - not a secret
    at = DAY_ONE
    events = []
    for place in range(rows):
        at += timedelta(microseconds=chance.randrange(4_000_000))
        late = timedelta(seconds=chance.randrange(90)) if chance.random() < 0.002 else timedelta()
        kind = chance.choice(KINDS) if chance.random() < 0.1 else f"kind {chance.randrange(kinds)}"
        events.append(
            {
                "actor": f"account-{chance.randrange(actors) ** 2}",
                "character": chance.choice((None, "x", "y")),
                "at": at - late,
                "kind": kind,
                "level": chance.choice((None, 10, 11)),
                "session": chance.choice((None, "s", "t")),
                "seq": place,
            }
        )
    return events


@pytest.mark.parametrize("empty", ["online", "gap", "active"])
def test_a_busy_log_with_late_rows_and_many_kinds_a_minute_agrees_with_the_reference(empty):
    events = busy_log(7, actors=12, rows=40_000, kinds=300)
    recipe = SelfSimilarity(empty=empty, unit=10 * MINUTE, every=2 * HOUR, min_windows=1)

    rows, usage = rows_and_usage(recipe, Batches(to_frame(events), 9_999))

    assert_same_rows(rows.to_dicts(), as_the_reference(recipe, events))
    assert usage.disordered > 0


def test_a_row_is_the_same_to_the_bit_alone_and_in_a_crowd_whatever_the_batches():
    frame = to_frame(busy_log(8, actors=30, rows=20_000, kinds=40))
    recipe = SelfSimilarity(unit=MINUTE, every=HOUR, min_windows=1).learn(FrameEvents(frame))

    crowd = recipe.measure(FrameEvents(frame))
    alone = [recipe.measure(Batches(part, 77, on_dictionary=True)) for part in frame.partition_by("actor")]
    shuffled = recipe.measure(FrameEvents(frame.sample(fraction=1, shuffle=True, seed=3)))

    assert pl.concat(alone).sort("actor", "since").equals(crowd)
    assert shuffled.equals(crowd)


def test_many_actors_and_names_fit_whatever_their_number():
    rows = [(f"player {number:x}", number % 7, f"kind {number % 5_000}") for number in range(70_000)]

    frame = SelfSimilarity(min_windows=1).measure(FrameEvents(log(*rows), batch=50_000))

    assert frame.height == 70_000
    assert frame["events"].sum() == 70_000
    assert frame["actor"].to_list() == sorted(f"player {number:x}" for number in range(70_000))


@given(events=logs(), recipe=RECIPES)
def test_the_windows_shown_of_an_actor_are_those_that_were_measured(events, recipe):
    stream = Batches(to_frame(events), 7)
    for row in recipe.measure(stream).to_dicts():
        shown = recipe.windows(stream, row["actor"]).filter(
            pl.col("since").is_between(row["since"], row["until"], "left")
        )

        assert shown.height == row["windows"]
        assert shown["events"].sum() == row["events"]
        assert (shown["cosine"] == 0).sum() == row["cosim_zero_count"]
        if row["self_sim"] is not None:
            assert 1 - (shown["cosine"].std(ddof=recipe.ddof) or 0) / 2 == pytest.approx(row["self_sim"], abs=1e-12)


@given(events=logs())
def test_self_similarity_lies_between_three_quarters_and_one(events):
    rows = SelfSimilarity(min_windows=1).measure(FrameEvents(to_frame(events)))

    assert rows["self_sim"].is_between(0.75, 1).all()


@pytest.mark.parametrize("minutes", [1, 11])
@pytest.mark.parametrize("size", [1, 20])
def test_many_players_who_all_end_with_the_source_find_room(minutes, size):
    rows = [(f"p{player:03}", 60 * minute, "x") for minute in range(minutes) for player in range(300)]
    frame = log(*rows, character=[f"c{place % 3}" for place in range(len(rows))], level=[7] * len(rows))

    measured_rows = SelfSimilarity(min_windows=1).measure(Batches(frame, size))

    assert measured_rows["windows"].to_list() == [minutes] * 300
    assert measured_rows["main_char_level"].to_list() == [7] * 300


# The recipe.


def test_the_registry_knows_the_recipe_and_says_what_it_knows():
    assert load("self-similarity") is SelfSimilarity
    with pytest.raises(MeasureError, match="'self-sim' is unknown; choose one of: self-similarity, "):
        load("self-sim")


def test_a_recipe_survives_json():
    for option in fields(SelfSimilarity):
        for value in option.metadata["also"]:
            recipe = replace(SelfSimilarity(), **{option.name: value})

            assert SelfSimilarity.from_dict(recipe.to_dict()) == recipe
            assert canonical_json(recipe.to_dict())


@pytest.mark.parametrize(
    ("options", "line"),
    [
        ({"unit": 7 * MINUTE}, "unit 7m does not divide every 1d"),
        ({"unit": 0}, "does not divide"),
        ({"unit": 1, "every": DAY}, "at most 1073741824 can be counted"),
        ({"empty": "none"}, "empty is 'none'; choose active or gap or online"),
        ({"by": "guild"}, "by is 'guild'; choose account or character"),
        ({"ddof": 2}, "ddof is 2; choose 0 or 1"),
        ({"min_windows": 0}, "min_windows is 0; it must be 1 or more"),
        ({"time_zone": "Mars/Base"}, "time zone 'Mars/Base' is unknown"),
        ({"vocabulary": ()}, "the vocabulary is empty"),
    ],
)
def test_an_option_that_cannot_be_followed_is_refused_with_one_line(options, line):
    with pytest.raises(MeasureError, match=line):
        SelfSimilarity(**options)


def test_an_option_nobody_knows_is_refused():
    with pytest.raises(MeasureError, match="unknown option colour"):
        SelfSimilarity.from_dict({"colour": "red"})


def test_freezing_learns_the_sorted_kinds_that_occur_and_changes_nothing_else():
    frame = log(("a", 0, "y"), ("a", 1, "x"), ("b", 2, "y"))

    frozen = SelfSimilarity(ddof=1).learn(Batches(frame, 2, on_dictionary=True))

    assert frozen == SelfSimilarity(ddof=1, vocabulary=("x", "y"))
    assert frozen.learn(Batches(log(("a", 0, "z")), 1)) == frozen
    with pytest.raises(MeasureError, match="no events"):
        SelfSimilarity().learn(FrameEvents(log()))


def test_measuring_with_the_kinds_of_the_source_equals_measuring_with_them_given():
    frame = to_frame(busy_log(9, actors=5, rows=5_000, kinds=20))
    recipe = SelfSimilarity(every=HOUR, min_windows=1)

    assert recipe.measure(FrameEvents(frame)).equals(recipe.learn(FrameEvents(frame)).measure(FrameEvents(frame)))


def test_progress_counts_every_row_once():
    frame = log(*(("a", 3600 - second, "x") for second in range(10)))
    seen = []

    SelfSimilarity().measure(Batches(frame, 4), seen.append)

    assert seen == [4, 4, 2]


def test_an_actor_without_events_has_no_windows_to_show():
    with pytest.raises(MeasureError, match="actor 'nobody' has no events"):
        SelfSimilarity().windows(FrameEvents(vectors((1,))), "nobody")


def test_numba_is_not_loaded_before_something_is_measured():
    code = (
        "import sys; from gamewarden.features import load; load('self-similarity')(); "
        "sys.exit('numba' in sys.modules or 'sklearn' in sys.modules)"
    )

    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_the_windows_of_several_actors_come_from_one_reading_and_are_those_of_each_alone():
    one, other = vectors((1, 2), (3, 0)), vectors((0, 1), (2, 2)).with_columns(actor=pl.lit("b"))
    events = FrameEvents(pl.concat([one, other]).sort("at", maintain_order=True))
    readings = []
    counted = SimpleNamespace(
        columns=events.columns, rows=events.rows, batches=lambda names: readings.append(names) or events.batches(names)
    )
    recipe = SelfSimilarity(min_windows=1, vocabulary=("k0", "k1"))

    together = recipe.windows_of(counted, ["b", "a"])

    assert len(readings) == 1
    assert list(together) == ["b", "a"]
    for actor, shown in together.items():
        assert shown.equals(recipe.windows(events, actor))


@pytest.mark.parametrize("recipe", [SelfSimilarity(min_windows=1), Actions(min_actions=1)], ids=lambda one: one.name)
def test_rows_out_of_order_pass_twice_at_most_however_little_memory_there_is_for_them(recipe):
    ordered = to_frame(busy_log(3, actors=5, rows=3000, kinds=5)).sort("at")
    shuffled = pl.concat([ordered.tail(1500), ordered.head(1500)])
    passes = []

    class Counted(FrameEvents):
        def batches(self, columns):
            passes.append(columns)
            yield from super().batches(columns)

    stream = Counted(shuffled, batch=200)
    fold = recipe.fold(sight_of("events", stream))
    fold._late = LateRows(fold._late._rows._dtype, 10)
    feed(fold, stream)

    assert len(passes) == 2
    assert fold.frame().equals(recipe.measure(FrameEvents(ordered)))


def test_rows_that_are_cut_into_other_batches_when_they_come_again_are_each_taken_once():
    ordered = to_frame(busy_log(4, actors=5, rows=900, kinds=5)).sort("at")
    shuffled = pl.concat([ordered.tail(450), ordered.head(450)])
    recipe = SelfSimilarity(min_windows=1)
    fold = recipe.fold(sight_of("events", FrameEvents(shuffled)))

    for size in (70, 41):
        for batch in FrameEvents(shuffled, batch=size).batches(fold.columns):
            fold.push(batch)
        again = fold.again()

    assert not again
    assert fold.frame().equals(recipe.measure(FrameEvents(ordered)))
