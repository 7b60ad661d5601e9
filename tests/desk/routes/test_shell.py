"""The frame of the desk's pages: what browsers fetch, what templates may do, and how answers leave."""

import hashlib
import json
import re
from datetime import UTC, datetime
from pathlib import Path

import pytest

from gamewarden.core.listening import is_local
from gamewarden.web import assets, languages, pages

WEB = Path(assets.__file__).parent
TEMPLATES = sorted((WEB / "templates").rglob("*.html"))
SCRIPTS = [path for path in sorted((WEB / "static").rglob("*.js")) if "vendor" not in path.parts]


def test_the_libraries_kept_are_what_the_manifest_says_with_a_licence_each():
    told = json.loads((WEB / "static/vendor/manifest.json").read_text())
    files = {name: digest for library in told for name, digest in library["files"].items()}

    there = {path.name for path in (WEB / "static/vendor").iterdir()} - {"manifest.json"}
    assert there == set(files)
    for name, digest in files.items():
        assert hashlib.sha256((WEB / "static/vendor" / name).read_bytes()).hexdigest() == digest
    for library in told:
        assert any("LICENSE" in name for name in library["files"]), library["package"]


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: path.name)
def test_a_template_has_nothing_that_the_content_policy_would_stop(path):
    text = path.read_text(encoding="utf-8")

    assert not re.search(r"\sstyle\s*=", text)
    assert not re.search(r"\son[a-z]+\s*=", text)
    assert not re.search(r"hx-on|js:|javascript:", text)
    for attributes in re.findall(r"<script([^>]*)>", text):
        assert "src=" in attributes or 'type="application/json"' in attributes
    assert not re.search(r"https?://(?!www\.w3\.org)", text)
    assert "|safe" not in text.replace(" ", "")


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.name)
def test_a_script_writes_no_markup_and_asks_no_other_host(path):
    text = path.read_text(encoding="utf-8")

    assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(|new Function", text)
    assert not re.search(r"https?://", text)


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: path.name)
def test_a_form_that_posts_carries_the_secret(path):
    for form in re.findall(r"<form\b.*?</form>", path.read_text(encoding="utf-8"), re.DOTALL):
        if re.search(r'method="post"', form) and 'action="/login"' not in form:  # nobody has a secret before that
            assert "csrf" in form or "secret(" in form, form[:200]


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: path.name)
def test_what_a_form_sends_is_the_value_itself_and_not_how_it_is_written_out(path):
    sent = re.findall(r'\s(?:value|data-actor)="\{\{ (.*?) \}\}"', path.read_text(encoding="utf-8"))

    assert [one for one in sent if not one.endswith("|field") and "_(" not in one] == []


def test_a_field_keeps_letters_that_a_page_writes_out():
    shown = pages.environment().from_string('{{ name }}<input value="{{ name|field }}">')

    assert shown.render(name="\u202e<b>") == '\\u202e&lt;b&gt;<input value="\u202e&lt;b&gt;">'


def test_data_for_a_script_cannot_end_its_element():
    told = pages.data({"name": "</script><script>alert(1)</script>", "at": datetime(2026, 1, 2, tzinfo=UTC)})

    assert "<" not in told
    assert json.loads(told)["name"].startswith("</script>")


def test_what_is_put_into_a_text_is_escaped_and_made_visible():
    made = pages.environment().from_string('{{ _("Hello %(name)s", name=who) }}{{ who }}')

    told = made.render(who="<b>\u202e")
    assert told == "Hello &lt;b&gt;\\u202e&lt;b&gt;\\u202e"


@pytest.mark.parametrize(
    ("asked", "code"), [("ko-KR,ko;q=0.9", "ko"), ("de, en;q=0.5", "en"), ("", "en"), ("fr", "en"), (";;,,", "en")]
)
def test_a_browser_gets_the_first_of_its_languages_that_there_is(asked, code):
    assert languages.best_language(asked) == code


def test_numbers_and_times_are_written_for_people_and_what_is_not_known_as_a_dash():
    english = languages.Language("en", "Asia/Seoul")

    assert english.number(1234567) == "1,234,567"
    assert english.number(None) == "–"
    assert english.number(0.00001234) == "1.2e-05"
    assert english.percent(0.1234) == "12.3 %"
    assert english.when(datetime(2026, 1, 1, 20, 30, tzinfo=UTC)) == "2026-01-02 05:30"
    assert english.day(datetime(2026, 1, 1, 20, 30, tzinfo=UTC)) == "2026-01-02"
    assert english.duration(90) == "1 hr 30 min"
    assert english.duration(1500) == "1 day 1 hr"
    assert english.duration(0) == "0 min"
    assert languages.Language("ko").duration(90) == "1시간 30분"


@pytest.mark.parametrize(
    ("host", "local"),
    [("127.0.0.1", True), ("::1", True), ("localhost", True), ("0.0.0.0", False), ("warden.example.org", False)],  # noqa: S104  asked about, not listened on
)
def test_whether_others_reach_the_desk_is_told_by_its_address(host, local):
    assert is_local(host) is local
