"""How far a number has moved between two crowds, as an effect size: what a p-value of many players cannot say."""

from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

Floats = NDArray[np.float64]

NEGLIGIBLE = 0.147  # Cliff's δ below this is negligible, from 0.474 on large (Romano et al. 2006)
_BINS = 10
_EMPTY = 1e-4  # the share a bin without anybody counts as, so that the index stays finite
_NOT_MEASURED = ("actor", "since", "until", "events", "windows")


@dataclass(frozen=True)
class Moved:
    """One feature now beside then."""

    feature: str
    delta: float  # Cliff's δ: the chance that one now is larger than one then, less the chance that it is smaller
    stability: float  # population stability index over the ten tenths of then
    median_then: float
    median_now: float


def moved_features(then: pl.DataFrame, now: pl.DataFrame) -> list[Moved]:
    """Every measured column of both FEATURES, the one that moved most first."""
    names = [name for name in then.columns if name in now.columns and name not in _NOT_MEASURED]
    numbers = [name for name in names if then[name].dtype.is_numeric()]
    found = [_moved(name, _values(then, name), _values(now, name)) for name in numbers]
    return sorted((one for one in found if one), key=lambda one: (-abs(one.delta), one.feature))


def cliffs_delta(then: Floats, now: Floats) -> float:
    """How much oftener a value of now lies above one of then than below."""
    ordered = np.sort(then)
    below = np.searchsorted(ordered, now, side="left").sum()
    not_above = np.searchsorted(ordered, now, side="right").sum()
    return float((below + not_above) / (then.size * now.size) - 1)


def stability_index(then: Floats, now: Floats) -> float:
    """Σ (now − then)·ln(now / then) over the tenths of then; above 0.25 is usually called a shift."""
    borders = np.unique(np.quantile(then, np.linspace(0, 1, _BINS + 1)[1:-1]))
    shares = [
        np.maximum(np.bincount(np.searchsorted(borders, side, "right"), minlength=borders.size + 1) / side.size, _EMPTY)
        for side in (then, now)
    ]
    return float(np.sum((shares[1] - shares[0]) * np.log(shares[1] / shares[0])))


def _values(frame: pl.DataFrame, name: str) -> Floats:
    return frame[name].drop_nulls().cast(pl.Float64).to_numpy()


def _moved(name: str, then: Floats, now: Floats) -> Moved | None:
    if not then.size or not now.size:
        return None
    medians = float(np.median(then)), float(np.median(now))
    return Moved(name, cliffs_delta(then, now), stability_index(then, now), *medians)
