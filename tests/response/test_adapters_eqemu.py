"""Accounts of EQEmu: what its login looks at, and what its server writes by itself."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from carrying_made_up import NOON
from games_made_up import Server
from gamewarden.cases import Action
from gamewarden.policy import AdapterSettings
from gamewarden.response.adapters import adapter_of

END = datetime(2035, 1, 1, tzinfo=UTC)
ANN = 20
BARRED = ("status", "UNIX_TIMESTAMP(suspendeduntil)")


@pytest.fixture
def server(mariadb, monkeypatch):
    one = Server.new(mariadb, "eqemu")
    monkeypatch.setenv("GAMEWARDEN_GAME_DB", one.url)
    return one


def carried(adapter, step):
    one = Action(f"do-{step}", "d1", str(ANN), "do", step, "accounts", "begun", NOON, until=END)
    one = replace(one, before=adapter.look(one))
    adapter.carry(one)
    return one


# At a login the server sets the status to 0 where `suspendeduntil` is over, also of a banned account.
@pytest.mark.parametrize(
    ("step", "there"), [("hold", (-1, None)), ("suspend", (-1, END.timestamp())), ("ban", (-2, None))]
)
def test_no_older_suspension_ends_a_step_early(server, tmp_path, step, there):
    server.set(ANN, status=-1, suspendeduntil="2027-01-01 00:00:00")
    carried(adapter_of(AdapterSettings("accounts", "eqemu"), tmp_path), step)

    assert server.of(ANN, *BARRED) == there


def test_empty_texts_that_the_server_writes_for_null_are_nobodys_word(server, tmp_path):
    before = server.everything()
    adapter = adapter_of(AdapterSettings("accounts", "eqemu"), tmp_path)
    done = carried(adapter, "hold")
    server.set(ANN, ban_reason="")
    receipt = adapter.carry(replace(done, verb="undo"))

    assert "left" not in receipt
    assert server.everything() == before


def test_a_suspension_that_the_server_has_ended_is_taken_back_without_a_word(server, tmp_path):
    adapter = adapter_of(AdapterSettings("accounts", "eqemu"), tmp_path)
    done = carried(adapter, "suspend")
    server.set(ANN, status=0, suspendeduntil=None, suspend_reason="")

    assert "left" not in adapter.carry(replace(done, verb="undo"))
    assert server.of(ANN, *BARRED) == (0, None)
