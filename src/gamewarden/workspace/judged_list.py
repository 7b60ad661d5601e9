"""The accounts to look at from stored verdicts, whichever kind of source they were judged by."""

from collections.abc import Collection

import polars as pl

from gamewarden.errors import ConfigError, ReadError
from gamewarden.pipeline.listing import RankOptions
from gamewarden.presentation.ranking import why_nobody
from gamewarden.tables import EVIDENCE, Table
from gamewarden.verdicts.points import ACT, WATCH
from gamewarden.verdicts.prevalence import at_share
from gamewarden.verdicts.ranking import add_reasons
from gamewarden.verdicts.reach import best_points
from gamewarden.workspace.days import EVER, Window
from gamewarden.workspace.judged import JudgedDays


def judged_accounts(
    judged: JudgedDays, wishes: RankOptions, window: Window = EVER, without: Collection[str] | None = None
) -> Table:
    """One row per account that was judged, the highest probability first, with its reasons; none of those `without`.

    With `without` the accounts complete another list, so that none at all is no error.

    Raises:
        ConfigError: a condition is about events.
        ModelError: no model can judge what is here.
        ReadError: no day was judged yet.
    """
    if wishes.filters:
        raise ConfigError("rank: no log was taken in, so --probability and --top are the only conditions here")
    if why := judged.no_days():
        raise ReadError(f"{judged.models.parent}: {why}")
    rules = judged.court.rules
    verdicts = judged.verdicts(window).filter(~pl.col("actor").is_in(list(without or ())))
    if not verdicts.height and without is None:
        raise ReadError(f"{judged.models.parent}: no day of this time was judged yet; `gamewarden run` judges")
    flagged = pl.col("point").is_in([ACT, WATCH]).sum()
    highest = pl.col("since", "until", "probability", "fpr").sort_by("probability", "fpr", descending=[True, False])
    listed = (
        at_share(verdicts, rules.bots, wishes.prevalence.bots)
        .group_by("actor")
        .agg(highest.first(), pl.len().cast(pl.Int64).alias("periods"), flagged.cast(pl.Int64).alias("periods_flagged"))
        .sort("probability", "fpr", "actor", descending=[True, False, False], nulls_last=True)
    )
    suspects = listed.filter(pl.col("probability") >= wishes.probability)
    listing = suspects.head(wishes.top) if wishes.top else suspects
    points = best_points(verdicts, rules.points)
    listing = listing.join(points, on="actor", how="left", maintain_order="left")
    hidden = suspects.height - listing.height
    more = (f"{hidden:,} more are not shown; --top 0 lists all",) if hidden else ()
    notes = (*judged.court.notes, *judged.caveats, wishes.prevalence.sentence, *more)
    nobody = () if without is not None else why_nobody(listed, suspects, wishes.probability)
    reasoned = add_reasons(listing, _evidence(judged, listing["actor"].to_list()))
    return Table(reasoned.with_columns(prevalence=pl.lit(wishes.prevalence.bots)), (*notes, *nobody))


def _evidence(judged: JudgedDays, actors: list[str]) -> pl.DataFrame:
    """EVIDENCE of all stored rows of these accounts."""
    parts = [pl.DataFrame(schema=dict(EVIDENCE.columns))]
    for model in judged.court.models if actors else ():
        rows = judged.scored.rows(model, judged.scored.measured(model), actors)
        parts += [model.explain(rows)] if rows.height else []
    return pl.concat(parts)
