"""Thawonmas & Kashifuji: seven humans and seven bots, judged by chunks of 60, 45, 30 and 15 minutes (Figures 2–5).

Three days of each; every pair of a human and a bot is held out in turn (49 folds), counts are pooled, one MCC a method.
The characters are synthetic, and marked so: what must match is the order of the methods at 60 and 45 minutes and the
fall with shorter chunks, not the numbers.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from statistics import mean
from typing import TypeVar

import numpy as np
import polars as pl

from gamewarden.contracts import Progress, no_progress
from gamewarden.detectors.action_model import Column, Machine
from gamewarden.detectors.actions import Frequency, Interval, TwoStage
from gamewarden.errors import ConfigError
from gamewarden.evaluation.leave_pair_out import Learns, leave_pair_out
from gamewarden.evaluation.plots import plot_curves
from gamewarden.features.actions import Actions
from gamewarden.spans import MINUTE
from gamewarden.studies import Number
from gamewarden.tables import FrameEvents
from gamewarden.world import World

ACCOUNTS = 300  # of whom the first that fit are taken
SEEDS = 2  # worlds a game; all of it takes about a quarter of an hour of one core
NUMBERS = (
    Number("accounts", 100, ACCOUNTS, "Accounts a world, to choose from."),
    Number("seeds", 1, SEEDS, "Worlds a game."),
)
GAMES = ("lineage", "aion", "blade-and-soul")  # all there are
DAYS = 3
EACH = 7
CHUNKS = (60, 45, 30, 15)  # minutes
SWEEP = (5, 10, 30, 60, 120, 300)
PUBLISHED = {60: 0.90, 45: 0.90, 30: 0.84, 15: 0.76}  # the highest MCC of the proposed method
PUBLISHED_BEST = {60: Interval.name, 45: Interval.name, 30: Interval.name, 15: TwoStage.name}
# What a rollback database holds: gathering, spending and handing over of resources.
RESOURCES = (
    *("loot.*", "gather.*", "item.*", "craft.*", "currency.*"),
    *("npc.buy", "npc.sell", "trade.*", "market.*", "storage.*", "mail.*"),
)
LOOT = "loot.pickup"
DETECTED = ("farmer", "randomised-farmer", "gatherer", "cheat")  # what an operator finds and hands out as irregular
MIMIC, CHEAT, FARMER = "mimic", "cheat", "farmer"
Method = TypeVar("Method", TwoStage, Frequency, Interval)
_LEARNED_FROM = 1500  # chunks a fold at the most: neighbours overlap, and there are 49 folds
_LEAST_HOURS = 8  # of play in the three days, for a character to have chunks enough


@dataclass(frozen=True)
class Run:
    """One synthetic world: the MCC of every method, chunk and t, and what became of mimics and cheats."""

    game: str
    seed: int
    curves: pl.DataFrame  # chunk, detector, t (null where it does not matter), mcc
    asides: dict[str, float | None]


@dataclass(frozen=True)
class Study:
    """The table, the runs behind it, and what has to be said beside it."""

    title: str
    frame: pl.DataFrame
    runs: tuple[Run, ...]
    remarks: tuple[str, ...]
    more: tuple[tuple[str, pl.DataFrame], ...] = ()  # further tables, by their names

    def curves(self) -> pl.DataFrame:
        """The mean MCC of the worlds: chunk, detector, t, mcc."""
        every = pl.concat([run.curves for run in self.runs])
        return every.group_by("chunk", "detector", "t", maintain_order=True).agg(pl.col("mcc").mean())


def steps(accounts: int, seeds: int) -> int:
    """How many times all pairs are held out."""
    del accounts
    return len(GAMES) * seeds * len(CHUNKS) * (1 + len(SWEEP))


def run(accounts: int = ACCOUNTS, seeds: int = SEEDS, progress: Progress = no_progress) -> Study:
    """Play every game with the seeds 1, 2, 3 … and judge fourteen characters of each world."""
    runs = tuple(_run(game, accounts, seed, progress) for game in GAMES for seed in range(1, seeds + 1))
    curves = pl.concat([one.curves for one in runs])
    frame = pl.DataFrame(list(_figures(curves)), infer_schema_length=None)
    asides = pl.DataFrame(list(_asides(runs)), infer_schema_length=None).drop("published")
    return Study(
        f"Thawonmas & Kashifuji beside SYNTHETIC characters ({EACH} + {EACH}, three days, {len(runs)} worlds)",
        frame,
        runs,
        (
            "Ours are synthetic characters of our own worlds, not those of Cabal Online; no seed or game was left out.",
            "MCC of counts pooled over 49 folds; the interval method at the t whose mean over the worlds is highest.",
            *_shape(curves),
        ),
        (("Mimics and cheats nobody had labelled (SYNTHETIC; shares of their chunks, and loot)", asides),),
    )


def draw(study: Study, directory: Path) -> list[Path]:
    """MCC over t, a picture each length of chunk (like the paper's Figures 2–5)."""
    drawn = []
    for number, minutes in enumerate(CHUNKS, 2):
        path = directory / f"thawonmas-figure-{number}-{minutes}m.png"
        mine = study.curves().filter(chunk=minutes)
        plot_curves(
            {name: _line(mine.filter(detector=name)) for name in mine["detector"].unique(maintain_order=True)},
            path,
            f"Chunks of {minutes} minutes (synthetic characters, {len(study.runs)} worlds)",
            ("t in seconds", "MCC"),
        )
        drawn.append(path)
    return drawn


def _line(curve: pl.DataFrame) -> tuple[list[float], list[float]]:
    if curve["t"].null_count():
        return [float(t) for t in SWEEP], [curve["mcc"][0]] * len(SWEEP)
    return curve["t"].cast(pl.Float64).to_list(), curve["mcc"].to_list()


def _run(game: str, accounts: int, seed: int, progress: Progress) -> Run:
    play = _Play(World(game, accounts, days=DAYS, seed=seed))
    chosen = [*play.first(play.humans()), *play.first(play.of(*DETECTED))]
    events = play.events(chosen)
    rows = [row for minutes in CHUNKS for row in _held_out(play, events, minutes, progress)]
    return Run(game, seed, pl.DataFrame(rows, schema_overrides={"t": pl.Int64}), _others(play))


def _held_out(play: "_Play", events: FrameEvents, minutes: int, progress: Progress) -> Iterator[dict[str, object]]:
    base = _recipe(minutes)
    for t in (None, *SWEEP):
        feature = base if t is None else replace(base, t=t)
        methods: Sequence[Learns] = (
            [_method(TwoStage, feature), _method(Frequency, feature)] if t is None else [_method(Interval, feature)]
        )
        summary = leave_pair_out(methods, feature.measure(events), play.labels, draws=1).summary
        for name, mcc in summary.select("detector", "mcc").iter_rows():
            yield {"chunk": minutes, "detector": name, "t": t, "mcc": mcc}
        progress(1)


def _recipe(minutes: int) -> Actions:
    return Actions(chunk=minutes * MINUTE, kinds=RESOURCES, max_freq=True)


def _method(method: type[Method], feature: Actions) -> Method:
    """As published: every chunk with two actions is judged."""
    return method(feature, enough=2, most=_LEARNED_FROM)


class _Play:
    """One world's characters, and the events of some of them."""

    def __init__(self, world: World) -> None:
        self.labels = world.labels()
        self._truth = world.truth()
        batches = [pl.DataFrame(batch) for batch in world.batches(("actor", "at", "kind"))]
        self._log = pl.concat([batch.with_columns(pl.col("actor", "kind").cast(pl.String)) for batch in batches])
        half_hours = pl.col("at").dt.truncate("30m").n_unique() / 2
        loot = (pl.col("kind") == LOOT).sum()
        self._played = self._log.group_by("actor").agg(half_hours.alias("hours"), loot.alias("loot"))

    def of(self, *families: str) -> list[str]:
        """The accounts of some families, in order."""
        return [actor for actor, family in self._truth.items() if family in families]

    def humans(self) -> list[str]:
        """The accounts that people play."""
        return self.labels.filter(~pl.col("bot"))["actor"].to_list()

    def first(self, actors: list[str], each: int = EACH) -> list[str]:
        """The first so many who play long enough.

        Raises:
            ConfigError: there are fewer.
        """
        enough = set(self._played.filter(pl.col("hours") >= _LEAST_HOURS)["actor"])
        found = [actor for actor in actors if actor in enough][:each]
        if len(found) < each:
            raise ConfigError(f"thawonmas: only {len(found)} of {each} characters play long enough; take more accounts")
        return found

    def events(self, actors: list[str]) -> FrameEvents:
        """The log of these accounts."""
        return FrameEvents(self._log.filter(pl.col("actor").is_in(actors)))

    def loot_an_hour(self, actors: list[str]) -> float | None:
        """Loot picked up in an hour of play."""
        mine = self._played.filter(pl.col("actor").is_in(actors))
        return float(mine["loot"].sum()) / float(mine["hours"].sum()) if mine.height else None


def _others(play: _Play) -> dict[str, float | None]:
    """What methods that learned from humans and plain bots say of mimics and of cheats, whom they never saw."""
    known = [*play.first(play.humans()), *play.first(play.of(*(name for name in DETECTED if name != CHEAT)))]
    feature = _recipe(60).freeze(play.events(known))
    table = feature.measure(play.events(known))
    two = _method(TwoStage, feature).learn(table, play.labels)
    often = _method(Frequency, feature).learn(table, play.labels)
    gaps = _method(Interval, feature).learn(table, play.labels)
    strangers = {
        name: feature.measure(play.events([actor for actor in play.of(name) if actor not in known]))
        for name in (MIMIC, CHEAT, FARMER)
    }
    caught = {
        f"{name} chunks caught by {how}": _share(chunks, machine)
        for name, chunks in strangers.items()
        for how, machine in {
            "the first stage alone": replace(two, columns=_weightless(two), intercept=-1.0),
            "the second stage alone": replace(two, stage=None),
            TwoStage.name: two,
            Frequency.name: often,
            Interval.name: gaps,
        }.items()
    }
    loot = {f"loot an hour of a {name}": play.loot_an_hour(play.of(name)) for name in (MIMIC, FARMER)}
    return {**caught, **loot}


def _weightless(machine: Machine) -> tuple[Column, ...]:
    return tuple(replace(column, weight=0.0) for column in machine.columns)


def _share(chunks: pl.DataFrame, machine: Machine) -> float | None:
    return float(np.mean(machine.decide(chunks) > 0)) if chunks.height else None


def _figures(curves: pl.DataFrame) -> Iterator[dict[str, object]]:
    for minutes in CHUNKS:
        for name in (Interval.name, Frequency.name, TwoStage.name):
            best, values = _best(curves.filter(chunk=minutes, detector=name))
            at = "" if best is None else f", t = {best} s"
            published = PUBLISHED[minutes] if name == Interval.name else None
            yield _row(f"{minutes} minutes", f"MCC of {name}{at}", published, values)


def _best(curve: pl.DataFrame) -> tuple[int | None, list[float]]:
    """The t with the highest mean, and the worlds' values there."""
    means = curve.group_by("t", maintain_order=True).agg(pl.col("mcc").mean())
    best = means.sort("mcc", descending=True, maintain_order=True)["t"][0]
    return best, curve.filter(pl.col("t").eq_missing(best))["mcc"].to_list()


def _asides(runs: Sequence[Run]) -> Iterator[dict[str, object]]:
    for name in runs[0].asides:
        values = [value for one in runs if (value := one.asides[name]) is not None]
        if values:
            yield _row("60 minutes", name, None, values)


def _row(chunk: str, figure: str, published: float | None, ours: list[float]) -> dict[str, object]:
    return {
        "chunk": chunk,
        "figure": figure,
        "published": published,
        "synthetic": mean(ours),
        "lowest": min(ours),
        "highest": max(ours),
    }


def _shape(curves: pl.DataFrame) -> Iterator[str]:
    """What must match, as it came out."""
    best = {
        minutes: {
            name: mean(_best(curves.filter(chunk=minutes, detector=name))[1])
            for name in (Interval.name, Frequency.name, TwoStage.name)
        }
        for minutes in CHUNKS
    }
    for minutes, values in best.items():
        order = " > ".join(sorted(values, key=lambda name: -values[name]))
        yield f"{minutes} minutes: {order} (published best: {PUBLISHED_BEST[minutes]})."
    fall = [best[minutes][Interval.name] for minutes in CHUNKS]
    falls = all(longer >= shorter for longer, shorter in pairwise(fall))
    yield f"The interval method {'falls' if falls else 'does not fall steadily'} with shorter chunks; published: falls."
