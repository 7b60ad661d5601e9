"""The command line as a person meets it: help, exit codes, one line for an error."""

import subprocess
import sys

import click
import pytest

from all_commands import all_commands
from commands import apart, run
from gamewarden import __version__
from gamewarden.cli import SECTIONS
from paths import DOCS

HEAVY = ("polars", "pyarrow", "numba", "numpy", "sklearn", "matplotlib", "rich")


def test_help_lists_every_command_once():
    done = run("--help")

    listed = [line.split()[0] for line in done.stdout.splitlines() if line.startswith("  ") and line[2].isalpha()]
    for commands in SECTIONS.values():
        for command in commands:
            assert listed.count(command.name) == 1


def test_help_loads_no_heavy_library():
    probe = f"""
import sys
sys.argv = ["gamewarden", "--help"]
try:
    from gamewarden.cli import main
    main()
except SystemExit:
    print(*(name for name in {HEAVY!r} if name in sys.modules), file=sys.stderr)
"""
    done = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=True)

    assert done.stderr.split() == []


def test_version_is_the_packages():
    assert __version__ in run("--version").stdout


@pytest.mark.parametrize("words", [words for words, _ in all_commands()], ids=" ".join)
def test_every_command_has_help_that_says_what_it_is_for(words):
    done = run(*words, "--help")

    assert done.returncode == 0, done.stderr
    assert "Usage: gamewarden" in done.stdout


@pytest.mark.parametrize("name", [command.name for commands in SECTIONS.values() for command in commands])
def test_every_command_starts_as_a_process_of_its_own(name):
    done = apart(name, "--help")

    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(f"Usage: gamewarden {name} ")


@pytest.mark.parametrize(
    "arguments",
    [("nonsense",), ("measure", "nonsense", "x"), ("world", "--accounts", "0", "x"), ("read", "x"), ("score",)],
    ids=" ".join,
)
def test_wrong_usage_exits_with_two(arguments):
    assert run(*arguments).returncode == 2


@pytest.mark.parametrize(
    "arguments",
    [
        ("lint", "no-such-file.csv"),
        ("read", "no-such-file.csv", "--to", "lake"),
        ("measure", "self-similarity", "no-such-file.csv", "--out", "x.csv"),
        ("score", "no-such-file.csv", "--models", "no-such-directory"),
        ("--config", "no-such.toml", "config"),
    ],
    ids=" ".join,
)
def test_our_errors_are_one_line_and_exit_with_one(arguments, tmp_path):
    done = run(*arguments, cwd=tmp_path)

    assert done.returncode == 1
    assert done.stderr.startswith("gamewarden: ")
    assert done.stderr.count("\n") == 1
    assert "Traceback" not in done.stderr


def test_a_reader_that_goes_away_is_no_traceback(tmp_path):
    script = f"{sys.executable} -m gamewarden config | head -c 1 > /dev/null"

    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=False, cwd=tmp_path)  # noqa: S607

    assert "Traceback" not in done.stderr


def test_every_command_stands_in_the_documents():
    page = (DOCS / "cli.md").read_text(encoding="utf-8")

    for words, command in all_commands():
        if not isinstance(command, click.Group):
            assert f"`gamewarden {' '.join(words)}" in page


def test_every_study_offers_what_reproduce_asks_of_it():
    from inspect import signature

    from gamewarden.lab import studies

    for name in studies.NAMES:
        study = studies.load(name)
        numbers = {number.name for number in study.NUMBERS}
        assert set(signature(study.steps).parameters) == numbers
        assert set(signature(study.run).parameters) == {*numbers, "progress"}
        assert list(signature(study.draw).parameters) == ["study", "directory"]
