"""A watch under a flood of spoofed sources: is its memory flat, and are known players decided upon as without it?

python benchmarks/bench_watch_flood.py [--minutes 2] [--rate 30000] [--players 200] [--to DIR]

A generator writes a capture into `gamewarden watch -` at the pace of its own times: PLAYERS players with handshakes
(every third speaks UDP) and packets both ways, and RATE spoofed packets a second, SYNs and datagrams in turn, each from
another address. Memory is that of the watch, as the system tells it (/proc). Afterwards the same game is watched
without the flood, as fast as it goes, and the decisions are compared byte by byte. Everything is synthetic.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from floods import HEADER, PORT, SERVER, START, Known, tcp_record, udp_record

TICK = 100_000  # microseconds of the game a step
MOST_GROWTH = 32 << 20  # bytes that memory may grow after a tenth of the time; every spoofed source for ever was GBs
UDP_BYTES = 30
IP_AT, TRANSPORT_AT = 16 + 14, 16 + 14 + 20  # in a record


def templates() -> tuple[np.ndarray, np.ndarray]:
    """A spoofed SYN and a spoofed datagram, to be filled with times, addresses and ports."""
    syn = tcp_record(START, 0, 0, SERVER, PORT, 7, 0, 0x02)
    return np.frombuffer(syn, np.uint8), np.frombuffer(udp_record(START, 0, 0, SERVER, PORT, UDP_BYTES), np.uint8)


def spoofed(template: np.ndarray, dice: np.random.Generator, at: int, count: int) -> bytes:
    """So many records of one kind at one time, from anywhere."""
    records = np.repeat(template[None, :], count, axis=0)
    records[:, :8] = np.array([at // 10**6, at % 10**6], "<u4").view(np.uint8)
    records[:, IP_AT + 12 : IP_AT + 16] = (
        dice.integers(1 << 24, 0xC0000000, count).astype(">u4")[:, None].view(np.uint8)
    )
    records[:, TRANSPORT_AT : TRANSPORT_AT + 2] = (
        dice.integers(1024, 65_536, count).astype(">u2")[:, None].view(np.uint8)
    )
    return records.tobytes()


def ticks(minutes: float, players: int, rate: int) -> Iterator[bytes]:
    """The capture, a step of the game at a time; the game is the same whatever the rate of the flood."""
    dice = np.random.default_rng(7)
    kinds = templates()
    people = [Known(number, udp=number % 3 == 2) for number in range(players)]
    yield HEADER
    for at in range(START, START + int(minutes * 60e6), TICK):
        told = []
        for one in people:
            while one.at < at + TICK:
                told.append(one.next())
        flood = [spoofed(kind, dice, at, rate * TICK // 2_000_000) for kind in kinds] if rate else []
        yield b"".join([*flood, *(record for _, record in sorted(told, key=lambda one: one[0]))])


def generate(out: BinaryIO, minutes: float, players: int, rate: int) -> None:
    """Write the capture, not ahead of its own times when there is a flood."""
    began = time.monotonic()
    for step, data in enumerate(ticks(minutes, players, rate)):
        out.write(data)
        out.flush()
        ahead = step * TICK / 1e6 - (time.monotonic() - began)
        if rate and ahead > 0:
            time.sleep(ahead)


def memory(pid: int) -> int:
    """Resident bytes of a process."""
    with Path(f"/proc/{pid}/statm").open() as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def cpu_seconds(pid: int) -> float:
    """CPU time a process has taken so far."""
    words = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")


def watched(out: Path, minutes: float, players: int, rate: int) -> tuple[list[tuple[float, int, float]], str]:
    """Watch the capture; (seconds, resident bytes, CPU-seconds) every few seconds, and what was said at the end."""
    given = ["--minutes", str(minutes), "--players", str(players), "--rate", str(rate)]
    making = subprocess.Popen([sys.executable, __file__, "--generate", *given], stdout=subprocess.PIPE)
    watching = subprocess.Popen(
        [sys.executable, "-m", "gamewarden", "watch", "-", "--server-port", str(PORT), "--out", str(out)],
        stdin=making.stdout,
        stderr=subprocess.PIPE,
        text=True,
    )
    making.stdout.close()
    samples, began = [], time.monotonic()
    pause = max(minutes * 60 / 360, 0.2)
    while True:
        try:
            _, said = watching.communicate(timeout=pause)
        except subprocess.TimeoutExpired:
            if size := memory(watching.pid):  # none while it ends
                samples.append((time.monotonic() - began, size, cpu_seconds(watching.pid)))
            continue
        making.wait()
        if watching.returncode:
            sys.exit(f"bench_watch_flood: the watch ended with {watching.returncode}: {said}")
        return samples, said


def main() -> int:
    """Print the figures; 1 when memory is not flat or a decision differs."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=2.0)
    parser.add_argument("--rate", type=int, default=30_000, help="spoofed packets a second")
    parser.add_argument("--players", type=int, default=200)
    parser.add_argument("--to", type=Path, help="keep decisions and samples here")
    parser.add_argument("--generate", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.generate:
        generate(sys.stdout.buffer, given.minutes, given.players, given.rate)
        return 0
    with tempfile.TemporaryDirectory(prefix="gamewarden-bench-") as folder:
        place = given.to or Path(folder)
        place.mkdir(parents=True, exist_ok=True)
        return report(place, given.minutes, given.players, given.rate)


def report(place: Path, minutes: float, players: int, rate: int) -> int:
    """Run both watches and compare."""
    samples, said = watched(place / "flooded.jsonl", minutes, players, rate)
    (place / "samples.json").write_text(json.dumps(samples))
    watched(place / "quiet.jsonl", minutes, players, 0)
    flooded, quiet = ((place / name).read_bytes() for name in ("flooded.jsonl", "quiet.jsonl"))
    settled = samples[len(samples) // 10][1]
    highest, last = max(size for _, size, _ in samples[len(samples) // 10 :]), samples[-1][1]
    print(f"{minutes:g} minutes, {players} players, {rate:,} spoofed packets/s: {int(rate * minutes * 60):,} sources")
    print(f"took {samples[-1][0]:.0f} s, {samples[-1][2]:.0f} CPU-s of the watch")
    for seconds, size, _ in samples[:: max(len(samples) // 15, 1)]:
        print(f"  {seconds / 60:6.1f} min  {size / 2**20:7.1f} MiB")
    print(f"after a tenth {settled / 2**20:.1f} MiB, highest {highest / 2**20:.1f}, at the end {last / 2**20:.1f}")
    print(f"{len(quiet.splitlines()):,} decisions without the flood, {len(flooded.splitlines()):,} with it")
    print(said.strip())
    promises = {
        f"memory grows by less than {MOST_GROWTH >> 20} MiB after a tenth of the time": highest - settled < MOST_GROWTH,
        "known players are decided upon alike, byte by byte": flooded == quiet and quiet != b"",
    }
    for promise, kept in promises.items():
        print(f"  {'kept' if kept else 'BROKEN'}: {promise}")
    return 0 if all(promises.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
