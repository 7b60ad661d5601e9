"""Reviewed flags: what their outcomes allow to promise."""

from pathlib import Path

import polars as pl

from gamewarden.errors import ReadError
from gamewarden.learning.label_sources import resolve, without_model_made
from gamewarden.learning.labels import UNCERTAIN_VOTES
from gamewarden.readers.logs.operator_tables import read_labels
from gamewarden.verdicts.budget import Budget
from gamewarden.verdicts.reviewed import FLAGS_SCHEMA, Accepted, flags_promised, offer


def budget_of_flags(accepted: Accepted, reviewed: Path, time_zone: str | None = None) -> pl.DataFrame:
    """How many flags a month may be followed, from the outcomes of reviewed ones: `actor,bot`, each account once.

    Whoever was called human by one of several labels, or bot by one rater of three, counts as a person.

    Raises:
        ReadError: the table cannot be read, or no person reviewed anybody in it.
    """
    told = without_model_made(resolve(read_labels(reviewed, time_zone).frame).frame).frame
    sure = pl.col("bot") & (pl.col("votes") != UNCERTAIN_VOTES).fill_null(value=True)
    outcomes = told.group_by("actor").agg(sure.all().alias("bot"))
    if not outcomes.height:
        raise ReadError(
            f"{reviewed}: nobody in it was reviewed by a person; it takes actor,bot, one row a reviewed flag"
        )
    people = int((~outcomes["bot"]).sum())
    return pl.DataFrame([flags_promised(accepted, outcomes.height, people)], schema=FLAGS_SCHEMA)


def instead_of_players(budget: Budget, found: pl.DataFrame) -> tuple[str, ...]:
    """What a server can have where a budget over all players cannot be promised; nothing where it can."""
    if found["above_review"].any():
        return ()
    needed = budget.humans_needed()
    plain = (
        f"{needed:,} humans are more than the {budget.players:,} people who play: nobody can promise it of them all. "
    )
    return ((plain if needed > budget.players else "") + offer(Accepted(budget.wrong_per_month, budget.confidence)),)
