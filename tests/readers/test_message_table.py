"""Message tables: what each line means, and which of them count."""

import gzip
import os
from pathlib import Path

import pytest

from gamewarden.errors import ConfigError, ReadError
from gamewarden.readers.ragnarok.message_table import (
    DYNAMIC,
    Entry,
    looks_like_packet_table,
    parse_packet_db,
)
from gamewarden.readers.ragnarok.table_files import read_packet_db
from gamewarden.readers.ragnarok.thesis_profile import thesis_profile
from message_table_text import TEXT

DATA = os.environ.get("GAMEWARDEN_DATA")
TABLES = Path(DATA or ".") / "ragnarok"
real = pytest.mark.skipif(not DATA, reason="GAMEWARDEN_DATA is not set: the real message tables are not here")


def parse(text, version=None):
    return parse_packet_db(text.splitlines(), "made up", version)


def test_later_lines_win_over_earlier_ones():
    db = parse(TEXT)

    assert db.entries[0x0085] == Entry(0x0085, 11, "changedir", (7, 10), 7)
    assert db.entries[0x00A7] == Entry(0x00A7, 11, "walktoxy", (8,), 9)
    assert (db.versions, db.upto) == ((5, 7, 9), 9)


@pytest.mark.parametrize(("version", "walk"), [(5, (0x0085, 2)), (7, (0x00A7, 5)), (8, (0x00A7, 5)), (9, (0x00A7, 8))])
def test_a_function_is_found_where_the_chosen_version_has_it(version, walk):
    (entry,) = parse(TEXT, version).of("WalkToXY")

    assert (entry.id, entry.fields["place"]) == walk


def test_comments_settings_and_packets_in_comments_are_no_packets():
    db = parse(TEXT)

    assert 0x0001 not in db.entries
    assert (db.report.entries, db.report.handlers, db.report.other, db.report.comments) == (8, 6, 2, 2)


def test_lengths_of_zero_and_minus_one_are_kept_as_they_are():
    db = parse(TEXT)

    assert db.entries[0x0216].length == 0
    assert db.entries[0x0096].length == DYNAMIC
    assert db.entries[0x0096].function == "wis"  # under its older name


def test_a_line_that_cannot_be_read_is_counted_with_its_first_example():
    db = parse("0x0064,55\n0x0065\n0x10000,4\n0x0066,70000\n0x0067,-2\n0xzz,4\n0x0068,4,f,99999\n")

    assert list(db.entries) == [0x0064]
    assert db.report.bad == 6
    assert "line 2: '0x0065'" in db.lines()[-1]


def test_id_0_is_no_message_and_its_lines_are_counted():
    db = parse("0x0000,10\n0x0064,55\n0x0000,4,walktoxy,2\n")

    assert list(db.entries) == [0x0064]
    assert (db.report.entries, db.report.bad) == (1, 0)
    assert db.lines()[-1] == "2 lines are of id 0, which no message has, and do not count (first: line 1)"


EMPTY = "// Add your own packets here; they count over those of db/packet_db.txt\n\n"


def stack(tmp_path, *texts):
    paths = [tmp_path / f"table {number}" for number in range(len(texts))]
    for path, text in zip(paths, texts, strict=True):
        path.write_text(text)
    return paths


def test_of_tables_on_top_of_each_other_the_later_line_counts(tmp_path):
    db = read_packet_db(stack(tmp_path, TEXT, "0x00a7,20,walktoxy,17\n0x0999,4\n"))

    assert db.entries[0x00A7] == Entry(0x00A7, 20, "walktoxy", (17,), None)
    assert 0x0999 in db.entries
    assert db.entries[0x0085] == parse(TEXT).entries[0x0085]
    assert (db.versions, db.upto) == ((5, 7, 9), 9)
    assert db.name == f"{tmp_path / 'table 0'} with {tmp_path / 'table 1'}"
    assert db.report.entries == 10


def test_a_version_is_that_of_each_table_of_a_stack(tmp_path):
    over = "packet_ver: 8\n0x00a7,20,walktoxy,17\npacket_ver: 12\n0x00a7,30,walktoxy,27\n"
    paths = stack(tmp_path, TEXT, over)

    assert [read_packet_db(paths, version).entries[0x00A7].length for version in (7, 8, 9, 12)] == [8, 20, 20, 30]
    with pytest.raises(ConfigError, match="none up to 3"):
        read_packet_db(paths, 3)


def test_an_empty_table_changes_nothing_on_top_of_another_and_says_what_it_is_alone(tmp_path):
    whole, empty, blank = stack(tmp_path, TEXT, EMPTY, "")

    assert read_packet_db([whole, empty, blank]).entries == read_packet_db(whole).entries
    for alone in (empty, blank, [empty, blank]):
        with pytest.raises(ReadError, match=r"empty message table.*on top of a whole one"):
            read_packet_db(alone)


def test_what_is_no_table_is_not_taken_for_an_empty_one(tmp_path):
    paths = stack(tmp_path, TEXT, "Dear diary,\ntoday the server was down.\n")

    with pytest.raises(ReadError, match="table 1: names no packet"):
        read_packet_db(paths)


def test_each_line_of_a_table_is_read_once():
    class Lines:
        def __init__(self, count):
            self.given, self._count = 0, count

        def __iter__(self):
            for number in range(self._count):
                self.given += 1
                yield f"0x{number % 65_535 + 1:04x},4,walktoxy,2"

    lines = Lines(40_000)
    parse_packet_db(lines, "made up")

    assert lines.given == 40_000


