"""Farms, stars and pulses: what evidence of groups, copies, ways and pulses adds to one verdict on synthetic societies.

No paper's figures stand beside it: Lee et al. name two kinds of bots that their method misses, and later work names the
traces they leave. Players, farms and innocent groups are those of our own world (`gamewarden world --society`); it
shows what the evidence adds where such farms and such people are, not how often they are.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from gamewarden.contracts import Detector, Feature, Model, Progress, no_progress
from gamewarden.core.clock import Clock
from gamewarden.core.durations import DAY
from gamewarden.detectors import feature_of, load
from gamewarden.detectors.fusion.model import FusionModel
from gamewarden.detectors.fusion.recipe import Fusion
from gamewarden.detectors.fusion.scores import Scores
from gamewarden.evaluation.metrics import auc, tpr_at_fpr
from gamewarden.features.folding import feed_together
from gamewarden.lab.studies import Number
from gamewarden.lab.studies.thawonmas_cast import RESOURCES
from gamewarden.lab.world import World
from gamewarden.learning.model_info import ModelInfo
from gamewarden.learning.strangers import scores_of_strangers
from gamewarden.presentation.farm_plots import plot_families
from gamewarden.tables import LABELS, check
from gamewarden.verdicts.periods import KEY, infos_of, played, roll_up, side_by_side
from gamewarden.verdicts.points import ACT, OperatingPoints

ACCOUNTS, SEEDS, DAYS = 900, 3, 3
NUMBERS = (
    Number("accounts", 200, ACCOUNTS, "Accounts a world, half of them bots."),
    Number("seeds", 2, SEEDS, "Worlds a game, each asked about by those that learned from the others."),
)
GAMES = ("lineage", "aion", "blade-and-soul")
FIRST_SEED = 201  # everything was made and settled while looking at worlds 101 to 109
BEFORE = ("account-day", "self-similarity", "actions-interval", "actions-frequency", "actions-two-stage")
ADDED = ("groups", "copies", "paths", "pulses")
# Without the new evidence, with it, and with all of it but ways: many logs have no positions, and scripts that walk
# their way to the pace are easy.
WITHOUT, WITH, NO_WAYS = "without", "with", "no ways"
_ALL = (*BEFORE, *ADDED)
WAYS: Mapping[str, tuple[str, ...]] = {
    WITHOUT: BEFORE,
    WITH: _ALL,
    NO_WAYS: tuple(name for name in _ALL if name != "paths"),
}
# What this is for: families that the four published methods miss, and how well they are to be told from people.
BARS: Mapping[str, float] = {"star-hub": 0.95, "star-farmer": 0.98, "occasional": 0.95, "mimic": 0.93}
NO_WORSE = 0.005  # AUC that no family may lose
FPR = 0.01
EVERYBODY = "all bots"
FARMS, FAMILIES = "farms", "families"  # what is held out
_POINTS = OperatingPoints(act=FPR)  # looser than warden.toml's, so that more can go wrong
_CUT = Clock(DAY)
_DISCOUNT = 0.3
_INNER = 2  # folds of those who teach, in which recipes are fitted anew for the fusion
_MOST = 1200  # chunks that a machine learns from: a linear one gains little from more
_FEWEST = 3  # bots of a family below which an AUC says nothing


@dataclass(frozen=True)
class Run:
    """The worlds of one game: what each fusion says of every day of players it never saw."""

    game: str
    held_out: str
    # actor, since, until, world, fold, family, bot, farm, circles, and of each way its probability and FPR
    days: pl.DataFrame
    weights: Mapping[str, float]  # of the fusion with everything, by detector; means over the folds


@dataclass(frozen=True)
class Study:
    """The table, the runs behind it, and what has to be said beside it."""

    title: str
    frame: pl.DataFrame
    runs: tuple[Run, ...]
    notes: tuple[str, ...]
    more: tuple[tuple[str, pl.DataFrame], ...] = ()  # further tables, by their names


@dataclass(frozen=True)
class Measured:
    """The worlds of a game as they are judged: who is who, and the rows of every detector's feature."""

    people: pl.DataFrame  # actor, world, bot, family, farm, group, circles
    recipes: Mapping[str, Feature]  # by detector
    tables: Mapping[str, pl.DataFrame]  # by detector

    @property
    def about_others(self) -> frozenset[str]:
        """The features that speak of those around an actor."""
        return frozenset(one.name for one in self.recipes.values() if one.about_others)


