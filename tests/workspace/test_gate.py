"""A model that flags an account which an appeal has exonerated, on the same evidence, does not take over."""

import json
import shutil
from datetime import timedelta

import polars as pl
import pytest

from appeals_made_up import NOW
from commands import done, run
from gamewarden import pipeline
from gamewarden.cases import Exonerated
from gamewarden.store import model_registry
from gamewarden.store.maintenance_state import MaintenanceState
from gamewarden.tables import write_table
from gamewarden.workspace.gate import Gate
from gamewarden.workspace.place import Workspace
from upkeep_made_up import SETTINGS as MAINTAIN
from upkeep_made_up import START, Log, make_game
from workspaces_made_up import make_models, make_workspace, run_all

pytestmark = pytest.mark.integration

REASON = ("--because", "it is better", "--by", "gm")


@pytest.fixture(scope="module")
def judged(tmp_path_factory):
    """A workspace that has judged, and beside its models one that takes bots for humans and humans for bots."""
    place = tmp_path_factory.mktemp("judged")
    workspace = make_workspace(place / "home", make_models(place / "made"))
    run_all(workspace)
    swapped = pl.read_csv(workspace.root / "labels.csv").with_columns(~pl.col("bot"))
    write_table(swapped, place / "swapped.csv")
    done(
        "--workspace", workspace.root, "fit", "account-day", "--labels", place / "swapped.csv", "--to", place / "other"
    )
    for path in (place / "other").glob("account-day@*.json"):
        shutil.copy(path, workspace.models / path.name)
    return workspace


@pytest.fixture
def home(judged, tmp_path):
    shutil.copytree(judged.root, tmp_path / "home")
    return Workspace.at(tmp_path / "home")


def verdicts_of(workspace, actor):
    store = workspace.verdicts
    rows = [store.table(seal, actors=[actor]).drop_nulls("verdict") for seal in store.current().values()]
    return pl.concat(rows)


def exonerate(workspace, actor, appeal="appeal-1"):
    found = verdicts_of(workspace, actor)
    assert found.height
    made = Exonerated(actor, found["since"].min(), found["until"].max(), tuple(found["verdict"]), appeal, NOW)
    with workspace.ledger.writing("gm", NOW) as work:
        work.add([made])


def models(workspace):
    """The model that judged, and the one with everything turned round."""
    in_force = {one.detector: one.id for one in model_registry.in_force(workspace.models)}["account-day"]
    (other,) = {path.stem for path in workspace.models.glob("account-day@*.json")} - {in_force}
    return in_force, other


def promote(workspace, model):
    return run("--workspace", workspace.root, "model", "promote", model, *REASON)


def test_a_model_that_flags_an_exonerated_account_is_not_promoted(home):
    flags, spares = models(home)
    exonerate(home, "bot001")
    assert promote(home, spares).returncode == 0

    ended = promote(home, flags)

    assert ended.returncode == 1
    assert ended.stderr == (
        f"gamewarden: {flags} is not put into force: it flags 1 account that appeals have exonerated, on the same "
        "evidence (bot001); fit another one\n"
    )
    assert model_registry.active(home.models)["account-day"] == spares


def test_what_was_never_held_against_an_account_may_be_said_of_it(home):
    flags, spares = models(home)
    exonerate(home, "bot001")
    with home.ledger.writing("gm", NOW) as work:
        (known,) = work.find(Exonerated)
        work.remove(known)
        work.add([Exonerated("bot001", None, None, (), "appeal-2", NOW)])

    assert promote(home, flags).returncode == 0
    assert promote(home, spares).returncode == 0


def test_a_model_that_sees_nothing_of_the_evidence_is_not_refused_and_it_is_said(home):
    exonerate(home, "bot001")
    home.verdicts.drop([seal.day for seal in home.verdicts.seals()], "retention", NOW.isoformat())

    ended = promote(home, models(home)[0])

    assert ended.returncode == 0
    assert "1 exonerated account could not be looked at" in ended.stderr


