"""The page of an account in a browser's and a program's eyes, whatever it is called and whoever looks."""

import json
import re
from html.parser import HTMLParser
from urllib.parse import quote, unquote

import pytest

import workspaces_made_up as made_up
from account_made_up import DAY, HIDDEN, UNHEARD, WANDERER, desk_of
from gamewarden.cases import Label, Suspicion
from gamewarden.desk.account import account
from gamewarden.desk.reasons import Fact
from gamewarden.web.account_names import account_url, from_path, in_path
from gamewarden.web.account_words import feature_name, sentence
from gamewarden.web.app import create_app
from gamewarden.web.languages import Language
from people_made_up import browser, program

PARTS = ("reasons", "series", "hours", "mix", "traffic", "sessions", "trade", "movement", "events", "timeline")
HTML, JSON, FRAGMENT = {"Accept": "text/html"}, {"Accept": "application/json"}, {"HX-Request": "true"}
NAMES = [
    "plain",
    "with space",
    "a/b",
    "a/series",
    "/",
    "..",
    ".",
    "../../etc/passwd",
    "",
    "~",
    "%2F",
    "50%",
    "?day=x#y",
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "\u200b\u3164\u202e",
    "한국어",
    "a\nb",
    "{{ 7*7 }}",
    "javascript:alert(1)",
]


@pytest.fixture(scope="module")
def desk(tmp_path_factory):
    return desk_of(tmp_path_factory.mktemp("web"))


@pytest.fixture(scope="module")
def app(desk):
    return create_app(desk)


@pytest.fixture
def viewer(app):
    return browser(app, "viewer")


@pytest.fixture(scope="module")
def verdicts(desk):
    return desk.workspace.judged(made_up.LATER).verdicts()


class Elements(HTMLParser):
    """The tags of a page, and the texts in them."""

    def __init__(self):
        super().__init__()
        self.tags, self.attributes, self.texts = [], [], []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs

    def handle_data(self, data):
        self.texts.append(data)


def read(text):
    found = Elements()
    found.feed(text)
    return found


@pytest.mark.parametrize("name", NAMES)
def test_a_name_survives_the_way_into_an_address_and_back(name):
    url = account_url(name)

    assert re.fullmatch(r"/accounts/[A-Za-z0-9%._~-]+", url)
    assert url.removeprefix("/accounts/") not in {".", ".."}
    assert from_path(unquote(in_path(name))) == name
    assert from_path(unquote(unquote(in_path(name)))) == name


def test_plain_names_look_as_they_are():
    assert account_url("u0000001", "series") == "/accounts/u0000001/series"


@pytest.mark.parametrize("part", ["", *PARTS])
def test_a_hostile_name_is_shown_harmless_in_every_part(viewer, part):
    answer = viewer.get(
        account_url(WANDERER, part), params={"day": DAY} if part not in {"trade", "timeline"} else {}, headers=HTML
    )

    assert answer.status_code == 200, answer.text[:500]
    found = read(answer.text)
    assert "img" not in found.tags
    assert "b" not in found.tags
    assert not [name for name, _ in found.attributes if name.startswith("on") or name == "style"]
    assert "\u202e" not in answer.text
    assert "\u200b" not in answer.text


def test_a_name_with_a_slash_that_was_encoded_once_alone_is_found_too(viewer):
    answer = viewer.get("/accounts/" + quote(UNHEARD, safe=""), headers=HTML)

    assert answer.status_code == 200


@pytest.mark.parametrize("part", PARTS)
def test_a_part_alone_has_no_page_around_it_and_the_page_has(viewer, part):
    alone = viewer.get(account_url("bot003", part), headers=FRAGMENT)
    whole = viewer.get(account_url("bot003", part), headers=HTML)

    assert alone.status_code == whole.status_code == 200
    assert "<html" not in alone.text
    assert "<html" in whole.text