def steps(accounts: int, seeds: int) -> int:
    """How many worlds are measured, and games judged."""
    del accounts
    return (seeds + 1) * len(GAMES)


def run(accounts: int = ACCOUNTS, seeds: int = SEEDS, progress: Progress = no_progress) -> Study:
    """Play worlds 201, 202 … of every game, and ask about each of those who learned from the others of its game."""
    runs = tuple(one for game in GAMES for one in _runs(game, accounts, seeds, progress))
    frame = pl.concat([families_of(runs, game) for game in GAMES])
    return Study(
        f"AUC of account-days of SYNTHETIC societies ({accounts:,} accounts, {DAYS} days, {seeds} worlds a game)",
        frame,
        runs,
        tuple(_notes(frame, runs)),
        (
            ("People by kind: days at or below a promised FPR of 1 % (SYNTHETIC)", guards(runs)),
            ("Farms never seen: how many are caught at 1 % of human days (SYNTHETIC)", farms_caught(runs)),
        ),
    )


def draw(study: Study, directory: Path) -> list[Path]:
    """What the evidence adds, family by family and game by game."""
    path = directory / "farms-families.png"
    plot_families(study.frame, BARS, path, "AUC of account-days against all people (synthetic, farms held out)")
    return [path]


def _runs(game: str, accounts: int, seeds: int, progress: Progress) -> Iterator[Run]:
    worlds = [World(game, accounts, DAYS, seed, society=True) for seed in range(FIRST_SEED, FIRST_SEED + seeds)]
    measured = measure_all(worlds, progress)
    yield _judged(game, FARMS, measured, by_world(measured.people))
    yield _judged(game, FAMILIES, measured, by_family(measured.people))
    progress(1)


def measure_all(worlds: Sequence[World], progress: Progress = no_progress) -> Measured:
    """All features of some worlds, each world in one reading, by recipes that learned from the first."""
    kinds = {name: feature_of(name) for name in _ALL}
    learned = {kind: _recipe(kind).learn(worlds[0]) for kind in dict.fromkeys(kinds.values())}
    parts: dict[str, list[pl.DataFrame]] = {kind: [] for kind in learned}
    for world in worlds:
        folds = {kind: recipe.fold() for kind, recipe in learned.items()}
        feed_together(list(folds.values()), world)
        for kind, fold in folds.items():
            parts[kind].append(fold.frame().with_columns(actor=_named(world, "actor")))
        progress(1)
    tables = {kind: pl.concat(frames) for kind, frames in parts.items()}
    return Measured(
        pl.concat([_people(world) for world in worlds]),
        {name: learned[kind] for name, kind in kinds.items()},
        {name: tables[kind] for name, kind in kinds.items()},
    )


def _named(world: World, column: str) -> pl.Expr:
    """Names of one world told apart from those of another."""
    return pl.format("{}/{}", pl.lit(str(world.seed)), pl.col(column)).alias(column)


def _recipe(kind: str) -> Feature:
    from gamewarden.features import load as load_feature

    options = {"kinds": RESOURCES, "max_freq": True} if kind == "actions" else {}
    return load_feature(kind)(**options)


def _people(world: World) -> pl.DataFrame:
    """Who is who; whoever belongs together by farm or circle is one group."""
    circles = world.circles().group_by("actor").agg(pl.col("group").min(), circles=pl.col("kind").unique().sort())
    labels = world.labels().select("actor", "bot", "family", "farm")
    both = labels.join(circles, on="actor", how="left", maintain_order="left")
    grouped = both.with_columns(group=pl.coalesce("farm", "group", "actor"), world=pl.lit(world.seed))
    return grouped.with_columns(_named(world, name) for name in ("actor", "farm", "group"))


def by_world(people: pl.DataFrame) -> Iterator[tuple[pl.Series, pl.Series]]:
    """Who teaches and who is asked about: each world once, with all its farms and people."""
    for world in people["world"].unique().sort():
        asked = pl.col("world") == world
        yield people.filter(~asked)["actor"], people.filter(asked)["actor"]


