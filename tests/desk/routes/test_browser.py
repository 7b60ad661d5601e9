"""The desk as people use it: a real browser before a real server, by mouse and by keyboard, in both languages."""

import csv
import io
import json
import re
import shutil
from pathlib import Path

import pytest

from desk_served import browser, served
from desk_world import FORMULA, NASTY, make_desk_workspace
from gamewarden.web.pages import account_url

PASSWORD = "a long password that nobody else has"  # noqa: S105  of a test
PAGES = (
    "/overview",
    "/accounts",
    "/review",
    "/groups",
    "/decisions",
    "/appeals",
    "/models",
    "/policy",
    "/sources",
    "/audit",
    "/users",
    "/tokens",
    "/me",
    "/api",
)
pytestmark = [
    pytest.mark.integration,
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]  # of the browser's driver


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    root = tmp_path_factory.mktemp("desk")
    make_desk_workspace(root)
    return root


@pytest.fixture(scope="module")
def chromium():
    with browser() as found:
        yield found


@pytest.fixture(scope="module")
def desk(made, tmp_path_factory):
    """A served desk."""
    root = tmp_path_factory.mktemp("served") / "ws"
    shutil.copytree(made, root)
    with served(root) as found:
        yield found


@pytest.fixture(scope="module")
def logged_in(desk, chromium):
    """What a browser keeps once the administrator has logged in and chosen a password."""
    page = new_page(chromium)
    page.goto(desk.url)
    log_in(page, desk.password)
    page.fill("[name=old]", desk.password)
    page.fill("[name=new]", PASSWORD)
    page.fill("[name=again]", PASSWORD)
    page.press("[name=again]", "Enter")
    page.wait_for_url("**/overview")
    kept = page.context.storage_state()
    page.context.close()
    return kept


def new_page(chromium, **options):
    """A page in a browser of its own, which remembers what the console complained about."""
    context = chromium.new_context(**{"viewport": {"width": 1280, "height": 900}, "locale": "en-US", **options})
    page = context.new_page()
    page.complaints = []
    page.on("console", lambda said: page.complaints.append(said.text) if said.type in {"error", "warning"} else None)
    page.on("pageerror", lambda error: page.complaints.append(str(error)))
    return page


def log_in(page, password):
    page.fill("[name=name]", "admin")
    page.fill("[name=password]", password)
    page.press("[name=password]", "Enter")


@pytest.fixture
def page(logged_in, chromium):
    made = new_page(chromium, storage_state=logged_in)
    yield made
    assert not made.complaints
    made.context.close()


def total(page):
    """How many accounts the list says there are."""
    return int(page.get_attribute("#acts", "data-total"))


def settled(page):
    """Look at all of a page, and wait until its parts have come and its charts are drawn."""
    waiting = page.locator("[hx-trigger=revealed]:has(.account-waiting)")
    for _ in range(100):
        if not waiting.count():
            break
        waiting.evaluate_all("all => all[0]?.scrollIntoView()")
        page.wait_for_timeout(100)
    page.wait_for_function("() => !document.querySelector('.htmx-request')")
    page.wait_for_function("() => [...document.querySelectorAll('figure[data-chart]')].every(one => one.dataset.drawn)")


def test_somebody_logs_in_filters_opens_votes_undoes_exports_and_switches(page, desk):
    page.context.clear_cookies()
    page.goto(f"{desk.url}/accounts")
    log_in(page, PASSWORD)
    page.wait_for_url("**/accounts")
    everybody = total(page)
    page.locator("details:has([name=level_from])").evaluate_all("all => all.forEach(one => one.open = true)")
    page.fill("[name=level_from]", "50")
    page.press("[name=level_from]", "Enter")
    page.wait_for_url("**/accounts?*level_from=50*")
    some = total(page)
    assert 0 < some < everybody

    page.keyboard.press("j")
    page.keyboard.press("o")
    page.wait_for_url("**/accounts/*")
    settled(page)
    assert page.locator("figure[data-chart]").count() >= 3

    page.goto(f"{desk.url}/review")
    first = page.get_attribute("article[data-actor]", "data-actor")
    page.keyboard.press("1")
    page.wait_for_selector("[data-review-undo]")
    assert page.get_attribute("article[data-actor]", "data-actor") != first
    page.keyboard.press("u")
    page.wait_for_selector(f"article[data-actor={json.dumps(first)}]")
    assert page.locator("[data-review-undo]").count() == 0

    page.goto(f"{desk.url}/accounts?level_from=50")
    with page.expect_download() as asked:
        page.locator("details:has(a[href*='/accounts.csv'])").evaluate_all("all => all.forEach(one => one.open = true)")
        page.click("a[href*='/accounts.csv']")
    rows = list(csv.DictReader(io.StringIO(Path(asked.value.path()).read_text(encoding="utf-8"))))
    assert len(rows) == some

    page.click("button[name=language][value=ko]")
    assert page.get_attribute("html", "lang") == "ko"
    assert "계정" in page.inner_text(".desk-nav")
    page.click("button[name=theme]")
    assert page.get_attribute("html", "data-bs-theme") == "dark"
    page.click("button[name=language][value=en]")
    page.click("button[name=theme]")
    assert page.get_attribute("html", "lang") == "en"


