"""Kills `gamewarden run` at random moments, hundreds of times, and compares what rests then with an undisturbed run.

python benchmarks/bench_killed_runs.py [--kills 300]
"""

import argparse
import random
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

import workspaces_made_up as made_up
from gamewarden.workspace.place import Workspace
from test_workspace import assert_same_results

IN_A_ROW = 6  # kills of one workspace before it may end


def run(root: Path, seconds: float | None) -> bool:
    """Run a workspace, for so long at most; whether it was killed."""
    words = [sys.executable, "-m", "gamewarden", "--workspace", str(root), "run"]
    child = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        if child.wait(timeout=seconds):
            raise SystemExit(f"a run of {root} ended with {child.returncode}")
    except subprocess.TimeoutExpired:
        child.kill()
        child.wait()
        return True
    return False


def main() -> None:
    """Kill, end, compare, and begin anew."""
    asked = argparse.ArgumentParser()
    asked.add_argument("--kills", type=int, default=300)
    most = asked.parse_args().kills
    dice = random.Random(11)  # noqa: S311  when a process dies
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        never_run = made_up.make_workspace(place / "never-run", made_up.make_models(place / "models-from"))
        shutil.copytree(never_run.root, place / "undisturbed")
        run(place / "undisturbed", None)
        kills = rounds = 0
        while kills < most:
            shutil.copytree(never_run.root, place / "killed")
            for _ in range(IN_A_ROW):
                kills += run(place / "killed", 0.8 + 3 * dice.random())
            run(place / "killed", None)
            assert_same_results(Workspace.at(place / "killed"), Workspace.at(place / "undisturbed"))
            shutil.rmtree(place / "killed")
            rounds += 1
            print(f"{kills} kills so far, nothing wrong", flush=True)
        print(f"{kills} kills in {rounds} workspaces: each ended as the undisturbed run, to the last bit")


if __name__ == "__main__":
    main()
