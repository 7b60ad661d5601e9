"""Message tables in C headers of today's servers: by client date and kind, without a compiler."""

import time

import pytest

from gamewarden.errors import ConfigError, ReadError
from gamewarden.readers.ragnarok.headers.table import looks_like_header, parse_headers
from gamewarden.readers.ragnarok.message_table import DYNAMIC, Entry
from gamewarden.readers.ragnarok.messages import is_message_table, message_table
from gamewarden.readers.ragnarok.table_files import read_packet_db

TABLE = """\
#ifndef A_TABLE_HPP
#define A_TABLE_HPP
#define packet(cmd,length) add(cmd,length,nullptr,0)
    packet(0x0064,55);
    packet(0x0065,17); // packet(0x0001,9);
    /* packet(0x0002,9);
       packet(0x0003,9); */
    parseable_packet(0x0072,19,clif_parse_WantToConnection,2,6,10,14,18);
    parseable_packet(0x0085,5,clif_parse_WalkToXY,2);
    parseable_packet(0x0096,-1,clif_parse_WisMessage,2,4,28);
    parseable_packet( HEADER_CZ_TALK, sizeof( struct PACKET_CZ_TALK ), clif_parse_NpcClicked, 0 );
#if PACKETVER >= 20100000 && \\
    PACKETVER < 20200000
    packet(0x0065,18);
  #ifdef PACKETVER_RE
    packet(0x0066,7);
  #elif PACKETVER_ZERO_NUM >= 20150101 || defined(PACKETVER_SAK)
    packet(0x0066,8);
  #else
    packet(0x0066,9);
  #endif
#endif
#if !defined(PACKETVER_RE) && (PACKETVER_MAIN_NUM >= 20190227 || 0)
    packet(0x0067,(1 + 2) * 4);
#endif
#endif
"""
SHUFFLE = """\
#if PACKETVER == 20130515
    parseable_packet(0x0360,5,clif_parse_WalkToXY,2);
#elif PACKETVER == 20180307 || PACKETVER == 20180314
    parseable_packet(0x0363,5,clif_parse_WalkToXY,2);
#elif PACKETVER > 20180314
    parseable_packet(0x035f,5,clif_parse_WalkToXY,2);
#endif
"""
STRUCTS = """\
#include "lengths.hpp"
enum ids : int { first = 0x70, second, third = second + 4, };
#pragma pack( push, 1 )
struct PACKET_CZ_sub { uint32 unit; uint8 flags[2]; };
struct PACKET_CZ_TALK {
    int16 packetType;
#if PACKETVER >= 20180000
    uint32 AID;
#else
    uint16 old[3];
    uint32 AID;
#endif
    unsigned char type;
};
#pragma pack( pop )
DEFINE_PACKET_HEADER(CZ_TALK, 0x0090)
struct PACKET_CZ_LONG {
    int16 packetType;
    char name[NAME_LENGTH];
    struct PACKET_CZ_sub items[MAX_ITEMS];
    struct { int64 price; bool on; } prices[2];
    UNUSED;
    char rest[];
} __attribute__((packed));
const int16 HEADER_LONG = 0x99;
"""
LENGTHS = "#define NAME_LENGTH (23 + 1)\n#define MAX_ITEMS 1+2\n#define UNUSED int8 nothing\n"
HERCULES = """\
#define MAP_PACKETS_SHUFFLE_RE_H
packet(0x0085,clif->pWalkToXY,2);
packet(0x0089,clif->pActionRequest,2,6);
packet(0x0064);
#if PACKETVER >= 20180307
    packet(0x0085,clif->pDull);
    packet(0x0363,clif->pWalkToXY,2);
#endif
"""
SIZES = "#define COMMON_LEN_RE_H\npacketLen(0x0064, 55)\npacketLen(0x0085, 5)\npacketLen(0x0363, 5)\n"


def table(*texts, date=20180307, client="main"):
    return parse_headers({f"{number}.hpp": text for number, text in enumerate(texts)}, date, client)


def lengths(db):
    return {entry.id: entry.length for entry in db.entries.values()}


def written(tmp_path, **texts):
    paths = [tmp_path / name for name in texts]
    for path, text in zip(paths, texts.values(), strict=True):
        path.write_text(text)
    return paths


