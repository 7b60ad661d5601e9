"""An evaluation as the table a person looks at first."""

import polars as pl

from gamewarden.evaluation.compare_splits import SideBySide
from gamewarden.evaluation.leave_pair_out import PairsHeldOut
from gamewarden.evaluation.summaries import distinct_units


def evaluation_in_short(result: SideBySide | PairsHeldOut) -> pl.DataFrame:
    """The columns of an evaluation that a person looks at first, the interval as one text."""
    summary = result.summary
    if isinstance(result, PairsHeldOut):
        interval = pl.format("{} – {}", pl.col("mcc_low").round(3), pl.col("mcc_high").round(3)).alias("95 %")
        return summary.select("detector", "pairs", "bots", "humans", "mcc", interval, "recall", "fpr", "unsure")
    interval = pl.format("{} – {}", pl.col("auc_low").round(3), pl.col("auc_high").round(3)).alias("95 %")
    wanted = ("tpr_at_1pct", "tpr_at_0_1pct", "precision_at_1pct", "hours_to_detection", "tied")
    shown = pl.concat([distinct_units(summary.filter(split=part.name)) for part in result.parts])
    split = pl.when("flatters").then(pl.col("split") + " (flatters)").otherwise("split").alias("split")
    if len(result.parts) > 1:
        shown = shown.filter(unit="actor")
    return shown.select(split, "detector", "unit", "bots", "humans", "auc", interval, *wanted)
