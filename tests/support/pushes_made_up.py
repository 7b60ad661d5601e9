"""Batches of events as a game server pushes them, and a workspace without any other source; all of it synthetic."""

import json
from datetime import UTC, datetime, timedelta

from gamewarden.store.lake import Lake
from gamewarden.workspace.place import Workspace
from gamewarden.workspace.running import Run

START = datetime(2025, 3, 1, 12, tzinfo=UTC)
LATER = START + timedelta(days=3)
KINDS = ("combat.kill", "loot.pickup", "move", "trade.give")


def make_workspace(root, settings=""):
    """A workspace that knows no source."""
    root.mkdir(parents=True, exist_ok=True)
    (root / "warden.toml").write_text("[workspace]\n" + settings)
    return Workspace.at(root)


def event(number, **more):
    """One event; `number` is in its session, so that each can be told from all others."""
    at = START + timedelta(seconds=number % 90_000)
    told = {
        "actor": f"player{number % 7}",
        "at": at.isoformat().replace("+00:00", "Z"),
        "kind": KINDS[number % 4],
        "zone": "plains",
        "x": number % 300 + 0.5,
        "y": 7,
        "level": number % 60,
        "session": f"s{number}",
    }
    return {**told, **more}


def packet(number, **more):
    """One packet."""
    at = START + timedelta(seconds=number)
    told = {"actor": f"player{number % 7}", "at": at.timestamp(), "up": number % 2 == 0, "size": 40 + number % 90}
    return {**told, **more}


def lines(rows):
    """NDJSON."""
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


def events(first, count):
    """So many events as NDJSON."""
    return lines(event(number) for number in range(first, first + count))


def in_lake(workspace):
    """The sessions of all events of the lake, which name them."""
    if not Lake.is_at(workspace.lake):
        return []
    batches = Lake(workspace.lake).events().batches(("session",))
    return [name for batch in batches for name in batch.column("session").to_pylist()]


def run_all(workspace, at=LATER):
    """One run; what each step said."""
    said = {}
    run = Run(workspace, at, lambda step: said.update({f"{step.step} {step.what}".strip(): step}))
    assert run.run() == 0, [step.says for step in said.values() if step.failed]
    return {name: step.says for name, step in said.items()}
