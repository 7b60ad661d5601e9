"""Maintenance on a lake: the logic flow, crashes at every step, models that must not score, and the way back."""

import json
import shutil
import subprocess
import sys
from dataclasses import fields, replace
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from gamewarden import detectors, pipeline, readers
from gamewarden.core.durations import MINUTE
from gamewarden.drift.flow import STEPS
from gamewarden.errors import ReadError, WriteError
from gamewarden.features.actions.recipe import Actions
from gamewarden.pipeline.maintaining import maintain, recipe_of, told
from gamewarden.presentation.maintenance_table import table_of
from gamewarden.store import model_registry
from gamewarden.store import models as stored_models
from gamewarden.store.maintenance_state import MaintenanceState
from gamewarden.tables import write_table
from paths import SUPPORT
from upkeep_made_up import START, Log, make_game, task_of

pytestmark = pytest.mark.integration

NOON = datetime(2026, 4, 1, 12, tzinfo=UTC)


def fixed():
    return NOON


@pytest.fixture(scope="module")
def adapted(tmp_path_factory):
    """A game of ten days whose bots change on the seventh, before any maintenance."""
    return make_game(tmp_path_factory.mktemp("adapted"), Log(days=10, adapts=6))


@pytest.fixture
def game(adapted, tmp_path):
    return copied(adapted, tmp_path / "game")


def copied(place, to):
    shutil.copytree(place, to)
    return to


def records(place):
    return MaintenanceState(place / "models", "account-day").history().records


def steps_on(place, day):
    name = f"{START + timedelta(days=day):%Y-%m-%dT%H:%M:%SZ}"
    return {record["step"]: record for record in records(place) if record["period"] == name}


def files_of(directory):
    return {path.relative_to(directory): path.read_bytes() for path in directory.rglob("*") if path.is_file()}


def standing(place):
    (model,) = model_registry.in_force(place / "models")
    return model.id


def score(place):
    return pipeline.score(readers.open(place / "lake"), place / "models").frame


def test_bots_that_change_are_noticed_and_a_better_model_takes_over(game):
    first = standing(game)
    done = maintain(task_of(game))

    assert done.periods["status"].to_list() == [
        "missing",
        *["learning"] * 3,
        *["in control"] * 2,
        "below",
        *["in control"] * 2,
    ]
    steps = steps_on(game, 6)
    assert list(steps) == [step for step in STEPS if step != "notify"]
    assert steps["causes"]["causes"][0]["name"] == "adaptation"
    assert steps["validate"]["valid"]
    assert standing(game) == steps["promote"]["model"] != first
    assert steps["rescore"]["model"] == standing(game)
    assert set(score(game)["model"]) == {standing(game)}


def test_a_retrained_model_knows_how_much_of_a_period_its_log_covers_and_scores_such_periods(game):
    maintain(task_of(game))
    (model,) = pipeline.load_models(game / "models")

    assert 0 < model.card.training["covered"] < 0.1
    assert score(game)["probability"].null_count() == 0


def test_running_again_for_the_same_periods_changes_no_byte(game):
    maintain(task_of(game, clock=fixed))
    before = files_of(game)
    again = maintain(task_of(game))

    assert again.new == 0
    assert files_of(game) == before


def test_days_that_were_missed_are_caught_up_and_come_out_the_same(game, tmp_path):
    daily = copied(game, tmp_path / "daily")
    for day in range(1, 10):
        maintain(replace(task_of(daily, clock=fixed), until=START + timedelta(days=day)))
    maintain(task_of(game, clock=fixed))

    assert files_of(daily / "models") == files_of(game / "models")


class Crash(Exception):  # noqa: N818  it is none of our errors, and nothing may catch it
    pass


def crash_at(task, number):
    """Stop at the so many-th tick; whether it came to that."""
    count = 0

    def tick(_step, _moment):
        nonlocal count
        count += 1
        if count == number:
            raise Crash

    try:
        maintain(task, tick)
    except Crash:
        return True
    return False


def test_a_crash_before_and_after_the_record_of_every_step_resumes_to_the_same_files(adapted, tmp_path):
    ready = copied(adapted, tmp_path / "ready")
    maintain(replace(task_of(ready, clock=fixed), until=START + timedelta(days=6)))
    whole = copied(ready, tmp_path / "whole")
    maintain(replace(task_of(whole, clock=fixed), until=START + timedelta(days=7)))
    expected = files_of(whole / "models")
    number, crashed = 0, True
    while crashed:
        number += 1
        place = copied(ready, tmp_path / f"crash{number}")
        task = replace(task_of(place, clock=fixed), until=START + timedelta(days=7))
        crashed = crash_at(task, number)
        maintain(task)
        assert files_of(place / "models") == expected, f"after a crash at tick {number}"

    assert number - 1 == 2 * (len(STEPS) - 1)  # every step but a notice, before and after its record


