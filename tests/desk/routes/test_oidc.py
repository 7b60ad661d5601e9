"""People who log in at an OpenID provider of this machine, and those whom nobody should let in."""

import base64
import json
import time
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest
from joserfc import jwt
from joserfc.jwk import OctKey, RSAKey

from gamewarden.cases import AuditLine
from gamewarden.desk.people import disable
from gamewarden.desk_records import LoginSession, User
from gamewarden.web.app import create_app
from oidc_provider import CLIENT, SECRET, served
from people_made_up import browser, empty_desk, stranger

HTML, JSON = {"Accept": "text/html"}, {"Accept": "application/json"}
ROLES = "wardens=moderator, staff=viewer"


@pytest.fixture
def provider():
    with served() as made:
        yield made


@pytest.fixture
def desk(tmp_path, provider, monkeypatch):
    monkeypatch.setenv("DESK_SECRET", SECRET)
    return desk_of(tmp_path / "ws", provider)


@pytest.fixture
def app(desk):
    return create_app(desk)


def desk_of(root, provider, more=""):
    lines = f'oidc_issuer = "{provider.issuer}"\noidc_client = "{CLIENT}"\noidc_secret_from = "DESK_SECRET"\n'
    return empty_desk(root, f'[desk]\n{lines}oidc_roles = "{ROLES}"\n{more}')


def start(client, to="/me"):
    """To the provider: the address there."""
    answer = client.get("/oidc/start", params={"next": to}, headers=HTML)
    assert answer.status_code == 303, answer.text
    return answer.headers["location"]


def at_the_provider(address):
    """Where the provider sends somebody back to."""
    back = urlsplit(httpx.get(address).headers["location"])
    return f"{back.path}?{back.query}"


def log_in(client, provider, to="/me", **claims):
    provider.claims = {"groups": ["wardens"], "preferred_username": "anna", **claims}
    return client.get(at_the_provider(start(client, to)), headers=HTML)


def me(client):
    told = client.get("/me", headers=JSON).json()
    return told["name"], told["role"]


def test_the_door_shows_the_way_to_the_provider(app):
    page = stranger(app).get("/login?next=/me", headers=HTML).text

    assert 'href="/oidc/start?next=/me"' in page


def test_whoever_the_provider_knows_is_let_in_with_the_role_of_their_group(app, provider, desk):
    client = stranger(app)

    answer = log_in(client, provider)

    assert (answer.status_code, answer.headers["location"]) == (303, "/me")
    assert me(client) == ("anna", "moderator")
    [user] = desk.workspace.ledger.find(User)
    assert (user.subject, user.password) == (f"{provider.issuer} s-1", None)
    assert [(one.who, one.what) for one in desk.workspace.ledger.find(AuditLine)] == [
        ("anna", "add users"),
        ("anna", "log in"),
    ]


def test_what_is_asked_has_a_state_a_nonce_and_a_challenge_of_its_own_each_time(app):
    asked = [parse_qs(urlsplit(start(stranger(app))).query) for _ in range(2)]

    for name in ("state", "nonce", "code_challenge"):
        assert asked[0][name] != asked[1][name]
        assert len(asked[0][name][0]) >= 43
    assert asked[0]["redirect_uri"] == ["http://localhost/oidc/back"]


def test_behind_a_proxy_people_come_back_to_its_address(tmp_path, provider):
    app = create_app(desk_of(tmp_path / "ws", provider, 'public_url = "https://warden.example.org"\n'))

    asked = parse_qs(urlsplit(start(stranger(app))).query)

    assert asked["redirect_uri"] == ["https://warden.example.org/oidc/back"]


def test_groups_say_anew_at_every_log_in_what_somebody_may_do(app, provider, desk):
    log_in(stranger(app), provider)
    client = stranger(app)

    log_in(client, provider, groups="staff", preferred_username="renamed")

    assert me(client) == ("anna", "viewer")
    assert len(desk.workspace.ledger.find(User)) == 1


@pytest.mark.parametrize("groups", [None, [], ["players"], "wardens2", {"wardens": True}, 7])
def test_whoever_is_in_no_group_of_ours_is_refused(app, provider, desk, groups):
    client = stranger(app)

    answer = log_in(client, provider, groups=groups)

    assert (answer.status_code, "in no group" in answer.text) == (401, True)
    assert desk.workspace.ledger.find(User) == []
    assert client.get("/me", headers=JSON).status_code == 401
    assert desk.workspace.ledger.find(AuditLine)[-1].subject == "unknown user"


