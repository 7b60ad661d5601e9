"""An account number has one form, and a player's name is never taken for one."""

from datetime import UTC, datetime, timedelta

import polars as pl
import pytest

from games_made_up import Servers
from gamewarden.cases import Action, Decision
from gamewarden.core.outside import canonical_number
from gamewarden.errors import LedgerError
from gamewarden.workspace.appealing import protect
from gamewarden.workspace.place import Workspace
from gamewarden.workspace.responding import CANONICAL, Responding

NOON = datetime(2026, 11, 16, 12, tzinfo=UTC)
LATER = NOON + timedelta(hours=3)
ANN = "2000000"
SETTINGS = """[workspace]
[response]
armed = true
wave = "1s"
[[response.adapter]]
name = "accounts"
kind = "rathena"
[[source]]
name = "log"
locator = "log.csv"
"""


@pytest.fixture(scope="module")
def servers(mariadb_server):
    made = Servers(mariadb_server)
    yield made
    made.drop()


@pytest.fixture
def server(servers, monkeypatch):
    one = servers.of("rathena")
    monkeypatch.setenv("GAMEWARDEN_GAME_DB", one.url)
    return one


def home(tmp_path, more=""):
    (tmp_path / "warden.toml").write_text(SETTINGS + more)
    return Workspace.at(tmp_path)


def ban(workspace, actor):
    Responding(workspace, NOON).by_person(actor, "ban", by="eve", because="bot", span=timedelta(days=7))
    return Responding(workspace, LATER).carry()


def test_a_player_who_is_called_like_a_number_has_no_other_account_banned(server, tmp_path):
    workspace = home(tmp_path)
    carried = ban(workspace, ANN)

    assert str(carried) == "1 waiting"
    [action] = workspace.ledger.find(Action)
    assert "the actors of log may be names; write account_numbers = true" in action.error
    assert server.changes() == 0
    workspace.ledger.close()


@pytest.mark.parametrize("kind", ["azerothcore", "trinitycore", "eqemu"])
def test_an_adapter_that_names_the_column_of_numbers_goes_by_numbers_too(servers, monkeypatch, tmp_path, kind):
    one = servers.of(kind)
    monkeypatch.setenv("GAMEWARDEN_GAME_DB", one.url)
    text = SETTINGS.replace('kind = "rathena"', f'kind = "{kind}"\naccount = "id"')
    (tmp_path / "warden.toml").write_text(text)
    workspace = Workspace.at(tmp_path)

    assert str(ban(workspace, str(one.kind.ann))) == "1 waiting"
    assert "the actors of log may be names" in workspace.ledger.find(Action)[0].error
    assert one.changes() == 0
    workspace.ledger.close()


def test_another_file_without_the_source_of_names_bans_nobody(server, tmp_path):
    home(tmp_path)
    (tmp_path / "other.toml").write_text("[response]\narmed = true\n")
    workspace = Workspace.at(tmp_path, tmp_path / "other.toml")

    assert str(ban(workspace, ANN)) == "1 waiting"
    assert server.changes() == 0
    workspace.ledger.close()


def test_a_source_whose_actors_are_account_numbers_says_so(server, tmp_path):
    workspace = home(tmp_path)
    ban(workspace, ANN)
    workspace.ledger.close()
    workspace = home(tmp_path, "account_numbers = true\n")

    assert str(Responding(workspace, LATER).carry()) == "1 carried out"
    assert server.of(int(ANN), "state") == (5,)
    workspace.ledger.close()


def test_what_left_before_is_taken_back_although_no_source_says_so_any_more(server, tmp_path):
    workspace = home(tmp_path, "account_numbers = true\n")
    ban(workspace, ANN)
    workspace.ledger.close()
    workspace = home(tmp_path)
    responding = Responding(workspace, LATER)
    [decision] = workspace.ledger.find(Decision)
    responding.undo(decision.id, by="eve", because="it was wrong")

    assert str(responding.carry()) == "1 taken back"
    assert server.of(int(ANN), "state") == (0,)
    workspace.ledger.close()


def test_protection_is_not_passed_by_leading_zeros(server, tmp_path):
    workspace = home(tmp_path, "account_numbers = true\n")
    protect(workspace, ANN, until=LATER + timedelta(days=1), by="eve", because="she streams", at=NOON)

    with pytest.raises(LedgerError, match="02000000 is account 2000000; write it without leading zeros"):
        ban(workspace, f"0{ANN}")
    with pytest.raises(LedgerError, match="02000000 is account 2000000"):
        protect(workspace, f"0{ANN}", until=LATER, by="eve", because="she streams", at=NOON)
    assert workspace.ledger.find(Decision) == []
    assert server.changes() == 0
    workspace.ledger.close()


def test_names_of_digits_keep_their_zeros_where_actors_are_names(tmp_path):
    workspace = home(tmp_path)
    protect(workspace, "007", until=LATER, by="eve", because="an agent", at=NOON)

    assert workspace.ledger.fact("audit").startswith("1 ")
    workspace.ledger.close()


def test_verdicts_of_a_log_that_pads_its_numbers_come_under_the_form_of_the_ledger():
    names = ["02000030", "2000030", "0", "000", "07x", "x07", "-01", " 01", ""]
    table = pl.DataFrame({"actor": names}).select(actor=CANONICAL)

    assert table["actor"].to_list() == [canonical_number(name) for name in names]
    assert table["actor"].to_list()[0] == "2000030"
