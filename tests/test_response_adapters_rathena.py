"""Accounts of an rAthena server: held, suspended, banned, and given back exactly as they were."""

from dataclasses import dataclass, replace
from datetime import timedelta

import pytest

from carrying_made_up import LATER, NOON, decided, office, ways
from gamewarden.cases import Action
from gamewarden.errors import ConfigError
from gamewarden.policy import AdapterSettings
from gamewarden.response.adapters import RefusedError, TryLaterError, adapter_of, ways_of
from gamewarden.response.carrying import settle
from rathena_made_up import ACCOUNTS, Server

SETTINGS = AdapterSettings("accounts", "rathena", account="userid")
END = int(LATER.timestamp())
ANN = 2000000


@pytest.fixture(params=["sqlite", "postgres"])
def server(request, tmp_path, monkeypatch):
    """A server's accounts in the two kinds of databases that are here; MariaDB is not."""
    url = f"sqlite:///{tmp_path / 'game.db'}"
    if request.param == "postgres":
        url = request.getfixturevalue("postgres").replace("postgresql://", "postgresql+psycopg://")
    one = Server.new(url)
    monkeypatch.setenv("GAMEWARDEN_GAME_DB", one.url)
    yield one
    one.engine.dispose()


def action(step, actor="ann", verb="do", **values):
    return Action(f"{verb}-{step}", "d1", actor, verb, step, "accounts", "begun", NOON, until=LATER, **values)


def carried(adapter, one):
    one = replace(one, before=adapter.look(one))
    return one, adapter.carry(one)


@pytest.mark.parametrize(("step", "there"), [("hold", (102, 7)), ("suspend", (1, END)), ("ban", (5, 7))])
def test_each_step_writes_its_column_and_the_way_back_restores_it(server, tmp_path, step, there):
    server.set(ANN, state=1, unban_time=7)
    adapter = adapter_of(SETTINGS, tmp_path)
    done, _ = carried(adapter, action(step))

    assert server.of(ANN) == there
    adapter.carry(replace(done, verb="undo"))
    assert server.of(ANN) == (1, 7)
    assert server.changes() == 2


@pytest.mark.parametrize("verb", ["do", "undo"])
def test_the_same_action_twice_changes_an_account_once(server, tmp_path, verb):
    adapter = adapter_of(SETTINGS, tmp_path)
    done, _ = carried(adapter, action("ban"))
    again = replace(done, verb=verb)
    adapter.carry(again)
    adapter.carry(again)

    assert server.changes() == (1 if verb == "do" else 2)


def test_what_somebody_else_wrote_since_is_left_alone(server, tmp_path):
    adapter = adapter_of(SETTINGS, tmp_path)
    done, _ = carried(adapter, action("hold"))
    server.set(ANN, state=5)
    receipt = adapter.carry(replace(done, verb="undo"))

    assert server.of(ANN)[0] == 5
    assert "somebody else" in receipt["left"]
    server.set(ANN, state=7)
    with pytest.raises(RefusedError, match="somebody else"):
        adapter.carry(done)
    assert server.of(ANN)[0] == 7


def test_a_suspension_never_ends_an_older_one_early(server, tmp_path):
    server.set(ANN, unban_time=END + 1000)
    adapter = adapter_of(SETTINGS, tmp_path)
    done, _ = carried(adapter, action("suspend"))
    adapter.carry(replace(done, verb="undo"))

    assert server.of(ANN)[1] == END + 1000
    assert server.changes() == 0


def test_a_suspension_without_an_end_is_refused(server, tmp_path):
    with pytest.raises(RefusedError, match="needs an end"):
        adapter_of(SETTINGS, tmp_path).look(replace(action("suspend"), until=None))

    assert server.changes() == 0


@pytest.mark.parametrize(
    "name",
    ["nobody", "a'; DROP TABLE login; --", "' OR '1'='1", "Ann", "Bob", "", "%", "s1", "x" * 10_000, "ann\0", "ann "],
)
def test_a_name_that_is_no_players_touches_nothing(server, tmp_path, name):
    with pytest.raises(RefusedError) as refused:
        carried(adapter_of(SETTINGS, tmp_path), action("ban", name))

    assert "\n" not in str(refused.value)
    assert {server.of(number) for number, _, _ in ACCOUNTS} == {(0, 0)}
    assert server.changes() == 0


