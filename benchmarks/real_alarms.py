"""Whether an FPR of 1 in 100 and of 1 in 1,000 holds for people of every style: synthetic worlds and real Aion.

    python benchmarks/real_alarms.py [--accounts 9000] [--seeds 3] [--games lineage,aion,blade-and-soul]
    python benchmarks/real_alarms.py --games none --deals 71 72 73

Synthetic: models learn from one world and judge the humans of another, every game and several seeds; once with one
reference for all people and once by style, and by the personas the game knows and no rule can see. Real: what a user
does with the characters of Kang et al. under $GAMEWARDEN_DATA/aion. Two thirds of the accounts go through `fit
account-table`, the other third through `score`; people are accounts, by the hours a day of their busiest character.
The same model with one reference for all stands beside it, and what it says of probabilities. Intervals are 95 %
(Clopper–Pearson) of all seeds or deals together; deals share their characters, so that there they are too narrow.
"""

import argparse
import os
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import polars as pl

from figures import record
from gamewarden import readers
from gamewarden.core.binomial import lower_bound, upper_bound
from gamewarden.detectors import load
from gamewarden.detectors.account_table.model import AccountTableModel
from gamewarden.evaluation.fprs import PROMISES
from gamewarden.features.account_table.recipe import AccountTable
from gamewarden.features.self_similarity.recipe import SelfSimilarity
from gamewarden.lab.world import World
from gamewarden.learning import folds
from gamewarden.learning.reference import Reference
from gamewarden.pipeline import TableFitOptions, fit_table, score
from gamewarden.tables import FrameRows

DETECTORS = ("account-day", "self-similarity")
ALL_DAY = 16 * 3600
COLUMNS = ("data", "detector", "kind", "group", "reference", "fpr")
QUOTED = {
    "all": "all people",
    "busiest": "fifth 5 of hours a day",
    "all_day": "of 16 hours a day and more",
    "bots": "(bots)",
}
SAYS = (
    "{fitted_all:.2%} ({fitted_all_low:.2%}–{fitted_all_high:.2%}) of all accounts",
    "{fitted_busiest:.2%} ({fitted_busiest_low:.2%}–{fitted_busiest_high:.2%}) of the busiest fifth",
    "{fitted_all_day:.1%} ({fitted_all_day_low:.1%}–{fitted_all_day_high:.1%}) of those who play 16 hours a day",
    "{pooled_all:.2%}, {pooled_busiest:.1%} and {pooled_all_day:.0%}",
    "catches {fitted_bots:.0%} of the bots instead of {pooled_bots:.0%}",
    "{said_high:.3f} said and {seen_high:.3f} seen, {said_highest:.3f} said and {seen_highest:.3f} seen",
)
SAID = (0.0, 0.02, 0.05, 0.1, 0.3, 0.5, 0.8, 0.9, 0.95, 0.98, 0.99, 1.01)


def synthetic(game: str, accounts: int, seed: int) -> Iterator[pl.DataFrame]:
    """FPRs of fresh humans: actor, group, FPR and which reference it came from."""
    known, fresh = World(game, accounts, 1, seed, bots=0.2), World(game, accounts, 1, seed + 1000, bots=0.0)
    recipe = SelfSimilarity().learn(known)
    learned, table = recipe.measure(known), recipe.measure(fresh).filter(pl.col("self_sim").is_not_null())
    persona = table["actor"].replace_strict(fresh.truth())
    for detector in DETECTORS:
        model = load(detector)(feature=recipe).fit(learned, known.labels())
        style = model.styles.rule.tell(table)
        for name, judge in (("all people", replace(model, styles=None)), ("by style", model)):
            fprs = judge.score(table)["fpr"]
            for kind, group in (("style", style), ("persona", persona)):
                yield pl.DataFrame(
                    {"data": f"synthetic {game}", "detector": detector, "reference": name, "kind": kind}
                    | {"group": group, "fpr": fprs}
                )


