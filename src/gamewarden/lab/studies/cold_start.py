"""A first day without labels: how many bots the list finds, and what a first few reviewed accounts are worth.

No paper's figures stand beside it. The worlds are of our own making (`gamewarden world --society`), with one account in
twenty or one in five a bot; the real characters of Aion (Kang et al., 2016) are looked at where GAMEWARDEN_DATA names
their directory, and their labels are used only as what a reviewer answers, and to count in the end.
"""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from gamewarden.contracts import Progress, no_progress
from gamewarden.core.binomial import lower_bound, upper_bound
from gamewarden.detectors.signs.oddness import Oddness, newest_rows
from gamewarden.detectors.signs.recipe import SignsDetector, TableSigns
from gamewarden.evaluation.metrics import auc
from gamewarden.features.account_table.recipe import AccountTable
from gamewarden.features.activity import Activity
from gamewarden.features.signs import Signs
from gamewarden.lab.studies import Number
from gamewarden.lab.studies.cold_start_baselines import baselines
from gamewarden.lab.studies.cold_start_reviews import ACTIVE, FULL, RANDOM, Population, reviewed
from gamewarden.lab.world import World
from gamewarden.presentation.cold_start_plots import plot_precision, plot_reviews
from gamewarden.tables import FrameRows
from gamewarden.verdicts.oddities import usual_zones

ACCOUNTS, ORDERS, DAYS = 4000, 20, 7
NUMBERS = (
    Number("accounts", 300, ACCOUNTS, "Accounts a world."),
    Number("orders", 2, ORDERS, "Orders in which accounts are reviewed, each with other accounts held out."),
)
GAMES = ("lineage", "aion", "blade-and-soul")
SHARES = (0.05, 0.2)
FIRST_SEED = 201  # what counts as a sign was settled while looking at worlds 101
FIRST = (50, 100, 500)
WAYS = ("repeated_way", "same_places", "same_way", "same_way_with")
REAL = "Aion characters (real)"
_FILE = Path("aion") / "characters.csv"
_CHECKED = 100  # reviewed accounts at which orders are compared
_NORMAL = 1.96


@dataclass(frozen=True)
class Study:
    """The table, what is behind it, and what has to be said beside it."""

    title: str
    frame: pl.DataFrame  # precision without labels
    notes: tuple[str, ...]
    more: tuple[tuple[str, pl.DataFrame], ...]
    reviews: pl.DataFrame  # one row per population, order, number of reviewed accounts and way


def steps(accounts: int, orders: int) -> int:
    """How many populations are measured, and orders tried in each."""
    del accounts
    return (len(GAMES) * len(SHARES) + bool(real_file())) * (1 + orders)


def run(accounts: int = ACCOUNTS, orders: int = ORDERS, progress: Progress = no_progress) -> Study:
    """Look at every population without labels, and review it in several orders."""
    precision: list[dict[str, Any]] = []
    reviews: list[dict[str, Any]] = []
    for population in populations(accounts):
        precision += list(found_first(population))
        progress(1)
        for order in range(orders):
            reviews += reviewed(population, order)
            progress(1)
    frame, every = pl.DataFrame(precision), pl.DataFrame(reviews)
    worth = worth_of(every)
    return Study(
        f"Without labels: bots among the first of the list ({accounts:,} accounts a SYNTHETIC world, {DAYS} days)",
        frame,
        tuple(_notes(worth, every)),
        (
            ("What reviewed accounts are worth: means over orders, on accounts held out", worth),
            ("Active order beside random order, the same accounts held out", compared(every)),
        ),
        every,
    )


def draw(study: Study, directory: Path) -> list[Path]:
    """Who is found first without labels, and what reviewed accounts add."""
    first, then = directory / "cold-start-precision.png", directory / "cold-start-reviews.png"
    plot_precision(study.frame, first)
    plot_reviews(worth_of(study.reviews), then)
    return [first, then]


def populations(accounts: int) -> Iterator[Population]:
    """Every game at every share of bots, and the real characters where they are."""
    for game in GAMES:
        for number, share in enumerate(SHARES):
            yield of_world(World(game, accounts, DAYS, FIRST_SEED + number, bots=share, society=True))
    if (file := real_file()) is not None:
        yield of_characters(file)


def of_world(world: World) -> Population:
    """A synthetic society, by the signs of its last week; farms and circles stay on one side."""
    feature = Signs().learn(world)
    labels = world.labels()
    circles = world.circles().group_by("actor").agg(pl.col("group").min())
    known = labels.join(circles, on="actor", how="left")
    truth = known.select("actor", "bot", group=pl.coalesce("farm", "group", "actor"))
    name = f"synthetic {world.game}, {world.bots:.0%} bots"
    zones = usual_zones(Activity().measure(world))
    return Population(name, SignsDetector(feature), feature.measure(world), truth, zones)


