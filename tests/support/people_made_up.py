"""People at a desk, for tests: quick passwords (fixture `quick_passwords` of conftest.py), and browsers logged in.

`browser(app, "moderator")` is a client that is logged in as somebody of a role and sends forms as our pages do;
`program(app, ["read"])` is one that shows a token with these scopes.
"""

import itertools

from starlette.testclient import TestClient

from gamewarden.desk.desk import Desk
from gamewarden.desk.tokens import make_token
from gamewarden.desk_records import User
from gamewarden.workspace.place import Workspace

HERE = "http://localhost"
_numbers = itertools.count(1)


def empty_desk(root, settings=""):
    """The desk of a workspace in which nothing happened yet."""
    root.mkdir(parents=True, exist_ok=True)
    (root / "warden.toml").write_text(f"[workspace]\n{settings}", encoding="utf-8")
    return Desk(Workspace.at(root))


def stranger(app, **headers):
    """A browser in which nobody is logged in."""
    return TestClient(app, HERE, headers=headers, follow_redirects=False, raise_server_exceptions=False)


def browser(app, role="admin", name=None):
    """A browser in which somebody of a role is logged in; what it posts has the secret of the session."""
    security = app.state.security
    ledger, now = security.desk.workspace.ledger, security.now()
    user = User(name or f"{role}-{next(_numbers)}", role, None, must_change=False, disabled=False, created=now)
    with ledger.writing("test", now) as work:
        begun = security.logins.begin(work, next(iter(work.add([user])), user), "testclient", now)
    client = stranger(app)
    client.cookies.set("gw_session", begun.secret)
    client.headers["X-CSRF-Token"] = begun.person.csrf
    return client


def program(app, scopes, role="admin"):
    """A client with a token of somebody who has a role."""
    security = app.state.security
    ledger, now = security.desk.workspace.ledger, security.now()
    user = User(f"{role}-{next(_numbers)}", role, None, must_change=False, disabled=False, created=now)
    with ledger.writing("test", now) as work:
        work.add([user])
    made = make_token(ledger, user.name, "test", scopes, now)
    return stranger(app, Authorization=f"Bearer {made.text}")
