"""What a mapping can say of rows: [where], signs, [join], [[also]], paths and [line]."""

import json
import re

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gamewarden.errors import ConfigError, ReadError
from gamewarden.readers.logs import jsonlines
from gamewarden.readers.logs.convert import Convert
from gamewarden.readers.logs.guesses import FIRST_ROWS
from gamewarden.readers.logs.joins import joined
from gamewarden.readers.logs.line_patterns import LONGEST_PATTERN
from gamewarden.readers.logs.lines import LONGEST_LINE
from gamewarden.readers.logs.mapping import load_mapping, parse_mapping
from gamewarden.readers.logs.normalize import ROW
from gamewarden.readers.logs.paths import DEEPEST
from gamewarden.readers.logs.rules import MOST_SIDES
from gamewarden.readers.logs.tables import EventFile
from gamewarden.readers.row_report import Tally
from gamewarden.store.lake import Lake
from gamewarden.tables import EVENTS, RESERVED_KINDS
from paths import DOCS

PICKLOG = """id,time,char_id,type,nameid,amount,map
1,2026-03-01 12:00:00,150001,P,501,3,prontera
2,2026-03-01 12:00:01,1002,M,909,-1,prt_fild01
3,2026-03-01 12:00:02,150001,P,501,-2,prontera
4,2026-03-01 12:00:03,150002,P,501,0,prontera
5,2026-03-01 12:00:04,150003,R,501,-1,geffen
"""
CHARS = "char_id,account_id,base_level\n150001,2000001,40\n150002,2000002,\n"
PICKS = """
[columns]
seq = "id"
at = "time"
kind = "type"
actor = "char.account_id"
level = "char.base_level"
character = "char_id"
item = "nameid"
amount = "amount"
zone = "map"

[time]
zone = "Asia/Seoul"

[where]
type = {not = ["M", "L"]}

[kinds]
P = {positive = "loot.pickup", negative = "loot.drop"}
R = {positive = "storage.withdraw", negative = "storage.deposit"}

[join.char]
file = "chars.csv"
on = "char_id"
"""


def write(path, text):
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def read(file, *columns):
    return [tuple(row.values()) for batch in file.batches(columns) for row in batch.to_pylist()]


def opened(tmp_path, mapping, log, name="log.csv", **given):
    return EventFile(
        write(tmp_path / name, log), parse_mapping(mapping, "m", tmp_path), **{"max_bad_share": 1.0, **given}
    )


def test_a_servers_item_log_is_filtered_joined_and_told_by_sign(tmp_path):
    write(tmp_path / "chars.csv", CHARS)
    file = opened(tmp_path, PICKS, PICKLOG)

    rows = read(file, "actor", "seq", "kind", "level", "amount")

    assert rows == [
        ("2000001", 1, "loot.pickup", 40, 3.0),
        ("2000001", 3, "loot.drop", 40, -2.0),
        ("2000002", 4, "P", None, 0.0),
    ]
    assert file.report.sentences()[:3] == [
        "5 rows read, 3 kept.",
        "Left out by [where]: 1 row (first in row 2: 'M').",
        "Left out: actor is unknown: char_id is not in chars.csv in 1 row (first in row 5: '150003').",
    ]
    assert [fault.reason for fault in file.report.notes if "stays" in fault.reason] == [
        "kind 'P' stays: [kinds] names none for the sign of amount"
    ]
    assert file.promised == {"loot.pickup", "loot.drop", "storage.withdraw", "storage.deposit"}


def test_rows_that_are_not_meant_are_neither_bad_nor_part_of_the_share_of_bad_rows(tmp_path):
    log = "actor,at,kind\n" + "a,1700000000,noise\n" * 98 + "a,1700000000,k\n,1700000000,k\n"
    file = opened(tmp_path, '[where]\nkind = "k"\n', log, max_bad_share=0.4)

    with pytest.raises(ReadError, match="1 of 2 rows are bad"):
        read(file, "actor")


