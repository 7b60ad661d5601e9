"""Compiled code is kept where nobody else can write, found again, and made anew when it was damaged."""

import os
import subprocess
import sys

import pytest

from gamewarden.core import caches
from gamewarden.core.caches import places_of
from paths import ROOT

pytestmark = pytest.mark.integration

COMPILING = "Compiling once, about half a minute\n"
ANOTHER = 4321  # a user who is not the one who tests
as_root = pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can give a directory to another user"
)


@pytest.fixture
def own(tmp_path, monkeypatch):
    """The directory that would be taken where neither the installation nor the home can be written."""
    tmp_path.chmod(0o1777)
    monkeypatch.setattr(caches, "_candidates", lambda: iter([tmp_path / "own"]))
    monkeypatch.setattr(caches, "_writable", lambda place: place == tmp_path / "own")
    caches.private.cache_clear()
    yield tmp_path / "own"
    caches.private.cache_clear()


def test_a_directory_of_our_own_is_made_for_us_alone(own, tmp_path):
    places = places_of(tmp_path / "room/loops.py")

    assert places.kept.parent == own
    assert own.stat().st_mode & 0o777 == 0o700
    assert places.private


def test_what_the_installation_holds_is_found_before_what_we_keep_ourselves(own, tmp_path):
    assert places_of(tmp_path / "room/loops.py").found[0] == tmp_path / "room/__pycache__"
    assert own.is_dir()


@as_root
def test_a_directory_that_somebody_else_made_first_is_not_used(own, tmp_path):
    own.mkdir(mode=0o700)
    os.chown(own, ANOTHER, ANOTHER)

    assert places_of(tmp_path / "room/loops.py").kept is None


@pytest.mark.parametrize("mode", [0o720, 0o702, 0o777])
def test_a_directory_that_others_can_write_is_not_used(own, tmp_path, mode):
    own.mkdir()
    own.chmod(mode)

    assert places_of(tmp_path / "room/loops.py").kept is None


def test_a_link_is_not_followed(own, tmp_path):
    (tmp_path / "elsewhere").mkdir(mode=0o700)
    own.symlink_to(tmp_path / "elsewhere")

    assert places_of(tmp_path / "room/loops.py").kept is None


def test_a_place_in_which_others_could_swap_directories_is_not_used(own, tmp_path):
    own.parent.chmod(0o777)

    assert places_of(tmp_path / "room/loops.py").kept is None


def test_a_home_that_is_only_named_is_neither_made_nor_used(monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path / "nonexistent"))
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)

    assert not any(place.is_relative_to(tmp_path / "nonexistent") for place in caches._candidates())


def test_no_room_asks_numba_to_keep_what_it_compiles():
    sources = [path for path in (ROOT / "src").rglob("*.py") if path.name != "kernels.py"]

    assert [str(path) for path in sources if "cache=True" in path.read_text(encoding="utf-8")] == []


@pytest.fixture
def loop(tmp_path):
    """A program with one kernel; what it says and answers."""
    program = tmp_path / "loop.py"
    program.write_text(
        "from gamewarden.core.kernels import kernel\n@kernel\ndef more(x):\n    return x + 1\nprint(more(1))\n"
    )

    def run():
        environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path / "kept"), "PYTHONPATH": str(ROOT / "src")}
        done = subprocess.run([sys.executable, program], env=environment, capture_output=True, text=True, check=False)
        return done.stdout, done.stderr

    return run


def test_only_the_first_start_compiles_and_says_so(loop):
    assert [loop(), loop()] == [("2\n", COMPILING), ("2\n", "")]


@pytest.mark.parametrize(("ending", "content"), [("nbi", b""), ("nbi", b"no pickle"), ("nbc", b"\x80")])
def test_damaged_compiled_code_is_made_anew(loop, tmp_path, ending, content):
    loop()
    (damaged,) = tmp_path.glob(f"kept/*/*.{ending}")
    damaged.write_bytes(content)

    assert [loop(), loop()] == [("2\n", COMPILING), ("2\n", "")]
