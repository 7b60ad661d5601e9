"""A reviewer who answers by the truth, or errs now and then: what accounts are asked about, and what a model learns."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

import polars as pl

from gamewarden.contracts import digest
from gamewarden.detectors.signs.oddness import newest_rows
from gamewarden.detectors.signs.recipe import SignsDetector, TableSigns
from gamewarden.errors import FitError
from gamewarden.evaluation.metrics import auc, tpr_at_fpr
from gamewarden.verdicts.oddities import alike
from gamewarden.verdicts.review_order import CHANCE, Candidate, in_order

SIZES = (20, 50, 100, 200)
ACTIVE, RANDOM, FULL = "active", "random", "all labels"
ERRORS = (0.05, 0.1)  # of the answers of raters who err
FPR = 0.01
_HELD_OUT = 3  # one group in so many is never reviewed
_AGAIN = 25  # answers after which a model is learned anew


@dataclass(frozen=True)
class Population:
    """Rows of signs of everybody, and who is a bot."""

    name: str
    recipe: SignsDetector | TableSigns
    rows: pl.DataFrame  # FEATURES
    truth: pl.DataFrame  # actor, bot, group: who is held out together
    zones: pl.DataFrame | None = None  # actor, zone


def reviewed(population: Population, seed: int) -> Iterator[dict[str, Any]]:
    """What reviewed accounts are worth in one order: active and random, with and without errors, and all labels."""
    sitting = _Sitting.of(population, seed)
    yield sitting.told(FULL, 0.0, sitting.pool, sitting.pool.height)
    for way in (ACTIVE, RANDOM):
        yield from sitting.by_size(way, 0.0)
    for errors in ERRORS:
        yield from sitting.by_size(ACTIVE, errors)


@dataclass(frozen=True)
class _Sitting:
    """Some accounts that may be reviewed, others that are asked about in the end."""

    name: str
    seed: int
    recipe: SignsDetector | TableSigns  # that knows everybody who may be reviewed
    rows: pl.DataFrame
    pool: pl.DataFrame  # truth of those who may be reviewed
    held_out: pl.DataFrame
    odd: pl.DataFrame  # ODDNESS of the pool
    alike: dict[str, str]  # who is odd in the same way, as a reviewer's list knows it

    @classmethod
    def of(cls, population: Population, seed: int) -> "_Sitting":
        part = pl.Series([_part(seed, group) for group in population.truth["group"]])
        measured = population.truth.join(population.rows, on="actor", how="semi")
        out = population.truth.filter(part == 0).join(measured, on="actor", how="semi")
        pool = measured.join(out, on="actor", how="anti").sort("actor")
        theirs = population.rows.join(pool, on="actor", how="semi")
        known = population.recipe.knowing(theirs)
        newest = newest_rows(theirs)
        odd, signs = known.population.score(newest), known.population.heaviest(newest)
        groups = alike(newest["actor"], signs, population.zones)
        return cls(population.name, seed, known, population.rows, pool, out.sort("actor"), odd, groups)

    def by_size(self, way: str, errors: float) -> Iterator[dict[str, Any]]:
        """The worth of the first 20, 50, 100 … answers."""
        answers = self._answers(way, errors)
        for size in (one for one in SIZES if one <= answers.height):
            yield self.told(way, errors, answers.head(size), size)

    def told(self, way: str, errors: float, labels: pl.DataFrame, size: int) -> dict[str, Any]:
        """How well those who were never reviewed are told apart; by oddness as long as there is no model."""
        model = self._model(labels)
        scores = self._decided(model)
        bot = self.held_out["bot"].to_numpy()
        return {
            "population": self.name,
            "seed": self.seed,
            "way": way,
            "errors": errors,
            "reviewed": size,
            "bots_found": int(labels["bot"].sum()),
            "modelled": model is not None,
            "auc": auc(scores, bot),
            "tpr": tpr_at_fpr(scores, bot, FPR),
        }

    def _model(self, labels: pl.DataFrame) -> Any:  # noqa: ANN401  a model, or none
        mine = self.rows.join(labels, on="actor", how="semi")
        try:
            return self.recipe.fit(mine, labels.with_columns(source=pl.lit("review")))
        except FitError:
            return None

    def _decided(self, model: Any) -> Any:  # noqa: ANN401  as above
        """One number per account that was held out: the mean log-odds of its rows, as lists have it."""
        rows = self.rows.join(self.held_out, on="actor", how="semi")
        if model is None:
            told = self.recipe.population.score(newest_rows(rows)).select("actor", number="oddness")
        else:
            scored = model.score(rows).drop_nulls("probability")
            inside = pl.col("probability").clip(1e-12, 1 - 1e-12)
            told = scored.group_by("actor").agg(number=(inside / (1 - inside)).log().mean())
        joined = self.held_out.join(told, on="actor", how="left", maintain_order="left")
        return joined["number"].fill_null(joined["number"].min()).to_numpy()

    def _answers(self, way: str, errors: float) -> pl.DataFrame:
        """The reviewed accounts in their order, with what the reviewer says of each."""
        actors = list(self._random() if way == RANDOM else self._active(errors))
        told = pl.DataFrame({"actor": actors}).join(self.pool, on="actor", maintain_order="left")
        wrong = pl.Series([self._errs(actor, errors) for actor in told["actor"]], dtype=pl.Boolean)
        return told.with_columns(bot=pl.col("bot") ^ wrong)

    def _random(self) -> Iterator[str]:
        order = sorted(self.pool["actor"].to_list(), key=lambda actor: digest("random", str(self.seed), actor))
        yield from order[: SIZES[-1]]

    def _active(self, errors: float) -> Iterator[str]:
        """As `gamewarden review` asks: by oddness, then by what a model of the answers so far is unsure of."""
        shown: dict[str, bool] = {}
        asked: list[str] = []
        while len(asked) < min(SIZES[-1], self.pool.height):
            order = in_order(self._candidates(asked, errors), seed=str(self.seed), chance=CHANCE, known=shown)
            for place in islice(order, _AGAIN):
                asked.append(place.actor)
                shown |= dict.fromkeys((place.actor, *place.passed), place.drawn)
        return iter(asked)

    def _candidates(self, asked: list[str], errors: float) -> list[Candidate]:
        odd = [
            (actor, 1.0 if share is None else share) for actor, share in self.odd.select("actor", "as_odd").iter_rows()
        ]
        sure = self._probabilities(asked, errors)
        return [Candidate(actor, share, sure.get(actor), self.alike.get(actor)) for actor, share in odd]

    def _probabilities(self, asked: list[str], errors: float) -> dict[str, float]:
        """What a model of the answers so far says of everybody; nothing before there is one."""
        if not asked:
            return {}
        known = self.pool.filter(pl.col("actor").is_in(asked))
        wrong = pl.Series([self._errs(actor, errors) for actor in known["actor"]], dtype=pl.Boolean)
        model = self._model(known.with_columns(bot=pl.col("bot") ^ wrong))
        if model is None:
            return {}
        newest = newest_rows(self.rows.join(self.pool, on="actor", how="semi"))
        told = model.score(newest).drop_nulls("probability")
        return dict(told.select("actor", "probability").iter_rows())

    def _errs(self, actor: str, errors: float) -> bool:
        return int(digest("errs", str(self.seed), actor), 16) / 16**12 < errors


def _part(seed: int, group: str) -> int:
    return int(digest("held out", str(seed), group), 16) % _HELD_OUT
