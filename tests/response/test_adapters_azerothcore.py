"""Accounts of AzerothCore and TrinityCore: the one active ban, ends that would be none, and the SOAP console."""

import re
import time
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from azeroth_world import LOGIN, fault, world_of
from carrying_made_up import NOON
from games_made_up import EVIL, Servers
from gamewarden.cases import Action
from gamewarden.errors import ConfigError
from gamewarden.policy import AdapterSettings
from gamewarden.response.adapters import RefusedError, TryLaterError, adapter_of

END = datetime(2035, 1, 1, tzinfo=UTC)
ANN = 10
BANS = "SELECT bandate, unbandate, bannedby, banreason, active FROM account_banned WHERE id = 10 ORDER BY bandate"


@pytest.fixture(scope="module")
def servers(mariadb_server):
    made = Servers(mariadb_server)
    yield made
    made.drop()


@pytest.fixture(params=["azerothcore", "trinitycore"])
def server(request, servers, monkeypatch):
    one = servers.of(request.param)
    monkeypatch.setenv("GAMEWARDEN_GAME_DB", one.url)
    monkeypatch.setenv("SOAP_LOGIN", LOGIN)
    return one


@pytest.fixture
def world(server):
    with world_of(server) as one:
        yield one


def adapter_for(server, tmp_path, world=None, **values):
    url = "" if world is None else world.url
    one = AdapterSettings("accounts", server.name, url=url, secret_from="SOAP_LOGIN", timeout="2s")  # noqa: S106  a name
    return adapter_of(replace(one, **values), tmp_path)


def action(step, actor=ANN, until=END):
    return Action(f"do-{step}", "d1", str(actor), "do", step, "accounts", "begun", NOON, until=until)


def carried(adapter, one):
    one = replace(one, before=adapter.look(one))
    return one, adapter.carry(one)


@pytest.mark.parametrize(("step", "ends"), [("hold", False), ("suspend", True), ("ban", True)])
def test_a_step_is_the_one_active_ban(server, tmp_path, step, ends):
    server.run("INSERT INTO account_banned VALUES (10, 100, 2000000000, 'gm', 'rude', 1)")
    carried(adapter_for(server, tmp_path), action(step))
    old, new = server.run(BANS)

    assert old[-1] == 0
    assert new[-1] == 1
    assert new[1] == (END.timestamp() if ends else new[0])


def test_a_ban_without_an_end_is_permanent(server, tmp_path):
    carried(adapter_for(server, tmp_path), action("ban", until=None))
    ((began, ends, *_),) = server.run(BANS)

    assert began == ends


def test_two_bans_of_one_second_are_two_rows(server, tmp_path):
    adapter = adapter_for(server, tmp_path)
    server.run("INSERT INTO account_banned VALUES (10, UNIX_TIMESTAMP() + 3, 5, 'gm', 'rude', 0)")
    before = server.everything()
    first, _ = carried(adapter, action("hold"))
    second, _ = carried(adapter, replace(action("ban", until=None), decision="d2"))

    assert len({row[0] for row in server.run(BANS)}) == 3
    for one in (second, first):
        adapter.carry(replace(one, verb="undo"))
    assert server.everything() == before


def test_an_end_that_is_the_beginning_would_be_for_ever_and_is_refused(server, tmp_path):
    adapter = adapter_for(server, tmp_path)
    one = action("suspend", until=datetime.now(UTC) + timedelta(seconds=0.5))
    one = replace(one, before=adapter.look(one))
    time.sleep(1)
    with pytest.raises(RefusedError, match="decide it anew"):
        adapter.carry(one)

    assert server.run(BANS) == []


def test_a_suspension_that_the_server_has_ended_leaves_nothing_behind(server, tmp_path):
    before = server.everything()
    adapter = adapter_for(server, tmp_path)
    done, _ = carried(adapter, action("suspend", until=datetime.now(UTC) + timedelta(seconds=2)))
    time.sleep(2.1)
    server.run("UPDATE account_banned SET active = 0 WHERE unbandate <> bandate AND unbandate <= UNIX_TIMESTAMP()")

    assert "left" not in adapter.carry(replace(done, verb="undo"))
    assert server.everything() == before


def test_what_a_game_master_lifted_stays_lifted(server, tmp_path):
    adapter = adapter_for(server, tmp_path)
    server.run("INSERT INTO account_banned VALUES (10, 100, 2000000000, 'gm', 'rude', 1)")
    done, _ = carried(adapter, action("hold"))
    server.run("UPDATE account_banned SET active = 0 WHERE id = 10")
    lifted = server.everything()

    assert "somebody else" in adapter.carry(replace(done, verb="undo"))["left"]
    adapter.carry(done)
    assert server.everything() == lifted


def test_an_older_ban_that_ended_meanwhile_does_not_hold_again(server, tmp_path):
    server.run("INSERT INTO account_banned VALUES (10, 100, UNIX_TIMESTAMP() + 1, 'gm', 'rude', 1)")
    adapter = adapter_for(server, tmp_path)
    done, _ = carried(adapter, action("hold"))
    time.sleep(1.1)
    adapter.carry(replace(done, verb="undo"))

    assert [row[-1] for row in server.run(BANS)] == [0]


@pytest.mark.parametrize(("step", "lasts"), [("hold", "-1"), ("suspend", r"\d+s"), ("ban", r"\d+s")])
def test_by_the_console_the_server_bars_and_the_way_back_leaves_the_database_as_before(
    server, world, tmp_path, step, lasts
):
    before = server.everything()
    adapter = adapter_for(server, tmp_path, world)
    done, receipt = carried(adapter, action(step))
    adapter.carry(done)

    (command,) = world.commands
    assert re.fullmatch(rf"\.ban account ANN {lasts} gamewarden {step} [0-9a-f]{{32}}", command)
    ((began, ends, by, _, active),) = server.run(BANS)
    assert (by, active, receipt["now"]["active"]) == ("Console", 1, [began])
    assert ends == began if step == "hold" else abs(ends - END.timestamp()) <= 1
    adapter.carry(replace(done, verb="undo"))
    assert server.everything() == before


