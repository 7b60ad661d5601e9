"""Lee et al. (NDSS 2016): AUC of self-similarity alone and of all 14 features in three games, beside synthetic worlds.

The published figures come from labelled characters of three live games; ours from calibrated synthetic worlds, and are
marked so. They say that the method works as described on players built to be as hard to tell apart, no more.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import mean
from tempfile import TemporaryDirectory

import polars as pl

from gamewarden.contracts import Progress, no_progress
from gamewarden.detectors.logistic.recipe import AccountDay, SelfSimilarityAlone
from gamewarden.evaluation.cross_validation import evaluate
from gamewarden.features.self_similarity.recipe import SelfSimilarity
from gamewarden.lab.studies import Number
from gamewarden.lab.world import World, write
from gamewarden.presentation.plots import plot_roc, plot_self_similarity
from gamewarden.readers.logs.tables import open_events

ACCOUNTS = 2400  # so that more than 1,000 of each class play on the day
SEEDS = 3
NUMBERS = (
    Number("accounts", 100, ACCOUNTS, "Accounts a game and seed."),
    Number("seeds", 1, SEEDS, "Worlds a game."),
)


@dataclass(frozen=True)
class Published:
    """What the paper reports of one game: slides, table of results; medians read off its Figure 9 (±0.0003)."""

    bots: int
    humans: int
    auc_1: float
    auc_2: float
    bot_median: float
    human_median: float


PUBLISHED = {
    "lineage": Published(128, 149, 0.8967, 0.9455, 0.9981, 0.9965),
    "aion": Published(186, 160, 0.9557, 0.9942, 0.9974, 0.9925),
    "blade-and-soul": Published(131, 129, 0.8280, 0.9399, 0.9887, 0.9807),
}


@dataclass(frozen=True)
class Run:
    """One synthetic world of one game: what was measured, and how well it was told apart."""

    game: str
    seed: int
    measured: pl.DataFrame
    labels: pl.DataFrame
    scores: pl.DataFrame
    summary: pl.DataFrame

    def auc(self, detector: str) -> float:
        """The AUC over account-days."""
        return float(
            self.summary.row(by_predicate=(pl.col("detector") == detector) & (pl.col("unit") == "period"), named=True)[
                "auc"
            ]
        )

    def median(self, *, bot: bool) -> float:
        """The median self-similarity of one class."""
        mine = self.measured.join(self.labels.filter(bot=bot), on="actor", how="semi")
        return float(mine["self_sim"].drop_nulls().median())  # type: ignore[arg-type]  # a world has players of both classes


@dataclass(frozen=True)
class Study:
    """The table, the runs behind it, and what has to be said beside it."""

    title: str
    frame: pl.DataFrame
    runs: tuple[Run, ...]
    notes: tuple[str, ...]
    more: tuple[tuple[str, pl.DataFrame], ...] = ()  # further tables, by their names


def steps(accounts: int, seeds: int) -> int:
    """How many worlds are played."""
    del accounts
    return len(PUBLISHED) * seeds


def run(accounts: int = ACCOUNTS, seeds: int = SEEDS, progress: Progress = no_progress) -> Study:
    """Play every game with seeds 1, 2, 3 … and tell bots from humans, an account held out at a time of ten parts."""
    runs = tuple(_runs(accounts, seeds, progress))
    frame = pl.DataFrame([row for game in PUBLISHED for row in _rows(game, [one for one in runs if one.game == game])])
    return Study(
        f"Lee et al. 2016 beside SYNTHETIC worlds ({accounts:,} accounts a world, one day, {seeds} worlds a game)",
        frame,
        runs,
        (
            "Ours are synthetic: worlds calibrated to be as hard as the published games, not those games.",
            "AUC over account-days, cross-validated by account; lowest and highest of the worlds of a game.",
        ),
    )


def draw(study: Study, directory: Path) -> list[Path]:
    """The self-similarity of both classes (like the paper's Figure 9) and the ROC curves, a picture each a game."""
    drawn = []
    for one in study.runs:
        if one.seed == 1:
            clouds, curves = (directory / f"lee-{one.game}-{kind}.png" for kind in ("self-similarity", "roc"))
            plot_self_similarity(one.measured, one.labels, clouds, f"{one.game} (synthetic)")
            plot_roc(one.scores, curves, f"{one.game} (synthetic), held-out account-days")
            drawn += [clouds, curves]
    return drawn


def _runs(accounts: int, seeds: int, progress: Progress) -> Iterator[Run]:
    for game in PUBLISHED:
        for seed in range(1, seeds + 1):
            yield _run(game, accounts, seed)
            progress(1)


def _run(game: str, accounts: int, seed: int) -> Run:
    world = World(game, accounts, days=1, seed=seed)
    feature = SelfSimilarity()
    with TemporaryDirectory() as place:
        write(world, Path(place))
        measured = feature.measure(open_events(Path(place) / "events.parquet"))
    labels = world.labels()
    result = evaluate([SelfSimilarityAlone(feature=feature), AccountDay(feature=feature)], measured, labels)
    return Run(game, seed, measured, labels, result.scores, result.summary)


def _rows(game: str, runs: list[Run]) -> Iterator[dict[str, object]]:
    paper = PUBLISHED[game]
    figures = {
        "AUC of model 1 (self-similarity)": (paper.auc_1, [run.auc(SelfSimilarityAlone.name) for run in runs]),
        "AUC of model 2 (14 features)": (paper.auc_2, [run.auc(AccountDay.name) for run in runs]),
        "median self-similarity of bots": (paper.bot_median, [run.median(bot=True) for run in runs]),
        "median self-similarity of humans": (paper.human_median, [run.median(bot=False) for run in runs]),
    }
    for figure, (published, ours) in figures.items():
        yield {
            "game": game,
            "figure": figure,
            "published": published,
            "synthetic": mean(ours),
            "lowest": min(ours),
            "highest": max(ours),
        }