def test_models_of_packets_and_tables_are_shown_their_own_evidence_too(home):
    exonerate(home, "bot001")
    looked = {model.card.detector: Gate(home).look(model) for model in home.models_in_force()}

    assert looked.keys() >= {"traffic", "account-table", "account-day"}
    assert all(one.flagged == ("bot001",) and not one.unseen for one in looked.values()), looked


def test_a_fusion_is_asked_together_with_the_models_it_was_fitted_on(home, tmp_path):
    exonerate(home, "bot001")
    done("--workspace", home.root, "fit", "fusion", "--folds", 2, "--to", tmp_path / "fused")
    (path,) = (tmp_path / "fused").glob("fusion@*.json")
    fusion = pipeline.load_model(tmp_path / "fused", path.stem)

    assert Gate(home).look(fusion).flagged == ("bot001",)
    for one in home.models.glob("*@*.json"):
        one.unlink()
    assert Gate(home).look(fusion).unseen == ("bot001",)


def test_what_is_told_elsewhere_names_nobody(home):
    exonerate(home, "bot001")
    exonerate(home, "bot002", "appeal-2")
    looked = Gate(home).look(home.models_in_force()[0])

    assert looked.objections() == ("it flags 2 accounts that appeals have exonerated, on the same evidence",)
    assert looked.with_names()[0].endswith("(bot001, bot002)")


def test_outside_of_a_workspace_nothing_stands_in_the_way(home, tmp_path):
    exonerate(home, "bot001")
    shutil.copytree(home.models, tmp_path / "elsewhere")

    ended = run("model", "promote", models(home)[0], "--models", tmp_path / "elsewhere", *REASON, cwd=tmp_path)

    assert ended.returncode == 0


SETTINGS = """
[workspace]
labels = "labels.csv"

[[source]]
name = "game"
locator = "logs/*.parquet"

[maintain]
"""


@pytest.fixture(scope="module")
def changing(tmp_path_factory):
    """A workspace that has judged six days; on the seventh, which it has not seen, half of the bots change."""
    place = tmp_path_factory.mktemp("changing")
    made = make_game(place, Log(days=10, adapts=6))
    root = place / "home"
    (root / "logs").mkdir(parents=True)
    shutil.copytree(made / "models", root / "models")
    shutil.copy(made / "labels.csv", root / "labels.csv")
    lines = "".join(f"{name} = {value}\n" for name, value in MAINTAIN.items())
    (root / "warden.toml").write_text(SETTINGS + lines)
    events = pl.read_parquet(made / "events.parquet")
    later = pl.col("at") >= START + timedelta(days=6)
    write_table(events.filter(~later), root / "logs/a.parquet")
    write_table(events.filter(later), place / "later.parquet")
    run_all(Workspace.at(root), START + timedelta(days=20))
    return place


@pytest.mark.parametrize("exonerated", [False, True])
def test_maintenance_keeps_the_old_model_where_the_new_one_flags_an_exonerated_account(changing, tmp_path, exonerated):
    shutil.copytree(changing / "home", tmp_path / "home")
    shutil.copy(changing / "later.parquet", tmp_path / "home/logs/b.parquet")
    workspace = Workspace.at(tmp_path / "home")
    if exonerated:
        exonerate(workspace, "bot001")

    run_all(workspace, START + timedelta(days=20))

    records = MaintenanceState(workspace.models, "account-day").history().records
    promoted = [record for record in records if record["step"] == "promote"]
    failures = [line for record in records if record["step"] == "validate" for line in record["failures"]]
    refused = "it flags 1 account that appeals have exonerated, on the same evidence"
    assert bool(promoted) != exonerated
    assert (refused in failures) == exonerated
    assert "bot001" not in json.dumps([record for record in records if record["step"] in {"validate", "notify"}])
