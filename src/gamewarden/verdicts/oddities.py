"""The list of accounts that look odd, before anybody has said who is a bot: one row per account, the oddest first."""

from collections.abc import Sequence
from dataclasses import replace

import polars as pl

from gamewarden.tables import FEATURES, ODDNESS, PROFILES, check
from gamewarden.verdicts.filters import Filter, apply_filters
from gamewarden.verdicts.ranking import with_facts, with_profiles

_SHOWN = {
    "self_sim": pl.Float64,
    "play_hours": pl.Float64,
    "days_played": pl.Int64,
    "main_char_level": pl.Float64,
    "total_use_time_min": pl.Float64,
}


def list_oddities(
    oddness: pl.DataFrame,
    rows: pl.DataFrame,
    profiles: pl.DataFrame | None = None,
    *,
    zones: pl.DataFrame | None = None,
    facts: pl.DataFrame | None = None,
    filters: Sequence[Filter] = (),
) -> pl.DataFrame:
    """One row per actor of its newest days: how odd it is, what it did, and its profile.

    Whoever has no sign that could be measured stands last. `play_hours` counts the minutes with an event, a day that
    the log knows; `online_minutes` is the time from login to logout, idle time included, on a day it played. A filter
    on `play_minutes` is one on `online_minutes`.

    Raises:
        ConfigError: a filter names no column or value of its kind.
        TableError: a table lacks a column.
    """
    told = check(oddness, ODDNESS, "rank").select("actor", "as_odd", "oddness", "since", "until")
    listed = told.join(_seen(check(rows, FEATURES, "rank")), on="actor", how="left")
    named = pl.DataFrame(schema={"actor": pl.String, "zone": pl.String}) if zones is None else zones
    listed = listed.join(named, on="actor", how="left")
    if facts is not None:
        listed = with_facts(listed, facts)
    if profiles is not None:
        listed = with_profiles(listed, check(profiles, PROFILES, "rank"))
    online = [replace(one, column="online_minutes") if one.column == "play_minutes" else one for one in filters]
    kept = apply_filters(listed, tuple(online))
    return kept.sort(["oddness", "actor"], descending=[True, False], nulls_last=True)


def _seen(rows: pl.DataFrame) -> pl.DataFrame:
    missing = [pl.lit(None, dtype=kind).alias(name) for name, kind in _SHOWN.items() if name not in rows.columns]
    told = rows.with_columns(missing).select("actor", *_SHOWN)
    return told.rename({"main_char_level": "level", "total_use_time_min": "online_minutes"})


def alike(actors: pl.Series, signs: pl.Series, zones: pl.DataFrame | None) -> dict[str, str]:
    """Who is odd in the same way at the same place: accounts of which one teaches little more than another.

    Without places nobody is told to be like another: a sign alone is shared by a quarter of all players.
    """
    if zones is None:
        return {}
    placed = pl.DataFrame({"actor": actors, "sign": signs}).join(zones, on="actor", how="left")
    named = placed.select("actor", pl.concat_str("sign", pl.col("zone").fill_null(""), separator=" "))
    return {actor: group for actor, group in named.iter_rows() if group is not None}


def usual_zones(places: pl.DataFrame) -> pl.DataFrame:
    """The zone that each actor is mostly in, by the main zones of its periods."""
    return places.group_by("actor").agg(pl.col("main_zone").drop_nulls().mode().sort().first().alias("zone"))
