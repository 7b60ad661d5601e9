"""Small logs for lakes that are compacted."""

import numpy as np
import polars as pl

from gamewarden.tables import EVENTS

KINDS = ("combat.kill", "move", "trade.give", "chat", "session.login", "session.logout")

HEAD = "actor,at,kind,level,amount,zone,ip,session,seq\n"


def log_of(seed, rows=400, days=3, first_seq=0):
    """Events of a few players over some days, in the order of time."""
    draw = np.random.default_rng(seed)
    at = np.sort(draw.integers(0, days * 86400, rows))
    lines = [
        f"p{draw.integers(9)}é,{moment},{draw.choice(KINDS)},{draw.integers(1, 60) if draw.random() < 0.7 else ''},"
        f"{draw.random():.3f},{draw.choice(['Dion', ''])},10.0.0.{draw.integers(4)},s{draw.integers(3)},"
        f"{first_seq + place}\n"
        for place, moment in enumerate(at)
    ]
    return HEAD + "".join(lines)


def frame(events, columns=tuple(EVENTS.columns)):
    parts = [pl.DataFrame(pl.from_arrow(batch)) for batch in events.batches(list(columns))]
    return pl.concat(part.with_columns(pl.col(pl.Categorical).cast(pl.String)) for part in parts)
