"""What Ragnarok servers have beside their accounts: a poller in the game, and FluxCP's log of bans."""
# ruff: noqa: S608  names of our own tables

import time
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

import pytest

from carrying_made_up import LATER, NOON, decided, office, ways
from games_made_up import Server, Servers
from gamewarden.cases import Action
from gamewarden.policy import AdapterSettings
from gamewarden.response.adapters import RefusedError, TryLaterError, adapter_of, ways_of
from gamewarden.response.carrying import settle
from mariadb_server import database_of

REACTIONS = ("limit", "challenge", "freeze", "isolate")
SETTINGS = AdapterSettings("accounts", "rathena", account="userid", steps=(*REACTIONS, "hold", "suspend", "ban"))
END = datetime(2035, 1, 1, tzinfo=UTC)
ANN = 2000000
ROWS = "SELECT account_id, verb, step, until, outcome FROM gw_actions ORDER BY id"
LOG = "SELECT account_id, banned_by, ban_type, UNIX_TIMESTAMP(ban_until), ban_reason FROM cp_banlog ORDER BY id"


@pytest.fixture(params=["rathena", "hercules"])
def kind(request):
    return request.param


@pytest.fixture(scope="module")
def servers(mariadb_server):
    made = Servers(mariadb_server)
    yield made
    made.drop()


@pytest.fixture
def server(kind, servers, monkeypatch):
    one = servers.of(kind)
    monkeypatch.setenv("GAMEWARDEN_GAME_DB", one.url)
    return one


@pytest.fixture
def polled(kind, servers, monkeypatch):
    one = servers.of(kind, "poller")
    monkeypatch.setenv("GAMEWARDEN_GAME_DB", one.url)
    return one


@pytest.fixture
def panelled(kind, servers, monkeypatch):
    one = servers.of(kind, "panel")
    monkeypatch.setenv("GAMEWARDEN_GAME_DB", one.url)
    return one


def action(step, actor="ann", verb="do", **values):
    return Action(f"{verb}-{step}", "d1", actor, verb, step, "accounts", "begun", NOON, until=END, **values)


def carried(adapter, one):
    one = replace(one, before=adapter.look(one))
    return one, adapter.carry(one)


def poll(server):
    """What a poller does: read, mark, act."""
    found = server.run("SELECT id, verb, step FROM gw_actions WHERE taken IS NULL ORDER BY id")
    server.run("UPDATE gw_actions SET taken = UNIX_TIMESTAMP(), outcome = 'done' WHERE taken IS NULL")
    return [(verb, step) for _, verb, step in found]


@pytest.mark.parametrize(
    ("step", "there"), [("hold", (102, 7)), ("suspend", (1, int(END.timestamp()))), ("ban", (5, 7))]
)
def test_each_step_writes_its_own_column(server, tmp_path, step, there):
    server.set(ANN, state=1, unban_time=7)
    carried(adapter_of(SETTINGS, tmp_path), action(step))

    assert server.of(ANN, "state", "unban_time") == there


@pytest.mark.parametrize("step", REACTIONS)
def test_what_the_poller_does_is_a_row_for_it_and_its_way_back_another(polled, kind, tmp_path, step):
    before = polled.everything()
    adapter = adapter_of(replace(SETTINGS, kind=kind), tmp_path)
    done, _ = carried(adapter, action(step))
    adapter.carry(done)

    assert poll(polled) == [("do", step)]
    for _ in range(2):
        adapter.carry(replace(done, verb="undo", id="undo"))
    assert poll(polled) == [("undo", step)]
    end = int(END.timestamp())
    assert polled.run(ROWS) == [(ANN, "do", step, end, "done"), (ANN, "undo", step, None, "done")]
    assert polled.everything() == before


def test_a_row_that_no_poller_took_is_withdrawn_and_who_was_slow_does_not_write_it_again(polled, tmp_path):
    desk = office(tmp_path, ways_of([SETTINGS], tmp_path))
    challenge = decided("ann", "challenge", "eve", until=END)
    desk.decide(challenge)
    desk.carry(LATER)
    done = desk.only()
    desk.undo(challenge)
    desk.carry(LATER)
    adapter_of(SETTINGS, tmp_path).carry(replace(done, before=done.before["there"]))
    desk.ledger.close()

    assert poll(polled) == [("undo", "challenge")]
    assert polled.run(ROWS)[0][-1] == "refused"


