"""Which model is in force: promoted, taken back, and never lost by a crash."""

import json
import os
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gamewarden.detectors.logistic.recipe import AccountDay, SelfSimilarityAlone
from gamewarden.errors import ModelError
from gamewarden.store import model_registry, models
from made_up import GivenNumbers, account_days, labels_of

NOON = datetime(2026, 4, 1, 12, tzinfo=UTC)


@pytest.fixture(scope="module")
def fitted():
    """Three models of one detector and one of another."""
    days, labels = account_days(), labels_of()
    three = [AccountDay(GivenNumbers(), seed=seed).fit(days, labels) for seed in (1, 2, 3)]
    return [*three, SelfSimilarityAlone(GivenNumbers()).fit(days, labels)]


@pytest.fixture
def directory(fitted, tmp_path):
    """All four, stored in their order, a second after each other."""
    for at, model in enumerate(fitted):
        os.utime(models.save(model, tmp_path), ns=(at * 10**9, at * 10**9))
    return tmp_path


@pytest.fixture
def ids(fitted):
    return [model.id for model in fitted]


def promote(directory, model_id, because="it is better"):
    model_registry.promote(directory, model_id, because=because, by="warden", at=NOON)


def roll_back(directory, detector="account-day"):
    return model_registry.roll_back(
        directory, detector, because="it was worse", by="warden", at=NOON + timedelta(hours=1)
    )


def standing(directory):
    return [model.id for model in model_registry.in_force(directory)]


def test_without_a_promotion_the_newest_file_of_each_detector_is_in_force(directory, ids):
    assert standing(directory) == [ids[2], ids[3]]
    assert model_registry.promotions(directory) == []


def test_a_promoted_model_stays_in_force_whatever_is_fitted_later(directory, ids):
    promote(directory, ids[0])

    assert standing(directory) == [ids[0], ids[3]]
    assert model_registry.promotions(directory) == [
        model_registry.Promotion(NOON, "account-day", ids[0], ids[2], "it is better", "warden")
    ]


def test_promoting_what_is_in_force_changes_nothing(directory, ids):
    promote(directory, ids[0])
    before = (directory / model_registry.HISTORY).read_bytes()
    promote(directory, ids[0], because="once more")

    assert (directory / model_registry.HISTORY).read_bytes() == before


def test_promoting_the_newest_keeps_a_later_one_from_taking_over(directory, ids):
    promote(directory, ids[2])
    os.utime(directory / f"{ids[1]}.json")

    assert standing(directory) == [ids[2], ids[3]]


def test_rolling_back_goes_one_promotion_at_a_time_to_what_stood_before_the_first(directory, ids):
    for model_id in (ids[0], ids[1], ids[2]):
        promote(directory, model_id)

    assert [roll_back(directory) for _ in range(3)] == [ids[1], ids[0], ids[2]]
    assert standing(directory) == [ids[2], ids[3]]
    with pytest.raises(ModelError, match="no promotion of 'account-day' is left to take back"):
        roll_back(directory)


def test_rolling_back_a_later_promotion_does_not_touch_those_taken_back_before(directory, ids):
    promote(directory, ids[0])
    promote(directory, ids[1])
    roll_back(directory)
    promote(directory, ids[2])

    assert roll_back(directory) == ids[0]
    assert [line.rolled_back for line in model_registry.promotions(directory)] == [False, False, True, False, True]


def test_there_is_no_way_back_from_the_first_model_there_was(directory, ids):
    promote(directory, ids[3])

    with pytest.raises(ModelError, match="nothing was in force before self-similarity@"):
        roll_back(directory, "self-similarity")


def test_one_detectors_promotions_do_not_touch_anothers(directory, ids):
    promote(directory, ids[0])
    promote(directory, ids[3])

    assert roll_back(directory) == ids[2]
    assert standing(directory) == [ids[2], ids[3]]


def test_a_promoted_model_that_is_gone_is_named_and_another_can_be_promoted(directory, ids):
    promote(directory, ids[0])
    (directory / f"{ids[0]}.json").unlink()

    with pytest.raises(ModelError, match=f"{ids[0]} was promoted and its file is gone"):
        model_registry.in_force(directory)
    promote(directory, ids[1])
    assert standing(directory) == [ids[1], ids[3]]


