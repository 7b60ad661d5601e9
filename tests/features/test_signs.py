"""The signs of a week in one row: each is what its own family says, and nothing of it stays of whoever is forgotten."""

from datetime import timedelta

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from gamewarden.errors import MeasureError
from gamewarden.features.copies.recipe import Copies
from gamewarden.features.flows import Flows
from gamewarden.features.folding import feed
from gamewarden.features.looking_back import days_of
from gamewarden.features.name_series import Names
from gamewarden.features.paths.recipe import Paths
from gamewarden.features.pulses.recipe import Pulses
from gamewarden.features.rhythm.recipe import Rhythm
from gamewarden.features.self_similarity.recipe import SelfSimilarity
from gamewarden.features.signs import MAY_BE_LEFT_OUT, Signs
from gamewarden.lab.world import World
from gamewarden.learning.phrases import topic_of
from gamewarden.phrases.rhythm import FAST
from gamewarden.tables import FEATURES, FrameEvents

WORLD = World("lineage", 60, 3, 5, bots=0.5, society=True)
BACK = 2  # days, so that the third day has forgotten the first
KEY = ["actor", "since"]
OF_A_DAY = {
    SelfSimilarity: ["self_sim", "log_count_per_min", "total_use_time_min", "npc_kill_count", "main_char_level"],
    Pulses: ["span_steady", "clockwork"],
    Paths: ["repeated_way", "same_places"],
}
OF_DAYS = {
    Rhythm: ["days_played", "play_hours", "awake_hours", "hours_of_day", "gap_entropy", "busiest_min", "busiest_hour"],
    Flows: ["gave_n", "star_score", "chain_n"],
    Copies: ["alike_beyond", "alike_with", "same_way", "same_way_with"],
    Names: ["name_series"],
}


@pytest.fixture(scope="module")
def events():
    """The log of a small society as one table."""
    return pl.concat([pl.DataFrame(pl.from_arrow(batch)) for batch in WORLD.batches()])


@pytest.fixture(scope="module")
def signs(events):
    return Signs(back=BACK).learn(FrameEvents(events))


@pytest.fixture(scope="module")
def rows(signs, events):
    return signs.measure(FrameEvents(events))


@pytest.fixture(scope="module")
def parts(signs, events):
    return parts_of(signs, events)


def parts_of(recipe, events):
    fold = recipe.part_fold()
    feed(fold, FrameEvents(events))
    return fold.frame()


def from_parts(recipe, parts):
    return pl.concat([recipe.rows_from(parts, day) for day in days_of(parts)]).sort(KEY)


def test_there_is_a_row_for_whoever_played_on_a_day_with_every_column(rows, events):
    played = events.select("actor", since=pl.col("at").dt.truncate("1d")).unique().sort(KEY)

    assert rows.schema == {**FEATURES.columns, **Signs.schema}
    assert_frame_equal(rows.select(KEY), played.select(KEY), check_dtypes=False)
    assert set(Signs.odd_when) < set(Signs.schema)
    assert rows.select(pl.col(list(Signs.odd_when)).drop_nulls().len()).row(0).count(0) == 1  # day_spread needs a week
    assert not any(rows[name].is_nan().any() for name in rows.columns if rows[name].dtype == pl.Float64)


@pytest.mark.parametrize("family", OF_A_DAY, ids=lambda one: one.name)
def test_a_sign_of_a_day_is_the_mean_of_what_its_family_says_of_the_days(signs, rows, events, family):
    alone = signs.recipes[family.name].measure(FrameEvents(events)).sort(KEY)
    names = OF_A_DAY[family]

    days = [
        alone.filter(pl.col("since") > day.since - timedelta(days=BACK), pl.col("since") <= day.since)
        .group_by("actor")
        .agg(pl.col(names).mean())
        .with_columns(since=pl.lit(day.since).cast(rows["since"].dtype))
        for day in days_of(rows)
    ]

    wanted = rows.select(KEY).join(pl.concat(days), on=KEY, how="left").select(*KEY, *names).sort(KEY)
    assert_frame_equal(rows.select(*KEY, *names), wanted, check_dtypes=False)
    assert all(rows[name].count() for name in names)


@pytest.mark.parametrize("family", OF_DAYS, ids=lambda one: one.name)
def test_a_sign_of_several_days_is_what_its_family_says(signs, rows, events, family):
    alone = signs.recipes[family.name].measure(FrameEvents(events))

    wanted = rows.select(KEY).join(alone, on=KEY, how="left").select(*KEY, *OF_DAYS[family]).sort(KEY)
    assert_frame_equal(rows.select(*KEY, *OF_DAYS[family]), wanted)
    assert rows[OF_DAYS[family][0]].count()


def test_a_day_from_parts_that_were_measured_apart_is_the_day_of_the_whole_log(signs, rows, events):
    days = events.with_columns(day=pl.col("at").dt.date()).partition_by("day", include_key=False)

    apart = pl.concat([parts_of(signs, day) for day in days]).sample(fraction=1.0, shuffle=True, seed=1)

    assert len(days) == 3
    assert_frame_equal(from_parts(signs, apart), rows)


def test_parts_have_the_columns_they_are_said_to_have_and_a_family_each(signs, parts):
    assert parts.schema == signs.parts_schema
    assert set(parts["part"]) == set(signs.recipes)


def test_families_that_are_left_out_leave_their_columns_null_and_the_others_as_they_are(events, rows):
    less = Signs(back=BACK, without=(Copies.name, Flows.name)).learn(FrameEvents(events))

    told = less.measure(FrameEvents(events))

    gone = [*OF_DAYS[Copies], *OF_DAYS[Flows]]
    assert told.schema == rows.schema
    assert told.select(pl.col(gone).count()).row(0) == (0,) * len(gone)
    assert_frame_equal(told.drop(gone), rows.drop(gone))


