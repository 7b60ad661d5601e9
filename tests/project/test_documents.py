"""The documents are compared with the code."""

import json
import re

import pytest

from gamewarden import tables
from gamewarden.workspace.rest import DESK
from paths import DOCS, TESTS

FIGURES = DOCS / "figures"
BY_HAND, PUBLISHED = FIGURES / "by_hand.json", FIGURES / "published.json"
RECORDED = sorted(path for path in FIGURES.glob("*.json") if path not in (BY_HAND, PUBLISHED))
TABLES = [*(value for value in vars(tables).values() if isinstance(value, tables.Schema)), *DESK.values()]


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
def test_every_table_stands_in_tables_md_with_its_columns_in_order(table):
    page = (DOCS / "tables.md").read_text(encoding="utf-8")

    assert f"| {table.name} | {' · '.join(f'`{name}`' for name in table.columns)} |" in page


def test_no_page_links_to_a_page_that_is_not_there():
    for page in [*DOCS.rglob("*.md"), *DOCS.parent.glob("*.md")]:
        for target in re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


@pytest.mark.parametrize("kind", sorted(tables.RESERVED_KINDS))
def test_every_reserved_kind_stands_in_reading_md(kind):
    assert f"`{kind}`" in (DOCS / "reading.md").read_text(encoding="utf-8")


def flowing(text):
    """Text without its line breaks."""
    return re.sub(r"\s+", " ", text)


def kept(path):
    return json.loads(path.read_text(encoding="utf-8"))


RESULTS = flowing((DOCS / "results.md").read_text(encoding="utf-8"))


@pytest.mark.parametrize("path", RECORDED, ids=lambda path: path.stem)
def test_the_results_say_what_was_recorded(path):
    missing = [words for words in kept(path)["says"] if flowing(words) not in RESULTS]

    assert not missing, f"docs/results.md does not say what `{kept(path)['recipe']}` gave: {missing}"


@pytest.mark.parametrize("path", RECORDED, ids=lambda path: path.stem)
def test_every_recorded_figure_names_a_command_that_is_there(path):
    script = re.match(r"python (benchmarks/\w+\.py)", kept(path)["recipe"])

    assert script, kept(path)["recipe"]
    assert (DOCS.parent / script[1]).exists()


@pytest.mark.parametrize("recipe", kept(BY_HAND))
def test_what_was_copied_by_hand_stands_in_the_results_with_its_command(recipe):
    assert recipe.removeprefix("python ") in RESULTS
    assert [words for words in kept(BY_HAND)[recipe] if flowing(words) not in RESULTS] == []


def test_no_decimal_in_how_good_it_is_comes_from_nowhere():
    text = RESULTS
    words = [line for path in RECORDED for line in kept(path)["says"]]
    words += [line for lines in kept(BY_HAND).values() for line in lines]
    words += [number for numbers in kept(PUBLISHED).values() for number in numbers]
    for known in sorted(map(flowing, words), key=len, reverse=True):
        text = text.replace(known, "…")

    assert re.findall(r"(?<![\w/.-])[^ ]*\d*\.\d+[^ ]*", re.sub(r"`[^`]*`|\([^)]*\.md\)|cut of 0\.909", "", text)) == []


@pytest.mark.parametrize("part", ["feature", "detector", "reader"])
def test_the_part_that_adding_md_shows_is_the_one_that_the_tests_install(part):
    page = (DOCS / "adding.md").read_text(encoding="utf-8")
    code = (TESTS / f"plugin/src/longest_silence/{part}.py").read_text(encoding="utf-8")

    assert f"```python\n{code}```\n" in page
    assert len(code.splitlines()) <= 50