@pytest.mark.parametrize(
    ("rule", "kept"),
    [
        ('zone = "a"', ["1"]),
        ('zone = ["a", "b"]', ["1", "2"]),
        ('zone = ""', ["3"]),
        ('zone = {not = "a"}', ["2", "3"]),
        ('zone = {not = ["", "b"]}', ["1"]),
        ('zone = ["a", "b"]\nlevel = "7"', ["2"]),
    ],
)
def test_where_takes_a_value_a_list_or_what_it_must_not_be_and_empty_is_a_value(tmp_path, rule, kept):
    log = "actor,at,kind,zone,level\n1,1700000000,k,a,5\n2,1700000000,k,b,7\n3,1700000000,k,,7\n"

    assert [actor for (actor,) in read(opened(tmp_path, f"[where]\n{rule}\n", log), "actor")] == kept


def test_a_row_of_which_nobody_can_say_whether_it_is_meant_is_bad(tmp_path):
    log = b"actor,at,kind,zone\na,1700000000,k,z\nb,1700000000,k,\xff\n"
    file = opened(tmp_path, '[where]\nzone = {not = "y"}\n', log)

    assert read(file, "actor") == [("a",)]
    assert file.report.bad[0].reason == "zone is not UTF-8"
    assert not file.report.skipped


def test_a_column_of_where_that_is_not_there_is_told_and_not_every_row_left_out(tmp_path):
    with pytest.raises(ReadError, match=r"lacks 'tpye', which \[where\] names; it has actor, at, kind"):
        opened(tmp_path, '[where]\ntpye = "k"\n', "actor,at,kind\na,1,k\n")


def test_zero_has_a_kind_only_where_one_is_named(tmp_path):
    log = "actor,at,kind,amount\n" + "".join(f"a,1700000000,P,{n}\n" for n in ("1", "-1", "0", "", "x"))
    rule = '[kinds]\nP = {positive = "loot.pickup", negative = "loot.drop", zero = "item.use"}\n'
    file = opened(tmp_path, rule, log)

    assert [kind for (kind,) in read(file, "kind")] == ["loot.pickup", "loot.drop", "item.use", "P", "P"]
    assert [(fault.reason, fault.count) for fault in file.report.notes if "stays" in fault.reason] == [
        ("kind 'P' stays: [kinds] names none for the sign of amount", 2)
    ]


TRADES = "seq,at,from,to,gold,item,who_level\n7,1700000000,ann,bob,50,sword,9\n8,1700000001,bob,,5,,3\n"
TWO_SIDES = """
kind = "trade.give"

[columns]
seq = "seq"
actor = "from"
other = "to"
amount = "gold"
item = "item"
level = "who_level"

[amount]
losses = ["trade.give"]

[[also]]
kind = "trade.receive"
opposite = true
columns = {actor = "to", other = "from"}
where = {to = {not = ""}}
"""


def test_a_row_gives_both_sides_of_a_trade_and_nothing_of_the_first_party_to_the_second(tmp_path):
    file = opened(tmp_path, TWO_SIDES, TRADES)

    rows = read(file, "seq", "actor", "other", "kind", "amount", "item", "level")

    assert rows == [
        (14, "ann", "bob", "trade.give", -50.0, "sword", 9),
        (15, "bob", "ann", "trade.receive", 50.0, "sword", None),
        (16, "bob", None, "trade.give", -5.0, None, 3),
    ]
    assert (file.report.rows, file.report.kept, file.report.duplicates) == (3, 3, 0)
    assert file.promised == {"trade.give", "trade.receive"}


def test_a_row_that_comes_twice_is_dropped_on_both_sides(tmp_path):
    file = opened(tmp_path, TWO_SIDES, TRADES + "7,1700000000,ann,bob,50,sword,9\n")

    assert len(read(file, "actor")) == 3
    assert file.report.duplicates == 2


def test_a_seq_that_cannot_be_spread_is_null_and_counted(tmp_path):
    file = opened(tmp_path, TWO_SIDES, TRADES.replace("7,", f"{2**62},", 1))

    assert [seq for (seq,) in read(file, "seq")] == [None, None, 16]
    assert file.report.nulled[0].count == 2


