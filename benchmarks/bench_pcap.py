"""Packets per CPU-second of the capture reader, of dpkt, of tshark and of `cat`, on one synthetic capture in one run.

python benchmarks/bench_pcap.py [GIGABYTES] [SLOW_PACKETS]

The capture (1 GB unless told otherwise) is written to a temporary directory and deleted. It looks like game traffic:
2,000 players, small client packets, larger server packets, three in ten without payload. All readers find the file in
the page cache. dpkt and tshark read its first SLOW_PACKETS (200,000) only, since they would need many minutes; both
give time, ports, sequence number and payload length of every packet, less than ours, which also follows flows and
drops retransmissions.
"""

import json
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl

from gamewarden.lab.world.pcap import write_pcap
from gamewarden.readers.captures.packets import open_packets

BARS = {"dpkt": 100.0, "tshark": 200.0}
WITHIN_OF_CAT = 4.0
PLAYERS = 2_000
MEAN_RECORD = 178  # bytes, as made below
RUNS = 3


def packets(count: int) -> pl.DataFrame:
    """Game-like traffic with a fixed seed."""
    random = np.random.default_rng(11)
    up = random.random(count) < 0.5
    sizes = np.where(up, random.gamma(3, 15, count), random.gamma(1.2, 230, count)).astype(np.int32) + 1
    sizes[random.random(count) < 0.3] = 0
    return pl.DataFrame(
        {
            "actor": pl.Series(random.integers(0, PLAYERS, count)).cast(pl.String),
            "at": pl.Series(1_700_000_000_000_000 + np.cumsum(random.integers(1, 300, count))).cast(
                pl.Datetime("us", "UTC")
            ),
            "up": up,
            "size": np.minimum(sizes, 1448),
        }
    )


def ours(path: Path) -> int:
    """Read all with the direction by port."""
    stream = open_packets(path, server_ports=[3724])
    for _ in stream.batches():
        pass
    return stream.report.counts["packets captured"]


def by_dpkt(path: Path) -> int:
    """The loop a careful user of dpkt writes."""
    import dpkt

    count = total = 0
    with path.open("rb") as file:
        for _at, frame in dpkt.pcap.Reader(file):
            count += 1
            packet = dpkt.ethernet.Ethernet(frame).data
            if isinstance(packet, dpkt.ip.IP) and isinstance(packet.data, dpkt.tcp.TCP):
                segment = packet.data
                total += packet.len - packet.hl * 4 - segment.off * 4 + (segment.dport == 3724) + (segment.seq & 1)
    return count


def run(command: list[str]) -> int:
    """Run another program and count nothing."""
    subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
    return 0


def by_tshark(path: Path) -> int:
    """The fields the reader delivers, straight from tshark."""
    fields = (
        "frame.time_epoch",
        "ip.src",
        "tcp.srcport",
        "ip.dst",
        "tcp.dstport",
        "tcp.len",
        "tcp.analysis.retransmission",
    )
    return run(["tshark", "-n", "-r", str(path), "-T", "fields", *(part for field in fields for part in ("-e", field))])


def cpu_seconds(work: Callable[[Path], int], path: Path) -> tuple[float, int]:
    """CPU time of this process and its children while `work` runs."""

    def spent() -> float:
        children = resource.getrusage(resource.RUSAGE_CHILDREN)
        return time.process_time() + children.ru_utime + children.ru_stime

    before = spent()
    count = work(path)
    return spent() - before, count


def head(path: Path, count: int) -> Path:
    """A capture of the first packets of another."""
    with path.open("rb") as file:
        data = file.read(24 + count * 1600)
    place = 24
    for _ in range(count):
        place += 16 + int.from_bytes(data[place + 8 : place + 12], "little")
    short = path.with_name("head.pcap")
    short.write_bytes(data[:place])
    return short


def main() -> int:
    """Print the rates and ratios; 1 when a bar is missed."""
    size = float(sys.argv[1]) if len(sys.argv) > 1 else 1.0
    slow = int(sys.argv[2]) if len(sys.argv) > 2 else 200_000
    with tempfile.TemporaryDirectory(prefix="gamewarden-bench-") as folder:
        path = Path(folder) / "game.pcap"
        write_pcap(packets(int(size * 1e9 / MEAN_RECORD)), path)
        return report(path, slow)


def report(path: Path, slow: int) -> int:
    """Measure each reader, the best of several runs for the fast ones."""
    _, total = cpu_seconds(ours, path)  # compiles or loads the kernels, and fills the page cache
    short = head(path, min(slow, total))
    best = {
        "ours": min(cpu_seconds(ours, path)[0] for _ in range(RUNS)) / total,
        "cat": min(cpu_seconds(lambda file: run(["cat", str(file)]), path)[0] for _ in range(RUNS)) / total,
        "dpkt": cpu_seconds(by_dpkt, short)[0] / min(slow, total),
    }
    if shutil.which("tshark"):
        best["tshark"] = cpu_seconds(by_tshark, short)[0] / min(slow, total)
    rates = {name: 1 / seconds for name, seconds in best.items()}
    print(f"{path.stat().st_size / 1e9:.2f} GB, {total:,} packets (synthetic)")
    for name, rate in rates.items():
        print(f"{name:8} {rate:14,.0f} packets per CPU-second")
    ratios = {f"ours / {name}": rates["ours"] / rates[name] for name in BARS if name in rates}
    ratios["cat / ours"] = rates["cat"] / rates["ours"]
    met = {name: rates["ours"] / rates[name] >= bar for name, bar in BARS.items() if name in rates}
    met["cat"] = ratios["cat / ours"] <= WITHIN_OF_CAT
    print(json.dumps({name: round(ratio, 2) for name, ratio in ratios.items()}))
    print(f"bars: dpkt x{BARS['dpkt']:.0f}, tshark x{BARS['tshark']:.0f}, within {WITHIN_OF_CAT:.0f} of cat: {met}")
    return 0 if all(met.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
