"""A full disk ends every command that writes with one line, and leaves what was there."""

import os
import resource
import shutil
import subprocess
import sys

import pytest

from crash.killed_commands import line_of, prepare

pytestmark = pytest.mark.integration

LIMITED = """
import resource, signal, sys

signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # then a write beyond the limit fails as on a full disk
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]), int(sys.argv[1])))
sys.argv = ["gamewarden", *sys.argv[2:]]
from gamewarden.cli import main

main()
"""
# One of each way to write: Polars' Parquet, Arrow's, text, pictures, histories, journals.
WAYS = (
    *("read", "fit", "score --out parquet", "measure --out csv", "explain --plot", "judge --to", "maintain"),
    *("watch", "world"),
)


@pytest.fixture(scope="module")
def game(tmp_path_factory):
    place = tmp_path_factory.mktemp("game")
    prepare(place)
    return place


def run_limited(limit, line):
    command = [sys.executable, "-c", LIMITED, str(limit), *line]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def tree(place):
    return {str(path): path.read_bytes() for path in place.rglob("*") if path.is_file()}


def is_one_line(text):
    told = [line for line in text.splitlines() if line.startswith("gamewarden: ")]
    return len(told) == 1 and "cannot be written" in told[0] and "Traceback" not in text


@pytest.mark.parametrize(("name", "limit"), [("read", 0), *((name, 900) for name in WAYS)])
def test_a_full_disk_ends_a_command_with_one_line_and_harms_nothing(game, tmp_path, name, limit):
    place = tmp_path / "game"
    shutil.copytree(game, place)
    before = tree(place)
    line = [part.replace(str(game), str(place)) for part in line_of(name, place)]

    ended = run_limited(limit, line)

    assert ended.returncode == 1, ended.stderr
    assert is_one_line(ended.stderr), ended.stderr
    now = tree(place)
    assert {path: now.get(path) for path in before} == before


def mount(*options):
    """0 where it was done, as commands say it."""
    command = shutil.which("mount")
    return 1 if command is None else subprocess.run([command, *options], check=False, capture_output=True).returncode


@pytest.fixture
def small_disk(tmp_path):
    """A disk of 64 kilobytes, where we may mount one."""
    place = tmp_path / "small"
    place.mkdir()
    if os.geteuid() or mount("-t", "tmpfs", "-o", "size=64k", "tmpfs", place):
        pytest.skip("a small disk needs the right to mount one; limits of a process stand in for it above")
    yield place
    assert subprocess.run([shutil.which("umount"), place], check=False).returncode == 0


def test_a_table_that_does_not_fit_the_disk_leaves_nothing_there(game, small_disk):
    out = small_disk / "scores.parquet"
    (small_disk / "filling").write_bytes(b"x" * 60_000)
    line = ["score", str(game / "lake"), "--models", str(game / "models"), "--out", str(out)]

    ended = run_limited(resource.RLIM_INFINITY, line)

    assert ended.returncode == 1, ended.stderr
    assert "No space left on device" in ended.stderr
    assert is_one_line(ended.stderr), ended.stderr
    assert [path.name for path in small_disk.iterdir()] == ["filling"]


def test_maintenance_on_a_full_disk_goes_on_when_there_is_room(game, small_disk):
    shutil.copytree(game / "models", small_disk / "models")
    line = [part.replace(str(game / "models"), str(small_disk / "models")) for part in line_of("maintain", game)]
    line = line[: line.index("--report")]
    filling = small_disk / "filling"
    filling.write_bytes(b"x" * 8_000)

    full = run_limited(resource.RLIM_INFINITY, line)
    assert mount("-o", "remount,size=64m", small_disk) == 0
    after = run_limited(resource.RLIM_INFINITY, line)

    assert (full.returncode, is_one_line(full.stderr)) == (1, True), full.stderr
    assert after.returncode == 0, after.stderr
    assert list(small_disk.rglob(".gamewarden-*")) == []


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no /dev/full here")  # noqa: PTH110
@pytest.mark.parametrize("more", [[], ["--json"]])
def test_a_full_standard_output_gets_one_line(game, more):
    with open("/dev/full", "w") as full:  # noqa: PTH123
        ended = subprocess.run(
            [sys.executable, "-m", "gamewarden", "score", str(game / "lake"), "--models", str(game / "models"), *more],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )

    assert ended.returncode == 1
    assert "Traceback" not in ended.stderr
    assert "No space left on device" in ended.stderr.splitlines()[-1]
