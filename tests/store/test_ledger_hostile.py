"""Whatever stands where a ledger should be: one line, no password, and nothing is harmed."""

import json
import os
import shutil
import sqlite3
import stat
import subprocess
import sys
from contextlib import closing

import pytest
from sqlalchemy.exc import OperationalError

from gamewarden.cases import Action, AuditLine, Decision
from gamewarden.errors import LedgerError
from gamewarden.store.ledger.engines import engine_of, shown
from gamewarden.store.ledger.failures import in_a_line
from gamewarden.store.ledger.ledger import Ledger
from ledgers_made_up import AT, action, decision
from paths import SUPPORT

SECRET = "s3cr3t-word"  # noqa: S105
# Root may write everywhere, unless it gives that up.
UNABLE = ["setpriv", "--bounding-set", "-dac_override,-dac_read_search"] if os.geteuid() == 0 else []
unable = pytest.mark.skipif(UNABLE and not shutil.which("setpriv"), reason="setpriv is not installed")


@pytest.fixture
def file(tmp_path):
    """A ledger with something in it."""
    path = tmp_path / "ledger.db"
    ledger = Ledger.at(path)
    with ledger.writing("test", AT) as work:
        work.add([decision(number) for number in range(200)])
        work.add([action()])
    ledger.close()
    return path


def by_hand(path, *statements):
    with closing(sqlite3.connect(path)) as connection, connection:
        for statement in statements:
            connection.execute(statement)


def line_of(work):
    """The one line that somebody reads."""
    with pytest.raises(LedgerError) as caught:
        work()
    assert "\n" not in str(caught.value)
    return str(caught.value)


def read_all(path):
    ledger = Ledger.at(path)
    try:
        return [ledger.find(Decision), ledger.find(Action), ledger.find(AuditLine), list(ledger.audit_faults())]
    finally:
        ledger.close()


def test_a_file_that_is_no_database_is_left_as_it_is(tmp_path):
    path = tmp_path / "notes.txt"
    path.write_text("something else entirely\n" * 100)

    assert line_of(lambda: Ledger.at(path)).startswith(f"{path}: is no ledger: it is not of SQLite")
    assert path.read_text() == "something else entirely\n" * 100


def test_a_directory_is_no_ledger(tmp_path):
    assert line_of(lambda: Ledger.at(tmp_path)) == f"{tmp_path}: is a directory; name a file in [workspace] ledger"


def test_a_place_below_a_file_is_told(file):
    assert line_of(lambda: Ledger.at(file / "ledger.db")).startswith(f"{file}/ledger.db: cannot be opened (")


def test_a_truncated_file_is_damaged(file):
    content = file.read_bytes()
    for share in (0.1, 0.3, 0.5, 0.9):
        file.write_bytes(content[: int(len(content) * share)])

        assert line_of(lambda: read_all(file)).endswith("; put a copy back")


def test_an_empty_file_becomes_a_ledger(tmp_path):
    (tmp_path / "ledger.db").touch()

    assert read_all(tmp_path / "ledger.db") == [[], [], [], []]


