"""Whatever process dies, what the ledger acknowledged is there, whole, and nobody waits for the dead."""

import json
import sqlite3
import subprocess
import sys
import time
from contextlib import closing

import pytest

from gamewarden.cases import DONE, Action, Decision
from gamewarden.store.ledger.ledger import Ledger
from ledgers_killed import transaction
from ledgers_made_up import AT, decision
from paths import SUPPORT
from postgres_server import served

pytestmark = pytest.mark.integration

KILLED = SUPPORT.joinpath("ledgers_killed.py")
KILLS = 25


def start(mode, *words):
    command = [sys.executable, KILLED, mode, *map(str, words)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def end(process):
    out, err = process.communicate()
    assert process.returncode == 0, err
    return json.loads(out)


def call(mode, *words):
    return end(start(mode, *words))


def ids(ledger):
    return {one.id.removeprefix("d") for one in ledger.find(Decision)}


def assert_whole(ledger):
    """Every transaction is there with all its parts, and the audit holds."""
    done = ledger.find(Action, state=DONE)
    assert {one.id.removeprefix("a") for one in done} == ids(ledger)
    assert len(done) == len(ledger.find(Action)) == int(ledger.fact("counter") or 0)
    assert list(ledger.audit_faults()) == []
    assert ledger.head.number == 3 * len(done)


def test_writers_that_are_killed_again_and_again_lose_nothing_acknowledged(place):
    Ledger.at(place).close()

    acknowledged = call("kill_often", place, KILLS, 5)

    ledger = Ledger.at(place, patience=20)
    assert len(acknowledged) > KILLS  # they did write
    assert set(acknowledged) <= ids(ledger)
    assert len(ids(ledger)) - len(acknowledged) <= KILLS  # at most one each was over before it was said
    assert_whole(ledger)
    transaction(ledger, "afterwards")
    assert_whole(ledger)
    ledger.close()


def test_a_server_that_is_killed_loses_nothing_acknowledged():
    with served() as server:
        place, acknowledged = server.new_database(), []
        Ledger.at(place).close()
        for kill in range(3):
            writer = start("write_until_it_fails", place, f"s{kill}")
            ledger = Ledger.at(place)
            while not any(one.startswith(f"s{kill}-1") for one in ids(ledger)):
                time.sleep(0.01)
            server.kill()
            *said, failed = end(writer)
            ledger.close()
            server.start()
            acknowledged += said

            assert failed.startswith("error postgresql://gamewarden@/")
        ledger = Ledger.at(place)
        assert len(acknowledged) > 3
        assert set(acknowledged) <= ids(ledger)
        assert_whole(ledger)
        ledger.close()


def test_a_ledger_goes_on_after_its_server_was_started_again():
    with served() as server:
        ledger = Ledger.at(server.new_database())
        transaction(ledger, "before")
        server.kill()
        server.start()

        transaction(ledger, "after")

        assert ids(ledger) == {"before", "after"}
        ledger.close()


def test_processes_that_write_at_once_lose_nothing(place):
    acknowledged = call("write_at_once", place, 3, 40)

    ledger = Ledger.at(place)
    assert sorted(acknowledged) == sorted(ids(ledger))
    assert len(acknowledged) == 120
    assert_whole(ledger)
    ledger.close()


def test_processes_may_make_the_same_ledger_at_once(place):
    assert call("open_at_once", place, 4) == ["0 "] * 4


def test_a_process_killed_within_a_transaction_leaves_neither_a_lock_nor_a_half(place):
    assert call("die_holding", place) == ["dnext"]


def test_a_ledger_may_be_used_on_both_sides_of_a_fork(place):
    told = call("fork_while_open", place)

    assert told == ["left", "3", "dafter", "dbefore", "dchild", "dwithin"]
    ledger = Ledger.at(place)
    assert list(ledger.audit_faults()) == []
    ledger.close()


def test_the_name_of_a_new_ledger_reaches_the_disk(tmp_path):
    assert str(tmp_path / "new") in call("opened_directories", tmp_path / "new" / "ledger.db")


def test_a_file_is_written_ahead_and_synced_before_a_transaction_is_over(tmp_path):
    ledger = Ledger.at(tmp_path / "ledger.db")

    with ledger.engine.connect() as connection:
        pragmas = {
            name: connection.exec_driver_sql(f"PRAGMA {name}").scalar()
            for name in ("journal_mode", "synchronous", "secure_delete")
        }

    assert pragmas == {"journal_mode": "wal", "synchronous": 2, "secure_delete": 1}
    ledger.close()


@pytest.mark.parametrize("setting", ["off", "local"])
def test_a_server_that_would_acknowledge_too_early_does_not_for_a_ledger(postgres_server, postgres, setting):
    name = postgres.partition("?")[0].rpartition("/")[2]
    postgres_server.execute(f"ALTER DATABASE {name} SET synchronous_commit = {setting}")
    ledger = Ledger.at(postgres)

    with ledger.engine.connect() as connection:
        found = connection.exec_driver_sql("SHOW synchronous_commit").scalar()

    assert found == ("on" if setting == "off" else setting)
    ledger.close()


def test_a_copy_made_while_somebody_writes_is_whole(tmp_path):
    ledger = Ledger.at(tmp_path / "ledger.db")
    transaction(ledger, "before")
    with ledger.writing("writer", AT) as work, closing(sqlite3.connect(tmp_path / "ledger.db")) as connection:
        work.add([decision("meanwhile")])
        connection.execute("VACUUM INTO ?", (str(tmp_path / "copy.db"),))
    ledger.close()

    copy = Ledger.at(tmp_path / "copy.db")
    assert ids(copy) == {"before"}
    assert_whole(copy)
    copy.close()
