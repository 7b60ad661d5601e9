"""Small synthetic tables of decoded client messages that several tests share."""

import numpy as np
import polars as pl

from gamewarden.tables import MESSAGES, TIME

SECOND = 1_000_000
START = 1_700_000_000 * SECOND
FUNCTIONS = ["walktoxy", "takeitem", "actionrequest", "changedir", "loadendack", "ticksend", None]


def message_frame(rows):
    """MESSAGES of (session, actor, at in µs or None, function, x, y, action); a session is alone in its stream."""
    schema = {
        "session": pl.Int64,
        "actor": pl.String,
        "at": pl.Int64,
        "function": pl.String,
        "x": pl.Int16,
        "y": pl.Int16,
        "action": pl.UInt8,
    }
    frame = pl.DataFrame(rows, schema=schema, orient="row")
    return frame.with_columns(
        pl.col("at").cast(TIME), stream=pl.col("session").cast(pl.Int32), character=pl.col("actor") + "c"
    ).select(*(name for name in MESSAGES.columns if name in [*schema, "stream", "character"]))


def play(session, actor, draw, messages, *, idle=0.0, start=START):
    """One session: a walk with turns, fights, loot and portals; `idle` is the share of time spent sitting."""
    at, x, y = start, 150, 200
    rows = [(session, actor, at, "wanttoconnection", None, None, None)]
    for _ in range(messages):
        at += int(draw.choice([0, 1, 200, 500, 2_000, 7_000, 9_000], p=[0.02, 0.08, 0.5, 0.2, 0.1, 0.02, 0.08]) * 1000)
        name = (
            "ticksend"
            if draw.random() < idle
            else str(draw.choice(FUNCTIONS[:-1], p=[0.6, 0.1, 0.15, 0.1, 0.01, 0.04]))
        )
        x, y = (int(np.clip(v + draw.integers(-8, 9), 0, 1023)) for v in (x, y))
        action = int(draw.choice([0, 7, 2, 3])) if name == "actionrequest" else None
        rows.append((session, actor, at, name, *((x, y) if name == "walktoxy" else (None, None)), action))
    return rows


def mixture(actors=12, seed=5):
    """MESSAGES of several actors, two sessions each, some short, some spent sitting, interleaved in time."""
    draw = np.random.default_rng(seed)
    parts = []
    for actor in range(actors):
        for turn in range(2):
            number = 2 * actor + turn
            parts += play(
                number,
                f"{2_000_000 + actor}",
                draw,
                int(draw.integers(20, 900)),
                idle=0.95 * (actor % 3 == 0),
                start=START + number * 7 * SECOND,
            )
    return message_frame(parts).sort("at", maintain_order=True)
