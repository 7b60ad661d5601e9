"""Packets of a world's players: packets.parquet, a real capture.pcap, and accounts.csv that leads back from addresses.

A player sends from its first event on, until its first silence of ten minutes or until the time asked for is over.
"""

from pathlib import Path

import polars as pl

from gamewarden.contracts import Progress, no_progress
from gamewarden.lab.world.pcap import write_pcap
from gamewarden.lab.world.sending import REPLIES, dice_for, packets_of, with_replies
from gamewarden.lab.world.traffic import Sender, sender_like
from gamewarden.lab.world.world import World
from gamewarden.tables import write_table

PLAYERS, MINUTES = 40, 60
FIRST_PORT = 49_152
_PORTS = 16_384
_SILENCE = pl.duration(minutes=10)


def write_packets(
    world: World, directory: Path, players: int = PLAYERS, minutes: int = MINUTES, progress: Progress = no_progress
) -> int:
    """Write the packets of the first players of a world whose events are in the directory; how many players that are.

    Raises:
        WriteError: the directory cannot be written, or the disk is full.
    """
    present = _first_sessions(directory / "events.parquet", players)
    truth = world.truth()
    streams = []
    for row in present.iter_rows(named=True):
        sender = sender_like(truth[row["actor"]], row["actor"])
        seconds = min(60.0 * minutes, max(1.0, (row["until"] - row["since"]) / 1_000_000))
        streams.append(_stream(sender, row["since"], seconds, world.seed, int(row["account"])))
        progress(1)
    packets = pl.concat(streams).sort("at", maintain_order=True)
    write_table(packets, directory / "packets.parquet")
    write_table(_write_capture(packets, present, directory / "capture.pcap"), directory / "accounts.csv")
    return present.height


def _stream(sender: Sender, since: int, seconds: float, seed: int, account: int) -> pl.DataFrame:
    sent = packets_of(sender, since, seconds, dice_for(seed, account))
    return with_replies(sent, dice_for(seed, account, REPLIES))


def _first_sessions(events: Path, players: int) -> pl.DataFrame:
    """Who plays first, from when to when (µs), and where: actor, account, since, until, end."""
    seen = pl.scan_parquet(events, glob=False).select("actor", "at", "ip")
    first = seen.select("actor").unique(maintain_order=True).head(players).collect()
    mine = seen.join(first.lazy(), on="actor", how="semi").sort("actor", "at", maintain_order=True)
    breaks = (pl.col("at").diff() > _SILENCE).fill_null(False).cum_sum().over("actor")
    session = mine.with_columns(breaks=breaks).filter(pl.col("breaks") == 0)
    spans = session.group_by("actor", maintain_order=True).agg(
        since=pl.col("at").first().to_physical(), until=pl.col("at").last().to_physical(), ip=pl.col("ip").first()
    )
    numbered = spans.with_columns(account=pl.int_range(pl.len())).collect()
    port = FIRST_PORT + pl.col("account") % _PORTS
    return numbered.with_columns(end=pl.format("{}:{}", "ip", port))


def _write_capture(packets: pl.DataFrame, present: pl.DataFrame, path: Path) -> pl.DataFrame:
    """The capture with the addresses the events name; the table that leads back."""
    ends = dict(zip(present["actor"], present["end"], strict=True))
    accounts = write_pcap(packets.with_columns(pl.col("actor").replace_strict(ends)), path)
    owners = dict(zip(present["end"], present["actor"], strict=True))
    return accounts.with_columns(pl.col("account").replace_strict(owners)).sort("account")
