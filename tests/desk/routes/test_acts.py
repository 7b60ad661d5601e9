"""Deciding over HTTP: shown before, undone after, refused where the number differs; and the pages around it."""

import re

import pytest

from desks_made_up import judge, make_desk, rest, suspect
from gamewarden.cases import Action, Appeal, Decision, Protected
from gamewarden.web.app import create_app
from people_made_up import browser

HTML, JSON = {"Accept": "text/html"}, {"Accept": "application/json"}
STRANGE = "<b>x</b>/../"
FREEZE = {"step": "freeze", "because": "a farm", "lasts": "7d"}


@pytest.fixture
def desk(tmp_path):
    made = suspect(make_desk(tmp_path / "ws", armed=True), "ann", "bea", STRANGE)
    judge(made, 1, {"ann": (0.9, "act"), "bea": (0.8, "watch"), STRANGE: 0.02})
    rows = [
        {"actor": "ann", "probability": 0.9, "point": "act"},
        {"actor": "bea", "probability": 0.8, "point": "watch"},
    ]
    return rest(made, "accounts", 1, rows)


@pytest.fixture
def app(desk):
    return create_app(desk)


@pytest.fixture
def mo(app):
    return browser(app, "moderator", "Mo")


def test_many_are_decided_about_and_undone_from_the_toast(mo, desk):
    answer = mo.post("/acts", data={**FREEZE, "actors": ["ann", "bea"], "next": "/decisions"}, headers=HTML)
    page = mo.get(answer.headers["location"], headers=HTML).text
    undo = re.search(r'action="(/acts/[^"]*/undo)"', page)[1]

    assert answer.status_code == 303
    assert {one.actor for one in desk.workspace.ledger.find(Decision)} == {"ann", "bea"}
    assert mo.post(undo, headers=HTML).status_code == 303
    assert {one.state for one in desk.workspace.ledger.find(Action)} == {"cancelled"}


def test_a_part_of_a_page_is_led_on_to_an_address_in_any_letters(mo):
    sent = {**FREEZE, "actors": ["ann"], "next": "/accounts?zone=한국&q=a%20b"}

    answer = mo.post("/acts", data=sent, headers={**HTML, "HX-Request": "true"})

    assert answer.headers["HX-Redirect"] == "/accounts?zone=%ED%95%9C%EA%B5%AD&q=a%20b"


def test_what_speaks_against_a_step_is_shown_before(mo, desk):
    page = mo.post("/acts/preview", data={"step": "freeze", "actors": ["ann", "nobody"]}, headers=HTML)
    told = mo.post("/acts/preview", data={"step": "ban", "actors": ["ann"]}, headers=JSON).json()

    assert page.status_code == 200
    assert "What speaks against it" in page.text
    assert page.text.count('name="actors"') == 2
    assert "This is in earnest." in page.text
    assert told["needs_second"]
    assert desk.workspace.ledger.find(Decision) == []


def test_all_that_match_are_decided_about_only_as_many_as_were_seen(mo, desk):
    wrong = mo.post("/acts", data={**FREEZE, "query": "point=act", "expected": "2"}, headers=JSON)
    right = mo.post("/acts", data={**FREEZE, "query": "point=act", "expected": "1"}, headers=JSON)

    assert wrong.status_code == 400
    assert "1 accounts match now and 2 were seen" in wrong.json()["error"]
    assert right.json()["accounts"] == 1
    assert [one.actor for one in desk.workspace.ledger.find(Decision)] == ["ann"]


def test_a_permanent_ban_is_approved_by_somebody_else(app, mo, desk):
    mo.post("/acts", data={"step": "ban", "because": "a farm", "actors": ["ann"]}, headers=HTML)
    (made,) = desk.workspace.ledger.find(Decision)

    assert mo.post(f"/decisions/{made.id}/approve", headers=JSON).status_code == 400
    assert browser(app, "moderator", "Pat").post(f"/decisions/{made.id}/approve", headers=JSON).status_code == 200
    assert desk.workspace.ledger.find(Decision)[0].approved_by == "Pat"


def test_a_ban_for_ten_years_is_approved_by_somebody_else(app, mo, desk):
    form = {"step": "ban", "because": "a farm", "actors": ["ann"], "lasts": "3650d"}

    page = mo.post("/acts/preview", data=form, headers=HTML).text
    made = mo.post("/acts", data=form, headers=JSON).json()
    (ban,) = desk.workspace.ledger.find(Decision)

    assert "A ban or suspension for longer than 30d waits for a second person" in page
    assert made["waits"] == 1
    assert mo.post(f"/decisions/{ban.id}/approve", headers=JSON).status_code == 400
    assert browser(app, "moderator", "Pat").post(f"/decisions/{ban.id}/approve", headers=JSON).status_code == 200


def test_decisions_are_listed_by_tab_and_taken_back_one_by_one(mo, desk):
    mo.post("/acts", data={**FREEZE, "actors": ["ann", STRANGE]}, headers=HTML)
    page = mo.get("/decisions?tab=active", headers=HTML).text
    made = desk.workspace.ledger.find(Decision, actor="ann")[0]

    assert "<b>x</b>" not in page
    assert mo.post(f"/decisions/{made.id}/undo", data={"because": ""}, headers=JSON).status_code == 400
    assert mo.post(f"/decisions/{made.id}/undo", data={"because": "no"}, headers=JSON).status_code == 200
    assert mo.get("/decisions?tab=ended", headers=JSON).json()["rows"][0]["undone_by"] == "Mo"
    assert mo.get("/decisions?tab=all", headers=JSON).status_code == 404


def test_an_account_is_protected_and_listed_with_appeals(mo, desk):
    assert (
        mo.post("/accounts/ann/protect", data={"lasts": "9d", "because": "a streamer"}, headers=HTML).status_code == 303
    )
    page = mo.get("/appeals", headers=HTML).text

    assert [one.by for one in desk.workspace.ledger.find(Protected)] == ["Mo"]
    assert "a streamer" in page
    assert mo.post("/accounts/ann/unprotect", headers=HTML).status_code == 303
    assert desk.workspace.ledger.find(Protected) == []


def test_an_appeal_is_opened_and_decided_by_somebody_who_did_not_decide(app, mo, desk):
    mo.post("/acts", data={**FREEZE, "actors": ["ann"]}, headers=HTML)

    mo.post("/appeals", data={"about": "ann", "text": "I was on holiday <i>"}, headers=HTML)
    page = mo.get("/appeals", headers=HTML).text
    (appeal,) = desk.workspace.ledger.find(Appeal)
    other = browser(app, "moderator", "Pat")
    done = other.post(f"/appeals/{appeal.id}", data={"outcome": "overturned", "because": "true"}, headers=JSON)

    assert "I was on holiday &lt;i&gt;" in page
    assert done.status_code == 200, done.text
    assert desk.workspace.ledger.find(Decision)[0].undone_at is not None
    assert "I was on holiday" in mo.get("/appeals?every=1", headers=HTML).text


def test_a_rehearsal_is_said_loudly(tmp_path):
    client = browser(create_app(make_desk(tmp_path / "quiet")), "moderator")

    for path in ("/decisions", "/policy"):
        assert "Rehearsal: nothing leaves gamewarden." in client.get(path, headers=HTML).text


def test_a_viewer_sees_no_buttons(app, mo):
    mo.post("/acts", data={**FREEZE, "actors": ["ann"]}, headers=HTML)

    page = browser(app, "viewer").get("/decisions?tab=active", headers=HTML).text

    assert "/decisions/" not in page.partition("<main")[2].replace("/decisions?", "")
