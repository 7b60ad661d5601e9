"""How much each detector counts, learned from labelled actors none of the detectors had seen."""

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import polars as pl

from gamewarden.contracts import frame_digest
from gamewarden.core.extras import need
from gamewarden.detectors.fusion.model import LEAST_EIGENVALUE, FusionModel, FusionTerm, decide
from gamewarden.detectors.fusion.scores import SCORES_OF, Scores
from gamewarden.errors import FitError
from gamewarden.learning.calibration import KEY, Calibration, people_of
from gamewarden.learning.columns import measured
from gamewarden.learning.fitting import Learned, Learner
from gamewarden.learning.out_of_fold import bots, out_of_fold
from gamewarden.learning.recipe import AT_LEAST_2, POSITIVE, ByStyle, option
from gamewarden.learning.reference import Flags, Floats
from gamewarden.learning.standard import Standard
from gamewarden.tables import FEATURES, check

_SHRUNK = 0.1  # how far correlations are drawn towards none, so that few rows do not make them certain
_USUAL = 0.8  # of the people: what they stay below is usual (docs/decisions/118-players-who-leave-three-traces.md)
_FARTHEST = 1e3  # evidence is a difference of log-odds that stay finite
_ALWAYS = ("excuses", "expects")  # what fusions did before these could be chosen
_FEW = 3  # rows with both terms below which they are taken as unrelated


@dataclass(frozen=True)
class Fusion(ByStyle, Learner[FusionModel]):
    """Logistic regression over the detectors' evidence, with no weight below 0.

    The table to learn from has the evidence of each model in a column of its name, null where it was silent, `events`,
    and what tells styles apart.
    """

    name: ClassVar[str] = "fusion"
    says: ClassVar[str] = "How much each detector's answer counts beside the others', as one verdict per period."
    sees: ClassVar[str] = SCORES_OF
    model: ClassVar[type[Any]] = FusionModel
    version: ClassVar[int] = 3
    too_little: ClassVar[str] = ""  # a period in which no model spoke is none
    validated: ClassVar[str] = (
        "held-out periods, an actor or its group in one fold only; the detectors had not seen them either"
    )

    feature: Scores = field(default_factory=Scores)
    strength: float = option(1.0, (0.1,), POSITIVE, "C of the regression.")
    least: int = option(20, (5,), AT_LEAST_2, "Bots and humans that have to be labelled, each.")
    excuses: bool = option(
        True, (False,), says="Whether looking human to one detector speaks against what another says."
    )

    expects: bool = option(
        True,
        (False,),
        says="Whether what a silent detector would have said is expected from the others; else silence is as usual.",
    )

    def checked(self, features: pl.DataFrame, door: str) -> pl.DataFrame:
        """FEATURES with the models' evidence."""
        return check(features, FEATURES, door)

    def judged(self, rows: pl.DataFrame) -> pl.Series:
        """Which periods a model spoke of."""
        return measured(rows, self.feature.names)

    def written(self, features: pl.DataFrame) -> list[str]:
        """A digest of the evidence, of what tells styles apart, and of what the labels say."""
        styles = [name for name in self.styles.columns if name in features.columns]
        return [frame_digest(features.select(*KEY, *self.feature.names, *styles, "bot", "group", "source"))]

    def data(self, features: pl.DataFrame, labels: pl.DataFrame, rows: pl.DataFrame) -> str:
        """A digest of the labelled periods, as fusions have always been named by."""
        del features, labels
        return self.written(rows)[0]

    def learned(self, rows: pl.DataFrame) -> Learned:
        """The weights, and what the fusion says of periods of actors it had not seen."""

        def decide_out(out: Flags) -> Floats:
            kept = pl.Series(out)
            learned = self._learn(rows.filter(~kept))
            return _spoken(decide(rows.filter(kept), *learned), learned[1])

        decisions = out_of_fold(rows, self.folds, self.seed, decide_out)
        terms, intercept = self._learn(rows)
        return Learned(rows, decisions, {"terms": terms, "intercept": intercept})

    def counted(self, humans: pl.DataFrame, calibration: Calibration) -> dict[str, Any]:
        """The people that a budget counts, by their periods: those are wholes already."""
        return {"people": people_of(humans, calibration.reference, calibration.styles)}

    def to_dict(self) -> dict[str, Any]:
        """The options as JSON values; what fusions always did is not written, so that they keep their names."""
        options = super().to_dict()
        return {name: value for name, value in options.items() if name not in _ALWAYS or not value}

    def _learn(self, rows: pl.DataFrame) -> tuple[tuple[FusionTerm, ...], float]:
        names = self.feature.names
        said = rows.select(pl.col(names).cast(pl.Float64).fill_null(np.nan)).to_numpy()
        usual = _usual(said[~bots(rows)])
        least, unheard = None if self.excuses else usual, None if self.expects else usual
        values = said if least is None else np.maximum(said, least)
        values = values if unheard is None else np.where(np.isnan(values), unheard, values)
        moments = Standard.of(values)
        standard = (values - moments.means) / moments.deviations
        correlations = _correlations_of(standard)
        weights, intercept = self._weigh(_expected(standard, correlations), bots(rows))
        terms = tuple(
            FusionTerm(
                model=model,
                detector=self.feature.models[model].detector,
                family=self.feature.models[model].family,
                mean=float(moments.means[at]),
                deviation=float(moments.deviations[at]),
                weight=float(weights[at]),
                correlation=tuple(correlations[at].tolist()),
                least=None if least is None else least[at],
                unheard=None if unheard is None else unheard[at],
            )
            for at, model in enumerate(names)
        )
        return terms, intercept

    def _weigh(self, values: Floats, bot: Flags) -> tuple[Floats, float]:
        """Weights of a balanced regression; a term that would get one below 0 is left out, the worst first."""
        need("learning a model", "sklearn")
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
        raise FitError(f"fit {self.name}: no detector tells these bots from these humans; fit better detectors first")


def _usual(humans: Floats) -> list[float]:
    """What four in five people stay below, by each model; below anything where it says nothing of people."""
    columns = (column[~np.isnan(column)] for column in humans.T)
    return [float(np.quantile(column, _USUAL)) if column.size else -_FARTHEST for column in columns]


def _correlations_of(standard: Floats) -> Floats:
    """Correlations of the models where both spoke, drawn towards none and kept away from singular."""
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


def _expected(standard: Floats, correlations: Floats) -> Floats:
    """What was said, and in its place where nothing was, what the others let expect."""
    filled = standard.copy()
    silent = np.isnan(standard)
    for pattern in np.unique(silent, axis=0):
        rows = np.flatnonzero((silent == pattern).all(axis=1))
        mute, loud = np.flatnonzero(pattern), np.flatnonzero(~pattern)
        if mute.size and loud.size:
            share = np.linalg.solve(correlations[np.ix_(loud, loud)], correlations[np.ix_(loud, mute)])
            filled[np.ix_(rows, mute)] = standard[np.ix_(rows, loud)] @ share
    return filled


def _spoken(decisions: Floats, intercept: float) -> Floats:
    """A model may be silent in every row of a fold; the decision is then the average one."""
    spoken: Floats = np.where(np.isnan(decisions), intercept, decisions)
    return spoken
