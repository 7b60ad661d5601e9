"""Where a table goes: a file by its ending, a page for people, or standard output."""

import json
import re
from pathlib import Path

import polars as pl
import pytest

from commands import run
from gamewarden.cli.show import Presentation
from terminal import run_at_terminal

NAMES = ["=1+1", "<script>alert(1)</script>", "\x1b[2Ja\u202eb", None]
TABLE = pl.DataFrame({"actor": NAMES, "probability": [0.5, 0.25, None, 1.0]})


def written(path, *, exact=False):
    Presentation(path, as_json=False, exact=exact).table(TABLE, "Who to look at")
    return path


@pytest.mark.parametrize(
    ("ending", "read"),
    [
        (".jsonl", lambda path: [json.loads(line) for line in path.read_text().splitlines()]),
        (".json", lambda path: json.loads(path.read_text())),
        (".parquet", lambda path: pl.read_parquet(path).to_dicts()),
    ],
)
def test_formats_for_programs_hold_the_exact_values(tmp_path, ending, read):
    assert read(written(tmp_path / f"list{ending}")) == TABLE.to_dicts()


def test_csv_is_safe_for_spreadsheets_and_exact_where_it_is_asked_for(tmp_path):
    assert "'=1+1,0.5" in written(tmp_path / "list.csv").read_text()
    assert "\n=1+1,0.5" in written(tmp_path / "exact.csv", exact=True).read_text()


def test_a_page_holds_the_table_as_text_in_the_one_layout(tmp_path):
    page = written(tmp_path / "list.html").read_text(encoding="utf-8")

    assert "<title>Who to look at</title>" in page
    assert "default-src 'none'" in page
    assert "<script" not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert r"\x1b[2Ja\u202eb" in page
    assert re.search(r'<td class="number">0\.5000</td>', page)


def test_a_dash_prints_csv_and_nothing_else_to_standard_output():
    ended = run("budget", "--wrong-per-month", 2, "--players", 1000, "--out", "-")

    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.splitlines()[0].startswith("model,")
    assert " rows in -" not in ended.stderr
    assert pl.read_csv(ended.stdout.encode()).height == 1


def test_csv_for_a_program_is_exact_and_at_a_terminal_it_steers_nothing(capfdbinary):
    code = (
        "from pathlib import Path; import polars as pl; from gamewarden.cli.show import Presentation; "
        "Presentation(Path('-'), as_json=False).table(pl.DataFrame({'actor': ['\\x1b[2J\\u202e']}))"
    )

    Presentation(Path("-"), as_json=False).table(TABLE)
    shown = run_at_terminal("-c", code)

    assert "\x1b[2Ja\u202eb" in capfdbinary.readouterr().out.decode()
    assert shown.lines == ["actor", r"\x1b[2J\u202e"]


def test_two_ways_of_printing_are_wrong_usage():
    ended = run("budget", "--wrong-per-month", 2, "--players", 1000, "--out", "-", "--json")

    assert ended.returncode == 2
    assert "give one of them" in ended.stderr


def test_an_ending_that_names_no_format_is_refused_before_any_work(tmp_path):
    ended = run("budget", "--wrong-per-month", 2, "--players", 1000, "--out", tmp_path / "list.xlsx")

    assert ended.returncode == 1
    assert "end the name in .csv, .parquet, .json, .jsonl or .html" in ended.stderr


def test_long_texts_of_a_page_stand_under_their_row(tmp_path):
    reasons = "Every minute looks almost like every other; Online longer than nearly all humans"
    table = pl.DataFrame({"actor": ["a", "b"], "reasons": [reasons, None], "zone": ["field-20", "field-21"]})

    Presentation(tmp_path / "list.html", as_json=False).table(table)

    page = (tmp_path / "list.html").read_text(encoding="utf-8")
    assert "<th>actor</th><th>zone</th>" in page
    assert page.count('class="under"') == 1
    assert f'<td colspan="2"><p><span class="soft">reasons:</span> {reasons}</p></td>' in page
