"""Carrying out, killed at every step and started again; run as a program, which says what each time came of it."""

import json
import os
import signal
import sys
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path

from carrying_made_up import ARMED, LATER, Office, decided, lines_of, office
from gamewarden.cases import Action
from gamewarden.policy import AdapterSettings
from gamewarden.response.adapters import Ways, ways_of
from gamewarden.response.carrying import Carrier
from rathena_made_up import Server

PLACES = [
    *(f"{when} transaction {number}" for number in (1, 2, 3) for when in ("before", "within", "after")),
    *(f"{when} {what}" for what in ("look", "carry") for when in ("before", "after")),
]


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


@dataclass
class Fate:
    """Where this process ends."""

    place: str
    transactions: int = 0

    def comes(self, here: str) -> None:
        if here == self.place:
            die()


class DoomedBook:
    """The book of a process that is killed at a transaction."""

    def __init__(self, book, fate):
        self._book, self._fate = book, fate
        self.due, self.standing = book.due, book.standing

    @contextmanager
    def turning(self, now, who):
        self._fate.transactions += 1
        number = self._fate.transactions
        self._fate.comes(f"before transaction {number}")
        with self._book.turning(now, who) as page:
            yield page
            self._fate.comes(f"within transaction {number}")
        self._fate.comes(f"after transaction {number}")


class DoomedAdapter:
    """The adapter of a process that is killed beside its work."""

    def __init__(self, adapter, fate):
        self._adapter, self._fate = adapter, fate
        self.name, self.steps, self.sure, self.slot = adapter.name, adapter.steps, adapter.sure, adapter.slot

    def look(self, action):
        return self._beside("look", action)

    def carry(self, action):
        return self._beside("carry", action)

    def _beside(self, what, action):
        self._fate.comes(f"before {what}")
        done = getattr(self._adapter, what)(action)
        self._fate.comes(f"after {what}")
        return done


def doomed_carry(root: Path, place: str, kind: str, ledger: str | None) -> None:
    desk, fate = desk_at(root, kind, ledger), Fate(place)
    adapters = {name: DoomedAdapter(one, fate) for name, one in desk.ways.adapters.items()}
    ways = Ways(adapters, attempts=desk.ways.attempts)
    Carrier(desk.settings, ways, DoomedBook(desk.book, fate)).carry(LATER)


def desk_at(root: Path, kind: str, ledger: str | None) -> Office:
    """A desk with one adapter; unless it says otherwise its ledger is a file."""
    settings = replace(ARMED, overturned_most=1.0)  # all are taken back here
    return office(root, ways_of([settings_of(root, kind)], root), settings, ledger)


def settings_of(root: Path, kind: str) -> AdapterSettings:
    if kind == "webhook":
        return AdapterSettings(kind, kind, url=os.environ["HOOK"], allow_private=True, timeout="20s")
    if kind == "rathena":
        os.environ["GAMEWARDEN_GAME_DB"] = f"sqlite:///{root / 'game.db'}"
        return AdapterSettings(kind, kind, account="userid")
    if kind == "command":
        program = str(Path(__file__).with_name("command_kept.sh"))
        each = (program, str(root / "calls"), "{verb}", "{key}")
        return AdapterSettings(kind, kind, command=each, undo=each)
    return AdapterSettings(kind, kind)


def effects_of(root: Path, kind: str) -> int | None:
    """How much was done where it is counted."""
    if kind == "rathena":
        return Server(f"sqlite:///{root / 'game.db'}").changes()
    if kind == "command":
        path = root / "calls"
        return len(path.read_text().splitlines()) if path.exists() else 0
    return len(lines_of(root / "actions.jsonl"))


def in_a_child(work, *values) -> int:
    """How a child ended that did this work."""
    child = os.fork()
    if child == 0:
        try:
            work(*values)
        except BaseException as error:  # noqa: BLE001  a child says what went wrong and is over
            os.write(2, repr(error).encode())
            os._exit(1)
        os._exit(0)
    return os.waitpid(child, 0)[1]


def one(root: Path, kind: str, verb: str, place: str, ledger: str | None) -> dict:
    """Killed there, started again: what came of it."""
    root.mkdir()
    actor = "ann" if kind == "rathena" else f"{root.name} {verb}"
    decision = decided(actor, "ban", by="eve", approved_by="bob", until=None)
    if kind == "rathena":
        Server.new(f"sqlite:///{root / 'game.db'}").engine.dispose()
    desk = desk_at(root, kind, ledger)
    desk.decide(decision)
    if verb == "undo":
        desk.carry(LATER - timedelta(minutes=30))
        desk.undo(decision, at=LATER)
    before = effects_of(root, kind)
    desk.ledger.close()
    status = in_a_child(doomed_carry, root, place, kind, ledger)
    desk = desk_at(root, kind, ledger)
    for hours in (1, 2):
        desk.carry(LATER + timedelta(hours=hours))
    (action,) = desk.ledger.find(Action, verb=verb, actor=actor)
    faults = list(desk.ledger.audit_faults())
    desk.ledger.close()
    effects = effects_of(root, kind) - before
    killed = os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL
    return {
        "place": place, "killed": killed, "ended": os.WIFEXITED(status) and os.WEXITSTATUS(status) == 0,
        "state": action.state, "key": action.id, "effects": effects, "faults": faults,
    }  # fmt: skip


def main() -> None:
    kind, verb, root, *ledger = sys.argv[1:]
    for number, place in enumerate(PLACES):
        came = one(Path(root) / f"{number:02}", kind, verb, place, ledger[0] if ledger else None)
        sys.stdout.write(json.dumps(came) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
