"""Several sources as one: logs, packets and an account table of the same players in one verdict."""

import shutil

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from commands import apart, done
from gamewarden import pipeline, readers
from gamewarden.config import Config
from gamewarden.core.clock import Clock
from gamewarden.core.durations import DAY
from gamewarden.detectors.fusion.recipe import Fusion
from gamewarden.errors import ModelError, ReadError
from gamewarden.pipeline.judging import Lean
from gamewarden.readers.together import KnownAs, Together
from gamewarden.tables import write_table
from gamewarden.verdicts.timeless import in_periods
from several_made_up import make_several, opened

pytestmark = pytest.mark.integration


@pytest.fixture(scope="module")
def game(tmp_path_factory):
    return make_several(tmp_path_factory.mktemp("several"))


@pytest.fixture(scope="module")
def fused(game, tmp_path_factory):
    """The same game with a fusion of all three models."""
    place = shutil.copytree(game, tmp_path_factory.mktemp("fused") / "game")
    everything = opened(place, "log", "packets", "accounts")
    pipeline.fit_fusion(
        everything,
        place / "labels.csv",
        place / "models",
        place / "models",
        fusion=Fusion(folds=3),
        every=None,
        config=Config(),
    )
    return place


def halves(place, tmp_path, table, kind, condition):
    """Two files of a table's rows, as one source."""
    rows = pl.read_parquet(place / table)
    for name, part in (("first", rows.filter(condition)), ("second", rows.filter(~condition))):
        write_table(part, tmp_path / f"{name}.parquet")
    parts = [KnownAs(readers.open(tmp_path / f"{name}.parquet"), (kind,)) for name in ("first", "second")]
    return Together(parts), KnownAs(readers.open(place / table), (kind,))


def test_two_logs_are_scored_as_the_one_log_they_were_cut_from(game, tmp_path):
    combat = pl.col("kind").is_in(["combat.kill", "skill.use", "item.use"])
    several, one = halves(game, tmp_path, "events.parquet", "events", combat)
    scores, known = (pipeline.score(source, game / "models") for source in (several, one))

    assert_frame_equal(scores.frame, known.frame, check_exact=True)
    both, whole = several.events(), one.events()
    assert (both.shows, both.coverage, both.columns) == (whole.shows, whole.coverage, whole.columns)


def test_two_packet_logs_are_scored_as_one(game, tmp_path):
    several, one = halves(game, tmp_path, "packets.parquet", "packets", pl.col("actor") < "bot015")
    scores, known = (pipeline.score(source, game / "models") for source in (several, one))

    assert_frame_equal(scores.frame, known.frame, check_exact=True)
    assert several.packets().rows is None or several.packets().rows == pl.read_parquet(game / "packets.parquet").height


def test_a_code_means_the_same_actor_in_every_batch_of_several_packet_logs(game, tmp_path):
    several, _ = halves(game, tmp_path, "packets.parquet", "packets", pl.col("actor") < "bot015")
    dictionaries = [batch.column("actor").dictionary.to_pylist() for batch in several.packets().batches()]

    longest = max(dictionaries, key=len)
    assert len(longest) == 50
    assert all(longest[: len(names)] == names for names in dictionaries)


def test_what_several_sources_can_be_read_as_is_what_each_of_them_can(game):
    several = opened(game, "lake", "packets", "accounts")

    assert several.kinds == ("events", "packets", "table")
    assert several.sure
    assert several.columns == readers.open(game / "accounts.csv").columns
    with pytest.raises(ReadError, match="messages"):
        several.messages()


def test_several_sources_are_known_again_by_what_each_holds(game, tmp_path):
    first = opened(game, "lake", "packets").fingerprint()
    other = shutil.copytree(game, tmp_path / "other")
    write_table(pl.read_parquet(game / "packets.parquet").head(1000), other / "packets.parquet")

    assert opened(game, "lake", "packets").fingerprint() == first
    assert opened(other, "lake", "packets").fingerprint().digest != first.digest
    assert opened(game, "lake").fingerprint().digest != first.digest


