import math
import random
from dataclasses import fields, replace
from datetime import UTC, datetime, timedelta

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from actions_reference import frequencies, measured
from gamewarden.contracts import sight_of
from gamewarden.core.durations import HOUR, MINUTE, SECOND
from gamewarden.errors import MeasureError, TableError
from gamewarden.features import load
from gamewarden.features.actions.recipe import Actions
from gamewarden.features.actions.stream import ActionFold
from gamewarden.features.folding import feed
from gamewarden.streams import PlainEvents
from gamewarden.tables import EVENTS, FrameEvents, check

START = datetime(2026, 3, 1, 10, tzinfo=UTC)
KINDS = ["combat.kill", "loot.pickup", "chat", "trade.give", "move", "session.login", "session.logout"]


def log(*rows, **columns) -> pl.DataFrame:
    """(actor, seconds since the start, kind), and whole columns by name."""
    frame = pl.DataFrame(
        {
            "actor": [row[0] for row in rows],
            "at": [START + timedelta(seconds=row[1]) for row in rows],
            "kind": [row[2] for row in rows],
            **columns,
        },
        schema_overrides={"actor": pl.String, "kind": pl.String, "at": pl.Datetime("us", "UTC")},
    )
    return check(frame, EVENTS, "test")


def chunk_of(*actions, **options) -> dict:
    """The first chunk of a log, closed by an action an hour later."""
    rows = Actions(**{"min_actions": 1, **options}).measure(
        FrameEvents(log(*(("a", second, kind) for second, kind in actions), ("a", 3600, "end")))
    )
    return rows.row(0, named=True)


# Goldens.


def test_frequencies_of_16_1_0_become_1_half_and_0():
    row = chunk_of(
        *((100 + place, "kill") for place in range(15)), (0, "kill"), (200, "chat"), vocabulary=("chat", "kill", "loot")
    )

    assert (row["a_kill"], row["a_chat"], row["a_loot"]) == (1.0, 0.5, 0.0)


def test_intervals_fall_into_half_open_bins_of_a_second():
    row = chunk_of((0, "a"), (0.2, "a"), (1.1, "a"), (2.1, "a"), (7.1, "a"), t=2)

    assert row["i_0"] == 1.0
    assert row["i_1"] == row["i_2"] == pytest.approx(0.840896, abs=1e-6)
    assert frequencies({0: 2, 1: 1, 2: 1}, range(3)) == [row["i_0"], row["i_1"], row["i_2"]]


def test_three_days_in_chunks_of_an_hour_are_143_chunks():
    days = log(*(("a", 60 * minute, "kill") for minute in range(3 * 24 * 60 + 1)))

    rows = Actions().measure(FrameEvents(days))

    assert rows.height == 143
    assert rows["events"].unique().to_list() == [60]
    assert rows["until"].max() == days["at"].max()


def test_a_log_one_moment_too_short_loses_the_chunk_it_does_not_fill():
    long_enough = log(("a", 0, "kill"), ("a", 10, "kill"), ("a", 3600, "kill"))
    too_short = log(("a", 0, "kill"), ("a", 10, "kill"), ("a", 3599.999999, "kill"))

    assert Actions().measure(FrameEvents(long_enough)).height == 1
    assert Actions().measure(FrameEvents(too_short)).height == 0


def test_one_action_has_no_interval_and_all_bins_are_0():
    row = chunk_of((0, "a"))

    assert row["events"] == 1
    assert [row[f"i_{gap}"] for gap in range(61)] == [0.0] * 61


# Rules.


def test_walking_and_logging_in_are_no_actions_and_start_no_chunk():
    rows = Actions(vocabulary=("kill", "move", "session.login")).measure(
        FrameEvents(
            log(("a", 0, "session.login"), ("a", 5, "move"), ("a", 9, "kill"), ("a", 10, "kill"), ("a", 4000, "kill"))
        )
    )

    assert rows["since"][0] == START + timedelta(seconds=9)
    assert rows.columns[4:6] == ["a_kill", "i_0"]