def test_a_session_table_gives_a_login_and_a_logout_of_the_same_person(tmp_path):
    mapping = """
kind = "session.login"
[columns]
actor = "acc"
at = "began"
ip = "ip"
[[also]]
kind = "session.logout"
columns = {at = "ended"}
where = {ended = {not = ""}}
"""
    log = "acc,began,ended,ip\na,1700000000,1700000900,192.0.2.1\nb,1700000100,,192.0.2.2\n"

    rows = read(opened(tmp_path, mapping, log), "actor", "kind", "ip")

    assert rows == [
        ("a", "session.login", "192.0.2.1"),
        ("a", "session.logout", "192.0.2.1"),
        ("b", "session.login", "192.0.2.2"),
    ]


def test_the_other_side_of_a_signed_row_has_the_other_kind(tmp_path):
    mapping = """
[columns]
actor = "a"
other = "b"
amount = "n"
[kinds]
T = {positive = "trade.receive", negative = "trade.give"}
[[also]]
opposite = true
columns = {actor = "b", other = "a"}
"""
    rows = read(opened(tmp_path, mapping, "a,b,at,kind,n\nann,bob,1700000000,T,-5\n"), "actor", "kind", "amount")

    assert rows == [("ann", "trade.give", -5.0), ("bob", "trade.receive", 5.0)]


def test_a_grown_log_with_two_sides_brings_only_its_new_rows(tmp_path):
    mapping = parse_mapping(TWO_SIDES.replace('seq = "seq"\n', ""), "m")
    log = write(tmp_path / "log.csv", TRADES)
    lake = Lake(tmp_path / "lake")
    first = lake.add(EventFile(log, mapping).numbered())
    write(log, TRADES + "9,1700000002,cid,dee,1,,1\n")

    second = lake.add(EventFile(log, mapping).numbered())

    assert (first.new, second.new, second.known) == (3, 2, 3)
    seqs = [seq for batch in lake.events().batches(("seq",)) for seq in batch.column("seq").to_pylist()]
    assert sorted(seqs) == [0, 1, 2, 4, 5]


def test_a_log_is_known_again_with_the_table_it_was_joined_with_and_with_no_other(tmp_path):
    write(tmp_path / "chars.csv", CHARS)
    lake = Lake(tmp_path / "lake")
    write(tmp_path / "map.toml", PICKS)
    log = write(tmp_path / "log.csv", PICKLOG)

    def add(mapping):
        return lake.add(EventFile(log, mapping, max_bad_share=1.0).numbered())

    add(load_mapping(tmp_path / "map.toml"))
    write(
        tmp_path / "chars.csv",
        CHARS.replace("base_level", "zeny,base_level").replace(",40", ",1,40").replace("2,\n", "2,7,\n"),
    )
    again = add(load_mapping(tmp_path / "map.toml"))  # a column that nobody looks at has come
    write(tmp_path / "chars.csv", CHARS + "150003,2000003,1\n")

    assert again.new == 0
    with pytest.raises(ReadError, match="read with another mapping"):
        add(load_mapping(tmp_path / "map.toml"))


def test_a_table_that_grows_changes_nothing_that_was_read(tmp_path):
    write(tmp_path / "chars.csv", CHARS)
    mapping = PICKS + "grows = true\n"
    before = opened(tmp_path, mapping, PICKLOG).recipe
    write(tmp_path / "chars.csv", CHARS + "150003,2000003,1\n")

    assert opened(tmp_path, mapping, PICKLOG).recipe == before
    assert opened(tmp_path, PICKS, PICKLOG).recipe != before


def test_a_counterparty_is_looked_up_in_the_same_table_and_one_that_is_unknown_is_null(tmp_path):
    write(tmp_path / "chars.csv", CHARS)
    mapping = PICKS + '[join.partner]\nfile = "chars.csv"\non = "src"\nkey = "char_id"\n'
    mapping = mapping.replace("[columns]\n", '[columns]\nother = "partner.account_id"\n')
    log = "id,time,char_id,type,nameid,amount,map,src\n" + "".join(
        f"{n},2026-03-01 12:00:00,150001,P,1,1,m,{src}\n" for n, src in enumerate(("150002", "", "9"))
    )
    file = opened(tmp_path, mapping, log)

    assert read(file, "actor", "other") == [("2000001", "2000002"), ("2000001", None), ("2000001", None)]
    assert [str(fault) for fault in file.report.nulled] == [
        "other is unknown: src is not in chars.csv in 1 row (first in row 3: '9')"
    ]


