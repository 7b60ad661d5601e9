"""Nobody sees or does at the desk what they may not, from wherever they come and whatever they send."""

import base64
import json
import re
from datetime import timedelta
from urllib.parse import parse_qs, urlsplit

import pytest
from starlette.routing import Mount

from gamewarden.desk.people import RIGHTS, ROLES, add_user, first_admin
from gamewarden.desk.tokens import make_token
from gamewarden.desk_records import LoginSession, User
from gamewarden.web.app import create_app
from gamewarden.web.assets import digest_of_assets
from gamewarden.web.guarding import HEADERS, LARGEST, STREAMS
from gamewarden.web.security import page_of_ours
from people_made_up import browser, empty_desk, program, stranger
from web_routes import OPEN, PEOPLE, ROUTES

HTML, JSON = {"Accept": "text/html"}, {"Accept": "application/json"}
GOOD = "a sentence that is long"
SAFE = {"GET", "HEAD"}


@pytest.fixture
def desk(tmp_path, quick_passwords):  # noqa: ARG001  log ins are quick
    return empty_desk(tmp_path / "ws")


@pytest.fixture
def app(desk):
    return create_app(desk)


def every_route(routes):
    """Every method and path that is answered, as the framework has them: one by one, or by router."""
    for route in routes:
        if hasattr(route, "original_router"):
            yield from every_route(route.original_router.routes)
        elif isinstance(route, Mount):
            yield "MOUNT", route.path
        else:
            yield from ((method, route.path) for method in route.methods - {"HEAD"})


def filled(path):
    """A path whose parts are names of things that are not there."""
    return re.sub(r"\{[^}]*\}", "nothing", path)


def ask(client, method, path, headers):
    return client.request(method, filled(path), headers=headers)


# The table of roles and routes


def test_every_route_stands_in_the_table_and_the_table_has_no_other(app):
    found = [one for one in every_route(app.routes) if one != ("MOUNT", f"/static/{digest_of_assets()}")]

    assert len(found) == len(set(found)), "two routes answer the same"
    assert set(found) == set(ROUTES), "write the route and what it needs into tests/support/web_routes.py"


def rights_of(need):
    return {need} if isinstance(need, str) else set(need)


@pytest.mark.parametrize("right", sorted(set().union(*map(rights_of, ROUTES.values())) - {OPEN, PEOPLE}))
def test_the_table_speaks_of_rights_that_there_are(right):
    assert right in RIGHTS


def test_nobody_who_is_not_logged_in_gets_past_the_door(app):
    client = stranger(app)
    for (method, path), need in ROUTES.items():
        page, told = (ask(client, method, path, headers) for headers in (HTML, JSON))
        if need == OPEN:
            assert {page.status_code, told.status_code} & {403, 500} == set(), (method, path)
            continue
        assert (page.status_code, page.headers.get("location", "").partition("?")[0]) == (303, "/login"), (method, path)
        assert (told.status_code, told.headers["www-authenticate"][:6]) == (401, "Bearer"), (method, path)
        assert set(told.json()) == {"error"}


@pytest.mark.parametrize("role", ROLES)
def test_a_role_opens_what_it_may_and_nothing_else(app, role):
    for (method, path), need in ROUTES.items():
        if need == OPEN:
            continue
        answer = ask(browser(app, role), method, path, JSON)
        says = f"{role} {method} {path}: {answer.status_code} {answer.text[:200]}"
        if need == PEOPLE or rights_of(need) & ROLES[role]:
            assert answer.status_code not in {401, 403, 500}, says
            assert "/login" not in answer.headers.get("location", "") or path.startswith("/logout"), says
        else:
            assert answer.status_code == 403, says
            assert all(right in answer.json()["error"] for right in rights_of(need)), says


@pytest.mark.integration
@pytest.mark.parametrize("scope", RIGHTS)
def test_a_token_opens_what_its_scope_says_and_nothing_else(app, scope):
    client = program(app, [scope])
    for (method, path), need in ROUTES.items():
        if need == OPEN:
            continue
        answer = ask(client, method, path, JSON)
        says = f"{scope} {method} {path}: {answer.status_code} {answer.text[:200]}"
        if scope in rights_of(need):
            assert answer.status_code not in {401, 403, 500}, says
        else:
            assert answer.status_code == 403, says


