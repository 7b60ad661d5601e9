"""Whether an alarm of 1 in 100 and of 1 in 1,000 holds for people of every style: synthetic worlds and real Aion.

    python benchmarks/real_alarms.py [--accounts 9000] [--seeds 3] [--games lineage,aion,blade-and-soul]

Synthetic: models learn from one world and judge the humans of another, every game and several seeds; once with one
reference for all people and once by style, and by the personas the game knows and no rule can see. Real: the
characters of Kang et al. under $GAMEWARDEN_DATA/aion, split by account into learning, reference and test thirds,
several times; the model there is a plain gradient boosting, and the borders of the styles are learned. Intervals are
95 % (Clopper–Pearson) of all seeds together; those of the real data share their characters, so that there they are too
narrow.
"""

import argparse
import os
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import polars as pl

from gamewarden.chances import lower_bound, upper_bound
from gamewarden.detectors import load
from gamewarden.evaluation.alarms import PROMISES
from gamewarden.features.self_similarity import SelfSimilarity
from gamewarden.reference import Reference, StyleReferences
from gamewarden.styles import Styles
from gamewarden.world import World

DETECTORS = ("account-day", "self-similarity")


def synthetic(game: str, accounts: int, seed: int) -> Iterator[pl.DataFrame]:
    """Alarms of fresh humans: actor, group, alarm and which reference it came from."""
    known, fresh = World(game, accounts, 1, seed, bots=0.2), World(game, accounts, 1, seed + 1000, bots=0.0)
    recipe = SelfSimilarity().freeze(known)
    learned, table = recipe.measure(known), recipe.measure(fresh).filter(pl.col("self_sim").is_not_null())
    persona = table["actor"].replace_strict(fresh.truth())
    for detector in DETECTORS:
        model = load(detector)(feature=recipe).fit(learned, known.labels())
        style = model.styles.rule.tell(table)
        for name, judge in (("all people", replace(model, styles=None)), ("by style", model)):
            alarms = judge.score(table)["alarm"]
            for kind, group in (("style", style), ("persona", persona)):
                yield pl.DataFrame(
                    {"data": f"synthetic {game}", "detector": detector, "reference": name, "kind": kind}
                    | {"group": group, "alarm": alarms}
                )


def aion(path: Path, seeds: int) -> Iterator[pl.DataFrame]:
    """Alarms of human characters whose accounts neither the model nor the reference knew."""
    from sklearn.ensemble import HistGradientBoostingClassifier

    raw = pl.read_csv(path)
    start = datetime(2010, 4, 9, tzinfo=UTC)
    table = raw.select(
        actor=pl.col("A_Acc").cast(pl.String),
        since=pl.lit(start).dt.cast_time_unit("us"),
        until=pl.lit(start + timedelta(days=1)).dt.cast_time_unit("us"),
        total_use_time_min=pl.col("playtime_per_day") / 60,
        main_char_level=pl.col("Max_level").cast(pl.Float64),
        bot=pl.col("Type") != "Human",
    )
    numbers = raw.drop("Actor", "A_Acc", "Type").cast(pl.Float64, strict=False).fill_null(np.nan).to_numpy()
    accounts = table["actor"].unique().sort()
    for seed in range(seeds):
        third = np.random.default_rng(seed).integers(0, 3, accounts.len())
        part = table["actor"].replace_strict(dict(zip(accounts, third.tolist(), strict=True)), return_dtype=pl.Int64)
        learn = (part == 0).to_numpy()
        model = HistGradientBoostingClassifier(max_iter=150, learning_rate=0.06, random_state=seed)
        model.fit(numbers[learn], table["bot"].to_numpy()[learn])
        judged = table.with_columns(held_out=pl.Series(model.decision_function(numbers)), part=part)
        humans = judged.filter(~pl.col("bot"))
        known, fresh = humans.filter(part=1), humans.filter(part=2)
        pooled, styles = Reference.of(known), StyleReferences.of(Styles(learned=True), known)
        decisions = fresh["held_out"].to_numpy()
        both = {"all people": pooled.alarm(decisions), "by style": styles.alarm(fresh, decisions, pooled)}
        for name, alarms in both.items():
            yield pl.DataFrame(
                {"data": "real Aion", "detector": "boosting", "reference": name, "kind": "style"}
                | {"group": styles.rule.tell(fresh), "alarm": alarms}
            )


def summary(alarms: pl.DataFrame) -> pl.DataFrame:
    """Realised rates with intervals, one row a group and promise."""
    rows = []
    keys = ("data", "detector", "kind", "group", "reference")
    for key, part in alarms.partition_by(keys, as_dict=True).items():
        row = dict(zip(keys, key, strict=True)) | {"humans": part.height}
        for promise in PROMISES:
            flagged = int((part["alarm"] <= promise + 1e-9).sum())
            low, high = (bound(flagged, part.height, 0.025) for bound in (lower_bound, upper_bound))
            row[f"at {promise:.1%}"] = f"{flagged / part.height:.2%} ({low:.2%} – {high:.2%})"
        rows.append(row)
    return pl.DataFrame(rows).sort(keys)


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--accounts", type=int, default=9000)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--games", default="lineage,aion,blade-and-soul")
    given = parser.parse_args()
    parts = [
        part
        for game in given.games.split(",")
        for seed in range(1, given.seeds + 1)
        for part in synthetic(game, given.accounts, seed)
    ]
    data = os.environ.get("GAMEWARDEN_DATA")
    if data and (path := Path(data) / "aion" / "characters.csv").exists():
        parts += aion(path, given.seeds)
    else:
        print("GAMEWARDEN_DATA is not set or has no aion/characters.csv: real characters are left out")
    with pl.Config(tbl_rows=-1, tbl_cols=-1, tbl_width_chars=160, fmt_str_lengths=60):
        print(summary(pl.concat(part.with_columns(pl.exclude("alarm").cast(pl.String)) for part in parts)))


if __name__ == "__main__":
    main()
