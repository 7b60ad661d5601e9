"""What maintenance did as a table, a row a period, and what has to be said of it."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

import polars as pl

from gamewarden.core.text import counted
from gamewarden.drift.flow import as_written, by_period, standing_doubt
from gamewarden.presentation.control_plots import NEW_MODEL
from gamewarden.tables import TIME

PERIODS: Mapping[str, pl.DataType | type[pl.DataType]] = {
    "period": TIME,
    "status": pl.String,
    "x": pl.Float64,
    "drawn": pl.Float64,  # x, or its transform
    "common": pl.Int64,
    "z": pl.Float64,
    "lower": pl.Float64,
    "upper": pl.Float64,
    "provisional": pl.Boolean,
    "ban_wave": pl.Boolean,
    "silent": pl.String,
    "doubts": pl.String,  # why scores are not to be trusted
    "actors": pl.Int64,
    "flagged": pl.Int64,
    "model": pl.String,
    "answer": pl.String,
}


def table_of(records: Sequence[Mapping[str, Any]]) -> pl.DataFrame:
    """One row a period that was watched: where it stood on the chart, and how it was answered.

    Raises:
        ReadError: a record holds what no record does.
    """
    with as_written():
        rows = [_row(period, found) for period, found in by_period(records).items() if "watch" in found]
        return pl.DataFrame(rows, schema=PERIODS)


def _row(period: str, steps: Mapping[str, Mapping[str, Any]]) -> dict[str, object]:
    watched, scored = steps["watch"], steps.get("rescore") or steps["score"]
    names = ("status", "x", "drawn", "common", "z", "lower", "upper", "provisional", "ban_wave")
    shown = {name: watched[name] for name in names}
    return {
        "period": datetime.fromisoformat(period),
        **shown,
        "silent": ", ".join(watched["silent"]) or None,
        "doubts": standing_doubt(steps),
        "actors": scored["actors"],
        "flagged": scored["flagged"],
        "model": scored["model"],
        "answer": _answer(steps),
    }


def _answer(steps: Mapping[str, Mapping[str, Any]]) -> str | None:
    if "promote" in steps:
        return NEW_MODEL
    if "validate" in steps:
        return "new model invalid, old one kept"
    return "no new model could be fitted" if "retrain" in steps else None


def remarks(frame: pl.DataFrame, new: int, late: int) -> Iterator[str]:
    """What has to be said of a run of maintenance."""
    if late:
        yield f"Events of {counted(late, 'period')} came late; --explain says what was done with them"
    if not new:
        yield "No period is left to do: the last one that is over has been done."
    doubted = frame.drop_nulls("doubts")
    if earlier := doubted.filter(pl.col("period") < frame["period"].max()).height if frame.height else 0:
        yield f"Scores of {earlier} earlier periods were not to be trusted; --explain says why, and what was done"
    if frame.height and frame["doubts"][-1]:
        yield f"Scores of the last period ({frame['period'][-1]:%Y-%m-%d}) are not to be trusted: {frame['doubts'][-1]}"
    if frame.height and frame["provisional"][-1]:
        yield (
            "The limits are provisional: from 8 periods about three runs in ten signal falsely within 20 periods, from "
            "20 one in seven."
        )