@pytest.mark.parametrize("part", ["", *PARTS])
def test_every_part_is_json_too(app, part):
    told = program(app, ["read"]).get(account_url("bot003", part), headers=JSON)

    assert told.status_code == 200
    assert told.json()["actor"] == "bot003"


def numbers_of(row):
    """How the numbers of a verdict could be written."""
    return {f"{row[name]:.{digits}f}" for name in ("probability", "fpr") for digits in (3, 4)} | {repr(row["fpr"])}


@pytest.mark.parametrize("part", ["", *PARTS])
@pytest.mark.parametrize("headers", [HTML, JSON])
def test_whoever_judges_blind_is_shown_no_score_anywhere(app, verdicts, part, headers):
    row = verdicts.filter(actor="bot003").drop_nulls("verdict").sort("fpr").row(0, named=True)
    day = f"{row['since']:%Y-%m-%d}"

    answer = browser(app, "moderator").get(f"{account_url('bot003', part)}?day={day}&blind=1", headers=headers)

    assert answer.status_code == 200
    assert row["verdict"] not in answer.text
    if part not in {"mix", "hours", "movement", "sessions", "events"}:  # numbers of play, none of a verdict
        assert not [number for number in numbers_of(row) - {"0.000", "1.000"} if number in answer.text]
    if headers is JSON:
        assert told_of(answer.json()) == []
    else:
        assert not re.search(r"desk-(act|watch)|account-(bot|human|dots)|speaks for", answer.text)
        data = re.findall(r'class="desk-chart-data">(.*?)</script>', answer.text, re.DOTALL)
        assert not [one for one in data if told_of(json.loads(one))]


def told_of(value, name=""):
    """Scores that a JSON value tells."""
    if isinstance(value, dict):
        return [found for key, one in value.items() if key != "words" for found in told_of(one, key)]
    if isinstance(value, list):
        return [found for one in value for found in told_of(one, name)]
    return (
        [(name, value)]
        if name in {*HIDDEN, "votes", "bot", "side", "rather", "marks"} and value not in {None, 0, ""}
        else []
    )


def test_notes_are_kept_by_those_who_may_vote(app):
    client = browser(app, "reviewer")
    page = client.get(account_url("human031"), headers=HTML).text
    csrf = re.search(r'name="csrf" value="([^"]+)"', page)[1]

    answer = client.post(account_url("human031", "notes"), data={"text": "<b>odd</b>", "csrf": csrf}, headers=HTML)
    shown = client.get(account_url("human031", "timeline"), headers=FRAGMENT).text

    assert answer.status_code == 303
    assert "&lt;b&gt;odd&lt;/b&gt;" in shown
    assert browser(app, "viewer").post(account_url("human031", "notes"), data={"text": "x"}).status_code == 403


def test_nobody_writes_about_an_account_that_is_not_there(app):
    answer = program(app, ["vote"]).post(account_url("nobody", "notes"), data={"text": "x"}, headers=JSON)

    assert answer.status_code == 404


def test_a_form_sends_the_name_as_it_is(app):
    page = browser(app, "moderator").get(account_url(WANDERER), params={"day": DAY}, headers=HTML).text

    sent = dict(read(page).attributes)
    values = [value for name, value in read(page).attributes if name == "value"]
    assert sent
    assert WANDERER in values


def test_whoever_may_not_decide_gets_no_form_for_it(app, viewer):
    assert 'action="/acts"' not in viewer.get(account_url("bot003"), headers=HTML).text
    assert 'action="/acts"' in browser(app, "moderator").get(account_url("bot003"), headers=HTML).text


def test_the_drawer_is_short_and_links_to_the_page(viewer):
    answer = viewer.get(account_url("bot003"), params={"part": "drawer"}, headers=HTML)

    assert "<html" not in answer.text
    assert f'href="{account_url("bot003")}' in answer.text


