"""Small synthetic tables that several tests share."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, ClassVar, Self

import numpy as np
import polars as pl

from gamewarden.core.durations import MINUTE
from gamewarden.features.actions.recipe import Actions
from gamewarden.features.plain import PlainFeature
from gamewarden.tables import FrameEvents

DAY = timedelta(days=1)
START = datetime(2026, 3, 1, tzinfo=UTC)


@dataclass(frozen=True)
class GivenNumbers(PlainFeature):
    """A feature recipe whose numbers are already there: what a detector sees of any feature family."""

    name: ClassVar[str] = "self-similarity"
    requires: ClassVar[tuple[str, ...]] = ()
    optional: ClassVar[Mapping[str, str]] = {}

    unit: str = "60s"
    every: str = "1d"
    empty: str = "online"
    ddof: int = 0
    vocabulary: tuple[str, ...] = ("combat.kill", "move")
    table: pl.DataFrame = field(default_factory=pl.DataFrame, compare=False, repr=False)

    @property
    def schema(self) -> Mapping[str, pl.DataType]:
        return dict(list(self.table.schema.items())[4:])

    def learn(self, _events: object, _progress: object = None) -> Self:
        return self

    def measure(self, _events: object, _progress: object = None) -> pl.DataFrame:
        return self.table

    def to_dict(self) -> dict[str, Any]:
        options = ("unit", "every", "empty", "ddof", "vocabulary")
        return {name: getattr(self, name) for name in options}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        return cls(**values)


def actor_names(bots: int, humans: int) -> list[str]:
    return [f"bot{at:03}" for at in range(bots)] + [f"human{at:03}" for at in range(humans)]


def account_days(bots: int = 30, humans: int = 30, days: int = 2, seed: int = 7) -> pl.DataFrame:
    """FEATURES of made-up accounts: bots play longer, kill more and vary less, with much overlap."""
    draw = np.random.default_rng(seed)
    rows = [
        _account_day(actor, START + day * DAY, draw, bot=actor.startswith("bot"))
        for actor in actor_names(bots, humans)
        for day in range(days)
    ]
    return pl.DataFrame(rows, schema_overrides={"since": pl.Datetime("us", "UTC"), "until": pl.Datetime("us", "UTC")})


def _account_day(actor: str, since: datetime, draw: np.random.Generator, *, bot: bool) -> dict[str, Any]:
    minutes = float(np.clip(draw.normal(700 if bot else 400, 250), 40, 1440))
    active = int(minutes * draw.uniform(0.7, 1.0))
    logs = int(active * draw.uniform(3, 8))
    return {
        "actor": actor,
        "since": since,
        "until": since + DAY,
        "events": logs,
        "windows": int(minutes),
        "self_sim": float(np.clip(draw.normal(0.9975 if bot else 0.9960, 0.0012), 0.75, 1.0)),
        "cosim_count": active,
        "cosim_uniq_count": int(active * draw.uniform(0.2, 0.8)),
        "cosim_zero_count": int(minutes) - active,
        "cosim_mode": int(draw.integers(1, 30)),
        "total_log_count": logs,
        "main_char_level": int(draw.integers(1, 80)),
        "total_use_time_min": minutes,
        "npc_kill_count": int(draw.poisson(active * (0.5 if bot else 0.4))),
        "trade_get_count": int(draw.poisson(1.0 if bot else 2.0)),
        "trade_give_count": int(draw.poisson(2.0)),
        "retrieve_count": int(draw.poisson(1.0)),
        "deposit_count": int(draw.poisson(1.5)),
        "log_count_per_min": logs / minutes,
    }


def labels_of(bots: int = 30, humans: int = 30, **columns: object) -> pl.DataFrame:
    """LABELS of the same made-up accounts."""
    names = actor_names(bots, humans)
    return pl.DataFrame({"actor": names, "bot": [name.startswith("bot") for name in names], **columns})


CHUNKS = Actions(
    chunk=15 * MINUTE,
    t=8,
    vocabulary=("chat", "combat.kill", "loot.pickup", "npc.sell", "trade.give"),
    max_freq=True,
    own_intervals=True,
)


def action_log(bots: int = 12, humans: int = 14, hours: float = 2.0, seed: int = 7) -> pl.DataFrame:
    """EVENTS of made-up accounts: bots kill and loot evenly, people do all sorts of things and pause; both vary."""
    draw = np.random.default_rng(seed)
    return pl.concat([_actions_of(actor, hours, draw) for actor in actor_names(bots, humans)])


def play_days(days: int = 4) -> pl.DataFrame:
    """Such a log of days from 01:00 on; one player after the other comes and goes, as where no log is cut."""
    some = action_log()
    later = pl.duration(minutes=46 * (pl.col("actor").rank("dense") - 1), hours=1)
    return pl.concat(some.with_columns(pl.col("at") + later + pl.duration(days=number)) for number in range(days))


def _actions_of(actor: str, hours: float, draw: np.random.Generator) -> pl.DataFrame:
    bot = actor.startswith("bot")
    count = int(hours * 3600 / (8 if bot else 12))
    gaps = draw.gamma(*((20, 0.4) if bot else (0.8, 15)), count)
    pauses = draw.random(count) < (0.002 if bot else 0.02)
    seconds = np.cumsum(gaps + pauses * draw.uniform(200, 900, count))
    weights = np.array([0.02, 0.5, 0.4, 0.06, 0.02] if bot else [0.2, 0.35, 0.25, 0.1, 0.1]) * draw.uniform(0.3, 1, 5)
    kinds = draw.choice(CHUNKS.vocabulary, count, p=weights / weights.sum())
    return pl.DataFrame({"actor": actor, "at": [START + timedelta(seconds=s) for s in seconds], "kind": kinds})


def action_chunks(bots: int = 12, humans: int = 14, **options: Any) -> pl.DataFrame:
    """FEATURES of the chunks of such a log."""
    return CHUNKS.measure(FrameEvents(action_log(bots, humans, **options)))