@pytest.mark.parametrize("role", ["viewer", "admin"])
def test_a_page_says_which_right_is_lacking(app, role):
    answer = browser(app, role).get("/users", headers=HTML)

    assert answer.status_code == (200 if role == "admin" else 403)
    if role == "viewer":
        assert "needs the right “administer”" in answer.text


# Forms of other sites


@pytest.fixture
def admin(app):
    return browser(app, "admin")


def unsafe():
    return [(method, path) for (method, path), need in ROUTES.items() if method not in SAFE and need != OPEN]


@pytest.mark.parametrize("sent", [None, "", "wrong", "ü"])
def test_no_act_is_done_without_the_secret_of_the_session(admin, sent):
    del admin.headers["X-CSRF-Token"]
    for method, path in unsafe():
        data = {} if sent is None else {"csrf": sent}
        answer = admin.request(method, filled(path), data=data, headers=JSON)
        assert answer.status_code == 403, (method, path)
        assert "another session" in answer.json()["error"]


def test_a_secret_with_half_a_letter_is_a_wrong_one(admin):
    del admin.headers["X-CSRF-Token"]
    body = b'--x\r\nContent-Disposition: form-data; name="csrf"\r\n\r\n\\ud800\r\n--x--\r\n'

    answer = admin.post(
        "/me", content=body, headers={"Content-Type": "multipart/form-data; boundary=x; charset=unicode_escape"}
    )

    assert answer.status_code == 403


@pytest.mark.parametrize(
    "undo", ["/\\evil.example", "//evil.example", "/users/anna/disable", "/acts/../x/undo", "/policy/resume"]
)
def test_a_cookie_that_somebody_else_set_offers_no_act(admin, undo):
    told = base64.urlsafe_b64encode(json.dumps({"says": "Undo?", "undo": undo}).encode()).decode()
    admin.cookies.set("gw_said", told)

    page = admin.get("/policy", headers=HTML)

    assert "Undo?" in page.text
    assert f'action="{undo}"' not in page.text.partition("Undo?")[2]


def test_the_secret_of_another_session_of_the_same_person_is_no_use(app):
    one, other = browser(app, "admin", "anna"), browser(app, "admin", "anna")

    one.headers["X-CSRF-Token"] = other.headers["X-CSRF-Token"]

    assert one.post("/me", data={"theme": "dark"}).status_code == 403


def test_the_secret_may_stand_in_a_form(admin):
    secret = admin.headers.pop("X-CSRF-Token")

    answer = admin.post("/me", data={"theme": "dark", "csrf": secret}, headers=HTML)

    assert (answer.status_code, answer.headers["location"]) == (303, "/me")
    assert 'data-bs-theme="dark"' in admin.get("/me", headers=HTML).text


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://localhost:9999"},
        {"Origin": "http://localhost.evil.example"},
        {"Origin": "http://[::1"},
        {"Origin": ""},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Origin": "http://localhost", "Sec-Fetch-Site": "cross-site"},
    ],
)
def test_an_act_that_begins_on_another_site_is_not_done_even_with_the_secret(admin, headers):
    for method, path in [*unsafe(), ("POST", "/login")]:
        answer = admin.request(method, filled(path), headers=headers)
        assert (answer.status_code, answer.text) == (403, "This was sent by a page of another site.\n"), path


@pytest.mark.parametrize(
    "headers", [{"Origin": "http://localhost"}, {"Origin": "http://LOCALHOST", "Sec-Fetch-Site": "same-origin"}]
)
def test_an_act_that_begins_here_is_done(admin, headers):
    assert admin.post("/me", data={"theme": "dark"}, headers=headers).status_code == 303


def test_a_token_needs_no_secret_of_a_form_and_a_cookie_beside_it_does_not_count(app, admin):
    client = program(app, ["administer"])
    assert client.post("/users", data={"name": "bert"}, headers=JSON).json()["handed"]["name"] == "bert"

    admin.headers["Authorization"] = "Bearer gw_no_token"
    answer = admin.get("/users", headers=JSON)
    assert (answer.status_code, "invalid_token" in answer.headers["www-authenticate"]) == (401, True)


