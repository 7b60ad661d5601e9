"""How held-out periods fall at the cut of a detector that weighs accusing against missing."""

from collections.abc import Iterator, Sequence

import numpy as np
import polars as pl

from gamewarden.contracts import Detector
from gamewarden.core.intervals import share_interval
from gamewarden.evaluation.compare_splits import SideBySide


def at_cuts(result: SideBySide, seeing: Sequence[Detector]) -> Iterator[str]:
    """How the held-out periods fall at the cut of each detector that weighs accusing a human against missing a bot."""
    for detector in seeing:
        if (cut := detector.cut) is not None:
            rows = result.scores.filter(detector=detector.name)
            fpr, recall = (_share_beyond(rows.filter(bot=bot), cut) for bot in (False, True))
            yield f"{detector.name} at the cut of {cut:.3f}: FPR {fpr}, recall {recall}."


def _share_beyond(rows: pl.DataFrame, cut: float) -> str:
    """The share of rows at or beyond the cut, with the interval that their groups allow."""
    if not rows.height:
        return "undefined"
    beyond = (rows["probability"] >= cut).to_numpy()
    interval = share_interval(beyond, rows["group"].to_numpy().astype(np.str_))
    said = "so few allow no interval" if interval is None else f"95 %: {interval[0]:.3f}–{interval[1]:.3f}"
    return f"{beyond.mean():.3f} ({said})"
