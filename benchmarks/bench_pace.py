"""What the pace adds to chunks of actions on synthetic play: accounts, and whole farms, held out.

    python benchmarks/bench_pace.py [--seeds 101 102] [--accounts 150] [--record]

Every game and seed is a world of one day; the same folds are judged with the published vectors and with the pace beside
them. Seeds 101 to 109 are those on which choices were made; figures come from others.
"""

import argparse

import polars as pl

from figures import Figure, record
from gamewarden.detectors.actions.recipe import Frequency, Interval
from gamewarden.evaluation.cross_validation import evaluate
from gamewarden.features.actions.recipe import Actions
from gamewarden.lab.world import World

GAMES = ("aion", "lineage", "blade-and-soul")
SAYS = (
    (
        "on average AUC {frequency:.3f} becomes {frequency_pace:.3f} for frequencies and {interval:.3f} becomes "
        "{interval_pace:.3f} for intervals; counting actions has {events_alone:.3f}"
    ),
)


def judged(game: str, seed: int, accounts: int) -> pl.DataFrame:
    """The AUC by account of each method with and without pace in one world, farms held out whole."""
    world = World(game, accounts, days=1, seed=seed)
    told = world.labels()
    known = told.select("actor", group=pl.coalesce("farm", "actor"))
    parts = []
    for pace in (False, True):
        feature = Actions(max_freq=True, pace=pace).learn(world)
        seen = evaluate([Frequency(feature), Interval(feature)], feature.measure(world), told, groups=known, folds=4)
        parts.append(seen.summary.filter(unit="actor").with_columns(pace=pl.lit(pace)))
    return pl.concat(parts).with_columns(game=pl.lit(game), seed=pl.lit(seed)).filter(pl.col("detector") != "dummy")


def main() -> None:
    """Print a row per game, seed and method, and keep the means if asked to."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, nargs="+", default=[101])
    parser.add_argument("--games", nargs="+", default=GAMES)
    parser.add_argument("--accounts", type=int, default=150)
    parser.add_argument("--record", action="store_true", help="keep the means for docs/results.md")
    given = parser.parse_args()
    parts = []
    for seed in given.seeds:
        for game in given.games:
            parts.append(judged(game, seed, given.accounts))
            for row in parts[-1].iter_rows(named=True):
                told = f"AUC {row['auc']:.3f}, TPR at 1 % {row['tpr_at_1pct']:.3f}, MCC {row['mcc']:.3f}"
                print(f"{game} {seed} {row['detector']}{' with pace' if row['pace'] else ''}: {told}", flush=True)
    means = pl.concat(parts).group_by("detector", "pace").agg(pl.col("auc").mean())
    figures: dict[str, Figure] = {_name(row): row["auc"] for row in means.iter_rows(named=True)}
    print(SAYS[0].format(**figures))
    if given.record:
        print(record("bench_pace", "python benchmarks/bench_pace.py --seeds … --record", figures, SAYS))


def _name(row: dict[str, object]) -> str:
    name = str(row["detector"]).removeprefix("actions-").replace(" ", "_")
    return f"{name}_pace" if row["pace"] and name != "events_alone" else name


if __name__ == "__main__":
    main()
