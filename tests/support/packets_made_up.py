"""Small synthetic packet logs that several tests share."""

import numpy as np
import polars as pl

SECOND = 1_000_000
START = 1_700_000_000 * SECOND


def packet_frame(packets):
    """PACKETS of (actor, at in µs, up, size)."""
    schema = {"actor": pl.String, "at": pl.Int64, "up": pl.Boolean, "size": pl.Int32}
    frame = pl.DataFrame(packets, schema=schema, orient="row")
    return frame.with_columns(pl.col("at").cast(pl.Datetime("us", "UTC")))


def client(sizes, gaps=None, actor="p", start=START):
    """PACKETS of one client: a packet a size; `gaps` in seconds stand before the second packet and the following."""
    gaps = [1.0] * (len(sizes) - 1) if gaps is None else [*gaps, *[1.0] * (len(sizes) - 1 - len(gaps))]
    times = start + np.concatenate([[0], np.cumsum(np.round(np.array(gaps) * SECOND).astype(np.int64))])
    return packet_frame([(actor, int(at), True, size) for at, size in zip(times, sizes, strict=True)])


def mixture(players=7, packets=3000, seed=1):
    """PACKETS of several players, with long gaps, logouts, clocks that step back and replies."""
    draw = np.random.default_rng(seed)
    clock = np.full(players, START, np.int64)
    rows = []
    for _ in range(packets):
        player = int(draw.integers(players))
        step = draw.choice(
            [0, 0.2, 1.0, 2.0, 2.5, 7.0, 601.0, -3.0], p=[0.05, 0.6, 0.15, 0.05, 0.08, 0.05, 0.002, 0.018]
        )
        clock[player] += int(step * SECOND) + int(draw.integers(0, 3))
        size = 30 if player == 0 else int(draw.choice([0, 20, 34, 50, 51, 59, 60, 700]))
        rows.append((f"player {player} é", int(clock[player]), bool(draw.random() < 0.85), size))
    return packet_frame(rows)
