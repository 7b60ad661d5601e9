"""The list of accounts and the front page as people and programs get them."""

import csv
import io
import re
import shutil
from html import unescape

import pytest

import rich_made_up
from gamewarden.desk.conditions import Conditions
from gamewarden.desk.desk import Desk
from gamewarden.desk.search import matching
from gamewarden.tables import write_table
from gamewarden.web.app import create_app
from gamewarden.web.drawing import bars_path, days_path
from gamewarden.workspace.place import Workspace
from people_made_up import browser, empty_desk, program

HTML, JSON = {"Accept": "text/html"}, {"Accept": "application/json"}


@pytest.fixture(scope="module")
def workspace(tmp_path_factory):
    return rich_made_up.run_rich(tmp_path_factory.mktemp("made"))


@pytest.fixture(scope="module")
def desk(workspace):
    return Desk(workspace)


@pytest.fixture(scope="module")
def app(desk):
    return create_app(desk)


@pytest.fixture(scope="module")
def client(app):
    made = browser(app, "moderator", "mia")
    made.headers["Accept"] = "text/html"
    return made


def links(page, part):
    return [unescape(one) for one in re.findall(r'href="([^"]+)"', page) if part in one]


def shown(page):
    return re.findall(r'name="actors" value="([^"]+)"', page)


def test_the_front_door_leads_to_the_overview(client):
    answer = client.get("/")

    assert (answer.status_code, answer.headers["location"]) == (303, "/overview")


def test_the_overview_is_a_page_with_its_numbers_as_charts_tables_and_links(client):
    page = client.get("/overview").text

    assert page.count('data-chart="bars"') == 3
    assert 'data-chart="trend"' in page
    assert links(page, "/accounts?zone=")
    assert client.get("/overview/cells").text.count('data-chart="cells"') == 1


def test_programs_get_the_same_as_json(app):
    one = program(app, ["read"])

    told = one.get("/accounts?sort=level&size=100", headers=JSON).json()
    assert told["total"] == len(told["rows"]) == 50
    assert told["rows"][0]["values"]["level"] == max(row["values"]["level"] for row in told["rows"])
    assert one.get("/overview", headers=JSON).json()["accounts"] == 50
    assert {choice["value"] for choice in one.get("/facets?facet=zone", headers=JSON).json()["choices"]} == {
        "Aden",
        "Dion",
        "Giran",
        "Heine",
        "Oren",
    }


def test_the_address_is_the_state_of_the_list(client, desk):
    page = client.get("/accounts?zone=Dion&sort=level&order=rising").text

    wanted = Conditions.of_query("zone=Dion&sort=level&order=rising")
    assert shown(page) == matching(desk, wanted)
    assert f"{len(matching(desk, wanted))} accounts of 50 match" in page
    assert 'aria-sort="ascending"' in page
    widened = next(url for url in links(page, "/accounts?") if "zone=Dion" in url and "zone=Aden" in url)
    assert set(shown(client.get(widened).text)) > set(shown(page))


def test_where_nothing_matches_the_condition_that_removes_most_is_named(client):
    page = client.get("/accounts?zone=Dion&q=nobody-of-this-name").text

    assert "No account meets all conditions." in page
    assert re.search(r"Without “Text” there are 1\d", page)


def test_a_workspace_without_judged_days_says_what_to_run(tmp_path):
    app = create_app(empty_desk(tmp_path / "ws"))
    page = browser(app, "viewer").get("/accounts", headers=HTML).text

    assert "Nothing rests for the desk yet." in page
    assert "gamewarden run" in page


@pytest.mark.parametrize("query", ["sort=nothing", "probability_from=nan", "after=%00", "q=" + "x" * 5_000, "a=b"])
def test_what_cannot_be_asked_is_a_page_with_one_line(client, query):
    answer = client.get(f"/accounts?{query}")

    assert answer.status_code == 400
    assert "Traceback" not in answer.text
    assert client.get(f"/accounts?{query}", headers=JSON).json().keys() == {"error"}


