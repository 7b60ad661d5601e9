"""A small made-up log of many days for maintenance: bots that change their program, sensors that go silent, a patch."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import numpy as np
import polars as pl

from gamewarden import pipeline, readers
from gamewarden.config import config_from
from gamewarden.features.self_similarity.recipe import SelfSimilarity
from gamewarden.pipeline.maintaining import MaintenanceOptions
from gamewarden.tables import write_table
from shared import copy_of, shared_directory

START = datetime(2026, 3, 2, tzinfo=UTC)
KINDS = np.array(
    [
        "combat.kill",
        "loot.pickup",
        "chat",
        "move",
        "npc.buy",
        "npc.sell",
        "skill.use",
        "item.use",
        "zone.enter",
        "exp.gain",
    ]
)
MINUTES = 36
_FEW = 1e9


@dataclass(frozen=True)
class Log:
    """Bots and humans through some days; a number is the first day of something."""

    days: int = 12
    bots: int = 30
    humans: int = 30
    adapts: float = _FEW  # half of the bots change their program
    silent: tuple[int, ...] = ()  # days without a kill in the log
    patch: float = _FEW  # some kinds get new names
    renamed: tuple[int, ...] = ()  # days on which all kinds have new names
    thin: tuple[int, ...] = ()  # days of which the log keeps one event in ten
    banned: float = _FEW  # two in three bots are gone
    empty: tuple[int, ...] = ()  # days without any event
    seed: int = 3

    def events(self) -> pl.DataFrame:
        dice = np.random.default_rng(self.seed)
        parts = [
            self._actor(dice, who, day)
            for day in range(self.days)
            if day not in self.empty
            for who in range(self.bots + self.humans)
            if not (day >= self.banned and who < self.bots and who % 3)
        ]
        return (
            pl.concat(parts)
            .sort("at", maintain_order=True)
            .with_row_index("seq")
            .with_columns(pl.col("seq").cast(pl.Int64))
        )

    def _actor(self, dice: np.random.Generator, who: int, day: int) -> pl.DataFrame:
        bot = who < self.bots
        new = bot and who % 2 == 0 and day >= self.adapts
        if bot and not new:
            kinds = np.tile(KINDS[[0, 0, 1, 3]], MINUTES)
            off = dice.random(kinds.size) < 0.02 + 0.02 * (who % 5)
            kinds[off] = dice.choice(KINDS, off.sum())
            minute = np.repeat(np.arange(MINUTES), 4)
        else:
            rate = 16.0 if new else 1.5 + 0.4 * (who % 5)
            count = dice.poisson(rate, MINUTES) + 1
            minute = np.repeat(np.arange(MINUTES), count)
            kinds = dice.choice(KINDS[1:] if new else KINDS, minute.size)
        micros = (minute + dice.uniform(0, 0.99, minute.size)) * 60e6
        at = pl.Series(micros.astype(np.int64)).cast(pl.Duration("us")) + START + timedelta(days=day, hours=1)
        frame = pl.DataFrame({"actor": f"{'bot' if bot else 'human'}{who:03}", "at": at, "kind": kinds})
        if day in self.silent:
            frame = frame.filter(pl.col("kind") != "combat.kill")
        if day in self.thin:
            frame = frame.gather_every(10)
        if day in self.renamed:
            frame = frame.with_columns(pl.col("kind") + "-v2")
        if day >= self.patch:
            frame = frame.with_columns(
                pl.col("kind").replace(
                    {"skill.use": "skill.use-ii", "chat": "chat-ii", "combat.kill": "combat.kill-ii"}
                )
            )
        return frame

    def labels(self) -> pl.DataFrame:
        names = [f"bot{who:03}" for who in range(self.bots)]
        names += [f"human{who:03}" for who in range(self.bots, self.bots + self.humans)]
        return pl.DataFrame({"actor": names, "bot": [name.startswith("bot") for name in names]})


def make_game(place, log, learned_days=3):
    """A lake of the log, its labels, and a model of its first days, under `place`: a copy of one that tests share."""
    return copy_of(shared_directory(_build_game, log, learned_days), place)


def _build_game(place, log, learned_days):
    events = log.events()
    write_table(events, place / "events.parquet")
    write_table(log.labels(), place / "labels.csv")
    pipeline.read(readers.open(place / "events.parquet"), place / "lake")
    early = place / "early.parquet"
    write_table(events.filter(pl.col("at") < START + timedelta(days=learned_days)), early)
    recipe = pipeline.detector_recipe("account-day", SelfSimilarity(), {})
    pipeline.fit(recipe, readers.open(early), place / "labels.csv", place / "models")


SETTINGS = {
    "common_actors": 20,
    "provisional": 3,
    "baseline": 4,
    "labelled": 10,
    "window_least": 2,
    "window_most": 4,
}


def task_of(place, labels="labels.csv", notify=None, clock=None, **settings):
    """What maintenance of such a game is asked for: few periods make its limits."""
    config = config_from({"maintain": {**SETTINGS, **settings}, "notify": notify or {}}, "test")
    options = {} if clock is None else {"clock": clock}
    return MaintenanceOptions(
        place / "lake", place / "models", place / labels if labels else None, config=config, **options
    )