def aion(source: Path, deal: int) -> tuple[pl.DataFrame, pl.DataFrame]:
    """FPRs of human accounts the model never saw, and what it said of all their characters, by the user's path."""
    raw = pl.read_csv(source)
    accounts = raw["A_Acc"].cast(pl.String).to_numpy().astype(np.str_)
    fresh = pl.Series(folds.assign_folds(accounts, (raw["Type"] == "Bot").to_numpy(), 3, deal) == 0)
    with TemporaryDirectory() as place:
        known, new, models = (Path(place) / name for name in ("known.csv", "new.csv", "models"))
        raw.filter(~fresh).write_csv(known)
        raw.filter(fresh).drop("Type").write_csv(new)
        asked = TableFitOptions(AccountTable(actor="Actor", group="A_Acc", label="Type"), "Bot", {})
        model = fit_table(asked, readers.open(known), models).model
        scores = score(readers.open(new), models).frame
    print(f"\ndeal {deal}: the fit's own prices", *_priced(model), sep="\n", flush=True)
    told = (
        raw.filter(fresh).with_columns(pl.col("Actor").cast(pl.String)).join(scores, left_on="Actor", right_on="actor")
    )
    table = model_table(model, raw.filter(fresh))
    pooled = {"one reference, rows": _alone(model, rows=True), "one reference, accounts": _alone(model, rows=False)}
    fprs = {name: judge.score(table).select("actor", "fpr") for name, judge in pooled.items()}
    fprs["as fitted"] = scores.select("actor", "fpr")
    borders = raw.filter(~fresh & (pl.col("Type") == "Human"))["playtime_per_day"].quantile
    fifths = [borders(share, "higher") for share in (0.2, 0.4, 0.6, 0.8)]
    people = [_people(told.drop("fpr"), fpr, fifths).with_columns(reference=pl.lit(name)) for name, fpr in fprs.items()]
    said = told.select("Actor", pl.col("Type") == "Bot").join(model.score(table), left_on="Actor", right_on="actor")
    return pl.concat(people), said.select("Type", "probability")


def _priced(model: AccountTableModel) -> list[str]:
    return [f"  {choice}: {price}" for choice, price in model.validation["promises"].items()]


def model_table(model: AccountTableModel, raw: pl.DataFrame) -> pl.DataFrame:
    """The rows as the model sees them."""
    return AccountTable.from_dict(model.feature.options).measure(FrameRows(raw))


def _alone(model: AccountTableModel, *, rows: bool) -> AccountTableModel:
    """The same model with one reference for all people, a person being a row or an account."""
    persons = tuple(range(len(model.peers.persons))) if rows else model.peers.persons
    humans = pl.DataFrame({"person": persons, "held_out": model.peers.held_out})
    return replace(model, reference=Reference.of(humans, "person"), peers=replace(model.peers, ladders=(), steps=()))


def _people(told: pl.DataFrame, fprs: pl.DataFrame, fifths: list[float]) -> pl.DataFrame:
    """One row an account and group it is in: its lowest FPR; bots one row a character."""
    rows = told.join(fprs, left_on="Actor", right_on="actor")
    humans = rows.filter(Type="Human").group_by("A_Acc").agg(pl.col("fpr").min(), pl.col("playtime_per_day").max())
    fifth = "fifth " + (1 + pl.Series(np.searchsorted(fifths, humans["playtime_per_day"], side="right"))).cast(
        pl.String
    )
    groups = [
        humans.select("fpr", group=pl.lit("all people")),
        humans.select("fpr", group=fifth + " of hours a day"),
        humans.filter(pl.col("playtime_per_day") >= ALL_DAY).select("fpr", group=pl.lit("of 16 hours a day and more")),
        rows.filter(Type="Bot").select("fpr", group=pl.lit("(bots)")),
    ]
    heads = {"data": "real Aion", "detector": "account-table", "kind": "accounts"}
    return pl.concat(groups).with_columns(pl.lit(text).alias(name) for name, text in heads.items())


