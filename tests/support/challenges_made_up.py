"""Chance that comes again, decisions that were carried out, and a process that answers a challenge."""

import sys
from datetime import UTC, datetime, timedelta
from random import Random

from gamewarden.cases import DO, DONE, Action, Decision
from gamewarden.config import Config
from gamewarden.response.challenges.answering import Answer
from gamewarden.response.challenges.question import Game
from gamewarden.store.ledger.ledger import Ledger
from gamewarden.workspace.challenging import Challenging


def seeded(seed):
    """Randomness that is the same for a seed."""
    return Random(seed)  # noqa: S311  nobody is asked


def decided(ledger, actor, at, *, state=DONE, rehearsal=False, until=None, undone_at=None, waits_for=None):
    """Write down that an actor is to be asked, and how far that got."""
    name = f"decision of {actor}"
    one = Decision(
        name,
        actor,
        at,
        "challenge",
        3,
        until or at + timedelta(days=7),
        ("because",),
        (),
        "a ladder",
        "ladder",
        rehearsal,
        waits_for=waits_for,
        undone_at=undone_at,
    )
    with ledger.writing("ladder", at) as work:
        work.add([one])
        work.add([Action(f"action of {actor}", name, actor, DO, "challenge", "log", state, at)])
    return one


def main(place, *words):
    """Say when ready; once told to, answer challenges (id, actor and text of each) and print what came of them."""
    desk = Challenging(Ledger.at(place), Config(), Game())
    print("ready", flush=True)  # noqa: T201  whoever started it reads it
    sys.stdin.readline()
    for number in range(0, len(words), 3):
        name, actor, text = words[number : number + 3]
        reply = desk.answer(name, Answer(actor, "s1", text), datetime(2026, 3, 1, 12, 1, tzinfo=UTC))
        print(reply.outcome)  # noqa: T201  as above


if __name__ == "__main__":
    main(*sys.argv[1:])
