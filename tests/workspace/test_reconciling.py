"""A ledger that was restored from an older copy is noticed: nothing is carried out until it was compared."""

import shutil
from datetime import UTC, datetime, timedelta

import pytest

from commands import done
from games_made_up import Servers
from gamewarden.cases import Action
from gamewarden.errors import ResponseError
from gamewarden.workspace.place import Workspace
from gamewarden.workspace.reconciling import restored
from gamewarden.workspace.responding import Responding

NOON = datetime(2026, 11, 16, 12, tzinfo=UTC)
LATER = NOON + timedelta(hours=3)
SETTINGS = """[workspace]
[response]
armed = true
wave = "1s"
[[response.adapter]]
name = "accounts"
kind = "{kind}"
account = "{name}"
"""
SEEING = {"rathena": ("poller",), "azerothcore": (), "eqemu": ()}  # the game shows which action wrote something


@pytest.fixture(scope="module")
def servers(mariadb_server):
    made = Servers(mariadb_server)
    yield made
    made.drop()


@pytest.fixture(params=SEEING)
def server(request, servers, monkeypatch):
    one = servers.of(request.param, *SEEING[request.param])
    monkeypatch.setenv("GAMEWARDEN_GAME_DB", one.url)
    return one


@pytest.fixture
def plain(servers, monkeypatch):
    """A rAthena server without the poller's table: nothing in the game says who wrote a state."""
    one = servers.of("rathena")
    monkeypatch.setenv("GAMEWARDEN_GAME_DB", one.url)
    return one


def home(tmp_path, server):
    text = SETTINGS.format(kind=server.name, name=server.kind.name)
    (tmp_path / "warden.toml").write_text(text)
    return Workspace.at(tmp_path)


def name_of(server):
    return server.of(server.kind.ann, server.kind.name)[0]


def banned(tmp_path, server):
    """A workspace in which a ban was decided, copied, and then carried out."""
    workspace = home(tmp_path, server)
    responding = Responding(workspace, NOON)
    made, _ = responding.by_person(name_of(server), "ban", by="eve", because="bot", span=timedelta(days=7))
    workspace.ledger.close()
    shutil.copy(tmp_path / "ledger.db", tmp_path / "copy.db")
    assert str(Responding(workspace, LATER).carry()) == "1 carried out"
    workspace.ledger.close()
    return made.id


def put_back(tmp_path):
    """An older copy in the place of the ledger."""
    for name in ("ledger.db-wal", "ledger.db-shm"):
        (tmp_path / name).unlink(missing_ok=True)
    shutil.copy(tmp_path / "copy.db", tmp_path / "ledger.db")
    return Workspace.at(tmp_path)


def test_an_older_ledger_carries_out_nothing_and_says_so(server, tmp_path):
    decision = banned(tmp_path, server)
    before = server.everything()
    workspace = put_back(tmp_path)
    responding = Responding(workspace, LATER)
    responding.undo(decision, by="eve", because="it was wrong")
    carried = responding.carry()

    assert "the ledger is older than its last run" in str(carried)
    assert "decisions reconcile" in carried.troubles[0]
    assert carried.carried.actions == []
    assert server.everything() == before
    assert "All actions are stopped" in done("--workspace", tmp_path, "status").stdout
    workspace.ledger.close()


def test_a_ban_that_an_older_ledger_does_not_know_is_listed_with_both_states_and_repaired(server, tmp_path):
    free = server.everything()
    decision = banned(tmp_path, server)
    workspace = put_back(tmp_path)
    Responding(workspace, LATER).undo(decision, by="eve", because="it was wrong")
    [found] = Responding(workspace, LATER).reconciling.mismatches()

    assert (found.ledger, found.repair) == ("cancelled, not carried out", "record it as carried out, then undo it")
    assert f"account {server.kind.ann}: " in found.game
    Responding(workspace, LATER).reconciling.repair("eve")
    assert str(Responding(workspace, LATER).carry()) == "1 taken back"
    assert server.everything() == free
    assert Responding(workspace, LATER).reconciling.mismatches() == []
    assert list(workspace.ledger.audit_faults()) == []
    workspace.ledger.close()


