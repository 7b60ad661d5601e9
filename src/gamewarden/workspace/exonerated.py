"""Evidence that overturned appeals have refuted: which periods of which accounts no longer count."""

from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING

import polars as pl

from gamewarden.tables import TIME

if TYPE_CHECKING:
    from gamewarden.workspace.place import Workspace

# What a verdict, a score or a row of the desk says about the account; times and what it did stay.
_NUMBERS = ("probability", "fpr", "point", "far", "verdict", "detector", "reason")
_COUNTS = ("agree", "streak")


def exonerated_until(workspace: "Workspace") -> dict[str, datetime]:
    """Accounts that won an appeal, each with the end of the time whose evidence no longer counts.

    Where nothing was held against an account, that is the moment of the decision.

    Raises:
        LedgerError: the ledger cannot be read.
    """
    if not workspace.has_ledger:
        return {}
    from gamewarden.cases import Exonerated  # SQLAlchemy takes its time, and few commands need it

    ends: dict[str, datetime] = {}
    for record in workspace.ledger.find(Exonerated):
        end = record.until or record.at
        ends[record.actor] = max(end, ends.get(record.actor, end))
    return ends


def is_exonerated(rows: pl.DataFrame, until: Mapping[str, datetime]) -> pl.Series:
    """Which rows (actor, since) lie in the exonerated time of their account; a row without a time does."""
    ends = pl.DataFrame({"actor": list(until), "end": list(until.values())}, schema={"actor": pl.String, "end": TIME})
    joined = rows.select("actor", "since").join(ends, on="actor", how="left", maintain_order="left")
    inside = pl.col("since").is_null() | (pl.col("since") < pl.col("end"))
    return joined.select((pl.col("end").is_not_null() & inside).fill_null(value=False)).to_series()


def without_exonerated(rows: pl.DataFrame, until: Mapping[str, datetime]) -> pl.DataFrame:
    """The rows that still count."""
    return rows.filter(~is_exonerated(rows, until)) if until else rows


def blank_exonerated(rows: pl.DataFrame, until: Mapping[str, datetime]) -> pl.DataFrame:
    """All rows; those of exonerated time without anything that was held against the account."""
    if not until:
        return rows
    gone = is_exonerated(rows, until)
    numbers = [pl.when(~gone).then(pl.col(name)).alias(name) for name in _NUMBERS if name in rows.columns]
    counts = [pl.when(~gone).then(pl.col(name)).otherwise(0).alias(name) for name in _COUNTS if name in rows.columns]
    return rows.with_columns(*numbers, *counts)
