"""What commands hold at their peak: `evaluate` and `judge` on a synthetic lake, each in a process of its own.

The log is made up a day at a time and goes through the lake's own writer. Every account plays a stretch each day with
enough events for a verdict: one a minute for bots, at chance for people. Peaks are the resident memory of the child
that ran the command, imports included. More days may cost time; what must not grow with them is the peak of `judge`
beyond its table of verdicts.

    python benchmarks/bench_memory.py                               # small, some minutes
    python benchmarks/bench_memory.py --accounts 100000 --days 4 --events 50 --commands evaluate
    python benchmarks/bench_memory.py --accounts 300000 --days 3 6 --commands judge
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

import numpy as np
import pyarrow as pa

from gamewarden.store.lake import Lake

KINDS = ("combat.kill", "loot.pickup", "move", "chat", *(f"skill.use.{number}" for number in range(36)))
FIRST_DAY = 19_800  # since the epoch
MINUTE = 60_000_000
DAY = 1440 * MINUTE
STRETCH = 60  # minutes that people play
BATCH = 1 << 18
COLUMNS = ("actor", "at", "seq", "kind", "level", "other", "ip")
_CHILD = """
import resource, subprocess, sys, json
done = subprocess.run(sys.argv[1:], capture_output=True, text=True)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(json.dumps([done.returncode, used.ru_maxrss, used.ru_utime + used.ru_stime, done.stderr[-2000:]]))
"""


@dataclass(frozen=True)
class Size:
    """How large a log is."""

    accounts: int
    days: int
    events: int  # of an account and day

    def __str__(self) -> str:
        """For a person."""
        return f"{self.accounts:,} accounts × {self.days} days × {self.events} events"


class MadeUp:
    """A log of that size as a source that a lake takes in."""

    own_seq = False
    recipe = "made-up"
    promised: frozenset[str] = frozenset()
    columns = frozenset(COLUMNS)

    def __init__(self, size: Size) -> None:
        self.size = size
        self.name = str(size)
        self.rows = size.accounts * size.days * size.events
        self._actors = pa.array([f"account{number:07d}" for number in range(size.accounts)])
        self._addresses = pa.array([f"10.0.{number >> 8}.{number & 255}" for number in range(size.accounts // 2 + 1)])

    def content(self, _beginnings: Sequence[int] = ()) -> "Content":
        """Table apart by its name alone."""
        return Content(sha256(self.name.encode()).hexdigest(), self.rows)

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """The rows in the order of time."""
        for day in range(self.size.days):
            at, who, kind = self._day(day)
            for begin in range(0, len(at), BATCH):
                part = slice(begin, begin + BATCH)
                made = {
                    "actor": pa.DictionaryArray.from_arrays(pa.array(who[part]), self._actors),
                    "at": pa.array(at[part], pa.timestamp("us", "UTC")),
                    "seq": pa.array(np.arange(len(at[part]), dtype=np.int64) + day * len(at) + begin),
                    "kind": pa.DictionaryArray.from_arrays(pa.array(kind[part]), pa.array(KINDS)),
                    "level": pa.array((who[part] % 60 + 1).astype(np.int16)),
                    "other": pa.DictionaryArray.from_arrays(
                        pa.array(self._partner(who[part], kind[part])), self._actors
                    ),
                    "ip": pa.DictionaryArray.from_arrays(pa.array(who[part] // 2), self._addresses),
                }
                yield pa.RecordBatch.from_pydict({name: made[name] for name in columns})

    def _partner(self, who: np.ndarray, kind: np.ndarray) -> np.ma.MaskedArray:
        """With whom somebody dealt, in one kind of event."""
        return np.ma.masked_array((who.astype(np.int64) * 7 + kind + 1) % self.size.accounts, kind != 3).astype(
            np.int32
        )

    def _day(self, day: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """When, who and what, in the order of time."""
        chance = np.random.default_rng([2016, day])
        accounts, events = self.size.accounts, self.size.events
        who = np.repeat(np.arange(accounts, dtype=np.int32), events)
        bot = is_bot(who)
        steady = np.tile(np.arange(events, dtype=np.float64), accounts) * (STRETCH / events)
        minute = np.where(bot, steady, chance.random(len(who)) * STRETCH)
        start = np.repeat(chance.random(accounts) * (1430 - STRETCH), events)
        kind = np.minimum(chance.geometric(np.where(bot, 0.5, 0.08)) - 1, len(KINDS) - 1).astype(np.int32)
        at = ((start + minute) * MINUTE).astype(np.int64) + (FIRST_DAY + day) * DAY
        order = np.argsort(at, kind="stable")
        return at[order], who[order], kind[order]


@dataclass(frozen=True)
class Content:
    """What the lake asks of a source."""

    digest: str
    size: int
    ends_with_newline: bool = True

    @property
    def beginnings(self) -> dict[int, str]:
        """It never grows."""
        return {}


def is_bot(who: np.ndarray) -> np.ndarray:
    """Every tenth account."""
    return who % 10 == 0


def make(size: Size, place: Path) -> None:
    """A lake, and labels of at most 4,000 of its accounts."""
    Lake(place / "lake").add(MadeUp(size))  # type: ignore[arg-type]
    labelled = np.arange(min(size.accounts, 4000))
    lines = [f"account{who:07d},{str(bool(bot)).lower()}" for who, bot in zip(labelled, is_bot(labelled), strict=True)]
    (place / "labels.csv").write_text("\n".join(["actor,bot", *lines]) + "\n", encoding="utf-8")


def fit(place: Path, size: Size) -> None:
    """A model of a small log of the same game."""
    small = place / "small"
    small.mkdir()
    make(Size(min(size.accounts, 2000), 2, size.events), small)
    peak_of(["fit", "account-day", "small/lake", "--labels", "small/labels.csv", "--to", "models"], place)


def peak_of(words: Sequence[str], place: Path) -> tuple[float, float]:
    """Peak memory (MB) and processor seconds of one command.

    Raises:
        SystemExit: it failed.
    """
    command = [sys.executable, "-c", _CHILD, sys.executable, "-m", "gamewarden", *words]
    told = subprocess.run(command, cwd=place, capture_output=True, text=True, check=True, env={**os.environ})
    code, kilobytes, seconds, said = json.loads(told.stdout)
    if code:
        raise SystemExit(f"gamewarden {' '.join(words)}: exit {code}\n{said}")
    return kilobytes / 1024, seconds


COMMANDS = {
    "evaluate": ("evaluate", "lake", "--labels", "labels.csv"),
    "judge": ("judge", "lake", "--models", "models"),
    "judge --out": ("judge", "lake", "--models", "models", "--out", "verdicts.parquet"),
    "judge --to": ("judge", "lake", "--models", "models", "--to", "kept"),
}


def main() -> None:
    """Make lakes of the sizes asked for and print the peaks."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--accounts", type=int, default=20_000)
    parser.add_argument("--days", type=int, nargs="+", default=[2, 4])
    parser.add_argument("--events", type=int, default=36)
    parser.add_argument("--commands", nargs="+", choices=[*COMMANDS], default=["evaluate", "judge"])
    parser.add_argument("--place", type=Path, help="Where the lakes are made and kept; a temporary place without it.")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        for days in asked.days:
            size = Size(asked.accounts, days, asked.events)
            place = (asked.place or Path(temporary)) / f"{size.accounts}-{size.days}-{size.events}"
            if not place.exists():
                place.mkdir(parents=True)
                make(size, place)
                fit(place, size)
            for name in asked.commands:
                peak, seconds = peak_of(COMMANDS[name], place)
                print(f"{size}: {name} peaks at {peak:,.0f} MB, {seconds:,.0f} CPU-seconds", flush=True)


if __name__ == "__main__":
    main()