def test_all_that_match_are_taken_along_as_csv_and_json(client, desk):
    query = "server=server-1&sort=actor&order=rising&columns=actor&columns=level"
    rows = list(csv.DictReader(io.StringIO(client.get(f"/accounts.csv?{query}").text)))

    assert [row["actor"] for row in rows] == matching(desk, Conditions.of_query(query))
    assert list(rows[0]) == ["actor", "level"]
    assert [row["actor"] for row in client.get(f"/accounts.json?{query}").json()] == [row["actor"] for row in rows]
    assert client.get(f"/accounts?{query}&format=csv").text == client.get(f"/accounts.csv?{query}").text


def test_only_who_decides_sees_what_can_be_done_to_many(app, client):
    page = client.get("/accounts?zone=Dion").text

    assert 'action="/acts/preview"' in page
    assert 'name="query" value="zone=Dion"' in page
    viewer = browser(app, "viewer").get("/accounts", headers=HTML).text
    assert 'name="actors"' not in viewer
    assert 'id="everybody"' not in viewer


def test_all_that_match_can_be_looked_at_before_something_is_done(client, desk):
    total = len(matching(desk, Conditions.of_query("zone=Dion")))
    told = {"step": "watch", "query": "zone=Dion", "expected": str(total)}

    assert client.post("/acts/preview", data=told, headers=JSON).json()["accounts"] == total
    assert client.post("/acts/preview", data={**told, "expected": "3"}, headers=JSON).status_code == 400


def test_a_search_is_saved_shown_to_all_and_removed(app, client):
    answer = client.post("/views", data={"name": "Elves & <b>", "query": "class=elf", "shared": "yes"})

    assert (answer.status_code, answer.headers["location"]) == (303, "/accounts?class=elf")
    other = browser(app, "viewer")
    assert "Elves &amp; &lt;b&gt;" in other.get("/accounts", headers=HTML).text
    number = other.get("/views", headers=JSON).json()["views"][0]["id"]
    assert other.post(f"/views/{number}/delete", headers=JSON).status_code == 404
    assert client.post(f"/views/{number}/delete").status_code == 303
    assert other.get("/views", headers=JSON).json()["views"] == []


def test_who_operates_marks_what_happened(app):
    operator = browser(app, "operator")
    answer = operator.post("/marks", data={"day": "2026-03-03", "kind": "patch", "text": "1.2 </script>"})

    assert answer.status_code == 303
    page = operator.get("/overview", headers=HTML).text
    assert "1.2 &lt;/script&gt;" in page
    number = next(one["id"] for one in operator.get("/overview", headers=JSON).json()["marks"])
    assert operator.post(f"/marks/{number}/delete").status_code == 303
    assert browser(app, "viewer").post("/marks", data={}).status_code == 403


def test_names_that_are_markup_are_shown_as_they_are(workspace, tmp_path):
    shutil.copytree(workspace.root, tmp_path / "ws")
    evil = rich_made_up.profiles().with_columns(name='<img src=x onerror="alert(1)">' + rich_made_up.number().cast(str))
    write_table(evil, tmp_path / "ws" / "profiles.csv")
    app = create_app(Desk(Workspace.at(tmp_path / "ws")))

    page = browser(app).get("/accounts", headers=HTML).text
    assert "<img" not in page
    assert "&lt;img src=x" in page


def test_the_list_is_in_korean_where_a_browser_asks_for_it(client):
    page = client.get("/accounts", headers={**HTML, "Accept-Language": "ko"})

    assert page.status_code == 200
    assert '<html lang="ko"' in page.text


def test_drawings_have_a_bar_per_day_and_none_where_nothing_is_known():
    assert days_path([0.5, None, 1.0]).count("M") == 2
    assert days_path([]) == bars_path([]) == bars_path([0, 0]) == ""
    assert bars_path([0, 4, 1]).count("M") == 2