@pytest.mark.parametrize(
    ("table", "said"),
    [
        (None, "No such file|cannot be read|no such file"),
        ("char,account_id\n1,2\n", "lacks 'char_id', which .join.char. names; it has char, account_id"),
        ("char_id,account_id,base_level\n1,2,3\n1,4,3\n", "char_id '1' is there more than once with other values"),
        ("char_id,account_id,base_level\n1,2\n", "1 of 1 rows are bad"),
        (b"char_id,account_id,base_level\n1,\xff,3\n", "column 'account_id' is not UTF-8"),
    ],
)
def test_a_table_to_be_joined_that_cannot_be_trusted_gets_one_line(tmp_path, table, said):
    if table is not None:
        write(tmp_path / "chars.csv", table)

    with pytest.raises(ReadError, match=said) as caught:
        opened(tmp_path, PICKS, PICKLOG)
    assert "\n" not in str(caught.value)


NESTED = """
[columns]
actor = "player.account.id"
at = "ts"
kind = "event"
zone = "pos.map"
x = "pos.x"
amount = "gold"
"""


def objects(rows):
    return [
        {
            "player": {"account": {"id": 2**60 + n}},
            "ts": 1_700_000_000 + n,
            "event": "move",
            "pos": {"map": "m", "x": n},
        }
        for n in range(rows)
    ]


def test_paths_lead_into_nested_json_slowly_and_fast_alike(tmp_path, monkeypatch):
    lines = "".join(json.dumps(one) + "\n" for one in objects(300))
    whole = read(opened(tmp_path, NESTED, lines, "log.jsonl"), "actor", "zone", "x")
    monkeypatch.setattr(jsonlines, "_BLOCK", 2_000)  # the first block is read line by line, the others by Arrow

    rows = read(opened(tmp_path, NESTED, lines, "log.jsonl"), "actor", "zone", "x")

    assert rows == whole == [(str(2**60 + n), "m", float(n)) for n in range(300)]


def test_a_key_that_is_called_like_the_path_wins_in_every_line_that_has_it(tmp_path, monkeypatch):
    monkeypatch.setattr(jsonlines, "_BLOCK", 500)
    rows = objects(60)
    rows[20]["player.account.id"] = 7
    rows[40]["player.account.id"] = "literal"
    rows[41]["player"] = "no object"
    file = opened(tmp_path, NESTED, "".join(json.dumps(one) + "\n" for one in rows), "log.jsonl")

    actors = [actor for (actor,) in read(file, "actor")]

    expected = [str(2**60 + n) for n in range(60)]
    expected[20], expected[40] = "7", "literal"
    assert actors == [*expected[:41], *expected[42:]]
    assert [str(fault) for fault in file.report.bad] == ["actor is missing in 1 row (first in row 42: None)"]


def test_paths_lead_into_structs_of_parquet(tmp_path):
    pq.write_table(
        pa.Table.from_pylist([*objects(3), {"player": None, "ts": 1_700_000_000, "event": "x"}]), tmp_path / "log"
    )
    file = EventFile(tmp_path / "log", parse_mapping(NESTED, "m"), max_bad_share=1.0)

    assert read(file, "actor", "zone", "x") == [(str(2**60 + n), "m", float(n)) for n in range(3)]
    assert file.report.bad[0].reason == "actor is missing"


def test_a_column_that_is_called_like_the_path_wins_in_parquet(tmp_path):
    rows = [{**one, "player.account.id": "literal"} for one in objects(1)]
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "log")

    assert read(EventFile(tmp_path / "log", parse_mapping(NESTED, "m")), "actor") == [("literal",)]


@pytest.mark.parametrize("name", ["log.jsonl", "log.parquet"])
def test_a_path_that_leads_nowhere_is_a_column_that_is_missing(tmp_path, name):
    path = tmp_path / name
    if name.endswith("jsonl"):
        write(path, json.dumps(objects(1)[0]) + "\n")
    else:
        pq.write_table(pa.Table.from_pylist(objects(1)), path)

    with pytest.raises(ReadError, match=r"lacks 'player\.account\.nr' \(our actor\)"):
        EventFile(path, parse_mapping(NESTED.replace("account.id", "account.nr"), "m"))


