"""A made-up game that is watched live: its log, its models, and a worker that dies whenever it is told to."""

import json
import time
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
import polars as pl

from gamewarden import pipeline, readers
from gamewarden.contracts import Model
from gamewarden.core.durations import HOUR, MINUTE
from gamewarden.errors import ModelError
from gamewarden.features.actions.recipe import Actions
from gamewarden.features.paths.recipe import Paths
from gamewarden.features.pulses.recipe import Pulses
from gamewarden.features.self_similarity.recipe import SelfSimilarity
from gamewarden.online.live_events import LiveEvents, Pace, opening
from gamewarden.online.live_judges import Judge, Judges, cut_of
from gamewarden.pipeline.measuring import feature_of
from gamewarden.pipeline.scoring import hear
from gamewarden.tables import EVENTS, SCORES, TIME, write_table
from gamewarden.verdicts.prevalence import SUPPOSED

START = datetime(2026, 3, 2, tzinfo=UTC)
KINDS = np.array(["combat.kill", "loot.pickup", "chat", "move", "npc.sell", "skill.use"])
PACE = Pace(tick=5 * MINUTE, late=10 * MINUTE, partitions=1)
SEOUL = "Asia/Seoul"


def game_log(days: int = 3, bots: int = 12, humans: int = 14, seed: int = 3) -> pl.DataFrame:
    """EVENTS of people who come and go one after the other around the clock, and of bots who do the same evenly."""
    dice = np.random.default_rng(seed)
    parts = [_played(dice, who, day, bots, bots + humans) for day in range(days) for who in range(bots + humans)]
    return (
        pl.concat(parts)
        .sort("at", maintain_order=True)
        .with_row_index("seq")
        .with_columns(pl.col("seq").cast(pl.Int64))
    )


def _played(dice: np.random.Generator, who: int, day: int, bots: int, everybody: int) -> pl.DataFrame:
    bot = who < bots
    gaps = dice.gamma(*((20, 0.5) if bot else (0.8, 15)), 500 if bot else 420)
    gaps = np.full(500, 10.0) + dice.normal(0, 0.2, 500) if bot and who % 2 else gaps  # a macro, as good as steady
    seconds = np.concatenate([[0], np.cumsum(gaps), [gaps.sum() + 5]])
    weights = np.array([0.5, 0.3, 0.02, 0.1, 0.05, 0.03] if bot else [0.25, 0.2, 0.15, 0.2, 0.1, 0.1])
    actions = (
        np.tile(KINDS[[0, 0, 1, 0, 1, 3]], 100)[:500] if bot and who % 2 else dice.choice(KINDS, len(gaps), p=weights)
    )
    kinds = ["session.login", *actions, "session.logout"]
    begin = START + timedelta(days=day, minutes=int(who * 1380 / everybody), seconds=int(dice.integers(0, 600)))
    name = f"{'bot' if bot else 'ëinwohner'}{who:02}"
    walk = np.tile(np.arange(0, 80, 4.0), 100)[: len(kinds)] if bot else dice.uniform(0, 500, len(kinds))
    return pl.DataFrame(
        {
            "actor": name,
            "character": f"{name}-{day % 2}",
            "at": [begin + timedelta(seconds=float(second)) for second in seconds],
            "kind": kinds,
            "zone": [f"zone{who % 3}"] * len(kinds),
            "x": walk,
            "y": walk[::-1],
            "level": who % 50 + 1,
            "session": f"{name}/{day}",
        }
    ).with_columns(pl.col("at").cast(TIME), pl.col("level").cast(pl.Int16), pl.col("x", "y").cast(pl.Float32))


def fitted(place: Path) -> Path:
    """A shelf with models of days, of days elsewhere, of pulses, of chunks and of ways."""
    log = game_log(days=4, seed=11)
    write_table(log, place / "log.parquet")
    names = log["actor"].unique().sort()
    write_table(pl.DataFrame({"actor": names, "bot": names.str.starts_with("bot")}), place / "labels.csv")
    for name, feature in (
        ("account-day", SelfSimilarity(min_windows=5, min_events=5, min_active=5)),
        ("self-similarity", SelfSimilarity(every=HOUR, min_windows=5, min_events=5, min_active=5, time_zone=SEOUL)),
        ("pulses", Pulses()),
        ("actions-interval", Actions(chunk=15 * MINUTE, t=20)),
        ("actions-frequency", Actions(chunk=15 * MINUTE, t=20)),
        ("paths", Paths(min_points=10)),
    ):
        recipe = pipeline.detector_recipe(name, feature, {})
        pipeline.fit(recipe, readers.open(place / "log.parquet"), place / "labels.csv", place / "models")
    return place / "models"


def judges_of(models: list[Model]) -> Judges:
    """The judges of these models."""
    return Judges(tuple(Judge(model, feature_of(model.feature)) for model in models))


