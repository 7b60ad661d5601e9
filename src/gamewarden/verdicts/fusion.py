"""How much each detector counts, learned from labelled actors none of the detectors had seen."""

from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar

import numpy as np
import polars as pl

from gamewarden.contracts import Recipe, frame_digest
from gamewarden.errors import ConfigError, FitError
from gamewarden.learning.labels import label_periods
from gamewarden.learning.out_of_fold import bots, fold_count, groups, out_of_fold, refuse_too_few, training_of
from gamewarden.learning.reference import (
    Flags,
    Floats,
    Reference,
    StyleReferences,
    people_of,
    plain_json,
    platt,
    validation_of,
)
from gamewarden.learning.styles import Styles
from gamewarden.verdicts.fusion_model import LEAST_EIGENVALUE, NAME, SCORES_OF, FusionModel, Voice, decide
from gamewarden.verdicts.periods import KEY, Clock, Speaker

METHOD = 2  # grows when the same recipe and data would give other numbers
_SHRUNK = 0.1  # how far correlations are drawn towards none, so that few rows do not make them certain
_FEW = 3  # rows with both voices below which they are taken as unrelated
_VALIDATED = "held-out periods, an actor or its group in one fold only; the detectors had not seen them either"


@dataclass(frozen=True)
class Fusion:
    """Logistic regression over the detectors' evidence, with no weight below 0."""

    name: ClassVar[str] = NAME
    says: ClassVar[str] = "How much each detector's answer counts beside the others', as one verdict a period."

    strength: float = field(default=1.0, metadata={"says": "C of the regression."})
    folds: int = 5
    least: int = field(default=20, metadata={"says": "Bots and humans that have to be labelled, each."})
    seed: int = 0
    styles: Styles = field(default=Styles())

    def __post_init__(self) -> None:
        if not self.strength > 0 or self.folds < 2 or self.least < 2:  # noqa: PLR2004 - nothing can be held out of one
            raise ConfigError(
                f"{NAME}: strength {self.strength!r}, folds {self.folds!r} and least {self.least!r} cannot be used; "
                "give a strength above 0 and 2 or more of the others"
            )

    def to_dict(self) -> dict[str, Any]:
        """The options as JSON values."""
        options = {option.name: getattr(self, option.name) for option in fields(self)}
        return plain_json({"method": METHOD, **options, "styles": self.styles.to_dict()})

    def fit(
        self, table: pl.DataFrame, labels: pl.DataFrame, speakers: dict[str, Speaker], cut: Clock, discount: float
    ) -> FusionModel:
        """The fusion of these models, from evidence on actors that none of them was trained on.

        `table` has one row an actor and period: the evidence of each model in a column of its name, null where it was
        silent, `events`, and what tells styles apart.

        Raises:
            FitError: too few labelled actors of a class, or no model that tells them apart.
            TableError: a table lacks a column or holds what it must not.
        """
        labelled = label_periods(table, labels, f"fit {NAME}")
        models = tuple(sorted(name for name in speakers if name in table.columns))
        rows = labelled.rows.filter(pl.any_horizontal(pl.col(models).is_not_null()))
        refuse_too_few(rows, self.least, f"fit {NAME}", labelled.left_out)
        bot = bots(rows)

        def decide_out(out: Flags) -> Floats:
            kept = pl.Series(out)
            learned = self._learn(rows.filter(~kept), models, speakers)
            return _spoken(decide(rows.filter(kept), *learned), learned[1])

        decisions = out_of_fold(rows, self.folds, self.seed, decide_out)
        voices, intercept = self._learn(rows, models, speakers)
        slope, offset = platt(decisions, bot)
        humans = rows.with_columns(held_out=pl.Series(decisions)).filter(~pl.col("bot"))
        reference, styles = Reference.of(humans), StyleReferences.of(self.styles, humans)
        return FusionModel(
            recipe=self.to_dict(),
            feature=Recipe(
                SCORES_OF, {"models": list(models), "every": cut.every, "zone": cut.time_zone, "discount": discount}
            ),
            data=frame_digest(rows.select(*KEY, *models, *self._style_columns(rows), "bot", "group", "source")),
            voices=voices,
            intercept=intercept,
            slope=slope,
            offset=offset,
            reference=reference,
            styles=styles,
            people=people_of(humans, reference, styles),
            training=training_of(rows, labelled.left_out),
            validation={
                **validation_of(decisions, bot, slope, offset, groups(rows)),
                "says": _VALIDATED,
                "folds": fold_count(rows, self.folds),
            },
        )

    def _style_columns(self, rows: pl.DataFrame) -> list[str]:
        wanted = (self.styles.minutes, self.styles.kills, self.styles.level)
        return [name for name in wanted if name in rows.columns]

    def _learn(
        self, rows: pl.DataFrame, models: Sequence[str], speakers: dict[str, Speaker]
    ) -> tuple[tuple[Voice, ...], float]:
        values = rows.select(pl.col(models).cast(pl.Float64).fill_null(np.nan)).to_numpy()
        means, deviations = _moments(values)
        standard = (values - means) / deviations
        together = _together(standard)
        weights, intercept = self._weigh(_expected(standard, together), bots(rows))
        voices = tuple(
            Voice(
                model=model,
                detector=speakers[model].detector,
                family=speakers[model].family,
                mean=float(means[at]),
                deviation=float(deviations[at]),
                weight=float(weights[at]),
                together=tuple(together[at].tolist()),
            )
            for at, model in enumerate(models)
        )
        return voices, intercept

    def _weigh(self, values: Floats, bot: Flags) -> tuple[Floats, float]:
        """Weights of a balanced regression; a voice that would get one below 0 is left out, the worst first."""
        from sklearn.linear_model import LogisticRegression

        kept = list(range(values.shape[1]))
        while kept:
            fitted = LogisticRegression(
                C=self.strength, class_weight="balanced", solver="newton-cholesky", tol=1e-8, max_iter=1000
            ).fit(values[:, kept], bot)
            worst = int(fitted.coef_[0].argmin())
            if fitted.coef_[0, worst] >= 0:
                weights = np.zeros(values.shape[1])
                weights[kept] = fitted.coef_[0]
                return weights, float(fitted.intercept_[0])
            kept.pop(worst)
        raise FitError(f"fit {NAME}: no detector tells these bots from these humans; fit better detectors first")


