"""Small synthetic tables of sessions that several tests share."""

from datetime import timedelta
from typing import Any

import numpy as np
import polars as pl

from made_up import START, actor_names


def session_rows(bots: int = 12, humans: int = 14, each: int = 1, seed: int = 7) -> pl.DataFrame:
    """FEATURES of made-up sessions: bots step sooner and less far, with overlap; people turn less often to loot."""
    draw = np.random.default_rng(seed)
    rows = [
        _session(actor, number, draw, bot=actor.startswith("bot"))
        for actor in actor_names(bots, humans)
        for number in range(each)
    ]
    return pl.DataFrame(rows, schema_overrides={"since": pl.Datetime("us", "UTC"), "until": pl.Datetime("us", "UTC")})


def _session(actor: str, number: int, draw: np.random.Generator, *, bot: bool) -> dict[str, Any]:
    step = draw.normal(3.5 if bot else 5.5, 1.0)
    gap = float(np.clip(draw.normal(600 if bot else 1400, 350), 120, 6000))
    minutes = float(draw.uniform(11, 60))
    since = START + timedelta(hours=3 * number)
    turns = bot or draw.random() < 0.7
    return {
        "actor": actor,
        "since": since,
        "until": since + timedelta(minutes=minutes),
        "events": int(minutes * 60_000 / gap),
        "character": f"c-{actor}",
        "valid": True,
        "enough": True,
        "packets_per_s": 1000 / gap + draw.uniform(0, 1),
        "move_dx": 0.7 * step,
        "move_dy": 0.6 * step,
        "move_distance": step,
        "move_gap_ms": gap,
        "take_gap_ms": float(np.clip(draw.normal(2500, 800), 200, 6900)),
        "turn_to_take_ms": float(draw.uniform(40, 700 if bot else 2500)) if turns else None,
        "attack_to_take_ms": float(np.clip(draw.normal(1400 if bot else 2000, 700), 200, 6900)),
        "continuous_attacks_per_s": float(draw.uniform(0.05, 0.3)),
        "turn_mean_deg": float(draw.uniform(20, 80 if bot else 60)),
        "turn_circular_variance": float(draw.uniform(0.1, 0.8)),
        "turn_back_share": float(draw.uniform(0.0, 0.4)),
        "once_attacks_per_s": 0.0,
    }
