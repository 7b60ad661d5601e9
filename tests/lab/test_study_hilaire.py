"""The study of the traffic test, on little."""

import polars as pl
import pytest

from gamewarden.lab.studies import hilaire

pytestmark = pytest.mark.nightly


@pytest.fixture(scope="module")
def study():
    return hilaire.run(seeds=1, hours=1)


def test_it_stands_beside_table_iii_and_says_it_is_synthetic(study):
    first = study.frame.row(0, named=True)

    assert (first["published_accuracy"], first["published_false_alarm"]) == (0.8606, 0.0774)
    assert 0.75 < first["accuracy"] < 0.95
    assert "SYNTHETIC" in study.title
    assert all("synthetic" in name for name, _ in study.more)
    assert study.notes[0].startswith("Ours are synthetic")


def test_the_network_changes_no_length_and_hardly_an_answer(study):
    by = {(row["setting"], row["answer"]): row["accuracy"] for row in study.frame.iter_rows(named=True)}

    for answer in ("lengths alone", "autocorrelation alone"):
        assert by[hilaire.CLIENT, answer] == by[hilaire.SERVER, answer]
    assert by[hilaire.CLIENT, "the tree"] == pytest.approx(by[hilaire.SERVER, "the tree"], abs=0.02)


def test_hiding_costs_work_or_bytes_and_hides(study):
    ways = {row["way"]: row for row in dict(study.more)["Hiding and what it costs (synthetic)"].iter_rows(named=True)}

    assert ways["as it is"]["caught"] > ways["jitters its timing"]["caught"] > ways["does both"]["caught"]
    assert ways["jitters its timing"]["work_done"] < 0.95
    assert ways["pads its packets"]["bytes_for_the_same_work"] > 1.05


def test_experience_is_asked_with_and_without_a_difference(study):
    bands = dict(study.more)["Experience (synthetic)"]

    assert bands["difference"].to_list() == ["built in"] * 3 + ["none"] * 3
    assert bands["experience"].to_list()[:3] == ["up to 30 h", "30 to 300 h", "over 300 h"]
    assert bands["people"].sum() == 2 * len(hilaire.EXPERIENCE)


def test_measures_count_as_the_paper_does():
    says, truth = pl.Series([True, True, False, False, True]), pl.Series([True, False, True, False, True])

    found = hilaire._measures(says, truth)

    assert (found.accuracy, found.false_alarm, found.recall, found.fpr) == (3 / 5, 1 / 3, 2 / 3, 1 / 2)


def test_four_figures_are_drawn(study, tmp_path):
    drawn = hilaire.draw(study, tmp_path)

    assert [path.name for path in drawn] == [
        "hilaire-1-gaps.png",
        "hilaire-2-lengths.png",
        "hilaire-3-correlations.png",
        "hilaire-4-experience.png",
    ]
    assert all(path.read_bytes().startswith(b"\x89PNG") for path in drawn)