def test_a_damaged_model_is_not_promoted_nor_rolled_back_to(directory, ids):
    promote(directory, ids[0])
    promote(directory, ids[1])
    (directory / f"{ids[0]}.json").write_text("{")
    before = model_registry.promotions(directory)

    with pytest.raises(ModelError, match="ends early"):
        roll_back(directory)
    with pytest.raises(ModelError, match="ends early"):
        promote(directory, ids[0])
    assert model_registry.promotions(directory) == before


def test_a_model_that_is_not_there_is_not_promoted(directory, ids):
    with pytest.raises(ModelError, match="there is no model 'account-day@000000000000' in it, only account-day@"):
        promote(directory, "account-day@000000000000")
    with pytest.raises(ModelError, match=f"is {ids[0]} meant"):
        promote(directory, ids[0][:-2])
    assert model_registry.promotions(directory) == []


def test_wherever_a_crash_cuts_the_last_line_off_it_never_happened_and_the_next_takes_its_place(directory, ids):
    promote(directory, ids[0])
    history = directory / model_registry.HISTORY
    first = history.read_bytes()
    promote(directory, ids[1])
    both = history.read_bytes()

    for size in range(len(first), len(both)):
        history.write_bytes(both[:size])
        assert standing(directory)[0] == ids[0]
        promote(directory, ids[2])
        assert [line.model for line in model_registry.promotions(directory)] == [ids[0], ids[2]]
        assert history.read_bytes().endswith(b"\n")


@pytest.mark.parametrize(
    "change",
    [
        {"model": "account-day@xyz"},
        {"model": "../../etc@0123456789ab"},
        {"model": None},
        {"detector": "traffic"},
        {"instead_of": 3},
        {"because": ["a"]},
        {"rolled_back": "yes"},
        {"at": "yesterday"},
        {"at": "2026-04-01T12:00:00"},
        {"more": 1},
    ],
    ids=repr,
)
@pytest.mark.parametrize("bound", [True, False], ids=["bound", "as an earlier version wrote it"])
def test_an_edited_history_is_refused_by_its_line(directory, ids, change, bound):
    promote(directory, ids[0])
    promote(directory, ids[1])
    history = directory / model_registry.HISTORY
    lines = [json.loads(line) for line in history.read_text().splitlines()]
    lines[0]["record"] |= change
    history.write_text("".join(json.dumps(line if bound else line["record"]) + "\n" for line in lines))

    with pytest.raises(ModelError, match=r"promotions\.jsonl:1: .*edited or damaged"):
        model_registry.in_force(directory)


@given(st.data())
def test_a_mutilated_history_is_read_or_refused_and_never_crashes(directory, ids, data):
    history = directory / model_registry.HISTORY
    history.unlink(missing_ok=True)
    promote(directory, ids[0])
    promote(directory, ids[1])
    whole = history.read_bytes()
    start = data.draw(st.integers(0, len(whole)))
    end = data.draw(st.integers(start, len(whole)))
    history.write_bytes(whole[:start] + data.draw(st.binary(max_size=8)) + whole[end:])

    try:
        found = model_registry.promotions(directory)
    except ModelError:
        found = []

    assert all(models.is_id(line.model) for line in found)


def test_promotions_of_an_earlier_version_stay_in_force_and_new_ones_cover_them(directory, ids):
    promote(directory, ids[0])
    history = directory / model_registry.HISTORY
    old = json.loads(history.read_text())["record"]
    history.write_text(json.dumps(old) + "\n")
    promote(directory, ids[1])

    assert [line.model for line in model_registry.promotions(directory)] == [ids[0], ids[1]]
    history.write_text(history.read_text().replace(old["because"], "nobody said so", 1))
    with pytest.raises(ModelError, match=r"promotions\.jsonl:2: does not follow"):
        model_registry.promotions(directory)


def test_a_model_is_found_by_as_much_of_its_name_as_names_one_only(directory, ids):
    digest = ids[0].partition("@")[2]

    assert model_registry.find(directory, ids[0]).id == ids[0]
    assert model_registry.find(directory, digest[:8]).id == ids[0]
    assert model_registry.find(directory, "self").id == ids[3]
    with pytest.raises(ModelError, match=r"may be account-day@.* or account-day@.*; write more"):
        model_registry.find(directory, "account-day@")
    with pytest.raises(ModelError, match="there is no model 'zzz'"):
        model_registry.find(directory, "zzz")
