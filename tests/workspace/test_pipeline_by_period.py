"""Judging a lake a period at a time: the same verdicts to the last bit, and nothing held but them."""

import shutil
import tracemalloc
from datetime import timedelta

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from gamewarden import pipeline, readers
from gamewarden.config import Config
from gamewarden.core.clock import Clock
from gamewarden.core.durations import DAY, HOUR
from gamewarden.detectors.fusion.recipe import Fusion
from gamewarden.errors import ModelError
from gamewarden.features.self_similarity.recipe import SelfSimilarity
from gamewarden.pipeline import judging
from gamewarden.pipeline.judging import Lean, periods_of_stretches
from gamewarden.presentation.judgement import judgement_in_short, judgement_summary
from gamewarden.store.lake import Lake
from gamewarden.tables import VERDICTS, write_table
from gamewarden.verdicts.compact import Compact
from upkeep_made_up import START, Log, make_game

pytestmark = pytest.mark.integration

LOGS = {
    "quiet": Log(days=5),
    "a day in another language": Log(days=6, renamed=(3,)),
    "a day without kills": Log(days=6, silent=(2,)),
    "bots that change": Log(days=6, adapts=3),
    "days without events": Log(days=7, empty=(3, 4)),
    "a thin day": Log(days=5, thin=(4,)),
}


@pytest.fixture(scope="module")
def games(tmp_path_factory):
    made = {}

    def game(name):
        if name not in made:
            made[name] = make_game(tmp_path_factory.mktemp("game"), LOGS[name])
            more = pipeline.detector_recipe("self-similarity", SelfSimilarity(), {}) if name == "quiet" else None
            if more is not None:
                pipeline.fit(
                    more,
                    readers.open(made[name] / "early.parquet"),
                    made[name] / "labels.csv",
                    made[name] / "models",
                )
        return made[name]

    return game


def both(game, **options):
    places = readers.open(game / "lake"), game / "models"
    lean = pipeline.judge_lean(*places, **options)
    assert isinstance(lean, Lean)
    return lean, pipeline.judge(*places, **options)


@pytest.mark.parametrize("name", LOGS)
def test_verdicts_and_all_that_is_said_are_the_same_as_of_everything_at_once(games, name):
    lean, whole = both(games(name))

    assert_frame_equal(lean.verdicts, whole.verdicts, check_exact=True)
    assert lean.notes == whole.notes
    assert lean.caveats == whole.caveats
    assert judgement_summary(lean) == judgement_summary(whole)
    assert_frame_equal(judgement_in_short(lean), judgement_in_short(whole), check_exact=True)
    assert_frame_equal(judgement_in_short(lean, 7), judgement_in_short(whole).head(7), check_exact=True)


def test_a_fusion_gives_the_same_verdicts_a_period_at_a_time(games, tmp_path):
    game = games("quiet")
    fused = shutil.copytree(game, tmp_path / "fused")
    pipeline.fit_fusion(
        readers.open(game / "early.parquet"),
        game / "labels.csv",
        game / "models",
        fused / "models",
        fusion=Fusion(folds=3),
        every=None,
        config=Config(),
    )
    lean, whole = both(fused)

    assert lean.fusion is not None
    assert_frame_equal(lean.verdicts, whole.verdicts, check_exact=True)
    assert lean.notes == whole.notes


def test_measuring_as_a_model_does_shows_what_the_model_is_shown(games):
    game = games("a day in another language")
    feature, model = pipeline.recipe_like("self-similarity", game / "models", None, {})

    told = pipeline.measure_told(feature, readers.open(game / "lake"), model)

    shown = pipeline.judge(readers.open(game / "lake"), game / "models").features[model.card.id]
    assert_frame_equal(told.frame, shown.drop("covered"), check_exact=True)


def test_periods_of_several_days_are_judged_whole(games):
    lean, whole = both(games("quiet"), every=2 * DAY)

    assert_frame_equal(lean.verdicts, whole.verdicts, check_exact=True)


def test_periods_that_cut_rows_apart_are_judged_all_at_once(games):
    game = games("quiet")
    found = pipeline.judge_lean(readers.open(game / "lake"), game / "models", every=12 * HOUR)

    assert isinstance(found, pipeline.Judgement)


def test_documents_of_verdicts_are_the_same_to_the_letter(games, tmp_path):
    game = games("bots that change")
    lean, whole = both(game)
    first = pipeline.record(lean, readers.open(game / "lake"), tmp_path / "lean", every_one=True)
    again = pipeline.record(whole, readers.open(game / "lake"), tmp_path / "whole", every_one=True)

    assert first == again
    lean_files, whole_files = (
        {path.name: path.read_bytes() for path in (tmp_path / place).rglob("*") if path.is_file()}
        for place in ("lean", "whole")
    )
    assert lean_files == whole_files
    assert lean_files


