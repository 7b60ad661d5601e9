"""Reviewed flags: what their outcomes allow to promise."""

from pathlib import Path

import polars as pl

from gamewarden.errors import ReadError
from gamewarden.readers.logs.operator_tables import read_labels
from gamewarden.verdicts.reviewed import FLAGS_SCHEMA, Accepted, flags_promised, outcomes_of


def budget_of_flags(accepted: Accepted, reviewed: Path, time_zone: str | None = None) -> pl.DataFrame:
    """How many flags a month may be followed, from the outcomes of reviewed ones: `actor,bot`, each account once.

    Whoever was called human by one of several labels, or bot by one rater of three, counts as a person.

    Raises:
        ReadError: the table cannot be read, or no person reviewed anybody in it.
    """
    outcomes = outcomes_of(read_labels(reviewed, time_zone).frame)
    if not outcomes.height:
        raise ReadError(
            f"{reviewed}: nobody in it was reviewed by a person; it takes actor,bot, one row a reviewed flag"
        )
    people = int((~outcomes["bot"]).sum())
    return pl.DataFrame([flags_promised(accepted, outcomes.height, people)], schema=FLAGS_SCHEMA)
