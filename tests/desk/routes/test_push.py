"""Game servers push over HTTP: acknowledged only when durable, told in one line what is wrong, sent back when full."""

import asyncio
import gzip
import http.client
import json
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from contextlib import closing, suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gamewarden.desk import health as desk_health
from gamewarden.desk.desk import Desk
from gamewarden.desk.inbox import Door, Limits
from gamewarden.store.inbox import Rotation
from gamewarden.web.app import create_app
from gamewarden.web.routes import push as routes
from gamewarden.workspace.place import Workspace
from paths import DOCS, SUPPORT
from people_made_up import program, stranger
from pushes_made_up import LATER, event, events, in_lake, lines, make_workspace, packet, run_all

pytestmark = pytest.mark.integration

SERVER = SUPPORT / "push_server.py"


@pytest.fixture
def workspace(tmp_path):
    return make_workspace(tmp_path / "ws")


def made(workspace, limits=None):
    """A program with a token, of a server in this process."""
    desk = Desk(workspace)
    desk.door = Door(workspace, limits or Limits(), Rotation(age=0.0))
    return program(create_app(desk), ["push", "metrics", "read", "operate"])


@pytest.fixture
def client(workspace):
    with made(workspace) as opened:
        yield opened


def _pending(inbox):
    """The bytes that wait there; a file that is open gets another name once it is whole."""
    with suppress(FileNotFoundError):
        return sum(one.stat().st_size for one in inbox.iterdir())
    return sum(one.stat().st_size for one in inbox.iterdir())


def test_a_batch_is_answered_with_its_rows_once_it_is_on_the_disk(client, workspace):
    answer = client.post("/events", content=events(0, 20), headers={"Idempotency-Key": "one"})
    pending = _pending(workspace.inbox / "events")

    assert answer.status_code == 200
    assert answer.json() | {"pending": 0} == {
        "rows": 20,
        "batch": "one",
        "durable": True,
        "pending": 0,
        "again": False,
        "ignored": [],
        "faults": [],
        "note": "",
    }
    assert pending
    assert float(answer.headers["Server-Timing"].partition("dur=")[2]) > 0


def test_a_retry_gets_the_same_answer_and_adds_nothing(client, workspace):
    first, second = (
        client.post("/events", content=events(0, 20), headers={"Idempotency-Key": "one"}).json() for _ in range(2)
    )
    client.app.state.desk.close()
    run_all(workspace)

    assert first | {"again": True, "pending": 0} == second | {"pending": 0}
    assert len(in_lake(workspace)) == 20


def test_packed_batches_and_packets_are_taken(client):
    packed = {"Content-Encoding": "gzip"}

    assert client.post("/events", content=gzip.compress(events(0, 9)), headers=packed).json()["rows"] == 9
    assert client.post("/packets", content=lines([packet(1), packet(2)])).json()["rows"] == 2


@pytest.mark.parametrize(
    ("body", "headers", "status", "says"),
    [
        (b"", {}, 422, "no line"),
        (lines([event(0), event(1, at="?")]), {}, 422, "row 2: '?'"),
        (b"no gzip", {"Content-Encoding": "gzip"}, 422, "is not gzip"),
        (b"x", {"Content-Encoding": "br"}, 415, "'br' is not read"),
        (b"x" * 5_000, {}, 413, "send smaller batches"),
        (lines([event(0)]), {"Idempotency-Key": "k" * 201}, 422, "the key"),
    ],
)
def test_a_batch_that_cannot_be_taken_is_refused_in_one_line(workspace, body, headers, status, says):
    with made(workspace, Limits(body=4_000)) as client:
        answer = client.post("/events", content=body, headers=headers)

    assert answer.status_code == status
    assert says in answer.json()["error"]
    assert "\n" not in answer.json()["error"]


def test_a_key_for_another_batch_is_refused(client):
    client.post("/events", content=events(0, 2), headers={"Idempotency-Key": "a"})

    assert client.post("/events", content=events(2, 2), headers={"Idempotency-Key": "a"}).status_code == 422


def test_bad_rows_are_counted_where_that_is_asked_for(client):
    answer = client.post("/events?bad=count", content=lines([event(0), event(1, at="?")])).json()

    assert (answer["rows"], answer["faults"][0]["rows"]) == (1, 1)


@pytest.mark.parametrize("limits", [Limits(in_flight=10), Limits(backlog=0), Limits(free=1 << 60)])
def test_whoever_sends_more_than_can_be_taken_is_told_when_to_come_back(workspace, limits):
    with made(workspace, limits) as client:
        answer = client.post("/events", content=events(0, 20))
        counted = client.get("/metrics").text

    assert answer.status_code == 429
    assert int(answer.headers["Retry-After"]) >= 1
    assert 'gamewarden_pushed_too_much_total{kind="events"} 1.0' in counted
    assert not list(workspace.inbox.glob("events/*.segment"))