# Logging in


@pytest.fixture
def handed(desk):
    """The one-time password of somebody who was let in."""
    return add_user(desk.workspace.ledger, "bert", "reviewer", "test", desk.now())


def log_in(client, name, password, **more):
    return client.post("/login", data={"name": name, "password": password, **more}, headers=HTML)


def choose(client, old, new=GOOD):
    page = client.get("/password", headers=HTML)
    [secret] = set(re.findall(r'name="csrf" value="([^"]+)"', page.text))
    return client.post("/password", data={"csrf": secret, "old": old, "new": new, "again": new}, headers=HTML)


def test_whoever_was_handed_a_password_chooses_one_and_is_in(app, handed):
    client = stranger(app)

    assert log_in(client, "bert", handed).headers["location"] == "/password"
    assert client.get("/api", headers=HTML).headers["location"] == "/password"
    assert client.get("/api", headers=JSON).status_code == 403
    assert client.post("/me", data={"theme": "dark"}, headers=HTML).headers["location"] == "/password"
    assert choose(client, handed).headers["location"] == "/overview"
    assert client.get("/api", headers=HTML).status_code == 200
    assert log_in(stranger(app), "bert", handed).status_code == 401
    assert log_in(stranger(app), "bert", GOOD).headers["location"] == "/overview"


def test_the_first_admin_logs_in_with_what_the_first_start_said(app, desk):
    password = first_admin(desk.workspace.ledger, desk.now())
    client = stranger(app)

    log_in(client, "admin", password)
    choose(client, password)

    assert client.get("/users", headers=HTML).status_code == 200


@pytest.mark.parametrize(("old", "new", "why"), [("wrong", GOOD, "the old one is wrong"), (None, "short", "letters")])
def test_a_password_that_cannot_be_taken_is_told_on_the_page(app, handed, old, new, why):
    client = stranger(app)
    log_in(client, "bert", handed)

    answer = choose(client, old or handed, new)

    assert (answer.status_code, why in answer.text) == (400, True)


def test_a_log_in_takes_another_cookie_than_the_one_that_was_there(app, handed):
    client = stranger(app)
    client.cookies.set("gw_session", "chosen-by-somebody-else", domain="localhost.local")

    log_in(client, "bert", handed)
    first = client.cookies["gw_session"]
    choose(client, handed)

    assert len({"chosen-by-somebody-else", first, client.cookies["gw_session"]}) == 3
    other = stranger(app)
    other.cookies.set("gw_session", first)
    assert other.get("/api", headers=JSON).status_code == 401


def test_a_session_is_over_for_whoever_kept_its_cookie_after_logging_out(app):
    client = browser(app)
    kept = client.cookies["gw_session"]

    answer = client.post("/logout", headers=HTML)
    client.cookies.set("gw_session", kept)

    assert (answer.status_code, answer.headers["location"]) == (303, "/login")
    assert client.get("/api", headers=JSON).status_code == 401


def test_logging_out_everywhere_ends_all_sessions(app):
    one, other = browser(app, "viewer", "anna"), browser(app, "viewer", "anna")

    one.post("/logout/everywhere")

    assert other.get("/api", headers=JSON).status_code == 401


def test_a_session_that_is_over_leads_to_the_door(app, desk):
    client, ledger = browser(app), desk.workspace.ledger
    [session] = ledger.find(LoginSession)
    with ledger.writing("test", desk.now()) as work:
        hours = timedelta(hours=9)
        work.put([LoginSession(**{**vars(session), "created": session.created - hours, "seen": session.seen - hours})])

    answer = client.get("/api?x=1&y=2", headers=HTML)

    assert answer.status_code == 303
    assert parse_qs(urlsplit(answer.headers["location"]).query) == {"next": ["/api?x=1&y=2"]}


