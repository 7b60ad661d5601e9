"""The ledger of a workspace: where it is, and that nobody makes one by asking."""

from datetime import timedelta

import pytest

from gamewarden.cases import Decision, Protected
from gamewarden.errors import LedgerError
from gamewarden.workspace.forgetting import begin, finish, held
from gamewarden.workspace.place import Workspace
from gamewarden.workspace.retention import sentences, tidy
from ledgers_made_up import AT, action, appeal, decision


@pytest.fixture
def workspace(tmp_path):
    (tmp_path / "warden.toml").write_text("[workspace]\n")
    return Workspace.at(tmp_path)


def test_asking_whether_there_is_a_ledger_makes_none(workspace):
    assert not workspace.has_ledger
    assert [path.name for path in workspace.root.iterdir()] == ["warden.toml"]


def test_the_ledger_is_the_file_that_the_settings_name(workspace):
    (workspace.root / "warden.toml").write_text('[workspace]\nledger = "kept/decisions.db"\n')
    changed = Workspace.at(workspace.root)

    assert changed.ledger.find(Protected) == []
    assert changed.has_ledger
    assert (workspace.root / "kept" / "decisions.db").is_file()


def test_the_environment_names_another_file_or_a_database(workspace, monkeypatch, postgres):
    monkeypatch.setenv("GAMEWARDEN_LEDGER", "other.db")
    assert workspace.ledger_place == workspace.root / "other.db"

    monkeypatch.setenv("GAMEWARDEN_LEDGER", postgres)
    assert workspace.has_ledger
    assert workspace.ledger.engine.dialect.name == "postgresql"
    assert not (workspace.root / "ledger.db").exists()


def test_one_workspace_opens_its_ledger_once(workspace):
    assert workspace.ledger is workspace.ledger


def test_old_cases_go_with_retention_and_the_line_counts_them(workspace):
    (workspace.root / "warden.toml").write_text('[workspace]\n[retention]\nledger = "10d"\n')
    kept = Workspace.at(workspace.root)
    with kept.ledger.writing("test", AT) as work:
        work.add([decision(1), decision(2, until=None)])
        work.add([decision(3, "bert")])

    early = str(tidy(kept, AT + timedelta(days=20)))
    told = str(tidy(kept, AT + timedelta(days=60)))

    assert early == "nothing is too old"  # what still counts as evidence would be decided on again
    assert told == "ledger of 1 record removed: older than [retention] keeps them"
    assert [one.id for one in kept.ledger.find(Decision)] == ["d1", "d2"]  # the second of hers is in force
    assert str(tidy(kept, AT + timedelta(days=60))) == "nothing is too old"
    assert "decisions are kept for 10d once they are over" in list(sentences(kept.config.retention))


def test_retention_makes_no_ledger(workspace):
    (workspace.root / "warden.toml").write_text('[workspace]\n[retention]\nledger = "10d"\n')

    assert str(tidy(Workspace.at(workspace.root), AT)) == "nothing is too old"
    assert not workspace.has_ledger


def test_a_forgotten_account_is_in_the_ledger_under_the_stub_of_its_verdicts(workspace):
    with workspace.ledger.writing("test", AT) as work:
        work.add([decision(1), decision(2, "bert")])

    assert [line for line in held(workspace, ["anna"]).sentences() if "1 record of the ledger" in line]
    begin(workspace, ["anna"], AT)
    finish(workspace, AT)

    stub = f"forgotten-{workspace.forgotten.digest('anna')}"
    assert [one.actor for one in workspace.ledger.find(Decision)] == [stub, "bert"]
    assert b"anna" not in (workspace.root / "ledger.db").read_bytes()
    assert list(workspace.ledger.audit_faults()) == []


@pytest.mark.parametrize(
    ("record", "says"),
    [
        (decision(1, rehearsal=False), "decision d1 is in force"),
        (action(1, state="done"), "action a1 is not taken back yet"),
        (appeal(1), "appeal p1 is open"),
    ],
)
def test_nobody_is_forgotten_while_something_about_them_is_in_force_or_open(workspace, record, says):
    with workspace.ledger.writing("test", AT) as work:
        work.add([record])

    with pytest.raises(LedgerError, match=says):
        begin(workspace, ["anna"], AT)

    assert finish(workspace, AT) is None
    assert workspace.ledger.find(type(record)) == [record]


def test_forgetting_makes_no_ledger(workspace):
    begin(workspace, ["anna"], AT)
    finish(workspace, AT)

    assert not workspace.has_ledger
