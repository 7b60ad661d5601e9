"""Who says so."""

import polars as pl
import pytest

from gamewarden.learning.label_sources import made_by_a_model, without_model_made


@pytest.mark.parametrize(
    "source",
    ["model", "Model", "detector", "model:v3", "account-day@4f0c11aa22bb", "account-day", "prediction", "pseudo label"],
)
def test_a_source_that_names_a_program_is_one(source):
    assert made_by_a_model(source, ("account-day",))


@pytest.mark.parametrize("source", [None, "rater", "ban", "appeal", "simulation", "gm@company.example", "models-team"])
def test_a_source_that_names_people_is_none(source):
    assert not made_by_a_model(source, ("account-day",))


def test_labels_of_a_model_are_counted_by_their_source():
    labels = pl.DataFrame({"actor": list("abcd"), "bot": True, "source": ["model", "x@0123456789ab", "rater", None]})

    known = without_model_made(labels)

    assert known.frame["actor"].to_list() == ["c", "d"]
    assert known.left_out == {
        "labels that a model made (model)": 1,
        "labels that a model made (x@0123456789ab)": 1,
    }
