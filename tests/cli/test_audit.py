"""`gamewarden audit` says who did what, the value before and after, and whether anything was changed."""

import json
import sqlite3
from contextlib import closing
from datetime import timedelta

import pytest

from commands import done, run
from gamewarden.notices import now
from gamewarden.workspace.place import Workspace
from ledgers_made_up import AT, action, appeal, decision
from terminal import at_terminal

NASTY = "\x1b[2J\u202e[/x]"


@pytest.fixture
def home(tmp_path):
    """A workspace in which something was decided, and taken back lately."""
    (tmp_path / "warden.toml").write_text("[workspace]\n")
    workspace = Workspace.at(tmp_path)
    with workspace.ledger.writing("ladder", AT) as work:
        work.add([decision(1), decision(2, "bert")])
        work.add([action(1)])
    with workspace.ledger.writing("gm anna", now() - timedelta(days=1)) as work:
        work.change(decision(1), decision(1, undone_at=AT, undone_by="gm anna", undone_because="she was ill"))
    workspace.ledger.close()
    return tmp_path


def audit(home, *words):
    return done("--workspace", home, "audit", *words)


def rows(home, *words):
    return json.loads(audit(home, *words, "--json").stdout)


def test_every_deed_is_a_line_with_who_did_it_and_what_changed(home):
    told = audit(home).stdout.split("\n")

    assert told[0].split() == ["line", "at", "who", "what", "subject", "says"]
    assert "gm anna  change decisions  d1" in told[1]
    assert "undone_because: – → she was ill" in told[1]
    assert "ladder   add decisions     d1       actor: anna" in told[4]
    assert len(told) == 6


def test_the_table_fits_eighty_columns(home):
    shown = at_terminal("--workspace", home, "audit", width=80)

    assert shown.returncode == 0
    assert all(len(line) <= 80 for line in shown.lines)
    assert "Not shown" not in shown.text


def test_programs_get_all_values_and_the_hash(home):
    first, *_, last = rows(home)

    assert list(first) == ["line", "at", "who", "what", "subject", "old", "new", "hash"]
    assert (first["old"], json.loads(first["new"])["actor"]) == (None, "anna")
    assert json.loads(last["old"]) == {"undone_at": None, "undone_because": None, "undone_by": None}
    assert json.loads(last["new"])["undone_because"] == "she was ill"


def test_an_account_is_asked_for_with_all_its_records(home):
    assert [(one["line"], one["subject"]) for one in rows(home, "anna")] == [(1, "d1"), (3, "a1"), (4, "d1")]
    assert [one["line"] for one in rows(home, "d1")] == [1, 4]
    assert [one["line"] for one in rows(home, "bert")] == [2]


def test_the_lines_of_records_that_are_gone_are_found(home):
    with closing(sqlite3.connect(home / "ledger.db")) as connection, connection:
        connection.execute("DELETE FROM decisions")

    assert [one["line"] for one in rows(home, "anna")] == [1, 3, 4]


def test_only_what_was_done_lately_is_shown(home):
    assert [one["who"] for one in rows(home, "--last", "7d")] == ["gm anna"]
    assert rows(home, "bert", "--last", "7d") == []


def test_an_account_of_which_nothing_is_known_is_told(home):
    ended = run("--workspace", home, "audit", "nobody")

    assert (ended.returncode, ended.stdout) == (1, "")
    assert ended.stderr == "gamewarden: audit: nothing was done about 'nobody'; look how it is written\n"


def test_an_audit_that_holds_says_so_with_its_head(home):
    ended = audit(home, "--verify")

    assert ended.stdout == "4 lines hold; 3 records in the tables match them\n"
    number, name = ended.stderr.removeprefix("Head: ").split()
    assert (number, name) == ("4", rows(home)[-1]["hash"])


def test_a_head_that_was_noted_is_found_again(home):
    head = audit(home).stderr.removeprefix("Head: ").strip()
    with Workspace.at(home).ledger.writing("ladder", AT) as work:
        work.add([appeal(1)])

    assert audit(home, "--verify", "--since-head", head).stdout == (
        "5 lines hold, and line 4 is the one that was noted; 4 records in the tables match them\n"
    )


def test_an_audit_that_was_changed_fails_in_one_line(home):
    with closing(sqlite3.connect(home / "ledger.db")) as connection, connection:
        connection.execute("UPDATE audit SET who = 'bob' WHERE number IN (2, 3)")

    ended = run("--workspace", home, "audit", "--verify")

    assert (ended.returncode, ended.stdout) == (1, "")
    assert ended.stderr == (
        f"gamewarden: {home}/ledger.db: audit: line 2 is not as it was written, and 1 more fault; put a copy back, "
        "and ask who could change it\n"
    )


