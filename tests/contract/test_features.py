"""What every feature family promises, whatever it measures; what a switch can break, with every switch flipped.

The families of gamewarden and one of an installed package, which is found as any other is. What cannot be loaded fails
its own tests alone.
"""

import ast
import json
from dataclasses import fields, is_dataclass, replace
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from polars.testing import assert_frame_equal

import plugins
from gamewarden import features, pipeline
from gamewarden.contracts import sight_of
from gamewarden.core.clock import Clock
from gamewarden.core.durations import DAY
from gamewarden.errors import GamewardenError
from gamewarden.features.folding import feed, folded
from gamewarden.features.looking_back import LooksBack, days_of
from gamewarden.phrases import Phrase
from gamewarden.streams import EventView
from gamewarden.tables import FEATURES, FrameEvents, FrameMessages, FramePackets, FrameRows, check
from messages_made_up import mixture as mixture_of_messages
from packets_made_up import mixture
from recipes import name_of, variants
from tables_made_up import account_table


def with_the_plugin():
    """The registry as it is where the example package is installed."""
    with plugins.installed():
        names = features.names()
        return names, {name: loaded(features.REGISTRY, name) for name in names}


def loaded(registry, name):
    try:
        return registry.load(name)
    except GamewardenError as error:
        return error


NAMES, FAMILIES = with_the_plugin()
DEFAULTS = [family() for family in FAMILIES.values() if isinstance(family, type)]
RECIPES = [recipe for default in DEFAULTS for recipe in variants(default)]
STREAMS = {
    "events": FrameEvents,
    "packets": FramePackets,
    "messages": FrameMessages,
    "table": lambda frame, batch: FrameRows(frame, "table", batch),
}


def stream(recipe, frame, batch=1 << 20):
    """The rows as the kind of stream this recipe takes."""
    return STREAMS[recipe.input](frame, batch=batch)


class Part(EventView):
    """Some events of a source, which has the columns of the whole, and can show what that can."""

    def __init__(self, part, whole):
        super().__init__(part)
        self._whole = whole

    @property
    def columns(self):
        return self._whole.columns

    @property
    def shows(self):
        return self._whole.shows


def part_of(recipe, rows, part):
    """Some of the rows as a stream."""
    made = stream(recipe, part)
    return Part(made, stream(recipe, rows)) if recipe.input == "events" else made


def who_of(recipe):
    """The column that becomes the actor."""
    return getattr(recipe, "actor", recipe.entity)


def made_up(recipe, rows):
    """Rows with no other columns than the family requires or says it could use; its own table has what it has."""
    named = {*recipe.requires, *recipe.optional, recipe.entity}
    free = recipe.input in {"table", "messages"}  # a message has a place and a session wherever it stands
    extra = {"kind", "seq", "session", "character"}  # what an event is, where it stands and whose it is
    return rows if free else rows.select(name for name in rows.columns if name in named | extra)


@pytest.fixture(scope="module")
def packets():
    return mixture(players=12, packets=9000, seed=4)


@pytest.fixture(scope="module")
def messages():
    return mixture_of_messages()


def pytest_generate_tests(metafunc):
    """Give a test the default recipes, or all where it is marked for every switch."""
    if "unlearned" in metafunc.fixturenames:
        every_switch = metafunc.definition.get_closest_marker("every_switch")
        metafunc.parametrize("unlearned", RECIPES if every_switch else DEFAULTS, ids=name_of, scope="module")


@pytest.fixture(scope="module")
def rows(unlearned, play, packets, messages):
    """What this recipe takes, as a table."""
    all_columns = {"events": play, "packets": packets, "messages": messages, "table": account_table()}
    return made_up(unlearned, all_columns[unlearned.input])


@pytest.fixture(scope="module")
def recipe(unlearned, rows):
    """A recipe with what it learns frozen, so that all measurements below share it."""
    return unlearned.learn(stream(unlearned, rows))


@pytest.fixture(scope="module")
def measured(recipe, rows):
    return recipe.measure(stream(recipe, rows))


@pytest.mark.parametrize("name", NAMES)
def test_a_family_is_a_frozen_recipe_whose_every_switch_names_another_value(name):
    family = FAMILIES[name]

    assert isinstance(family, type), family
    assert family.name == name
    assert is_dataclass(family)
    assert family.__dataclass_params__.frozen
    tied = {name for values in getattr(family, "tied", ()) for name in values}
    assert all(field.metadata.get("also") or field.name in tied for field in fields(family))


def test_a_family_of_an_installed_package_is_found_as_any_other_is():
    assert set(NAMES) == {*features.names(), "silence"}


@pytest.mark.every_switch
def test_the_rows_begin_as_those_of_every_feature_and_go_on_as_the_schema_says(recipe, measured):
    assert dict(measured.schema) == {
        name: as_instance(dtype) for name, dtype in {**FEATURES.columns, **recipe.schema}.items()
    }
    assert recipe.names == tuple(recipe.schema)
    check(measured.drop_nulls("actor"), FEATURES, "contract")