def test_room_that_a_batch_took_is_free_afterwards_however_it_ended(workspace):
    with made(workspace, Limits(in_flight=6_000)) as client:
        for body in (events(0, 20), b"nonsense", events(20, 20), b"{" * 5_000):
            client.post("/events", content=body)

        assert client.app.state.desk.door._in_flight == 0
        assert client.post("/events", content=events(40, 20)).status_code == 200


def test_a_second_server_of_a_workspace_sends_pushes_elsewhere(client, workspace):
    client.post("/events", content=events(0, 2))
    with made(workspace) as other:
        answer = other.post("/events", content=events(2, 2))

    assert answer.status_code == 503
    assert answer.headers["Retry-After"]


def test_health_is_well_until_the_lake_the_ledger_or_the_disk_is_not(client, workspace, monkeypatch):
    well = client.get("/health")
    monkeypatch.setattr(desk_health, "_SECONDS", 1e-9)
    workspace.lake.mkdir()
    (workspace.lake / "lake.json").write_text("broken")
    client.app.state.desk.door.limits = Limits(free=1 << 60)
    ill = client.get("/health")

    assert (well.status_code, well.json()) == (200, {"status": "ok", "because": []})
    assert (ill.status_code, ill.json()) == (503, {"status": "failing", "because": ["lake", "disk"]})


def test_whoever_scrapes_without_a_token_is_told_so_and_not_led_to_a_page(client):
    answer = stranger(client.app).get("/metrics", follow_redirects=False)
    assert (answer.status_code, answer.headers["www-authenticate"]) == (401, 'Bearer realm="gamewarden"')


def test_metrics_tell_of_requests_pushes_and_the_workspace(client, workspace):
    client.post("/events", content=events(0, 20))
    client.post("/events", content=b"{}")
    client.request("BREW", "/events")
    client.app.state.desk.door.close()
    run_all(workspace)
    text = client.get("/metrics").text

    assert 'gamewarden_requests_total{method="POST",route="/events",status="200"} 1.0' in text
    assert 'gamewarden_requests_total{method="POST",route="/events",status="422"} 1.0' in text
    assert 'gamewarden_pushed_rows_total{kind="events"} 20.0' in text
    assert 'gamewarden_pushed_refused_total{kind="events"} 1.0' in text
    assert 'gamewarden_lag_seconds{source="pushed events"}' in text
    assert "BREW" not in text


_BODIES = st.one_of(
    st.binary(max_size=60),
    st.binary(max_size=60).map(gzip.compress),
    st.builds(lambda row: json.dumps(row).encode(), st.dictionaries(st.text(max_size=6), st.floats() | st.text())),
    st.just(events(0, 2)),
)


@given(_BODIES, st.sampled_from(["/events", "/packets"]), st.sampled_from(["", "gzip", "identity", "x"]))
def test_whatever_is_sent_is_no_error_of_the_server(client, body, path, encoding):
    answer = client.post(path, content=body, headers={"Content-Encoding": encoding} if encoding else {})

    assert answer.status_code in {200, 415, 422}


def free_port():
    with socket.socket() as some:
        some.bind(("127.0.0.1", 0))
        return some.getsockname()[1]


def started(workspace, port):
    child = subprocess.Popen([sys.executable, str(SERVER), str(workspace.root), str(port), "0.05"])
    for _ in range(600):
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
        except OSError:
            time.sleep(0.05)
        else:
            return child
    raise AssertionError("the server did not start")


def token_of(workspace):
    """A token of a server that is asked over the wire."""
    return program(create_app(Desk(workspace)), ["push"]).headers["Authorization"]


def asked(port, body, headers):
    """Push over the wire; the status, and what was said."""
    with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=10)) as line:
        line.request("POST", "/events", body, headers)
        answer = line.getresponse()
        return answer.status, json.loads(answer.read())


class Sender(threading.Thread):
    """A game server that sends batches with keys, and again what was not answered."""

    def __init__(self, port, number, known, token):
        super().__init__()
        self.headers = {"Authorization": token}
        self.port, self.number, self.known = port, number, known
        self.acknowledged, self.sent, self.ended = known["acknowledged"], known["sent"], threading.Event()

    def run(self):
        while not self.ended.is_set():
            key = self.known["open"].setdefault(self.number, f"{self.number}-{len(self.sent)}-{time.time_ns()}")
            if key not in self.sent:
                self.sent[key] = [f"{key}-{n}" for n in range(50)]
            body = lines(event(n, session=name) for n, name in enumerate(self.sent[key]))
            try:
                status, told = asked(self.port, body, {**self.headers, "Idempotency-Key": key})
            except (OSError, http.client.HTTPException, ValueError):
                time.sleep(0.02)
                continue
            assert status == 200, told
            self.acknowledged.add(key)
            del self.known["open"][self.number]


