"""An operator's own table: what its columns hold, what cannot be true in them, and which of them only name rows."""

import hashlib
import json
from datetime import date, timedelta

import numpy as np
import polars as pl
import pytest

from gamewarden.errors import MeasureError
from gamewarden.features.account_table.columns import TableColumn, understood
from gamewarden.features.account_table.identifiers import why_identifier
from gamewarden.features.account_table.recipe import AccountTable
from gamewarden.readers.logs.operator_tables import read_table
from gamewarden.tables import FrameRows
from tables_made_up import account_table

COUNT = 1000
DRAW = np.random.default_rng(1)
WHOLE = DRAW.lognormal(11, 1.1, COUNT).round()  # a play time in seconds

IDENTIFIERS = {
    "row numbers": ("x", range(COUNT)),
    "numbers given out in order, with gaps": ("stamp", np.cumsum(DRAW.integers(1, 400, COUNT))),
    "numbers of which the late ones are still there": ("born", (1e6 * DRAW.random(COUNT) ** 0.3).round()),
    "numbers as floats": ("ref", 5_000_000.0 + 7 * np.arange(COUNT)),
    "numbers written as text": ("ref", [str(900_000 + 13 * at) for at in range(COUNT)]),
    "numbers with a placeholder": ("ref", [*range(50_000, 50_000 + COUNT - 5), *[999_999_999] * 5]),
    "hashed numbers": ("h", [int(hashlib.sha256(str(at).encode()).hexdigest()[:12], 16) for at in range(COUNT)]),
    "hashed codes": ("fold", [hashlib.sha256(str(at).encode()).hexdigest() for at in range(COUNT)]),
    "prefixed codes": ("who", [f"usr-{at:06}" for at in range(COUNT)]),
    "an account number that repeats": ("A_Acc", np.repeat(np.arange(COUNT // 2) ** 2, 2)),
    "a name of camels": ("accountId", WHOLE),
}
HONEST = {
    "play time in seconds": ("Playtime", WHOLE),
    "play time a day": ("playtime_per_day", DRAW.lognormal(9, 0.9, COUNT)),
    "money under a name of no meaning": ("x", DRAW.lognormal(14, 2, COUNT).round()),
    "a symmetric float": ("score", DRAW.normal(0, 1, COUNT)),
    "levels": ("Max_level", DRAW.integers(1, 56, COUNT)),
    "small codes": ("class_id", DRAW.integers(1, 12, COUNT)),
    "a count of addresses": ("ip_count", DRAW.integers(1, 200, COUNT)),
    "moments of registration": ("joined", 1_262_304_000 + DRAW.permutation(20_000_000)[:COUNT]),
    "days of registration": (
        "joined",
        [date(2010, 1, 1) + timedelta(days=int(d)) for d in DRAW.integers(0, 900, COUNT)],
    ),
    "kinds": ("race", DRAW.choice(["elyos", "asmodian"], COUNT)),
    "yes and no": ("vip", DRAW.choice([True, False], COUNT)),
}


@pytest.mark.parametrize("case", IDENTIFIERS)
def test_an_identifier_is_seen_by_its_name_or_its_shape(case):
    name, values = IDENTIFIERS[case]

    assert why_identifier(pl.Series(name, values))


@pytest.mark.parametrize("case", HONEST)
def test_an_honest_column_is_not_taken_for_an_identifier(case):
    name, values = HONEST[case]

    assert why_identifier(pl.Series(name, values)) is None


def test_an_account_number_under_another_name_is_seen_once_a_group():
    accounts = np.repeat(np.arange(COUNT // 2) * 31 + 77_000, 2)
    column = pl.Series("cluster", accounts)

    assert why_identifier(column) is None
    assert why_identifier(column, pl.Series("account", accounts).cast(pl.String))


def test_what_an_account_paid_is_no_identifier_though_it_is_the_same_for_all_its_characters():
    paid = np.repeat(DRAW.lognormal(9, 1.2, COUNT // 2).round(), 2)

    assert why_identifier(pl.Series("paid", paid), pl.Series(np.repeat(range(COUNT // 2), 2)).cast(pl.String)) is None


@pytest.mark.parametrize(
    ("name", "values", "kind", "high"),
    [
        ("playtime_per_day", [3600.0, 80_000.0] * 100 + [90_000.0], "number", 86_400.0),
        ("play time per day", [60, 1400] * 100, "number", 1_440.0),
        ("daily_online_hours", [2.0, 23.5] * 100, "number", 24.0),
        ("party_share", [0.1, 0.9] * 100 + [1.5], "number", 1.0),
        ("money", [1, 2] * 100, "number", None),
        ("vip", ["yes", "no"], "truth", None),
        ("joined", ["2010-01-01", "2011-02-03"], "time", None),
        ("joined", ["2010-01-01T10:00:00Z", "2011-02-03T10:00:00Z"], "time", None),
        ("race", ["elyos", "asmodian"], "category", None),
    ],
)
def test_what_a_column_holds_is_understood(name, values, kind, high):
    column = understood(pl.Series(name, values))

    assert (column.kind, column.high) == (kind, high)


@pytest.mark.parametrize(
    ("values", "why"),
    [
        ([None, None], "empty"),
        ([7, 7, 7], "the same in every row"),
        ([f"word {chr(97 + at)}{chr(98 + at)}" for at in range(20)] * 3, "20 different values"),
        ([[1], [2]], "neither number, time nor kind"),
    ],
)
def test_a_column_nothing_can_be_learned_from_says_why(values, why):
    assert why in understood(pl.Series("x", values))


def measured(frame, **options):
    rows = FrameRows(frame)
    recipe = AccountTable(**options).learn(rows)
    return recipe, recipe.measure(rows)


def test_a_day_of_more_than_86400_seconds_is_not_trusted_and_named():
    recipe, table = measured(account_table(), drop=("character",))
    row = table.filter(actor="bot000").row(0, named=True)

    assert row["playtime_per_day"] is None
    assert row["impossible"] == "playtime_per_day is 90000.0"
    assert "a day has 86,400 seconds" in recipe.remarks_on(table)[0]


@pytest.mark.parametrize(
    ("column", "value"),
    [("Login_count", "-3"), ("Login_count", "inf"), ("Login_count", "many"), ("Login_count", "1e300")],
)
def test_a_value_that_cannot_be_true_counts_as_missing(column, value):
    frame = account_table().with_columns(pl.col(column).cast(pl.String))
    frame = frame.with_columns(pl.when(pl.col("actor") == "bot001").then(pl.lit(value)).otherwise(column).alias(column))

    _, table = measured(frame, drop=("character",))

    row = table.filter(actor="bot001").row(0, named=True)
    assert row[column] is None
    assert row["impossible"] == f"{column} is {value}"


@pytest.mark.parametrize("missing", ["", "NA", " null ", "NaN", "-"])
def test_words_for_nothing_are_missing_and_not_impossible(missing):
    frame = account_table().with_columns(pl.col("Login_count").cast(pl.String))
    frame = frame.with_columns(
        Login_count=pl.when(pl.col("actor") == "bot001").then(pl.lit(missing)).otherwise("Login_count")
    )

    _, table = measured(frame, drop=("character",))

    row = table.filter(actor="bot001").row(0, named=True)
    assert (row["Login_count"], row["impossible"]) == (None, None)


def test_the_same_table_as_csv_json_lines_or_parquet_measures_the_same(tmp_path):
    frame = account_table()
    frame.write_csv(tmp_path / "t.csv")
    frame.write_parquet(tmp_path / "t.parquet")
    lines = [json.dumps({**row, "registered": str(row["registered"])}) for row in frame.iter_rows(named=True)]
    (tmp_path / "t.jsonl").write_text("\n".join(lines) + "\n")

    tables = [measured(read_table(tmp_path / f"t.{ending}"))[1] for ending in ("csv", "parquet", "jsonl")]

    assert tables[0].equals(tables[1])
    assert tables[0].equals(tables[2])


def test_a_row_that_stands_twice_counts_once_and_two_that_differ_are_refused():
    frame = account_table().drop("character")
    _, once = measured(frame)
    _, twice = measured(pl.concat([frame, frame[:5]]))

    assert twice.equals(once)
    other = frame[:1].with_columns(Max_level=pl.lit(3, dtype=pl.Int64))
    with pytest.raises(MeasureError, match="several rows of actor 'bot000' that differ"):
        measured(pl.concat([frame, other]))


def test_columns_named_by_the_operator_are_dropped_or_kept_whatever_they_look_like():
    recipe, table = measured(account_table(), keep=("ticket",), drop=("Playtime", "character"))

    assert "ticket" in table.columns
    assert "Playtime" not in table.columns
    assert recipe.left_out["Playtime"] == "it was dropped by name"


def test_columns_with_names_of_ours_are_kept_apart():
    frame = account_table().rename({"Login_count": "events", "Max_level": "source", "ip_count": "weight"})

    _, table = measured(frame, drop=("character",))

    assert {"events_", "source_", "weight_"} <= set(table.columns)
    assert table["events"].null_count() == table.height


def test_a_missing_column_is_named_with_those_there_are():
    recipe, _ = measured(account_table())

    with pytest.raises(MeasureError, match="has no column Playtime; it has actor, character"):
        recipe.measure(FrameRows(account_table().drop("Playtime")))
    with pytest.raises(MeasureError, match="has no column nobody"):
        AccountTable(actor="nobody").learn(FrameRows(account_table()))


@pytest.mark.parametrize(
    "change",
    [
        {"columns": "all"},
        {"columns": [{"name": 3}]},
        {"actor": None},
        {"left_out": {"a": 1}},
        {"drop": "x"},
        {"more": 1},
    ],
    ids=str,
)
def test_a_recipe_from_a_stranger_is_looked_at(change):
    values = AccountTable(columns=(TableColumn("a"),)).to_dict()

    with pytest.raises(MeasureError):
        AccountTable.from_dict({**values, **change})


@pytest.mark.parametrize(
    ("name", "side"),
    [
        ("Playtime", "high"),
        ("playtime_per_day", "high"),
        ("online_hours", "high"),
        ("Social_diversity", "low"),
        ("guildJoins", "low"),
        ("friends", "low"),
        ("avg_PartyTime", "low"),
        ("chat_playtime", "low"),  # the first topic that fits counts
        ("Max_level", None),
        ("display", None),
    ],
)
def test_the_name_of_a_column_says_whether_it_looks_odd_and_on_which_side(name, side):
    rows = pl.DataFrame({"actor": [f"a{at}" for at in range(60)], name: DRAW.lognormal(3, 1, 60)})

    feature = AccountTable().learn(FrameRows(rows))

    assert feature.odd_when == ({} if side is None else {name: side})


def test_only_numbers_look_odd_and_before_there_is_a_table_nothing_does():
    told = account_table().with_columns(social_class=pl.col("class"), online=pl.col("vip"))
    feature = AccountTable(label="verdict", drop=("character",)).learn(FrameRows(told))

    assert set(feature.odd_when) == {"Playtime", "playtime_per_day", "Social_diversity"}
    assert AccountTable().odd_when == {}
    assert {name: feature.phrases[name].topic for name in feature.odd_when} == {
        "Playtime": "How long it plays",
        "playtime_per_day": "How long it plays",
        "Social_diversity": "Whom it has to do with",
    }


def test_numbers_that_count_or_last_are_known():
    feature = AccountTable(label="verdict", drop=("character",)).learn(FrameRows(account_table()))

    assert {"Playtime", "Login_count"} <= set(feature.counting)
    assert not {"class=Cleric", "registered"} & set(feature.counting)
    assert set(feature.counting) <= set(feature.own_names)
    assert AccountTable().counting == ()