def test_an_action_that_the_game_holds_already_is_a_case_for_a_person(server, tmp_path):
    banned(tmp_path, server)
    before = server.everything()
    shutil.rmtree(tmp_path / "results")  # the whole workspace is older, and nothing is noted
    workspace = put_back(tmp_path)
    Responding(workspace, LATER).carry()

    [action] = workspace.ledger.find(Action)
    assert (action.state, action.before) == ("stopped", None)
    assert "the game holds this action already" in action.error
    assert server.everything() == before
    workspace.ledger.close()


def test_a_ban_that_was_lifted_in_the_game_ends_its_decision(server, tmp_path):
    banned(tmp_path, server)
    server.begin()
    workspace = Workspace.at(tmp_path)
    [found] = Responding(workspace, LATER).reconciling.mismatches()

    assert (found.ledger, found.repair) == ("in force", "record it as lifted")
    Responding(workspace, LATER).reconciling.repair("eve")
    Responding(workspace, LATER).carry()
    assert Responding(workspace, LATER).reconciling.mismatches() == []
    assert {one.state for one in workspace.ledger.find(Action)} == {"done", "undone"}
    workspace.ledger.close()


def test_a_ban_of_which_the_ledger_has_no_record_is_listed(server, tmp_path):
    adapter = Responding(home(tmp_path, server), NOON).settling.ways.adapters["accounts"]
    assert adapter.own_keys() == {}
    banned(tmp_path, server)
    (tmp_path / "ledger.db").unlink()
    workspace = Workspace.at(tmp_path)
    [found] = Responding(workspace, LATER).reconciling.mismatches()

    assert (found.ledger, found.repair) == ("no record", "")
    assert f"account {server.kind.ann}: " in found.game
    workspace.ledger.close()


def test_where_the_game_shows_no_marker_a_ban_that_stays_is_not_reported_as_taken_back(plain, tmp_path):
    decision = banned(tmp_path, plain)
    shutil.rmtree(tmp_path / "results")
    workspace = put_back(tmp_path)
    Responding(workspace, LATER).carry()
    responding = Responding(workspace, LATER)
    responding.undo(decision, by="eve", because="it was wrong")
    carried = responding.carry()

    assert "taken back" not in str(carried)
    assert "the game has state 5, and the ledger has the same" in carried.troubles[0]
    assert plain.of(plain.kind.ann, "state") == (5,)
    workspace.ledger.close()


def test_a_ledger_that_goes_on_is_never_taken_for_an_older_one(plain, tmp_path):
    decision = banned(tmp_path, plain)
    workspace = Workspace.at(tmp_path)
    responding = Responding(workspace, LATER)
    responding.undo(decision, by="eve", because="it was wrong")

    assert restored(workspace) is None
    assert str(responding.carry()) == "1 taken back"
    workspace.ledger.close()


def test_the_command_lists_and_repairs(plain, tmp_path):
    banned(tmp_path, plain)
    put_back(tmp_path)
    listed = done("--workspace", tmp_path, "decisions", "reconcile")

    assert "look into the game" in listed.stdout
    assert "the ledger is older than its last run" in listed.stderr
    done("--workspace", tmp_path, "decisions", "reconcile", "--repair", "--by", "eve")
    assert restored(Workspace.at(tmp_path)) is None


def test_nothing_goes_on_where_an_adapter_does_not_see_its_game(plain, tmp_path, monkeypatch):
    banned(tmp_path, plain)
    workspace = put_back(tmp_path)
    monkeypatch.delenv("GAMEWARDEN_GAME_DB")

    with pytest.raises(ResponseError, match="adapter accounts does not see its game"):
        Responding(workspace, LATER).reconciling.repair("eve")
    assert restored(workspace) is not None
    workspace.ledger.close()


def test_what_an_adapter_did_that_is_no_longer_in_the_settings_is_listed(plain, tmp_path):
    banned(tmp_path, plain)
    text = (tmp_path / "warden.toml").read_text()
    (tmp_path / "warden.toml").write_text(text.replace('name = "accounts"', 'name = "others"'))
    workspace = Workspace.at(tmp_path)
    [found] = Responding(workspace, LATER).reconciling.mismatches()

    assert (found.adapter, found.ledger, found.repair) == ("accounts", "done", "")
    assert "no adapter is named accounts" in found.game
    workspace.ledger.close()
