"""Records of a made-up case: what a ladder saw, what it decided, and what was carried out."""

from datetime import UTC, datetime, timedelta

from gamewarden.cases import DO, DONE, LADDER, VERDICT, Action, Appeal, Decision, Observation
from gamewarden.policy import LIMIT
from gamewarden.store.ledger.schema import TABLES

NOW = datetime(2026, 3, 20, 12, tzinfo=UTC)
DAY = timedelta(days=1)


def observation(number=1, actor="kim", **given):
    """A day's verdict that says bot."""
    until = NOW - (9 - number) * DAY
    usual = {
        "id": f"seen{number}-{actor}",
        "actor": actor,
        "at": until,
        "kind": VERDICT,
        "ref": f"verdict@{number:024x}",
        "llr": 6.125,
        "fpr": 0.00071,
        "agree": 2,
        "since": until - DAY,
        "until": until,
    }
    return Observation(**{**usual, **given})


def decision(actor="kim", **given):
    """What the ladder decided."""
    usual = {
        "id": f"decided-{actor}",
        "actor": actor,
        "at": NOW - 3 * DAY,
        "step": LIMIT,
        "rung": 2,
        "until": NOW + 4 * DAY,
        "because": ("suspicion 3.4172 is above 1", "2 families agree, false-positive rate 0.00071"),
        "evidence": (f"seen1-{actor}", f"seen2-{actor}"),
        "ladder": "0123456789ab",
        "by": LADDER,
        "rehearsal": False,
    }
    return Decision(**{**usual, **given})


def action(made=None, **given):
    """How it reached the game."""
    made = made or decision()
    usual = {
        "id": f"did-{made.id}",
        "decision": made.id,
        "actor": made.actor,
        "verb": DO,
        "step": made.step,
        "adapter": "log",
        "state": DONE,
        "due": made.at,
        "until": made.until,
        "attempts": 1,
        "before": {"there": {"rate": 1}, "place": 1, "over": []},
        "receipt": {"line": 7},
        "changed": made.at,
    }
    return Action(**{**usual, **given})


def appeal(actor="kim", **given):
    """What the player says."""
    usual = {
        "id": f"appealed-{actor}",
        "actor": actor,
        "decision": f"decided-{actor}",
        "opened": NOW - DAY,
        "opened_by": actor,
        "text": "I was at home with a broken leg, and played.",
    }
    return Appeal(**{**usual, **given})


def dump(workspace):
    """All that the ledger holds."""
    return {table.name: workspace.ledger.find(kind) for kind, table in TABLES.items()}
