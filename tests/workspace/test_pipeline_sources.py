"""Any source through the pipeline: what it is decides who judges it, and where it stands changes no number."""

import pytest
from polars.testing import assert_frame_equal

from capture_bytes import pcap
from gamewarden import pipeline, readers
from gamewarden.errors import ModelError, ReadError
from gamewarden.features.account_table.recipe import AccountTable
from gamewarden.features.self_similarity.recipe import SelfSimilarity
from gamewarden.readers.options import LogOptions, SourceOptions
from made_up import action_log, labels_of
from tables_made_up import account_table

WISHES = pipeline.RankOptions(0.0, 0)


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A log as a file and as a lake, and a model of its days."""
    place = tmp_path_factory.mktemp("sources")
    action_log().write_parquet(place / "log.parquet")
    labels_of(12, 14, source="rater").write_csv(place / "labels.csv")
    pipeline.read(readers.open(place / "log.parquet"), place / "lake")
    recipe = pipeline.detector_recipe("account-day", SelfSimilarity(min_windows=10), {})
    pipeline.fit(recipe, readers.open(place / "log.parquet"), place / "labels.csv", place / "models")
    return place


@pytest.fixture(params=["file", "lake", "memory", "arrow"])
def source(request, place):
    return {
        "file": lambda: readers.open(place / "log.parquet"),
        "lake": lambda: readers.open(place / "lake"),
        "memory": lambda: readers.open(action_log()),
        "arrow": lambda: readers.open(action_log().to_arrow()),
    }[request.param]()


def test_events_score_rank_and_explain_the_same_wherever_they_stand(source, place):
    file = readers.open(place / "log.parquet")

    scores, known = (pipeline.score(one, place / "models").frame for one in (source, file))
    assert_frame_equal(scores, known, check_exact=True)
    ranked, listed = (pipeline.rank(one, place / "models", WISHES).frame for one in (source, file))
    assert_frame_equal(ranked, listed, check_exact=True)
    story, told = (pipeline.explain("bot001", one, place / "models", None).evidence for one in (source, file))
    assert_frame_equal(story, told, check_exact=True)
    judged, before = (pipeline.judge_lean(one, place / "models").verdicts for one in (source, file))
    assert_frame_equal(judged.sort("actor", "since"), before.sort("actor", "since"), check_exact=True)


def test_a_model_fitted_on_a_table_in_memory_is_the_one_fitted_on_its_file(source, place, tmp_path):
    recipe = pipeline.detector_recipe("account-day", SelfSimilarity(min_windows=10), {})
    fitted = pipeline.fit(recipe, source, place / "labels.csv", tmp_path)

    assert fitted.path.read_bytes() == (place / "models" / fitted.path.name).read_bytes()


def test_a_table_with_the_columns_of_a_model_of_tables_is_judged_by_it(place, tmp_path):
    known = account_table().drop("character")
    asked = pipeline.TableFitOptions(
        AccountTable(actor="actor", group="account", label="verdict"), None, {"rounds": 30, "runs": 1}
    )
    pipeline.fit_table(asked, readers.open(known), tmp_path)
    for path in (place / "models").glob("*.json"):
        (tmp_path / path.name).write_bytes(path.read_bytes())
    new = account_table(10, 20, seed=8).drop("character", "verdict", "account")
    new.write_csv(tmp_path / "new.csv")

    of_table, of_log = (pipeline.score(readers.open(one), tmp_path).frame for one in (new, action_log()))
    assert set(of_table["detector"]) == {"account-table"}
    assert set(of_log["detector"]) == {"account-day"}
    from_file = pipeline.score(readers.open(tmp_path / "new.csv"), tmp_path).frame
    assert_frame_equal(of_table, from_file, check_exact=True)


def test_a_source_that_no_model_judges_says_what_it_holds(place, tmp_path):
    (tmp_path / "tap.pcap").write_bytes(pcap([]))

    with pytest.raises(ModelError, match=r"judges events and .* holds packets or messages; fit a detector of packets"):
        pipeline.score(readers.open(tmp_path / "tap.pcap"), place / "models")


def test_a_table_in_memory_cannot_be_read_into_a_lake(tmp_path):
    with pytest.raises(ReadError, match="is a table in memory, not a log file; name the files to read"):
        pipeline.read(readers.open(action_log()), tmp_path / "lake")


def test_how_to_measure_again_names_the_mapping_it_was_read_with(place):
    mapped = readers.open(place / "log.parquet", SourceOptions(LogOptions(mapping=str(place / "map.toml"))))
    (place / "map.toml").write_text("[columns]\n")

    (line,) = [line for line in pipeline.rank(mapped, place / "models", WISHES).notes if "gives the same" in line]
    assert f"--map {place / 'map.toml'}" in line
