"""A small log with everything in it that logs have: ties, gaps, sessions, several characters, nulls, shared zones."""

from datetime import UTC, datetime

import numpy as np
import polars as pl
import pytest

KINDS = ["combat.kill", "move", "loot.pickup", "chat", "trade.give", "trade.receive", "storage.deposit", "skill.use"]
START = int(datetime(2026, 3, 28, 12, tzinfo=UTC).timestamp())  # a clock change of many zones lies inside


def _play_of(actor: int, draw: np.random.Generator) -> pl.DataFrame:
    bot = actor % 3 == 0
    count = int(draw.integers(1, 400))
    gaps = np.full(count, 20) if bot else draw.exponential(200, count)
    seconds = START + draw.integers(0, 40_000) + np.cumsum(gaps).astype(np.int64)
    skew = np.array([1.0 / (1 + place) ** (2 if bot else 1) for place in range(len(KINDS))])
    kinds = draw.choice(KINDS, count, p=skew / skew.sum())
    if actor % 4:
        kinds[0] = "session.login"
        kinds[-1] = "session.logout" if actor % 5 else kinds[-1]
    return pl.DataFrame(
        {
            "actor": f"actor{actor:02}",
            "character": [f"c{actor:02}{place}" if place else None for place in draw.integers(0, 3, count)],
            "second": seconds,
            "kind": kinds,
            "zone": draw.choice(["Dion", "Giran", "Oren"], count),
            "level": [int(level) if level else None for level in draw.integers(0, 60, count)],
            "ip": f"ip{actor // 4}",
        },
        strict=False,
    )


def _places(rows: int) -> list[pl.Series]:
    """Where each event was: on a small map, so that places come again, and unknown at times."""
    draw = np.random.default_rng(12)
    known = draw.random(rows) < 0.9
    return [
        pl.select(pl.when(pl.Series(known)).then(pl.Series(3.0 * draw.integers(0, 4, rows)))).to_series().alias(name)
        for name in ("x", "y")
    ]


def _dealing(log: pl.DataFrame) -> pl.DataFrame:
    """The log with whom everybody trades, and what: mostly with the same few, of whom one only takes."""
    draw = np.random.default_rng(12)
    trades = pl.col("kind").str.starts_with("trade.")
    others = pl.Series([f"actor{number:02}" for number in np.minimum(draw.geometric(0.2, log.height), 29)])
    items = pl.Series([None if thing == "gold" else thing for thing in draw.choice(["gold", "ore"], log.height)])
    amount = pl.Series(draw.exponential(300.0, log.height).round(2))
    return log.with_columns(
        other=pl.when(trades).then(others),
        item=pl.when(trades | pl.col("kind").str.starts_with("loot.")).then(items),
        amount=pl.when(trades).then(amount),
    )


@pytest.fixture(scope="session")
def play() -> pl.DataFrame:
    draw = np.random.default_rng(11)
    log = pl.concat([_play_of(actor, draw) for actor in range(30)]).sort("second", maintain_order=True)
    log = _dealing(log)
    return log.with_columns(
        *_places(log.height),
        pl.from_epoch("second", time_unit="s").cast(pl.Datetime("us", "UTC")).alias("at"),
        pl.col("level").cast(pl.Int16),
        seq=pl.int_range(pl.len(), dtype=pl.Int64),
    ).drop("second")
