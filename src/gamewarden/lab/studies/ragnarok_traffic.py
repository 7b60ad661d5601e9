"""Whether the traffic test of Hilaire et al. holds for Ragnarok Online: on recorded bots, and on synthetic play.

The recording is found through the environment variable GAMEWARDEN_DATA; without it the study says so and goes on.
"""

import os
from pathlib import Path

import polars as pl

from gamewarden.features.traffic.recipe import TrafficTest
from gamewarden.lab.world.ragnarok import Ragnarok, sent_packets
from gamewarden.readers.captures.packets import open_packets
from gamewarden.tables import FramePackets

PORT = 5121
DATA = "GAMEWARDEN_DATA"
_TESTS = ("lengths", "interarrival", "autocorrelation")


def recorded_windows() -> tuple[pl.DataFrame, tuple[str, ...]]:
    """What the test says of each recorded role, or an empty table and why."""
    place = os.environ.get(DATA)
    rig = Path(place or ".") / "ragnarok" / "rig"
    if place is None or not (rig / "capture.pcap.gz").exists():
        return pl.DataFrame(), (f"No recorded Ragnarok traffic is at hand: {DATA} names no directory with it.",)
    windows = TrafficTest().measure(open_packets(rig / "capture.pcap.gz", (PORT,)))
    roles = pl.read_csv(rig / "labels.csv", glob=False).select(pl.format(":{}", "client_port").alias("port"), "role")
    named = windows.with_columns(port=":" + pl.col("actor").str.split(":").list.last()).join(roles, on="port")
    said = "The recording holds OpenKore programs alone, two of them driven by a noisy script; no person plays there."
    return windows_by_role(named.with_columns(bot_plays=pl.lit(True))), (said,)


def synthetic_windows(world: Ragnarok) -> pl.DataFrame:
    """What the test says of a world's sessions: TRAFFIC with role and whether a bot plays."""
    windows = TrafficTest().measure(FramePackets(sent_packets(world, world.labelled())))
    named = windows.with_columns(role=pl.col("actor").replace_strict(world.truth())).join(
        world.labels().select("actor", bot_plays="bot"), on="actor"
    )
    return named.with_columns(pl.format("{}:{}", pl.lit(world.seed), "actor").alias("actor"))


def windows_by_role(windows: pl.DataFrame) -> pl.DataFrame:
    """The share of windows called bot by the tree, and by each test that could vote; a role a row."""
    seconds = (pl.col("until") - pl.col("since")).dt.total_microseconds().mean() / 1e6
    return (
        windows.group_by("bot_plays", "role")
        .agg(
            pl.col("actor").n_unique().cast(pl.Int64).alias("actors"),
            pl.len().cast(pl.Int64).alias("windows"),
            seconds.alias("seconds_a_window"),
            pl.col("bot").mean().alias("called_bot"),
            *(pl.col(name).mean().alias(f"by_{name}") for name in _TESTS),
        )
        .sort("bot_plays", "role")
    )