@pytest.mark.parametrize("first", [0, 1])
def test_a_step_beneath_another_holds_again_until_its_own_end(polled, tmp_path, first):
    ends = [END, END + timedelta(days=9)]
    desk = office(tmp_path, ways_of([SETTINGS], tmp_path))
    decisions = [
        decided("ann", "limit", "eve", at=NOON + timedelta(minutes=place), until=end) for place, end in enumerate(ends)
    ]
    for one in decisions:
        desk.decide(one)
        desk.carry(LATER)
    assert poll(polled) == [("do", "limit")] * 2
    desk.undo(decisions[first])
    desk.carry(LATER)

    assert poll(polled) == ([] if first == 0 else [("do", "limit")])
    assert polled.run(ROWS)[-1][3] == int(ends[1 - first].timestamp())
    desk.undo(decisions[1 - first])
    desk.carry(LATER)
    assert poll(polled) == [("undo", "limit")]
    desk.ledger.close()


def test_a_step_that_ran_out_meanwhile_is_not_asked_for_again(polled, tmp_path):
    adapter = adapter_of(SETTINGS, tmp_path)
    carried(adapter, replace(action("limit"), id="old", until=datetime.now(UTC) + timedelta(seconds=1)))
    done, _ = carried(adapter, action("limit"))
    time.sleep(1.1)
    adapter.carry(replace(done, verb="undo", id="undo"))

    assert poll(polled)[-1] == ("undo", "limit")


@pytest.mark.parametrize("step", REACTIONS)
def test_without_the_pollers_table_its_steps_are_refused_in_a_line(server, tmp_path, step):
    with pytest.raises(RefusedError, match=r"no table gw_actions .* integrations/tables.sql") as refused:
        adapter_of(SETTINGS, tmp_path).look(action(step))

    assert server.changes() == 0
    assert "\n" not in str(refused.value)
    assert not set(adapter_of(replace(SETTINGS, steps=()), tmp_path).steps) & set(REACTIONS)


def test_the_pollers_table_may_be_a_view_of_another_database(mariadb, mariadb_server, tmp_path, monkeypatch):
    server = Server.new(mariadb, "rathena")
    monkeypatch.setenv("GAMEWARDEN_GAME_DB", mariadb)
    logs = Server(mariadb_server.new_database(), "rathena")
    logs.add_poller()
    server.run(f"CREATE VIEW gw_actions AS SELECT * FROM {database_of(logs.url)}.gw_actions")
    carried(adapter_of(SETTINGS, tmp_path), action("freeze"))

    assert poll(logs) == [("do", "freeze")]
    mariadb_server.drop(logs.url)


@pytest.mark.parametrize("step", ["hold", "suspend", "ban"])
def test_who_is_barred_is_sent_out_of_the_game_once_and_not_after_the_way_back(polled, tmp_path, step):
    adapter = adapter_of(SETTINGS, tmp_path)
    done, _ = carried(adapter, action(step))
    adapter.carry(done)
    assert poll(polled) == [("do", "kick")]
    adapter.carry(replace(done, verb="undo", id="undo"))
    assert poll(polled) == []
    second, _ = carried(adapter, replace(action(step), decision="d2"))
    adapter.carry(replace(second, verb="undo", id="undo2"))

    assert poll(polled) == []
    assert [row[-1] for row in polled.run(ROWS)] == ["done", "refused"]


@pytest.mark.parametrize(("step", "kind_of_ban"), [("hold", 2), ("suspend", 1), ("ban", 2)])
def test_the_panels_log_says_once_what_was_done_and_once_that_it_was_taken_back(panelled, tmp_path, step, kind_of_ban):
    adapter = adapter_of(SETTINGS, tmp_path)
    done, _ = carried(adapter, action(step))
    adapter.carry(done)
    for _ in range(2):
        adapter.carry(replace(done, verb="undo", id="undo"))
    first, second = panelled.run(LOG)

    assert first[:3] == (ANN, None, kind_of_ban)
    assert step != "suspend" or first[3] == END.timestamp()
    assert f"gamewarden: do {step}" in first[4]
    assert second[:3] == (ANN, None, 0)
    assert f"gamewarden: undo {step}" in second[4]


def test_the_panels_log_says_nothing_of_what_was_left_alone(panelled, tmp_path):
    adapter = adapter_of(SETTINGS, tmp_path)
    done, _ = carried(adapter, action("hold"))
    panelled.set(ANN, state=7)
    adapter.carry(replace(done, verb="undo", id="undo"))

    assert len(panelled.run(LOG)) == 1


