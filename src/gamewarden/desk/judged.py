"""What the verdicts at rest say of everybody, remembered until a day is judged again."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import polars as pl

from gamewarden.core.durations import from_micros
from gamewarden.desk.desk import Desk
from gamewarden.desk.judged_days import seals
from gamewarden.store.verdict_days import DaySeal
from gamewarden.tables import TIME, DataType
from gamewarden.verdicts.points import ACT, WATCH

DAYS = 30  # the newest judged days that count
_COLUMNS = ("actor", "until", "probability", "fpr", "point")
_SCHEMA: dict[str, DataType] = {
    "actor": pl.String,
    "until": TIME,
    "probability": pl.Float64,
    "fpr": pl.Float64,
    "point": pl.String,
}


@dataclass(frozen=True)
class Standing:
    """What was last said of an account, and how often it reached a point."""

    actor: str
    until: datetime | None
    probability: float | None
    fpr: float | None
    point: str | None
    points: int
    last_point: datetime | None


@dataclass(frozen=True)
class Judged:
    """Everybody who was judged in the newest days: one row per account."""

    frame: pl.DataFrame  # actor (sorted), until, probability, fpr, point, points, last_point
    days: tuple[datetime, ...]
    key: tuple[str, ...]  # what names the days as they were judged

    def of(self, actor: str) -> Standing | None:
        """What is said of an account; None where nothing is."""
        names = self.frame["actor"]
        place = int(names.search_sorted(actor))
        if place >= self.frame.height or names[place] != actor:
            return None
        return Standing(**self.frame.row(place, named=True))

    @property
    def pointed(self) -> pl.DataFrame:
        """Those who reached a point on one of the days."""
        return self.frame.filter(pl.col("points") > 0)


def judged(desk: Desk) -> Judged:
    """What the newest judged days say of everybody.

    Raises:
        VerdictError: verdicts that rest are missing or damaged.
        ReadError: a table of them is damaged.
    """
    newest = seals(desk)[-DAYS:]
    key = tuple(seal.bundle for seal in newest)
    return desk.memory.of("judged", key, lambda: _judged(desk, newest, key), most=2)


def _judged(desk: Desk, newest: Sequence[DaySeal], key: tuple[str, ...]) -> Judged:
    latest = pl.DataFrame(schema=_SCHEMA)
    points = pl.DataFrame(schema={"actor": pl.String, "until": TIME})
    for seal in newest:
        day = _day(desk, seal)
        latest = pl.concat([latest, day]).unique("actor", keep="last", maintain_order=True)
        points = pl.concat([points, day.filter(pl.col("point").is_in([ACT, WATCH])).select("actor", "until")])
    counted = points.group_by("actor").agg(
        points=pl.col("until").n_unique().cast(pl.Int64), last_point=pl.col("until").max()
    )
    frame = latest.join(counted, on="actor", how="left").with_columns(pl.col("points").fill_null(0)).sort("actor")
    return Judged(frame, tuple(_end(one) for one in newest), key)


def _day(desk: Desk, seal: DaySeal) -> pl.DataFrame:
    """The verdicts of a day on those who were judged and not forgotten; of several periods the strongest."""
    store = desk.workspace.verdicts
    rows = store.table(seal, columns=_COLUMNS).filter(pl.col("probability").is_not_null())
    rows = rows.filter(~pl.col("actor").is_in(store.stubs(seal))) if seal.forgotten else rows
    rows = rows.with_columns(pl.col("until").fill_null(pl.lit(_end(seal), TIME)))
    return rows.select(_COLUMNS).sort("fpr", nulls_last=True).unique("actor", keep="first", maintain_order=True)


def _end(seal: DaySeal) -> datetime:
    return from_micros(seal.until)
