"""Floor trades: one account drops something, and soon after another picks up the same thing at the same place.

While rows come in the order of time, what lies there longer than some minutes is settled and forgotten. Of rows in
another order so many are kept; where there are more, they are looked at once more when all drops are known.
"""

from collections.abc import Mapping

import numpy as np
import polars as pl
from numpy.typing import NDArray

from gamewarden.core.durations import MINUTE
from gamewarden.features.edges import kernel

SOON = 5 * MINUTE  # from the drop to the pick-up
NEAR = 15.0  # as far apart as two may stand, in the game's own measure
_WAITING = 1 << 20  # rows that wait before they are settled
_MOST = 1 << 22  # rows in no order that are kept
_HERE = ["day", "zone", "item"]
# What was dropped or picked up: texts are numbers, -1 where none is told; places are NaN there.
ROW: Mapping[str, type[pl.DataType]] = {
    "dropped": pl.Boolean,
    "day": pl.Int64,
    "zone": pl.Int32,
    "item": pl.Int32,
    "at": pl.Int64,
    "actor": pl.Int32,
    "count": pl.Float64,
    "x": pl.Float32,
    "y": pl.Float32,
}
_PAIR = {
    "day": pl.Int64,
    "actor": pl.Int32,
    "other": pl.Int32,
    "at": pl.Int64,
    "item": pl.Int32,
    "count": pl.Float64,
}


class Floor:
    """What lies on the floor, and who picked up what others had dropped."""

    def __init__(self, waiting: int = _WAITING, most: int = _MOST) -> None:
        self._limit, self._most = waiting, most
        self._rows = [pl.DataFrame(schema=dict(ROW))]
        self._waiting = 0
        self._pairs = [pl.DataFrame(schema=_PAIR)]
        self._latest: int | None = None
        self._settled_until: int | None = None  # pick-ups before are pairs already, or none
        self._disordered = False
        self._places: pl.DataFrame | None = None  # where something was dropped; known once all rows have come
        self._too_many = False

    def see(self, at: NDArray[np.int64]) -> None:
        """Look whether the times of a batch go on from those before."""
        if at.size and not self._disordered:
            goes_on = self._latest is None or int(at[0]) >= self._latest
            self._disordered = not (goes_on and bool(np.all(at[1:] >= at[:-1])))
            self._latest = int(at[-1])

    def add(self, rows: pl.DataFrame) -> None:
        """Take in what was dropped and picked up in a batch."""
        if self._places is not None:
            rows = rows.join(self._places, on=_HERE, how="semi")
        elif self._too_many:
            rows = rows.filter("dropped")
        if not rows.height:
            return
        self._rows.append(rows)
        self._waiting += rows.height
        if self._waiting > self._limit and self._places is None:
            self._make_room()

    def again(self) -> bool:
        """Whether the rows have to come once more: there were too many in no order, and something lies there."""
        if self._places is None and self._too_many:
            dropped = pl.concat(self._rows).filter("dropped").select(_HERE).unique()
            self._rows, self._pairs = [self._rows[0].clear()], self._pairs[:1]
            self._places, self._too_many, self._settled_until = dropped, False, None
            return dropped.height > 0
        return False

    def pairs(self) -> pl.DataFrame:
        """Who dropped (actor), who picked it up (other), when, what and how many."""
        return pl.concat([*self._pairs, self._settled(pl.concat(self._rows))])

    def _make_room(self) -> None:
        """Settle what is over, as far as that can be said."""
        rows = pl.concat(self._rows)
        if self._disordered:
            self._too_many = rows.height > self._most
            kept = rows.filter("dropped") if self._too_many else rows
        else:
            over = (self._latest or 0) - SOON  # later ones may still find what was dropped since
            self._pairs.append(self._settled(rows).filter(pl.col("at") < over))
            self._settled_until = over
            kept = rows.filter(pl.col("at") >= over - SOON)
        self._rows, self._waiting = [kept], 0

    def _settled(self, rows: pl.DataFrame) -> pl.DataFrame:
        """What others took, of the pick-ups that are not settled yet."""
        found = matched(rows.filter("dropped").drop("dropped"), rows.filter(~pl.col("dropped")).drop("dropped"))
        others = found.filter(pl.col("actor") != pl.col("other"))
        if self._settled_until is not None:
            others = others.filter(pl.col("at") >= self._settled_until)
        return others.select(pl.col(name).cast(kind) for name, kind in _PAIR.items())


def matched(drops: pl.DataFrame, pickups: pl.DataFrame) -> pl.DataFrame:
    """The first pick-up of each drop; a pick-up is of the latest drop that it can be of.

    Whoever takes up what it dropped itself is matched too: then nobody else took it. Memory grows with the rows,
    however many of them are of one thing in one place.
    """
    places = drops.select(_HERE).unique().with_row_index("place")
    # Of drops at one moment the last in this order is looked at first.
    order = ["place", "at", "actor", "count", "x", "y"]
    lying = drops.join(places, on=_HERE).sort(order, descending=[False, False, *[True] * 4])
    taken = pickups.join(places, on=_HERE).sort("place", "at", "actor")
    found = kernel.latest_drops(_rows(lying), _rows(taken), SOON, NEAR)
    first = (
        taken.select("place", "at", other="actor", drop=pl.Series(found, dtype=pl.Int64))
        .filter(pl.col("drop") >= 0)
        .group_by("place", "at", "other")
        .agg(pl.col("drop").max())
        .sort("drop", "at", "other")
        .unique("drop", keep="first", maintain_order=True)
    )
    of = lying[first["drop"]]
    return first.select(of["day"], of["actor"], "other", "at", of["item"], of["count"].abs())


def _rows(rows: pl.DataFrame) -> kernel.Lying:
    x, y = (rows[name].to_numpy().astype(np.float64) for name in ("x", "y"))
    return kernel.Lying(rows["place"].to_numpy().astype(np.int64), rows["at"].to_numpy().astype(np.int64), x, y)
