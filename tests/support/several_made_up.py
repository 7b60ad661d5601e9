"""A small game of which there is a log, a packet log and an account table, all by the same names."""

from datetime import timedelta

import numpy as np
import polars as pl

from gamewarden import pipeline, readers
from gamewarden.features.account_table.recipe import AccountTable
from gamewarden.readers.together import KnownAs, Together
from gamewarden.tables import write_table
from shared import copy_of, shared_directory
from upkeep_made_up import START, Log, make_game

LOG = Log(days=4, bots=24, humans=26)
WINDOW = 100  # client packets that are judged at once


def packets(log=LOG, windows=3, seed=5):
    """PACKETS of everybody on every day: bots send without a pause, people stop and chat; every third bot hides."""
    draw = np.random.default_rng(seed)
    parts = []
    for day in range(log.days):
        for at, name in enumerate(log.labels()["actor"]):
            steady = name.startswith("bot") and at % 3
            count = WINDOW * windows + 7
            gaps = draw.uniform(0.2, 0.9, count) if steady else draw.choice([0.3, 0.8, 2.6, 6.8], count)
            sizes = draw.integers(20, 45, count) if steady else draw.choice([20, 30, 52, 70, 120], count)
            micros = pl.Series((np.cumsum(gaps) * 1e6).astype(np.int64)).cast(pl.Duration("us"))
            begin = START + timedelta(days=day, hours=1)
            parts.append(pl.DataFrame({"actor": name, "at": micros + begin, "up": True, "size": sizes}))
    return pl.concat(parts).sort("at", maintain_order=True).with_columns(pl.col("size").cast(pl.Int32))


def accounts(log=LOG, seed=6):
    """One row per account, and what it is: bots have fewer friends and play from fewer addresses."""
    draw = np.random.default_rng(seed)
    told = log.labels()
    bot = told["bot"].to_numpy()
    return told.select("actor").with_columns(
        verdict=pl.Series(np.where(bot, "Bot", "Human")),
        friends=pl.Series(draw.poisson(np.where(bot, 2, 25))),
        addresses=pl.Series(draw.poisson(np.where(bot, 1, 9)) + 1),
        paid=pl.Series(np.round(draw.lognormal(np.where(bot, 1.0, 3.0), 0.5), 2)),
        play_minutes=pl.Series(draw.integers(100, 9000, told.height)),
    )


def make_several(place, log=LOG):
    """All of it, with models of days, of traffic and of accounts, under `place`: a copy of one that tests share."""
    return copy_of(shared_directory(_build, log), place)


def _build(place, log):
    make_game(place, log)
    write_table(packets(log), place / "packets.parquet")
    write_table(accounts(log).drop("verdict"), place / "accounts.csv")
    traces = pipeline.trace_recipe("traffic", {"thresholds": False, "tree": "majority"})
    pipeline.fit_traces(traces, [readers.open(packets(log))], place / "labels.csv", place / "models")
    asked = pipeline.TableFitOptions(
        AccountTable(actor="actor", label="verdict"), None, {"rounds": 40, "runs": 1, "peers": ("none",)}
    )
    pipeline.fit_table(asked, readers.open(accounts(log)), place / "models")


def opened(place, *names):
    """Some of its sources as one: lake, log, packets and accounts."""
    kinds = {"lake": "events", "log": "events", "packets": "packets", "accounts": "table"}
    files = {
        "lake": place / "lake",
        "log": place / "events.parquet",
        "packets": place / "packets.parquet",
        "accounts": place / "accounts.csv",
    }
    return Together([KnownAs(readers.open(files[name]), (kinds[name],)) for name in names])