def test_a_default_role_lets_everybody_in_whom_the_provider_knows(tmp_path, provider, monkeypatch):
    monkeypatch.setenv("DESK_SECRET", SECRET)
    client = stranger(create_app(desk_of(tmp_path / "ws", provider, 'oidc_default_role = "viewer"\n')))

    log_in(client, provider, groups=None)

    assert me(client) == ("anna", "viewer")


def test_whoever_leaves_all_groups_loses_the_sessions_they_had(app, provider, desk):
    client = stranger(app)
    log_in(client, provider)

    log_in(stranger(app), provider, groups=[])

    assert desk.workspace.ledger.find(LoginSession) == []
    assert client.get("/me", headers=JSON).status_code == 401


def test_a_disabled_person_does_not_come_back_through_the_provider(app, provider, desk):
    browser(app, "admin")
    client = stranger(app)
    log_in(client, provider)

    disable(desk.workspace.ledger, "anna", "test", desk.now())

    assert log_in(client, provider).status_code == 401
    assert client.get("/me", headers=JSON).status_code == 401


@pytest.mark.parametrize("claims", [{}, {"email": "root", "email_verified": True}, {"preferred_username": "ROOT"}])
def test_nobody_takes_over_a_person_of_the_desk_by_name_or_mail(app, provider, desk, claims):
    browser(app, "admin", "root")
    client = stranger(app)

    log_in(client, provider, **{"preferred_username": "root", "email": "root", **claims})

    name, role = me(client)
    assert name.lower() != "root"
    assert name.lower().startswith("root-")
    assert role == "moderator"
    assert desk.workspace.ledger.find(User, name="root")[0].role == "admin"


@pytest.mark.parametrize("name", ["ladder", "<b>", "a b\u202e", "", "x" * 500, None])
def test_odd_names_at_the_provider_become_names_here(app, provider, name):
    client = stranger(app)

    assert log_in(client, provider, preferred_username=name).status_code == 303
    told, _ = me(client)
    assert told.isprintable()
    assert told != "ladder"
    assert 0 < len(told) <= 64


def test_somebody_else_at_the_provider_is_somebody_else_here(app, provider):
    log_in(stranger(app), provider)
    provider.subject = "s-2"
    client = stranger(app)

    log_in(client, provider)

    assert me(client)[0].startswith("anna-")


def refused(answer, client, why=""):
    assert (answer.status_code, why in answer.text) == (401, True), answer.text
    assert client.get("/me", headers=JSON).status_code == 401


@pytest.mark.parametrize(
    "claims",
    [
        {"aud": "another"},
        {"aud": ["another"]},
        {"aud": [CLIENT, "another"]},
        {"aud": None},
        {"azp": "another"},
        {"iss": "http://127.0.0.1:1"},
        {"iss": None},
        {"exp": int(time.time()) - 3600},
        {"exp": None},
        {"iat": int(time.time()) + 3600},
        {"nonce": "another"},
        {"nonce": None},
        {"sub": None},
        {"sub": ""},
        {"sub": 5},
    ],
)
def test_what_the_provider_says_must_be_meant_for_us_and_for_now(app, provider, claims):
    client = stranger(app)

    refused(log_in(client, provider, **claims), client, "what the provider says")


def unsigned(claims):
    parts = (json.dumps(part).encode() for part in ({"alg": "none"}, claims))
    return ".".join((*(base64.urlsafe_b64encode(one).decode().rstrip("=") for one in parts), ""))


SIGNED_OTHERWISE = {
    "by nobody": unsigned,
    "by a secret that the client knows too": lambda claims: jwt.encode(
        {"alg": "HS256", "kid": "first"}, claims, OctKey.import_key(SECRET)
    ),
    "by another key": lambda claims: jwt.encode(
        {"alg": "RS256", "kid": "first"}, claims, RSAKey.generate_key(2048, {"kid": "first"})
    ),
    "by a key that is not listed": lambda claims: jwt.encode(
        {"alg": "RS256", "kid": "second"}, claims, RSAKey.generate_key(2048, {"kid": "second"})
    ),
    "with nothing": lambda _claims: "",
    "with something else": lambda _claims: "x.y.z",
}