def of_characters(file: Path) -> Population:
    """Real characters, one row each; those of one account stay on one side."""
    table = pl.read_csv(file, infer_schema=False)
    source = FrameRows(table, file.name)
    feature = AccountTable(actor="Actor", group="A_Acc", label="Type").learn(source)
    truth = table.select(actor="Actor", bot=pl.col("Type") == "Bot", group="A_Acc")
    return Population(REAL, TableSigns(feature), feature.measure(source), truth)


def real_file() -> Path | None:
    """The real characters, where somebody says where they are."""
    place = os.environ.get("GAMEWARDEN_DATA")
    file = Path(place) / _FILE if place else None
    return file if file is not None and file.is_file() else None


def found_first(population: Population) -> Iterator[dict[str, Any]]:
    """How many of the first are bots: by all signs, without ways, and by methods of others on the same columns."""
    rows, feature = newest_rows(population.rows), population.recipe.feature
    signs = tuple(feature.odd_when)
    ways: dict[str, tuple[str, ...]] = {"oddness": ()}
    if set(WAYS) & set(signs):
        ways["oddness, no ways"] = WAYS
    told = {name: Oddness(feature, without=without).fit(rows).score(rows) for name, without in ways.items()}
    truth = rows.select("actor").join(population.truth, on="actor", how="left", maintain_order="left")["bot"].to_numpy()
    for name, scores in told.items():
        yield _row(population.name, name, scores["oddness"].fill_null(0.0).to_numpy(), truth)
    for name, numbers in baselines(rows.select(signs)).items():
        yield _row(population.name, name, numbers, truth)


def _row(population: str, method: str, oddness: Any, bot: Any) -> dict[str, Any]:  # noqa: ANN401  arrays
    first = bot[np.argsort(-oddness, kind="stable")]
    row = {"population": population, "method": method, "accounts": bot.size, "bots": float(bot.mean())}
    for count in FIRST:
        caught = int(first[:count].sum())
        row |= {
            f"first_{count}": caught / min(count, bot.size),
            f"first_{count}_low": lower_bound(caught, min(count, bot.size), 0.025),
            f"first_{count}_high": upper_bound(caught, min(count, bot.size), 0.025),
        }
    return {**row, "auc": auc(oddness, bot)}


def worth_of(reviews: pl.DataFrame) -> pl.DataFrame:
    """Means over orders, of each population, way and number of reviewed accounts, with what they are of all labels."""
    keys = ["population", "order", "errors"]
    full = reviews.filter(way=FULL).select("population", "seed", full_auc="auc")
    # Every order holds others out, and so leaves another number of labels.
    usual = pl.col("reviewed").mean().over("population", "way").round().cast(pl.Int64)
    once = reviews.with_columns(reviewed=pl.when(way=FULL).then(usual).otherwise("reviewed"))
    both = once.join(full, on=["population", "seed"], how="left").rename({"way": "order"})
    return (
        both.group_by(*keys, "reviewed", maintain_order=True)
        .agg(
            pl.col("auc", "tpr", "bots_found").mean(),
            (pl.col("auc") / pl.col("full_auc")).mean().alias("of_full_auc"),
            (pl.col("auc") / pl.col("full_auc")).min().alias("of_full_auc_lowest"),
            pl.col("modelled").mean(),
        )
        .sort("population", "order", "errors", "reviewed", maintain_order=True)
    )


def compared(reviews: pl.DataFrame) -> pl.DataFrame:
    """Active less random order: the mean difference over orders, and its 95 % interval."""
    plain = reviews.filter(pl.col("errors") == 0)
    sides = {
        way: plain.filter(way=way).select("population", "seed", "reviewed", "auc", "tpr") for way in (ACTIVE, RANDOM)
    }
    paired = sides[ACTIVE].join(sides[RANDOM], on=["population", "seed", "reviewed"], suffix="_random")
    told = [_difference(name) for name in ("auc", "tpr")]
    exprs = [expr for part in told for expr in part]
    return paired.group_by("population", "reviewed", maintain_order=True).agg(*exprs)


def _difference(name: str) -> tuple[pl.Expr, pl.Expr, pl.Expr]:
    gain = pl.col(name) - pl.col(f"{name}_random")
    half = _NORMAL * gain.std() / gain.len().sqrt()
    return (
        gain.mean().alias(f"{name}_gain"),
        (gain.mean() - half).alias(f"{name}_gain_low"),
        (gain.mean() + half).alias(f"{name}_gain_high"),
    )


def _notes(worth: pl.DataFrame, reviews: pl.DataFrame) -> Iterator[str]:
    yield "Worlds are synthetic: players, bots and farms are our own construction (docs/world.md, A society)."
    yield f"Worlds {FIRST_SEED} and {FIRST_SEED + 1} played no part in any choice; 101 and the real characters did."
    if REAL not in set(reviews["population"]):
        yield "The real characters of Aion were left out: GAMEWARDEN_DATA names no directory with aion/characters.csv."
    active = worth.filter(pl.col("order") == ACTIVE, pl.col("errors") == 0, pl.col("reviewed") == _CHECKED)
    for name, share in active.select("population", "of_full_auc").iter_rows():
        yield f"{name}: {_CHECKED} accounts reviewed in active order reach {share:.1%} of the AUC of all labels."
