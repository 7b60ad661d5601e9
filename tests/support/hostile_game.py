"""A small game in which some accounts have names that somebody chose with care, and a model of it."""

import polars as pl

from commands import done
from shared import copy_of, shared_directory

HOSTILE = ["\x1b[2J\x1b]0;owned\x07", "봇사냥꾼\u202eegnahc", "=cmd|' /C calc'!A0", "[bold]:cat:[/bold]", "a b  c"]


def play(place):
    """Play it: log.parquet, labels.parquet and models are in this directory, a copy of one that tests share."""
    return copy_of(shared_directory(_build), place)


def _build(place):
    done("world", place, "--accounts", 60, "--days", 2, "--seed", 3)
    events, labels = pl.read_parquet(place / "events.parquet"), pl.read_csv(place / "labels.csv")
    busy = events.group_by("actor").len().sort("len", descending=True)
    bots = busy.filter(pl.col("actor").is_in(labels.filter("bot")["actor"].implode()))["actor"]
    names = dict(zip(bots, HOSTILE, strict=False))
    events.with_columns(pl.col("actor").replace(names)).write_parquet(place / "log.parquet")
    labels.with_columns(pl.col("actor").replace(names)).write_parquet(place / "labels.parquet")
    done("fit", "account-day", place / "log.parquet", "--labels", place / "labels.parquet", "--to", place / "models")