@pytest.mark.parametrize("name", ["self-similarity", "rhythm", "nothing"])
def test_who_played_and_how_cannot_be_left_out(name):
    with pytest.raises(MeasureError, match=f"signs: '{name}' cannot be left out; choose among pulses, paths, flows"):
        Signs(without=(name,))
    assert name not in MAY_BE_LEFT_OUT


def test_a_recipe_comes_back_with_what_it_learned(signs, rows, events):
    back = Signs.from_dict(signs.to_dict())

    assert back == signs
    assert back.learn(FrameEvents(events[:1])) is back
    assert_frame_equal(back.measure(FrameEvents(events)), rows)
    assert signs.unlearned() == Signs(back=BACK)


def test_days_and_time_zone_are_those_of_every_family(events):
    signs = Signs(back=3, time_zone="Asia/Seoul").learn(FrameEvents(events[:5_000]))

    told = [recipe for recipe in signs.recipes.values() if hasattr(recipe, "back")]
    assert {recipe.back for recipe in told} == {3}
    assert {recipe.time_zone for recipe in signs.recipes.values() if hasattr(recipe, "time_zone")} == {"Asia/Seoul"}


def test_a_log_without_places_and_partners_gives_nulls_and_the_rest_as_it_is(signs, rows, events):
    told = Signs(back=BACK).learn(FrameEvents(events)).measure(FrameEvents(events.drop("x", "y", "other")))

    blind = ["repeated_way", "same_places", "same_way", "same_way_with", *OF_DAYS[Flows]]
    assert told.select(pl.col(blind).count()).row(0) == (0,) * len(blind)
    own = [*OF_A_DAY[SelfSimilarity], *OF_A_DAY[Pulses], *OF_DAYS[Rhythm]]
    assert_frame_equal(told.select(*KEY, *own), rows.select(*KEY, *own))
    assert set(blind) <= set(", ".join(signs.optional.values()).split(", "))


def test_no_events_give_no_rows_but_every_column(signs, events):
    assert signs.measure(FrameEvents(events.clear())).schema == {**FEATURES.columns, **Signs.schema}


def mentioned(parts, name):
    """The columns of parts in which a name stands, alone or in a list."""
    texts = parts.with_columns(
        pl.col(column).list.eval(pl.element().cast(pl.String)).list.join(" ") if dtype == pl.List else pl.col(column)
        for column, dtype in parts.schema.items()
    )
    return {
        column
        for column, dtype in texts.schema.items()
        if dtype == pl.String and texts[column].str.contains(name, literal=True).any()
    }


def forgotten(parts, actor):
    """Parts as a workspace leaves them of everybody but one."""
    names = [~pl.col(name).eq(actor).fill_null(value=False) for name in Signs.naming]
    return Signs.without_rest(parts.filter(*names))


def test_whoever_is_forgotten_is_nowhere_in_the_parts_and_the_others_stay(signs, parts, events):
    hub = events.drop_nulls("other").group_by("other").len().sort("len", "other")["other"][-1]
    assert {"actor", "flows.other"} <= mentioned(parts, hub) <= {*Signs.naming, "names.character"}

    left = forgotten(parts, hub)

    assert mentioned(left, hub) == set()
    assert left.schema == parts.schema
    others = pl.col("actor").is_not_null() & (pl.col("actor") != hub) & pl.col("part").ne("flows")
    key = ["part", "actor", "since", "names.character"]
    assert_frame_equal(left.filter(others).sort(key), parts.filter(others).sort(key))
    assert from_parts(signs, left)["actor"].n_unique() == parts["actor"].drop_nulls().n_unique() - 1


def test_what_forgetting_leaves_is_what_measuring_the_others_gives(signs, events):
    """Kinds that only the forgotten one did leave the book of copies, too."""
    mine = events["actor"][0]
    own = events.with_columns(
        kind=pl.when(pl.col("actor") == mine, pl.col("kind") == "combat.kill")
        .then(pl.lit(f"skill.use.only-{mine}"))
        .otherwise("kind")
    )
    recipe = signs.unlearned().learn(FrameEvents(own))

    left = forgotten(parts_of(recipe, own), mine)

    theirs = parts_of(recipe, own.filter(pl.col("actor") != mine))
    mixed, key = pl.col("part") == "flows", ["part", "actor", "since", "names.character"]  # gifts to it are gone, too
    assert mentioned(left, "only-") == mentioned(left, mine) == set()
    assert_frame_equal(left.filter(~mixed).sort(key), theirs.filter(~mixed).sort(key))


def test_every_sign_has_words_and_actions_a_minute_are_about_pace(signs):
    assert set(signs.odd_when) <= set(signs.phrases)
    assert topic_of("log_count_per_min", signs.phrases) == FAST
    assert {topic_of(name, signs.phrases) for name in ("busiest_min", "busiest_hour")} == {FAST}


def test_it_knows_the_kinds_that_it_learned(signs, events):
    assert Signs().learned.kinds is None
    assert set(signs.learned.kinds) == set(events["kind"].unique())


def test_a_sign_is_odd_on_the_side_that_its_family_names(signs):
    low = {name for name, side in Signs.odd_when.items() if side == "low"}

    assert low == {"gap_entropy", "day_spread"}  # time that hardly varies; of all else bots have more
    for recipe in signs.recipes.values():
        told = {name: side for name, side in recipe.odd_when.items() if name in Signs.odd_when}
        assert told == {name: Signs.odd_when[name] for name in told}
    assert signs.recipes["rhythm"].odd_when
