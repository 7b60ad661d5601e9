"""Several processes that carry out at the same time do nothing twice."""

import subprocess
import sys
from collections import Counter

import pytest

from carrying_killed import desk_at, effects_of
from carrying_made_up import LATER, decided
from gamewarden.cases import Action
from gamewarden.response.holders import is_gone, me
from paths import SUPPORT

pytestmark = pytest.mark.integration

SCRIPT = SUPPORT.joinpath("carrying_beside.py")
DECISIONS = 12


def started(root, kind, ledger):
    command = [sys.executable, str(SCRIPT), str(root), kind, *([ledger] if ledger else [])]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


@pytest.mark.parametrize(("kind", "database"), [("log", "sqlite"), ("command", "sqlite"), ("command", "postgres")])
def test_three_at_once_carry_each_action_out_once(tmp_path, request, kind, database):
    ledger = request.getfixturevalue("postgres") if database == "postgres" else None
    desk = desk_at(tmp_path, kind, ledger)
    desk.decide(*(decided(f"a{number}") for number in range(DECISIONS)))
    processes = [started(tmp_path, kind, ledger) for _ in range(3)]
    for one in processes:
        assert one.stdout.readline() == "ready\n"
    for one in processes:
        one.stdin.write("go\n")
        one.stdin.flush()
    said = [one.communicate()[0] for one in processes]
    states = Counter(one.state for one in desk.ledger.find(Action))
    faults = list(desk.ledger.audit_faults())
    desk.ledger.close()

    assert [one.returncode for one in processes] == [0, 0, 0]
    assert effects_of(tmp_path, kind) == DECISIONS
    assert states == {"done": DECISIONS}
    assert sum(map(int, said)) == DECISIONS
    assert faults == []


def test_what_another_process_took_over_because_we_were_slow_is_written_down_once(tmp_path):
    desk = desk_at(tmp_path, "log", None)
    desk.decide(decided())
    adapter = desk.ways.adapters["log"]

    class Slow:
        """An adapter during whose work another process decides that we are dead."""

        name, steps, sure, slot, look = adapter.name, adapter.steps, True, adapter.slot, adapter.look

        def carry(self, action):
            desk.ways.adapters["log"] = adapter
            late = desk.carry(LATER.replace(hour=23))
            assert [one.state for one in late.actions] == ["done"]
            return adapter.carry(action)

    desk.ways.adapters["log"] = Slow()
    carried = desk.carry(LATER)
    (action,) = desk.ledger.find(Action)
    desk.ledger.close()

    assert carried.actions == []
    assert action.state == "done"
    assert effects_of(tmp_path, "log") == 1


def test_a_process_is_known_to_be_gone_once_it_has_ended_and_not_before():
    code = "import sys\nfrom gamewarden.response.holders import me\nprint(me(), flush=True)\nsys.stdin.read()"
    with subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as other:
        name = other.stdout.readline().strip()
        assert not is_gone(name)
        assert name != me()
        other.stdin.close()
    assert is_gone(name)


@pytest.mark.parametrize("name", ["", "x", "/1/2", "elsewhere/pid:[1]/1/2", "a/b/c/d/e"])
def test_of_a_process_elsewhere_nobody_says_that_it_is_gone(name):
    assert not is_gone(name)
