"""One layout for all pages: nothing is fetched, nothing runs, and what players chose is shown as it is written."""

import re
import subprocess
import sys
from importlib.resources import files

import polars as pl
import pytest
from jinja2 import UndefinedError

from gamewarden.presentation.pages import page, table_page
from gamewarden.presentation.report import html_page

EVIL = "<script>alert('x')</script> {{ 7 * 7 }} \u202egpj.exe\u202c \x1b[31m"
TEMPLATES = sorted(files("gamewarden.presentation").joinpath("templates").iterdir(), key=lambda path: path.name)
PAGES = [path for path in TEMPLATES if path.name not in {"layout.html", "parts.html", "style.css"}]


def table():
    return pl.DataFrame({EVIL: [EVIL, None], "n": [1, 2]})


@pytest.mark.parametrize(
    "text", [table_page(table(), EVIL), html_page(EVIL, [EVIL], [(EVIL, table())], [])], ids=["table", "report"]
)
def test_what_players_chose_is_text_on_every_page_and_shown_as_it_is_written(text):
    assert "<script" not in text
    assert "&lt;script&gt;" in text
    assert "{{ 7 * 7 }}" in text
    assert r"\u202egpj.exe\u202c" in text
    assert r"\x1b[31m" in text
    assert not re.search("[\x00-\x09\x0b-\x1f\u202a-\u202e\u2066-\u2069]", text)


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_every_page_has_the_one_layout_and_no_style_of_its_own_head(path):
    text = path.read_text(encoding="utf-8")

    assert text.startswith('{% extends "layout.html" %}')
    assert "<html" not in text
    assert "|safe" not in text
    assert "autoescape" not in text


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: path.name)
def test_no_template_fetches_or_runs_anything(path):
    text = path.read_text(encoding="utf-8")

    assert not re.search(r"<(script|link|iframe|object|embed)\b|\bon\w+=|https?:|@import|url\(", text)


def test_a_page_is_for_light_dark_phone_and_print():
    text = table_page(table(), "names")

    assert "prefers-color-scheme: dark" in text
    assert '<meta name="viewport" content="width=device-width' in text
    assert "@media print" in text
    assert "default-src 'none'" in text


def test_a_value_that_a_page_lacks_is_an_error_and_not_a_hole():
    with pytest.raises(UndefinedError):
        page("report.html", kind="report", title="x")


def test_templates_are_compiled_when_a_page_is_made_and_not_before():
    code = "import sys, gamewarden.cli, gamewarden.presentation.pages; print('jinja2' in sys.modules)"

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.strip() == "False"