def test_part_of_a_page_leads_its_browser_to_the_door(app):
    answer = stranger(app).get("/api", headers={"HX-Request": "true"})

    assert (answer.status_code, answer.headers["hx-redirect"]) == (401, "/login?next=/api")


@pytest.mark.parametrize(("method", "part"), [("GET", "/accounts/a/reasons?day=x"), ("POST", "/review/votes")])
def test_part_of_a_page_leads_back_to_the_page_and_not_to_the_part(app, method, part):
    headers = {"HX-Request": "true", "HX-Current-URL": "http://testserver/account?actor=a%20b&day=2026-03-02"}

    answer = stranger(app).request(method, part, headers=headers)

    to = answer.headers["hx-redirect"]
    assert parse_qs(urlsplit(to).query) == {"next": ["/account?actor=a%20b&day=2026-03-02"]}


def test_a_form_that_is_sent_after_the_session_leads_back_to_its_page(app):
    headers = {**HTML, "Referer": "http://testserver/review?actor=x"}

    answer = stranger(app).post("/review/votes", headers=headers)

    assert answer.status_code == 303
    assert parse_qs(urlsplit(answer.headers["location"]).query) == {"next": ["/review?actor=x"]}


def test_the_answer_to_a_form_is_not_led_back_to(app):
    answer = stranger(app).post("/acts", headers={**HTML, "Referer": "http://testserver/acts/preview"})

    assert (answer.status_code, answer.headers["location"]) == (303, "/login")


def test_a_page_of_another_site_is_not_led_back_to(app):
    headers = {"HX-Request": "true", "HX-Current-URL": "https://evil.example//evil.example/x"}

    to = stranger(app).get("/api", headers=headers).headers["hx-redirect"]

    assert page_of_ours(parse_qs(urlsplit(to).query)["next"][0]) == "/overview"


def test_whoever_fails_too_often_is_told_for_how_long_to_wait(app, handed):
    client = stranger(app)
    answers = [log_in(client, "bert", "wrong").status_code for _ in range(5)]

    answer = log_in(client, "bert", handed)

    assert answers == [401] * 5
    assert (answer.status_code, answer.headers["retry-after"]) == (429, "2")
    assert "wait 2 seconds" in answer.text


def test_a_wrong_password_and_a_wrong_name_look_the_same(app, handed):
    del handed
    one, other = (log_in(stranger(app), name, "wrong") for name in ("bert", "nobody-here"))

    assert one.text.replace("bert", "") == other.text.replace("nobody-here", "")


def test_whoever_is_logged_in_is_led_on_from_the_door(app):
    assert browser(app).get("/login?next=/me", headers=HTML).headers["location"] == "/me"


# Where people are led


@pytest.mark.parametrize(
    "to",
    [
        "https://evil.example",
        "//evil.example",
        "///evil.example",
        "/\\evil.example",
        "\\\\evil.example",
        "/\t/evil.example",
        "/\n/evil.example",
        "javascript:alert(1)",
        "evil.example",
        " /x",
        "",
        None,
    ],
)
def test_nobody_is_led_to_another_site(app, to):
    assert page_of_ours(to) == "/overview"
    if to:
        client = browser(app)
        for answer in (
            client.get("/login", params={"next": to}),
            client.post("/me", data={"theme": "dark", "next": to}),
        ):
            assert answer.headers["location"] == "/overview"


@pytest.mark.parametrize("to", ["https://evil.example", "//evil.example", "/\\evil.example"])
def test_logging_in_leads_to_no_other_site(app, handed, to):
    client = stranger(app)
    log_in(client, "bert", handed)
    choose(client, handed)

    assert log_in(stranger(app), "bert", GOOD, next=to).headers["location"] == "/overview"
    assert "evil.example" not in stranger(app).get("/login", params={"next": to}, headers=HTML).text


@pytest.mark.parametrize("to", ["/accounts", "/accounts?q=level>3&sort=-x", "/accounts/한/day"])
def test_people_are_led_back_to_where_they_wanted_to_go(app, handed, to):
    assert page_of_ours(to) == to
    client = stranger(app)
    log_in(client, "bert", handed)
    choose(client, handed)

    answer = log_in(stranger(app), "bert", GOOD, next=to)

    assert answer.status_code == 303
    assert answer.headers["location"].startswith("/accounts")


