"""The command line as tests call it: in this process, since most of what a new one costs is its imports.

All of `main` is run, with files for standard output and error as a pipe would be; what needs a process of its own
(signals, limits, another user, standard input) starts one by `apart`.
"""

import io
import os
import subprocess
import sys
from contextlib import chdir, contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from tempfile import TemporaryFile

from gamewarden.cli import main

GAMEWARDEN = (sys.executable, "-m", "gamewarden")


@dataclass(frozen=True)
class Ended:
    """What a command left behind."""

    returncode: int
    stdout: str
    stderr: str


def run(*arguments, cwd=None, env=None):
    """Run a command and see how it ended; `env` as for a process of its own."""
    with TemporaryFile() as out, TemporaryFile() as err, chdir(cwd or "."), _environment(env), _typed(arguments):
        texts = [io.TextIOWrapper(file, encoding="utf-8", newline="", write_through=True) for file in (out, err)]
        with redirect_stdout(texts[0]), redirect_stderr(texts[1]):
            try:
                main()
                code = 0
            except SystemExit as error:
                code = error.code or 0
        return Ended(code, *(_content(text) for text in texts))


def done(*arguments, **options):
    """Run a command that must succeed."""
    ended = run(*arguments, **options)
    assert ended.returncode == 0, ended.stderr
    return ended


def apart(*arguments, **options):
    """Run a command in a process of its own."""
    return subprocess.run([*GAMEWARDEN, *map(str, arguments)], capture_output=True, text=True, check=False, **options)


def _content(text):
    text.flush()
    text.seek(0)
    return text.read()


@contextmanager
def _typed(arguments):
    before, sys.argv = sys.argv, ["gamewarden", *map(str, arguments)]
    try:
        yield
    finally:
        sys.argv = before


@contextmanager
def _environment(env):
    before = dict(os.environ)
    if env is not None:
        os.environ.clear()
        os.environ.update(env)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)
