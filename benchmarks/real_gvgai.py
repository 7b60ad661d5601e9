"""How well self-similarity tells programs from people in two real arcade games (GAMEWARDEN_DATA/gvgai).

Ticks are taken as seconds, a session is an actor, a window is 5 s; players are held out whole. The second run holds out
sessions and lets a player stand on both sides: it shows how much that flatters.
"""

import csv
import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

MAPPING = """\
[columns]
actor = "session"
at = "tick"
kind = "action"

[time]
format = "epoch_s"
"""


def write_inputs(log: Path, place: Path) -> tuple[Path, Path]:
    """The mapping file, and labels with the player each session belongs to."""
    mapping, labels = place / "gvgai.toml", place / "labels.csv"
    mapping.write_text(MAPPING, encoding="utf-8")
    with log.open(newline="", encoding="utf-8") as rows:
        sessions = {row["session"]: (row["label"] == "ai", row["player"]) for row in csv.DictReader(rows)}
    with labels.open("w", newline="", encoding="utf-8") as out:
        writer = csv.writer(out)
        writer.writerow(["actor", "bot", "player"])
        writer.writerows([session, int(bot), player] for session, (bot, player) in sessions.items())
    return mapping, labels


def main() -> None:
    """Print both evaluations."""
    log = Path(os.environ["GAMEWARDEN_DATA"]) / "gvgai" / "events.csv"
    with TemporaryDirectory() as place:
        mapping, labels = write_inputs(log, Path(place))
        command = [sys.executable, "-m", "gamewarden", "evaluate", log, "--map", mapping, "--labels", labels]
        for title, more in (("players held out", ["--group", "player"]), ("sessions held out (flatters)", [])):
            print(f"\n{title}", flush=True)
            subprocess.run([*map(str, command), "--unit", "5s", *more], check=True)


if __name__ == "__main__":
    main()
