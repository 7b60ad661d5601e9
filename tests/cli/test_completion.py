import os
import shutil
import subprocess
import sys

import pytest

from gamewarden.cli.completion import VARIABLE

SHELLS = ("bash", "zsh", "fish")
BASH = shutil.which("bash")


def run(*words, **variables):
    command = [sys.executable, "-m", "gamewarden", *words]
    return subprocess.run(command, capture_output=True, text=True, check=False, env=os.environ | variables)


@pytest.mark.parametrize("shell", SHELLS)
def test_every_shell_gets_a_script_that_asks_us(shell):
    ended = run("completion", shell)

    assert ended.returncode == 0, ended.stderr
    assert f"{VARIABLE}={shell}_complete" in ended.stdout


@pytest.mark.skipif(BASH is None, reason="there is no bash")
def test_bash_takes_the_script_as_it_is():
    script = run("completion", "bash").stdout

    assert subprocess.run([BASH, "-n"], input=script, text=True, check=False).returncode == 0


def test_commands_and_choices_are_completed():
    command = run(COMP_WORDS="gamewarden exp", COMP_CWORD="1", **{VARIABLE: "bash_complete"})
    choice = run(COMP_WORDS="gamewarden completion z", COMP_CWORD="2", **{VARIABLE: "bash_complete"})

    assert command.stdout.split() == ["plain,explain"]
    assert choice.stdout.split() == ["plain,zsh"]


def test_another_shell_is_refused_with_those_there_are():
    ended = run("completion", "tcsh")

    assert ended.returncode == 2
    assert "'bash', 'zsh', 'fish'" in ended.stderr
