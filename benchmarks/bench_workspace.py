"""What a workspace costs beside reading and measuring alone, and what its results at rest save.

The logs are those of workspace_logs.py: two files per day with players in common. Two detectors and their fusion are
fitted on a small game of the same making. Every step has a process of its own; CPU-seconds are of all its threads, with
imports, and peaks are its resident memory. Each bar is a ratio or a rate of this run.

    python benchmarks/bench_workspace.py                        # 30,000 accounts × 7 days, some minutes
    python benchmarks/bench_workspace.py --accounts 300000
    python benchmarks/bench_workspace.py --at DIR --steps again rank explain   # in what an earlier run has left
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from workspace_logs import Game, name_of

GAMEWARDEN = (sys.executable, "-m", "gamewarden")
KNOWN = 2_000  # labelled accounts
MOST = 2 << 10  # MiB
ALONE = ("read", "measure")  # what a workspace is compared with, and is no step of it
STEPS = ("make", "read", "measure", "run", "again", "rank", "explain", "judge", "verify", "late")
SETTINGS = """\
[workspace]
lake = "lake"
results = "results"
models = "models"
labels = "labels.csv"

[[source]]
name = "game"
locator = "logs/game-*.parquet"

[[source]]
name = "market"
locator = "logs/market-*.parquet"
"""


@dataclass(frozen=True)
class Cost:
    """What a process took, and its last words."""

    cpu: float
    peak: int  # MiB
    said: str


def main() -> int:
    """Print one line per step and one per bar."""
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--accounts", type=int, default=30_000)
    asked.add_argument("--days", type=int, default=7)
    asked.add_argument("--events", type=int, default=48)
    asked.add_argument("--at", type=Path, help="a directory that is kept")
    asked.add_argument("--steps", nargs="+", default=STEPS, choices=STEPS)
    asked.add_argument("--child", nargs="+", help=argparse.SUPPRESS)
    options = asked.parse_args()
    if options.child:
        CHILDREN[options.child[0]](Path(options.child[1]))
        return 0
    with tempfile.TemporaryDirectory() as made:
        place = options.at or Path(made)
        return Bench(place, Game(options.accounts, options.days, options.events)).run(options.steps)


class Bench:
    """The steps in order, and what each took."""

    def __init__(self, place: Path, game: Game) -> None:
        self.place, self.workspace, self.game = place, place / "workspace", game
        self.costs: dict[str, Cost] = {}
        self.kept = place / "costs.json"
        if self.kept.exists():
            self.costs = {name: Cost(*row) for name, row in json.loads(self.kept.read_text(encoding="utf-8")).items()}

    def run(self, steps: list[str]) -> int:
        """Do some steps, and say which bars are reached."""
        for step in steps:
            getattr(self, f"_{step}")()
            rows = {name: [cost.cpu, cost.peak, cost.said] for name, cost in self.costs.items()}
            self.kept.write_text(json.dumps(rows), encoding="utf-8")
        missed = [name for name, reached in self._bars() if not reached]
        sys.stdout.write(f"not reached: {', '.join(missed)}\n" if missed else "all bars are reached\n")
        return 1 if missed else 0

    def _make(self) -> None:
        logs, small = self.workspace / "logs", self.place / "small"
        for directory in (logs, small, self.workspace / "lake", self.workspace / "results"):
            directory.mkdir(parents=True, exist_ok=True)
        events = self.game.write(logs)
        sys.stdout.write(f"{self.game.accounts:,} accounts × {self.game.days} days, {events:,} events\n")
        (self.workspace / "warden.toml").write_text(SETTINGS, encoding="utf-8")
        few = Game(KNOWN, 3, self.game.events)
        few.write(small)
        (self.workspace / "labels.csv").write_text("\n".join(few.labels(KNOWN)) + "\n", encoding="utf-8")
        shared = ["--labels", "workspace/labels.csv"]
        self._call("read", *map(str, sorted(small.glob("*.parquet"))), "--to", "small-lake")
        for detector in ("self-similarity", "account-day"):
            self._call("fit", detector, "small-lake", *shared, "--to", "workspace/models")
        self._call("fit", "fusion", "small-lake", *shared, "--models", "workspace/models")

    def _read(self) -> None:
        self._told("read", [sys.executable, __file__, "--child", "read", str(self.place)])

    def _measure(self) -> None:
        self._told("measure", [sys.executable, __file__, "--child", "measure", str(self.place)])

    def _run(self) -> None:
        self._told("run", [*GAMEWARDEN, "run"])

    def _again(self) -> None:
        self._told("again", [*GAMEWARDEN, "run"])

    def _rank(self) -> None:
        self._told("rank", [*GAMEWARDEN, "rank"])

    def _explain(self) -> None:
        self._told("explain", [*GAMEWARDEN, "explain", name_of(40)])
        self._told("explain, no bot", [*GAMEWARDEN, "explain", name_of(41)])

    def _judge(self) -> None:
        self._told("judge", [sys.executable, __file__, "--child", "judge", str(self.place)])

    def _verify(self) -> None:
        self._told("verify", [*GAMEWARDEN, "verify"])

    def _late(self) -> None:
        self.game.write_late(self.workspace / "logs", self.game.days // 2)
        self._told("late", [*GAMEWARDEN, "run"])

    def _call(self, *arguments: str) -> None:
        subprocess.run([*GAMEWARDEN, *arguments], check=True, cwd=self.place, stdout=subprocess.DEVNULL)

    def _told(self, name: str, line: list[str]) -> None:
        cost = self.costs[name] = cost_of(line, self.workspace)
        sys.stdout.write(f"{name:16} {cost.cpu:8.2f} CPU-s  peak {cost.peak:5} MiB\n")
        sys.stdout.flush()

    def _bars(self) -> list[tuple[str, bool]]:
        costs, found = self.costs, []

        def bar(
            name: str, needs: tuple[str, ...], value: Callable[[], float], most: float, *, least: bool = False
        ) -> None:
            if all(one in costs for one in needs):
                number = value()
                reached = number >= most if least else number <= most
                sign = "at least" if least else "at most"
                sys.stdout.write(f"{name:44} {number:10.3f}  {sign} {most:g}{'' if reached else '   NOT REACHED'}\n")
                found.append((name, reached))

        alone = lambda: costs["read"].cpu + costs["measure"].cpu  # noqa: E731
        bar("first run / (reading + measuring)", ("read", "measure", "run"), lambda: costs["run"].cpu / alone(), 2)
        bar("second run / first", ("run", "again"), lambda: costs["again"].cpu / costs["run"].cpu, 0.02)
        one_day = lambda: costs["run"].cpu / self.game.days  # noqa: E731
        bar("one late file / one day of the first run", ("run", "late"), lambda: costs["late"].cpu / one_day(), 1.3)
        bar("rank, CPU-s", ("rank",), lambda: costs["rank"].cpu, 3)
        for name in ("explain", "explain, no bot"):
            bar(f"{name}, CPU-s", (name,), lambda name=name: costs[name].cpu, 1.5)
        bar("kept verdicts per CPU-s, judged", ("judge",), lambda: _rate(costs["judge"]), 2000, least=True)
        kept = lambda: int(costs["judge"].said.split()[0])  # noqa: E731
        bar(
            "kept verdicts per CPU-s, verified",
            ("judge", "verify"),
            lambda: kept() / costs["verify"].cpu,
            1000,
            least=True,
        )
        bar("highest peak, MiB", ("run",), lambda: max(costs[one].peak for one in costs if one not in ALONE), MOST)
        return found


def _rate(cost: Cost) -> float:
    return int(cost.said.split()[0]) / cost.cpu


def cost_of(line: list[str], cwd: Path) -> Cost:
    """CPU-seconds and peak memory of a command in a process of its own."""
    with tempfile.TemporaryFile("w+", encoding="utf-8") as out, tempfile.TemporaryFile("w+", encoding="utf-8") as err:
        process = subprocess.Popen(line, cwd=cwd, stdout=out, stderr=err)
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        err.seek(0)
        said, wrong = out.read(), err.read()
    if os.environ.get("BENCH_SHOW"):
        sys.stdout.write(f"{said}{wrong}")
    if process.returncode:
        raise SystemExit(f"{' '.join(line)} ended with {process.returncode}: {wrong[-2000:]}")
    return Cost(used.ru_utime + used.ru_stime, used.ru_maxrss >> 10, said)


def read_alone(place: Path) -> None:
    """Read all logs into a lake, and do nothing else."""
    from gamewarden import readers
    from gamewarden.pipeline.measuring import read

    for log in sorted((place / "workspace" / "logs").glob("*.parquet")):
        read(readers.open(log), place / "alone")


def measure_alone(place: Path) -> None:
    """Measure what a run measures, each feature by itself."""
    from gamewarden import readers
    from gamewarden.pipeline.measuring import rows_to_judge
    from gamewarden.workspace.place import Workspace

    workspace = Workspace.at(place / "workspace")
    for feature in workspace.features(workspace.models_in_force()):
        if feature.input == "events":
            rows = rows_to_judge(feature, readers.open(place / "alone")).frame.height
            sys.stdout.write(f"{feature.name}: {rows:,} rows\n")


def judge_alone(place: Path) -> None:
    """Judge all days anew; the count of verdicts that are kept with all they rest on."""
    from gamewarden.workspace.place import Workspace

    seals = Workspace.at(place / "workspace").judged().judge(fresh=True).seals
    sys.stdout.write(f"{sum(seal.kept for seal in seals)} of {sum(seal.verdicts for seal in seals)} verdicts\n")


CHILDREN = {"read": read_alone, "measure": measure_alone, "judge": judge_alone}

if __name__ == "__main__":
    sys.exit(main())
