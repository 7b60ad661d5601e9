"""What game clients say: packetstreams, and the tables that say what a message means."""

import ragnarok_bytes as ro
from fuzz import values
from fuzz.case import Case, command, perhaps, shown
from fuzz.kit import Kit
from fuzz.mutate import Dice, chance, csv_text, pack, spoil_bytes, spoil_rows

_START = 1_300_000_000_000_000
_MESSAGES = (
    ro.connect,
    ro.loaded,
    ro.face,
    ro.tick,
    ro.take,
    lambda: ro.walk(100, 120),
    lambda: ro.action(7),
    lambda: ro.action(0),
    lambda: ro.offer(5, 0),
    ro.whisper,
    lambda: b"\x16\x02" + bytes(4),
)
_FUNCTIONS = (
    "walktoxy",
    "wanttoconnection",
    "actionrequest",
    "takeitem",
    "changedir",
    "ticksend",
    "wis",
    "tradeadditem",
    "x",
    "",
)


def said(dice: Dice) -> bytes:
    """A session as a client's packetstream."""
    if chance(dice, 0.05):
        return ro.DUMP
    moments, out = _START, [ro.tag(_START), ro.connect(), ro.tag(_START), ro.loaded()]
    for _ in range(dice.choice((0, 2, 10, 40))):
        moments += dice.choice((0, 1000, 300_000, 800_000, 9_000_000, -5_000_000, 10**14))
        out += [ro.tag(moments % 2**52), dice.choice(_MESSAGES)()]
    return b"".join(out)


def stream(dice: Dice, _kit: Kit) -> Case:
    """A packetstream."""
    data = said(dice)
    if chance(dice, 0.8):
        data = spoil_bytes(data, dice, values.WORDS["client"])
    files = {"one.adam": pack(data, dice) if chance(dice, 0.06) else data}
    asked = command(
        dice,
        (45, "packets one.adam --summary"),
        (15, "packets one.adam"),
        (15, "measure session one.adam"),
        (15, "read one.adam --to lake --as ragnarok"),
        (2, "score one.adam --models {kit}/shelf"),
        (2, "explain 2000002 one.adam --models {kit}/shelf --detector session-angle"),
    )
    asked += perhaps(dice, 0.15, "--strict")
    if asked[0] == "packets" and chance(dice, 0.15):
        rows = [{"character": "150002", "name": "someone"}] * dice.choice((0, 1, 2))
        files["names.csv"] = csv_text(spoil_rows(rows, dice), dice).encode("utf-8", "surrogatepass")
        asked += ["--names", "names.csv"]
    return Case([*asked, *(shown(dice) if "session" in asked else [])], files)


def table(dice: Dice, _kit: Kit) -> Case:
    """A table of messages, by itself or beneath a stream."""
    data = "\n".join(_line(dice) for _ in range(dice.choice((0, 1, 5, 20)))).encode("utf-8", "surrogatepass") + b"\n"
    if chance(dice, 0.6):
        data = spoil_bytes(data, dice, values.WORDS["message-table"])
    files = {"packet_db.txt": pack(data, dice) if chance(dice, 0.06) else data}
    asked = command(dice, (60, "packets packet_db.txt"), (30, "packets one.adam --packet-db packet_db.txt --summary"))
    if "one.adam" in asked:
        files["one.adam"] = said(dice)
        asked += perhaps(dice, 0.2, "--packet-version", dice.choice(("5", "0", "-1", "999999999999")))
        return Case(asked, files)
    return Case([*asked, *perhaps(dice, 0.2, "--version", dice.choice(("5", "7", "0", "-1"))), *shown(dice)], files)


def _line(dice: Dice) -> str:
    match dice.randrange(10):
        case 0:
            return f"packet_ver: {dice.choice((5, 7, 9, 0, 10**12))}"
        case 1:
            return dice.choice(
                ("// 0x0001,9,ghost,2", "packet_keys: 0x1,0x2,0x3", "packet_db_ver: default", "", "import: x")
            )
    number = dice.choice(
        ("0x0072", "0x0085", "0x00a7", "0x0096", "0x009b", "0x0190", "0x0000", "0xffff", "0x10000", "72", "0xzz")
    )
    size = dice.choice((2, 8, 19, 26, -1, 0, 1, 65_535, 65_536, "x", ""))
    places = ":".join(
        str(dice.choice((0, 2, 5, 6, 10, 14, 18, 65_535, -1, "x"))) for _ in range(dice.choice((0, 1, 2, 5, 70)))
    )
    return ",".join(map(str, (number, size, dice.choice(_FUNCTIONS), places)))