def test_a_process_killed_in_the_middle_of_a_promotion_goes_on_where_it_was(game, tmp_path):
    maintain(replace(task_of(game, clock=fixed), until=START + timedelta(days=6)))
    whole = copied(game, tmp_path / "whole")
    maintain(task_of(whole))
    killed = subprocess.run(
        [sys.executable, str(SUPPORT / "upkeep_killed.py"), str(game), "11"],
        check=False,
        capture_output=True,
    )
    assert killed.returncode == -9, killed.stderr
    assert "promote" not in steps_on(game, 6)
    assert standing(game) == standing(whole)  # the model was in force already, only its record was missing
    maintain(task_of(game))

    assert [(one["period"], one["step"]) for one in records(game)] == [
        (one["period"], one["step"]) for one in records(whole)
    ]
    assert len(model_registry.promotions(game / "models")) == len(model_registry.promotions(whole / "models")) == 2


def test_a_retrained_model_that_fails_validation_never_scores_anyone(game):
    first = standing(game)
    before = score(game)
    done = maintain(task_of(game, auc_floor=1.0, share_most=0.5, share_least=0.5))
    refused = {record["candidate"] for record in records(game) if record["step"] == "validate"}

    assert refused
    assert first not in refused
    assert standing(game) == first
    assert {one.id for one in stored_models.stored(game / "models")} == {first}
    assert set(done.periods["model"]) == {first}
    assert not [path for path in (game / "models/maintenance").rglob("*.parquet") if path.stem != first]
    assert_frame_equal(score(game), before)


def test_an_invalid_model_is_told_of_and_so_are_two_signals_in_a_row(game):
    maintain(task_of(game, share_most=0.5))
    told_of = [
        message["reason"] for record in records(game) if record["step"] == "notify" for message in record["messages"]
    ]

    assert told_of[:3] == ["invalid", "consecutive", "invalid"]


