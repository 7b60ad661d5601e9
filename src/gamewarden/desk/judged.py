"""What the verdicts at rest say of everybody, remembered until a day is judged again."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np
import polars as pl
from numpy.typing import NDArray

from gamewarden.core.durations import from_micros
from gamewarden.desk.desk import Desk
from gamewarden.desk.everybody import everybody, places
from gamewarden.desk.judged_days import seals
from gamewarden.store.verdict_days import DaySeal
from gamewarden.tables import TIME
from gamewarden.verdicts.points import ACT, WATCH
from gamewarden.workspace.exonerated import without_exonerated

DAYS = 30  # the newest judged days that count
_COLUMNS = ("actor", "until", "probability", "fpr", "point")
_NEVER = -(1 << 62)
_POINTS = (None, ACT, WATCH)


@dataclass(frozen=True)
class LastVerdict:
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
    key: tuple[str, ...]  # what names the days as they were judged, and what appeals have refuted in them

    def of(self, actor: str) -> LastVerdict | None:
        """What is said of an account; None where nothing is."""
        names = self.frame["actor"]
        place = int(names.search_sorted(actor))
        if place >= self.frame.height or names[place] != actor:
            return None
        return LastVerdict(**self.frame.row(place, named=True))

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
    cleared = sorted(f"{actor} {until.isoformat()}" for actor, until in desk.workspace.exonerated.items())
    key = (*(seal.bundle for seal in newest), *cleared)
    return desk.memory.of("judged", key, lambda: _judged(desk, newest, key), most=2)


def _judged(desk: Desk, newest: Sequence[DaySeal], key: tuple[str, ...]) -> Judged:
    days = [_day(desk, seal) for seal in newest]
    fold = _Fold(everybody(day["actor"] for day in days))
    for day in days:
        fold.add(day)
    return Judged(fold.frame(), tuple(_end(one) for one in newest), key)


def _day(desk: Desk, seal: DaySeal) -> pl.DataFrame:
    """The verdicts of a day on those who were judged and not forgotten; of several periods the strongest."""
    store = desk.workspace.verdicts
    rows = without_exonerated(store.table(seal, columns=("since", *_COLUMNS)), desk.workspace.exonerated)
    rows = rows.filter(pl.col("probability").is_not_null())
    rows = rows.filter(~pl.col("actor").is_in(store.stubs(seal))) if seal.forgotten else rows
    rows = rows.with_columns(pl.col("until").fill_null(pl.lit(_end(seal), TIME)))
    if rows["actor"].n_unique() < rows.height:
        rows = rows.sort("fpr", nulls_last=True).unique("actor", keep="first", maintain_order=True)
    code = pl.when(pl.col("point") == ACT).then(1).when(pl.col("point") == WATCH).then(2).otherwise(0).cast(pl.Int8)
    return rows.select("actor", pl.col("until").to_physical(), "probability", "fpr", code.alias("point"))


class _Fold:
    """What days add up to, an array a column: no more than that is held of a million accounts."""

    def __init__(self, actors: pl.Series) -> None:
        self._actors = actors
        self._until, self._last_point = (np.full(len(actors), _NEVER, np.int64) for _ in range(2))
        self._probability, self._fpr = (np.full(len(actors), np.nan) for _ in range(2))
        self._point, self._points = np.zeros(len(actors), np.int8), np.zeros(len(actors), np.int64)

    def add(self, day: pl.DataFrame) -> None:
        """Take a day in; they come in their order."""
        at = places(self._actors, day["actor"]).to_numpy()
        until, point = day["until"].to_numpy(), day["point"].to_numpy()
        self._until[at], self._point[at] = until, point
        self._probability[at] = day["probability"].to_numpy()
        self._fpr[at] = day["fpr"].fill_null(np.nan).to_numpy()
        reached = at[point > 0]
        self._points[reached] += 1
        self._last_point[reached] = until[point > 0]

    def frame(self) -> pl.DataFrame:
        """A row per actor."""
        names = pl.Series(_POINTS, dtype=pl.String)
        return pl.DataFrame(
            {
                "actor": self._actors,
                "until": _times(self._until),
                "probability": pl.Series(self._probability).fill_nan(None),
                "fpr": pl.Series(self._fpr).fill_nan(None),
                "point": names.gather(self._point.astype(np.uint32)),
                "points": self._points,
                "last_point": _times(self._last_point),
            }
        )


def _times(micros: NDArray[np.int64]) -> pl.Series:
    found = pl.Series(micros)
    return found.set(found == _NEVER, None).cast(TIME)


def _end(seal: DaySeal) -> datetime:
    return from_micros(seal.until)
