"""Synthetic traces shaped like the paper's eight: two bot programs in two places, four humans, for tests."""

import numpy as np
import polars as pl

from packets_made_up import SECOND, START, packet_frame

BOTS, HUMANS = ("M1", "M2", "G1", "G2"), ("SS1", "S1", "SC1", "X1")


def trace(name, hours, draw):
    """PACKETS of one trace; a bot's lengths alternate and are short, a human's go together and have long ones."""
    bot = name in BOTS
    own = draw.uniform(0.8, 1.2)
    packets = int(hours * 3600 / 0.4)
    gaps = draw.exponential(0.35 * own, packets)
    pause = draw.random(packets) < (0.004 if bot else 0.012) * own
    gaps[pause] += draw.choice([2.5, 8.0], pause.sum(), p=[0.3, 0.7] if bot else [0.9, 0.1])
    lengths, x = np.empty(packets), 0.0
    for at in range(packets):
        x = (-0.35 if bot else 0.45) * own * x + draw.normal()
        lengths[at] = x
    sizes = np.clip(34 + (5.5 if bot else 6.5) * lengths * own, 6, 250).astype(int)
    sizes[draw.random(packets) < (0.004 if bot else 0.02)] += 30
    at = START + np.cumsum(gaps * SECOND).astype(np.int64)
    return packet_frame([(name, int(t), True, int(size)) for t, size in zip(at, sizes, strict=True)])


def traces(hours=0.25, seed=3):
    """PACKETS of all eight traces."""
    draw = np.random.default_rng(seed)
    return pl.concat([trace(name, hours, draw) for name in (*BOTS, *HUMANS)])


def trace_labels():
    """LABELS of the eight traces."""
    return pl.DataFrame({"actor": [*BOTS, *HUMANS], "bot": [True] * len(BOTS) + [False] * len(HUMANS)})
