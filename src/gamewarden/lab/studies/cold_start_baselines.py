"""What methods of others make of the same columns without labels: isolation forest, one-class SVM, ECOD."""

from collections.abc import Callable, Mapping
from importlib.util import find_spec
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

Floats = NDArray[np.float64]
_TAUGHT = 4000  # rows that a one-class SVM learns from: it takes the square of their number
_SEED = 0


def baselines(columns: pl.DataFrame) -> Mapping[str, Floats]:
    """How odd each row is to each method; what was not measured stands at the middle of its column.

    ECOD is PyOD's, and left out where that is not installed.
    """
    middle = columns.select(pl.all().cast(pl.Float64).fill_null(pl.all().cast(pl.Float64).median()).fill_null(0.0))
    numbers = middle.to_numpy()
    deviation = numbers.std(axis=0)
    scaled = (numbers - numbers.mean(axis=0)) / np.where(deviation > 0, deviation, 1.0)
    methods: dict[str, Callable[[Floats], Floats]] = {"isolation forest": _forest, "one-class SVM": _one_class}
    if find_spec("pyod") is not None:
        methods["ECOD"] = _ecod
    return {name: method(scaled) for name, method in methods.items()}


def _forest(numbers: Floats) -> Floats:
    from sklearn.ensemble import IsolationForest

    odd: Floats = -IsolationForest(n_estimators=200, random_state=_SEED).fit(numbers).score_samples(numbers)
    return odd


def _one_class(numbers: Floats) -> Floats:
    from sklearn.svm import OneClassSVM

    some = np.random.default_rng(_SEED).permutation(len(numbers))[:_TAUGHT]
    odd: Floats = -OneClassSVM(nu=0.1, gamma="scale").fit(numbers[some]).decision_function(numbers)
    return odd


def _ecod(numbers: Floats) -> Floats:
    from pyod.models.ecod import ECOD

    made: Any = ECOD().fit(numbers)
    odd: Floats = made.decision_scores_
    return odd