def _moments(values: Floats) -> tuple[Floats, Floats]:
    """Mean and deviation of what was said; a voice that never varies has deviation 1."""
    said = ~np.isnan(values)
    many = np.maximum(said.sum(axis=0), 1)
    means = np.where(said, values, 0.0).sum(axis=0) / many
    deviations = np.sqrt((np.where(said, values - means, 0.0) ** 2).sum(axis=0) / many)
    return means, np.where(deviations > 0, deviations, 1.0)


def _together(standard: Floats) -> Floats:
    """Correlations of the voices where both spoke, drawn towards none and kept away from singular."""
    many = standard.shape[1]
    found = np.eye(many)
    for one in range(many):
        for two in range(one):
            both = ~np.isnan(standard[:, one]) & ~np.isnan(standard[:, two])
            a, b = standard[both, one], standard[both, two]
            if both.sum() >= _FEW and a.std() > 0 and b.std() > 0:
                found[one, two] = found[two, one] = (1 - _SHRUNK) * float(np.corrcoef(a, b)[0, 1])
    values, vectors = np.linalg.eigh(found)
    sound = vectors @ np.diag(np.maximum(values, LEAST_EIGENVALUE)) @ vectors.T
    scale = np.sqrt(np.diag(sound))
    correlations: Floats = sound / np.outer(scale, scale)
    return np.clip((correlations + correlations.T) / 2, -1.0, 1.0)


def _expected(standard: Floats, together: Floats) -> Floats:
    """What was said, and in its place where nothing was, what the others let expect."""
    filled = standard.copy()
    silent = np.isnan(standard)
    for pattern in np.unique(silent, axis=0):
        rows = np.flatnonzero((silent == pattern).all(axis=1))
        mute, loud = np.flatnonzero(pattern), np.flatnonzero(~pattern)
        if mute.size and loud.size:
            share = np.linalg.solve(together[np.ix_(loud, loud)], together[np.ix_(loud, mute)])
            filled[np.ix_(rows, mute)] = standard[np.ix_(rows, loud)] @ share
    return filled


def _spoken(decisions: Floats, intercept: float) -> Floats:
    """A voice may be silent in every row of a fold; the decision is then the average one."""
    spoken: Floats = np.where(np.isnan(decisions), intercept, decisions)
    return spoken