def places(page, desk):
    """Every page, one account, one group and one model among them."""
    found = page.request.get(f"{desk.url}/accounts", params={"format": "json"}).json()["rows"]
    group = page.request.get(f"{desk.url}/groups", params={"format": "json"}).json()["rows"][0]["id"]
    model = page.request.get(f"{desk.url}/models", params={"format": "json"}).json()["rows"][0]["id"]
    return (*PAGES, account_url(found[0]["actor"]), f"/groups/{group}", f"/models/{model}")


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 360])
def test_no_page_has_a_serious_barrier_and_all_fit_their_screen(page, desk, theme, width):
    from axe_playwright_python.sync_playwright import Axe

    page.emulate_media(color_scheme=theme)
    page.set_viewport_size({"width": width, "height": 800})
    for path in places(page, desk):
        page.goto(desk.url + path)
        settled(page)

        found = Axe().run(page).response["violations"]
        serious = [one for one in found if one["impact"] in {"serious", "critical"}]
        assert not serious, [(path, one["id"], [node["html"][:200] for node in one["nodes"][:3]]) for one in serious]
        assert page.evaluate("document.documentElement.scrollWidth") <= width, path


def test_names_that_would_be_more_are_names_on_every_page(page, desk):
    for name in NASTY:
        shown = page.request.get(f"{desk.url}/accounts", params={"q": name, "format": "json"}).json()
        assert shown["total"] == 1, name
        assert [row["actor"] for row in shown["rows"]] == [name]
        page.goto(f"{desk.url}{account_url(name)}")
        settled(page)
        assert page.evaluate("window.harmed") is None
        assert "49" not in page.inner_text("h1")
    for path in PAGES:
        page.goto(desk.url + path)
        settled(page)
        assert page.evaluate("window.harmed") is None


def test_an_account_is_seen_in_short_beside_the_list(page, desk):
    page.goto(f"{desk.url}/accounts")
    drawer = page.locator("#drawer")
    page.keyboard.press("j")
    page.keyboard.press("v")
    names = page.locator("[data-row] th a").all_inner_texts()
    drawer.locator("h2", has_text=names[0]).wait_for()
    page.keyboard.press("j")
    drawer.locator("h2", has_text=names[1]).wait_for()
    page.keyboard.press("Escape")
    assert not drawer.is_visible()
    page.locator("[data-row] td.list-reason").nth(2).click()
    drawer.locator("h2", has_text=names[2]).wait_for()
    assert drawer.locator("a", has_text="The whole page").get_attribute("href")


def test_the_review_counts_what_was_said(page, desk):
    page.goto(f"{desk.url}/review")
    told = page.locator("#review-count")
    before = told.inner_text()
    page.keyboard.press("3")
    page.wait_for_function("before => document.getElementById('review-count').innerText !== before", arg=before)
    page.keyboard.press("u")
    page.wait_for_function("before => document.getElementById('review-count').innerText === before", arg=before)


def test_a_note_survives_a_session_that_ends_and_its_page_comes_back(logged_in, chromium, desk):
    page = new_page(chromium, storage_state=logged_in)
    page.goto(f"{desk.url}/review")
    actor = page.get_attribute("#review-item [data-actor]", "data-actor")
    page.fill("#review-item [name=note]", "walks in circles")
    page.context.clear_cookies()

    page.locator("#review-item button[value=bot]").click()
    page.wait_for_url("**/login**")
    log_in(page, PASSWORD)
    page.wait_for_url("**/review*")

    assert page.get_attribute("#review-item [data-actor]", "data-actor") == actor
    assert page.input_value("#review-item [name=note]") == "walks in circles"
    page.context.close()


def first_account(page, desk):
    """The address of the account that heads the list."""
    page.goto(f"{desk.url}/accounts")
    return desk.url + page.get_attribute("main a[href^='/accounts/']", "href")


def test_a_note_on_the_page_of_an_account_survives_a_session_that_ends(logged_in, chromium, desk):
    page = new_page(chromium, storage_state=logged_in)
    address = first_account(page, desk)
    page.goto(address)
    settled(page)
    page.fill("#note", "was asked in the game")
    page.context.clear_cookies()

    page.locator("form:has(#note) button").click()
    page.wait_for_url("**/login**")
    log_in(page, PASSWORD)
    page.wait_for_url(address)

    assert page.input_value("#note") == "was asked in the game"
    page.context.close()


def test_a_reason_survives_a_session_that_ends_while_a_decision_is_looked_at(logged_in, chromium, desk):
    """The look is the answer to a form, and nobody can come back to it: the page before it has the reason."""
    page = new_page(chromium, storage_state=logged_in)
    address = first_account(page, desk)
    page.goto(address)
    page.locator("details:has(#act-because)").evaluate_all("all => all.forEach(one => one.open = true)")
    page.fill("#act-because", "a farm")
    page.click("button[formaction='/acts/preview']")
    page.wait_for_url("**/acts/preview")
    page.fill("#because", "sells gold all night")
    page.context.clear_cookies()

    page.locator("form.case-sign button").click()
    page.wait_for_url("**/login**")
    log_in(page, PASSWORD)
    page.wait_for_url(address)

    assert page.input_value("#act-because") == "sells gold all night"
    page.context.close()


def test_a_formula_in_a_name_is_harmless_in_a_spreadsheet(page, desk):
    told = page.request.get(f"{desk.url}/accounts", params={"q": FORMULA, "format": "csv"}).text()
    cells = [cell for row in csv.reader(io.StringIO(told)) for cell in row]

    assert f"'{FORMULA}" in cells
    assert not [cell for cell in cells if cell[:1] in set("=+-@") and not re.fullmatch(r"[-+]?[\d.e-]+", cell)]


def test_help_lists_the_keys_and_shortcuts_are_off_while_typing(page, desk):
    page.goto(f"{desk.url}/accounts")
    page.keyboard.press("?")
    assert page.locator("dialog#keys[open] kbd").count() > 5
    page.keyboard.press("Escape")

    page.focus("[type=search]")
    page.keyboard.type("?gj")
    assert page.input_value("[type=search]").endswith("?gj")
    assert page.locator("dialog#keys[open]").count() == 0
