"""Results beside their model."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gamewarden.errors import GamewardenError, ModelError
from gamewarden.store.evaluations import load_results, results_path, save_results
from gamewarden.store.models import stored

MODEL = "account-day@0123456789ab"
ROW = {"split": "farm", "detector": "account-day", "unit": "actor", "auc": 0.9, "tpr_at_1pct": None, "tied": 0.0}
RESULTS = {
    "detector": "account-day",
    "splits": [ROW],
    "families": [],
    "people": [],
    "fprs": [],
    "labels": [{"source": "rater", "labels": 3}],
    "warnings": ["one"],
    "notes": [],
}


def test_results_come_back_as_they_were_saved(tmp_path):
    path = save_results(tmp_path, MODEL, RESULTS)

    assert path.name == f"{MODEL}.results.json"
    assert load_results(tmp_path, MODEL) == {"model": MODEL, **RESULTS}


def test_a_model_that_was_never_evaluated_has_none(tmp_path):
    assert load_results(tmp_path, MODEL) is None


def test_results_are_no_models(tmp_path):
    save_results(tmp_path, MODEL, RESULTS)

    assert stored(tmp_path) == []


def test_results_of_another_model_are_refused(tmp_path):
    save_results(tmp_path, MODEL, RESULTS)
    results_path(tmp_path, MODEL).rename(results_path(tmp_path, "account-day@ffffffffffff"))

    with pytest.raises(ModelError, match="these are results of 'account-day@0123456789ab', not of"):
        load_results(tmp_path, "account-day@ffffffffffff")


def test_changed_results_are_refused(tmp_path):
    path = save_results(tmp_path, MODEL, RESULTS)
    path.write_text(path.read_text().replace("0.9", "0.99"))

    with pytest.raises(ModelError, match="does not fit its sha256"):
        load_results(tmp_path, MODEL)


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"splits": [{**ROW, "auc": 7}]}, "auc of the split by farm is 7, which is no share"),
        ({"splits": [{**ROW, "auc": "high"}]}, "auc of the split by farm is 'high'"),
        ({"splits": [{**ROW, "split": None}]}, "has None as its split"),
        ({"splits": "all"}, "splits is no list of rows"),
        ({"warnings": [{}]}, "warnings is no list of sentences"),
    ],
    ids=["beyond-one", "text", "nameless", "no-list", "no-sentence"],
)
def test_what_are_no_results_is_refused(tmp_path, changed, words):
    with pytest.raises(ModelError, match=words):
        save_results(tmp_path, MODEL, RESULTS | changed)


def outcome(directory):
    try:
        return load_results(directory, MODEL)
    except GamewardenError as error:
        return "one line of ours" if len(str(error).splitlines()) == 1 else str(error)


@given(st.integers(0, 400), st.binary(min_size=1, max_size=3))
def test_damage_anywhere_is_an_error_of_ours_or_does_no_harm(tmp_path_factory, place, noise):
    path = save_results(tmp_path_factory.mktemp("models"), MODEL, RESULTS)
    content = path.read_bytes()
    path.write_bytes(content[:place] + noise + content[place + len(noise) :])

    assert outcome(path.parent) in ({"model": MODEL, **RESULTS}, "one line of ours")