# Cookies, names and headers


def cookie_of(answer):
    return next(one for one in answer.headers.get_list("set-cookie") if "gw_session" in one)


def test_the_cookie_is_out_of_reach_of_scripts_and_other_sites(app, handed):
    told = cookie_of(log_in(stranger(app), "bert", handed)).lower()

    assert all(word in told for word in ("httponly", "samesite=lax", "path=/"))
    assert "secure" not in told
    assert "domain" not in told
    assert "max-age" not in told


def test_by_tls_the_cookie_is_sent_by_tls_alone_and_no_other_host_can_set_it(tmp_path, quick_passwords):
    del quick_passwords
    desk = empty_desk(tmp_path / "ws", '[desk]\npublic_url = "https://warden.example.org"\n')
    app = create_app(desk)
    password = add_user(desk.workspace.ledger, "bert", "reviewer", "test", desk.now())
    client = stranger(app, Host="warden.example.org", Origin="https://warden.example.org")

    told = cookie_of(log_in(client, "bert", password))

    assert told.startswith("__Host-gw_session=")
    assert "; Secure" in told
    client.cookies.clear()
    client.cookies.set("gw_session", told.partition("=")[2].partition(";")[0])  # set by another host, without TLS
    assert client.get("/password", headers=JSON).status_code == 401


@pytest.mark.parametrize(
    ("host", "ours"),
    [
        ("localhost", True),
        ("localhost:8787", True),
        ("127.0.0.1:8787", True),
        ("[::1]:8787", True),
        ("192.0.2.7", True),
        ("warden.example.org", True),
        ("other.example.org:443", True),
        ("evil.example", False),
        ("localhost.evil.example", False),
        ("", False),
        ("[::1", False),
        ("127.0.0.1.evil.example", False),
    ],
)
def test_the_desk_answers_only_by_its_names(tmp_path, host, ours):
    settings = '[desk]\npublic_url = "https://warden.example.org"\nhosts = "other.example.org"\n'
    client = stranger(create_app(empty_desk(tmp_path / "ws", settings)))

    assert client.get("/login", headers={"Host": host}).status_code == (200 if ours else 400)


def test_every_answer_binds_the_browser(admin):
    asked = [("GET", "/me"), ("GET", "/login"), ("GET", "/nowhere"), ("POST", "/users"), ("GET", "/openapi.json")]
    answers = [admin.request(method, path, headers=accept) for method, path in asked for accept in (HTML, JSON)]
    answers.append(admin.post("/me", headers={"Origin": "https://evil.example"}))
    answers.append(admin.get("/me", headers={"Host": "evil.example"}))

    for answer in answers:
        assert {name: answer.headers.get(name) for name in HEADERS} == HEADERS
        assert answer.headers["cache-control"] == "no-store"
    policy = HEADERS["Content-Security-Policy"]
    assert "unsafe" not in policy
    assert "frame-ancestors 'none'" in policy


def test_no_body_is_read_beyond_what_a_form_can_hold(app, admin):
    large = b"x" * (LARGEST + 1)
    for client, path in ((stranger(app), "/login"), (admin, "/me"), (program(app, ["administer"]), "/users")):
        kind = {"Content-Type": "application/x-www-form-urlencoded"}
        assert client.post(path, content=large, headers={**JSON, **kind}).status_code == 413
    form = {"theme": "dark", "more": "x" * 1_000_000}
    assert admin.post("/me", data=form).status_code == 303


def test_only_pushed_batches_are_read_without_that_limit():
    assert all(ROUTES.get(("POST", path), "push") == "push" for path in STREAMS)


def test_no_page_of_ours_needs_what_its_policy_forbids(app, admin):
    pages = [admin.get(path, headers=HTML).text for path in ("/me", "/users", "/tokens", "/password")]
    pages.append(stranger(app).get("/login", headers=HTML).text)

    for page in pages:
        assert not re.search(r"<[^>]+\s(style|on[a-z]+)\s*=", page)
        assert not re.search(r"<script(?![^>]*\b(src|type=\"application/json\"))", page)


