"""A small workspace with a ledger, as people at the desk meet it: evidence on accounts, and a clock that stands."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import polars as pl

from gamewarden.cases import VERDICT, Observation, Suspicion
from gamewarden.core.durations import DAY, to_micros
from gamewarden.desk.desk import Desk
from gamewarden.store.verdict_days import Bundle
from gamewarden.tables import VERDICTS
from gamewarden.verdicts.rules import VerdictRules
from gamewarden.workspace.place import Workspace
from gamewarden.workspace.rest import Rest

NOON = datetime(2026, 11, 16, 12, tzinfo=UTC)
SETTINGS = """
[workspace]
labels = ""
"""
ARMED = """
[response]
armed = true
wave = "1s"
jitter = 0.0
actions_per_hour = 1000
[desk]
grace = "30s"
"""
REHEARSING = """
[desk]
grace = "30s"
"""

# What a day knows beside its verdicts.
FACTS = {
    "rules": VerdictRules().values(),
    "caveats": [],
    "fusion": None,
    "gamewarden": "0",
    "models": [],
    "recipes": {},
    "source": {},
}


@dataclass
class StandingDesk(Desk):
    """A desk whose clock is set by hand."""

    at: datetime = NOON

    def now(self) -> datetime:
        return self.at

    def later(self, **span) -> "StandingDesk":
        return StandingDesk(self.workspace, self.memory, at=self.at + timedelta(**span))


def make_desk(root, *, armed=False, more=""):
    """A desk over a workspace of which nothing was taken in yet."""
    root.mkdir(exist_ok=True)
    (root / "warden.toml").write_text(SETTINGS + (ARMED if armed else REHEARSING) + more)
    return StandingDesk(Workspace.at(root))


def observed(actor, number=1, **changed):
    """A verdict on an account that carries every rung, if nothing else is said."""
    since = NOON - timedelta(days=number)
    values = {
        "id": f"{actor}/{number}",
        "actor": actor,
        "at": since + timedelta(hours=20),
        "kind": VERDICT,
        "ref": f"v-{actor}-{number}",
        "llr": 6.9,
        "fpr": 0.0002,
        "agree": 3,
        "covered": 1.0,
        "since": since,
        "until": since + timedelta(hours=20),
    }
    return Observation(**values | changed)


def suspect(desk, *actors, **changed):
    """Let the ledger know something of accounts."""
    with desk.workspace.ledger.writing("test", NOON) as work:
        work.add([observed(actor, **changed) for actor in actors])
        work.put([Suspicion(actor, 4.0, 3, NOON, NOON, 1) for actor in actors])
    return desk


def judge(desk, days_ago, verdicts):
    """Seal a day on which accounts were judged: name -> probability, or (probability, point)."""
    since = (NOON - timedelta(days=days_ago)).replace(hour=0)
    rows = [_verdict(actor, told, since) for actor, told in verdicts.items()]
    frame = pl.DataFrame(rows, schema={**VERDICTS.columns, "point": pl.String, "verdict": pl.String})
    bundle = Bundle({"verdicts": frame}, FACTS)
    begin = to_micros(since)
    desk.workspace.verdicts.seal(
        f"day={since:%Y-%m-%d}",
        bundle,
        since=begin,
        until=begin + DAY,
        content="made up",
        rules="made up",
        kept=len(rows),
        at=NOON.isoformat(),
    )
    return desk


def _verdict(actor, told, since):
    probability, point = told if isinstance(told, tuple) else (told, None)
    said = {"probability": probability, "fpr": None if probability is None else 1 - probability, "point": point}
    return {"actor": actor, "since": since, "until": since + timedelta(days=1), "agree": 2, "streak": 1, **said}


def rest(desk, name, days_ago, rows):
    """Let a table of the desk rest about a day."""
    since = (NOON - timedelta(days=days_ago)).replace(hour=0)
    table = Rest(desk.workspace.results).desk(name)
    columns = table.schema.columns
    beside = {"since": since, "until": since + timedelta(days=1), "first": since, "last": since, "n": 1}
    full = [{**{key: value for key, value in beside.items() if key in columns}, **row} for row in rows]
    begin = to_micros(since)
    frame = pl.DataFrame(full, schema=dict(columns))
    table.put(f"day={since:%Y-%m-%d}", frame, came_from=f"{name} {rows}", since=begin, until=begin + DAY)
    return desk
