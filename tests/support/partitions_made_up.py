"""A small table at rest, and what other processes do to it; a process that is spawned can import this file."""

import os

import polars as pl

from gamewarden.store.partitions import Partitions
from gamewarden.tables import Schema

THINGS = Schema("THINGS", {"actor": pl.String, "n": pl.Int64}, required=("actor", "n"), open=True)
DAY = 86_400_000_000


def things(*actors, n=1):
    return pl.DataFrame({"actor": list(actors), "n": [n] * len(actors)}, schema={"actor": pl.String, "n": pl.Int64})


def put(table, day=1, frame=None, origin="a", **options):
    since = day * DAY
    rows = things("b", "a") if frame is None else frame
    return table.put(f"day={day}", rows, came_from=origin, since=since, until=since + DAY, **options)


def writes(directory, numbers):
    table = Partitions(directory, THINGS)
    for number in numbers:
        put(table, number, things(f"a{number}"), origin=str(number))
        put(table, 10_000, things(f"shared{number}"), origin=f"shared {number}")
        if number % 5 == 0:
            table.drop([f"day={number}"])


def dies_saving(directory):
    table = Partitions(directory, THINGS)
    table._save = lambda _index: os._exit(9)
    put(table, frame=things("c"), origin="other")


def dies_sweeping(directory):
    table = Partitions(directory, THINGS)
    table._sweep = lambda *_: os._exit(9)
    put(table, frame=things("c"), origin="other")


def dies_dropping(directory):
    table = Partitions(directory, THINGS)
    table._sweep = lambda *_: os._exit(9)
    table.drop(["day=1"])