# Pages for people and tokens


def test_a_token_is_shown_once_and_revoked_at_once(app, admin):
    made = admin.post("/tokens", data={"name": "nightly", "scope": ["read", "push"], "days": "7"}, headers=JSON).json()
    client = stranger(app, Authorization=f"Bearer {made['made']['text']}")

    assert client.get("/api", headers=JSON).status_code == 200
    secret = made["made"]["text"].rpartition("_")[2]
    assert secret not in admin.get("/tokens", headers=JSON).text
    admin.post(f"/tokens/{made['made']['token']['id']}/revoke")
    assert client.get("/api", headers=JSON).status_code == 401


def test_a_token_that_may_not_be_is_told(admin, app):
    for data in ({"name": "x"}, {"name": "x", "scope": "king"}, {"name": "x", "scope": "read", "days": "many"}):
        assert admin.post("/tokens", data=data, headers=JSON).status_code == 400
    assert browser(app, "viewer").post("/tokens", data={"name": "x", "scope": "decide"}).status_code == 400


def test_people_see_their_own_tokens_and_an_admin_all(app, desk, admin):
    viewer = browser(app, "viewer", "anna")
    make_token(desk.workspace.ledger, "anna", "hers", ["read"], desk.now())
    admin.post("/tokens", data={"name": "his", "scope": "read"})

    assert [one["name"] for one in viewer.get("/tokens", headers=JSON).json()["tokens"]] == ["hers"]
    assert [one["name"] for one in admin.get("/tokens", headers=JSON).json()["tokens"]] == ["his", "hers"]


def test_somebody_is_let_in_changed_and_shut_out_on_a_page(app, desk, admin):
    page = admin.post("/users", data={"name": "bert", "role": "viewer"}, headers=HTML)
    [password] = re.findall(r"<code>([a-z0-9-]+)</code>", page.text)
    client = stranger(app)
    log_in(client, "bert", password)
    choose(client, password)

    admin.post("/users/bert/role", data={"role": "moderator"})
    assert desk.workspace.ledger.find(User, name="bert")[0].role == "moderator"
    admin.post("/users/bert/disable")
    assert client.get("/api", headers=JSON).status_code == 401
    admin.post("/users/bert/enable")
    again = admin.post("/users/bert/password", headers=JSON).json()["handed"]["password"]
    assert log_in(client, "bert", again).headers["location"] == "/password"


def test_the_last_admin_cannot_shut_everybody_out(app):
    admin = browser(app, "admin", "anna")

    answer = admin.post("/users/anna/disable", headers=JSON)

    assert (answer.status_code, "nobody would be left" in answer.json()["error"]) == (400, True)
    assert admin.get("/users", headers=JSON).status_code == 200


def test_wishes_are_kept_for_the_next_page(app):
    client = browser(app, "viewer")

    client.post("/me", data={"language": "ko", "zone": "Asia/Seoul", "shortcuts": "off", "theme": "light"})
    assert '<html lang="ko"' in client.get("/me", headers=HTML).text
    told = client.get("/me", headers=JSON).json()
    assert (told["language"], told["zone"], told["shortcuts"], told["theme"]) == ("ko", "Asia/Seoul", False, "light")
    client.post("/me", data={"language": "auto", "zone": "auto", "theme": "auto"})
    told = client.get("/me", headers=JSON).json()
    assert (told["language"], told["zone"], told["shortcuts"], told["theme"]) == ("", "", False, "")
    assert client.post("/me", data={"language": "xx"}, headers=JSON).status_code == 400
    assert client.post("/me", data={"zone": "Mars/Base"}, headers=JSON).status_code == 400


def test_names_in_pages_are_text(desk, admin):
    ledger = desk.workspace.ledger
    with ledger.writing("test", desk.now()) as work:
        work.add(
            [User("<script>alert(1)</script>", "viewer", None, must_change=False, disabled=False, created=desk.now())]
        )

    page = admin.get("/users", headers=HTML).text

    assert "<script>alert" not in page
    assert "&lt;script&gt;alert(1)" in page
