"""How well chunks of actions tell programs from people in two real arcade games (GAMEWARDEN_DATA/gvgai).

Ticks are taken as seconds. A session is an actor and is cut into chunks of 60 ticks (an hour would be longer than any
session); doing nothing is no action; every pair of a program and a person is held out with all its sessions (36
folds). The second run holds out pairs of sessions and lets a player stand on both sides: it shows how much that
flatters.
"""

import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from real_gvgai import write_inputs

ACTIONS = "ACTION_UP,ACTION_DOWN,ACTION_LEFT,ACTION_RIGHT,ACTION_USE"
OPTIONS = ("--protocol", "leave-pair-out", "--chunk", "60s", "--t", "10", "--kinds", ACTIONS)


def main() -> None:
    """Print both evaluations."""
    log = Path(os.environ["GAMEWARDEN_DATA"]) / "gvgai" / "events.csv"
    with TemporaryDirectory() as place:
        mapping, labels = write_inputs(log, Path(place))
        command = [sys.executable, "-m", "gamewarden", "evaluate", log, "--map", mapping, "--labels", labels, *OPTIONS]
        runs = (("players held out", ["--group", "player"]), ("sessions held out (flatters)", ["--pairs", "100"]))
        for title, more in runs:
            print(f"\n{title}", flush=True)
            subprocess.run([*map(str, command), *more], check=True)


if __name__ == "__main__":
    main()