def test_nested_values_can_be_conditions_and_keys(tmp_path):
    write(tmp_path / "chars.csv", "id,acc\n5,ann\n")
    mapping = """
[columns]
actor = "c.acc"
[where]
"who.rank" = {not = "gm"}
[join.c]
file = "chars.csv"
on = "who.char"
key = "id"
"""
    rows = [{"at": 1_700_000_000, "kind": "k", "who": {"rank": rank, "char": 5}} for rank in ("gm", "user")]
    file = opened(tmp_path, mapping, "".join(json.dumps(row) + "\n" for row in rows), "log.jsonl")

    assert read(file, "actor") == [("ann",)]
    assert file.report.skipped[0].count == 1


LINES = r"""
[columns]
actor = "who"
at = "time"
kind = "what"
item = "item"

[time]
format = "%d %b %H:%M:%S"
zone = "UTC"
year = 2026

[line]
pattern = '''\[(?P<time>[^\]]+)\] (?P<what>\w+):\w+, item \d+:(?P<item>[^,(]+)\((?P<count>\d+)\), (?P<who>.+)'''
"""
TEXT = (
    "[01 Mar 12:00:00] CREATE:Loot, item 7:Adena(5), Bob\r\n\r\n"
    "java.lang.NullPointerException: at x\r\n"
    "[01 Mar 9:00:01] CHANGE:Loot, item 7:NULL(5), 한글\r\n"
)


def test_lines_of_text_are_read_by_a_pattern_and_those_that_read_otherwise_are_bad(tmp_path):
    file = opened(tmp_path, LINES, TEXT, "item.log")

    assert [(a, str(at), k, i) for a, at, k, i in read(file, "actor", "at", "kind", "item")] == [
        ("Bob", "2026-03-01 12:00:00+00:00", "CREATE", "Adena"),
        ("한글", "2026-03-01 09:00:01+00:00", "CHANGE", None),
    ]
    assert [str(fault) for fault in file.report.bad] == [
        "line does not fit the pattern of [line] in 1 row (first in row 2: 'java.lang.NullPointerException: at x')"
    ]


def test_lines_that_read_otherwise_are_passed_over_where_the_mapping_says_so(tmp_path):
    file = opened(tmp_path, LINES + 'other = "skip"\n', TEXT, "item.log", max_bad_share=0)

    assert len(read(file, "actor")) == 2
    assert "Left out by [line] other: 1 row (first in row 2: 'java.lang.NullPointerException: at x')." in (
        file.report.sentences()
    )


def test_a_line_that_a_player_hid_in_another_is_not_taken_for_one_of_the_log(tmp_path):
    file = opened(tmp_path, LINES, TEXT + "[x] say: " + TEXT.splitlines()[0] + "\n", "item.log")

    assert len(read(file, "actor")) == 2


def test_lines_in_other_letters_and_with_other_words_for_null_are_read_too(tmp_path):
    mapping = LINES + '[file]\nencoding = "cp949"\nnull = ["NULL", "Adena"]\n'
    file = opened(tmp_path, mapping, TEXT.encode("cp949"), "item.log")

    assert read(file, "actor", "item") == [("Bob", None), ("한글", None)]


def test_a_line_beyond_all_measure_is_bad_and_the_pattern_is_not_asked(tmp_path):
    file = opened(tmp_path, LINES, TEXT + "x" * 70_000 + "\n", "item.log")

    assert len(read(file, "actor")) == 2
    assert "line is longer than 64 KiB" in [fault.reason for fault in file.report.bad]


