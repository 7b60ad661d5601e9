"""A feature of an installed package, at the command line: nothing of gamewarden knows it."""

import json
import os
import subprocess
import sys
from pathlib import Path

PLUGIN = Path(__file__).parent / "plugin"
LOG = """actor,at,kind
a,2026-03-01T10:00:00Z,move
a,2026-03-01T10:00:07.5Z,move
a,2026-03-01T10:00:09Z,chat
b,2026-03-01T11:00:00Z,chat
"""


def gamewarden(*arguments):
    path = os.pathsep.join((str(PLUGIN), *(entry for entry in sys.path if entry)))
    command = [sys.executable, "-m", "gamewarden", *map(str, arguments)]
    return subprocess.run(command, check=False, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": path})


def test_the_feature_of_an_installed_package_is_measured_with_its_own_options(tmp_path):
    (tmp_path / "log.csv").write_text(LOG, encoding="utf-8")

    done = gamewarden("measure", "silence", tmp_path / "log.csv", "--every", "1h", "--json")

    assert done.returncode == 0, done.stderr
    assert [(row["actor"], row["events"], row["longest_silence_s"]) for row in json.loads(done.stdout)] == [
        ("a", 3, 7.5),
        ("b", 1, None),
    ]
