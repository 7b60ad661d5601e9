"""How many packets a second the live traffic test takes in, beside C, NumPy and plain Python in the same run.

100,000 interleaved synthetic players in micro-batches of 10,000 packets. Each contender first meets all players, which
is not counted. Ratios are of CPU-seconds of one run, the best of several rounds taken in turn; absolute figures depend
on the machine.
"""

import ctypes
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa

from gamewarden.features.traffic.recipe import TrafficTest

PLAYERS = 100_000
PACKETS = 11_000_000
MICRO_BATCH = 10_000
MEETING = 1_000_000  # packets before the clock starts
ROUNDS = 7
HERE = Path(__file__).parent
FEWEST_OF_C, MOST_BYTES, MOST_MEMORY, MOST_SECONDS = 0.8, 130, 1024, 3.0


class Stream:
    """Synthetic packets of interleaved players, as columns and as Arrow batches over the same memory."""

    def __init__(self, players: int, packets: int) -> None:
        draw = np.random.default_rng(20260301)
        self.players = players
        self.rows = packets
        self.withheld = 0
        self.code = draw.integers(0, players, packets).astype(np.int32)
        # A packet each 0.4 s a player on average, with the exponential's long gaps: some regular windows, some not.
        self.at = 1_700_000_000_000_000 + np.cumsum(draw.exponential(400_000 / players, packets)).astype(np.int64)
        self.size = draw.choice(
            np.array([14, 30, 38, 44, 52, 60], np.int32), packets, p=[0.3, 0.3, 0.2, 0.14, 0.05, 0.01]
        )
        self.up = draw.random(packets) < 0.95
        self.bits = np.packbits(self.up, bitorder="little")
        names = pa.array([f"203.0.{at >> 8}.{at & 255}:{50_000 + at % 9_000}" for at in range(players)])
        self.table = pa.record_batch(
            {
                "actor": pa.DictionaryArray.from_arrays(pa.array(self.code), names),
                "at": pa.array(self.at, pa.timestamp("us", "UTC")),
                "up": pa.array(self.up),
                "size": pa.array(self.size),
            }
        )

    def batches(self) -> Iterator[pa.RecordBatch]:
        """The micro-batches."""
        for begin in range(0, len(self.code), MICRO_BATCH):
            yield self.table.slice(begin, MICRO_BATCH)

    def head(self, packets: int) -> "Stream":
        """The first packets."""
        part = object.__new__(Stream)
        part.players, part.rows = self.players, packets
        for name in ("code", "at", "size", "up"):
            setattr(part, name, getattr(self, name)[:packets])
        part.bits, part.table = self.bits, self.table.slice(0, packets)
        return part


Push = Callable[[int], int]  # takes the micro-batch that begins here in, and says how many decisions it made


def ours(stream: Stream) -> Push:
    """The fold that `watch` runs."""
    fold = TrafficTest().live()
    return lambda begin: len(fold.push(stream.table.slice(begin, MICRO_BATCH)))


