"""A log that nobody would wish for: unordered, in two sources, over a clock change, with names of all scripts."""

from datetime import UTC, datetime

import numpy as np
import polars as pl

from gamewarden.core.durations import DAY, SECOND
from gamewarden.store.lake import Lake
from gamewarden.tables import EVENTS, TIME

BEGIN = int(datetime(2026, 3, 27, tzinfo=UTC).timestamp()) * SECOND  # Europe/Berlin changes its clocks on the 29th
NAMES = ("Ada", "zoë", "山田", "Ωmega", "이영희", "bot-01", "bot-02", "bot-03", "🐉", "a", "aa", "Z")
KINDS = (
    *("move", "combat.kill", "combat.hit", "loot.pickup", "session.login", "session.logout", "trade.give"),
    *("trade.receive", "storage.deposit", "gather.木", "quest.ende"),
)


def unordered_log(seed: int, rows: int = 40_000, days: int = 4) -> pl.DataFrame:
    """Events of a few dozen actors; some are evenly paced, and every fifth row stands where it should not."""
    draw = np.random.default_rng(seed)
    people = len(NAMES) * 3
    who = draw.integers(0, people, rows)
    at = BEGIN + np.sort(draw.integers(0, days * DAY, rows))
    paced = who % 3 == 0
    at[paced] = at[paced] // (5 * SECOND) * (5 * SECOND)  # ties in time
    names = np.array([f"{NAMES[one % len(NAMES)]}{one // len(NAMES)}" for one in range(people)])
    kinds = np.array(KINDS)[draw.choice(len(KINDS), rows, p=_weights())]
    kinds[np.flatnonzero((at > BEGIN + 2 * DAY) & (who == 5))[:40]] = "event.節分"  # one actor, on one day
    other = names[(who + 1 + draw.integers(0, 3, rows)) % people]
    log = pl.DataFrame(
        {
            "actor": names[who],
            "character": np.char.add(names[who], np.where(draw.random(rows) < 0.3, "'s alt", "")),
            "at": at,
            "kind": kinds,
            "zone": np.array(["field", "町", "cave"])[draw.integers(0, 3, rows)],
            "x": np.where(paced, (np.arange(rows) % 40).astype(float), draw.normal(0, 50, rows)),
            "y": np.where(paced, (np.arange(rows) % 7).astype(float), draw.normal(0, 50, rows)),
            "level": draw.integers(1, 60, rows),
            "other": other,
            "item": np.array(["ore", "剣"])[draw.integers(0, 2, rows)],
            "amount": draw.integers(1, 900, rows).astype(float),
        }
    ).with_columns(
        pl.col("at").cast(TIME),
        pl.when(pl.col("kind").str.starts_with("trade")).then("other"),
        pl.col("level").cast(EVENTS.columns["level"]),
    )
    late = draw.random(rows) < 0.2
    order = np.argsort(np.arange(rows) + np.where(late, draw.integers(-400, 400, rows), 0), kind="stable")
    return log[order.tolist()]


def _weights() -> np.ndarray:
    raw = np.array([9, 5, 7, 4, 1, 1, 2, 2, 1, 3, 1], float)
    return raw / raw.sum()


def lake_of(log: pl.DataFrame, place, *, compact: bool = False) -> Lake:
    """A lake that read the log as two files."""
    from gamewarden import readers

    lake = Lake(place / "lake")
    half = log.height // 2
    for number, part in enumerate((log[:half], log[half:])):
        file = place / f"part{number}.parquet"
        part.write_parquet(file)
        lake.add(readers.open(file).log())
    if compact:
        lake.compact()
    return lake