def batch_scores(log: pl.DataFrame, models: list[Model]) -> pl.DataFrame:
    """What the batch run says of the log of each period alone, as the periods of each model are cut."""
    parts = [pl.DataFrame(schema=dict(SCORES.columns))]
    for cut in dict.fromkeys(cut_of(feature_of(model.feature)) for model in models):
        mine = [model for model in models if cut_of(feature_of(model.feature)) == cut]
        number = pl.Series("period", cut.numbers(log["at"].to_physical().to_numpy()))
        parts += [_heard(one, mine) for one in log.with_columns(number).partition_by("period", include_key=False)]
    return pl.concat(parts).sort("actor", "since", "detector")


def _heard(log: pl.DataFrame, models: list[Model]) -> pl.DataFrame:
    try:
        return hear(models, readers.open(log)).at(SUPPOSED).select(list(SCORES.columns))
    except ModelError:
        return pl.DataFrame(schema=dict(SCORES.columns))


def scores_in(lines: str) -> pl.DataFrame:
    """The final SCORES among lines."""
    rows = [json.loads(line) for line in lines.splitlines()]
    final = [row for row in rows if row["final"]]
    times = [
        pl.col(name).str.to_datetime("%Y-%m-%dT%H:%M:%S%.fZ", time_zone="UTC", time_unit="us")
        for name in ("since", "until")
    ]
    plain = {name: pl.String if dtype == TIME else dtype for name, dtype in SCORES.columns.items()}
    frame = pl.DataFrame([{name: row[name] for name in plain} for row in final], schema=plain)
    return frame.with_columns(times).sort("actor", "since", "detector")


def batches(log: pl.DataFrame, sizes: list[int]):
    """A log in batches of these sizes, one after the other, the last of them again and again."""
    table = log.select([name for name in EVENTS.columns if name in log.columns]).to_arrow(
        compat_level=pl.CompatLevel.oldest()
    )
    whole, begin, turn = table.combine_chunks().to_batches()[0] if log.height else None, 0, 0
    while whole is not None and begin < whole.num_rows:
        size = sizes[min(turn, len(sizes) - 1)]
        yield whole.slice(begin, size)
        begin, turn = begin + size, turn + 1


@dataclass
class Partition:
    """A worker of one partition: rows by offset, a file of decisions, and saves; it can be killed at any time."""

    directory: Path
    judges: Judges
    pace: Pace
    rows: list[Any]  # batches, in the order of offsets
    wall: Any = time.time
    decisions: str = ""
    next: int = 0
    work: LiveEvents | None = field(default=None)

    def open(self) -> None:
        """Go on as the directory was saved last: decisions since then are taken back, their rows come again."""
        self.work, note = opening(self.judges, self.pace, self.wall)(self.directory)
        self.next = int(note.get("offset", 0))
        self.decisions = self.decisions.encode()[: int(note.get("length", 0))].decode()

    @property
    def is_over(self) -> bool:
        return self.next >= len(self.rows)

    def step(self) -> None:
        self.decisions += self.work.take(self.rows[self.next])
        self.next += 1

    def idle(self) -> None:
        self.decisions += self.work.idle()

    def save(self) -> None:
        self.work.save({"offset": self.next, "length": len(self.decisions.encode())})

    def kill(self) -> None:
        """Nothing is said to the work: what it has in memory is gone."""
        self.work.close()
        self.work = None


def of_partitions(log: pl.DataFrame, count: int) -> list[pl.DataFrame]:
    """The log as a broker keyed by player has it."""
    names = log["actor"].unique().to_list()
    home = pl.Series([crc32(name.encode()) % count for name in names])
    keyed = log.join(pl.DataFrame({"actor": names, "home": home}), on="actor", maintain_order="left")
    return [keyed.filter(home=number).drop("home") for number in range(count)]


def disordered(log: pl.DataFrame, share: float, most: timedelta, seed: int = 5) -> pl.DataFrame:
    """The log as it comes where some rows of bots are late, by so much at the most; everybody else's are in order."""
    dice = np.random.default_rng(seed)
    bots = log["actor"].str.starts_with("bot").to_numpy()
    delay = np.where(bots & (dice.random(log.height) < share), dice.uniform(0, most.total_seconds(), log.height), 0.0)
    came = pl.Series("came", log["at"].to_physical().to_numpy() + (delay * 1e6).astype(np.int64))
    return log.with_columns(came).sort("came", maintain_order=True).drop("came")


def run(partitions: list[Partition], dice: np.random.Generator, kills: float = 0.0) -> str:
    """All partitions to their ends, in any order, with saves and kills in between; what was decided at last."""
    for one in partitions:
        one.open()
    turns = 0
    while not all(one.is_over for one in partitions):
        one = partitions[int(dice.integers(len(partitions)))]
        if not one.is_over:
            one.step()
        turns += _something_happens(one, dice, kills)
    settle(partitions)
    return "".join(one.decisions for one in partitions)


def _something_happens(one: Partition, dice: np.random.Generator, kills: float) -> int:
    what = dice.random()
    if what < kills:
        one.kill()
        one.open()
    elif what < kills + 0.3:
        one.save()
    elif what < kills + 0.4:
        one.idle()
    return 1


def settle(partitions: list[Partition]) -> None:
    """Nothing comes any more: workers ask, and save, until there is nothing left to say."""
    for _ in range(4):
        for one in partitions:
            one.save()
            one.idle()
            one.save()