@pytest.mark.parametrize(("kind", "group"), [("rathena", 5), ("rathena", 1), ("hercules", 1)], indirect=["kind"])
def test_players_with_a_little_more_are_players(server, kind, tmp_path, group):
    server.set(ANN, group_id=group)
    carried(adapter_of(replace(SETTINGS, kind=kind), tmp_path), action("hold"))

    assert server.of(ANN, "state") == (102,)


@pytest.mark.parametrize(
    ("kind", "group"), [("rathena", 2), ("rathena", 99), ("rathena", -1), ("hercules", 5)], indirect=["kind"]
)
def test_everybody_else_is_staff_for_the_poller_too(polled, kind, tmp_path, group):
    polled.set(ANN, group_id=group)
    for step in SETTINGS.steps:
        with pytest.raises(RefusedError, match=f"is in group {group}"):
            carried(adapter_of(replace(SETTINGS, kind=kind), tmp_path), action(step))

    assert polled.run(ROWS) == []


def test_accounts_may_be_called_by_number(server, tmp_path):
    carried(adapter_of(replace(SETTINGS, account="account_id"), tmp_path), action("ban", "2000001"))

    assert server.of(2000001, "state") == (5,)


@pytest.mark.parametrize("scheme", ["mysql", "mariadb", "mysql+pymysql"])
def test_servers_are_reached_by_pymysql(tmp_path, monkeypatch, scheme):
    monkeypatch.setenv("GAMEWARDEN_GAME_DB", f"{scheme}://me:word@127.0.0.1:1/ragnarok")
    adapter = adapter_of(replace(SETTINGS, timeout="1s"), tmp_path)

    assert adapter.database.engine.dialect.driver == "pymysql"
    with pytest.raises(TryLaterError, match=r"127\.0\.0\.1") as failed:
        adapter.look(action("ban"))
    assert "word" not in str(failed.value).replace("password", "")


def test_what_a_person_did_by_hand_is_taken_back_by_hand(server, tmp_path):
    desk = office(tmp_path, ways_of([SETTINGS], tmp_path))
    hold = decided("nobody", "hold", by="eve")
    desk.decide(hold)
    desk.carry(LATER)
    settle(desk.book, desk.only().id, "eve", LATER, happened=True)
    desk.undo(hold)
    desk.carry(LATER)

    (back,) = desk.ledger.find(Action, verb="undo")
    assert back.state == "stopped"
    assert "by hand" in back.error
    assert server.changes() == 0
    desk.ledger.close()


@dataclass
class Lame:
    """An adapter whose database goes away after it was looked at."""

    adapter: object
    fails: int = 0

    def __getattr__(self, name):
        return getattr(self.adapter, name)

    def carry(self, action):
        if self.fails:
            self.fails -= 1
            raise TryLaterError("gone away")
        return self.adapter.carry(action)


@pytest.mark.parametrize("fails", [1, 2])
def test_a_step_that_failed_over_one_that_was_taken_back_leaves_nothing_behind(server, tmp_path, fails):
    server.set(ANN, state=3)
    lame = Lame(adapter_of(SETTINGS, tmp_path))
    desk = office(tmp_path, ways(lame, attempts=2))
    hold, ban = decided("ann", "hold", "eve"), decided("ann", "ban", "eve", at=NOON + timedelta(minutes=1))
    desk.decide(hold)
    desk.carry(LATER)
    desk.decide(ban)
    lame.fails = fails
    now = LATER
    for _ in range(fails):
        desk.carry(now)
        now += timedelta(hours=1)
    desk.undo(hold, at=now)
    desk.carry(now)
    assert desk.states()[f"do {ban.id}"] == ("done" if fails == 1 else "stopped")
    desk.undo(ban, at=now)
    desk.carry(now)

    assert server.of(ANN, "state") == (3,)
    desk.ledger.close()


def test_a_person_who_was_wrong_that_it_did_not_happen_costs_no_way_back(server, tmp_path):
    server.set(ANN, state=3)
    desk = office(tmp_path, ways_of([SETTINGS], tmp_path))
    hold = decided("ann", "hold", by="eve")
    desk.decide(hold)
    desk.carry(LATER)
    done = desk.only()
    with desk.ledger.writing("test", LATER) as work:
        work.change(done, replace(done, state="uncertain", receipt=None))
    settle(desk.book, done.id, "eve", LATER, happened=False)
    desk.carry(LATER)
    assert server.of(ANN, "state") == (102,)
    desk.undo(hold)
    desk.carry(LATER)

    assert server.of(ANN, "state") == (3,)
    desk.ledger.close()
