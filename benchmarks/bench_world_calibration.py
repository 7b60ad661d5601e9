"""How hard the synthetic games are, beside the published ones: the calibration table of docs/world.md.

Every figure is synthetic. Bars: both AUCs within 0.03 of the published in every world, medians of self-similarity
ordered as published with bots above humans, no single feature at 0.99.
"""

import argparse
from dataclasses import dataclass

import numpy as np
import polars as pl

from gamewarden.detectors.logistic.recipe import AccountDay, SelfSimilarityAlone
from gamewarden.evaluation.cross_validation import evaluate
from gamewarden.evaluation.metrics import auc
from gamewarden.features.self_similarity.recipe import SelfSimilarity
from gamewarden.lab.studies.lee import PUBLISHED
from gamewarden.lab.world import World
from gamewarden.lab.world.personas import PERSONAS

QUARTILES = {  # Lee et al., Figure 9, read off to ±0.0003
    "lineage": ((0.9975, 0.9981, 0.9985), (0.9950, 0.9965, 0.9974)),
    "aion": ((0.9967, 0.9974, 0.9978), (0.9895, 0.9925, 0.9943)),
    "blade-and-soul": ((0.9865, 0.9887, 0.9895), (0.9760, 0.9807, 0.9837)),
}
FEATURES = [name for name in SelfSimilarity().names if name != "windows"]
FPR = 0.01  # of all human account-days


@dataclass(frozen=True)
class Played:
    """One world: its account-days with persona, features and the held-out evidence of both models."""

    days: pl.DataFrame

    @property
    def humans(self) -> pl.DataFrame:
        """The account-days of people."""
        return self.days.filter(~pl.col("bot"))

    def auc(self, column: str, persona: str | None = None) -> float:
        """How well a column tells bots, or one family of them, from all humans."""
        bots = self.days.filter("bot") if persona is None else self.days.filter(persona=persona)
        both = pl.concat([bots, self.humans]).drop_nulls(column)
        found = auc(both[column].to_numpy().astype(float), both["bot"].to_numpy())
        return float("nan") if found is None else found

    def fprs(self, column: str, persona: str) -> float:
        """The share of a group's account-days above the threshold that one in a hundred of all humans passes."""
        threshold = self.humans[column].quantile(1 - FPR, "linear")
        return float((self.humans.filter(persona=persona)[column] > threshold).mean() or 0.0)

    def quartiles(self, *, bot: bool) -> str:
        """Of self-similarity."""
        return quarters(self.days.filter(bot=bot)["self_sim"].quantile(q, "linear") or 0.0 for q in (0.25, 0.5, 0.75))


def quarters(values: object) -> str:
    """Three numbers as they stand in the documents."""
    return " / ".join(f"{value:.4f}" for value in values)  # type: ignore[attr-defined]


def play(world: World) -> Played:
    """One world, measured and judged by models that did not see the account."""
    feature = SelfSimilarity()
    measured = feature.measure(world)
    result = evaluate([SelfSimilarityAlone(feature=feature), AccountDay(feature=feature)], measured, world.labels())
    held_out = result.scores.pivot("detector", index=["actor", "since", "bot"], values="evidence")
    truth = pl.DataFrame(list(world.truth().items()), schema=["actor", "persona"], orient="row")
    joined = held_out.join(measured, on=["actor", "since"]).join(truth, on="actor")
    return Played(joined.rename({SelfSimilarityAlone.name: "model_1", AccountDay.name: "model_2"}))


def show(game: str, worlds: list[Played]) -> None:
    """A game's tables."""
    paper = PUBLISHED[game]
    for name, published in (("model_1", paper.auc_1), ("model_2", paper.auc_2)):
        ours = [world.auc(name) for world in worlds]
        far = max(abs(value - published) for value in ours)
        print(f"  {name} AUC {listed(ours)}   published {published}   furthest {far:.4f} (bar 0.03)")
    for bot, published_quartiles in zip((True, False), QUARTILES[game], strict=True):
        found = "   ".join(world.quartiles(bot=bot) for world in worlds)
        print(f"  self_sim of {'bots  ' if bot else 'humans'} {found}   published {quarters(published_quartiles)}")
    for feature in FEATURES:
        print(f"  {feature:20} alone, AUC {listed(world.auc(feature) for world in worlds)}")
    played = {name for world in worlds for name in world.days["persona"]}
    for persona in (persona for persona in PERSONAS if persona.bot and persona.name in played):
        ones = listed(world.auc("model_1", persona.name) for world in worlds)
        twos = listed(world.auc("model_2", persona.name) for world in worlds)
        print(f"  {persona.name:20} against all humans, AUC model 1 {ones}   model 2 {twos}")
    for persona in (persona for persona in PERSONAS if not persona.bot and persona.name in played):
        ones = listed(world.fprs("model_1", persona.name) for world in worlds)
        twos = listed(world.fprs("model_2", persona.name) for world in worlds)
        print(f"  {persona.name:20} false alarms at 1 % of all humans, model 1 {ones}   model 2 {twos}")


def listed(values: object) -> str:
    """Mean and each."""
    found = list(values)  # type: ignore[call-overload]
    return f"{np.nanmean(found):.4f} ({', '.join(f'{value:.4f}' for value in found)})"


def main() -> None:
    """Play every game with every seed and print its tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--accounts", type=int, default=2400, help="a world; half are bots, and not all play every day")
    parser.add_argument("--days", type=int, default=1)
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--society", action="store_true")
    parser.add_argument("--games", nargs="+", default=list(PUBLISHED))
    options = parser.parse_args()
    for game in options.games:
        played = (World(game, options.accounts, options.days, seed, society=options.society) for seed in options.seeds)
        worlds = [play(world) for world in played]
        what = f"{options.accounts} accounts{' in a society' if options.society else ''}, {options.days} day(s)"
        print(f"{game}: synthetic, {what}, seeds {options.seeds}", flush=True)
        show(game, worlds)


if __name__ == "__main__":
    main()
