"""Hosts that give little: an installation nobody may write to, a user nobody knows, no home, no place to write."""

import os
import shutil
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path

import pytest

from paths import ROOT

SOURCE = ROOT / "src"
NOBODY = 12345
# A user in no list of users, who may read everything (the interpreter may stand in root's home) and write nothing.
AS_NOBODY = ("setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups")
AS_NOBODY += ("--inh-caps=+dac_read_search", "--ambient-caps=+dac_read_search")
READ_ONLY = (
    'for at in / /tmp /var/tmp /dev/shm; do mount --bind $at $at && mount -o remount,ro,bind $at; done; cd .; exec "$@"'
)
READ_ONLY_ROOT = ("unshare", "--mount", "--propagation=private", "sh", "-c", READ_ONLY, "sh", *AS_NOBODY)
COMPILING = "Compiling once, about half a minute"

pytestmark = [
    pytest.mark.nightly,  # each compiles everything anew
    pytest.mark.skipif(
        not hasattr(os, "geteuid") or os.geteuid() != 0 or shutil.which("setpriv") is None,
        reason="only root can become a user whom nobody knows, and by setpriv",
    ),
]


class Host:
    """A copy of the package that nobody may write to, and a place beside it for what commands need."""

    def __init__(self, place):
        self.site, self.work, self.temporary = place / "site", place / "work", place / "tmp"
        shutil.copytree(SOURCE, self.site, ignore=shutil.ignore_patterns("__pycache__"))
        for directory in (self.work, self.temporary):
            directory.mkdir()
            os.chown(directory, NOBODY, NOBODY)
        self.close()

    def close(self):
        for path in (self.site, *self.site.rglob("*")):
            path.chmod(0o555 if path.is_dir() else 0o444)

    def open(self):
        for path in (self.site, *self.site.rglob("*")):
            path.chmod(0o755 if path.is_dir() else 0o644)

    def run(self, *words, before=AS_NOBODY):
        """What a command says to a user without a home."""
        return self.python("-m", "gamewarden", *map(str, words), before=before)

    def python(self, *words, before=AS_NOBODY):
        environment = {"PATH": os.environ["PATH"], "HOME": "/nonexistent", "TMPDIR": str(self.temporary)}
        return subprocess.run(
            [*before, sys.executable, *words],
            cwd=self.work,
            env=environment | {"PYTHONPATH": str(self.site)},
            capture_output=True,
            text=True,
            check=False,
        )


@contextmanager
def a_host():
    place = Path(tempfile.mkdtemp(prefix="host-"))
    place.chmod(0o755)
    yield Host(place)
    shutil.rmtree(place)


@pytest.fixture(scope="module")
def host():
    with a_host() as made:
        yield made


@pytest.fixture(scope="module")
def log(host):
    return log_in(host.work)


def log_in(directory):
    path = directory / "log.csv"
    rows = (f"a{n % 3},2024-01-01T{n // 60:02}:{n % 60:02}:00Z,kill" for n in range(600))
    path.write_text("actor,at,kind\n" + "\n".join(rows) + "\n")
    return path


def test_an_unknown_user_without_a_home_can_work_with_an_installation_nobody_may_write_to(host, log):
    helped = host.run("--help")
    linted = host.run("lint", log)
    first = host.run("measure", "self-similarity", log, "--min-windows", 1)
    again = host.run("measure", "self-similarity", log, "--min-windows", 1)

    for ended in (helped, linted, first, again):
        assert ended.returncode == 0, ended.stderr
        assert "Traceback" not in ended.stderr
    assert COMPILING not in helped.stderr + linted.stderr + again.stderr
    assert first.stderr.count(f"{COMPILING}; the installation cannot be written, so it is kept in ") == 1
    assert f"{host.temporary}/gamewarden-{NOBODY}" in first.stderr


def test_where_nothing_at_all_can_be_written_commands_compile_and_say_so(host, log):
    ended = host.run("measure", "self-similarity", log, before=READ_ONLY_ROOT)

    assert ended.returncode == 0, ended.stderr
    assert "no directory can be written to keep it in, so every start does: set NUMBA_CACHE_DIR" in ended.stderr
    assert "a0" in ended.stdout


def test_a_picture_without_a_home_says_nothing_of_fonts_and_configurations(host):
    script = """
from gamewarden.cli.asides import asides_as_remarks
with asides_as_remarks():
    import matplotlib.font_manager
"""

    ended = host.python("-c", script)

    assert (ended.returncode, ended.stderr) == (0, "")


def test_an_image_that_was_warmed_compiles_nothing_for_a_user_nobody_knows():
    with a_host() as image:
        image.open()
        warmed = image.run("warm", before=())
        image.close()
        again = image.run("warm")
        watched = image.run("watch", "nothing.parquet")
        measured = image.run("measure", "self-similarity", log_in(image.work), "--min-windows", 1)
        kept = {path.name.partition(".")[0] for path in image.site.rglob("*.nbi")}

    assert warmed.returncode == 0, warmed.stderr
    assert " functions compiled, in " in warmed.stdout
    assert again.stdout.startswith("Nothing was to do: all is compiled in "), again.stdout + again.stderr
    assert COMPILING not in again.stderr + measured.stderr + watched.stderr
    assert measured.returncode == 0, measured.stderr
    assert watched.stderr.startswith("gamewarden: nothing.parquet:")
    assert {path.stem for path in SOURCE.rglob("*.py") if _declares_kernels(path)} <= kept


def _declares_kernels(path):
    text = path.read_text(encoding="utf-8")
    return "\n@kernel" in text or "\n@_streaming" in text