class C:
    """The reference, compiled here."""

    def __init__(self, folder: Path) -> None:
        library = folder / "traffic_reference.so"
        compiler = shutil.which("cc") or shutil.which("gcc")
        if compiler is None:
            sys.exit("bench_traffic_online: no C compiler (cc or gcc) on the path; install one to compare with C")
        source = str(HERE / "traffic_reference.c")
        subprocess.run(
            [compiler, "-O3", "-march=native", "-shared", "-fPIC", source, "-o", str(library), "-lm"], check=True
        )
        self.code = ctypes.CDLL(str(library))
        self.code.table_new.restype = ctypes.c_void_p
        self.code.push.restype = self.code.push_dense.restype = ctypes.c_int64
        self.out = ctypes.create_string_buffer(MICRO_BATCH * self.code.decision_bytes())

    def hashed(self, stream: Stream) -> Push:
        """Players in an open-addressing table, a cache line each, at most half full."""
        size = 1 << (2 * stream.players).bit_length()
        return partial(self._push, self.code.push, ctypes.c_void_p(self.code.table_new(ctypes.c_uint64(size))), stream)

    def dense(self, stream: Stream) -> Push:
        """Players in a plain array by their code."""
        self.room = np.zeros(stream.players * self.code.slot_bytes() + 64, np.uint8)
        players = ctypes.c_void_p(self.room.ctypes.data + -self.room.ctypes.data % 64)
        return partial(self._push, self.code.push_dense, players, stream)

    def _push(self, push: Callable[..., int], state: ctypes.c_void_p, stream: Stream, begin: int) -> int:
        def address(array: np.ndarray, place: int) -> ctypes.c_void_p:
            return ctypes.c_void_p(array.ctypes.data + place * array.itemsize)

        columns = [address(stream.code, begin), address(stream.at, begin), address(stream.bits, begin // 8)]
        rows = min(MICRO_BATCH, len(stream.code) - begin)
        return push(state, *columns, address(stream.size, begin), ctypes.c_int64(rows), self.out)


def numpy_version(stream: Stream) -> Push:
    """State as arrays; a micro-batch is taken in as rounds in which each player has at most one packet."""
    state = NumpyState(stream.players)

    def push(begin: int) -> int:
        part = slice(begin, begin + MICRO_BATCH)
        up = stream.up[part]
        code, at, size = stream.code[part][up], stream.at[part][up], stream.size[part][up].astype(np.int64)
        order = np.argsort(code, kind="stable")
        ordered = code[order]
        first = np.concatenate([[0], np.flatnonzero(np.diff(ordered)) + 1])
        turn = np.arange(len(code)) - np.repeat(first, np.diff(np.append(first, len(code))))
        before = state.decisions
        for nth in range(int(turn.max()) + 1):
            mine = order[turn == nth]
            state.take(code[mine], at[mine], size[mine])
        return state.decisions - before

    return push


class NumpyState:
    """All players' numbers, an array each."""

    def __init__(self, players: int) -> None:
        self.at = np.full(players, -(1 << 62), np.int64)
        self.sums = np.zeros((players, 5), np.int64)  # total, squares, products, first, previous
        self.counts = np.zeros((players, 8), np.int64)  # packets, position, votes, abstained, gaps ×2, sizes ×2
        self.decisions = 0

    def take(self, who: np.ndarray, at: np.ndarray, size: np.ndarray) -> None:
        """One packet each of these players."""
        gap = at - self.at[who]
        counts = self.counts[who]
        counts[gap > 600_000_000] = 0
        counted = gap <= 600_000_000
        counts[:, 4] += counted & (gap > 2_000_000)
        counts[:, 5] += counted & (gap > 6_000_000)
        counts[:, 6] += size > 59
        counts[:, 7] += size > 50
        self.at[who] = np.maximum(at, self.at[who])
        sums = self.sums[who]
        start = counts[:, 1] == 0
        sums[start] = 0
        sums[:, 0] += size
        sums[:, 1] += size * size
        sums[:, 2] += size * sums[:, 4]
        sums[:, 3] = np.where(start, size, sums[:, 3])
        sums[:, 4] = size
        counts[:, :2] += 1
        full = counts[:, 1] == 20
        counts[full] = self.vote(sums[full], counts[full])
        done = counts[:, 0] == 100
        self.decide(counts[done])
        counts[done] = 0
        self.sums[who], self.counts[who] = sums, counts

    def vote(self, sums: np.ndarray, counts: np.ndarray) -> np.ndarray:
        """Sub-windows that are full."""
        total, squares, products, first, last = sums.T
        x, y = total - first, total - last
        a, b = 19 * (squares - first * first) - x * x, 19 * (squares - last * last) - y * y
        able = (a > 0) & (b > 0)
        r = (19 * products - x * y) / np.sqrt(np.where(able, a.astype(float) * b, 1.0))
        counts[:, 2] += able & (r < -0.15)
        counts[:, 3] += ~able
        counts[:, 1] = 0
        return counts

    def decide(self, counts: np.ndarray) -> np.ndarray:
        """Windows that are full."""
        _, _, votes, abstained, gaps1, gaps2, sizes1, sizes2 = counts.T
        a = (2 * (5 - abstained) >= 5) & (2 * votes > 5 - abstained)
        b = (gaps1 < 1) | (gaps2 > 0.3 * gaps1)
        c = (sizes1 < 1) & (sizes2 < 7)
        self.decisions += len(counts)
        return a.astype(int) + b + c >= 2


class Player:
    """A player as an object."""

    __slots__ = (
        "abst",
        "at",
        "gaps1",
        "gaps2",
        "k",
        "n",
        "pv",
        "s1",
        "s2",
        "s11",
        "s12",
        "s22",
        "sizes1",
        "sizes2",
        "votes",
    )

    def __init__(self) -> None:
        self.at = -(1 << 62)
        self.forget()

    def forget(self) -> None:
        """A window begins."""
        self.n = self.k = self.votes = self.abst = self.gaps1 = self.gaps2 = self.sizes1 = self.sizes2 = 0
        self.s1 = self.s2 = self.s11 = self.s12 = self.s22 = self.pv = 0

    def packet(self, at: int, x: int) -> bool | None:
        """Take a packet in."""
        gap = at - self.at
        if gap > 600_000_000:
            self.forget()
        elif gap < 0:
            at = self.at
        elif gap > 2_000_000:
            self.gaps1 += 1
            self.gaps2 += gap > 6_000_000
        self.at = at
        self.sizes1 += x > 59
        self.sizes2 += x > 50
        if self.k:
            self.s1 += x
            self.s11 += x * x
            self.s12 += x * self.pv
        if self.k < 19:
            self.s2 += x
            self.s22 += x * x
        self.pv = x
        self.k += 1
        self.n += 1
        if self.k == 20:
            self.vote()
        return self.decide() if self.n == 100 else None

    def vote(self) -> None:
        """A sub-window is full."""
        a, b = 19 * self.s11 - self.s1**2, 19 * self.s22 - self.s2**2
        if a <= 0 or b <= 0:
            self.abst += 1
        elif (19 * self.s12 - self.s1 * self.s2) / (a * b) ** 0.5 < -0.15:
            self.votes += 1
        self.k = self.s1 = self.s2 = self.s11 = self.s12 = self.s22 = 0

    def decide(self) -> bool:
        """A window is full."""
        valid = 5 - self.abst
        a = 2 * valid >= 5 and 2 * self.votes > valid
        b = self.gaps1 < 1 or self.gaps2 / self.gaps1 > 0.3
        c = self.sizes1 < 1 and self.sizes2 < 7
        self.forget()
        return a + b + c >= 2


def python_objects(stream: Stream) -> Push:
    """A dictionary of objects."""
    players: dict[int, Player] = {}

    def push(begin: int) -> int:
        part = slice(begin, begin + MICRO_BATCH)
        decisions = 0
        columns = (column[part].tolist() for column in (stream.code, stream.at, stream.up, stream.size))
        for code, at, up, size in zip(*columns, strict=True):
            if up:
                player = players.get(code)
                if player is None:
                    player = players[code] = Player()
                decisions += player.packet(at, size) is not None
        return decisions

    return push


def measured(contender: Callable[[Stream], Push], stream: Stream) -> tuple[float, int]:
    """Packets a CPU-second once the players are known, and all decisions made."""
    push = contender(stream)
    decisions = sum(push(begin) for begin in range(0, MEETING, MICRO_BATCH))
    clock = time.process_time()
    decisions += sum(push(begin) for begin in range(MEETING, len(stream.code), MICRO_BATCH))
    return (len(stream.code) - MEETING) / (time.process_time() - clock), decisions


def rates(c: C, stream: Stream) -> dict[str, float]:
    """The best rate of each; all must make equally many decisions."""
    contenders = {"C, open addressing": c.hashed, "C, plain array": c.dense, "ours": ours}
    best = dict.fromkeys(contenders, 0.0)
    seen = set()
    for _ in range(ROUNDS):
        for name, contender in contenders.items():
            rate, decisions = measured(contender, stream)
            best[name] = max(best[name], rate)
            seen.add(decisions)
    part = stream.head(2 * MEETING)
    few = {measured(c.dense, part)[1]}
    for name, contender in {"NumPy": numpy_version, "Python objects": python_objects}.items():
        best[name], decisions = measured(contender, part)
        few.add(decisions)
    if len(seen) > 1 or len(few) > 1:
        sys.exit(f"bench_traffic_online: the contenders made different numbers of decisions: {seen}, {few}")
    return best


def million() -> None:
    """Run in a process of its own: a million players at once, and what they take."""
    fold = TrafficTest().live()
    for batch in Stream(1_030_000, 4_000_000).batches():
        fold.push(batch)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{fold.tally.players} {fold.nbytes / fold.tally.players:.1f} {peak:.0f}")


def second_start() -> None:
    """Run in a process of its own: how long a watch takes from the start of Python to its first decisions."""
    from gamewarden.online.watch import watch

    lines: list[str] = []
    watch(Stream(10, 5_000), TrafficTest(), lines.append)
    print(f"{time.process_time():.2f}")


def alone(what: str) -> list[float]:
    """The numbers a process of its own prints."""
    done = subprocess.run([sys.executable, __file__, what], check=True, capture_output=True, text=True)
    return [float(part) for part in done.stdout.split()]


def main() -> None:
    """Print the ratios, and fail where a promise is broken."""
    stream = Stream(PLAYERS, PACKETS)
    with tempfile.TemporaryDirectory() as folder:
        found = rates(C(Path(folder)), stream)
    fold = TrafficTest().live()
    for batch in stream.head(PACKETS // 2).batches():
        fold.push(batch)
    a_player = fold.nbytes / fold.tally.players
    print(f"{PLAYERS:,} synthetic players, {PACKETS:,} packets in micro-batches of {MICRO_BATCH:,}")
    for name, rate in found.items():
        print(f"  {name:20} {rate / 1e6:8.2f} M packets/CPU-s   {rate / found['C, open addressing']:7.4f} × C")
    alone("second")
    (ready,) = alone("second")
    players, bytes_each, peak = alone("million")
    print(
        f"  state {a_player:.0f} bytes a player; {players:,.0f} players: {bytes_each:.0f} bytes each, "
        f"{peak:.0f} MiB peak of the whole process; second start ready in {ready:.2f} CPU-s"
    )
    promises = {
        f"ours is at least {FEWEST_OF_C} × C": found["ours"] >= FEWEST_OF_C * found["C, open addressing"],
        f"at most {MOST_BYTES} bytes a player": max(a_player, bytes_each) <= MOST_BYTES,
        f"a million players under {MOST_MEMORY} MiB": players >= 1_000_000 and peak < MOST_MEMORY,
        f"ready in under {MOST_SECONDS} CPU-s on the second start": ready < MOST_SECONDS,
    }
    for promise, kept in promises.items():
        print(f"  {'kept' if kept else 'BROKEN'}: {promise}")
    sys.exit(0 if all(promises.values()) else 1)


if __name__ == "__main__":
    {"million": million, "second": second_start}.get("".join(sys.argv[1:]), main)()
