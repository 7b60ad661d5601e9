"""Pages that the code writes are what the code says today."""

from pathlib import Path

import click
import pytest

from gamewarden.cli import reference
from paths import DOCS


@pytest.mark.parametrize("name", ["cli.md", "config.md"])
def test_a_generated_page_is_what_the_code_says(name):
    stands = (DOCS / name).read_text(encoding="utf-8")

    assert stands == reference.pages(DOCS)[name], f"docs/{name} is stale: run `make docs` and commit what it writes"


def of(command):
    """The lines that a page says of a command."""
    return list(reference.command_lines(("gamewarden", "try"), command, click.Context(command, info_name="try")))


def test_an_option_stands_with_its_choices_its_range_and_its_default():
    @click.command(help="Tries it. Twice.")
    @click.option("--kind", type=click.Choice(["a", "b"]), required=True, help="Which one.")
    @click.option("--count", type=click.IntRange(1, 9), default=3, show_default=True, help="How many.")
    @click.option("--share", type=click.FloatRange(0, 1, min_open=True), help="How much.  [default: warden.toml]")
    @click.option("--name", multiple=True, help="Who.")
    @click.option("--fast/--slow", default=None, help="How.")
    def command():
        """Not run."""

    lines = of(command)

    assert lines[:2] == ["Tries it.", "Twice."]
    assert "| `--kind [a\\|b]` (required) |  | Which one. |" in lines
    assert "| `--count INTEGER` | `3` | How many. Allowed: from 1 to 9. |" in lines
    assert "| `--share FLOAT` | warden.toml | How much. Allowed: above 0 to 1. |" in lines
    assert "| `--name TEXT` |  | Who. May be given again. |" in lines
    assert "| `--fast / --slow` |  | How. |" in lines


def test_what_is_laid_out_by_hand_stays_as_it_is():
    command = click.Command("try", help="Tries it.", epilog="\b\nIn bash:\n  one two")

    assert of(command)[-4:] == ["```", "In bash:", "one two", "```"]


def test_a_command_links_to_the_recipes_that_show_it():
    told = {
        Path("how-to/a.md"): "# Do a\n```\ngamewarden model list --models m\n```\n",
        Path("how-to/b.md"): "# Do b\n",
    }

    page = reference.command_page(told)

    assert page.count("Shown in: [Do a](how-to/a.md).") == 1
    assert (
        page.index("## `gamewarden model list`")
        < page.index("Shown in: ")
        < page.index("## `gamewarden model promote`")
    )