def test_a_pattern_that_would_take_another_engine_forever_takes_this_one_no_time(tmp_path):
    mapping = "[columns]\nactor = \"a\"\n[line]\npattern = '(?P<a>(x+x+)+)y (?P<at>.*) (?P<kind>.*)'\n"
    file = opened(tmp_path, mapping, ("x" * 5_000 + "\n") * 40, "item.log")

    assert read(file, "actor") == []
    assert file.report.bad[0].count == 40


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[line]\npattern = '(?P<a>x'\n", "m: [line] pattern cannot be followed: unclosed group"),
        ("[line]\npattern = 'a)(?P<b>c'\n", "m: [line] pattern cannot be followed: unopened group"),
        ("[line]\npattern = '(?=x)'\n", None),
        ("[line]\npattern = '(?P<a>\\w{900}{900})'\n", None),
        ("[line]\npattern = '(x)'\n", "m: [line] pattern names no group; write (?P<time>…) for the column time"),
        ("[line]\n", "m: [line] pattern is None; it must be a text of at most 4,000 characters"),
        ("[line]\npattern = '(?P<a>x)'\nother = 'drop'\n", 'm: [line] other is \'drop\'; it must be "bad" or "skip"'),
        (
            "[line]\npattern = '(?P<a>x)'\n[file]\nheader = false\n",
            "m: [file] header and [line] both name the columns; write one of them",
        ),
        ("[where]\na = 5\n", None),
        ("[where]\na = []\n", None),
        ("[where]\na = {no = 'x'}\n", None),
        ("where = 5\n", "m: [where] must be a section: column = value"),
        ("[kinds]\nP = {plus = 'x'}\n", None),
        ("[kinds]\nP = {positive = 'loot.pikup'}\n", None),
        ("[kinds]\nP = {}\n", None),
        ("[kinds]\nP = {positive = 'a'}\n[amount]\nlosses = ['P']\n", None),
        (
            "[columns]\nactor = 'a'\n[kinds]\nP = {positive = 'a'}\n",
            "m: [kinds] goes by the sign of amount; name that column under [columns]",
        ),
        (
            "kind = 'x'\n[columns]\nkind = 'y'\n",
            "m: has its kind twice, as kind and under [columns]; write one of them",
        ),
        ("[join]\nfile = 'x'\n", "m: [join.file] must be a section; name the join, as in [join.char]"),
        ("[join.'a.b']\nfile = 'x'\non = 'y'\n", None),
        ("[join.a]\non = 'y'\n", None),
        ("[join.a]\nfile = 'x'\non = 'y'\ngrows = 1\n", "m: [join.a] grows is 1; it must be true or false"),
        ("[also]\nkind = 'x'\n", "m: also must be sections, each written [[also]]"),
        ("[[also]]\n", "m: [[also]] 1 would be the same event twice; give it a kind, or an actor under columns"),
        ("[[also]]\nkind = 'x'\ncolumns = {seq = 'y'}\n", None),
        ("[[also]]\nkind = 'x'\nopposite = 1\n", "m: [[also]] 1 opposite is 1; it must be true or false"),
        ("[[also]]\nkind = 'x'\n" * 16, "m: has 16 sections [[also]]; a row gives 16 events at most"),
        ("[time]\nyear = 2026\n", None),
        ("[time]\nyear = 2026\nformat = '%Y-%m-%d'\n", None),
        ("[time]\nyear = '2026'\nformat = '%m-%d'\n", "m: [time] year is '2026'; it must be a number such as 2026"),
    ],
)
def test_a_rule_we_cannot_follow_gets_one_line(text, message):
    with pytest.raises(ConfigError) as caught:
        parse_mapping(text, "m")

    assert "\n" not in str(caught.value)
    assert message is None or str(caught.value) == message


def test_every_rule_is_part_of_what_names_a_mapping():
    texts = [
        "",
        'kind = "k"\n',
        '[where]\na = "b"\n',
        '[where]\na = {not = "b"}\n',
        '[kinds]\nP = {positive = "a"}\n',
        '[join.c]\nfile = "x"\non = "y"\n',
        '[[also]]\nkind = "k"\n',
        '[[also]]\nkind = "k"\nopposite = true\n',
        "[line]\npattern = '(?P<a>x)'\n",
        "[time]\nformat = '%m-%d'\nyear = 2026\n",
        "[time]\nformat = '%m-%d'\nyear = 2025\n",
    ]

    assert len({parse_mapping(text, "m").digest for text in texts}) == len(texts)