def test_two_account_tables_are_refused_in_one_line(game):
    table = KnownAs(readers.open(game / "accounts.csv"), ("table",))

    with pytest.raises(ReadError, match="one account table"):
        Together([table, table]).rows()


def test_all_models_of_all_sources_are_in_one_verdict(game):
    alone = pipeline.judge(readers.open(game / "events.parquet"), game / "models")
    found = pipeline.judge(opened(game, "log", "packets", "accounts"), game / "models")

    assert {model.card.detector for model in found.models} == {"account-day", "traffic", "account-table"}
    assert found.verdicts.height == alone.verdicts.height == 50 * 4
    assert alone.verdicts["agree"].max() == 1
    assert found.verdicts["agree"].max() == 3


def test_a_row_without_a_period_speaks_in_every_period_that_another_source_judges(game):
    beside = pipeline.judge(opened(game, "log", "accounts"), game / "models")
    alone = pipeline.judge(readers.open(game / "events.parquet"), game / "models")
    table = beside.scores.filter(detector="account-table")

    assert table.select("since", "until").null_count().row(0) == (50, 50)
    moved = beside.verdicts.join(alone.verdicts, on=("actor", "since", "until"), suffix="_alone")
    likely = set(table.filter(pl.col("fpr") < 0.05)["actor"])
    assert likely
    for row in moved.iter_rows(named=True):
        assert row["agree"] - row["agree_alone"] == (row["actor"] in likely)


def test_a_row_without_a_period_says_nothing_where_no_other_source_has_judged(game):
    scores = pipeline.judge(opened(game, "log", "accounts"), game / "models").scores
    silent = pl.col("actor") == "bot003"
    quiet = scores.with_columns(probability=pl.when(~silent | pl.col("since").is_null()).then("probability"))

    placed = in_periods(quiet, Clock(DAY))
    assert placed.filter(silent, detector="account-table").height == 0
    assert placed.filter(actor="bot004", detector="account-table").height == 4
    assert placed["since"].null_count() == 0


def test_an_account_table_alone_is_refused_in_one_line(game):
    for judge in (pipeline.judge, pipeline.judge_lean):
        with pytest.raises(ModelError, match="rows belong to no period"):
            judge(readers.open(game / "accounts.csv"), game / "models")


@pytest.mark.parametrize(
    "names", [("lake", "accounts"), ("lake", "packets"), ("lake", "packets", "accounts"), ("packets", "lake")]
)
def test_a_lake_beside_other_sources_is_judged_a_period_at_a_time_to_the_same_bits(game, names):
    places = opened(game, *names), game / "models"
    lean, whole = pipeline.judge_lean(*places), pipeline.judge(*places)

    assert isinstance(lean, Lean)
    assert_frame_equal(lean.verdicts, whole.verdicts, check_exact=True)
    assert lean.notes == whole.notes
    assert lean.caveats == whole.caveats


def test_a_fusion_is_learned_from_all_sources_and_used(fused):
    places = opened(fused, "lake", "packets", "accounts"), fused / "models"
    lean, whole = pipeline.judge_lean(*places), pipeline.judge(*places)

    assert lean.fusion is not None
    assert {term.detector for term in lean.fusion.terms} == {"account-day", "traffic", "account-table"}
    assert all(term.least is not None for term in lean.fusion.terms)
    assert_frame_equal(lean.verdicts, whole.verdicts, check_exact=True)
    assert (lean.notes, lean.caveats) == (whole.notes, whole.caveats)


@pytest.mark.parametrize("place", ["game", "fused"])
def test_documents_keep_what_verdicts_of_several_sources_rest_on(request, place, tmp_path):
    game = request.getfixturevalue(place)
    source = opened(game, "lake", "packets", "accounts")
    for name, judge in (("lean", pipeline.judge_lean), ("whole", pipeline.judge)):
        pipeline.record(judge(source, game / "models"), source, tmp_path / name, every_one=True)
    files = [{path.name: path.read_bytes() for path in (tmp_path / name).iterdir()} for name in ("lean", "whole")]
    assert files[0] == files[1]
    assert len(files[0]) == 200

    some = sorted((tmp_path / "lean").iterdir())[:20]
    told = pipeline.verify(some, pipeline.VerifyOptions(game / "models", source))
    assert told["holds"].all(), told["says"].to_list()
    assert told["says"].str.contains("measures the same").all()