def figures_of(people: pl.DataFrame, said: pl.DataFrame) -> dict[str, float]:
    """The real figures that are quoted: shares at a promised 1 % with intervals, and what probabilities came to."""
    found: dict[str, float] = {}
    for name, reference in (("fitted", "as fitted"), ("pooled", "one reference, rows")):
        for short, group in QUOTED.items():
            fprs = people.filter(reference=reference, group=group)["fpr"]
            flagged = int((fprs <= PROMISES[0] + 1e-9).sum())
            found[f"{name}_{short}"] = flagged / fprs.len()
            found[f"{name}_{short}_low"] = lower_bound(flagged, fprs.len(), 0.025)
            found[f"{name}_{short}_high"] = upper_bound(flagged, fprs.len(), 0.025)
    for short, low, high in (("high", 0.8, 0.95), ("highest", 0.95, 1.01)):
        part = said.filter(pl.col("probability") >= low, pl.col("probability") < high)
        found |= {f"said_{short}": part["probability"].mean(), f"seen_{short}": part["Type"].mean()}
    return found


def reliability(said: pl.DataFrame) -> pl.DataFrame:
    """What was said and what was seen on characters of accounts the model never saw."""
    rows = []
    for low, high in pairwise(SAID):
        part = said.filter(pl.col("probability") >= low, pl.col("probability") < high)
        bots, rows_there = int(part["Type"].sum()), part.height
        if rows_there:
            ends = [bound(bots, rows_there, 0.025) for bound in (lower_bound, upper_bound)]
            seen = f"{bots / rows_there:.3f} ({ends[0]:.3f} – {ends[1]:.3f})"
            rows.append({"rows": rows_there, "said": f"{part['probability'].mean():.3f}", "bots seen": seen})
    return pl.DataFrame(rows)


def summary(fprs: pl.DataFrame) -> pl.DataFrame:
    """Realised rates with intervals, one row a group and promise."""
    rows = []
    keys = ("data", "detector", "kind", "group", "reference")
    for key, part in fprs.partition_by(keys, as_dict=True).items():
        row = dict(zip(keys, key, strict=True)) | {"humans": part.height}
        for promise in PROMISES:
            flagged = int((part["fpr"] <= promise + 1e-9).sum())
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
    parser.add_argument("--deals", type=int, nargs="+", default=[71], help="of the real accounts")
    parser.add_argument("--record", action="store_true", help="keep the real figures in docs/figures")
    given = parser.parse_args()
    parts = [
        part
        for game in given.games.split(",")
        if game != "none"
        for seed in range(1, given.seeds + 1)
        for part in synthetic(game, given.accounts, seed)
    ]
    data, said = os.environ.get("GAMEWARDEN_DATA"), []
    if data and (path := Path(data) / "aion" / "characters.csv").exists():
        for deal in given.deals:
            people, told = aion(path, deal)
            parts.append(people)
            said.append(told)
    else:
        print("GAMEWARDEN_DATA is not set or has no aion/characters.csv: real characters are left out")
    with pl.Config(tbl_rows=-1, tbl_cols=-1, tbl_width_chars=160, fmt_str_lengths=60):
        print(
            summary(pl.concat([part.select(COLUMNS).with_columns(pl.exclude("fpr").cast(pl.String)) for part in parts]))
        )
        if said:
            print("probabilities of real characters", reliability(pl.concat(said)), sep="\n")
    if given.record and said:
        command = f"python benchmarks/real_alarms.py --games none --deals {' '.join(map(str, given.deals))} --record"
        real = pl.concat([part for part in parts if part["data"][0] == "real Aion"])
        record("real_alarms", command, figures_of(real, pl.concat(said)), SAYS)


if __name__ == "__main__":
    main()