@pytest.mark.skipif(sys.platform == "win32", reason="no SIGKILL")
def test_whatever_is_acknowledged_is_in_the_lake_once_although_the_server_is_killed_again_and_again(workspace):
    known = {"acknowledged": set(), "sent": {}, "open": {}}
    token = token_of(workspace)
    for number in range(4):
        port = free_port()
        server = started(workspace, port)
        senders = [Sender(port, place, known, token) for place in range(3)]
        for one in senders:
            one.start()
        answered, deadline = len(known["acknowledged"]) + 6, time.monotonic() + 60
        while len(known["acknowledged"]) < answered and time.monotonic() < deadline:
            time.sleep(0.01)
        time.sleep(number / 7)
        server.send_signal(signal.SIGKILL)
        server.wait()
        for one in senders:
            one.ended.set()
        for one in senders:
            one.join()
        if number % 2:
            run_all(workspace, LATER)  # while keys are still to come again
    run_all(workspace, LATER)
    found = Counter(in_lake(workspace))
    acknowledged = {name for key in known["acknowledged"] for name in known["sent"][key]}
    sent = {name for names in known["sent"].values() for name in names}

    assert len(known["acknowledged"]) > 20
    assert acknowledged <= found.keys() <= sent
    assert set(found.values()) == {1}


@pytest.mark.skipif(sys.platform == "win32", reason="no SIGTERM")
def test_a_server_that_is_stopped_closes_its_segment(workspace):
    port = free_port()
    server = started(workspace, port)
    _, told = asked(port, events(0, 5), {"Authorization": token_of(workspace)})
    server.terminate()
    server.wait(30)

    assert told["rows"] == 5
    assert not list(workspace.inbox.glob("events/*.open"))
    assert len(list(workspace.inbox.glob("events/*.segment"))) == 1


def test_a_sender_that_goes_silent_is_not_waited_for_and_holds_no_room(workspace, monkeypatch):
    monkeypatch.setattr(routes, "_PATIENCE", 0.05)
    client = made(workspace)
    told = {"host": "localhost", "authorization": client.headers["Authorization"]}
    scope = {
        "type": "http",
        "method": "POST",
        "path": "/events",
        "query_string": b"",
        "headers": [(name.encode(), value.encode()) for name, value in told.items()],
    }
    sent, answers = [], []

    async def receive():
        if sent:
            await asyncio.sleep(10)
        sent.append(1)
        return {"type": "http.request", "body": events(0, 1), "more_body": True}

    async def send(message):
        answers.append(message)

    asyncio.run(client.app(scope, receive, send))

    assert answers[0]["status"] == 408
    assert client.app.state.desk.door._in_flight == 0


def test_a_run_begins_when_somebody_asks_and_takes_in_what_was_pushed(client, workspace):
    client.post("/events", content=events(0, 20))
    client.app.state.desk.door.close()
    began = client.post("/run")
    for _ in range(600):
        state = client.get("/run").json()
        if state["last"] and state["last"]["ended"]:
            break
        time.sleep(0.1)

    assert (began.status_code, began.json()["says"]) == (202, "a run begins")
    assert state["last"]["code"] == 0, state
    assert any("pushed events" in line for line in state["last"]["lines"])
    assert len(in_lake(Workspace.at(workspace.root))) == 20
    assert "Run of" in client.get("/run?format=html").text


def test_the_client_of_the_guide_pushes(workspace):
    guide = (DOCS / "how-to" / "push-from-a-game-server.md").read_text(encoding="utf-8")
    names = {}
    exec(guide.partition("```python\n")[2].partition("```")[0], names)  # noqa: S102  our own guide
    port = free_port()
    server = started(workspace, port)
    token = token_of(workspace).removeprefix("Bearer ")
    try:
        told = names["push"]([event(1), event(2)], f"http://127.0.0.1:{port}/events", token)
        with pytest.raises(ValueError, match="actor is missing"):
            names["push"]([{}], f"http://127.0.0.1:{port}/events", token)
    finally:
        server.terminate()
        server.wait(30)

    assert (told["rows"], told["note"]) == (2, "")


def test_the_lines_of_the_guide_can_be_pushed(client):
    guide = (DOCS / "how-to" / "push-from-a-game-server.md").read_text(encoding="utf-8")
    body = guide.partition("<<'EOF'\n")[2].partition("EOF")[0]

    assert client.post("/events", content=body.encode()).json()["rows"] == 2
