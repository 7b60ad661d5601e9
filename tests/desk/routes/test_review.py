"""The review page: evidence without a score, votes and undo by form, by part and by program."""

import json
import re
from html import unescape

import pytest

from desks_made_up import judge, make_desk
from gamewarden.cases import Label
from gamewarden.desk_records import Review
from gamewarden.web.app import create_app
from people_made_up import browser, program

HTML, JSON, PART = (
    {"Accept": "text/html"},
    {"Accept": "application/json"},
    {"Accept": "text/html", "HX-Request": "true"},
)
STRANGE = '<script>alert(1)</script>"&/..%2f \u202e'
SUSPECTS = {"anna": (0.9731, "act"), "bob": (0.5529, "watch"), STRANGE: (0.6173, "watch")}
SCORES = ("0.97", "97", "55", "0.55", "61", "0.61", "desk-act", "desk-watch")


@pytest.fixture
def desk(tmp_path):
    return judge(make_desk(tmp_path / "ws"), 1, {**SUSPECTS, **{f"human{number}": 0.01 for number in range(5)}})


@pytest.fixture
def app(desk):
    return create_app(desk)


@pytest.fixture
def ada(app):
    return browser(app, "reviewer", "Ada")


def content(answer):
    """The page without names of files, which hold digits."""
    main = answer.text.partition("<main")[2].partition("</main>")[0]
    return re.sub(r'(href|src|action|hx-get|value)="[^"]*"', "", main)


def test_the_page_tells_no_score_before_the_first_vote(ada):
    page = ada.get("/review", headers=HTML)
    told = ada.get("/review", headers=JSON).json()

    assert page.status_code == 200
    assert not [score for score in SCORES if score in content(page)]
    assert told["item"]["blind"]
    assert told["item"]["seen"] is None
    assert not re.search(
        r"prob|fpr|point", json.dumps({**told, "queue": {**told["queue"], "last": None}}["queue"]["entries"])
    )


def test_the_evidence_is_asked_for_without_the_score(ada):
    page = ada.get("/review?actor=anna", headers=HTML).text

    assert 'hx-get="/accounts/anna/reasons?blind=1"' in page
    assert all("blind=1" in one for one in re.findall(r'hx-get="(/accounts/[^"]*)"', page))


def test_a_vote_by_form_goes_on_to_the_next_account_and_can_be_undone(ada, desk):
    answer = ada.post("/review/votes", data={"actor": "anna", "says": "bot", "note": "never sleeps"}, headers=HTML)
    page = ada.get("/review", headers=HTML)

    assert (answer.status_code, answer.headers["location"]) == (303, "/review")
    assert "97" in content(page), "after the vote the score is shown"
    (label,) = desk.workspace.ledger.find(Label)
    assert (label.bot, label.because) == (True, "never sleeps")
    ada.post("/review/undo", headers=HTML)
    assert desk.workspace.ledger.find(Label) == []


def test_a_vote_by_script_answers_with_what_is_shown_only_now(ada, desk):
    said = ada.post("/review/votes", data={"actor": "anna", "says": "human", "milliseconds": "1200"}, headers=PART)
    back = ada.post("/review/undo", headers=PART)

    assert said.status_code == back.status_code == 200
    assert "97" in said.text
    assert 'data-actor="anna"' in back.text
    assert desk.workspace.ledger.find(Review)[0].milliseconds == 1200


def test_the_vote_before_the_last_can_be_undone_as_well(ada, desk):
    for actor in ("anna", "bob"):
        ada.post("/review/votes", data={"actor": actor, "says": "bot"}, headers=PART)
    ada.post("/review/undo", headers=PART)

    assert ada.get("/review/last", headers=JSON).json()["actor"] in {"anna", "bob"}
    ada.post("/review/undo", headers=PART)
    assert ada.get("/review/last", headers=JSON).json() is None
    assert ada.get("/review/last", headers=PART).status_code == 200
    assert desk.workspace.ledger.find(Label) == []


def test_the_next_account_is_fetched_ahead_and_is_another(ada):
    now = ada.get("/review", headers=JSON).json()["item"]["entry"]["actor"]

    ahead = ada.get("/review/item", params={"but": now}, headers=PART)

    assert ahead.status_code == 200
    assert re.search(r'data-actor="([^"]*)"', ahead.text)[1] != now
    assert "<html" not in ahead.text


def test_programs_vote_with_a_token(app):
    client = program(app, ["vote"])

    made = client.post("/review/votes", data={"actor": "bob", "says": "unsure"}, headers=JSON)

    assert made.json()["seen"]["probability"] == pytest.approx(0.5529)
    assert client.post("/review/undo", headers=JSON).status_code == 200


def test_a_name_that_is_markup_is_shown_and_harmless(ada):
    page = ada.get("/review", params={"actor": STRANGE}, headers=HTML)
    sent = unescape(re.search(r'name="actor" value="([^"]*)"', page.text)[1])

    assert page.status_code == 200
    assert "<script>alert" not in page.text
    assert page.text.count("\u202e") == 2, "what a form sends is the name as it is, and nothing else shows it so"
    assert sent == STRANGE
    assert ada.post("/review/votes", data={"actor": sent, "says": "bot"}, headers=HTML).status_code == 303
    after = ada.get("/review", headers=HTML).text
    assert "<script>alert" not in after
    assert "alert(1)" in after


def test_what_is_no_vote_is_refused_in_one_line(ada):
    assert ada.post("/review/votes", data={"actor": "anna", "says": "guilty"}, headers=JSON).status_code == 400
    assert ada.post("/review/votes", data={"actor": "nobody", "says": "bot"}, headers=JSON).status_code == 404
    assert ada.post("/review/votes", data={"says": "bot"}, headers=JSON).status_code == 422
    assert ada.post("/review/undo", headers=JSON).status_code == 400


def test_an_empty_queue_says_what_to_do(tmp_path):
    page = browser(create_app(make_desk(tmp_path / "empty")), "reviewer").get("/review", headers=HTML)

    assert page.status_code == 200
    assert "Nobody waits for a vote." in page.text
    assert "gamewarden run" in page.text


def test_the_numbers_under_review_are_not_said_to_stand_out(ada):
    page = ada.get("/review?actor=anna", headers=HTML).text
    korean = ada.get("/review?actor=anna", headers={**HTML, "Accept-Language": "ko"}).text

    assert "Compared with other players" in page
    assert "stands out" not in page
    assert "다른 이용자와 비교" in korean
    assert "눈에 띄는" not in korean
