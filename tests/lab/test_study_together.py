"""The study of one verdict from three traces, in small."""

import polars as pl
import pytest

from gamewarden.lab.studies import together
from gamewarden.lab.world.traces import FAMILIES

pytestmark = pytest.mark.nightly

ACCOUNTS = 160


@pytest.fixture(scope="module")
def study():
    return together.run(accounts=ACCOUNTS, seeds=1)


def test_nobody_who_is_asked_has_taught(study):
    (run,) = study.runs

    assert set(run.days["actor"]).isdisjoint(run.taught)
    assert len(run.taught) == pytest.approx(ACCOUNTS / 2, abs=6)
    for family in FAMILIES:
        assert run.days.filter(family=family).height > 0


def test_every_way_is_asked_of_the_same_days(study):
    (run,) = study.runs

    assert run.days.select(together.WAYS).null_count().sum_horizontal()[0] == 0
    assert run.days.select("actor", "since").is_duplicated().sum() == 0


def test_each_trace_sees_the_families_it_is_meant_to_see(study):
    seen = {
        (row["family"], row["way"]): row["mean"] for row in study.long.filter(figure=together.AUC).iter_rows(named=True)
    }

    for family, shows, hides in (
        ("macro", "packets", "log"),
        ("paced", "log", "packets"),
        ("clientless", "messages", "packets"),
    ):
        assert seen[family, shows] > 0.9
        assert seen[family, hides] < 0.75


def test_all_traces_together_rank_bots_better_than_any_alone(study):
    aucs = study.frame.filter(family=together.EVERYBODY, figure=together.AUC).row(0, named=True)

    assert aucs["all"] > max(aucs[trace] for trace in together.TRACES)


def test_the_tables_call_themselves_synthetic_and_say_what_was_left_out(study):
    assert "SYNTHETIC" in study.title
    assert any("judged by all three" in note for note in study.notes)
    assert study.frame.columns[:2] == ["family", "figure"]
    assert set(study.frame["family"]) == {together.EVERYBODY, *FAMILIES}


def test_a_way_that_says_the_same_of_everybody_catches_nobody(study):
    (run,) = study.runs
    blind = run.days.with_columns(pl.lit(0.0).alias(way) for way in together.WAYS)
    found = together.figures_of(blind)

    assert found.filter(figure=together.CAUGHT)["value"].unique().to_list() == [0.0]
    assert found.filter(figure=together.AUC)["value"].unique().to_list() == [0.5]


def test_the_picture_is_drawn(study, tmp_path):
    (path,) = together.draw(study, tmp_path)

    assert path.read_bytes().startswith(b"\x89PNG")
