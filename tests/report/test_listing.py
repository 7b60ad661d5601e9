"""Lists a person can read, and tables a program can take apart."""

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gamewarden.presentation.listing import Layout, for_person, for_pipe, left_out
from gamewarden.presentation.widths import cells, wrapped

REASONS = "Every minute looks almost like every other; Online longer than nearly all humans; Acts faster than most"
LAYOUT = Layout(("actor", "probability", "fpr", "point"), ("reasons",))
BOXES = set("│┃┏━┓┡╇┩└┴┘─")


def ranking(names=("u0000487", "u0000578")):
    rows = len(names)
    return pl.DataFrame(
        {
            "actor": list(names),
            "probability": [0.9969] * rows,
            "fpr": [0.0289] * rows,
            "point": ["watch"] * rows,
            "self_sim": [0.99821] * rows,
            "level": [46.0] * rows,
            "play_minutes": [1912.2] * rows,
            "zone": ["field-20"] * rows,
            "note": ["of no importance"] * rows,
            "reasons": [REASONS] * rows,
        }
    )


def test_a_list_fits_the_terminal_and_reasons_stand_under_their_row():
    shown = for_person(ranking(), 80, LAYOUT)

    assert all(cells(line) <= 80 for line in (shown.head, *shown.rows))
    assert shown.rows[0].startswith("u0000487")
    assert shown.rows[1].startswith("    Every minute")
    assert " ".join(line.strip() for line in shown.rows[1:3]) == REASONS


def test_columns_are_dropped_by_importance_and_named():
    shown = for_person(ranking(), 42, LAYOUT)

    assert shown.head.split() == ["actor", "probability", "fpr", "point"]
    assert shown.dropped == ("self sim", "level", "play minutes", "zone", "note")
    assert left_out(3, shown.dropped, 42) == (
        "Not shown: 3 more rows; no room at 42 columns for self sim, level, play minutes, zone, note. "
        "--out FILE writes all."
    )


def test_nothing_left_out_is_nothing_said():
    assert left_out(0, (), 80) == ""


def test_a_column_without_a_value_gives_way_to_one_that_has_some():
    table = pl.DataFrame({"actor": ["a"], "far": pl.Series([None], dtype=pl.String), "zone": ["field-20"]})

    assert for_person(table, 16, Layout(("actor", "far"))).head.split() == ["actor", "zone"]


@pytest.mark.parametrize("name", ["x" * 200, "한글이름" * 30, "a b c " * 20 + "d"], ids=["long", "wide", "spaced"])
def test_a_long_name_is_whole_on_a_line_of_its_own_and_the_others_stay_together(name):
    shown = for_person(ranking(["u1", name]), 80, LAYOUT)

    assert name in shown.rows
    assert all(cells(line) <= 80 for line in shown.rows if line != name)
    assert shown.rows[0].startswith("u1")


def test_wide_letters_take_two_columns_and_numbers_stay_in_line():
    shown = for_person(ranking(["봇사냥꾼", "u1"]), 80, LAYOUT)

    first, second = shown.rows[0], next(row for row in shown.rows if row.startswith("u1"))
    assert cells(first[: first.index("0.9969")]) == cells(second[: second.index("0.9969")])


def test_text_of_a_table_that_is_too_wide_goes_under_its_row():
    table = pl.DataFrame({"model": ["m@1"], "because": ["word " * 30], "at": ["2026-01-01"], "by": ["somebody"]})

    shown = for_person(table, 60, Layout())

    assert shown.head.split() == ["model", "at", "by"]
    assert shown.rows[1].startswith("    word word")


def test_a_pipe_gets_every_row_and_column_in_one_line_each_without_boxes():
    lines = list(for_pipe(ranking([f"u{at}" for at in range(200)]), LAYOUT))

    assert len(lines) == 201
    assert lines[0].split() == ranking().columns
    assert lines[1].endswith(REASONS)
    assert lines[1].split()[5:7] == ["46", "1912"]
    assert not BOXES & set("".join(lines))


def test_a_pipe_begins_at_once_and_a_late_long_value_stands_out_of_line():
    table = pl.DataFrame(
        {"name": ["a", "bcd"] * 10_000 + ["a longer name"], "n": range(10_000, 30_001), "x": ["z"] * 20_001}
    )

    lines = list(for_pipe(table, Layout()))

    assert {line.index(" z") for line in lines[1:-1]} == {lines[1].index(" z")}
    assert lines[-1].split("  ") == ["a longer name", "30000", "z"]


@pytest.mark.parametrize("lines", [for_pipe, lambda table, layout: for_person(table, 80, layout).rows])
def test_what_players_chose_never_steers_a_terminal(lines):
    table = pl.DataFrame({"actor\x1b[2J": ["\x1b]0;title\x07", "a\u202eb", "x\ny"], "reasons": ["\x9b31m"] * 3})

    text = "\n".join(lines(table, LAYOUT))

    assert r"\x1b]0;title\x07" in text
    assert r"a\u202eb" in text
    assert r"x\ny" in text
    assert not set("\x1b\x07\x9b\u202e") & set(text)


@pytest.mark.parametrize("table", [pl.DataFrame(), pl.DataFrame(schema={"actor": pl.String, "n": pl.Int64})])
def test_a_table_of_nothing_is_its_head(table):
    shown = for_person(table, 80, Layout())

    assert shown.rows == ()
    assert next(for_pipe(table, Layout())).split() == shown.head.split() == table.columns


@given(st.text(st.characters(codec="utf-8", exclude_categories=["C", "Z"]) | st.just(" "), max_size=200))
def test_wrapping_loses_no_word_and_breaks_none(text):
    lines = wrapped(text, 20)

    assert " ".join(lines).split() == text.split()
    assert all(cells(line) <= 20 or len(line.split()) <= 2 or "`" in line for line in lines)


def test_a_command_in_backticks_stays_whole_so_that_it_can_be_copied():
    lines = wrapped("Said over these kinds; `gamewarden measure self-similarity lake` gives the same.", 30)

    assert "`gamewarden measure self-similarity lake`" in lines


def test_the_further_lines_of_a_fact_stand_under_its_text():
    assert wrapped("  + Acts faster than nearly all humans do", 24) == [
        "  + Acts faster than",
        "    nearly all humans do",
    ]