def by_family(people: pl.DataFrame) -> Iterator[tuple[pl.Series, pl.Series]]:
    """Each family that has a bar, asked about by those who saw neither it nor its farms nor the people beside it."""
    strangers = people.filter(~pl.col("bot"), pl.col("world") == people["world"].max())
    for family in sorted(set(BARS) & set(people["family"])):
        mine = people.filter(family=family)
        tied = people.filter(pl.col("bot"), pl.col("group").is_in(mine["group"].implode()))
        out = pl.concat([tied["actor"], strangers["actor"]])
        taught = people.filter(~pl.col("actor").is_in(out.implode()))
        yield taught["actor"], pl.concat([mine["actor"], strangers["actor"]])


def _judged(game: str, held_out: str, measured: Measured, splits: Iterator[tuple[pl.Series, pl.Series]]) -> Run:
    folds = [_Fold(measured, taught, asked) for taught, asked in splits]
    parts = [fold.judged().with_columns(fold=pl.lit(place)) for place, fold in enumerate(folds)]
    known = measured.people.drop("group")
    weights = [{term.detector: term.weight for term in fold.fusions[WITH].terms} for fold in folds]
    heard = {name: float(np.mean([one.get(name, 0.0) for one in weights])) for name in measured.tables}
    return Run(game, held_out, pl.concat(parts).join(known, on="actor"), heard)


@dataclass(frozen=True)
class _Fold:
    """Some players teach, others are asked about."""

    measured: Measured
    taught: pl.Series
    asked: pl.Series

    @cached_property
    def models(self) -> dict[str, Model]:
        """What every detector learns from those who teach, by its name."""
        return {name: self._recipe(name).fit(self._rows(name, self.taught), self._labels) for name in _ALL}

    @cached_property
    def fusions(self) -> dict[str, FusionModel]:
        """With and without: learned from what each recipe, fitted without a part of the teachers, says of that part."""
        strangers = {name: self._strangers(name) for name in _ALL}
        return {way: self._fusion(strangers, names) for way, names in WAYS.items()}

    def judged(self) -> pl.DataFrame:
        """One row per day of each player who is asked about, with what each fusion says."""
        tables = {name: self._rows(name, self.asked) for name in _ALL}
        scores = {name: model.score(tables[name]) for name, model in self.models.items()}
        first, *others = (self._said(way, names, scores, tables) for way, names in WAYS.items())
        for other in others:
            first = first.join(other, on=KEY)
        return first

    def _said(
        self, way: str, names: Sequence[str], scores: Mapping[str, pl.DataFrame], tables: Mapping[str, pl.DataFrame]
    ) -> pl.DataFrame:
        fusion = self.fusions[way]
        parts = roll_up(pl.concat([scores[name] for name in names]), self._infos(names), _CUT, _DISCOUNT)
        wide = side_by_side(parts, played(tables.values(), fusion.styles.rule, _CUT))
        told = fusion.score(wide).select(*KEY, "probability", "fpr")
        verdicts = _POINTS.verdicts(told, parts, wide.select(*KEY), self.measured.about_others)
        act = _POINTS.reached(verdicts) == ACT
        return verdicts.select(
            *KEY, pl.col("probability").alias(way), pl.col("fpr").alias(f"{way}_fpr"), act.alias(f"{way}_act")
        )

    def _fusion(self, strangers: Mapping[str, pl.DataFrame], names: Sequence[str]) -> FusionModel:
        infos = self._infos(names)
        recipe = Fusion(Scores(infos, _CUT.every, _CUT.time_zone, _DISCOUNT), excuses=False, expects=False)
        rolled = roll_up(pl.concat([strangers[name] for name in names]), infos, _CUT, _DISCOUNT)
        tables = [self._rows(name, self.taught) for name in names]
        return recipe.fit(side_by_side(rolled, played(tables, recipe.styles, _CUT)), self._labels)

    def _strangers(self, name: str) -> pl.DataFrame:
        held_out: dict[str, Any] = {"folds": _INNER, "seed": 0, "door": "farms"}
        said = scores_of_strangers(self._recipe(name), self._rows(name, self.taught), self._labels, **held_out)
        return said.with_columns(model=pl.lit(self.models[name].card.id))

    def _infos(self, names: Sequence[str]) -> dict[str, ModelInfo]:
        return dict(infos_of([self.models[name] for name in names]))

    def _recipe(self, name: str) -> Detector:
        options = {"most": _MOST} if feature_of(name) == "actions" else {}
        return load(name).of(self.measured.recipes[name], options)

    def _rows(self, name: str, actors: pl.Series) -> pl.DataFrame:
        return self.measured.tables[name].filter(pl.col("actor").is_in(actors.implode()))

    @property
    def _labels(self) -> pl.DataFrame:
        mine = self.measured.people.filter(pl.col("actor").is_in(self.taught.implode()))
        return check(mine.select("actor", "bot", "group", source=pl.lit("simulation")), LABELS, "farms")


