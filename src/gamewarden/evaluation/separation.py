"""How well the order of one column alone tells bots from humans."""

import numpy as np
import polars as pl

from gamewarden.evaluation.metrics import auc
from gamewarden.learning import folds

_PROBE_FOLDS, _PROBE_BINS = 5, 64


def separates(known: pl.DataFrame, name: str) -> float | None:
    """How well a column's order alone tells bots from humans: the share of bots among held-out neighbours."""
    bot = known["bot"].to_numpy()
    groups = known["group"].fill_null(pl.Series(range(known.height)).cast(pl.String)).to_numpy().astype(np.str_)
    parts = folds.max_folds(groups, bot, _PROBE_FOLDS)
    if parts < 2:  # noqa: PLR2004 - one part holds nothing out
        return None
    numbers = known[name].cast(pl.Float64, strict=False)
    order = (known[name] if numbers.null_count() > known[name].null_count() else numbers).rank("dense").fill_null(0)
    place = order.to_numpy().astype(np.float64)
    bins = np.searchsorted(np.quantile(place, np.linspace(0, 1, _PROBE_BINS + 1)[1:-1]), place)
    fold = folds.assign_folds(groups, bot, parts, 0)
    held_out = np.empty(bot.size)
    for part in range(parts):
        rest = fold != part
        seen = np.bincount(bins[rest], minlength=_PROBE_BINS)
        share = (np.bincount(bins[rest], weights=bot[rest], minlength=_PROBE_BINS) + bot[rest].mean()) / (seen + 1)
        held_out[~rest] = share[bins[~rest]]
    return auc(held_out, bot)
