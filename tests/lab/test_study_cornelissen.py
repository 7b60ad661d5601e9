import polars as pl
import pytest

from gamewarden.lab.studies import cornelissen
from gamewarden.lab.studies.ragnarok_traffic import recorded_windows, windows_by_role

pytestmark = pytest.mark.nightly


@pytest.fixture(scope="module")
def study():
    return cornelissen.run(seeds=1, sessions=10)


def test_the_printed_table_has_a_mean_score_of_0_938864_and_three_errors_not_four():
    assert round(cornelissen.published_score(), 6) == 0.938864
    assert cornelissen.published_errors() == 3
    assert len(cornelissen.PLAYERS_3_2) == len(cornelissen.BOTS_3_2) == 25


def test_the_ten_of_table_3_1_were_all_right():
    for activation, bot in zip(cornelissen.TABLE_3_1, cornelissen.BOTS_3_1, strict=True):
        assert (activation >= 0.5) is bot


def test_every_method_is_tried_by_both_protocols_with_published_numbers_beside_where_there_are_any(study):
    errors = study.frame.filter(figure="left out once: errors at 0.5")

    assert errors["method"].to_list() == list(cornelissen.METHODS)
    assert errors["published"].to_list() == [3.0, *[None] * (len(cornelissen.METHODS) - 1)]
    assert study.frame.filter(figure="split: errors of the ten asked").height == len(cornelissen.METHODS)
    assert study.frame["figure"].str.contains("cut of 0.909 (FPR)", literal=True).sum() == len(cornelissen.METHODS)


def test_whoever_is_left_out_has_not_taught(study):
    run = study.runs[0]
    mine = run.answers.filter(method=cornelissen.Z_SCORED)
    method = cornelissen.METHODS[cornelissen.Z_SCORED]
    rows = method.rows(run.measured, run.world.labels())
    first = rows["actor"][0]

    from gamewarden.learning.calibration import sigmoid
    from gamewarden.learning.columns import matrix
    from gamewarden.learning.out_of_fold import bots

    values, bot = matrix(rows, method.columns), bots(rows)
    alone = sigmoid(method.classifier(values[1:], bot[1:]).decide(values[:1]))[0]
    assert mine.filter(actor=first)["activation"][0] == alone


def test_tables_stand_beside_the_thesis_and_call_themselves_synthetic(study):
    tables = dict(study.more)

    assert "SYNTHETIC" in study.title
    assert all("ynthetic" in name or "SYNTHETIC" in name or "Recorded" in name for name in tables)
    beside = next(table for name, table in tables.items() if name.startswith("Table 3.2"))
    assert beside.columns == ["session", "published", "synthetic", "z_scores", "persona"]
    assert beside.height == 20


def test_errors_by_persona_add_up_to_all_errors(study):
    by_persona = next(table for name, table in study.more if name.startswith("Who is judged wrong"))

    for method in cornelissen.METHODS:
        total = study.frame.filter(method=method, figure="left out once: errors at 0.5")["synthetic"][0]
        assert by_persona[method].sum() == total


def test_pictures_are_drawn(study, tmp_path):
    drawn = cornelissen.draw(study, tmp_path)

    assert [path.name for path in drawn] == [
        "cornelissen-activations.png",
        "cornelissen-numbers.png",
        "cornelissen-tracks.png",
    ]
    assert all(path.read_bytes().startswith(b"\x89PNG") for path in drawn)


def test_windows_are_counted_by_role_and_tests_that_abstain_are_left_out():
    windows = pl.DataFrame(
        {
            "bot_plays": True,
            "role": ["a", "a", "b"],
            "actor": ["x", "y", "x"],
            "since": [0, 0, 0],
            "until": [2_000_000, 4_000_000, 1_000_000],
            "bot": [True, False, False],
            "lengths": [True, True, False],
            "interarrival": [True, False, False],
            "autocorrelation": [None, True, None],
        }
    ).with_columns(pl.col("since", "until").cast(pl.Datetime("us", "UTC")))

    table = windows_by_role(windows)

    assert table.rows() == [(True, "a", 2, 2, 3.0, 0.5, 1.0, 0.5, 1.0), (True, "b", 1, 1, 1.0, 0.0, 0.0, 0.0, None)]


def test_without_recorded_traffic_the_study_says_so_and_goes_on(monkeypatch, tmp_path):
    monkeypatch.setenv("GAMEWARDEN_DATA", str(tmp_path))

    table, notes = recorded_windows()

    assert table.height == 0
    assert "No recorded Ragnarok traffic is at hand" in notes[0]
