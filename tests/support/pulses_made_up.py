"""A script that acts by the clock, and a hand that does not."""

from datetime import UTC, datetime, timedelta
from itertools import chain

import numpy as np
import polars as pl

from gamewarden.tables import FrameEvents

START = datetime(2026, 3, 2, 8, tzinfo=UTC)

KINDS = ("chat", "combat.kill", "craft.sword", "exp.gain", "item.craft", "loot.pickup", "move", "npc.talk", "ui.map")


def rounds(kinds, seconds, jitter, minutes, seed, aside=0.0):  # noqa: PLR0917 - a whole round
    """(seconds since the start, kind) of somebody who does the same round again and again, more or less evenly."""
    draw, at, told = np.random.default_rng(seed), 0.0, []
    while at < 60 * minutes:
        at += seconds * float(np.exp(jitter * draw.standard_normal()))
        told += [(at + 0.2 * place, kind) for place, kind in enumerate(kinds)]
        if draw.random() < aside:
            at += float(draw.uniform(3, 20))
            told.append((at, draw.choice(["chat", "ui.map", "npc.talk", "move"])))
    return told


def script(minutes, seed=1):
    return rounds(("combat.kill", "exp.gain"), 17, 0.08, minutes, seed)


def hand(minutes, seed=2):
    return rounds(("combat.kill", "exp.gain"), 18, 0.45, minutes, seed, aside=0.15)


def day(*parts):
    """What somebody does, one part after the other, each (minutes, its events)."""
    begun = np.cumsum([0, *(minutes for minutes, _ in parts)])
    moved = (
        [(at + 60 * float(begin), kind) for at, kind in part] for begin, (_, part) in zip(begun, parts, strict=False)
    )
    return [(START + timedelta(seconds=at), str(kind)) for at, kind in chain.from_iterable(moved)]


def log(**actors):
    rows = sorted((at, actor, kind) for actor, events in actors.items() for at, kind in events)
    schema = {"at": pl.Datetime("us", "UTC"), "actor": pl.String, "kind": pl.String}
    return FrameEvents(pl.DataFrame(rows, schema=schema, orient="row"))
