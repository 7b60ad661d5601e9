"""How well chunks of actions tell programs from people in two real arcade games (GAMEWARDEN_DATA/gvgai).

Ticks are taken as seconds. A session is an actor and is cut into chunks of 60 ticks (an hour would be longer than any
session); doing nothing is no action; every pair of a program and a person is held out with all its sessions (36
folds). The second run adds the pace. The third holds out pairs of sessions and lets a player stand on both sides: it
shows how much that flatters. `--record` keeps the figures of the first two for docs/results.md.
"""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from figures import Figure, record
from real_gvgai import write_inputs

ACTIONS = "ACTION_UP,ACTION_DOWN,ACTION_LEFT,ACTION_RIGHT,ACTION_USE"
OPTIONS = ("--protocol", "leave-pair-out", "--chunk", "60s", "--t", "10", "--kinds", ACTIONS)


SAYS = (
    (
        "MCC {interval:.2f} ({interval_low:.2f}–{interval_high:.2f}) for intervals, {frequency:.2f} for frequencies, "
        "{two_stage:.2f} for two stages"
    ),
    (
        "with the pace {paced_interval:.2f} ({paced_interval_low:.2f}–{paced_interval_high:.2f}) for intervals and "
        "{paced_frequency:.2f} for frequencies"
    ),
    "counting actions alone {events_alone:.2f} ({events_alone_low:.2f}–{events_alone_high:.2f})",
)


def figures_of(command: Sequence[str]) -> dict[str, Figure]:
    """The MCC of each method with players held out."""
    told = subprocess.run([*command, "--group", "player", "--json"], check=True, capture_output=True, text=True)
    rows = {
        row["detector"].removeprefix("actions-").replace("-", "_").replace(" ", "_"): row
        for row in json.loads(told.stdout)
    }
    return {
        f"{name}{end}": row[f"mcc{end}"] for name, row in rows.items() for end in ("", "_low", "_high") if "mcc" in row
    }


def main() -> None:
    """Print both evaluations, or keep the figures of the first."""
    log = Path(os.environ["GAMEWARDEN_DATA"]) / "gvgai" / "events.csv"
    with TemporaryDirectory() as place:
        mapping, labels = write_inputs(log, Path(place))
        settings = [sys.executable, "-m", "gamewarden", "--config", mapping.with_name("warden.toml")]
        given = [*settings, "evaluate", log, "--map", mapping, "--labels", labels, *OPTIONS]
        command = [str(part) for part in given]
        if "--record" in sys.argv:
            recipe = "python benchmarks/real_gvgai_actions.py --record"
            paced = {f"paced_{name}": value for name, value in figures_of([*command, "--pace"]).items()}
            print(record("real_gvgai_actions", recipe, {**figures_of(command), **paced}, SAYS))
            return
        runs = (
            ("players held out", ["--group", "player"]),
            ("players held out, with the pace", ["--group", "player", "--pace"]),
            ("sessions held out (flatters)", ["--pairs", "100"]),
        )
        for title, more in runs:
            print(f"\n{title}", flush=True)
            subprocess.run([*command, *more], check=True)


if __name__ == "__main__":
    main()
