"""Models at the desk: cards, two beside each other, and who puts which into force, with the audit knowing it."""

import shutil

import pytest

from desk_jobs import finished
from desks_made_up import StandingDesk, make_desk
from gamewarden import pipeline, readers
from gamewarden.cases import AuditLine
from gamewarden.core.durations import MINUTE
from gamewarden.desk.jobs import FAILED, READY
from gamewarden.desk.models import begin_back_test, difference, health_of, model, models, promote, roll_back
from gamewarden.errors import ModelError, NotThereError, ResponseError
from gamewarden.features.self_similarity.recipe import SelfSimilarity
from gamewarden.store.maintenance_state import MaintenanceState
from gamewarden.workspace.place import Workspace
from made_up import action_log, labels_of
from workspaces_made_up import run_all


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A shelf with two models of one detector."""
    place = tmp_path_factory.mktemp("shelf")
    action_log().write_parquet(place / "log.parquet")
    labels_of(12, 14, source="rater").write_csv(place / "labels.csv")
    for feature in (SelfSimilarity(min_windows=10), SelfSimilarity(min_windows=10, unit=2 * MINUTE)):
        recipe = pipeline.detector_recipe("account-day", feature, {})
        pipeline.fit(recipe, readers.open(place / "log.parquet"), place / "labels.csv", place / "models")
    return place


@pytest.fixture
def desk(made, tmp_path):
    found = make_desk(tmp_path / "ws")
    found.workspace.models.mkdir()
    for path in sorted((made / "models").glob("*.json"), key=lambda one: one.stat().st_mtime_ns):
        shutil.copy2(path, found.workspace.models)
    return found


def some(desk):
    return models(desk).rows[0]


def test_every_model_is_listed_with_what_it_was_validated_with(desk):
    view = models(desk)

    assert [one.in_force for one in view.rows] == [True, False]
    assert all((one.problem, one.bots, one.humans) == (None, 12, 14) and 0 <= one.auc <= 1 for one in view.rows)
    assert view.controls == view.history == view.may_roll_back == ()
    assert health_of(desk) == ""


def test_a_card_says_what_the_model_is_and_where_it_fails(desk):
    view = model(desk, some(desk).id)

    titles = [one.title for one in view.sections]
    assert "What it was made from" in titles
    assert "How good it was on held-out actors" in titles
    with pytest.raises(NotThereError):
        model(desk, "logistic@nothing")


def test_putting_a_model_into_force_is_in_the_audit_with_who_and_why(desk):
    name = some(desk).id

    promote(desk, name, by="Oda", because="it was tried for a week")

    (line,) = desk.workspace.ledger.find(AuditLine, what="promote model")
    assert (line.who, line.subject, line.new["because"]) == ("Oda", name, "it was tried for a week")
    assert [one.by for one in models(desk).history] == ["Oda"]
    with pytest.raises(ResponseError):
        promote(desk, name, by="Oda", because=" ")
    with pytest.raises(NotThereError):
        promote(desk, "logistic@nothing", by="Oda", because="x")


def test_what_cannot_be_rolled_back_is_not_in_the_audit(desk):
    with pytest.raises(ModelError):
        roll_back(desk, some(desk).detector, by="Oda", because="x")

    assert desk.workspace.ledger.find(AuditLine) == []


def test_a_promotion_is_rolled_back_by_a_person(desk):
    newest, older = models(desk).rows
    promote(desk, older.id, by="Oda", because="the newer one is too strict")
    assert models(desk).rows[0].id == older.id
    assert models(desk).may_roll_back == ("account-day",)

    roll_back(desk.later(hours=1), "account-day", by="Pia", because="it was not")

    assert models(desk).rows[0].id == newest.id
    assert models(desk).may_roll_back == ()
    (line,) = desk.workspace.ledger.find(AuditLine, what="roll back model")
    assert (line.who, line.old["in_force"], line.new["in_force"]) == ("Pia", older.id, newest.id)


def test_two_models_beside_each_other_say_where_they_differ(desk):
    first, second = (one.id for one in models(desk).rows)

    view = difference(desk, first, second)

    assert any("What they look at differs" in line for line in view.sentences)
    assert view.rows


def test_a_model_beside_itself_is_the_same(desk):
    name = some(desk).id

    view = difference(desk, name, name)

    assert "the same model" in view.sentences[0]
    assert (view.rows, view.state, view.test) == ((), None, None)


def test_two_models_are_tried_on_the_newest_days_beside_the_page(made, tmp_path):
    workspace = Workspace.at(_root(tmp_path / "full", made))
    run_all(workspace)
    desk = StandingDesk(workspace)
    first, second = (one.id for one in models(desk).rows)

    begin_back_test(desk, first, first)
    done = finished(desk, "back-test", (first, first))

    assert done.state == READY, done.error
    assert any("differ by more" in line for line in difference(desk, first, first).test.sentences)
    assert done.value.changed == ()
    begin_back_test(desk, first, second)
    other = finished(desk, "back-test", (first, second))
    assert (other.state, second in other.error) == (FAILED, True), "nothing was measured as the older one looks at it"


def _root(root, made):
    (root / "logs").mkdir(parents=True)
    shutil.copytree(made / "models", root / "models")
    shutil.copy(made / "log.parquet", root / "logs")
    (root / "warden.toml").write_text('[workspace]\n[[source]]\nname = "game"\nlocator = "logs/*.parquet"\n')
    return root


def test_the_control_chart_comes_from_what_maintenance_wrote(desk):
    history = MaintenanceState(desk.workspace.models, "account-day").history()
    watched = {
        "step": "watch", "period": "2026-03-02T00:00:00+00:00", "status": "below", "x": 0.5, "drawn": 0.5,
        "common": 40, "z": 0.6, "lower": 0.7, "upper": 0.9, "provisional": False, "ban_wave": False, "silent": [],
        "doubts": [], "signal": True, "why_missing": None,
    }  # fmt: skip
    scored = {"step": "score", "period": watched["period"], "actors": 60, "flagged": 3, "model": "account-day@1"}
    causes = {
        "step": "causes",
        "period": watched["period"],
        "causes": [{"name": "sensor", "strength": 3.0, "says": "No kill."}],
    }
    for record in (scored, watched, causes):
        history.append(record)

    (found,) = models(desk).controls

    assert (found.periods[0].status, found.periods[0].z, found.periods[0].flagged) == ("below", 0.6, 3)
    assert [(one.name, one.says) for one in found.causes] == [("sensor", "No kill.")]
    assert "out of control on 2026-03-02" in health_of(desk)
