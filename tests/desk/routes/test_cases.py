"""Groups, models, policy, audit and sources as pages: they show, they escape, and they teach where there is nothing."""

import csv
import io

import pytest

from desk_acts import WEEK
from desks_made_up import judge, make_desk, rest, suspect
from gamewarden.desk.acts import protect_one
from gamewarden.web.app import create_app
from people_made_up import browser

HTML, JSON = {"Accept": "text/html"}, {"Accept": "application/json"}
EVIL = '=1+1<img src=x onerror="alert(1)">'
PAGES = ("/groups", "/models", "/policy", "/audit", "/sources", "/decisions", "/appeals", "/review")


@pytest.fixture
def desk(tmp_path):
    made = suspect(make_desk(tmp_path / "ws", armed=True), "ann")
    judge(made, 1, {"ann": (0.9, "act"), EVIL: (0.8, "watch")})
    rest(made, "addresses", 1, [{"actor": name, "address": "10.1.2.3"} for name in ("ann", EVIL)])
    gives = [{"actor": f"g{number}", "other": EVIL, "kind": "trade.give"} for number in range(6)]
    rest(made, "edges", 1, gives)
    protect_one(made, EVIL, span=WEEK, by="Ada", because=EVIL)
    return made


@pytest.fixture
def admin(desk):
    return browser(create_app(desk), "admin", "Ada")


@pytest.mark.parametrize("path", PAGES)
def test_an_empty_workspace_teaches_what_to_do(tmp_path, path):
    answer = browser(create_app(make_desk(tmp_path / "empty")), "admin").get(path, headers=HTML)

    assert answer.status_code == 200
    assert "Traceback" not in answer.text


@pytest.mark.parametrize("path", PAGES)
def test_names_that_are_markup_stay_text_and_every_page_is_also_json(admin, path):
    page, told = admin.get(path, headers=HTML), admin.get(path, headers=JSON)

    assert (page.status_code, told.status_code) == (200, 200)
    assert "<img src=x" not in page.text
    assert "style=" not in page.text
    assert "onclick" not in page.text
    assert isinstance(told.json(), dict)


def test_a_group_shows_its_graph_and_each_account_by_itself(admin):
    told = admin.get("/groups?kind=trade", headers=JSON).json()
    page = admin.get(f"/groups/{told['rows'][0]['id']}", headers=HTML)

    assert page.status_code == 200
    assert 'data-chart="graph"' in page.text
    assert "never enough alone" in page.text
    assert "<img src=x" not in page.text
    assert admin.get("/groups/trade-nothing", headers=JSON).status_code == 404


def test_an_address_is_whole_only_for_whoever_may_decide(desk):
    app = create_app(desk)

    assert "10.1.2.3" not in browser(app, "viewer").get("/groups", headers=HTML).text
    assert "10.1.2.3" in browser(app, "moderator").get("/groups", headers=HTML).text


def test_the_audit_leaves_as_a_file_that_no_spreadsheet_obeys(admin):
    answer = admin.get("/audit?format=csv", headers=HTML)

    rows = list(csv.DictReader(io.StringIO(answer.text)))
    assert "attachment" in answer.headers["content-disposition"]
    assert any(EVIL in row["subject"] for row in rows)
    assert not any(value.startswith(("=", "+", "@")) for row in rows for value in row.values())


def test_the_audit_is_filtered_and_a_wrong_date_is_one_line(admin):
    told = admin.get("/audit", params={"about": EVIL, "what": "add protected"}, headers=JSON).json()

    assert {row["what"] for row in told["rows"]} == {"add protected"}
    assert admin.get("/audit?since=yesterday", headers=JSON).status_code == 400
    assert admin.get("/audit?since=2026-01-01&before=2", headers=HTML).status_code == 200


def test_what_takes_long_is_begun_and_the_page_says_so(admin):
    for path in ("/policy/rehearsal", "/audit/check"):
        assert admin.post(path, headers=HTML).status_code == 303
    assert admin.post("/policy/resume", headers=JSON).status_code == 400
    assert admin.post("/models/logistic@nothing/promote", data={"because": "x"}, headers=JSON).status_code == 404