def test_only_lines_whose_conditions_hold_for_the_date_count():
    assert lengths(table(TABLE, date=20080527)) == {0x64: 55, 0x65: 17, 0x72: 19, 0x85: 5, 0x96: DYNAMIC}
    assert lengths(table(TABLE, date=20180307)) == {0x64: 55, 0x65: 18, 0x66: 9, 0x72: 19, 0x85: 5, 0x96: DYNAMIC}
    assert table(TABLE, date=20200401).entries[0x67].length == 12


@pytest.mark.parametrize(("client", "length"), [("main", 9), ("re", 7), ("zero", 8), ("sak", 8), ("ad", 9)])
def test_the_kind_of_client_decides_where_headers_ask_for_it(client, length):
    assert table(TABLE, client=client).entries[0x66].length == length


@pytest.mark.parametrize(("date", "walk"), [(20130515, 0x360), (20180307, 0x363), (20180314, 0x363), (20211103, 0x35F)])
def test_ids_move_with_the_client_date(date, walk):
    db = table(TABLE, SHUFFLE, date=date)

    assert [entry.id for entry in db.of("WalkToXY")] == [0x85, walk]
    assert db.entries[walk].fields == {"place": 2}


def test_a_date_between_those_whose_ids_move_is_told():
    assert any("(nearest: 20130515 and 20180307)" in line for line in table(TABLE, SHUFFLE, date=20150101).lines())
    assert not any("nearest" in line for line in table(TABLE, SHUFFLE, date=20180307).lines())
    assert not any("nearest" in line for line in table(TABLE, SHUFFLE, date=20200101).lines())


def test_functions_and_positions_are_those_of_older_tables():
    db = table(TABLE)

    assert db.entries[0x72] == Entry(0x72, 19, "wanttoconnection", (2, 6, 10, 14, 18), 20180307)
    assert db.entries[0x96].function == "wis"
    assert (db.versions, db.upto) == ((20180307,), 20180307)


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 0, 2)])
def test_names_and_structs_are_found_in_any_header_whatever_their_order(order):
    lines = "packet(HEADER_LONG, sizeof(struct PACKET_CZ_LONG))\n#ifdef MAX_ITEMS\npacket(third, 2)\n#endif\n"
    files = [("0.hpp", TABLE + lines), ("1.hpp", STRUCTS), ("lengths.hpp", LENGTHS)]

    db = parse_headers(dict(files[place] for place in order), 20180307, "main")

    assert db.entries[0x99].length == 2 + 24 + 3 * 6 + 2 * 9 + 1
    assert db.entries[0x75].length == 2
    assert (db.entries[0x90].length, db.entries[0x90].function) == (7, "npcclicked")
    assert not any("defines" in line for line in db.lines())


def test_the_fields_of_a_struct_say_where_parts_begin():
    assert table(TABLE, STRUCTS).entries[0x90].fields == {"target": 2}
    assert table(TABLE, STRUCTS, date=20170101).entries[0x90].fields == {"target": 8}
    two = STRUCTS.replace("unsigned char type", "uint32 GID")
    assert table(TABLE, two).entries[0x90].positions == (0,)


def test_what_no_header_defines_is_named_and_does_not_count():
    db = table(TABLE + "packet(0x0064, sizeof(PACKET_ZC_GONE))\npacket(0x0068, SOME_LENGTH)\n")

    assert 0x0064 not in db.entries, "the line that would replace its length is not understood"
    assert (
        "3 lines do not count, since no header given defines HEADER_CZ_TALK, SOME_LENGTH, sizeof PACKET_ZC_GONE"
        in db.lines()
    )
    assert "3 lines do not count" in db.advice


