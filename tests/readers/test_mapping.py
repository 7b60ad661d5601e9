import csv
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gamewarden.errors import ConfigError, GamewardenError, ReadError
from gamewarden.readers import timestamps as times
from gamewarden.readers.logs import delimited
from gamewarden.readers.logs.mapping import IDENTITY, load_mapping, parse_mapping, presets
from gamewarden.readers.logs.tables import MAX_BAD_SHARE, EventFile
from gamewarden.readers.logs.toml_sections import near_miss
from gamewarden.tables import EVENTS, RESERVED_KINDS
from paths import DOCS

EXAMPLE = """
[columns]
actor = "Account"
at = "When"
kind = "What"
level = "Lv"

[time]
format = "%Y-%m-%d %H:%M:%S.%f"
zone = "Asia/Seoul"

[kinds]
"1003" = "session.login"
"1999" = "my.own.name"

[file]
encoding = "utf-8"
header = true
null = ["-", "none"]
"""


def test_a_mapping_file_renames_columns_times_and_kinds(tmp_path):
    (tmp_path / "map.toml").write_text("\ufeff" + EXAMPLE)
    (tmp_path / "log.csv").write_text(
        "When,What,Account,Lv,zone\n2024-01-01 09:00:00.5,1003,7,3,z\n2024-01-01 09:00:01.0,5,7,,z\n"
    )
    mapping = load_mapping(tmp_path / "map.toml")

    file = EventFile(tmp_path / "log.csv", mapping)
    rows = [row for batch in file.batches(["actor", "at", "kind", "level", "zone"]) for row in batch.to_pylist()]

    assert [(row["actor"], str(row["at"]), row["kind"], row["level"], row["zone"]) for row in rows] == [
        ("7", "2024-01-01 00:00:00.500000+00:00", "session.login", 3, None),
        ("7", "2024-01-01 00:00:01+00:00", "5", None, None),
    ]
    assert file.columns == {"actor", "at", "kind", "level"}


def test_a_column_is_read_only_for_the_kinds_that_fill_it_and_losses_are_negative(tmp_path):
    only = '[only]\nother = ["gift"]\namount = ["gift", "find"]\n'
    text = only + '[amount]\nlosses = ["gift"]\n[kinds]\ngift = "trade.give"\n'
    (tmp_path / "log.csv").write_text("actor,at,kind,other,amount\na,1,gift,b,5\na,2,find,9,5\na,3,walk,9,5\n")

    file = EventFile(tmp_path / "log.csv", parse_mapping(text, "test"))
    rows = [row for batch in file.batches(["kind", "other", "amount"]) for row in batch.to_pylist()]

    assert [tuple(row.values()) for row in rows] == [
        ("trade.give", "b", -5.0),
        ("find", None, 5.0),
        ("walk", None, None),
    ]


def test_a_mapped_column_that_may_be_missing_is_null_and_noted(tmp_path):
    (tmp_path / "log.csv").write_text("actor,at,kind\na,1,k\n")
    file = EventFile(tmp_path / "log.csv", parse_mapping('[columns]\nzone = "Map"\n', "m"))

    rows = [row for batch in file.batches(["zone"]) for row in batch.to_pylist()]

    assert rows == [{"zone": None}]
    assert "zone" not in file.columns
    assert file.report.notes[0].reason == "our zone is null: the file has no column 'Map'"


def test_a_mapped_column_written_otherwise_is_not_taken_for_missing(tmp_path):
    (tmp_path / "log.csv").write_text("actor,at,kind,map_id\na,1,k,z\n")

    with pytest.raises(ReadError, match=r"lacks 'Map ID' \(our zone\); 'map_id' looks like 'Map ID'"):
        EventFile(tmp_path / "log.csv", parse_mapping('[columns]\nzone = "Map ID"\n', "m"))


def test_the_documentation_describes_this_mapping_these_patterns_and_these_limits():
    page = (DOCS / "reading.md").read_text()
    example = parse_mapping(page.partition("```toml\n")[2].partition("```")[0], "docs/reading.md")

    assert example.kinds == {"1003": "session.login"}
    assert example.losses == ("2201",)
    assert "`" + " ".join(f"%{name}" for name in times._DIRECTIVES) + "`" in page
    assert all(short in page for short in times._SHORTHANDS)
    assert f"A row may be {delimited.LONGEST_ROW >> 20} MiB long" in page
    assert f"More than {MAX_BAD_SHARE:.0%} of bad rows".replace("%", " %") in page
    assert all(f"--map {name}" in page for name in presets())


def test_without_a_mapping_every_column_keeps_its_name():
    assert IDENTITY.theirs() == {name: name for name in EVENTS.columns}
    assert IDENTITY.renames_nothing


def test_a_mapping_is_named_by_what_it_does():
    same = parse_mapping(EXAMPLE, "another name")

    assert same.digest == parse_mapping(EXAMPLE, "one name").digest
    assert same.digest != parse_mapping(EXAMPLE.replace("1003", "1004"), "one name").digest


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[colums]\n", "m: unknown section 'colums'; did you mean 'columns'?"),
        ('[columns]\nactr = "A"\n', "m: [columns]: unknown column 'actr'; did you mean 'actor'?"),
        ("[columns]\nactor = 5\n", 'm: [columns] actor is 5; write it in quotes, as in actor = "5"'),
        ("columns = 5\n", "m: columns must be a section, written [columns]"),
        ('[time]\nfmt = "iso"\n', "m: [time]: unknown key 'fmt'; did you mean 'format'?"),
        (
            '[time]\nzone = "Seoul"\n',
            "m: [time] time zone 'Seoul' is unknown; write an IANA name such as Asia/Seoul or UTC",
        ),
        (
            '[kinds]\n"1" = "sesion.login"\n',
            "m: [kinds] '1': kind 'sesion.login' is not a reserved kind; 'session.login' is",
        ),
        ('[kinds]\n"1" = "Login"\n', "m: [kinds] '1': kind 'Login' is not a reserved kind; 'session.login' is"),
        ('[kinds]\n"1" = ""\n', "m: [kinds] '1': kind '' is not a reserved kind; name one"),
        ('[only]\nother = "x"\n', 'm: [only] other must be a list of quoted values, as in other = ["1003"]'),
        ('[only]\nkind = ["x"]\n', None),
        ('[amount]\nx = ["x"]\n', "m: [amount]: unknown key 'x'; there are losses"),
        ("[", None),
    ],
)
def test_a_mapping_we_cannot_follow_gets_one_line(text, message):
    with pytest.raises(ConfigError) as caught:
        parse_mapping(text, "m")

    assert "\n" not in str(caught.value)
    assert message is None or str(caught.value) == message


