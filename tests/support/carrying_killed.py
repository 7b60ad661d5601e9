"""Carrying out, killed at every step and started again; run as a program, which says what each time came of it."""

import json
import os
import signal
import sys
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path

from sqlalchemy import event

from carrying_made_up import ARMED, LATER, Office, decided, lines_of, office
from games_made_up import Server
from gamewarden.cases import Action
from gamewarden.policy import AdapterSettings
from gamewarden.response.adapters import Ways, ways_of
from gamewarden.response.carrying import Carrier

PLACES = [
    *(f"{when} transaction {number}" for number in (1, 2, 3) for when in ("before", "within", "after")),
    *(f"{when} {what}" for what in ("look", "carry") for when in ("before", "after")),
]
STATEMENTS = [f"after statement {number}" for number in range(1, 31)]  # more than any action needs
GAMES = {"rathena": "rathena", "azerothcore": "azerothcore", "soap": "azerothcore", "eqemu": "eqemu"}


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


@dataclass
class Fate:
    """Where this process ends."""

    place: str
    transactions: int = 0
    statements: int = 0

    def executed(self, *_what) -> None:
        self.statements += 1
        self.comes(f"after statement {self.statements}")

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
    for one in desk.ways.adapters.values():
        if hasattr(one, "database"):
            event.listen(one.database.engine, "after_cursor_execute", fate.executed)
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
    if kind in GAMES:
        url = os.environ["SOAP"] if kind == "soap" else ""
        return AdapterSettings(kind, GAMES[kind], url=url, secret_from="SOAP_LOGIN", timeout="20s")  # noqa: S106
    if kind == "command":
        program = str(Path(__file__).with_name("command_kept.sh"))
        each = (program, str(root / "calls"), "{verb}", "{key}")
        return AdapterSettings(kind, kind, command=each, undo=each)
    return AdapterSettings(kind, kind)


def effects_of(root: Path, kind: str) -> int | None:
    """How much was done where it is counted."""
    if kind in GAMES:
        return game_of(kind).changes()
    if kind == "command":
        path = root / "calls"
        return len(path.read_text().splitlines()) if path.exists() else 0
    return len(lines_of(root / "actions.jsonl"))


def game_of(kind: str) -> Server:
    return Server(os.environ["GAMEWARDEN_GAME_DB"], GAMES[kind])


def told_by(kind: str) -> list:
    """What the poller is asked, and what the panel says."""
    if kind != "rathena":
        return []
    rows = game_of(kind).run("SELECT step, outcome FROM gw_actions ORDER BY id")
    return [*map(list, rows), *(row[0] for row in game_of(kind).run("SELECT ban_type FROM cp_banlog ORDER BY id"))]


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
    actor = f"{root.name} {verb}"
    if kind in GAMES:
        game = game_of(kind)
        game.begin()
        actor = str(game.kind.ann)
    decision = decided(actor, "ban", by="eve", approved_by="bob", until=None)
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
        "state": action.state, "key": action.id, "effects": effects, "faults": faults, "told": told_by(kind),
    }  # fmt: skip


def main() -> None:
    kind, verb, root, *ledger = sys.argv[1:]
    for number, place in enumerate(STATEMENTS if "STATEMENTS" in os.environ else PLACES):
        came = one(Path(root) / f"{number:02}", kind, verb, place, ledger[0] if ledger else None)
        sys.stdout.write(json.dumps(came) + "\n")
        sys.stdout.flush()
        if place in STATEMENTS and not came["killed"]:
            break


if __name__ == "__main__":
    main()