def test_a_frame_of_any_origin_becomes_events_by_the_same_rules(tmp_path):
    write(tmp_path / "chars.csv", CHARS)
    mapping = parse_mapping(PICKS, "m", tmp_path)
    raw = pl.DataFrame(
        {
            "id": [1, 2],
            "time": pl.Series([1_772_366_400, 1_772_366_401]),
            "char_id": [150_001, 1_002],
            "type": ["P", "M"],
            "amount": [-3, -1],
            "nameid": [501, 909],
            "map": ["prontera", "x"],
        }
    ).with_row_index(ROW)
    tally = Tally("picklog", 0.01)
    convert = Convert(mapping, mapping.clock(), tally, tables=joined(mapping))

    events = convert(raw, tuple(EVENTS.columns))

    assert events.select("actor", "kind", "item", "amount").rows() == [("2000001", "loot.drop", "501", -3.0)]
    assert tally.report().skipped[0].count == 1
    assert set(convert.reads(("zone",))) == {"time", "type", "amount", "map", "char_id"}
    assert set(convert.reads(EVENTS.columns)) == set(raw.columns) - {ROW}


def test_a_log_may_have_a_column_called_row(tmp_path):
    assert read(opened(tmp_path, '[columns]\nactor = "row"\n', "row,at,kind\nann,1700000000,k\n"), "actor") == [
        ("ann",)
    ]


@given(st.data())
def test_every_row_is_kept_left_out_on_purpose_bad_or_a_duplicate(data):
    cell = st.sampled_from(["", "1", "2", "x", "NULL", "-3"])
    rows = data.draw(st.lists(st.tuples(cell, cell, cell), max_size=12))
    raw = pl.DataFrame(rows, schema=["who", "to", "n"], orient="row", infer_schema_length=None).cast(pl.String)
    raw = raw.with_columns(pl.lit("1700000000").alias("at"), pl.lit("T").alias("kind")).with_row_index(ROW)
    where = data.draw(st.sampled_from(["", '[where]\nn = "1"\n', '[where]\nwho = {not = ["", "x"]}\n']))
    also = data.draw(st.sampled_from(["", '[[also]]\ncolumns = {actor = "to"}\nopposite = true\n']))
    mapping = parse_mapping('[columns]\nactor = "who"\namount = "n"\n' + where + also, "m")
    tally = Tally("t", 1.0)

    events = Convert(mapping, mapping.clock(), tally, number_rows=True)(raw, tuple(EVENTS.columns))

    assert tally.rows == events.height + tally.bad + tally.skipped
    assert events["seq"].is_unique().all()
    assert events["seq"].is_sorted()


def test_the_reference_shows_a_mapping_that_can_be_followed_and_these_limits():
    page = (DOCS / "reading.md").read_text()
    shown = [parse_mapping(block, "docs/reading.md") for block in re.findall("```toml\n(.*?)```", page, re.DOTALL)]

    assert any(one.joins and one.also and one.where for one in shown)
    assert f"up to {MOST_SIDES - 1} of them" in page
    assert f"at most {LONGEST_PATTERN:,} characters, a line {LONGEST_LINE >> 10} KiB" in page
    assert f"first {FIRST_ROWS:,} rows" in page
    assert "has eight steps at most" in page
    assert DEEPEST == 8


def test_the_how_to_reads_the_logs_that_it_shows(tmp_path):
    page = (DOCS / "how-to" / "read-your-own-log.md").read_text()
    told = [dict(part.partition("\n")[::2] for part in section.split("```")[1::2]) for section in page.split("\n## ")]
    examples = [blocks for blocks in told if "log" in blocks]

    assert len(examples) >= 3
    for blocks in examples:
        if "csv" in blocks:
            write(tmp_path / "chars.csv", blocks["csv"])
        file = opened(tmp_path, blocks["toml"], blocks["log"], "log", max_bad_share=0)

        rows = read(file, "kind")

        assert len(rows) >= 2
        assert {kind for (kind,) in rows} <= {*RESERVED_KINDS}
        assert not file.report.nulled


@pytest.mark.parametrize("name", ["log.csv", "log.jsonl", "log.parquet"])
def test_rows_of_which_the_place_says_all_are_counted_all_the_same(tmp_path, name):
    path, rows = tmp_path / name, pl.DataFrame({"nr": [1, 2, 3]})
    writers = {"csv": rows.write_csv, "jsonl": rows.write_ndjson, "parquet": rows.write_parquet}
    writers[name.partition(".")[2]](path)
    placed = {"actor": "ann", "at": "2026-03-01"}

    file = EventFile(path, parse_mapping('kind = "move"\n', "m"), time_zone="UTC", partitions=placed)

    assert read(file, "actor", "kind") == [("ann", "move")] * 3
