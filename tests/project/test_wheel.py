"""What users install: the wheel, not the checkout."""

import os
import subprocess
import sys
import sysconfig
import venv

import pytest

from paths import ROOT

pytestmark = pytest.mark.integration

ROOMS = sorted(path.parent.name for path in (ROOT / "src/gamewarden").glob("*/__init__.py"))


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """An empty environment with the wheel in it; the libraries come from the running one."""
    place = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(place), str(ROOT)]
    subprocess.run(build, check=True, capture_output=True)
    venv.create(place / "env", with_pip=False)
    python = place / "env/bin/python"
    wheel = next(place.glob("*.whl"))
    target = place / f"env/lib/python{sys.version_info.major}.{sys.version_info.minor}/site-packages"
    install = [sys.executable, "-m", "pip", "install", "--no-deps", "--no-index", "--target", str(target), str(wheel)]
    subprocess.run(install, check=True, capture_output=True)
    environment = {**os.environ, "PYTHONPATH": sysconfig.get_path("purelib")}

    def run(*arguments):
        return subprocess.run(
            [python, *arguments], cwd=place, env=environment, capture_output=True, text=True, check=False
        )

    return run


def test_the_wheel_is_what_runs(installed):
    done = installed("-c", "import gamewarden; print(gamewarden.__file__)")

    assert "site-packages" in done.stdout, done.stderr
    assert str(ROOT / "src") not in done.stdout


@pytest.mark.parametrize("room", ROOMS)
def test_every_room_imports_from_the_wheel(installed, room):
    done = installed("-c", f"import gamewarden.{room}")

    assert done.returncode == 0, done.stderr


def test_help_runs_from_the_wheel(installed):
    done = installed("-m", "gamewarden", "--help")

    assert done.returncode == 0, done.stderr
    assert "Start here" in done.stdout


def test_presets_are_in_the_wheel(installed):
    done = installed(
        "-c", "from importlib.resources import files; print(*files('gamewarden.readers').joinpath('presets').iterdir())"
    )

    assert "blade-and-soul.toml" in done.stdout, done.stderr


def test_templates_are_in_the_wheel(installed):
    done = installed("-c", "from gamewarden.presentation.report import html_page; print(html_page('x', (), (), ()))")

    assert "<title>x</title>" in done.stdout, done.stderr


def test_types_are_in_the_wheel(installed):
    done = installed(
        "-c", "from importlib.resources import files; print(files('gamewarden').joinpath('py.typed').is_file())"
    )

    assert done.stdout == "True\n", done.stderr


METADATA = """
from pathlib import Path
import gamewarden
print(next(Path(gamewarden.__file__).parents[1].glob("gamewarden-*.dist-info/METADATA")).read_text())
"""


def test_the_wheel_says_which_versions_of_python_it_runs_on(installed):
    done = installed("-c", METADATA)

    for version in ("3.11", "3.12", "3.13", "3.14"):
        assert f"Classifier: Programming Language :: Python :: {version}\n" in done.stdout, done.stderr
    assert "Requires-Python: >=3.11\n" in done.stdout
    assert "Classifier: Typing :: Typed\n" in done.stdout
