"""Kills `gamewarden run` at random moments, hundreds of times, and compares what rests then with an undisturbed run.

python benchmarks/bench_killed_runs.py [--kills 300] [--seed 11]

Moments are drawn evenly from the length of an undisturbed run, which is measured first. Children are forked from one
process that has imported everything and done nothing, so that no kill is spent on a start. Two kinds of runs are
killed: the first one of a workspace, and one that finds late, grown and changed files of days that were judged before.
"""

import argparse
import os
import random
import re
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

import polars as pl
from test_workspace import DAYS, assert_same_results

import workspaces_made_up as made_up
from crash.killing import ended, forked, in_child, load_everything
from gamewarden.tables import write_table
from gamewarden.workspace.place import Workspace
from several_made_up import LOG, packets

IN_A_ROW = 4  # kills of one workspace before it may end
_TITLE = 21  # letters of a step's line before what it says
_BY_THE_CLOCK = re.compile(r"/[0-9a-f]{16}/")  # bundles of verdicts are named by when they were judged, too


@dataclass
class Template:
    """A workspace before a run, and how the run goes undisturbed."""

    before: Path
    after: Path
    seconds: float = 0.0
    steps: list[str] = field(default_factory=list)
    hits: Counter[str] = field(default_factory=Counter)

    def measure(self, said: Path) -> None:
        """Run it undisturbed, and take the shortest: the first time may compile kernels."""
        lengths = []
        for _ in range(3):
            shutil.rmtree(self.after, ignore_errors=True)
            shutil.copytree(self.before, self.after)
            began = time.monotonic()
            finish(self.after, said)
            lengths.append(time.monotonic() - began)
        self.seconds = min(lengths)
        self.steps = [*titles(said), "its end"]

    def step_after(self, done: list[str]) -> str:
        """In which step a run was that had told of these; lines that are none of a step's stand between."""
        return self.steps[max((self.steps.index(one) + 1 for one in done if one in self.steps), default=0)]


def titles(said: Path) -> list[str]:
    """The steps of which a run has told."""
    return [" ".join(line[:_TITLE].split()) for line in said.read_text(errors="replace").splitlines()]


def gamewarden(root: Path, *words: str) -> None:
    """A command of a workspace, in this process."""
    from gamewarden.cli import main as command

    sys.argv = ["gamewarden", "--workspace", str(root), *words]
    command()


def finish(root: Path, said: Path) -> None:
    """Run a workspace to the end."""
    if in_child(lambda: gamewarden(root, "run"), said):
        raise SystemExit(f"a run of {root} failed: {said.read_text(errors='replace')}")


def is_killed(root: Path, seconds: float, said: Path) -> bool:
    """Run a workspace for so long; whether it had to be killed."""
    child = forked(lambda: gamewarden(root, "run"), said)
    time.sleep(seconds)
    os.kill(child, signal.SIGKILL)
    code = ended(child)
    if code not in (0, -signal.SIGKILL):
        raise SystemExit(f"a run of {root} ended with {code}: {said.read_text(errors='replace')}")
    return code != 0


def make(never_run: Path) -> None:
    """A workspace of four days that was never run; one of its logs will grow."""
    settings = made_up.SETTINGS.replace("logs/*.parquet", "logs/*")
    made_up.make_workspace(never_run, made_up.make_models(never_run.parent / "models-from"), settings=settings)
    write_table(_strangers(0).head(20), never_run / "logs" / "grows.csv")


def let_come(root: Path) -> None:
    """What comes late: events and packets of days that were judged, more of a log, another account table."""
    write_table(_strangers(1), root / "logs" / "late.parquet")
    write_table(_strangers(0), root / "logs" / "grows.csv")
    late = packets().filter(pl.col("at").dt.date().cast(pl.String) == DAYS[2]).head(400)
    write_table(late.with_columns(actor=pl.lit("latecomer")), root / "packets" / "late.parquet")
    table = root / "accounts.csv"
    table.write_text(table.read_text().replace(",1,", ",2,", 1))


def _strangers(day: int) -> pl.DataFrame:
    events = LOG.events().filter(pl.col("at").dt.date().cast(pl.String) == DAYS[day]).head(60)
    return events.with_columns(actor=pl.format("stranger{}", pl.col("seq") % 3))


def compare(root: Path, wanted: Path) -> None:
    """All numbers to the last bit, no file more or less, and every seal holds."""
    assert_same_results(Workspace.at(root), Workspace.at(wanted))
    found, there = names(root), names(wanted)
    if found != there:
        print(f"left over: {sorted(found - there)}, missing: {sorted(there - found)}")
        raise SystemExit(1)
    gamewarden(root, "verify")


def names(root: Path) -> set[str]:
    """Every file and directory, as far as its name does not depend on the clock; a ledger's log is part of it."""
    found = (path for path in root.rglob("*") if not path.name.startswith("ledger.db-"))
    return {_BY_THE_CLOCK.sub("/*/", f"{path.relative_to(root)}/") for path in found}


def kill(template: Template, root: Path, dice: random.Random, said: Path) -> int:
    """Kill a workspace some times, end it and compare; how many kills hit."""
    shutil.copytree(template.before, root)
    hit: list[str] = []
    while len(hit) < IN_A_ROW and is_killed(root, dice.uniform(0, template.seconds), said):
        hit.append(template.step_after(titles(said)))
    finish(root, said)
    if in_child(lambda: compare(root, template.after), said):
        raise SystemExit(f"killed in {', '.join(hit)}: {said.read_text(errors='replace')}")
    shutil.rmtree(root)
    template.hits.update(hit)
    return len(hit)


def templates(place: Path, said: Path) -> dict[str, Template]:
    """Both kinds of runs, measured."""
    first = Template(place / "never-run", place / "first")
    if in_child(lambda: make(first.before), said):
        raise SystemExit(said.read_text())
    first.measure(said)
    late = Template(place / "with-late-files", place / "late")
    shutil.copytree(first.after, late.before)
    if in_child(lambda: let_come(late.before), said):
        raise SystemExit(said.read_text())
    late.measure(said)
    return {"first run": first, "run with late files": late}


def main() -> None:
    """Kill, end, compare, and begin anew."""
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--kills", type=int, default=300)
    asked.add_argument("--seed", type=int, default=11)
    options = asked.parse_args()
    dice = random.Random(options.seed)  # noqa: S311  when a process dies
    load_everything()
    with tempfile.TemporaryDirectory() as name:
        place, said = Path(name), Path(name) / "said"
        kinds = templates(place, said)
        for what, one in kinds.items():
            print(f"{what}: {one.seconds:.2f} s undisturbed", flush=True)
        kills = rounds = 0
        while kills < options.kills:
            kills += kill(list(kinds.values())[rounds % 2], place / "killed", dice, said)
            rounds += 1
            if rounds % 10 == 0:
                print(f"{kills} kills hit in {rounds} workspaces, nothing wrong", flush=True)
    for what, one in kinds.items():
        print(f"{what}: {', '.join(f'{one.hits[step]} in {step}' for step in one.steps)}")
    print(f"{kills} kills hit in {rounds} workspaces: each ended as the undisturbed run, to the last bit")


if __name__ == "__main__":
    main()
