"""How well a model of an operator's own table finds the bots of Aion (GAMEWARDEN_DATA/aion/characters.csv).

29,785 characters of 88 days of 2010 (Kang et al. 2016), held out by account in 5 folds; nothing is learned outside the
training folds. A line is the mean over the folds with their deviation. The choices behind `account-table` were made on
the deal with seed 1, those behind `--siblings` on 1 and 2; the deals shown here by default are others. `--siblings`
compares the model that sees each row alone with the one that knows the other characters of the account, fold by fold.
"""

import argparse
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl

from gamewarden.detectors.account_table.recipe import AccountTableDetector
from gamewarden.evaluation.metrics import auc, tpr_at_fpr
from gamewarden.features.account_table.labels import labels_of_table
from gamewarden.features.account_table.recipe import AccountTable
from gamewarden.learning import folds
from gamewarden.readers.logs.operator_tables import read_table
from gamewarden.tables import FrameRows

Decide = Callable[[pl.DataFrame, pl.DataFrame, pl.DataFrame], np.ndarray]
FOLDS = 5
RATES = (0.01, 0.001)


def numbers(rows: pl.DataFrame, feature: AccountTable) -> np.ndarray:
    """The operator's columns; -1 for what is missing, since not every method takes gaps."""
    return rows.select(feature.names[:-1]).fill_null(-1.0).to_numpy()


def sklearn_like(make: Callable[[], object], feature: AccountTable) -> Decide:
    """A method that learns from the plain columns."""

    def decide(train: pl.DataFrame, labels: pl.DataFrame, test: pl.DataFrame) -> np.ndarray:
        bot = train.select("actor").join(labels, on="actor", maintain_order="left")["bot"].to_numpy()
        return make().fit(numbers(train, feature), bot).predict_proba(numbers(test, feature))[:, 1]

    return decide


def ours(feature: AccountTable, **options: object) -> Decide:
    """The product's own detector."""

    def decide(train: pl.DataFrame, labels: pl.DataFrame, test: pl.DataFrame) -> np.ndarray:
        return AccountTableDetector(feature=feature, **options).learn(train, labels).decide(test)

    return decide


def methods(feature: AccountTable) -> dict[str, Decide]:
    """What is compared: the same columns for all."""
    from lightgbm import LGBMClassifier
    from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier

    trees = {"n_estimators": 200, "min_samples_leaf": 3, "random_state": 0, "n_jobs": 1}
    return {
        "logistic regression": ours(feature, method="logistic"),
        "plain boosting": sklearn_like(lambda: LGBMClassifier(verbose=-1, n_jobs=1), feature),
        "random forest": sklearn_like(lambda: RandomForestClassifier(**trees), feature),
        "extra trees": sklearn_like(lambda: ExtraTreesClassifier(**trees), feature),
        "account-table": ours(feature),
    }


def with_siblings(
    feature: AccountTable, table: pl.DataFrame, labels: pl.DataFrame, fold: np.ndarray
) -> list[np.ndarray]:
    """Decisions of the model that sees each row alone, and of the one that knows siblings: a row alone has the same."""
    alone, among = np.empty(fold.size), np.empty(fold.size)
    for part in range(FOLDS):
        out = pl.Series(fold == part)
        judges = AccountTableDetector(feature=feature).learn(table.filter(~out), labels)
        alone[fold == part] = judges.alone.decide(table.filter(out))
        among[fold == part] = judges.decide(table.filter(out))
    return [alone, among]


def gained(one: list[tuple[float, ...]], other: list[tuple[float, ...]]) -> str:
    """The mean gain of the second over the first, with its deviation over the folds."""
    change = np.array(other) - np.array(one)
    cells = [f"{m:+.4f} ± {d:.4f}" for m, d in zip(change.mean(axis=0), change.std(axis=0, ddof=1), strict=True)]
    return f"| gained | {' | '.join(cells)} | |"


def results(decisions: np.ndarray, bot: np.ndarray, fold: np.ndarray) -> list[tuple[float, ...]]:
    """AUC and the share of bots caught at each false positive rate, a row a fold."""
    parts = [(decisions[fold == part], bot[fold == part]) for part in range(FOLDS)]
    return [(auc(d, b), *(tpr_at_fpr(d, b, rate) for rate in RATES)) for d, b in parts]


def shown(name: str, rows: list[tuple[float, ...]], seconds: float) -> str:
    """One line of the table."""
    mean, deviation = np.mean(rows, axis=0), np.std(rows, axis=0, ddof=1)
    cells = [f"{m:.4f} ± {d:.4f}" for m, d in zip(mean, deviation, strict=True)]
    return f"| {name} | {' | '.join(cells)} | {seconds:.0f} |"


def main() -> None:
    """Print one table for each deal of the accounts."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, nargs="+", default=[11])
    parser.add_argument("--only", nargs="+", help="names of methods")
    parser.add_argument("--siblings", action="store_true", help="what knowing the account's other characters gains")
    asked = parser.parse_args()
    source = Path(os.environ["GAMEWARDEN_DATA"]) / "aion" / "characters.csv"
    rows = FrameRows(read_table(source), source.name)
    feature = AccountTable(actor="Actor", group="A_Acc", label="Type", siblings=asked.siblings).learn(rows)
    table = feature.measure(rows)
    labels, _ = labels_of_table(rows, feature, "Bot")
    known = table.select("actor").join(labels, on="actor", maintain_order="left")
    bot, group = known["bot"].to_numpy(), known["group"].to_numpy().astype(np.str_)
    for seed in asked.seeds:
        fold = folds.assign_folds(group, bot, FOLDS, seed)
        print(
            f"\n{bot.sum():,} bots, {(~bot).sum():,} humans; 5 folds by account (A_Acc), deal {seed}; mean ± deviation"
        )
        print("| method | AUC | TPR at 1 % FPR | TPR at 0.1 % FPR | CPU s |\n|---|---|---|---|---|", flush=True)
        if asked.siblings:
            start = time.process_time()
            told = [results(decisions, bot, fold) for decisions in with_siblings(feature, table, labels, fold)]
            print(shown("account-table", told[0], 0))
            print(shown("account-table --siblings", told[1], time.process_time() - start))
            print(gained(*told), flush=True)
            continue
        seen = {}
        for name, decide in methods(feature).items():
            if asked.only and name not in asked.only:
                continue
            start = time.process_time()
            seen[name] = np.empty(bot.size)
            for part in range(FOLDS):
                out = pl.Series(fold == part)
                seen[name][fold == part] = decide(table.filter(~out), labels, table.filter(out))
            print(shown(name, results(seen[name], bot, fold), time.process_time() - start), flush=True)
        three = [seen[name] for name in ("plain boosting", "random forest", "extra trees") if name in seen]
        if len(three) == 3:
            print(shown("average of the three", results(np.mean(three, axis=0), bot, fold), 0), flush=True)


if __name__ == "__main__":
    sys.exit(main())
