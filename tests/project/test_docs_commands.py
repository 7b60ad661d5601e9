"""Commands that the documents show are there, with every option; those of the first pages run, in order."""

import re
import shlex
import subprocess
import sys

import click
import pytest

import plugins
from gamewarden.cli import root
from paths import ROOT

pytestmark = pytest.mark.integration

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")), *sorted((ROOT / "docs/how-to").glob("*.md"))]
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def shown(page):
    """What a page shows as a command: lines of its blocks, also behind a pipe, and spans in its text."""
    text = page.read_text(encoding="utf-8")
    for language, block in BLOCK.findall(text):
        if language != "text":
            yield from re.findall(r"(?:^|\| )(gamewarden .*)", block, re.MULTILINE)
    yield from re.findall(r"`(?:[^`\n]*\| )?(gamewarden [^`\n]+)`", BLOCK.sub("", text))


def complaint(line):
    """What is wrong with a command line that a document shows, or None."""
    words = [word.strip("[]") for word in shlex.split(line, comments=True)[1:]]
    command, context, rest = root, click.Context(root), iter(words)
    known = options_of(command, context)
    for word in rest:
        if word == "--":
            return None
        if word.startswith("--"):
            if word.partition("=")[0] not in known:
                return f"{command.name} has no {word}"
            skip_value(known[word.partition("=")[0]], rest, word)
        elif isinstance(command, click.Group) and not re.fullmatch(r"[A-Z…]+…?", word):
            command = command.get_command(context, word)
            if command is None:
                return f"there is no command {word}"
            context = click.Context(command, parent=context)
            known |= options_of(command, context)
    return None


def options_of(command, context):
    options = [one for one in command.get_params(context) if isinstance(one, click.Option)]
    return {name: option for option in options for name in (*option.opts, *option.secondary_opts)}


def skip_value(option, rest, word):
    """A value is no command's name."""
    if not option.is_flag and "=" not in word:
        next(rest, None)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_command_a_page_shows_is_there_with_its_options(page):
    with plugins.installed():  # adding.md adds its parts
        assert [(line, wrong) for line in shown(page) if (wrong := complaint(line))] == []


def test_a_command_or_an_option_that_is_not_there_is_found():
    assert complaint("gamewarden rnak lake") == "there is no command rnak"
    assert complaint("gamewarden rank lake --model models") == "rank has no --model"
    assert complaint("gamewarden model shw x") == "there is no command shw"
    assert complaint("gamewarden --config f.toml rank lake --models models  # --nonsense") is None


@pytest.mark.parametrize("page", sorted((ROOT / "docs/how-to").glob("*.md")), ids=lambda page: page.name)
def test_every_recipe_shows_a_command_and_stands_in_the_index(page):
    assert list(shown(page))
    assert f"](how-to/{page.name})" in (ROOT / "docs/README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("page", [*PAGES[1:], ROOT / "docs/decisions/README.md"], ids=lambda page: page.name)
def test_the_index_leads_to_every_page(page):
    index = ROOT / "docs/README.md"

    name = str(page.relative_to(index.parent))
    assert page == index or f"]({name})" in index.read_text(encoding="utf-8")


RUN = f"""
set -euo pipefail
gamewarden() {{ {shlex.quote(sys.executable)} -m gamewarden "$@" 2>&1; }}
"""


@pytest.mark.parametrize("page", ["tutorial.md", pytest.param("first-day.md", marks=pytest.mark.nightly)])
def test_a_first_page_runs_and_says_what_it_shows(tmp_path, page):
    said, heard = [], ""
    for language, block in BLOCK.findall((ROOT / "docs" / page).read_text(encoding="utf-8")):
        if language == "text":
            said += [line for line in block.splitlines() if " ".join(line.split()) not in heard]
        elif not language:  # others are marked: commands on files that only a reader has, and settings
            ended = subprocess.run(
                ["bash", "-c", RUN + block],  # noqa: S607
                cwd=tmp_path,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                check=False,
            )
            assert ended.returncode == 0, f"{block}: {ended.stdout}{ended.stderr}"
            heard = " ".join(re.sub(r"[│┃]", " ", ended.stdout).split())

    assert said == [], f"docs/{page} shows lines that its commands do not say"
