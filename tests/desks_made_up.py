"""A small workspace with a ledger, as people at the desk meet it: evidence on accounts, and a clock that stands."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from gamewarden.cases import VERDICT, Observation, Suspicion
from gamewarden.desk.desk import Desk
from gamewarden.workspace.place import Workspace

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
