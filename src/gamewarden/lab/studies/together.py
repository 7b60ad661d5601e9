"""One verdict from three traces of the same players: what a log, packets and client messages catch alone and together.

No paper stands beside it: players and bots are those of our own world (`gamewarden world --traces`), in which families
of bots differ in which trace gives them away. It shows what fusing can do where that is so, not how often it is so.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from gamewarden.contracts import Model, Progress, no_progress
from gamewarden.core.clock import Clock
from gamewarden.core.durations import DAY
from gamewarden.detectors.fusion.model import FusionModel
from gamewarden.detectors.fusion.recipe import Fusion
from gamewarden.detectors.fusion.scores import Scores
from gamewarden.detectors.logistic.recipe import AccountDay
from gamewarden.detectors.session.classifiers import MAHALANOBIS
from gamewarden.detectors.session.recipe import SessionAngle
from gamewarden.detectors.traffic.recipe import TrafficDetector
from gamewarden.evaluation.metrics import auc, tpr_at_fpr
from gamewarden.features.self_similarity.recipe import SelfSimilarity
from gamewarden.features.session.recipe import Sessions
from gamewarden.features.traffic.details import TrafficDetails
from gamewarden.features.traffic.recipe import TrafficTest
from gamewarden.lab.studies import Number
from gamewarden.lab.world.traces import FAMILIES, Traces
from gamewarden.learning.strangers import scores_of_strangers
from gamewarden.presentation.trace_plots import plot_caught
from gamewarden.tables import FrameMessages, FramePackets
from gamewarden.verdicts.combining import combine
from gamewarden.verdicts.periods import KEY, infos_of, played, roll_up, side_by_side

ACCOUNTS, SEEDS, DAYS = 600, 5, 2
NUMBERS = (
    Number("accounts", 100, ACCOUNTS, "Accounts a world, two in five of them bots."),
    Number("seeds", 1, SEEDS, "Worlds."),
)
TRACES = ("log", "packets", "messages")
# By a learned fusion; by one in which what looks human excuses; and without labels to learn a fusion from.
ALL, EXCUSING, COMBINED = "all", "excusing", "combined"
WAYS = (*TRACES, ALL, EXCUSING, COMBINED)
EVERYBODY = "all bots"
FPR = 0.01
CAUGHT, AUC = "caught at 1 % FPR", "AUC"
FIRST_SEED = 11  # worlds 1 and 2 were looked at while the fusion was made
_CUT = Clock(DAY)
_DISCOUNT = 0.3
_FOLDS = 3  # in which the recipes are fitted anew for the fusion
_STEPS = 4  # of a world: played, measured, learned, fused


@dataclass(frozen=True)
class Run:
    """One world: who taught, and what each way says of every day of the others."""

    seed: int
    taught: tuple[str, ...]
    days: pl.DataFrame  # actor, since, until, family, bot, and one column per way
    everyone: int  # days of held-out players that any trace judged
    weights: Mapping[str, float]  # of the fusion, by trace


@dataclass(frozen=True)
class Study:
    """The table, the runs behind it, and what has to be said beside it."""

    title: str
    frame: pl.DataFrame
    long: pl.DataFrame  # family, figure, way, mean, lowest, highest
    runs: tuple[Run, ...]
    notes: tuple[str, ...]
    more: tuple[tuple[str, pl.DataFrame], ...] = ()  # further tables, by their names


@dataclass(frozen=True)
class _Trace:
    """One trace: the recipe that learns from it, the rows to learn from, and those that a model of it judges."""

    recipe: Any
    rows: pl.DataFrame
    shown: Callable[[Model], pl.DataFrame]


def steps(accounts: int, seeds: int) -> int:
    """How many parts of worlds are done."""
    del accounts
    return _STEPS * seeds


def run(accounts: int = ACCOUNTS, seeds: int = SEEDS, progress: Progress = no_progress) -> Study:
    """Play worlds 11, 12, 13 …, teach with half of the players of each, and ask about the other half."""
    worlds = [Traces(accounts, DAYS, seed) for seed in range(FIRST_SEED, FIRST_SEED + seeds)]
    runs = tuple(_run(world, progress) for world in worlds)
    long = _long(runs)
    return Study(
        f"One verdict from three traces of SYNTHETIC players ({accounts:,} accounts, {DAYS} days, {seeds} worlds)",
        _wide(long),
        long,
        runs,
        tuple(_notes(runs)),
        (("Every way, lowest and highest of the worlds (SYNTHETIC)", long),),
    )


def draw(study: Study, directory: Path) -> list[Path]:
    """How many bots of each family each way catches."""
    path = directory / "together-caught.png"
    caught = study.long.filter(pl.col("figure") == CAUGHT, pl.col("way").is_in([*TRACES, ALL]))
    plot_caught(caught, path, "Bot days caught at 1 % of human days flagged (synthetic, players held out)")
    return [path]


def _run(world: Traces, progress: Progress) -> Run:
    labels, packets, messages = world.labels(), world.packets(), world.messages()
    progress(1)
    traces = _measured(world, packets, messages)
    progress(1)
    taught = _half(labels, world.seed)
    known = pl.col("actor").is_in(taught.implode())
    given = labels.filter(known).drop("family")
    models = {name: one.recipe.fit(one.rows.filter(known), given) for name, one in traces.items()}
    progress(1)
    tables = {name: one.shown(models[name]) for name, one in traces.items()}
    fusions = _fusions(traces, models, {name: table.filter(known) for name, table in tables.items()}, given)
    wide = _asked(models, {name: table.filter(~known) for name, table in tables.items()}, fusions)
    progress(1)
    judged = wide.drop_nulls(TRACES).join(labels.select("actor", "family", "bot"), on="actor")
    weights = {term.detector: term.weight for term in fusions[ALL].terms}
    named = {name: weights.get(model.card.detector, 0.0) for name, model in models.items()}
    return Run(world.seed, tuple(taught), judged, wide.height, named)


def _measured(world: Traces, packets: pl.DataFrame, messages: pl.DataFrame) -> dict[str, _Trace]:
    days = SelfSimilarity().learn(world)
    of_days = days.measure(world)
    of_sessions = Sessions().measure(FrameMessages(messages)).drop_nulls(["since", "until"])
    details = TrafficDetails(layouts=((TrafficTest().acn, TrafficTest().acv),))

    def windows(model: Model) -> pl.DataFrame:
        return TrafficTest.from_dict(model.feature.options).measure(FramePackets(packets))

    return {
        "log": _Trace(AccountDay(feature=days), of_days, lambda _: of_days),
        "packets": _Trace(
            TrafficDetector(details, thresholds=False, tree="majority"), details.measure(FramePackets(packets)), windows
        ),
        "messages": _Trace(SessionAngle(Sessions(), form=MAHALANOBIS), of_sessions, lambda _: of_sessions),
    }


def _half(labels: pl.DataFrame, seed: int) -> pl.Series:
    """Half of the players of every family and persona, who teach."""
    dice = np.random.default_rng([seed, 5])
    parts = labels.sort("actor").partition_by("family", maintain_order=True)
    chosen = [part["actor"].gather(dice.permutation(part.height)[: round(part.height / 2)]) for part in parts]
    return pl.concat(chosen).sort()


def _fusions(
    traces: Mapping[str, _Trace], models: Mapping[str, Model], shown: Mapping[str, pl.DataFrame], labels: pl.DataFrame
) -> dict[str, FusionModel]:
    """Learned from what each recipe, fitted without a part of those who teach, says of that part."""
    parts = [
        scores_of_strangers(
            one.recipe, one.rows, labels, folds=_FOLDS, seed=0, door="together", shown=one.shown
        ).with_columns(model=pl.lit(models[name].card.id))
        for name, one in traces.items()
    ]
    infos = infos_of(list(models.values()))
    feature = Scores(infos, _CUT.every, _CUT.time_zone, _DISCOUNT)
    recipes = {ALL: Fusion(feature, excuses=False), EXCUSING: Fusion(feature)}
    rolled = roll_up(pl.concat(parts), infos, _CUT, _DISCOUNT)
    table = side_by_side(rolled, played(shown.values(), recipes[ALL].styles, _CUT))
    return {way: recipe.fit(table, labels) for way, recipe in recipes.items()}


def _asked(
    models: Mapping[str, Model], tables: Mapping[str, pl.DataFrame], fusions: Mapping[str, FusionModel]
) -> pl.DataFrame:
    """One row per day of each held-out player: the evidence of each trace, and what every way of fusing says."""
    scores = pl.concat([model.score(tables[name]) for name, model in models.items()])
    parts = roll_up(scores, infos_of(list(models.values())), _CUT, _DISCOUNT)
    wide = side_by_side(parts, played(tables.values(), fusions[ALL].styles.rule, _CUT))
    fused = wide.with_columns(fusion.score(wide)["probability"].alias(way) for way, fusion in fusions.items())
    able = parts.select(KEY).unique().with_columns(families=len(models))
    without = combine(parts, able, _DISCOUNT, 0.5).select(*KEY, pl.col("probability").alias(COMBINED))
    named = fused.rename({model.card.id: name for name, model in models.items()})
    return named.join(without, on=KEY, how="left", maintain_order="left").select(*KEY, *WAYS)


def figures_of(days: pl.DataFrame) -> pl.DataFrame:
    """AUC and the share caught of every family by every way, each against all human days of one world."""
    rows = []
    for family in (EVERYBODY, *FAMILIES):
        mine = days.filter(~pl.col("bot") | (pl.lit(family == EVERYBODY) | (pl.col("family") == family)))
        bot = mine["bot"].to_numpy()
        for way in WAYS:
            said = mine[way].to_numpy()
            rows += [(family, CAUGHT, way, tpr_at_fpr(said, bot, FPR)), (family, AUC, way, auc(said, bot))]
    return pl.DataFrame(rows, schema=["family", "figure", "way", "value"], orient="row")


def _long(runs: Sequence[Run]) -> pl.DataFrame:
    found = pl.concat([figures_of(one.days) for one in runs])
    value = pl.col("value")
    spread = (value.mean().alias("mean"), value.min().alias("lowest"), value.max().alias("highest"))
    return found.group_by("family", "figure", "way", maintain_order=True).agg(*spread)


def _wide(long: pl.DataFrame) -> pl.DataFrame:
    """One row per family and figure: the mean of each way, and the lowest and highest of all traces together."""
    means = long.pivot(on="way", index=("family", "figure"), values="mean", maintain_order=True)
    spread = long.filter(way=ALL).select("family", "figure", all_lowest="lowest", all_highest="highest")
    best = pl.max_horizontal(TRACES).alias("best_alone")
    shown = means.join(spread, on=("family", "figure"), maintain_order="left").with_columns(best)
    return shown.select("family", "figure", *TRACES, "best_alone", ALL, "all_lowest", "all_highest", EXCUSING, COMBINED)


def _notes(runs: Sequence[Run]) -> list[str]:
    judged, everyone = sum(one.days.height for one in runs), sum(one.everyone for one in runs)
    humans = [one.days.filter(~pl.col("bot")).height for one in runs]
    gains = [_gain(one) for one in runs]
    weights = {name: np.mean([one.weights[name] for one in runs]) for name in TRACES}
    told = ", ".join(f"{name} {weight:.2f}" for name, weight in weights.items())
    return [
        "Synthetic: players and bots are our own construction, each family made to show in some traces and not others.",
        f"Half of the players teach, the other half is asked: {judged:,} of their {everyone:,} days count.",
        f"Those were judged by all three traces; {min(humans):,} to {max(humans):,} of a world are of people.",
        "Lowest and highest are of the worlds. The border at 1 % is drawn on the asked humans, for every way alike.",
        f"All together catch {np.mean(gains):+.3f} more of all bots than the best trace alone, chosen on the asked.",
        f"In single worlds that is {min(gains):+.3f} to {max(gains):+.3f}.",
        f"Weights of the fusion, on average: {told}.",
    ]


def _gain(one: Run) -> float:
    """How many more of all bots are caught by all traces than by the best of them."""
    caught = figures_of(one.days).filter(family=EVERYBODY, figure=CAUGHT)
    told = dict(caught.select("way", "value").iter_rows())
    return float(told[ALL] - max(told[name] for name in TRACES))
