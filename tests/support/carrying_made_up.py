"""A ledger with decisions to carry out, and an adapter that keeps the game in a file."""

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from gamewarden.cases import Action, Decision
from gamewarden.policy import AdapterSettings, Response
from gamewarden.response.actions import actions_of
from gamewarden.response.adapters import CARRIED, NOW, Adapter, GameState, Ways, ways_of
from gamewarden.response.carrying import Carried, Carrier
from gamewarden.store.ledger.ledger import Ledger
from gamewarden.workspace.carrying_book import LedgerBook

NOON = datetime(2026, 11, 16, 12, tzinfo=UTC)
LATER = NOON + timedelta(hours=3)  # beyond the wave of what was decided at noon
ARMED = Response(armed=True, actions_per_hour=1_000)


def decided(actor: str = "ann", step: str = "limit", by: str = "ladder", **values: Any) -> Decision:
    values = {"at": NOON, "until": NOON + timedelta(days=7), "rehearsal": False, **values}
    key = f"{actor}/{step}/{by}/{values['at'].isoformat()}"
    return Decision(
        id=key, actor=actor, step=step, rung=2, because=("it plays all day",), evidence=("o1",), ladder="l1", by=by,
        **values,
    )  # fmt: skip


@dataclass
class Game:
    """An adapter over a game in memory: one value per account and thing, seen, set and put back."""

    name: str = "game"
    steps: tuple[str, ...] = CARRIED
    sure: bool = True
    values: dict[tuple[str, str], Any] = field(default_factory=dict)
    effects: list[tuple[str, str]] = field(default_factory=list)  # verb and actor
    known: set[str] = field(default_factory=set)
    fails: list[Exception] = field(default_factory=list)

    def slot(self, step: str) -> str:
        return "state" if step in {"hold", "ban"} else step

    def look(self, action: Action) -> Mapping[str, Any]:
        return {"value": self.values.get((action.actor, self.slot(action.step)))}

    def state(self, action: Action) -> GameState:
        present = self.values.get((action.actor, self.slot(action.step)))
        own = present == f"{action.step} until {action.until}"
        return GameState(f"{action.actor}: {present}", own, own, {"value": None})

    def own_keys(self) -> Mapping[str, str]:
        return {}

    def carry(self, action: Action) -> Mapping[str, Any]:
        if self.fails:
            raise self.fails.pop(0)
        if action.id not in self.known:
            self.known.add(action.id)
            self.effects.append((action.verb, action.actor))
            ours = f"{action.step} until {action.until}"
            new = ours if action.verb == "do" else action.before["value"]
            self.values[action.actor, self.slot(action.step)] = new
        return {NOW: dict(self.look(action))}


def ways(*adapters: Adapter, attempts: int = 3) -> Ways:
    names = {one.name: one for one in adapters}
    return Ways(names, attempts=dict.fromkeys(names, attempts))


def log_ways(root: Path) -> Ways:
    return ways_of([AdapterSettings("log", "log", attempts=3)], root)


def lines_of(path: Path) -> list[dict[str, Any]]:
    with suppress(FileNotFoundError):
        return [json.loads(line) for line in path.read_text().splitlines()]
    return []


@dataclass
class Office:
    """A ledger, the ways out and the settings together."""

    ledger: Ledger
    ways: Ways
    settings: Response = ARMED

    @property
    def book(self) -> LedgerBook:
        return LedgerBook(self.ledger)

    def decide(self, *decisions: Decision, at: datetime = NOON) -> list[Action]:
        secret = self.book.secret(at, "test")
        actions = [one for each in decisions for one in actions_of(each, self.ways, self.settings, secret)]
        with self.ledger.writing("test", at) as work:
            work.add(list(decisions))
            work.add(actions)
        return actions

    def undo(self, decision: Decision, who: str = "eve", at: datetime = LATER) -> None:
        with self.ledger.writing(who, at) as work:
            (found,) = work.find(Decision, id=decision.id)
            work.change(found, replace(found, undone_at=at, undone_by=who, undone_because="it was wrong"))

    def carry(self, now: datetime = LATER) -> Carried:
        return Carrier(self.settings, self.ways, self.book).carry(now)

    def states(self) -> dict[str, str]:
        return {f"{one.verb} {one.decision}": one.state for one in self.ledger.find(Action)}

    def only(self) -> Action:
        (action,) = self.ledger.find(Action)
        return action


def office(tmp_path: Path, ways: Ways | None = None, settings: Response = ARMED, ledger: str | None = None) -> Office:
    path = tmp_path / "ledger.db"
    if ledger is None and not path.exists():
        path.write_bytes(_empty_ledger())
    return Office(Ledger.at(ledger or path), ways or log_ways(tmp_path), settings)


@cache
def _empty_ledger() -> bytes:
    """A ledger with nothing in it: made once, since migrating takes longer than most tests."""
    with TemporaryDirectory() as directory:
        path = Path(directory) / "ledger.db"
        Ledger.at(path).close()
        return path.read_bytes()