@pytest.mark.parametrize(
    ("struct", "seen"),
    [
        ("struct X { int16 a; uint8 b : 3; } __attribute__((packed));", "has a field ': 3'"),
        ("struct X { int16 a; char *b; } __attribute__((packed));", "has a field"),
        ("struct X { int16 a; int32 b; };", "sizeof X, which is not packed"),
        ("struct X { struct X x; } __attribute__((packed));", "sizeof X, which has no end"),
        ("struct X { char a[1 << 40]; } __attribute__((packed));", "larger than any message"),
        ("struct X { char a[-1]; } __attribute__((packed));", "larger than any message"),
        ("struct X { char a[N]; } __attribute__((packed));\nconst int16 N = N + 1;", "N, which has no end"),
        ("", "sizeof X"),
    ],
)
def test_a_struct_that_is_not_understood_has_no_length(struct, seen):
    db = table(f"{struct}\n#define NOTHING\npacket(0x0064, 2)\npacket(0x0065, sizeof(struct X))\n")

    assert list(db.entries) == [0x64]
    assert any(seen in line for line in db.lines())


def test_hercules_has_its_functions_and_its_lengths_in_two_files():
    db = table(HERCULES, SIZES, client=None)

    assert db.entries[0x85] == Entry(0x85, 5, "dull", (), 20180307)
    assert db.entries[0x363] == Entry(0x363, 5, "walktoxy", (2,), 20180307)
    assert db.entries[0x89].length == 0, "the server refuses an id without a length"
    assert "of re clients of 20180307, as the files say" in db.lines()


def test_functions_without_lengths_are_no_table():
    with pytest.raises(ReadError, match=r"says nothing of lengths; give Hercules' src/common/packets/"):
        table(HERCULES, client="re")


def test_files_of_another_kind_of_client_are_refused():
    with pytest.raises(ConfigError, match="is of re clients, not of main ones"):
        table(HERCULES, SIZES)
    with pytest.raises(ConfigError, match="is of re and zero clients; give the files of one kind"):
        table(HERCULES, "#define PACKETS_LEN_ZERO_H\npacketLen(0x0064, 55)\n", client=None)


@pytest.mark.parametrize(
    ("date", "client"), [(20151104, "main"), (20151105, "re"), (20180704, "main"), (20211103, "re"), (20220406, "main")]
)
def test_unless_told_the_kind_of_client_is_what_the_server_takes_for_the_date(date, client):
    db = table(TABLE, date=date, client=None)

    assert any(line.startswith(f"of {client} clients of {date}, as rAthena has it") for line in db.lines())


def test_no_header_changes_what_client_was_asked_for():
    settings = (
        "#ifndef PACKETVER\n#define PACKETVER 20080527\n#endif\n#define PACKETVER_RE\n#undef PACKETVER_MAIN_NUM\n"
    )

    assert lengths(table(settings + TABLE)) == lengths(table(TABLE))


@pytest.mark.parametrize("version", [None, 22, 2018, 20180307000])
def test_a_header_needs_the_date_of_a_client(version):
    with pytest.raises(ConfigError, match="YYYYMMDD"):
        table(TABLE, date=version)


def test_keys_of_the_date_are_told_since_ids_are_hidden_then():
    keys = "#if PACKETVER == 20180307\npacket_keys(0x11,0x22,0x33);\n#else\npacket_keys(0,0,0);\n#endif\n"

    hidden, plain = table(TABLE, keys), table(TABLE, keys, date=20180621)

    assert any("hide the ids" in line for line in hidden.lines())
    assert "behind keys" in hidden.advice
    assert hidden.report.other == 1
    assert not any("hide the ids" in line for line in plain.lines())
    assert "keys" not in plain.advice


def test_conditions_that_ask_for_what_nobody_defines_are_told_except_checks():
    asked = "#if MAX_BAG > 100\npacket(0x0064,55)\n#else\npacket(0x0064,56)\n#endif\n"

    decided = "#if !defined(__NETBSD__) || NETBSD_VERSION > 6\n#define FAST\n#endif\n"

    db = table(asked + decided + "#if LIMIT > MAX\n#error too much\n#endif\n")

    assert lengths(db) == {0x64: 56}
    assert any("conditions ask for MAX_BAG, which no header given defines" in line for line in db.lines())


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        (
            "#if TAKES(1)\npacket(0x0065,3)\n#endif\n#define TAKES(x) x\n",
            "could not be decided count as false: TAKES(1)",
        ),
        ("#if 1 +\npacket(0x0065,3)\n#endif\n", "could not be decided count as false: 1 +"),
        ("#if 0\npacket(0x0065,3)\n", "conditions do not end where they should in 0.hpp"),
        ("#endif\n", "conditions do not end where they should in 0.hpp"),
        ("packet(0x0065,3", "1 bracket not closed"),
        ("packet(0x10000,3)", "'packet(0x10000, 3)' has an id that no message has"),
        ("packet(0x0000,3)", "has an id that no message has"),
        ("packet(0x0065,65536)", "has a length that no message has"),
        ("parseable_packet(0x0065,4,clif_parse_X,-1)", "has positions that no message has"),
        ("parseable_packet(0x0065)", "has no length"),
        ("packet(0x0065,1 << 64)", "a shift by 64"),
        ("packet(0x0065,1 / 0)", "a division by zero"),
        ("packet(0x0065,0x7fffffffffffffff * 2)", "a number beyond 64 bits"),
        ("packet(0x0065,09)", "'09'"),
    ],
)
def test_what_cannot_be_read_is_told_and_the_rest_is_read(text, seen):
    db = table("packet(0x0064,55)\n" + text)

    assert db.entries[0x64].length == 55
    assert any(seen in line for line in db.lines()), db.lines()


