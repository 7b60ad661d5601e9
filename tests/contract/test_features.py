"""What every feature family promises, whatever it measures, with every one of its switches flipped."""

from dataclasses import fields, is_dataclass, replace

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from gamewarden import features
from gamewarden.tables import FEATURES, SESSIONS, TRAFFIC, FrameEvents, FrameMessages, FramePackets, FrameRows, check
from messages_made_up import mixture as mixture_of_messages
from packets_made_up import mixture
from recipes import name_of, variants
from tables_made_up import account_table

RECIPES = [recipe for name in features.names() for recipe in variants(features.load(name)())]


TIMED = ["actor", "since", "until", "events"]
HEADS = {
    "events": TIMED,
    "packets": ["actor", "since", "until"],
    "messages": ["actor", "character", "since", "until"],
    "table": TIMED,
}
TABLES = {"events": FEATURES, "packets": TRAFFIC, "messages": SESSIONS, "table": FEATURES}
STREAMS = {
    "events": FrameEvents,
    "packets": FramePackets,
    "messages": FrameMessages,
    "table": lambda frame, batch: FrameRows(frame, "table", batch),
}


def stream(recipe, frame, batch=1 << 20):
    """The rows as the kind of stream this recipe takes."""
    return STREAMS[recipe.input](frame, batch=batch)


def who_of(recipe):
    """The column that becomes the actor."""
    return "character" if getattr(recipe, "by", "account") == "character" else getattr(recipe, "actor", "actor")


@pytest.fixture(scope="module")
def packets():
    return mixture(players=12, packets=9000, seed=4)


@pytest.fixture(scope="module")
def messages():
    return mixture_of_messages()


@pytest.fixture(scope="module", params=RECIPES, ids=name_of)
def unfrozen(request):
    return request.param


@pytest.fixture(scope="module")
def rows(unfrozen, play, packets, messages):
    """What this recipe takes, as a table."""
    return {"events": play, "packets": packets, "messages": messages, "table": account_table()}[unfrozen.input]


@pytest.fixture(scope="module")
def recipe(unfrozen, rows):
    """A recipe with what it learns frozen, so that all measurements below share it."""
    return unfrozen.learn(stream(unfrozen, rows))


@pytest.fixture(scope="module")
def measured(recipe, rows):
    return recipe.measure(stream(recipe, rows))


@pytest.mark.parametrize("name", features.names())
def test_a_family_is_a_frozen_recipe_whose_every_switch_names_another_value(name):
    family = features.load(name)

    assert family.name == name
    assert is_dataclass(family)
    assert family.__dataclass_params__.frozen
    tied = {name for values in getattr(family, "tied", ()) for name in values}
    assert all(field.metadata.get("also") or field.name in tied for field in fields(family))


def test_the_table_has_the_promised_columns_in_order(recipe, measured):
    assert measured.columns == [*HEADS[recipe.input], *recipe.names]
    check(measured, TABLES[recipe.input], "contract")


def test_rows_are_sorted_by_actor_then_period_and_stand_once(measured):
    keys = measured.select("actor", "since")

    assert measured.height > 10
    assert keys.equals(keys.sort("actor", "since"))
    assert keys.is_unique().all()


def test_what_was_not_measured_is_null_and_never_nan(measured):
    for column in measured.select(pl.selectors.float()):
        assert not column.is_nan().any()
        assert not column.is_infinite().any()


def test_an_actor_measures_the_same_alone_as_in_a_crowd(recipe, measured, rows):
    who = who_of(recipe)
    for actor in measured["actor"].unique().sort()[::7]:
        alone = recipe.measure(stream(recipe, rows.filter(pl.col(who) == actor)))

        assert_frame_equal(alone, measured.filter(actor=actor), check_exact=True)


def test_disjoint_actors_measured_apart_and_joined_equal_all_measured_together(recipe, measured, rows):
    who = who_of(recipe)
    side = pl.col(who).hash(seed=1) % 2 == 0
    halves = [recipe.measure(stream(recipe, rows.filter(part))) for part in (side, ~side)]

    assert_frame_equal(pl.concat(halves).sort("actor", "since"), measured, check_exact=True)


def test_the_order_of_the_rows_does_not_matter(recipe, measured, rows):
    shuffled = rows.sample(fraction=1.0, shuffle=True, seed=3)
    if recipe.input != "events":  # an actor's own packets come in the order they were sent
        shuffled = rows.sort(pl.col("actor").hash(seed=3), maintain_order=True)

    assert_frame_equal(recipe.measure(stream(recipe, shuffled)), measured, check_exact=True)


def test_the_size_of_the_batches_does_not_matter(recipe, measured, rows):
    assert_frame_equal(recipe.measure(stream(recipe, rows, batch=97)), measured, check_exact=True)


def test_no_events_give_no_rows(recipe, measured, rows):
    nothing = recipe.measure(stream(recipe, rows.clear()))

    assert nothing.schema == measured.schema
    assert nothing.height == 0


def test_a_recipe_comes_back_from_its_json_values(recipe):
    import json

    back = type(recipe).from_dict(json.loads(json.dumps(recipe.to_dict())))

    assert back == recipe
    assert replace(back) == recipe