def families_of(runs: Sequence[Run], game: str) -> pl.DataFrame:
    """One row per family of a game: its AUC against all people, with and without, farms and families held out."""
    mine = {
        held_out: [one for one in runs if one.game == game and one.held_out == held_out]
        for held_out in (FARMS, FAMILIES)
    }
    names = sorted({name for one in mine[FARMS] for name in one.days.filter("bot")["family"].unique()})
    rows = [_family(game, name, mine) for name in (EVERYBODY, *names)]
    return pl.DataFrame([row for row in rows if row["bots"] >= _FEWEST])


def _family(game: str, family: str, runs: Mapping[str, Sequence[Run]]) -> dict[str, Any]:
    farms = {way: _aucs(runs[FARMS], family, way) for way in WAYS}
    unseen = {way: _aucs(runs[FAMILIES], family, way) for way in (WITHOUT, WITH)}
    gain = _mean(farms[WITH]) - _mean(farms[WITHOUT])
    bar = BARS.get(family)
    caught = [_mean(_figures(runs[FARMS], family, way, _caught)) for way in (WITHOUT, WITH)]
    return {
        "game": game,
        "family": family,
        "bots": sum(one.days.filter(_are(family))["actor"].n_unique() for one in runs[FARMS]),
        "without": _mean(farms[WITHOUT]),
        "with": _mean(farms[WITH]),
        "lowest": min(farms[WITH], default=None),
        "no_ways": _mean(farms[NO_WAYS]),
        "gain": gain,
        "bar": bar,
        "met": None if bar is None else _mean(farms[WITH]) >= bar,
        "caught_without": caught[0],
        "caught_with": caught[1],
        "unseen_without": _mean(unseen[WITHOUT]) if bar else None,
        "unseen_with": _mean(unseen[WITH]) if bar else None,
    }


def _aucs(runs: Sequence[Run], family: str, way: str) -> list[float]:
    return _figures(runs, family, way, auc)


def _caught(said: Any, bot: Any) -> float:  # noqa: ANN401  arrays as `auc` takes them
    return tpr_at_fpr(said, bot, FPR) or 0.0


def _figures(runs: Sequence[Run], family: str, way: str, figure: Any) -> list[float]:  # noqa: ANN401  a function of arrays
    """A figure of each fold in which there are such bots."""
    folds = [days for one in runs for days in one.days.partition_by("fold", maintain_order=True)]
    both = [days.filter(~pl.col("bot") | _are(family)) for days in folds]
    return [figure(days[way].to_numpy(), days["bot"].to_numpy()) for days in both if days["bot"].any()]


def _are(family: str) -> pl.Expr:
    return pl.col("bot") & (pl.lit(family == EVERYBODY) | (pl.col("family") == family))


def _mean(values: Sequence[float]) -> float:
    return float(np.mean(values)) if values else float("nan")