def as_instance(dtype):
    return dtype() if isinstance(dtype, type) else dtype


def test_every_number_has_words_for_people(recipe):
    numbers = {name for name, dtype in recipe.schema.items() if as_instance(dtype).is_numeric()}
    words = {"humans": "people", "value": "1", "window": "minute", "Window": "Minute", "period": "1,440"}

    assert numbers <= set(recipe.phrases) <= set(recipe.schema)
    for phrase in recipe.phrases.values():
        assert isinstance(phrase, Phrase)
        for text in (phrase.more, phrase.usual, phrase.less, phrase.shows, phrase.unseen):
            assert text.format(**words)


def test_rows_are_sorted_by_actor_then_period_and_stand_once(measured):
    keys = measured.select("actor", "since")

    assert measured.height > 10
    assert keys.equals(keys.sort("actor", "since"))
    assert keys.is_unique().all()


@pytest.mark.every_switch
def test_what_was_not_measured_is_null_and_never_nan(measured):
    for column in measured.select(pl.selectors.float()):
        assert not column.is_nan().any()
        assert not column.is_infinite().any()


def test_a_fold_that_is_fed_by_hand_gives_what_measure_gives(recipe, measured, rows):
    source = stream(recipe, rows, batch=61)
    fold = recipe.fold(sight_of(recipe.input, source))
    while True:
        for batch in source.batches(fold.columns):
            assert isinstance(batch, pa.RecordBatch)
            fold.push(batch)
        if not fold.again():
            break

    assert_frame_equal(fold.frame(), measured, check_exact=True)
    assert fold.notes().sentences() == folded(recipe, source).notes.sentences()