def test_a_mapping_that_is_nowhere_names_the_presets(tmp_path):
    with pytest.raises(ConfigError, match=r"neither a preset .*blade-and-soul.* nor a file"):
        load_mapping("blade_and_sole")
    (tmp_path / "latin.toml").write_bytes(b"# \xff\n")
    with pytest.raises(ConfigError, match="byte 2 is not UTF-8"):
        load_mapping(tmp_path / "latin.toml")


@pytest.mark.parametrize(
    ("kind", "meant"),
    [
        ("login", "session.login"),
        ("Session.Login", "session.login"),
        ("session_login", "session.login"),
        ("combat.kil", "combat.kill"),
        ("session.login", None),
        ("use", None),
        ("1003", None),
        ("combat.kill.player", None),
        ("fishing", None),
    ],
)
def test_near_misses_of_reserved_kinds_are_noticed(kind, meant):
    assert near_miss(kind) == meant


@pytest.mark.parametrize("name", presets())
def test_every_preset_parses_and_names_only_reserved_kinds(name):
    mapping = load_mapping(name)

    assert set(mapping.kinds.values()) <= set(RESERVED_KINDS)
    assert set(EVENTS.required) <= set(mapping.columns)


@pytest.fixture
def schema():
    if not (data := os.environ.get("GAMEWARDEN_DATA")):
        pytest.skip("GAMEWARDEN_DATA names no directory with the real data")
    path = Path(data) / "blade_and_soul" / "BnS_LogSchema_GameLog.csv"
    with path.open(encoding="utf-8-sig", newline="") as file:
        names, *rows = csv.reader(file)
    return [name.strip() for name in names], {row[0].strip(): row for row in rows}


def test_the_blade_and_soul_preset_names_only_what_the_official_schema_has(schema):
    names, rows = schema
    mapping = load_mapping("blade-and-soul")

    assert set(mapping.columns.values()) <= set(names)
    used = {*mapping.kinds, *mapping.losses, *(kind for kinds in mapping.only.values() for kind in kinds)}
    assert used <= set(rows)


def test_the_blade_and_soul_preset_reads_a_column_only_where_the_schema_fills_it(schema):
    names, rows = schema
    mapping = load_mapping("blade-and-soul")

    for ours, kinds in mapping.only.items():
        place = names.index(mapping.columns[ours])
        assert [kind for kind in kinds if not rows[kind][place].strip()] == [], ours
    account = names.index("Target_Account_ID")
    assert all("GameAccountID" in rows[kind][account] for kind in mapping.only["other"])
    item = names.index("Entity_ID")
    assert all("ItemTypeCode" in rows[kind][item] for kind in mapping.only["item"])
    money = names.index("Use_Value2_NUM")
    gains = set(mapping.only["amount"]) - set(mapping.losses)
    assert all("Increased" in rows[kind][money] for kind in gains)
    assert not any("Increased" in rows[kind][money] for kind in mapping.losses)


def test_a_log_with_the_official_header_reads_through_the_preset(schema, tmp_path):
    names, _ = schema
    values = {
        "Seq": "12",
        "TIME": "2016-04-01 09:00:00.123",
        "LogID": "2206",
        "Session_ID": "s",
        "Actor_ID": "c1",
        "Actor_Account_ID": "a1",
        "Actor_Level": "45",
        "Use_Value2_NUM": "1000",
        "Target_Account_ID": "a2",
    }
    path = tmp_path / "log.csv"
    header = ",".join(f"{name} " if name == "Actor_Code" else name for name in names)
    path.write_text("\ufeff" + header + "\n" + ",".join(values.get(name, "") for name in names) + "\n")

    (row,) = (
        row
        for batch in EventFile(path, load_mapping("blade-and-soul")).batches(list(EVENTS.columns))
        for row in batch.to_pylist()
    )

    assert str(row.pop("at")) == "2016-04-01 00:00:00.123000+00:00"
    assert {name: value for name, value in row.items() if value is not None} == {
        "actor": "a1",
        "character": "c1",
        "seq": 12,
        "kind": "trade.give",
        "level": 45,
        "amount": -1000.0,
        "other": "a2",
        "session": "s",
    }


@given(st.data())
def test_any_toml_is_a_mapping_or_one_line_of_ours(data):
    place = data.draw(st.integers(0, len(EXAMPLE)))
    junk = data.draw(st.text(max_size=8) | st.sampled_from(["[", "]", "=", '"', "[[", "\n", "1", "{}"]))
    cut = data.draw(st.integers(0, 20))

    try:
        parse_mapping(EXAMPLE[:place] + junk + EXAMPLE[place + cut :], "m")
    except GamewardenError as error:
        assert "\n" not in str(error)  # noqa: PT017 - an error is one of two right answers here
