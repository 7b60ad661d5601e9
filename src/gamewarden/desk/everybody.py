"""Every account of some days once, in the order of names, and where an account stands among them."""

from collections.abc import Iterable

import polars as pl


def everybody(days: Iterable[pl.Series]) -> pl.Series:
    """Every actor of some days once, sorted."""
    known = pl.Series("actor", [], dtype=pl.String)
    for actors in days:
        new = actors if known.is_empty() else actors.filter(known.gather(places(known, actors)) != actors)
        known = pl.concat([known, new.unique()]).sort() if len(new) else known
    return known


def places(known: pl.Series, actors: pl.Series) -> pl.Series:
    """Where actors stand, or would stand, among those that are known and sorted."""
    return known.search_sorted(actors).clip(0, max(len(known) - 1, 0))