def test_labels_that_say_nothing_give_no_valid_model(game):
    labels = Log().labels().with_columns(bot=pl.int_range(60) // 2 % 2 == 0)
    write_table(labels, game / "labels.csv")
    first = standing(game)
    done = maintain(task_of(game))
    validated = [record for record in records(game) if record["step"] == "validate"]

    assert validated
    assert all("below the floor of 0.85" in record["failures"][0] for record in validated)
    assert "known humans have an FPR of 5% or less" in done.periods["doubts"][0]  # half of the bots are called human
    assert standing(game) == first


def test_without_labels_nothing_is_retrained_and_the_operator_is_told_why(game):
    maintain(task_of(game, labels=None))

    steps = steps_on(game, 6)
    assert steps["retrain"]["why_not"] == "no labels were given; name confirmed ones with --labels FILE"
    assert "validate" not in steps
    assert steps["notify"]["messages"][0]["reason"] == "invalid"


def test_labels_from_after_a_period_are_not_known_in_it(game):
    known = Log().labels().with_columns(since=pl.lit("2026-03-20T00:00:00Z"))
    write_table(known, game / "labels.csv")
    maintain(task_of(game))

    assert "0 labelled bots and 0 humans" in steps_on(game, 6)["retrain"]["why_not"]


def test_rolling_back_restores_the_old_scores_exactly(game):
    before = score(game)
    maintain(task_of(game))
    assert not score(game).equals(before)
    model_registry.roll_back(game / "models", "account-day", because="people complained", by="test", at=NOON)

    assert_frame_equal(score(game), before)


def test_a_model_that_somebody_rolled_back_is_not_promoted_again_and_the_change_is_noticed(game):
    first = standing(game)
    maintain(replace(task_of(game), until=START + timedelta(days=7)))
    taken_back = standing(game)
    model_registry.roll_back(game / "models", "account-day", because="people complained", by="test", at=NOON)
    maintain(task_of(game))

    changed = steps_on(game, 7)["changed"]
    assert (changed["model"], changed["instead_of"]) == (first, taken_back)
    assert "Somebody put" in "\n".join(told(task_of(game)))
    hands_on = [record for record in records(game) if record["step"] == "promote" and record["model"] == taken_back]
    assert len(hands_on) == 1


def test_a_silent_sensor_marks_the_period_moves_no_chart_and_calls_the_operator(tmp_path):
    game = make_game(tmp_path, Log(days=9, silent=(6,)))
    maintain(task_of(game))

    day, after = steps_on(game, 6), steps_on(game, 7)
    assert day["watch"]["silent"] == ["combat.kill"]
    assert (day["watch"]["status"], after["watch"]["status"]) == ("missing", "missing")
    assert "retrain" not in day
    assert day["notify"]["messages"][0]["text"] == "Kinds went silent: combat.kill. Scores of this period say little."
    assert "Silent kinds: combat.kill." in "\n".join(told(task_of(game)))


def test_periods_with_a_silent_sensor_are_not_learned_from(tmp_path):
    game = make_game(tmp_path, Log(days=9, adapts=7, silent=(5,)))
    maintain(task_of(game, window_least=3))
    retrained = [record for record in records(game) if record["step"] == "retrain" and record["model"]]

    assert [record["numbers"]["since"] for record in retrained] == ["2026-03-06T00:00:00Z"]  # days 7, 6 and 4


def test_a_patch_is_named_as_the_cause_and_the_new_model_knows_the_new_kinds(tmp_path):
    game = make_game(tmp_path, Log(days=9, patch=6))
    maintain(task_of(game))

    first = steps_on(game, 6)["causes"]["causes"][0]
    assert first["name"] == "vocabulary"
    (model,) = pipeline.load_models(game / "models")
    assert "combat.kill-ii" in model.feature.options["vocabulary"]


def test_a_ban_wave_is_marked_and_in_no_baseline(tmp_path):
    game = make_game(tmp_path, Log(days=6, bots=36, banned=3))
    maintain(task_of(game))

    assert [bool(steps_on(game, day)["watch"]["ban_wave"]) for day in range(5)] == [False, False, False, True, False]
    assert not steps_on(game, 3)["watch"]["counts"]


def test_a_ban_wave_that_people_name_is_marked_too(game):
    maintain(replace(task_of(game), ban_waves=(START + timedelta(days=2, hours=7),)))

    assert [record["ban_wave"] for record in records(game) if record["step"] == "watch"][:4] == [
        False,
        False,
        True,
        False,
    ]


def test_an_empty_day_is_missing_and_three_in_a_row_are_told_of(tmp_path):
    game = make_game(tmp_path, Log(days=9, empty=(4, 5)))
    done = maintain(task_of(game))

    assert done.periods["status"].to_list()[4:7] == ["missing"] * 3  # the day after has nothing to compare with
    assert steps_on(game, 6)["notify"]["messages"][0]["reason"] == "missing"


def test_only_periods_that_are_over_are_done(game):
    done = maintain(task_of(game))

    assert done.periods.height == 9  # the tenth day is the lake's last: more of it may come
    assert maintain(replace(task_of(game), until=START + timedelta(days=10))).new == 1


def test_the_story_tells_what_was_done_and_why(game):
    maintain(task_of(game))
    story = "\n".join(told(task_of(game)))

    assert "2026-03-02  Maintenance begins with account-day@" in story
    assert "2026-03-08  Out of control, below its limit: X = " in story
    assert "1. Nothing in the log explains it: bots may have adapted." in story
    assert "is in force instead of account-day@" in story


def test_a_model_fitted_later_does_not_take_over_by_being_the_newest_file(game):
    maintain(replace(task_of(game), until=START + timedelta(days=3)))
    first = standing(game)
    recipe = pipeline.detector_recipe(
        "account-day", pipeline.feature_recipe("self-similarity", {}, task_of(game).config), {}
    )
    pipeline.fit(recipe, readers.open(game / "lake"), game / "labels.csv", game / "models")

    assert standing(game) == first


def test_two_maintenances_at_once_are_refused(game):
    with (
        MaintenanceState(game / "models", "account-day").alone(),
        pytest.raises(WriteError, match="another process is maintaining"),
    ):
        maintain(task_of(game))


def test_a_history_that_was_edited_stops_maintenance(game):
    maintain(replace(task_of(game), until=START + timedelta(days=3)))
    path = game / "models/maintenance/account-day/history.jsonl"
    path.write_text(path.read_text().replace("learning", "in control"))

    with pytest.raises(ReadError, match="edited or damaged"):
        maintain(task_of(game))


def test_a_lake_that_is_none_or_empty_is_refused(game, tmp_path):
    with pytest.raises(ReadError, match="is not a lake"):
        maintain(replace(task_of(game), lake=tmp_path / "nowhere"))


def test_chunks_of_actions_are_maintained_too_and_walking_is_no_new_kind_to_them(adapted, tmp_path):
    game = copied(adapted, tmp_path / "game")
    shutil.rmtree(game / "models")
    recipe = pipeline.detector_recipe("actions-frequency", Actions(chunk=10 * MINUTE), {})
    pipeline.fit(recipe, readers.open(game / "early.parquet"), game / "labels.csv", game / "models")
    maintain(replace(task_of(game), until=START + timedelta(days=7)))
    history = MaintenanceState(game / "models", "actions-frequency").history().records
    steps = {record["step"]: record for record in history}

    assert steps["causes"]["causes"][0]["name"] == "adaptation"
    assert steps["validate"]["comparison"]["new_auc"] > steps["validate"]["comparison"]["old_auc"] + 0.1
    assert "promote" in steps


PEOPLE = 70


def people_accused(place, day):
    """How many of the people have an FPR of 5 % or less under the model that scored the day last."""
    steps = steps_on(place, day)
    scored = steps.get("rescore") or steps["score"]
    kept = f"{scored['period']}-{scored['content']}"
    scores = MaintenanceState(place / "models", "account-day").scores(kept, scored["model"])
    return scores.filter(pl.col("actor").str.starts_with("human") & (pl.col("fpr") <= 0.05)).height


def reasons_told(place, day):
    return [message["reason"] for message in steps_on(place, day).get("notify", {}).get("messages", [])]


@pytest.mark.parametrize(
    ("adapts", "from_day", "standing"),
    [
        (99, 3, "learning"),
        (99, 4, "provisional limits"),
        (6, 7, "the day after a promotion"),
        (6, 8, "limits of the model before"),
    ],
    ids=["the chart's third day", "provisional limits", "the day after a promotion", "limits of the model before"],
)
def test_a_patch_that_renames_all_kinds_is_told_of_that_very_day_whatever_the_chart_knows(
    tmp_path, adapts, from_day, standing
):
    days = 13
    log = Log(days=days, humans=PEOPLE, adapts=adapts, renamed=tuple(range(from_day, days)))
    game = make_game(tmp_path, log)
    done = maintain(task_of(game))

    assert ("promote" in steps_on(game, from_day - 1)) == (standing == "the day after a promotion")
    assert people_accused(game, from_day - 1) < PEOPLE / 5
    assert "not to be trusted" in reasons_told(game, from_day)
    for day in range(from_day, days - 1):
        doubted = done.periods["doubts"][day] is not None
        assert doubted or people_accused(game, day) < PEOPLE / 5, f"day {day} says nothing of people accused"
        assert not doubted or not steps_on(game, day)["watch"]["counts"]
    assert done.periods["doubts"][from_day] is not None
    assert done.periods["doubts"][days - 2] is None, "a model of the new kinds has taken over"


def test_without_labels_a_renaming_patch_stays_doubted_is_told_of_again_and_enters_no_baseline(tmp_path):
    game = make_game(tmp_path, Log(days=11, humans=PEOPLE, renamed=tuple(range(3, 11))))
    done = maintain(task_of(game, labels=None))
    told_of = [day for day in range(10) if "not to be trusted" in reasons_told(game, day)]

    assert done.periods["doubts"].is_not_null().to_list() == [False] * 3 + [True] * 7
    assert told_of == [3, 5, 8]  # at once, and every third period while it stands
    assert [steps_on(game, day)["watch"]["status"] for day in range(3, 10)] == ["learning"] * 7
    assert "bots among them could explain" in done.periods["doubts"][9]
    assert any(line.startswith("Scores of the last period (2026-03-11) are not to be trusted:") for line in done.notes)


def test_a_day_of_renamed_kinds_promotes_nothing_and_is_compared_with_nothing(tmp_path):
    game = make_game(tmp_path, Log(days=9, humans=PEOPLE, renamed=(6,)))
    first = standing(game)
    maintain(task_of(game, window_least=3))

    assert "promote" not in steps_on(game, 6)
    assert steps_on(game, 7)["watch"]["why_missing"] == (
        "the scores of the period it is compared with are not to be trusted"
    )
    assert standing(game) == first


def test_a_log_that_loses_most_events_is_incomplete_and_nothing_is_learned_from_it(tmp_path):
    game = make_game(tmp_path, Log(days=6, thin=(2,)))
    done = maintain(task_of(game))

    assert "the log may be incomplete" in done.periods["doubts"][2]
    assert done.periods["status"].to_list() == ["missing", "learning", "missing", "missing", "learning"]
    assert "retrain" not in steps_on(game, 2)
    assert "not to be trusted" in reasons_told(game, 2)


def test_scores_that_maintenance_does_not_trust_say_so_wherever_they_are_shown(tmp_path):
    game = make_game(tmp_path, Log(days=10, renamed=(8,)))
    places = readers.open(game / "lake"), game / "models"
    before = pipeline.score(*places).notes
    maintain(task_of(game, labels=None))
    shown = {
        "score": pipeline.score(*places).notes,
        "rank": pipeline.rank(*places, pipeline.RankOptions(0.5, 5)).notes,
        "judge": pipeline.judge(*places).caveats,
        "explain": pipeline.explain("human031", *places, None).caveats,
    }
    line = f"maintenance does not trust the scores {standing(game)} gives 2026-03-10: 10 kinds are new to the model"

    assert not any("maintenance" in remark for remark in before)
    for command, notes in shown.items():
        assert sum(remark.startswith(line) for remark in notes) == 1, command


def test_scores_of_other_days_say_nothing_of_a_day_that_maintenance_does_not_trust(tmp_path):
    game = make_game(tmp_path, Log(days=10, renamed=(8,)))
    maintain(task_of(game, labels=None))
    notes = pipeline.score(readers.open(game / "early.parquet"), game / "models").notes

    assert not any("maintenance" in remark for remark in notes)


def test_a_damaged_history_keeps_no_score_back_and_is_said(game):
    maintain(replace(task_of(game), until=START + timedelta(days=3)))
    path = game / "models/maintenance/account-day/history.jsonl"
    path.write_text(path.read_text().replace("learning", "in control"))
    notes = pipeline.score(readers.open(game / "lake"), game / "models").notes

    assert any(remark.startswith(f"whether maintenance trusts {standing(game)} is unknown:") for remark in notes)


def test_a_quiet_game_raises_no_doubt(tmp_path):
    game = make_game(tmp_path, Log(days=12))

    assert maintain(task_of(game)).periods["doubts"].null_count() == 11


@pytest.mark.nightly
def test_a_crash_at_any_step_of_doubted_days_resumes_to_the_same_files(tmp_path):
    ready = make_game(tmp_path / "ready", Log(days=6, renamed=(3, 4, 5)))
    maintain(replace(task_of(ready, clock=fixed), until=START + timedelta(days=3)))
    whole = copied(ready, tmp_path / "whole")
    maintain(task_of(whole, clock=fixed))
    expected = files_of(whole / "models")
    assert {"retrain", "validate", "notify"} <= steps_on(whole, 3).keys()
    assert "promote" in steps_on(whole, 4)
    number, crashed = 0, True
    while crashed:
        number += 1
        place = copied(ready, tmp_path / f"crash{number}")
        crashed = crash_at(task_of(place, clock=fixed), number)
        maintain(task_of(place, clock=fixed))
        assert files_of(place / "models") == expected, f"after a crash at tick {number}"


def test_a_history_from_before_there_were_doubts_is_gone_on_with(game):
    maintain(replace(task_of(game, clock=fixed), until=START + timedelta(days=7)))
    path = game / "models/maintenance/account-day/history.jsonl"
    before = list(records(game))
    path.unlink()
    old = MaintenanceState(game / "models", "account-day").history()
    for record in before:
        old.append({name: value for name, value in record.items() if name not in NEW_IN_WATCH})
    done = maintain(task_of(game))

    assert done.new == 2
    assert done.periods["doubts"].null_count() == 9
    assert told(task_of(game))


NEW_IN_WATCH = ("doubts", "doubted", "outside", "heirs", "own_periods")


def test_the_table_of_no_records_is_empty_with_its_columns():
    assert table_of([]).columns[:3] == ["period", "status", "x"]


EVENT_DETECTORS = [name for name in detectors.names() if pipeline.input_of(name) == "events"]


@pytest.mark.parametrize("name", EVENT_DETECTORS)
def test_a_retraining_uses_the_very_recipe_of_the_model_in_force_whatever_its_options(name):
    recipe = detectors.load(name)
    for option in fields(recipe):
        for value in option.metadata.get("also", ()):
            given = recipe(feature=None, **{option.name: value})
            model = SimpleNamespace(card=SimpleNamespace(detector=name, recipe=json.loads(json.dumps(given.to_dict()))))

            assert recipe_of(model, None) == given
