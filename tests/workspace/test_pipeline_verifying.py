"""Verdicts that last: kept with all they rest on, and found out when anything of it has changed."""

import json
import shutil
from dataclasses import replace
from datetime import timedelta

import polars as pl
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from gamewarden import pipeline, readers
from gamewarden.cli import root
from gamewarden.config import Config
from gamewarden.core.durations import MINUTE
from gamewarden.detectors.fusion.recipe import Fusion
from gamewarden.errors import GamewardenError, VerdictError
from gamewarden.features.actions.recipe import Actions
from gamewarden.features.self_similarity.recipe import SelfSimilarity
from gamewarden.pipeline import VerifyOptions
from gamewarden.store import models, sealed, verdicts
from gamewarden.tables import TIME
from limits import limited
from made_up import action_log, labels_of

pytestmark = pytest.mark.integration


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A log, a shelf with three models of two families, and every verdict of it."""
    place = tmp_path_factory.mktemp("judged")
    action_log().write_parquet(place / "log.parquet")
    labels_of(12, 14, source="rater").write_csv(place / "labels.csv")
    for name, feature in (
        ("account-day", SelfSimilarity(min_windows=10)),
        ("self-similarity", SelfSimilarity(min_windows=10)),
        ("actions-two-stage", Actions(chunk=30 * MINUTE)),
    ):
        recipe = pipeline.detector_recipe(name, feature, {})
        pipeline.fit(recipe, readers.open(place / "log.parquet"), place / "labels.csv", place / "models")
    judged = pipeline.judge(readers.open(place / "log.parquet"), place / "models")
    pipeline.record(judged, readers.open(place / "log.parquet"), place / "verdicts", every_one=True)
    return place


@pytest.fixture
def document(place, tmp_path):
    """A copy of one verdict, so that a test may change it."""
    path = verdicts.stored(place / "verdicts")[0]
    return shutil.copy(path, tmp_path / path.name)


def said(path, place, **grounds):
    """The one row of what `verify` says of a document."""
    given = {"models": place / "models"} | grounds
    return pipeline.verify([path], VerifyOptions(**given)).row(0, named=True)


def resealed(path, change, *, named=True):
    """A document changed by someone who knows the format."""
    envelope = json.loads(path.read_text())
    change(envelope["verdict"])
    if named:
        envelope["verdict"]["id"] = verdicts.verdict_id(envelope["verdict"])
    envelope["sha256"] = sealed.sha256(envelope["verdict"])
    path.unlink()
    new = path.with_name("changed.json")
    new.write_text(json.dumps(envelope))
    return new


def test_every_verdict_is_one_document_and_comes_out_the_same_to_the_last_bit(place):
    judged = pipeline.judge(readers.open(place / "log.parquet"), place / "models")

    table = pipeline.verify([place / "verdicts"], VerifyOptions(place / "models", readers.open(place / "log.parquet")))

    assert table.height == judged.verdicts.height > 20
    assert table["holds"].all()
    assert table["says"].unique().to_list() == [
        "scores, evidence and verdict come out the same to the last bit; the source is the same and measures the same"
    ]


def test_a_document_holds_features_typical_values_sentences_models_and_sources(document, place):
    values = verdicts.load(document)

    evidence = verdicts.table_of(values["evidence"], "test")
    assert evidence["typical"].drop_nulls().len() > 0
    assert evidence["says"].str.ends_with(".").all()
    assert {model["id"] for model in values["models"]} == {one.id for one in models.stored(place / "models")}
    assert {part["name"] for part in values["features"].values()} == {"self-similarity", "actions"}
    assert values["source"] == {
        "kind": "file",
        "name": "log.parquet",
        "digest": readers.open(place / "log.parquet").fingerprint().digest,
    }
    assert values["gamewarden"]


def test_judging_again_adds_nothing(place):
    judged = pipeline.judge(readers.open(place / "log.parquet"), place / "models")
    before = {path: path.read_bytes() for path in verdicts.stored(place / "verdicts")}

    again = pipeline.record(judged, readers.open(place / "log.parquet"), place / "verdicts", every_one=True)

    assert (again.new, again.known) == (0, len(before))
    assert {path: path.read_bytes() for path in verdicts.stored(place / "verdicts")} == before


def test_rows_of_another_player_rename_no_verdict(place, tmp_path):
    log = pl.read_parquet(place / "log.parquet")
    stranger = log.head(2).with_columns(actor=pl.lit("somebody else"))
    pl.concat([log, stranger]).write_parquet(tmp_path / "log.parquet")
    shutil.copytree(place / "verdicts", tmp_path / "verdicts")
    before = {path.name: path.read_bytes() for path in (tmp_path / "verdicts").iterdir()}

    judged = pipeline.judge(readers.open(tmp_path / "log.parquet"), place / "models")
    kept = pipeline.record(judged, readers.open(tmp_path / "log.parquet"), tmp_path / "verdicts", every_one=True)

    assert (kept.known, kept.left_out) == (len(before), 0)
    assert kept.new <= 1  # that of the other player, if two events are enough to say so
    assert {name: (tmp_path / "verdicts" / name).read_bytes() for name in before} == before


def test_only_verdicts_that_reach_a_point_are_kept_unless_all_are_asked_for(place, tmp_path):
    judged = pipeline.judge(readers.open(place / "log.parquet"), place / "models")
    reached = judged.points.reached(judged.verdicts).is_in(["act", "watch"]).sum()

    kept = pipeline.record(judged, readers.open(place / "log.parquet"), tmp_path)

    assert (kept.new, kept.left_out) == (reached, judged.verdicts.height - reached)


def test_a_fused_verdict_comes_out_the_same_too(place, tmp_path):
    shelf = shutil.copytree(place / "models", tmp_path / "models")
    fusion = Fusion(folds=3, least=5)
    pipeline.fit_fusion(
        readers.open(place / "log.parquet"),
        place / "labels.csv",
        shelf,
        shelf,
        fusion=fusion,
        config=Config(),
        every=None,
    )
    judged = pipeline.judge(readers.open(place / "log.parquet"), shelf)
    pipeline.record(judged, readers.open(place / "log.parquet"), tmp_path / "verdicts", every_one=True)

    table = pipeline.verify([tmp_path / "verdicts"], VerifyOptions(shelf))

    assert judged.fusion is not None
    assert table["holds"].all(), table["says"].to_list()[:3]


def test_a_flipped_byte_is_found(document, place):
    whole = document.read_bytes()
    document.write_bytes(whole.replace(b'"agree":', b'"agreE":', 1))

    found = said(document, place)

    assert not found["holds"]
    assert "does not fit its sha256" in found["says"]


def test_a_sealed_change_of_the_content_changes_the_name(document, place):
    found = said(resealed(document, lambda v: v.update(fpr=0.0001), named=False), place)

    assert not found["holds"]
    assert "but its content makes it" in found["says"]


def test_a_number_that_the_models_do_not_give_is_found_whoever_sealed_it(document, place):
    found = said(resealed(document, lambda v: v.update(fpr=0.0001)), place)

    assert not found["holds"]
    assert "fpr was 0.0001 and comes out as" in found["says"]


def test_a_feature_that_was_changed_shows_in_the_scores(document, place):
    def change(values):
        part = next(part for part in values["features"].values() if part["name"] == "self-similarity")
        column = next(column for column in part["table"]["columns"] if column[0] == "self_sim")
        column[2] = 0.5

    found = said(resealed(document, change), place)

    assert not found["holds"]
    assert "scores differ by up to" in found["says"]


def test_a_missing_model_is_named(document, place, tmp_path):
    shelf = shutil.copytree(place / "models", tmp_path / "models")
    gone = next(one for one in models.stored(shelf) if one.detector == "account-day")
    gone.path.unlink()

    found = said(document, place, models=shelf)

    assert not found["holds"]
    assert found["says"] == f"{gone.id} is missing from {shelf}"


def test_a_model_of_the_same_name_and_other_numbers_is_named(document, place, tmp_path):
    shelf = shutil.copytree(place / "models", tmp_path / "models")
    other = next(one for one in models.stored(shelf) if one.detector == "account-day")
    model = pipeline.load_model(shelf, other.id)
    other.path.write_text(models.SEAL.text(replace(model, intercept=model.intercept + 1e-9).to_dict()))

    found = said(document, place, models=shelf)

    assert found["says"] == f"{other.id} holds other numbers than the model that judged"


def test_a_damaged_model_is_named(document, place, tmp_path):
    shelf = shutil.copytree(place / "models", tmp_path / "models")
    models.stored(shelf)[0].path.write_text("{")

    assert "is refused: it ends early" in said(document, place, models=shelf)["says"]


def test_a_source_that_changed_for_this_actor_is_found(document, place, tmp_path):
    values = verdicts.load(document)
    log = pl.read_parquet(place / "log.parquet")
    mine = (pl.col("actor") == values["actor"]) & (pl.int_range(pl.len()) % 7 == 0)
    moved = pl.when(mine).then(pl.col("at") + timedelta(seconds=90)).otherwise(pl.col("at"))
    log.with_columns(at=moved).sort("at").write_parquet(tmp_path / "log.parquet")

    found = said(document, place, source=readers.open(tmp_path / "log.parquet"))

    assert not found["holds"]
    assert "the source has changed: " in found["says"]
    assert " was " in found["says"]


def test_a_source_that_changed_for_others_only_still_bears_the_verdict(document, place, tmp_path):
    values = verdicts.load(document)
    log = pl.read_parquet(place / "log.parquet")
    other = next(name for name in log["actor"].unique().sort() if name != values["actor"])
    log.filter(pl.col("actor") != other).write_parquet(tmp_path / "log.parquet")

    found = said(document, place, source=readers.open(tmp_path / "log.parquet"))

    assert found["holds"]
    assert "has changed since, and still measures the same for this actor" in found["says"]


def test_without_models_only_the_document_itself_is_looked_at(document):
    row = pipeline.verify([document], VerifyOptions()).row(0, named=True)

    assert row["holds"]
    assert "the document is whole" in row["says"]


def test_a_source_without_models_is_refused(document, place):
    with pytest.raises(VerdictError, match="give --models too"):
        pipeline.verify([document], VerifyOptions(None, readers.open(place / "log.parquet")))


def test_a_directory_without_verdicts_says_how_to_keep_some(tmp_path):
    with pytest.raises(VerdictError, match="judge"):
        verdicts.stored(tmp_path)


def test_another_document_under_the_name_is_not_overwritten(document, tmp_path):
    values = verdicts.load(document)
    envelope = json.loads(document.read_text())
    document.write_text(json.dumps(envelope))  # the same content, laid out otherwise

    assert not verdicts.save(values, tmp_path)
    document.write_text("{}")
    with pytest.raises(GamewardenError):
        verdicts.save(values, tmp_path)
    assert document.read_text() == "{}"


def test_the_command_exits_with_one_when_a_verdict_does_not_hold(document, place):
    words = ["verify", str(document), "--models", str(place / "models"), "--json"]
    good = CliRunner().invoke(root, words)
    document.write_bytes(document.read_bytes()[:-40])
    bad = CliRunner().invoke(root, words)

    assert (good.exit_code, bad.exit_code) == (0, 1)
    assert json.loads(good.stdout)[0]["holds"] is True
    assert json.loads(bad.stdout)[0]["holds"] is False


def test_judging_at_the_command_line_keeps_verdicts(place, tmp_path):
    log, shelf = place / "log.parquet", place / "models"
    words = ["judge", log, "--models", shelf, "--to", tmp_path / "v", "--all", "--out", tmp_path / "v.csv"]
    done = CliRunner().invoke(root, [str(word) for word in words])

    assert done.exit_code == 0, done.output
    assert len(verdicts.stored(tmp_path / "v")) == pl.read_csv(tmp_path / "v.csv").height


@pytest.mark.parametrize("dtype", [pl.Float32, pl.Float64, pl.Int16, pl.UInt64, pl.Boolean, pl.String], ids=str)
def test_a_table_comes_back_as_it_was(dtype):
    values = {pl.Boolean: [True, None, False], pl.String: ["a", None, ""]}.get(dtype, [0, None, 3])
    frame = pl.DataFrame({"a": pl.Series(values, dtype=dtype), "b": pl.Series([values[0]] * 3, dtype=dtype)})

    assert verdicts.table_of(json.loads(json.dumps(verdicts.table_values(frame))), "test").equals(frame)
    assert verdicts.table_of(verdicts.table_values(frame.clear()), "test").schema == frame.schema


@given(st.lists(st.none() | st.floats(allow_nan=False, allow_infinity=False), max_size=5))
def test_every_float_comes_back_to_the_last_bit(values):
    frame = pl.DataFrame({"x": pl.Series(values, dtype=pl.Float64)})

    assert verdicts.table_of(json.loads(json.dumps(verdicts.table_values(frame))), "test").equals(frame)


NASTY = (None, True, 0, -1, 1e308, 10**20, "", "x", [], [None], [[]], {}, {"a": None}, {"id": "../x", "sha256": ""})


def places(values, path=()):
    parts = values.items() if isinstance(values, dict) else enumerate(values[:2]) if isinstance(values, list) else ()
    for key, part in parts:
        yield (*path, key)
        yield from places(part, (*path, key))


def test_a_document_with_any_value_exchanged_is_refused_or_does_not_hold_or_changes_nothing(place, tmp_path):
    values = verdicts.load(verdicts.stored(place / "verdicts")[0])
    ways = list(places(values))
    path = tmp_path / "odd.json"
    for at, way in enumerate(ways[:: max(1, len(ways) // 120)]):
        odd = json.loads(json.dumps(values))
        holder = odd
        for key in way[:-1]:
            holder = holder[key]
        holder[way[-1]] = NASTY[at % len(NASTY)]
        odd["id"] = verdicts.verdict_id(odd)
        path.write_text(verdicts.SEAL.text(odd))

        row = said(path, place)

        harmless = way[0] in {"streak", "gamewarden", "source", "rules"}  # told, not derived; or it changes nothing
        assert harmless or not row["holds"] or odd == values or way[0] == "features", (way, row["says"])


@pytest.mark.parametrize("name", ["every", "time_zone", "repeated", "together", "watch", "act", "agree"])
def test_rules_that_cannot_be_do_not_hold(place, tmp_path, name):
    values = verdicts.load(verdicts.stored(place / "verdicts")[0])
    path = tmp_path / "odd.json"
    for other in (*NASTY, -(10**18), 5e-324, "Mars/Olympus", 10**15):
        odd = json.loads(json.dumps(values))
        odd["rules"][name] = other
        odd["id"] = verdicts.verdict_id(odd)
        path.write_text(verdicts.SEAL.text(odd))

        row = said(path, place)

        assert isinstance(row["holds"], bool)
        assert row["says"]


@given(data=st.data())
def test_a_document_with_any_bytes_exchanged_is_the_same_or_refused(document, data):
    whole = document.read_bytes()
    values = verdicts.load(document)
    start = data.draw(st.integers(0, len(whole)))
    odd = document.with_name("odd.json")
    odd.write_bytes(whole[:start] + data.draw(st.binary(max_size=6)) + whole[start + data.draw(st.integers(0, 6)) :])

    try:
        same = verdicts.load(odd) == values
    except VerdictError:
        same = True

    assert same


@pytest.mark.parametrize(
    ("share", "told"), [(0.3, "probability was"), (5.0, "is not a share"), (-1.0, "is not a share")]
)
def test_a_verdict_whose_share_of_bots_was_changed_does_not_hold(place, document, share, told):
    def change(values):
        values["rules"]["bots"] = share

    row = said(resealed(document, change), place)

    assert not row["holds"]
    assert told in row["says"]


# --- Tables that take a line and would fill the memory


def constant(rows, columns):
    return {"rows": rows, "columns": [[f"c{at}", "Int64", 0] for at in range(columns)]}


def one_table(values):
    part = next(iter(values["features"].values()))
    part["table"] = constant(1 << 20, 2_000)


def many_tables(values):
    part = next(iter(values["features"].values()))
    values["features"] |= {f"x{at}": part | {"table": constant(1 << 20, 8)} for at in range(300)}


def negative_rows(values):
    values["scores"]["rows"] = -1


def rows_as_text(values):
    values["evidence"]["rows"] = "many"


@pytest.mark.parametrize("harm", [one_table, many_tables])
def test_a_small_document_of_huge_tables_is_refused_before_they_are_made(document, place, harm):
    path = resealed(document, harm)

    ended = limited("verify", path, "--models", place / "models", "--json")

    (row,) = json.loads(ended.stdout)
    assert path.stat().st_size < 200_000
    assert row["holds"] is False
    assert "are too large for a verdict (at most 8,388,608)" in row["says"]


@pytest.mark.parametrize("harm", [negative_rows, rows_as_text])
def test_a_table_with_a_height_that_cannot_be_is_none(document, place, harm):
    assert "this is no table of a verdict" in said(resealed(document, harm), place)["says"]


def test_a_constant_column_comes_back_as_it_was():
    frame = pl.DataFrame(
        {"n": [7] * 5, "t": [None] * 5, "w": ["a"] * 5}, schema={"n": pl.UInt8, "t": TIME, "w": pl.String}
    )

    assert verdicts.table_of(verdicts.table_values(frame), "here").equals(frame)
    assert verdicts.table_of(verdicts.table_values(frame.clear()), "here").equals(frame.clear())