def test_position_zero_means_that_the_table_does_not_say():
    db = parse("0x0085,11,changedir,0\n0x00e8,8,TradeAddItem,0\n")

    assert db.entries[0x0085].fields == {}
    assert db.entries[0x00E8].fields == {"item": 2, "amount": 4}  # a layout that never moved


@pytest.mark.parametrize(
    ("text", "version", "says"),
    [
        ("packet_ver: 5\n0x0064,55\n", 4, "versions 5 to 5, none up to 4"),
        ("0x0064,55\n", 5, "has no versions"),
    ],
    ids=["too low", "no versions"],
)
def test_a_version_the_table_does_not_have_is_refused(text, version, says):
    with pytest.raises(ConfigError, match=says):
        parse(text, version)


@pytest.mark.parametrize("text", ["", "actor,at,kind\n", "packet_ver: 5\n// nothing\n"], ids=["empty", "csv", "blank"])
def test_a_file_that_names_no_packet_is_refused(text):
    with pytest.raises(ReadError, match="names no packet"):
        parse(text)


def test_a_table_is_read_packed_and_with_a_byte_order_mark(tmp_path):
    path = tmp_path / "table"
    path.write_bytes(gzip.compress(b"\xef\xbb\xbf0x0064,55\r\n0x0065,17\r\n"))

    assert list(read_packet_db(path).entries) == [0x0064, 0x0065]


def test_tables_and_streams_are_told_apart_by_their_content():
    assert looks_like_packet_table(TEXT.encode())
    assert looks_like_packet_table(b"// a comment\n\n0x0064,55\n")
    assert not looks_like_packet_table(b"ADAM\0\0\0\0\0\0\0\0\x9b\0")
    assert not looks_like_packet_table(b"actor,at,kind\n1,2,3\n")
    assert not looks_like_packet_table(b"")


def test_the_built_in_profile_has_the_packets_the_thesis_uses():
    db = thesis_profile()

    assert db.entries[0x009B].fields == {"account": 4, "character": 9, "login": 17, "tick": 21, "sex": 25}
    assert db.entries[0x00A7].fields == {"place": 5}
    assert db.entries[0x00F5].fields == {"target": 4}
    assert db.entries[0x0190].fields == {"target": 5, "action": 18}
    assert {0x0094: 14, 0x00F7: 22, 0x00E8: 8, 0x00EF: 2}.items() <= {
        identity: entry.length for identity, entry in db.entries.items()
    }.items()


# Counted in the files themselves, not by the reader:
#   grep -c '^0x' FILE; grep -cE '^0x[0-9a-fA-F]+,-?[0-9]+,[A-Za-z]' FILE; grep -c '^packet_ver:' FILE
#   sed 's#//.*##' FILE | tr -d ' \t' | perl -F, -ane 'next unless /^0x/; $id = hex $F[0]; $len{$id} = $F[1] + 0;
#     $f{$id} = @F > 2; END { for (keys %len) { $ids++; $functions += $f{$_}; $dynamic += $len{$_} == -1;
#     $unused += $len{$_} == 0 } print "$ids $functions $dynamic $unused\n" }'
COUNTED = {
    "packet_db_eathena_2008-06-11.txt": {
        "lines": 1037,
        "handlers": 409,
        "versions": 18,
        "ids": 751,
        "functions": 161,
        "dynamic": 210,
        "unused": 6,
    },
    "packet_db_rathena_2017.txt": {
        "lines": 2059,
        "handlers": 1199,
        "versions": 48,
        "ids": 1217,
        "functions": 426,
        "dynamic": 342,
        "unused": 0,
    },
    "rig/packet_table_20080527.txt": {
        "lines": 557,
        "handlers": 173,
        "versions": 0,
        "ids": 557,
        "functions": 173,
        "dynamic": 183,
        "unused": 0,
    },
}


@real
@pytest.mark.parametrize("name", COUNTED)
def test_the_real_tables_have_as_many_lines_versions_and_ids_as_grep_counts(name):
    db = read_packet_db(TABLES / name)
    final = db.entries.values()

    assert db.report.bad == 0
    assert {
        "lines": db.report.entries,
        "handlers": db.report.handlers,
        "versions": len(db.versions),
        "ids": len(db.entries),
        "functions": sum(entry.function is not None for entry in final),
        "dynamic": sum(entry.length == DYNAMIC for entry in final),
        "unused": sum(entry.length == 0 for entry in final),
    } == COUNTED[name]


@real
def test_the_table_of_2008_ends_with_the_places_the_thesis_read():
    db = read_packet_db(TABLES / "packet_db_eathena_2008-06-11.txt")
    thesis = thesis_profile()

    for function in ("walktoxy", "takeitem", "actionrequest", "changedir", "loadendack", "ticksend", "movetokafra"):
        (theirs,), (ours,) = db.of(function), thesis.of(function)
        assert (theirs.id, theirs.length, theirs.fields) == (ours.id, ours.length, ours.fields)
    unused = [identity for identity, entry in db.entries.items() if entry.length == 0]
    assert unused == [0x02A0, 0x02A1, 0x02A3, 0x02A4, 0x02BF, 0x02C0]


@real
@pytest.mark.parametrize(("version", "walk"), [(5, (0x85, 5, 2)), (19, (0xA7, 11, 8)), (22, (0xA7, 8, 5))])
def test_the_walk_is_where_each_version_of_the_real_table_has_it(version, walk):
    (entry,) = read_packet_db(TABLES / "packet_db_eathena_2008-06-11.txt", version).of("walktoxy")

    assert (entry.id, entry.length, entry.fields["place"]) == walk