def test_kinds_choose_the_actions_by_name_or_by_family():
    rows = Actions(kinds=("combat.*", "chat"), min_actions=1).measure(
        FrameEvents(
            log(("a", 0, "combat.kill"), ("a", 1, "chat"), ("a", 2, "combatant"), ("a", 3, "loot"), ("a", 3600, "chat"))
        )
    )

    assert rows.columns[4:7] == ["a_chat", "a_combat.kill", "i_0"]
    assert rows["events"].to_list() == [2]


def test_an_action_without_a_column_still_counts_as_the_most_frequent():
    row = chunk_of((0, "new"), (1, "new"), (2, "kill"), vocabulary=("kill",))

    assert row["events"] == 3
    assert row["a_kill"] == pytest.approx(0.5**0.25)


def test_a_chunk_ends_before_its_end():
    rows = Actions(chunk=10 * SECOND, min_actions=1).measure(
        FrameEvents(log(("a", 0, "k"), ("a", 5, "k"), ("a", 10, "k"), ("a", 15, "k")))
    )

    assert rows["events"].to_list() == [2, 2]
    assert rows["i_5"].to_list() == [1.0, 1.0]


def test_a_silence_leaves_out_the_chunks_in_which_nothing_happened():
    rows = Actions(chunk=10 * SECOND, min_actions=1).measure(
        FrameEvents(log(("a", 0, "k"), ("a", 7, "k"), ("a", 100, "k"), ("a", 112, "k")))
    )

    assert [(since - START).total_seconds() for since in rows["since"]] == [0, 5, 95, 100]
    assert rows["events"].to_list() == [2, 1, 1, 1]


def test_a_null_kind_is_refused_by_name():
    class Broken(PlainEvents):
        columns = frozenset({"actor", "at", "kind"})

        def batches(self, columns):
            frame = pl.DataFrame({"actor": ["a"], "at": [START], "kind": [None]}, schema_overrides={"kind": pl.String})
            yield from frame.select(columns).to_arrow(compat_level=pl.CompatLevel.oldest()).to_batches()

    with pytest.raises(TableError, match=r"actions: EVENTS\.kind is null in 1 of 1 rows"):
        Actions().measure(Broken())


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"chunk": 3}, "no half"),
        ({"t": 0}, "t is 0"),
        ({"min_actions": 0}, "1 action at least"),
        ({"by": "guild"}, "account or character"),
        ({"kinds": ()}, "kinds is empty"),
        ({"vocabulary": ("move",)}, "none of the 1 kinds"),
    ],
)
def test_options_that_measure_nothing_are_refused(options, words):
    with pytest.raises(MeasureError, match=words):
        Actions(**options)


def test_the_registry_knows_the_recipe():
    assert load("actions") is Actions


def test_a_recipe_survives_json():
    for option in fields(Actions):
        for value in option.metadata["also"]:
            recipe = replace(Actions(), **{option.name: value})

            assert Actions.from_dict(recipe.to_dict()) == recipe
    with pytest.raises(MeasureError, match="unknown option width"):
        Actions.from_dict({"width": 1})


# The kernel and its judge.


@st.composite
def logs(draw):
    """Small logs with ties, silences, disorder and several characters."""
    seed, rows = draw(st.integers(0, 2**32)), draw(st.integers(0, 120))
    dice = random.Random(seed)  # noqa: S311 - made-up logs
    times = sorted(dice.choice([dice.randrange(0, 400), dice.random() * 4000]) for _ in range(rows))
    if draw(st.booleans()):
        dice.shuffle(times)
    return [
        {
            "actor": f"a{dice.randrange(3)}",
            "character": dice.choice([None, "c1", "c2", "c3"]),
            "at": START + timedelta(microseconds=int(1e6 * time)),
            "kind": dice.choice(KINDS),
        }
        for time in times
    ]