def test_a_name_full_of_quotes_is_an_account_like_any_other(server, tmp_path):
    carried(adapter_of(SETTINGS, tmp_path), action("ban", "-x'\"\\"))

    assert server.of(2000003)[0] == 5


@pytest.mark.parametrize("name", ["ann", "-1", "2000000 OR 1=1", "99999999999999999999", "٢", "2e6", "1", "2000009"])
def test_a_number_that_is_no_players_touches_nothing(server, tmp_path, name):
    with pytest.raises(RefusedError):
        carried(adapter_of(replace(SETTINGS, account="account_id"), tmp_path), action("ban", name))

    assert server.changes() == 0


def test_accounts_may_be_called_by_number(server, tmp_path):
    carried(adapter_of(replace(SETTINGS, account="account_id"), tmp_path), action("ban", "2000001"))

    assert server.of(2000001)[0] == 5


def test_an_account_that_is_renamed_is_still_given_back(server, tmp_path):
    adapter = adapter_of(SETTINGS, tmp_path)
    done, _ = carried(adapter, action("ban"))
    adapter.carry(replace(done, verb="undo", actor="anna"))

    assert server.of(ANN)[0] == 0


def test_a_database_without_accounts_is_asked_again_later(tmp_path, monkeypatch):
    monkeypatch.setenv("GAMEWARDEN_GAME_DB", f"sqlite:///{tmp_path / 'empty.db'}")
    with pytest.raises(TryLaterError, match="accounts: the game's database: no such table"):
        adapter_of(SETTINGS, tmp_path).look(action("ban"))


@pytest.mark.parametrize("url", ["", "nothing", "oracle://me:word@host/x", "postgresql://me:word@h:port/x"])
def test_a_url_that_is_none_is_refused_without_its_password(tmp_path, monkeypatch, url):
    monkeypatch.setenv("GAMEWARDEN_GAME_DB", url)
    with pytest.raises(ConfigError, match="GAMEWARDEN_GAME_DB") as refused:
        adapter_of(SETTINGS, tmp_path)

    assert "word" not in str(refused.value).replace("user:password", "")


@pytest.mark.parametrize("scheme", ["mysql", "mariadb", "mysql+pymysql"])
def test_servers_with_mariadb_are_reached_by_pymysql(tmp_path, monkeypatch, scheme):
    monkeypatch.setenv("GAMEWARDEN_GAME_DB", f"{scheme}://me:word@127.0.0.1:1/ragnarok")
    adapter = adapter_of(replace(SETTINGS, timeout="1s"), tmp_path)

    assert adapter.engine.dialect.driver == "pymysql"
    with pytest.raises(TryLaterError, match=r"127\.0\.0\.1") as failed:
        adapter.look(action("ban"))
    assert "word" not in str(failed.value).replace("password", "")


def test_only_what_a_server_can_do_is_asked_of_it(server, tmp_path):
    with pytest.raises(ConfigError, match="rathena cannot carry out limit"):
        adapter_of(replace(SETTINGS, steps=("limit",)), tmp_path)
    assert server.changes() == 0


@pytest.mark.parametrize("first", [0, 1, 2])
def test_overlapping_steps_are_taken_back_in_any_order_and_leave_what_was_there(server, tmp_path, first):
    server.set(ANN, state=3, unban_time=11)
    desk = office(tmp_path, ways_of([SETTINGS], tmp_path))
    decisions = [decided("ann", step, by="eve") for step in ("hold", "suspend")]
    decisions.append(decided("ann", "ban", by="eve", at=NOON + timedelta(hours=1)))
    for one in decisions:
        desk.decide(one)
        desk.carry(LATER)
    assert server.of(ANN)[0] == 5
    for one in (*decisions[first:], *decisions[:first]):
        desk.undo(one)
        desk.carry(LATER)

    assert server.of(ANN) == (3, 11)


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

    assert server.of(ANN)[0] == 3


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
    assert server.of(ANN)[0] == 102
    desk.undo(hold)
    desk.carry(LATER)

    assert server.of(ANN)[0] == 3