@pytest.mark.parametrize(
    ("statement", "fault"),
    [
        ("UPDATE decisions SET approved_by = 'eve' WHERE id = 'd2'", "decisions d2: approved_by is 'eve', and null in"),
        ("DELETE FROM decisions WHERE id = 'd2'", "decisions d2: is missing, and in"),
    ],
)
def test_a_record_that_the_audit_does_not_know_so_fails_in_one_line(home, statement, fault):
    with closing(sqlite3.connect(home / "ledger.db")) as connection, connection:
        connection.execute(statement)

    ended = run("--workspace", home, "audit", "--verify")

    assert (ended.returncode, ended.stdout) == (1, "")
    assert ended.stderr.startswith(f"gamewarden: {home}/ledger.db: {fault} the audit")
    assert ended.stderr.count("\n") == 1


def test_an_audit_that_was_written_anew_fails_by_the_head_that_was_noted(home):
    head = audit(home).stderr.removeprefix("Head: ").strip()
    (home / "ledger.db").unlink()
    with Workspace.at(home).ledger.writing("ladder", AT) as work:
        work.add([decision(number) for number in range(9)])

    assert run("--workspace", home, "audit", "--verify").returncode == 0
    ended = run("--workspace", home, "audit", "--verify", "--since-head", head)

    assert ended.returncode == 1
    assert "line 4 is not the one that was noted" in ended.stderr


def test_words_that_do_not_go_together_are_usage(home):
    assert run("--workspace", home, "audit", "--since-head", "1 abc").returncode == 2


def test_without_a_ledger_there_is_no_audit_and_none_is_made(tmp_path):
    (tmp_path / "warden.toml").write_text("[workspace]\n")

    ended = run("--workspace", tmp_path, "audit")

    assert ended.returncode == 1
    assert "there is no ledger yet" in ended.stderr
    assert not (tmp_path / "ledger.db").exists()


def test_names_that_steer_a_terminal_are_shown_as_they_are_written(home):
    with Workspace.at(home).ledger.writing(f"gm{NASTY}", AT) as work:
        work.add([appeal(7, actor=f"x{NASTY}", text=NASTY)])

    for words in ((), (f"x{NASTY}",), ("--json",), (f"none{NASTY}",), ("--verify", "--since-head", NASTY)):
        ended = run("--workspace", home, "audit", *words)
        assert "\x1b" not in ended.stdout + ended.stderr
        assert "\u202e" not in ended.stdout + ended.stderr


def test_a_password_in_the_environment_is_not_shown(home, monkeypatch):
    monkeypatch.setenv("GAMEWARDEN_LEDGER", "postgresql://anna:s3cr3t@127.0.0.1:1/ledger")

    ended = run("--workspace", home, "audit")

    assert ended.returncode == 1
    assert "s3cr3t" not in ended.stderr
    assert ended.stderr.count("\n") == 1


def test_an_audit_on_a_server_reads_the_same(home, monkeypatch, postgres):
    monkeypatch.setenv("GAMEWARDEN_LEDGER", postgres)
    with Workspace.at(home).ledger.writing("ladder", AT) as work:
        work.add([decision(1), decision(2, "bert"), decision(3, 'a%b_"c')])

    assert [one["subject"] for one in rows(home, "bert")] == ["d2"]
    assert [one["subject"] for one in rows(home, 'a%b_"c')] == ["d3"]
    assert audit(home, "--verify").stdout == "3 lines hold; 3 records in the tables match them\n"


def test_an_audit_without_the_line_that_the_latest_run_noted_fails(home):
    """A consistent ledger from which a protection is gone: an older copy."""
    copy = (home / "ledger.db").read_bytes()
    done("--workspace", home, "protect", "bert", "--for", "9d", "--by", "eve", "--because", "he streams")
    done("--workspace", home, "decide")
    assert "lines hold" in audit(home, "--verify").stdout
    for name in ("ledger.db-wal", "ledger.db-shm"):
        (home / name).unlink(missing_ok=True)
    (home / "ledger.db").write_bytes(copy)

    ended = run("--workspace", home, "audit", "--verify")

    assert (ended.returncode, ended.stdout) == (1, "")
    assert "audit: line 6 is not the one that the latest run noted outside the ledger" in ended.stderr
