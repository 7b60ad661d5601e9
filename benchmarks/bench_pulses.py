"""Whom the rules of a pulse find, and what pulses cost beside self-similarity.

    python benchmarks/bench_pulses.py [--seeds 101] [--games aion lineage blade-and-soul] [--accounts 300] [--society]

Every game and seed is a synthetic world of one day. The usual bot of the published rule is the median of the labelled
bots that are no occasional ones, each by its highest span. Seeds 101 to 109 are those on which choices were made.
"""

import argparse
import time
from dataclasses import replace

import polars as pl
import pyarrow as pa

from gamewarden.contracts import sight_of
from gamewarden.features.pulses.recipe import Pulses
from gamewarden.features.pulses.rows import Pieces, frame_of
from gamewarden.features.self_similarity.recipe import SelfSimilarity
from gamewarden.lab.world import World

GAMES = ("aion", "lineage", "blade-and-soul")
BARS = (0.5, 0.6)
COLUMNS = ("actor", "at", "kind", "seq", "character", "level", "session")


def folded(recipe: Pulses | SelfSimilarity, world: World, batches: list[pa.RecordBatch]) -> tuple[object, float]:
    """A fold that has seen all rows, and its CPU-seconds."""
    fold = recipe.fold(sight_of("events", world))
    begun = time.process_time()
    for batch in batches:
        fold.push(batch.select(list(fold.columns)))
    fold.again()
    fold.frame()
    return fold, time.process_time() - begun


def by_rule(recipe: Pulses, pieces: Pieces, labels: pl.DataFrame) -> pl.DataFrame:
    """The share of account-days with a pulse, by family and rule."""
    known = labels.select("actor", "bot", "family")
    others = (
        frame_of(recipe, pieces, kills=True).join(known, on="actor").filter("bot", pl.col("family") != "occasional")
    )
    level = float(others["span_self_sim"].drop_nulls().median() or 0.0)
    rules = {f"beat {bar:g}": replace(recipe, steady=bar) for bar in BARS}
    rules["published"] = replace(recipe, rule="published", bot_level=level)
    parts = [
        frame_of(rule, pieces, kills=True).join(known, on="actor").select("family", (pl.col("pulses") > 0).alias(name))
        for name, rule in rules.items()
    ]
    together = pl.concat([parts[0], *(part.drop("family") for part in parts[1:])], how="horizontal")
    return (
        together.group_by("family").agg(days=pl.len(), **{name: pl.col(name).mean() for name in rules}).sort("family")
    )


def main() -> None:
    """Print a table a world, and the CPU of both features."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, nargs="+", default=[101])
    parser.add_argument("--games", nargs="+", default=GAMES)
    parser.add_argument("--accounts", type=int, default=300)
    parser.add_argument("--society", action="store_true")
    given = parser.parse_args()
    pl.Config.set_tbl_rows(-1)
    for seed in given.seeds:
        for game in given.games:
            world = World(game, given.accounts, days=1, seed=seed, society=given.society)
            recipe = Pulses().learn(world)
            days = SelfSimilarity(vocabulary=recipe.vocabulary)
            batches = list(world.batches(COLUMNS))
            for one in (recipe, days):
                folded(one, world, batches[:1])  # compiles
            fold, pulses = folded(recipe, world, batches)
            _, alike = folded(days, world, batches)
            print(f"\n{game}, seed {seed}: {sum(map(len, batches)):,} events, pulses {pulses:.2f} CPU-s, ", end="")
            print(f"self-similarity {alike:.2f}, ratio {pulses / alike:.2f}")
            print(by_rule(recipe, fold.pieces(), world.labels()))


if __name__ == "__main__":
    main()
