"""The documents are compared with the code."""

from pathlib import Path

import pytest

from gamewarden import tables
from gamewarden.config import settings

DOCS = Path(__file__).parents[1] / "docs"
TABLES = [value for value in vars(tables).values() if isinstance(value, tables.Table)]


@pytest.mark.parametrize(("section", "setting"), list(settings()), ids=lambda value: getattr(value, "name", value))
def test_every_setting_stands_in_config_md_with_its_default_and_sentence(section, setting):
    page = (DOCS / "config.md").read_text(encoding="utf-8")

    default = f'"{setting.default}"' if isinstance(setting.default, str) else str(setting.default)
    assert f"| `[{section}] {setting.name}` | `{default}` | {setting.metadata['says']} |" in page


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
def test_every_table_stands_in_tables_md_with_its_columns_in_order(table):
    page = (DOCS / "tables.md").read_text(encoding="utf-8")

    assert f"| {table.name} | {' · '.join(f'`{name}`' for name in table.columns)} |" in page


def test_no_page_links_to_a_page_that_is_not_there():
    import re

    for page in [*DOCS.rglob("*.md"), *DOCS.parent.glob("*.md")]:
        for target in re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


@pytest.mark.parametrize("kind", sorted(tables.RESERVED_KINDS))
def test_every_reserved_kind_stands_in_reading_md(kind):
    assert f"`{kind}`" in (DOCS / "reading.md").read_text(encoding="utf-8")