@pytest.mark.parametrize("way", SIGNED_OTHERWISE)
def test_what_the_provider_did_not_sign_lets_nobody_in(app, provider, way):
    provider.sign = SIGNED_OTHERWISE[way]
    client = stranger(app)

    refused(log_in(client, provider), client, "does not hold")


def test_a_provider_that_changes_its_keys_is_still_believed(app, provider):
    log_in(stranger(app), provider)
    provider.key = RSAKey.generate_key(2048, {"kid": "first", "use": "sig"})
    client = stranger(app)

    log_in(client, provider)

    assert me(client) == ("anna", "moderator")


def test_an_answer_is_taken_only_in_the_browser_that_asked(app, provider):
    provider.claims = {"groups": ["wardens"]}
    back = at_the_provider(start(stranger(app)))
    without, other = stranger(app), stranger(app)
    start(other)

    refused(without.get(back, headers=HTML), without, "did not start here")
    refused(other.get(back, headers=HTML), other, "was not asked for in this browser")


def test_an_answer_is_taken_once(app, provider):
    provider.claims = {"groups": ["wardens"]}
    client = stranger(app)
    back = at_the_provider(start(client))
    client.get(back, headers=HTML)
    client.cookies.delete("gw_session")

    refused(client.get(back, headers=HTML), client, "did not start here")


def test_a_code_is_no_use_without_what_only_the_browser_knows(app, provider):
    provider.claims = {"groups": ["wardens"]}
    client = stranger(app)
    mine = at_the_provider(start(client))
    stolen = parse_qs(urlsplit(at_the_provider(start(stranger(app)))).query)["code"][0]

    refused(client.get(mine.partition("code=")[0] + f"code={stolen}", headers=HTML), client, "does not hold")


@pytest.mark.parametrize("query", ["", "state=x", "error=access_denied", "code=x&state=", "code=x&state=%ff"])
def test_whatever_comes_back_is_answered_in_a_line(app, query):
    client = stranger(app)
    start(client)

    refused(client.get(f"/oidc/back?{query}", headers=HTML), client)


def test_whoever_the_provider_refuses_is_told(app, provider):
    provider.error = "access_denied"
    client = stranger(app)

    refused(log_in(client, provider), client, "did not let you in (access_denied)")


def test_an_answer_of_another_provider_is_refused(app, provider):
    provider.claims = {"groups": ["wardens"]}
    client = stranger(app)
    back = at_the_provider(start(client))

    refused(client.get(f"{back}&iss=https://evil.example", headers=HTML), client, "another provider")


def test_a_wrong_secret_of_the_client_is_told_and_shown_nowhere(app, provider, monkeypatch):
    monkeypatch.setenv("DESK_SECRET", "wrong-secret")
    client = stranger(app)

    answer = log_in(client, provider)

    refused(answer, client, "does not hold")
    assert "wrong-secret" not in answer.text


@pytest.mark.parametrize(
    "metadata",
    [
        {"issuer": "https://another.example"},
        {"authorization_endpoint": None},
        {"authorization_endpoint": "javascript:alert(1)"},
    ],
)
def test_a_provider_that_tells_odd_things_of_itself_is_not_asked(app, provider, metadata):
    provider.metadata = metadata
    answer = stranger(app).get("/oidc/start", headers=HTML)

    assert (answer.status_code, "log in:" in answer.text) == (401, True)


def test_a_provider_that_does_not_answer_is_told(tmp_path, provider):
    provider.issuer = "http://127.0.0.1:9"
    client = stranger(create_app(desk_of(tmp_path / "ws", provider)))

    answer = client.get("/oidc/start", headers=HTML)

    assert (answer.status_code, "does not answer" in answer.text) == (401, True)


def test_without_a_provider_there_is_no_way_to_one(tmp_path):
    client = stranger(create_app(empty_desk(tmp_path / "ws")))

    assert "/oidc/start" not in client.get("/login", headers=HTML).text
    assert "no OpenID provider is set" in client.get("/oidc/start", headers=HTML).text
