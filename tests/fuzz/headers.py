"""C headers of today's servers, which hold message tables of all client dates."""

from fuzz import values
from fuzz.case import Case, perhaps, shown
from fuzz.clients import said
from fuzz.kit import Kit
from fuzz.mutate import Dice, chance, spoil_bytes

_NAMES = ("A", "B", "HEADER_CZ_X", "PACKET_CZ_X", "PACKETVER", "PACKETVER_RE", "NAME_LENGTH", "packet", "x")
_NUMBERS = ("0x0072", "0x0085", "2", "-1", "19", "0", "(1 + 2)", "1 << 70", "1/0", "0x10000", "A", "B", "A(2)", "09")
_SIZES = ("6", "5", "-1", "A", "sizeof(struct PACKET_CZ_X)", "sizeof( PACKET_CZ_Y )", "sizeof(", "")
_FIELDS = ("uint32 AID", "char n[A]", "char n[]", "struct { int8 b; } c[2]", "int8 a : 3", "struct PACKET_CZ_X x", "")
_LINES = (
    "#if PACKETVER >= {date}",
    "#if {name} == {number} || defined(B)",
    "#if {number} {name}",
    "#elif PACKETVER == {date}",
    "#else",
    "#endif",
    "#ifdef {name}",
    "#ifndef {name}",
    "#define {name} {number}",
    "#define {name}(x) {number}",
    "#undef {name}",
    '#include "b.hpp"',
    "#pragma pack(push, 1)",
    "/* {number}",
    "packet({number}, \\",
    "struct PACKET_CZ_X {{ int16 packetType; {field}; }} __attribute__((packed));",
    "struct PACKET_CZ_Y {{ int16 packetType; {field}; {field}; }};",
    "enum x {{ A, B = {number}, C }};",
    "const int16 {name} = {number};",
    "DEFINE_PACKET_HEADER(CZ_X, {number})",
    "packet_keys({number},{number},1);",
    "packetLen({number}, {size})",
    "packet({number}, clif->pWalkToXY, {number});",
    "packet({number}, {size});",
    "parseable_packet({number},{size},clif_parse_WalkToXY,{number});",
    "parseable_packet(HEADER_CZ_X,sizeof(PACKET_CZ_X),clif_parse_NpcClicked,0);",
    "parseable_packet(0x009b,26,clif_parse_WantToConnection,4,9,17,21,25);",
)
_DATES = (*("20180307", "20080527", "20211103", "20180308") * 4, "5", "-1", "999999999999")
_SURE = "packet(0x0064, 55);"


def header(dice: Dice, _kit: Kit) -> Case:
    """Headers of a server, by themselves or beneath a stream."""
    names = ("a.hpp", "b.hpp", "c.h")[: dice.choice((1, 2, 3))]
    files = {name: _text(dice).encode() for name in names}
    if chance(dice, 0.5):
        files = {name: spoil_bytes(data, dice, values.WORDS["message-header"]) for name, data in files.items()}
    client = perhaps(dice, 0.4, "--packet-client", dice.choice(("main", "re", "zero", "sak", "ad", "x")))
    date = dice.choice(_DATES)
    if chance(dice, 0.7):
        return Case(["packets", *names, *perhaps(dice, 0.95, "--version", date), *client, *shown(dice)], files)
    tables = [word for name in names for word in ("--packet-db", name)]
    asked = ["packets", "one.adam", "--summary", *tables, *perhaps(dice, 0.95, "--packet-version", date), *client]
    return Case(asked, {**files, "one.adam": said(dice)})


def _text(dice: Dice) -> str:
    lines = [_line(dice) for _ in range(dice.choice((0, 1, 5, 20, 60)))]
    return (
        "\n".join(["#ifndef A_HPP", *perhaps(dice, 0.8, _SURE), *lines, *["#endif"] * dice.choice((0, 1, 1, 1, 3))])
        + "\n"
    )


def _line(dice: Dice) -> str:
    return dice.choice(_LINES).format(
        name=dice.choice(_NAMES),
        number=dice.choice(_NUMBERS),
        size=dice.choice(_SIZES),
        field=dice.choice(_FIELDS),
        date=dice.choice(_DATES),
    )
