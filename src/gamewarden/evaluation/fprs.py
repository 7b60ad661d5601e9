"""Whether FPRs hold: how often fresh humans of each style reach what was promised to be rare."""

import math
from collections.abc import Iterable, Mapping

import polars as pl

from gamewarden.core.binomial import chance_beside, lower_bound, upper_bound

PROMISES = (0.01, 0.001)
_ROUNDING = 1e-9  # an FPR is a quotient of counts


def realised(
    fprs: pl.DataFrame, reference: Mapping[str, int], promises: Iterable[float] = PROMISES, confidence: float = 0.95
) -> pl.DataFrame:
    """One row a style and promise: how many of the humans reach it, with an exact interval.

    `FPRs` has the columns actor, style and FPR: one row a human, none of whom the model has seen; `reference` says
    how many humans of each style its FPRs were made from. `chance` is that of so many or more if the promise holds,
    the luck in drawing the reference included.
    """
    rows = []
    for style in fprs["style"].unique().sort():
        part = fprs.filter(style=style)
        for promise in promises:
            flagged = int((part["fpr"] <= promise + _ROUNDING).sum())
            humans, known = part.height, reference.get(style, 0)
            allowed = math.floor(promise * (known + 1) + _ROUNDING) - 1
            rows.append(
                {
                    "style": style,
                    "promise": promise,
                    "humans": humans,
                    "flagged": flagged,
                    "rate": flagged / humans,
                    "low": lower_bound(flagged, humans, (1 - confidence) / 2),
                    "high": upper_bound(flagged, humans, (1 - confidence) / 2),
                    "reference_humans": known,
                    "chance": chance_beside(flagged, humans, allowed, known),
                }
            )
    return pl.DataFrame(rows)