@given(
    events=logs(),
    batch=st.sampled_from([1, 7, 1000]),
    options=st.fixed_dictionaries(
        {
            "chunk": st.sampled_from([20 * SECOND, 15 * MINUTE, HOUR]),
            "t": st.sampled_from([1, 3, 60]),
            "min_actions": st.sampled_from([1, 2, 5]),
            "by": st.sampled_from(["account", "character"]),
            "vocabulary": st.sampled_from([None, ("chat", "combat.kill", "quest")]),
        }
    ),
)
def test_the_kernel_measures_what_the_equations_say(events, batch, options):
    schema = {name: EVENTS.columns[name] for name in ("actor", "character", "at", "kind")}
    recipe = Actions(**options, max_freq=True, own_intervals=True, pace=True)
    columns = recipe.action_kinds() or sorted({event["kind"] for event in events if recipe.is_action(event["kind"])})

    rows = recipe.measure(FrameEvents(pl.DataFrame(events, schema=schema), batch)).to_dicts()

    expected = measured(
        events,
        chunk=timedelta(microseconds=recipe.chunk),
        t=recipe.t,
        min_actions=recipe.min_actions,
        by=recipe.by,
        is_action=recipe.is_action,
        columns=columns,
    )
    assert len(rows) == len(expected)
    for row, wanted in zip(rows, expected, strict=True):
        own = {name for name in wanted if name.startswith(("m_", "d_", "pace_"))}
        assert {name: row[name] for name in row if name not in own} == {
            name: value for name, value in wanted.items() if name not in own
        }
        assert {name: row[name] for name in own} == pytest.approx({name: wanted[name] for name in own}, abs=1e-4)


def test_actors_that_do_not_fit_into_the_budget_together_are_sorted_one_after_the_other():
    dice = random.Random(5)  # noqa: S311 - made-up logs
    rows = [(f"a{dice.randrange(6)}", dice.random() * 20_000, dice.choice(KINDS)) for _ in range(2000)]
    shuffled = FrameEvents(log(*rows), batch=64)

    folds = [ActionFold(Actions(), sight_of("events", shuffled), budget=budget) for budget in (1 << 28, 1)]
    for fold in folds:
        feed(fold, shuffled)
    together, apart = (fold.chunks() for fold in folds)

    assert together.columns == apart.columns
    assert together.since.tolist() == apart.since.tolist()
    assert len(together.since) > 20


def test_kinds_that_appear_late_are_0_in_what_was_finished_before():
    early = [("a", 60 * minute, "kill") for minute in range(200)]
    late = [("b", 60 * minute, f"kind{minute % 30:02}") for minute in range(200)]

    rows = Actions(own_intervals=True).measure(FrameEvents(log(*early, *late), batch=50))

    assert rows.filter(actor="a")["a_kind07"].to_list() == [0.0] * rows.filter(actor="a").height
    assert rows.filter(actor="b")["a_kind07"].to_list() == [1.0] * rows.filter(actor="b").height
    assert rows.filter(actor="a")["m_kind07"].null_count() == rows.filter(actor="a").height
    assert rows.filter(actor="a")["m_kill"].unique().to_list() == [60.0]


def test_who_acts_twice_as_fast_has_the_published_numbers_of_the_slow_and_another_pace():
    beats = [(name, step * number, "kill") for name, step in (("fast", 0.4), ("slow", 0.8)) for number in range(9001)]

    rows = Actions(pace=True).measure(FrameEvents(log(*beats))).group_by("actor", maintain_order=True).first()

    fast, slow = rows.drop("actor", "since", "until", "events").to_dicts()
    assert {name for name in fast if fast[name] != slow[name]} == {"pace_actions"}
    assert (fast["pace_actions"] - slow["pace_actions"]) == pytest.approx(math.log(2))
    assert (fast["pace_1s"], fast["pace_2s"]) == (1.0, 1.0)


def test_a_recipe_without_pace_is_written_as_before_there_was_one():
    assert "pace" not in Actions().to_dict()
    assert Actions(pace=True).to_dict()["pace"] is True
    assert Actions.from_dict(Actions().to_dict()) == Actions()
    assert Actions.from_dict(Actions(pace=True).to_dict()) == Actions(pace=True)


def test_one_action_alone_has_no_interval_to_be_short():
    rows = Actions(chunk=10 * SECOND, min_actions=1, pace=True).measure(FrameEvents(log(("a", 0, "x"), ("a", 60, "x"))))

    assert rows["pace_actions"][0] == 0.0
    assert rows["pace_1s"][0] is None


def test_shares_below_more_seconds_than_are_told_apart_are_not_there():
    assert Actions(t=1, pace=True).paces == ("pace_actions", "pace_1s")