def guards(runs: Sequence[Run]) -> pl.DataFrame:
    """One row per kind of people, by persona and by circle: days that stand at or below 1 % FPR, and that accuse.

    To accuse is to reach the point to act, here drawn at 1 %: two families of evidence must agree, too.
    """
    asked = (one for one in runs if one.held_out == FARMS)
    named = (one.days.with_columns(pl.format("{} {}", pl.lit(one.game), "actor").alias("actor")) for one in asked)
    days = pl.concat(list(named)).filter(~pl.col("bot"))
    by_circle = days.drop_nulls("circles").explode("circles")
    everybody = (
        days.with_columns(people=pl.lit("all people")),
        days.with_columns(people="family"),
        by_circle.with_columns(people=pl.format("{} (circle)", "circles")),
    )
    told = (
        pl.concat([part.drop("circles") for part in everybody])
        .group_by("people", maintain_order=True)
        .agg(
            pl.col("actor").n_unique().alias("accounts"),
            pl.len().alias("days"),
            *((pl.col(f"{way}_fpr") <= FPR).mean().alias(f"below_{way}") for way in (WITHOUT, WITH)),
            *(pl.col(f"{way}_act").mean().alias(f"accused_{way}") for way in (WITHOUT, WITH)),
        )
    )
    return pl.concat([told.head(1), told.tail(-1).sort("people")])


def farms_caught(runs: Sequence[Run]) -> pl.DataFrame:
    """One row per kind of farm: of how many never seen before somebody, half or the hub is caught."""
    parts = [flags for one in runs if one.held_out == FARMS for flags in _flagged(one)]
    members = pl.concat(parts).filter(pl.col("bot"), pl.col("farm").is_not_null())
    ever = members.group_by("farm", "actor", "family").agg(pl.col(WITHOUT, WITH).any())
    farms = ever.group_by("farm").agg(
        kind=pl.when((pl.col("family") == "star-hub").any())
        .then(pl.lit("star"))
        .otherwise(pl.col("family").mode().first()),
        **{f"somebody_{way}": pl.col(way).any() for way in (WITHOUT, WITH)},
        **{f"half_{way}": pl.col(way).mean() >= 0.5 for way in (WITHOUT, WITH)},  # noqa: PLR2004  half is a half
        **{f"hub_{way}": pl.col(way).filter(pl.col("family") == "star-hub").any() for way in (WITHOUT, WITH)},
    )
    found = farms.group_by("kind").agg(pl.len().alias("farms"), pl.exclude("farm", "kind").mean()).sort("kind")
    hubs = [f"hub_{way}" for way in (WITHOUT, WITH)]
    return found.with_columns(pl.when(pl.col("kind") == "star").then(pl.col(name)).alias(name) for name in hubs)


def _flagged(one: Run) -> Iterator[pl.DataFrame]:
    """The days of each fold with whether each way puts them above what one in a hundred human days reaches."""
    for days in one.days.partition_by("fold", maintain_order=True):
        people = days.filter(~pl.col("bot"))
        borders = {way: people[way].quantile(1 - FPR, "higher") for way in (WITHOUT, WITH)}
        told = (pl.col(way) > border for way, border in borders.items())
        yield days.select("actor", "bot", "family", pl.format("{} {}", pl.lit(one.game), "farm").alias("farm"), *told)


def _notes(frame: pl.DataFrame, runs: Sequence[Run]) -> Iterator[str]:
    yield "Synthetic: players, farms and innocent groups are our own construction (docs/world.md, A society)."
    yield f"Worlds {FIRST_SEED} and after were first played when everything stood; 101 to 109 were looked at before."
    yield "Whole worlds are held out, so that no farm stands on both sides; for `unseen` a whole family is, too."
    missed = frame.filter(~pl.col("met"))
    for row in missed.iter_rows(named=True):
        yield f"Below its bar: {row['family']} in {row['game']}, {row['with']:.3f} of {row['bar']:.2f}."
    worse = frame.filter(pl.col("gain") < -NO_WORSE)
    for row in worse.iter_rows(named=True):
        yield f"Worse by more than {NO_WORSE}: {row['family']} in {row['game']}, {row['gain']:+.4f}."
    people = [one.days.filter(~pl.col("bot"))["actor"].n_unique() for one in runs if one.held_out == FARMS]
    yield f"People a game: {min(people):,} to {max(people):,}."
    weights = {
        name: np.mean([one.weights[name] for one in runs if one.held_out == FARMS]) for name in (*BEFORE, *ADDED)
    }
    yield f"Weights of the fusion, on average: {', '.join(f'{name} {weight:.2f}' for name, weight in weights.items())}."
