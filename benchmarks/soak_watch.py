"""A year of players in minutes: is a watch that never ends flat?

python benchmarks/soak_watch.py [--days 365] [--active 150] [--picture docs/images/soak.png] [--samples FILE] [--json]

Synthetic players come, play an hour now and then for some weeks, and leave for good; every day new ones come, and with
them strangers who send one packet. Time is the packets' own and runs as fast as they are taken in. What is said: the
resident memory of the process, what the players take of it, and how many are live, asleep and forgotten. `--leak`
keeps every batch, to see that it would be noticed.
"""

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from gamewarden.contracts import Bounds
from gamewarden.features.traffic.recipe import TrafficTest
from gamewarden.online.sleeping import Sleeping

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SHORT = TrafficTest(win=6, acn=2, acv=2)
SECOND, HOUR = 1_000_000, 3_600_000_000
START = 1_767_225_600 * SECOND  # the first of January 2026
WEEKS = 4  # a player stays, on average
KEEP = 3  # days of silence after which somebody is forgotten
PACKETS = 14  # a player in an hour of play
STRANGERS = 40  # an hour, one packet each
MOST_GROWTH = 4 << 20  # bytes from the highest of the middle third to the highest of the last


class Season:
    """Who plays in which hour."""

    def __init__(self, active: int, seed: int = 3) -> None:
        self._dice = np.random.default_rng(seed)
        self._active = active
        self._next = 0
        self._here = self._born(active * 20)

    def _born(self, count: int) -> np.ndarray:
        self._next += count
        return np.arange(self._next - count, self._next)

    def hours(self, days: int) -> Iterator[tuple[int, pa.RecordBatch]]:
        """The packets of each hour, in the order of their times, with the hour's number."""
        for hour in range(24 * days):
            if hour % 24 == 0 and hour:
                stays = self._here[self._dice.random(len(self._here)) > 1 / (7 * WEEKS)]
                self._here = np.concatenate([stays, self._born(self._active * 20 - len(stays))])
            share = (
                1 + 0.6 * np.sin(2 * np.pi * (hour % 24 - 14) / 24) + 0.2 * (hour // 24 % 7 > 4)
            )  # evenings, weekends
            playing = self._dice.choice(self._here, int(self._active * share), replace=False)
            yield hour, self._packets(START + hour * HOUR, playing, self._born(STRANGERS))

    def _packets(self, at: int, playing: np.ndarray, strangers: np.ndarray) -> pa.RecordBatch:
        dice = self._dice
        names = pa.array([f"account-{number:09}" for number in np.concatenate([playing, strangers])])
        actor = np.concatenate([np.repeat(np.arange(len(playing)), PACKETS), len(playing) + np.arange(len(strangers))])
        begun = np.repeat(dice.integers(0, HOUR - 10 * 60 * SECOND, len(playing)), PACKETS)
        gaps = dice.exponential(20 * SECOND, (len(playing), PACKETS)).astype(np.int64)
        times = at + np.concatenate([begun + gaps.cumsum(axis=1).ravel(), dice.integers(0, HOUR, len(strangers))])
        order = np.argsort(times, kind="stable")
        return pa.record_batch(
            {
                "actor": pa.DictionaryArray.from_arrays(pa.array(actor[order].astype(np.int32)), names),
                "at": pa.array(times[order], pa.timestamp("us", "UTC")),
                "up": pa.array(np.ones(len(actor), np.bool_)),
                "size": pa.array(dice.choice(np.array([14, 30, 44, 60], np.int32), len(actor))),
            }
        )


def resident() -> int:
    """Bytes of this process in memory."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def soaked(days: int, active: int, place: Path, samples: Path | None, *, leak: bool) -> list[dict[str, int]]:
    """What was seen at the end of each day, also in a file while it goes on."""
    players, _ = Sleeping.opened(place, SHORT, Bounds(players=100_000, keep=KEEP * 24 * HOUR))
    seen, kept = [], []
    with players:
        for hour, batch in Season(active).hours(days):
            windows = players.take(batch)
            if leak:
                kept.append((batch, windows))
            if hour % 24 == 23:
                players.save({})
                tally = players.tally
                on_disk = sum(path.stat().st_size for path in place.iterdir())
                seen.append(
                    {"day": hour // 24 + 1, "resident": resident(), "players_take": players.nbytes, "disk": on_disk}
                    | {name: getattr(tally, name) for name in ("players", "asleep", "forgotten", "woken", "decisions")}
                    | {"packets": tally.packets}
                )
                if samples is not None:
                    samples.write_text(json.dumps(seen))
    return seen


def growth(seen: list[dict[str, int]], what: str) -> int:
    """From the highest of the middle third to the highest of the last."""
    third = len(seen) // 3
    middle, last = (max(one[what] for one in part) for part in (seen[third : 2 * third], seen[2 * third :]))
    return last - middle


def draw(seen: list[dict[str, int]], path: Path, took: float) -> None:
    """The process above, what is kept of players in the middle, and the players below."""
    from gamewarden.presentation.plots import GREY, INK, LINES, save_picture

    days = [one["day"] for one in seen]

    def drawn(figure: "Figure") -> None:
        whole, kept, people = figure.subplots(3, 1, sharex=True, height_ratios=(3, 3, 4))
        for axes, unit, lines in (
            (whole, 2**20, {"resident": ("the whole process", INK)}),
            (kept, 2**20, {"disk": ("on disk", LINES[3]), "players_take": ("in memory, for all players", LINES[0])}),
            (
                people,
                1,
                {
                    "forgotten": ("forgotten, in all", GREY),
                    "asleep": ("asleep", LINES[3]),
                    "players": ("live", LINES[0]),
                },
            ),
        ):
            for name, (words, colour) in lines.items():
                heights = [one[name] / unit for one in seen]
                axes.plot(days, heights, color=colour, linewidth=1.5)
                said = f"{heights[-1]:,.0f}" if unit == 1 else f"{heights[-1]:,.3g} MiB"
                _named(axes, f"{words}\n{said}", days[-1], heights[-1], colour)
        whole.set(ylabel="MiB", ylim=(0, 1.25 * max(one["resident"] for one in seen) / 2**20), title=_title(seen, took))
        kept.set(ylabel="MiB", yscale="log")
        people.set(xlabel="simulated day", ylabel="players", xlim=(1, days[-1]), yscale="log")
        for axes in (kept, people):
            axes.minorticks_off()
            axes.yaxis.set_major_formatter(lambda value, _: f"{value:,g}")

    save_picture(drawn, path, (9.5, 6.6))


def _title(seen: list[dict[str, int]], took: float) -> str:
    last = seen[-1]
    return (
        f"{last['day']} simulated days in {took / 60:.1f} minutes: {last['packets'] / 1e6:.1f} million packets, "
        f"{last['woken'] / 1e6:.2f} million awakenings"
    )


def _named(axes: object, words: str, at: int, height: float, colour: str) -> None:
    axes.annotate(
        words,
        (at, height),
        xytext=(7, 0),
        textcoords="offset points",
        va="center",
        fontsize=9,
        color=colour,
        annotation_clip=False,
    )


def main() -> int:
    """Print the table or JSON; 1 when memory grew."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--days", type=int, default=365)
    parser.add_argument("--active", type=int, default=150, help="players in an hour, on average")
    parser.add_argument("--picture", type=Path)
    parser.add_argument("--samples", type=Path, help="keep what was seen here")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--leak", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="gamewarden-bench-") as folder:
        seen = soaked(given.days, given.active, Path(folder), given.samples, leak=given.leak)
    took = time.monotonic() - began
    if given.json:
        print(json.dumps(seen))
        return 0
    print(f"{'day':>5}{'resident':>12}{'players take':>14}{'on disk':>10}{'live':>8}{'asleep':>8}{'forgotten':>11}")
    for one in [*seen[:: max(len(seen) // 20, 1)], seen[-1]]:
        sizes = (one[name] / 2**20 for name in ("resident", "players_take", "disk"))
        resident_mib, players_mib, disk_mib = (f"{size:.1f} MiB" for size in sizes)
        print(
            f"{one['day']:>5}{resident_mib:>12}{players_mib:>14}{disk_mib:>10}"
            f"{one['players']:>8,}{one['asleep']:>8,}{one['forgotten']:>11,}"
        )
    print(_title(seen, took))
    if given.picture:
        draw(seen, given.picture, took)
    grown = growth(seen, "resident")
    kept = grown <= MOST_GROWTH
    print(f"from the middle third to the last the process grew by {grown / 2**20:.2f} MiB")
    print(f"  {'kept' if kept else 'BROKEN'}: that is at most {MOST_GROWTH >> 20} MiB")
    return 0 if kept else 1


if __name__ == "__main__":
    sys.exit(main())