def _doubling(count):
    macros = "".join(f"#define X{number} X{number + 1} X{number + 1}\n" for number in range(count))
    return f"{macros}#define X{count}\n"


HOSTILE = {
    "conditions": "#if 1\n" * 100_000,
    "calls": "packet(" * 200_000,
    "structs": "struct a {" * 100_000,
    "enums": "enum " * 200_000,
    "constants": "const a b = " * 100_000,
    "brackets": "packet(" + "(" * 200_000,
    "signs": "#if " + "!" * 200_000 + "1\n",
    "comments": "/*" * 500_000,
    "quotes": '\\"' * 500_000,
    "continued": "a\\\n" * 300_000,
    "doubling": _doubling(60) + "packet(X0,1)\n" * 100_000,
    "circle": "#define A B\n#define B A\npacket(A,2)\n",
    "chain": "".join(f"const int16 c{n} = {'1||1&&1|1^1&1==1<1<<1+1*(' * 2}c{n + 1}));\n" for n in range(99))
    + "packet(c0,1)\n",
    "nested": "".join(f"struct S{n} {{ struct S{n + 1} x[9]; }} __attribute__((packed));\n" for n in range(99))
    + "packet(0x0065,sizeof(struct S0))\n",
    "unnamed": f"struct S {{ {'struct { ' * 5_000}{'} x;' * 5_000}}} __attribute__((packed));\npacket(101,sizeof(S))",
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_a_hostile_header_ends_soon_and_in_words_of_ours(text):
    began = time.process_time()

    try:
        found = list(table("packet(0x0064,55)\n" + text).entries)
    except ReadError:
        found = [0x64]

    assert found == [0x64]
    assert time.process_time() - began < 20


def test_files_are_told_by_their_content(tmp_path):
    header, keys, text = written(
        tmp_path, table=TABLE, keys="#if 1\n packet_keys(1,2,3);\n#endif\n", packet_db="packet_ver: 5\n0x0064,56\n"
    )

    assert all(is_message_table(path) for path in (header, keys, text))
    assert looks_like_header(b"// a comment\n # if X\n")
    assert not looks_like_header(b"0x0064,55\n")
    assert read_packet_db([header, text], 20180307).entries[0x64].length == 56
    assert read_packet_db([text, header], 20180307).entries[0x64].length == 55
    assert read_packet_db([keys, header], 20180307, "re").entries[0x66].length == 7


def test_a_kind_of_client_is_only_asked_of_headers(tmp_path):
    (text,) = written(tmp_path, packet_db="0x0064,56\n")

    with pytest.raises(ConfigError, match="re cannot be chosen"):
        read_packet_db(text, None, "re")
    with pytest.raises(ConfigError, match="name it with --packet-db"):
        message_table(None, None, "re")


def test_a_header_larger_than_any_is_refused(tmp_path):
    (path,) = written(tmp_path, huge="#define A\n" + "packet(0x0064,55)\n" * 240_000)

    with pytest.raises(ReadError, match="is larger than 4 MiB"):
        read_packet_db(path, 20180307)


def test_headers_that_name_no_packet_are_no_table():
    with pytest.raises(ReadError, match="names no packet"):
        table(STRUCTS)