def test_overwritten_bytes_never_end_in_a_traceback(file):
    content = file.read_bytes()
    for start in range(0, len(content), len(content) // 40):
        file.write_bytes(content[:start] + bytes(range(1, 200)) + content[start + 199 :])
        try:
            read_all(file)
        except LedgerError as error:
            assert "\n" not in str(error)  # noqa: PT017  not every byte is looked at


def test_the_database_of_another_program_is_not_written_to(tmp_path):
    path = tmp_path / "browser.db"
    by_hand(path, "CREATE TABLE bookmarks (name TEXT)", "CREATE TABLE alembic_version (version_num TEXT)")
    before = path.read_bytes()

    told = line_of(lambda: Ledger.at(path))

    assert told == f"{path}: has tables of another program (alembic_version, bookmarks); name another file or database"
    assert path.read_bytes()[100:] == before[100:]  # SQLite's own header says how it is journalled


def test_another_programs_tables_on_a_server_are_not_touched(postgres_server, postgres):
    name = postgres.partition("?")[0].rpartition("/")[2]
    postgres_server.execute("CREATE TABLE labels (name TEXT)", name)

    assert "has tables of another program (labels)" in line_of(lambda: Ledger.at(postgres))


def test_a_ledger_of_a_newer_gamewarden_is_not_touched(file):
    by_hand(file, "UPDATE gamewarden_version SET version_num = '999'")

    assert line_of(lambda: Ledger.at(file)) == (
        f"{file}: a newer gamewarden has written it (version 999); install that one"
    )


def test_a_ledger_that_does_not_say_its_version_is_damaged(file):
    by_hand(file, "DELETE FROM gamewarden_version")

    assert "it does not say its version" in line_of(lambda: Ledger.at(file))


def test_a_missing_table_or_column_is_damage(file):
    by_hand(file, "ALTER TABLE decisions RENAME COLUMN step TO stage")
    assert line_of(lambda: read_all(file)) == f"{file}: is damaged: a column is missing; put a copy back"

    by_hand(file, "DROP TABLE decisions")
    assert line_of(lambda: read_all(file)) == f"{file}: is damaged: a table is missing; put a copy back"


@pytest.mark.parametrize(
    "change",
    [
        "at = 'yesterday'",
        "at = 1e300",
        "at = 9223372036854775807",
        "until = 'x'",
        "rung = 'high'",
        "rung = x'00ff'",
        "rehearsal = 'perhaps'",
        "because = '[\"one\"'",
        "because = '[[[['",
        "because = 'null'",
        "because = '7'",
        "evidence = x'ff'",
        "actor = x'ff'",
        "actor = CAST(x'ff' AS TEXT)",
        "step = x'00'",
    ],
)
def test_values_of_another_kind_are_told_as_changed_by_hand(file, change):
    by_hand(file, "UPDATE decisions SET {} WHERE id = 'd1'".format(change))  # noqa: S608, UP032

    told = line_of(lambda: read_all(file))

    assert "changed by hand" in told or "not UTF-8" in told
    assert "put a copy back" in told


def test_a_null_where_none_may_be_is_told(file):
    by_hand(
        file,
        "PRAGMA writable_schema = ON",
        "UPDATE sqlite_master SET sql = replace(sql, 'step TEXT NOT NULL', 'step TEXT') WHERE name = 'decisions'",
    )
    by_hand(file, "UPDATE decisions SET step = NULL WHERE id = 'd1'")

    assert "step of decisions is None, so it was changed by hand" in line_of(lambda: read_all(file))


def test_bytes_in_the_audit_are_a_fault(file):
    by_hand(file, "UPDATE audit SET who = x'ff', before = x'00' WHERE number = 3")
    ledger = Ledger.at(file)

    assert "audit: line 3 is not as it was written" in list(ledger.audit_faults())
    ledger.close()


def unable_to_write(place):
    """The line of a process that keeps to permissions."""
    command = [*UNABLE, sys.executable, SUPPORT.joinpath("ledgers_killed.py"), "write_once", place]
    ended = subprocess.run(command, capture_output=True, text=True, check=True)
    [line] = json.loads(ended.stdout)
    return line


@unable
def test_a_ledger_that_may_not_be_written_is_told(file):
    file.chmod(stat.S_IRUSR)

    assert unable_to_write(file) == (
        f"error {file}: may not be written; change its permissions, or those of its directory"
    )


@unable
def test_a_directory_that_may_not_be_written_is_told(tmp_path):
    (tmp_path / "shut").mkdir(mode=0o500)

    assert unable_to_write(tmp_path / "shut" / "ledger.db").endswith(
        "cannot be opened: it must be a file, in a directory that may be written"
    )


def test_whoever_waits_too_long_for_another_writer_is_told(place):
    first, second = Ledger.at(place), Ledger.at(place, patience=0.2)

    with first.writing("first", AT):
        told = line_of(lambda: second.writing("second", AT).__enter__())

    assert told.endswith("another process has been writing for too long; look which, and try again")
    with second.writing("second", AT) as work:
        work.add([decision()])
    first.close()
    second.close()


def test_readers_wait_for_no_writer(place):
    first, second = Ledger.at(place), Ledger.at(place, patience=0.2)

    with first.writing("first", AT) as work:
        work.add([decision()])
        assert second.find(Decision) == []

    first.close()
    second.close()


@pytest.mark.parametrize(
    "url",
    [
        f"postgresql://anna:{SECRET}@127.0.0.1:1/ledger",
        f"postgresql://anna@127.0.0.1:1/ledger?password={SECRET}",
        f"postgresql://anna:{SECRET}@127.0.0.1:port/ledger",
        f"postgresql://anna:{SECRET}@/ledger?host=/nowhere&nonsense=1",
        f"mysql://anna:{SECRET}@127.0.0.1/ledger",
        f"://anna:{SECRET}@127.0.0.1/ledger",
        f"oracle+nothing://anna:{SECRET}@127.0.0.1/ledger",
    ],
)
def test_a_password_is_never_shown(url):
    pytest.importorskip("psycopg", reason="psycopg is not installed: pip install 'gamewarden[postgres]'")

    assert SECRET not in line_of(lambda: Ledger.at(url))
    assert SECRET not in shown(url)


def test_a_password_that_a_server_refuses_is_not_shown(postgres):
    url = postgres.replace("gamewarden@", f"nobody_known:{SECRET}@")

    told = line_of(lambda: Ledger.at(url))

    assert "nobody_known" in told
    assert SECRET not in told


def test_a_password_that_a_driver_repeats_is_not_shown():
    pytest.importorskip("psycopg", reason="psycopg is not installed: pip install 'gamewarden[postgres]'")
    engine = engine_of(f"postgresql://anna:{SECRET}@127.0.0.1:1/ledger?password=another-{SECRET}")

    def fail():
        with in_a_line(engine, "ledger"):
            raise OperationalError("", None, RuntimeError(f"no {SECRET} and no another-{SECRET} here\nmore"))

    assert line_of(fail) == "ledger: no *** and no another-*** here"


def test_a_name_that_steers_a_terminal_is_shown_as_it_is_written(tmp_path):
    place = tmp_path / "a\x1b[2J"
    place.mkdir()

    assert "\x1b" not in line_of(lambda: Ledger.at(place))


def test_a_url_may_name_a_file(tmp_path):
    Ledger.at(f"sqlite:///{tmp_path}/ledger.db").close()

    assert (tmp_path / "ledger.db").is_file()


def test_a_file_called_like_memory_is_a_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    Ledger.at(":memory:").close()

    assert (tmp_path / ":memory:").is_file()