def test_an_unknown_account_is_a_page_that_says_so(viewer):
    answer = viewer.get(account_url("nobody<script>"), headers=HTML)

    assert answer.status_code == 404
    assert "nothing is known of it" in answer.text
    assert "<script>" not in answer.text.replace("<script src", "").replace("<script type", "")


def test_what_is_missing_is_told_in_words(viewer):
    assert "the traffic detector did not vote" in viewer.get(account_url(UNHEARD, "traffic")).text.lower()
    assert "No position of this account" in viewer.get(account_url("human030", "movement")).text


def test_korean_reasons_are_made_of_the_number_and_the_english_sentence_stays_in_reach(viewer):
    page = viewer.get(account_url("bot003", "reasons"), headers={**FRAGMENT, "Accept-Language": "ko"}).text

    assert 'title="' in page


def test_a_reason_in_another_language_names_number_and_usual_person():
    fact = Fact("self_sim", 0.99834, 0.9952, "Every minute looks alike: 0.9983, a typical human has 0.9952.")

    assert sentence(fact, Language("en")) == fact.says
    assert "0.9983" in sentence(fact, Language("ko"))
    assert "0.9952" in sentence(fact, Language("ko"))
    assert feature_name("a_combat.kill", Language("en")) == "how often it does combat.kill"
    assert feature_name("own_column", Language("ko")) == "own column"


def test_a_label_with_markup_in_it_is_text(desk, viewer):
    with desk.workspace.ledger.writing("mina", desk.now()) as work:
        work.add(
            [Label("human033", bot=False, source="<i>review</i>", at=desk.now(), by="<u>mina</u>", because="<s>x</s>")]
        )

    found = read(viewer.get(account_url("human033"), headers=HTML).text)

    assert not {"i", "u", "s"} & set(found.tags)
    assert account(desk, "human033").labels[-1].by == "<u>mina</u>"


def test_an_account_that_was_never_judged_has_a_page_that_says_so(desk, viewer):
    with desk.workspace.ledger.writing("mina", desk.now()) as work:
        work.add([Label("never-judged", bot=False, source="review", at=desk.now(), by="mina")])

    page = viewer.get(account_url("never-judged"), headers=HTML)
    part = viewer.get(account_url("never-judged", "series"), headers=JSON)

    assert "Not judged yet" in page.text
    assert (page.status_code, part.status_code) == (200, 404)
    assert "it was never judged" in part.json()["error"]


def test_nobody_is_said_to_be_tested_who_only_reached_the_rung_of_challenges(desk, viewer):
    with desk.workspace.ledger.writing("ladder", desk.now()) as work:
        work.put([Suspicion("human034", 4.0, 4, desk.now(), desk.now(), 1)])

    page = " ".join(viewer.get(account_url("human034"), headers=HTML).text.split())
    korean = viewer.get(account_url("human034"), headers={**HTML, "Accept-Language": "ko"}).text

    assert "Suspicion has reached rung 4 of the ladder" in page
    assert "(its steps: challenge). No step is in force." in page
    assert "tested" not in page
    assert "현재 적용 중인 조치는 없습니다." in korean


def test_what_a_page_asks_for_that_nobody_gave_is_an_error_in_a_line(viewer):
    for query, status in (("after=nonsense", 400), ("day=1999-01-01", 404), ("hour=99", 200), ("hour=-1", 200)):
        answer = viewer.get(f"{account_url('bot003', 'events')}?{query}", headers=JSON)

        assert answer.status_code == status, query
        assert status == 200 or "\n" not in answer.json()["error"]


@pytest.mark.parametrize(("role", "whole"), [("viewer", False), ("reviewer", False), ("moderator", True)])
def test_only_who_decides_sees_whole_addresses(app, role, whole):
    client = browser(app, role)

    for part in ("sessions", "events"):
        for accept in ("text/html", "application/json"):
            told = client.get(account_url(WANDERER, part), params={"day": DAY}, headers={"Accept": accept}).text
            assert ("10.0.0.1" in told) is whole, (part, accept)
