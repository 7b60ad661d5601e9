from datetime import UTC, datetime, timedelta

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gamewarden.errors import ConfigError
from gamewarden.learning.model_json import dump, load_part
from gamewarden.learning.reference import plain_json
from gamewarden.learning.styles import STYLES, Styles

START = datetime(2026, 3, 1, tzinfo=UTC)


def row(minutes=None, kills=None, level=None, days=1):
    return {
        "since": START,
        "until": START + timedelta(days=days),
        "total_use_time_min": minutes,
        "npc_kill_count": kills,
        "main_char_level": level,
    }


def told(*rows, rule=None):
    schema = {"total_use_time_min": pl.Float64, "npc_kill_count": pl.Int64, "main_char_level": pl.Float64}
    return (rule or Styles()).tell(pl.DataFrame(rows, schema_overrides=schema)).to_list()


def test_the_first_border_that_fits_tells_the_style():
    assert told(row(700, 5000, 3), row(120, 300, 3), row(120, 30, 3), row(120, 30, 40)) == [
        "hard-core",
        "grinder",
        "newbie",
        "veteran",
    ]


def test_hours_are_those_of_a_day_however_long_the_period():
    assert told(row(700, 0, 40, days=7), row(4300, 0, 40, days=7)) == ["veteran", "hard-core"]


def test_what_was_not_measured_fits_no_border_and_nothing_at_all_is_unknown():
    assert told(row(level=3), row(minutes=20.0), row()) == ["newbie", "veteran", "unknown"]


def test_a_table_without_the_columns_is_unknown():
    assert Styles().tell(pl.DataFrame([row()]).select("since", "until")).to_list() == ["unknown"]


def test_learned_borders_cut_a_fifth_off_the_humans():
    humans = pl.DataFrame([row(60.0 * at, 10 * at, at, days=1) for at in range(1, 21)])

    rule = Styles(learned=True).frozen(humans)

    assert rule.hardcore_hours == 17
    assert rule.newbie_level == 4
    assert Styles().frozen(humans) == Styles()


@given(st.lists(st.tuples(*[st.none() | st.floats(0, 1e6)] * 3), min_size=1, max_size=20))
def test_a_row_has_the_same_style_alone_as_in_a_crowd(rows):
    table = [row(minutes, None if kills is None else int(kills), level) for minutes, kills, level in rows]

    assert told(*table) == [told(one)[0] for one in table]
    assert set(told(*table)) <= set(STYLES)


def test_a_rule_comes_back_from_its_json_values():
    rule = Styles(hardcore_hours=6.0, learned=True)

    assert load_part(Styles, plain_json(dump(rule)), "x@1") == rule


@pytest.mark.parametrize("wrong", [{"hardcore_hours": -1.0}, {"newbie_level": float("nan")}])
def test_borders_that_are_none_are_refused(wrong):
    with pytest.raises(ConfigError, match="styles: "):
        Styles(**wrong)