def test_a_ban_that_the_server_writes_later_is_waited_for(server, tmp_path):
    with world_of(server, late=0.5) as world:
        _, receipt = carried(adapter_for(server, tmp_path, world), action("hold"))

    assert receipt["now"]["active"] == [server.run(BANS)[0][0]]


def test_a_server_that_says_it_did_and_did_not_is_asked_again_later(server, world, tmp_path):
    world.answers.append((200, "<result>Unsuccessful!</result>"))
    adapter = adapter_for(server, tmp_path, world)
    one = replace(action("hold"), before=adapter.look(action("hold")))
    with pytest.raises(TryLaterError, match="no ban of it yet"):
        adapter.carry(one)
    adapter.carry(one)
    adapter.carry(one)

    assert len(world.commands) == 2
    assert len(server.run(BANS)) == 1


def test_who_is_barred_already_is_not_barred_by_the_console(server, world, tmp_path):
    server.run("INSERT INTO account_banned VALUES (10, 100, 2000000000, 'gm', 'rude', 1)")
    before = server.everything()
    adapter = adapter_for(server, tmp_path, world)
    done, _ = carried(adapter, action("hold"))
    adapter.carry(replace(done, verb="undo"))

    assert world.commands == []
    assert server.everything() == before


@pytest.mark.parametrize("name", [EVIL, "TWO WORDS", "-X'\"\\", "BAD\nBAN", "Ä", "X|Y"])
def test_a_name_that_could_end_its_argument_is_never_said(server, world, tmp_path, name):
    server.run("INSERT INTO account (id, username) VALUES (99, :name) ON DUPLICATE KEY UPDATE id = 99", name=name)
    with pytest.raises(RefusedError, match="no command is given") as refused:
        carried(adapter_for(server, tmp_path, world), action("ban", 99))

    assert "\n" not in str(refused.value)
    assert world.commands == []
    assert server.changes() == 0


@pytest.mark.parametrize("name", ["12#1", "A.B-C_D@E.F"])
def test_names_that_the_servers_give_are_said(server, world, tmp_path, name):
    server.run("INSERT INTO account (id, username) VALUES (99, :name) ON DUPLICATE KEY UPDATE id = 99", name=name)
    carried(adapter_for(server, tmp_path, world), action("ban", 99))

    assert f".ban account {name} " in world.commands[0]


@pytest.mark.parametrize("name", ["GM", "MOD"])
def test_game_masters_are_not_named_to_the_console(server, world, tmp_path, name):
    with pytest.raises(RefusedError, match="it is never touched"):
        carried(adapter_for(server, tmp_path, world, account="username"), action("ban", name))

    assert world.commands == []


@pytest.mark.parametrize(
    ("answer", "error", "text"),
    [
        (fault("Client", "account ANN not found\n"), RefusedError, "answers 500 account ANN not found"),
        (fault("Server", "Server is shutting down"), TryLaterError, "shutting down"),
        ((500, "<!DOCTYPE x [<!ENTITY a SYSTEM 'file:///etc/passwd'>]><x>&a;</x>"), TryLaterError, "answers 500$"),
        ((503, ""), TryLaterError, "503"),
        (fault("Client", "\x1b[2J&#27;[2J" + "x" * 9_000), RefusedError, r"\\x1b\[2J"),
    ],
)
def test_what_a_server_answers_is_read_carefully(world, tmp_path, answer, error, text):
    world.answers.append(answer)
    with pytest.raises(error, match=text) as failed:
        carried(adapter_for(world.server, tmp_path, world), action("ban"))

    assert "\n" not in str(failed.value)
    assert len(str(failed.value)) < 600
    assert "root:" not in str(failed.value)
    assert world.server.run(BANS) == []


@pytest.mark.parametrize(("login", "level"), [("WARDEN:wrong", 3), (LOGIN, 2)])
def test_a_login_that_the_server_does_not_take_is_said_without_its_password(
    server, tmp_path, monkeypatch, login, level
):
    monkeypatch.setenv("SOAP_LOGIN", login)
    with world_of(server, level=level) as world, pytest.raises(RefusedError, match="gmlevel 3") as refused:
        carried(adapter_for(server, tmp_path, world), action("ban"))

    assert login.partition(":")[2] not in str(refused.value)
    assert server.run(BANS) == []


def test_a_server_that_is_not_there_is_asked_again_later(server, tmp_path):
    with world_of(server) as world:
        pass
    with pytest.raises(TryLaterError, match="refuses connections"):
        carried(adapter_for(server, tmp_path, world), action("ban"))


@pytest.mark.parametrize("login", ["", "nobody", ":x", "x:", "a\n:b"])
def test_a_console_needs_a_user_and_a_password(server, tmp_path, monkeypatch, login):
    monkeypatch.setenv("SOAP_LOGIN", login)
    with pytest.raises(ConfigError, match="SOAP_LOGIN has no user:password"):
        adapter_for(server, tmp_path, url="http://127.0.0.1:7878/")


def test_a_password_never_leaves_this_machine_in_clear(server, tmp_path):
    with pytest.raises(RefusedError, match="must be https"):
        carried(adapter_for(server, tmp_path, url="http://192.0.2.1:7878/"), action("ban"))
    assert server.run(BANS) == []