def slowed(game, place):
    """A lake in which everybody does what it did before, twenty times as slowly."""
    midnight = pl.col("at").dt.truncate("1d")
    slow = pl.read_parquet(game / "events.parquet").with_columns(midnight + (pl.col("at") - midnight) * 20)
    write_table(slow, place / "slow.parquet")
    pipeline.read(readers.open(place / "slow.parquet"), place / "lake")
    return place / "lake"


def test_a_lake_of_strangers_is_refused_with_the_same_words(games, tmp_path):
    game = games("bots that change")
    lake, words = slowed(game, tmp_path), []
    for judge in (pipeline.judge_lean, pipeline.judge):
        with pytest.raises(ModelError) as refused:
            judge(readers.open(lake), game / "models")
        words.append(str(refused.value))

    assert words[0] == words[1]
    assert "far beyond what the model learned from" in words[0]


def test_a_model_to_which_all_is_strange_is_left_out_and_the_others_judge(games, tmp_path):
    game = games("quiet")
    places = readers.open(slowed(game, tmp_path)), game / "models"
    lean, whole = pipeline.judge_lean(*places), pipeline.judge(*places)

    assert [model.card.detector for model in lean.models] == ["self-similarity"]
    assert_frame_equal(lean.verdicts, whole.verdicts, check_exact=True)
    assert (lean.notes, lean.caveats) == (whole.notes, whole.caveats)


def test_no_step_holds_more_than_its_period(games, monkeypatch):
    held = []
    inner = judging.judged

    def counting(features, *others):
        held.append(max(table.height for table in features.values()))
        return inner(features, *others)

    monkeypatch.setattr(judging, "judged", counting)
    game = games("quiet")
    pipeline.judge_lean(readers.open(game / "lake"), game / "models")

    assert held == [60] * 5


def test_a_lake_with_an_event_of_the_year_9979_is_judged_without_walking_there(games, tmp_path):
    game = games("days without events")
    events = pl.read_parquet(game / "events.parquet")
    far = events.head(1).with_columns(pl.col("at") + timedelta(days=2_900_000), seq=pl.lit(10**9, pl.Int64))
    write_table(pl.concat([events, far]), tmp_path / "log.parquet")
    pipeline.read(readers.open(tmp_path / "log.parquet"), tmp_path / "lake")
    found = pipeline.judge_lean(readers.open(tmp_path / "lake"), game / "models")

    assert len(periods_of_stretches(Lake(tmp_path / "lake").stretches, Clock(DAY))) == 6
    assert found.rows == 5 * 60 + 1


def made_up(actors, days):
    """VERDICTS of so many actors, day by day."""
    for day in range(days):
        begin = START + timedelta(days=day)
        yield pl.DataFrame(
            {
                "actor": [f"account{number:09d}" for number in range(actors)],
                "since": [begin] * actors,
                "until": [begin + timedelta(days=1)] * actors,
                "probability": [number / actors for number in range(actors)],
                "fpr": [None if number % 5 == day else 1 - number / actors for number in range(actors)],
                "agree": [number % 2 for number in range(actors)],
                "streak": [day] * actors,
                "covered": [1.0] * actors,
                "far": [None] * actors,
            },
            schema=dict(VERDICTS.columns),
        )


def test_compact_verdicts_come_out_as_they_went_in():
    compact = Compact()
    for verdicts in made_up(50, 4):
        compact.add(verdicts.sample(fraction=0.8, shuffle=True, seed=4).sort("actor"))
    parts = [verdicts.sample(fraction=0.8, shuffle=True, seed=4).sort("actor") for verdicts in made_up(50, 4)]

    assert_frame_equal(compact.table(), pl.concat(parts).sort("actor", "since"), check_exact=True)
    for piece, part in zip(compact.pieces(), parts, strict=True):
        assert_frame_equal(piece, part, check_exact=True)


def test_compact_verdicts_take_a_third_of_their_table():
    compact = Compact()
    for verdicts in made_up(2_000, 10):
        compact.add(verdicts)
    held = compact._names.estimated_size() + sum(piece.rows.estimated_size() for piece in compact._pieces)

    assert held < compact.table().estimated_size() / 3


def test_judging_twice_the_days_holds_little_more(games, tmp_path):
    game = games("quiet")
    events = pl.read_parquet(game / "events.parquet")
    peaks = []
    for times in (1, 3):
        shifted = [events.with_columns(pl.col("at") + timedelta(days=5 * copy)) for copy in range(times)]
        numbered = pl.concat(shifted).drop("seq").with_row_index("seq").with_columns(pl.col("seq").cast(pl.Int64))
        place = tmp_path / f"{times}"
        place.mkdir()
        write_table(numbered, place / "log.parquet")
        pipeline.read(readers.open(place / "log.parquet"), place / "lake")
        tracemalloc.start()
        pipeline.judge_lean(readers.open(place / "lake"), game / "models")
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()

    assert peaks[1] < 1.5 * peaks[0]