def test_a_document_with_another_row_of_the_account_table_does_not_hold(game, tmp_path):
    source = opened(game, "lake", "accounts")
    pipeline.record(pipeline.judge_lean(source, game / "models"), source, tmp_path / "kept", every_one=True)
    other = shutil.copytree(game, tmp_path / "other")
    changed = pl.read_csv(game / "accounts.csv").with_columns(pl.col("friends") + 20)
    write_table(changed, other / "accounts.csv")

    some = sorted((tmp_path / "kept").iterdir())[:3]
    told = pipeline.verify(some, pipeline.VerifyOptions(game / "models", opened(other, "lake", "accounts")))
    assert not told["holds"].any()
    assert told["says"].str.contains("friends").all()


def test_how_many_names_the_sources_share_is_said(game, tmp_path):
    other = shutil.copytree(game, tmp_path / "other")
    renamed = pl.read_csv(game / "accounts.csv").with_columns(actor=pl.col("actor").str.replace("bot", "Bot"))
    write_table(renamed, other / "accounts.csv")
    found = pipeline.judge_lean(opened(other, "lake", "packets", "accounts"), game / "models")

    (line,) = (note for note in found.notes if note.startswith("Names"))
    assert "50 actors in events: 50 of them in packets, 26 in table" in line
    assert "50 actors in table: 26 of them in events, 26 in packets" in line
    alone = pipeline.judge_lean(readers.open(game / "lake"), game / "models")
    assert not any(note.startswith("Names") for note in alone.notes)


def test_the_commands_take_several_sources(game, fused):
    places = game / "lake", game / "packets.parquet", game / "accounts.csv"
    scored = done("score", *places, "--models", game / "models", "--json")
    judged = done("judge", *places, "--models", fused / "models")
    told = done("explain", "bot003", *places, "--models", game / "models", "--detector", "account-table")

    for detector in ("account-day", "traffic", "account-table"):
        assert f'"{detector}"' in scored.stdout
    assert "Names" in judged.stderr
    assert "a typical human has" in told.stdout


def test_verify_takes_all_the_sources_that_were_judged(game, tmp_path):
    places = game / "lake", game / "packets.parquet", game / "accounts.csv"
    done("judge", *places, "--models", game / "models", "--to", tmp_path / "kept", "--all")
    sources = [argument for place in places for argument in ("--source", place)]
    told = done("verify", tmp_path / "kept", "--models", game / "models", *sources)

    assert "the source is the same and measures the same" in told.stdout.replace("\n", " ")


def test_the_fusion_command_takes_several_sources(game, tmp_path):
    models = shutil.copytree(game / "models", tmp_path / "models")
    places = game / "events.parquet", game / "packets.parquet", game / "accounts.csv"
    done("fit", "fusion", *places, "--labels", game / "labels.csv", "--models", models, "--folds", "3")

    (kept,) = models.glob("fusion@*.json")
    assert "traffic@" in kept.read_text()


def test_a_source_that_no_model_judges_is_named_and_left_out(game, tmp_path):
    models = tmp_path / "models"
    models.mkdir()
    for path in (game / "models").glob("account-day@*.json"):
        shutil.copy(path, models)
    ended = apart("judge", game / "lake", game / "packets.parquet", "--models", models)

    assert ended.returncode == 0, ended.stderr
    assert f"packets.parquet is left out: {models} has no model of packets" in ended.stderr.replace("\n", " ")


def test_sources_of_which_no_model_judges_any_are_refused_in_one_line(game, tmp_path):
    shutil.copytree(game / "models", tmp_path / "models", ignore=shutil.ignore_patterns("account-*", "*day*"))
    ended = apart("judge", game / "lake", game / "lake", "--models", tmp_path / "models")

    assert ended.returncode == 1
    assert "judges packets, which none of the sources holds" in ended.stderr.replace("\n", " ")
