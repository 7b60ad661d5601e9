"""The page on notebooks: its blocks run in order, and print what the page shows."""

import re
import shlex
import warnings
from contextlib import chdir, redirect_stdout
from io import StringIO

import pytest

import gamewarden as gw
from commands import done
from paths import DOCS

PAGE = DOCS / "api.md"
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks():
    return BLOCK.findall(PAGE.read_text(encoding="utf-8"))


@pytest.mark.integration
def test_the_page_prints_what_it_shows(tmp_path):
    printed, shown, names = [], [], {}
    with chdir(tmp_path), warnings.catch_warnings():
        for language, block in blocks():
            if language == "sh":
                done(*shlex.split(block)[1:])
            elif language == "python":
                out = StringIO()
                with redirect_stdout(out):
                    exec(compile(block, str(PAGE), "exec"), names)  # noqa: S102  our own page
                printed.append(out.getvalue())
            else:
                shown.append(block)

    assert printed == shown
    assert len(shown) > 5
    for shows_itself in ("fitted", "ranking", "explanation", "evaluation"):
        assert '<div class="gamewarden">' in names[shows_itself]._repr_html_()


def test_the_page_names_every_function():
    functions = [name for name in gw.__all__ if name.islower()]
    rows = re.findall(r"^\| `gw\.(\w+)\(", PAGE.read_text(encoding="utf-8"), re.MULTILINE)

    assert sorted(rows) == functions