def test_what_is_said_of_two_parts_can_be_said_of_both_together(recipe, rows):
    halves = [
        folded(recipe, stream(recipe, part)).notes for part in (rows[: rows.height // 2], rows[rows.height // 2 :])
    ]

    together = halves[0] + halves[1]

    assert all(isinstance(line, str) and line for line in together.sentences())


class Counted:
    """A stream that counts how often it is read; what a log can show is known when it was read, or costs a reading."""

    def __init__(self, whole):
        self.whole = whole
        self.passes = 0

    def __getattr__(self, name):
        return getattr(self.whole, name)

    @property
    def shows(self):
        self.passes += not self.passes

    def batches(self, columns):
        self.passes += 1
        yield from self.whole.batches(columns)


def test_rows_pass_once_where_they_are_in_order(recipe, rows):
    ordered = rows.sort("at", maintain_order=True) if "at" in rows.columns else rows
    counted = Counted(stream(recipe, ordered))

    folded(recipe, counted)

    assert counted.passes == 1


@pytest.mark.every_switch
def test_an_actor_measures_the_same_alone_as_in_a_crowd(recipe, measured, rows):
    if not recipe.divides.actors:  # its numbers are about others as well
        return
    who = who_of(recipe)
    for actor in measured["actor"].unique().sort()[::7]:
        alone = recipe.measure(part_of(recipe, rows, rows.filter(pl.col(who) == actor)))

        assert_frame_equal(alone, measured.filter(actor=actor), check_exact=True)


def test_disjoint_actors_measured_apart_and_joined_equal_all_measured_together(recipe, measured, rows):
    if not recipe.divides.actors:
        # Others count in its rows: looking back on a week, or at the rows of the same group.
        assert isinstance(recipe, LooksBack) or getattr(recipe, "siblings", False)
        return

    side = pl.col(who_of(recipe)).hash(seed=1) % 2 == 0
    halves = [recipe.measure(part_of(recipe, rows, rows.filter(part))) for part in (side, ~side)]

    assert_frame_equal(pl.concat(halves).sort("actor", "since"), measured, check_exact=True)


def test_periods_measured_apart_and_joined_equal_all_measured_together_where_a_recipe_divides_by_them(
    recipe, measured, rows
):
    clock = recipe.divides.clock
    if clock is None:
        assert not recipe.divides.by(Clock(DAY))
        return

    for length in (clock.every, 3 * clock.every):
        cut = Clock(length, clock.time_zone)
        assert recipe.divides.by(cut)
        parts = rows.with_columns(cut.borders(pl.col("at"))[0].alias("period")).partition_by(
            "period", include_key=False
        )
        apart = [recipe.measure(part_of(recipe, rows, part)) for part in parts]
        assert len(parts) > 1 or length > 2 * DAY  # the log is of two days
        assert_frame_equal(pl.concat(apart).sort("actor", "since"), measured, check_exact=True)


def test_rows_that_look_back_are_the_same_from_parts_that_were_measured_day_by_day(recipe, measured, rows):
    if not isinstance(recipe, LooksBack):
        return
    sight, apart = sight_of(recipe.input, stream(recipe, rows)), []
    day = recipe.clock.borders(pl.col("at"))[0]
    for part in rows.with_columns(day=day).partition_by("day", include_key=False):
        fold = recipe.part_fold(sight)
        feed(fold, stream(recipe, part))
        apart.append(fold.frame())

    parts = pl.concat(apart).sample(fraction=1.0, shuffle=True, seed=1)
    joined = [recipe.rows_from(parts, one, sight) for one in days_of(parts)]

    assert dict(parts.schema) == {name: as_instance(dtype) for name, dtype in recipe.parts_schema.items()}
    assert {*recipe.naming} <= {*recipe.parts}
    assert_frame_equal(pl.concat(joined).sort("actor", "since"), measured, check_exact=True)


def test_another_clock_than_its_own_divides_no_recipe(recipe):
    own = recipe.divides.clock or Clock(DAY)

    assert not recipe.divides.by(Clock(own.every, "Pacific/Kiritimati"))
    assert own.every == 1 or not recipe.divides.by(Clock(own.every + 1, own.time_zone))


@pytest.mark.every_switch
def test_the_order_of_the_rows_does_not_matter(recipe, measured, rows):
    shuffled = rows.sample(fraction=1.0, shuffle=True, seed=3)
    if recipe.input != "events":  # an actor's own packets come in the order they were sent
        shuffled = rows.sort(pl.col("actor").hash(seed=3), maintain_order=True)

    assert_frame_equal(recipe.measure(stream(recipe, shuffled)), measured, check_exact=True)


@pytest.fixture(scope="module")
def tied(unlearned, play):
    """Play of which many rows share their time and their place in the source: several logs put together."""
    draw = np.random.default_rng(8)
    said = pl.Series(draw.choice(["session.login", "session.logout"], play.height))
    rows = play.with_columns(
        pl.col("at").dt.truncate("10m"),
        pl.when(pl.Series(draw.random(play.height) < 0.1)).then(said).otherwise("kind").alias("kind"),
        pl.when(pl.col("seq") % 3 > 0).then(pl.col("seq") % 3 - 1).alias("seq"),
    )
    return made_up(unlearned, rows.sort("at", "seq"))


@pytest.mark.integration
def test_rows_that_share_time_and_seq_are_told_apart_by_their_values_and_never_by_their_order(recipe, tied):
    if recipe.input != "events":
        return
    wanted = recipe.measure(stream(recipe, tied))

    for seed in range(3):
        tie = tied.sample(fraction=1.0, shuffle=True, seed=seed).sort("at", "seq", maintain_order=True)
        parts = tie.with_columns(pl.Series("part", np.random.default_rng(seed).random(tie.height) < 0.5))
        first, second = (parts.filter(pl.col("part") == side).drop("part") for side in (True, False))
        for rows in (tie, pl.concat([first, second]), pl.concat([second, first])):
            assert_frame_equal(recipe.measure(stream(recipe, rows, batch=97)), wanted, check_exact=True)


@pytest.mark.every_switch
def test_the_size_of_the_batches_does_not_matter(recipe, measured, rows):
    assert_frame_equal(recipe.measure(stream(recipe, rows, batch=97)), measured, check_exact=True)


def test_no_events_give_no_rows(recipe, measured, rows):
    nothing = recipe.measure(stream(recipe, rows.clear()))

    assert nothing.schema == measured.schema
    assert nothing.height == 0


def test_what_was_learned_can_be_forgotten_and_learned_again(recipe, unlearned, rows):
    fresh = recipe.unlearned()

    assert fresh.learn(stream(recipe, rows)) == recipe or unlearned.learn(stream(recipe, rows)) == unlearned
    assert type(fresh) is type(recipe)


def test_kinds_that_a_source_does_not_show_are_columns_of_the_schema(recipe):
    learned = recipe.learned
    named = () if learned is None else (*learned.columns.values(), *learned.unmeasured)

    assert set(named) <= set(recipe.schema)
    assert learned is None or learned.kinds is not None


@pytest.mark.every_switch
def test_a_recipe_comes_back_from_its_json_values(recipe):
    back = type(recipe).from_dict(json.loads(json.dumps(recipe.to_dict())))

    assert back == recipe
    assert replace(back) == recipe


def test_the_pipeline_asks_a_feature_for_nothing_but_what_the_contract_has():
    asked = [
        f"{path.name}:{call.lineno}"
        for path in Path(pipeline.__file__).parent.glob("*.py")
        for call in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(call, ast.Call)
        and isinstance(call.func, ast.Name)
        and call.func.id in {"isinstance", "getattr", "hasattr"}
        and {"feature", "recipe"} & {node.id for node in ast.walk(call.args[0]) if isinstance(node, ast.Name)}
    ]

    assert asked == []
