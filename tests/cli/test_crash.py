"""Commands killed at a file operation: a small sample of what `make crash` does to every command that writes."""

import shutil
import subprocess
import sys

import pytest

from crash.killing import differences, spread
from paths import TESTS

pytestmark = pytest.mark.integration

SCRIPT = TESTS / "crash" / "killing.py"
SAMPLE = (
    "read a cut log anew",
    "compact",
    "model promote",
    "score --out parquet",
    "run with late files",
    "run with pushes",
)
needs_compiler = pytest.mark.skipif(
    sys.platform != "linux" or not (shutil.which("cc") or shutil.which("gcc")),
    reason="killing at file operations needs Linux and a C compiler",
)


@needs_compiler
def test_a_command_killed_at_a_file_operation_leaves_nothing_half_written_and_ends_well_when_done_again():
    done = subprocess.run([sys.executable, SCRIPT, "--most", "6", *SAMPLE], capture_output=True, text=True, check=False)

    lines = done.stdout.splitlines()
    assert done.returncode == 0, done.stdout + done.stderr
    assert [line.partition(":")[0] for line in lines[:-1]] == list(SAMPLE)
    assert lines[-1].endswith("kills in all, 0 of them left something wrong")
    assert int(lines[-1].split()[0]) >= 12


def test_kills_are_spread_over_all_operations_with_the_first_and_the_last():
    assert spread(3, 10) == [1, 2, 3]
    assert spread(100, 4) == [1, 34, 67, 100]


def test_what_is_missing_left_over_or_other_is_told():
    now, wanted = {"a": b"1", "b": b"2", "c": None}, {"a": b"1", "b": b"3", "d": b""}

    assert [line.split()[0:3:2] for line in differences(now, wanted)] == [
        ["b", "another"],
        ["c", "left"],
        ["d", "missing"],
    ]
