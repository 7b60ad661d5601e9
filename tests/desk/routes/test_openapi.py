"""The API: what its document promises, and that nothing somebody sends is answered with an error of ours."""

import json
import shutil

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis.checks import not_a_server_error

from desk_world import make_desk_workspace
from gamewarden.desk.desk import Desk
from gamewarden.desk.people import RIGHTS
from gamewarden.web.app import create_app
from gamewarden.workspace.place import Workspace
from people_made_up import program

pytestmark = pytest.mark.integration

EXAMPLES = 12  # requests an operation: a random part of all that could be asked


@schemathesis.serializer("application/x-ndjson")
def lines(context, value):
    """Whatever was drawn, as lines of JSON."""
    del context
    return b"\n".join(json.dumps(one).encode() for one in (value if isinstance(value, list) else [value]))


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    root = tmp_path_factory.mktemp("desk")
    make_desk_workspace(root)
    return root


@pytest.fixture(scope="module")
def app(place, tmp_path_factory):
    root = tmp_path_factory.mktemp("copy") / "ws"
    shutil.copytree(place, root)
    return create_app(Desk(Workspace.at(root)))


@pytest.fixture(scope="module")
def token(app):
    """That of a program that may do everything."""
    return program(app, RIGHTS).headers["Authorization"]


@pytest.fixture(scope="module")
def api(app):
    return schemathesis.openapi.from_asgi("/openapi.json", app, headers={"Host": "127.0.0.1"})


def asked(operation, token):
    """Ask what an operation's schema allows, and more, as often as there is time for."""

    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        phases=[Phase.explicit, Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(case=operation.as_strategy())
    def ask(case):
        answer = case.call(headers={"Authorization": token, "Host": "127.0.0.1"})
        case.validate_response(answer, checks=[not_a_server_error])

    return ask


def test_no_request_makes_the_server_fail(api, token):
    operations = [found.ok() for found in api.get_all_operations()]

    assert len(operations) > 50
    for operation in operations:
        asked(operation, token)()


def test_every_operation_says_what_it_does(app):
    for path, operations in app.openapi()["paths"].items():
        for method, operation in operations.items():
            assert operation.get("description", "").strip().endswith("."), (method, path)
            assert operation.get("tags"), (method, path)
