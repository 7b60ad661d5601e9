"""The README's figures are those that came out: each stands in words that a benchmark recorded, or was published."""

import json
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
RECORDED = sorted(path for path in (ROOT / "docs/figures").glob("*.json") if path.stem != "published")


def flowing(text):
    """Text without its line breaks."""
    return re.sub(r"\s+", " ", text)


def said(path):
    return json.loads(path.read_text(encoding="utf-8"))["says"]


README = flowing((ROOT / "README.md").read_text(encoding="utf-8"))


@pytest.mark.parametrize("path", RECORDED, ids=lambda path: path.stem)
def test_the_readme_says_what_was_recorded(path):
    missing = [words for words in said(path) if flowing(words) not in README]

    recipe = json.loads(path.read_text(encoding="utf-8"))["recipe"]
    assert not missing, f"the README does not say what `{recipe}` gave: {missing}"


@pytest.mark.parametrize("path", RECORDED, ids=lambda path: path.stem)
def test_every_recorded_figure_names_a_command_that_is_there(path):
    recipe = json.loads(path.read_text(encoding="utf-8"))["recipe"]

    script = re.match(r"python (benchmarks/\w+\.py)", recipe)
    assert script, recipe
    assert (ROOT / script[1]).exists()
