"""Whether fusing detectors beats the best of them, and on which bot family it would not (synthetic worlds).

    python benchmarks/bench_fusion.py [--accounts 900] [--seeds 2] [--games lineage,aion,blade-and-soul]

In every world three actors in ten are held out. The detectors learn from the others; the fusion learns from what the
same recipes, fitted without a part of these others, say of that part. Everything is then judged on the held-out actors,
an actor's day at a time. Figures are means over the worlds of a game; `best single` is the detector with the highest
AUC of all in that game, chosen on the held-out actors themselves, which favours it.
"""

import argparse
from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl

from gamewarden.core.durations import DAY
from gamewarden.detectors import feature_of, load
from gamewarden.detectors.fusion.recipe import Fusion
from gamewarden.evaluation.metrics import auc, tpr_at_fpr
from gamewarden.features.actions.recipe import Actions
from gamewarden.features.self_similarity.recipe import SelfSimilarity
from gamewarden.lab.studies.thawonmas_cast import RESOURCES
from gamewarden.lab.world import World
from gamewarden.pipeline.fitting import fuse
from gamewarden.verdicts.combining import combine
from gamewarden.verdicts.periods import KEY, Clock, infos_of, played, roll_up, side_by_side

DETECTORS = ("account-day", "self-similarity", "actions-interval", "actions-frequency", "actions-two-stage")
LEARNED_FROM = 1200  # chunks the machines learn from: a linear machine gains little from more
DISCOUNT = 0.3
HALF = 0.5  # of the accounts of these worlds are bots
FUSED, COMBINED = "fusion (learned)", "combined (no labels)"
EVERYBODY = "all bots"
FEWEST = 3  # bots of a family below which an AUC says nothing


def judged(world: World, seed: int) -> pl.DataFrame:
    """One row a held-out actor's day: who it is, and what each detector and both ways of fusing say."""
    labels, cut = world.labels(), Clock(DAY)
    measured = {
        feature.name: (frozen := feature.learn(world), frozen.measure(world))
        for feature in (SelfSimilarity(), Actions(kinds=RESOURCES, max_freq=True))
    }
    persona = np.array([f"{name}" for name in world.truth().values()])
    out = labels["actor"].filter(pl.Series(_held_out(labels["actor"].to_numpy().astype(str), persona, seed)))
    known, fresh = ~pl.col("actor").is_in(out.implode()), pl.col("actor").is_in(out.implode())
    models, features = [], {}
    for name in DETECTORS:
        recipe, table = measured[feature_of(name)]
        options: Mapping[str, Any] = {"most": LEARNED_FROM} if feature_of(name) == "actions" else {}
        model = load(name)(feature=recipe, **options).fit(table.filter(known), labels.filter(known))
        models.append(model)
        features[model.card.id] = table
    fusion = fuse(
        models,
        {name: table.filter(known) for name, table in features.items()},
        labels.filter(known),
        fusion=Fusion(),
        cut=cut,
        discount=DISCOUNT,
    )
    scores = pl.concat([model.score(features[model.card.id].filter(fresh)) for model in models])
    parts = roll_up(scores, infos_of(models), cut, DISCOUNT)
    wide = side_by_side(parts, played(features.values(), fusion.styles.rule, cut))
    both = wide.with_columns(fusion.score(wide)["probability"].alias(FUSED)).join(
        combine(parts, DISCOUNT, HALF).select(*KEY, pl.col("probability").alias(COMBINED)), on=KEY
    )
    named = both.rename({model.card.id: model.card.detector for model in models})
    return named.select(
        "actor", *DETECTORS, FUSED, COMBINED, persona=pl.col("actor").replace_strict(world.truth())
    ).join(labels.select("actor", "bot"), on="actor")


def _held_out(actors: np.ndarray, persona: np.ndarray, seed: int) -> np.ndarray:
    """Three in ten of every persona."""
    out = np.zeros(actors.size, dtype=bool)
    for name in np.unique(persona):
        own = np.flatnonzero(persona == name)
        out[np.random.default_rng([seed, own[0]]).permutation(own)[: round(0.3 * own.size)]] = True
    return out


def results(table: pl.DataFrame) -> list[dict[str, Any]]:
    """AUC of every way of judging, against all humans: of all bots, and family by family."""
    rows = []
    bot, persona = table["bot"].to_numpy(), table["persona"].to_numpy()
    for family in (EVERYBODY, *sorted(set(persona[bot]))):
        mine = bot if family == EVERYBODY else (persona == family)
        if mine.sum() < FEWEST:
            continue
        kept = mine | ~bot
        for way in (*DETECTORS, FUSED, COMBINED):
            # A detector that said nothing of a day leaves it in the middle.
            said = table[way].fill_null(0.0 if way in DETECTORS else 0.5).to_numpy()[kept]
            rows.append(
                {
                    "family": family,
                    "way": way,
                    "bots": int(mine.sum()),
                    "auc": auc(said, bot[kept]),
                    "tpr": tpr_at_fpr(said, bot[kept], 0.01),
                }
            )
    return rows


def summary(rows: pl.DataFrame) -> pl.DataFrame:
    """One line a game and family: the game's best single detector beside both ways of fusing."""
    mean = rows.group_by("game", "family", "way").agg(pl.col("auc", "tpr").mean(), pl.col("bots").sum())
    lines = []
    for game in mean["game"].unique().sort():
        own = mean.filter(game=game)
        singles = own.filter(pl.col("way").is_in(DETECTORS))
        best = singles.filter(family=EVERYBODY).sort("auc")["way"][-1]
        for family in (EVERYBODY, *own["family"].filter(own["family"] != EVERYBODY).unique().sort()):
            one = {row["way"]: row for row in own.filter(family=family).iter_rows(named=True)}
            lines.append(
                {
                    "game": game,
                    "family": family,
                    "bots": one[FUSED]["bots"],
                    "best single": best,
                    "its AUC": one[best]["auc"],
                    FUSED: one[FUSED]["auc"],
                    "gain": one[FUSED]["auc"] - one[best]["auc"],
                    COMBINED: one[COMBINED]["auc"],
                    "family's best": max(one[way]["auc"] for way in DETECTORS),
                    "TPR at 1 %, best": one[best]["tpr"],
                    "TPR at 1 %, fusion": one[FUSED]["tpr"],
                }
            )
    return pl.DataFrame(lines)


def main() -> None:
    """Print the table, and whether the fusion keeps what it promises."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--accounts", type=int, default=900)
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--games", default="lineage,aion,blade-and-soul")
    given = parser.parse_args()
    rows = [
        {"game": game, "seed": seed, **row}
        for game in given.games.split(",")
        for seed in range(1, given.seeds + 1)
        for row in results(judged(World(game, given.accounts, 1, seed), seed))
    ]
    found = summary(pl.DataFrame(rows))
    with pl.Config(tbl_rows=-1, tbl_cols=-1, tbl_width_chars=200, float_precision=3, fmt_str_lengths=40):
        print(found)
    whole = found.filter(family=EVERYBODY)
    print(f"Synthetic. Gain over the best single detector, game by game: {whole['gain'].round(4).to_list()}")
    worst = found.filter(pl.col("family") != EVERYBODY).sort("gain").row(0, named=True)
    print(f"Worst family beside it: {worst['family']} in {worst['game']}, {worst['gain']:+.4f} AUC")


if __name__ == "__main__":
    main()
