"""Tasks in processes and on clusters: the same numbers as one reading gives, whatever is lost on the way."""

import os
import signal
import threading
import time

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from engines_made_up import lake_of, unordered_log
from gamewarden import engine, features
from gamewarden.core.clock import Clock
from gamewarden.core.durations import DAY, HOUR
from gamewarden.engine.local import LocalEngine
from gamewarden.errors import ConfigError, EngineError, ReadError
from gamewarden.features.folding import folded
from gamewarden.features.kinds import kinds_by_period
from gamewarden.features.slots import kinds_of
from gamewarden.spreading.events import SpreadEvents, spread
from gamewarden.store.lake_slices import actor_borders
from gamewarden.store.source import LakeSource
from paths import SUPPORT
from recipes import name_of, variants

pytestmark = pytest.mark.integration

FAMILIES = [features.load(name) for name in features.REGISTRY.own if features.load(name).input == "events"]
RECIPES = [recipe for family in FAMILIES for recipe in variants(family())]


@pytest.fixture(scope="module")
def workers():
    found = LocalEngine(2)
    yield found
    found.close()


@pytest.fixture(scope="module", params=[False, True], ids=["in two parts a day", "compact"])
def lake(request, tmp_path_factory):
    made = lake_of(unordered_log(7), tmp_path_factory.mktemp("spread"), compact=request.param)
    return LakeSource(made.directory)


@pytest.mark.parametrize("recipe", RECIPES, ids=name_of)
def test_what_processes_measure_of_slices_is_what_one_reading_measures(recipe, lake, workers):
    learned = recipe.learn(lake.events())

    away = folded(learned, spread(lake, workers).events())

    here = folded(learned, lake.events())
    assert here.frame.height
    assert_frame_equal(away.frame, here.frame, check_exact=True)
    assert away.notes.sentences() == here.notes.sentences()


@pytest.mark.parametrize("recipe", [family() for family in FAMILIES], ids=name_of)
def test_a_recipe_that_has_learned_nothing_speaks_of_the_kinds_of_all_slices(recipe, lake, workers):
    away = folded(recipe, spread(lake, workers).events())

    here = folded(recipe, lake.events())
    assert_frame_equal(away.frame, here.frame, check_exact=True)
    assert away.notes.sentences() == here.notes.sentences()


@pytest.mark.parametrize("name", ["self-similarity", "pulses", "actions"])
def test_windows_with_every_kind_alike_have_the_same_last_bit(name, tmp_path, workers):
    # Three over the root of three is more than the root of three, by one bit: given a vocabulary, a kernel cuts it off.
    log = unordered_log(2, 6_000).with_columns(pl.Series("kind", ["move", "chat", "combat.kill"] * 2_000))
    lake = LakeSource(lake_of(log.sort("at"), tmp_path, compact=True).directory)

    away = folded(features.load(name)(), spread(lake, workers).events())

    here = folded(features.load(name)(), lake.events())
    assert_frame_equal(away.frame, here.frame, check_exact=True)
    assert away.notes.sentences() == here.notes.sentences()


def test_kinds_are_counted_in_slices_and_added_up(lake, workers):
    away = spread(lake, workers).events()

    assert kinds_of(away, "test") == kinds_of(lake.events(), "test")
    for clock in (Clock(DAY), Clock(HOUR, "Europe/Berlin")):
        assert_frame_equal(kinds_by_period(away, clock), kinds_by_period(lake.events(), clock))


def test_slices_of_a_lake_are_everybody_once(lake):
    events = lake.events()

    ranges = actor_borders(events, 5)

    assert 1 < len(ranges) <= 5
    counts = [
        {name for batch in events.among(one).batches(("actor",)) for name in batch.column(0).to_pylist()}
        for one in ranges
    ]
    assert set().union(*counts) == set(unordered_log(7)["actor"])
    assert sum(map(len, counts)) == unordered_log(7)["actor"].n_unique()


def test_a_task_whose_process_is_killed_is_done_again(lake):
    recipe = features.load("self-similarity")().learn(lake.events())
    workers = LocalEngine(2)
    killed = []

    def kill_one() -> None:
        deadline = time.monotonic() + 60
        while not killed and time.monotonic() < deadline:
            for process in list(workers._begun):
                os.kill(process._child.pid, signal.SIGKILL)
                killed.append(process._child.pid)
                return

    thread = threading.Thread(target=kill_one)
    thread.start()
    try:
        away = folded(recipe, spread(lake, workers).events())
    finally:
        thread.join()
        workers.close()

    assert killed
    assert_frame_equal(away.frame, folded(recipe, lake.events()).frame, check_exact=True)


def test_a_task_that_always_dies_is_given_up_with_a_sentence(monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(SUPPORT))
    workers = LocalEngine(1)
    try:
        with pytest.raises(EngineError, match="signal 9, 3 times over"):
            list(workers.run("engine_dying:die", ["now"]))
    finally:
        workers.close()


def test_whoever_breaks_a_run_off_waits_for_no_task(monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(SUPPORT))
    workers = LocalEngine(2)
    answers = workers.run("engine_dying:waits", ["0", "100", "100"])
    begun = time.monotonic()

    next(answers)
    with pytest.raises(KeyboardInterrupt):
        answers.throw(KeyboardInterrupt)

    assert time.monotonic() - begun < 60
    assert workers._begun == []


def test_an_error_of_a_task_is_the_error_of_the_run(workers, tmp_path):
    source = spread(LakeSource(lake_of(unordered_log(1, 2_000), tmp_path).directory), workers).events()
    for part in (tmp_path / "lake").glob("day=*/*.parquet"):
        part.unlink()

    with pytest.raises(ReadError, match="is missing from the lake"):
        folded(features.load("activity")(), source)


def test_files_that_are_no_lake_are_cut_by_actor_too(tmp_path, workers):
    from gamewarden import readers

    log = unordered_log(3, 5_000)
    log.write_parquet(tmp_path / "log.parquet")
    source = readers.open(tmp_path / "log.parquet")
    recipe = features.load("self-similarity")().learn(source.events())

    events = spread(source, workers).events()

    assert isinstance(events, SpreadEvents)
    assert_frame_equal(folded(recipe, events).frame, folded(recipe, source.events()).frame, check_exact=True)


@pytest.mark.parametrize("where", ["locl:8", "local:", "local:0", "local:x", ""])
def test_a_place_that_is_none_is_refused(where):
    with pytest.raises(ConfigError, match="--on"):
        engine.open(where)
