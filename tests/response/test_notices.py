"""Calling a person, tried against a real server on this machine."""

import json
import logging
import sys
import threading
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from gamewarden.config import Notify
from gamewarden.notices import Notices

# apprise looks for a module of old Pythons when it loads its plug-ins.
pytestmark = pytest.mark.filterwarnings("ignore:.*imghdr:DeprecationWarning")
pytest.importorskip("apprise", reason="apprise is not installed; pip install 'gamewarden[notify]'")
NOON = datetime(2026, 4, 1, 12, tzinfo=UTC)


class Clock:
    def __init__(self):
        self.now = NOON

    def __call__(self):
        return self.now


@pytest.fixture(scope="module")
def server():
    class Inbox(BaseHTTPRequestHandler):
        def do_POST(self):
            self.server.inbox.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(self.server.answer)
            self.end_headers()

        def log_message(self, *_):
            pass

    httpd = HTTPServer(("127.0.0.1", 0), Inbox)
    httpd.inbox, httpd.answer = [], 200
    thread = threading.Thread(target=httpd.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    yield httpd
    httpd.shutdown()
    thread.join()
    httpd.server_close()


@pytest.fixture
def inbox(server, monkeypatch):
    server.inbox.clear()
    server.answer = 200
    monkeypatch.setenv("GAMEWARDEN_NOTIFY", f"json://127.0.0.1:{server.server_port}/hook")
    return server.inbox


@pytest.fixture
def clock():
    return Clock()


def notices(tmp_path, clock, **policy):
    return Notices(Notify(**policy), tmp_path / "notices.json", clock)


def test_a_message_reaches_the_operator(tmp_path, clock, inbox):
    assert notices(tmp_path, clock).send("invalid", "The new model is invalid.") == "sent"

    assert inbox[0]["message"] == "The new model is invalid."
    assert inbox[0]["title"] == "gamewarden"


def test_account_names_are_left_out_unless_they_are_allowed(tmp_path, clock, inbox):
    notices(tmp_path, clock).send("invalid", "It is invalid.", ["u0000001"])
    notices(tmp_path, clock, names="allowed").send("missing", "It is missing.", ["u0000001", "u0000002"])

    assert "u0000001" not in json.dumps(inbox[0])
    assert inbox[1]["message"] == "It is missing. Most affected: u0000001, u0000002."


def test_a_name_in_a_message_hides_nothing_and_calls_nobody(tmp_path, clock, inbox):
    names = ["\x1b]0;t\x07", "\u202eabc", "@everyone", "[/x]", "<b>:cat:"]

    notices(tmp_path, clock, names="allowed").send("missing", "Kind a\x9bb is gone.\nLook.", names)

    assert inbox[0]["message"] == (
        r"Kind a\x9bb is gone." "\n" r"Look. Most affected: \x1b]0;t\x07, \u202eabc, ＠everyone, [/x], <b>:cat:."
    )


def test_the_same_reason_is_held_back_for_six_hours_also_after_a_restart(tmp_path, clock, inbox):
    assert notices(tmp_path, clock).send("invalid", "one") == "sent"
    clock.now += timedelta(hours=5, minutes=59)
    assert notices(tmp_path, clock).send("invalid", "two") == "held back: the same was told within 6h"
    assert notices(tmp_path, clock).send("consecutive", "three") == "sent"
    clock.now += timedelta(minutes=1)
    assert notices(tmp_path, clock).send("invalid", "four") == "sent"

    assert [one["message"] for one in inbox] == ["one", "three", "four"]


def test_no_more_than_so_many_go_out_in_a_day(tmp_path, clock, inbox):
    outcomes = [notices(tmp_path, clock, most_a_day=2).send(f"reason{at}", "x") for at in range(3)]
    assert outcomes[2] == "held back: 2 messages were sent in 24 hours"
    clock.now += timedelta(days=1)

    assert notices(tmp_path, clock, most_a_day=2).send("again", "x") == "sent"
    assert len(inbox) == 3


@pytest.mark.usefixtures("inbox")
def test_a_message_that_could_not_be_sent_is_not_counted_as_told(tmp_path, clock, server):
    server.answer = 500
    assert notices(tmp_path, clock).send("invalid", "one") == "could not be sent"
    server.answer = 200

    assert notices(tmp_path, clock).send("invalid", "one") == "sent"


def test_without_an_address_nobody_is_told_and_nothing_fails(tmp_path, clock, monkeypatch):
    monkeypatch.delenv("GAMEWARDEN_NOTIFY", raising=False)

    assert notices(tmp_path, clock).send("invalid", "x") == "nobody told: GAMEWARDEN_NOTIFY is empty"


@pytest.mark.usefixtures("inbox")
def test_the_variable_that_holds_the_addresses_is_a_setting(tmp_path, clock, server, monkeypatch):
    monkeypatch.delenv("GAMEWARDEN_NOTIFY")
    monkeypatch.setenv("OPS", f"json://127.0.0.1:{server.server_port}/hook")

    assert notices(tmp_path, clock, urls_from="OPS").send("invalid", "x") == "sent"


def test_an_address_is_never_shown_nor_written_down(tmp_path, clock, monkeypatch, caplog, capfd):
    monkeypatch.setenv("GAMEWARDEN_NOTIFY", "nonsense://secret-token@nowhere json://127.0.0.1:9/secret-token")
    with caplog.at_level(logging.DEBUG):
        outcome = notices(tmp_path, clock).send("invalid", "x")
    monkeypatch.setenv("GAMEWARDEN_NOTIFY", "json://127.0.0.1:9/secret-token")
    second = notices(tmp_path, clock).send("invalid", "x")

    assert outcome == "nobody told: 1 of 2 addresses are none that apprise knows"
    assert second == "could not be sent"
    shown = capfd.readouterr()
    written = "".join(path.read_text() for path in tmp_path.rglob("*") if path.is_file())
    assert "secret-token" not in outcome + second + shown.out + shown.err + written


def test_a_damaged_memory_costs_no_message(tmp_path, clock, inbox):
    damaged = ("", "[", '[{"at": 3}]', '[{"reason": "a", "at": "never"}]', '{"a": 1}', "[[]]")
    for content in damaged:
        (tmp_path / "notices.json").write_text(content)
        assert notices(tmp_path, clock).send("invalid", "x") == "sent"

    assert len(inbox) == len(damaged)


@pytest.mark.usefixtures("inbox")
def test_without_apprise_nobody_is_told_and_how_to_install_it_is(tmp_path, clock, monkeypatch):
    monkeypatch.setitem(sys.modules, "apprise", None)

    assert "pip install 'gamewarden[notify]'" in notices(tmp_path, clock).send("invalid", "x")
