"""Settings and mappings: TOML that people write by hand."""

from fuzz import values
from fuzz.case import Case, command, perhaps
from fuzz.kit import Kit
from fuzz.logs import ACTORS, events, parquet_bytes
from fuzz.mutate import Dice, chance, csv_text, json_rows, odd_text, odd_toml, spoil_bytes, spoil_rows, toml_text
from fuzz.packets import packet_mapping
from gamewarden.config import SECTIONS, settings

_SETTINGS = tuple((section, one.name, one.default) for section, one in settings())
_COLUMNS = ("actor", "at", "kind", "zone", "x", "y", "level", "amount", "item", "character", "seq", "nothing")
_FORMATS = ("auto", "unix", "unix_ms", "iso", "%Y-%m-%d %H:%M:%S.%f", "%s", "%Q", "%", "%Y" * 50, "%z", "%j %U", "")
_ENCODINGS = (
    "utf-8",
    "cp949",
    "utf-16",
    "hex",
    "idna",
    "rot13",
    "utf-7",
    "latin-1",
    "x",
    "\x00",
    "undefined",
    "mbcs",
    "utf_8_sig",
)


def warden(dice: Dice, _kit: Kit) -> Case:
    """A warden.toml."""
    tree: dict[str, dict[str, object]] = {}
    for section, name, default in dice.sample(_SETTINGS, dice.choice((1, 1, 3, 8))):
        tree.setdefault(section, {})[name] = odd_toml(dice) if chance(dice, 0.5) else default
    if chance(dice, 0.1):
        tree.setdefault(dice.choice(tuple(SECTIONS)), {})[odd_text(dice)] = odd_toml(dice)
    if chance(dice, 0.08):
        tree[dice.choice((*SECTIONS, "other", odd_text(dice)))] = odd_toml(dice)
    files = {"warden.toml": _finished(toml_text(tree), dice)}
    asked = command(
        dice,
        (70, "config"),
        (10, "lint {kit}/table.csv"),
        (5, "measure self-similarity {kit}/days.csv"),
        (6, "budget --wrong-per-month 2 --players 100"),
        (3, "measure self-similarity {kit}/lake"),
        (2, "rank {kit}/lake --models {kit}/kept"),
        (2, "maintain --lake {kit}/lake --models {kit}/models --explain"),
    )
    return Case(asked, files)


def mapping(dice: Dice, _kit: Kit) -> Case:
    """A mapping of a log, or of a table of packets."""
    if chance(dice, 0.25):
        packets = b"actor,at,up,size\np,2026-03-01T12:00:00Z,true,5\nq,2026-03-01T12:00:01Z,false,7\n"
        asked = command(dice, (3, "watch p.csv --map map.toml"), (1, "measure traffic p.csv --map map.toml"))
        return Case(asked, {"map.toml": packet_mapping(dice), "p.csv": packets})
    tree = {name: made for name, made in _sections(dice).items() if chance(dice, 0.5)}
    if chance(dice, 0.7):
        tree = {} if chance(dice, 0.6) else tree
        tree |= {name: made for name, made in _rules(dice).items() if chance(dice, 0.25)}
    for part in tree.values():
        if isinstance(part, dict) and chance(dice, 0.2):
            part[dice.choice((*part, odd_text(dice)))] = odd_toml(dice)
    if chance(dice, 0.1):
        tree[dice.choice(("columns", "time", "file", "other", *_RULES))] = odd_toml(dice)
    asked = command(
        dice,
        (60, "lint log.csv"),
        (25, "read log.csv --to lake"),
        (10, "measure activity log.csv"),
        (5, "lint {kit}/events.parquet"),
    )
    preset = perhaps(dice, 0.03, "--map", dice.choice(("blade-and-soul", "", "\x00", "x" * 5000, "."))) or [
        "--map",
        "map.toml",
    ]
    files = {"map.toml": _finished(toml_text(tree), dice), "log.csv": _log(dice), "chars.csv": _table(dice)}
    return Case([*asked, *preset], files)


def drafted(dice: Dice, _kit: Kit) -> Case:
    """A log for which a mapping is to be drafted."""
    out = perhaps(dice, 0.3, "--out", dice.choice(("map.toml", "log.csv", ".", "x/y.toml", "")))
    words = ["map", "init", "log.csv", *out, *perhaps(dice, 0.1, "--force")]
    return Case([*words, *perhaps(dice, 0.1, "--zone", dice.choice(("UTC", "x", "")))], {"log.csv": _log(dice)})


def _log(dice: Dice) -> bytes:
    """Events as delimited text, as lines of JSON in which some stand deeper, as Parquet, or as lines of text."""
    rows = events(dice)
    way = dice.choice(("csv", "csv", "json", "parquet", "text"))
    if way == "parquet":
        return parquet_bytes(spoil_rows(rows, dice), dice)
    if way == "json":
        rows = [{**row, "who": {"acc": row["actor"], "deep": {"er": row["kind"]}}} for row in rows]
        text = json_rows(spoil_rows(rows, dice) if chance(dice, 0.5) else rows, dice)
    elif way == "text":
        text = "".join(f"[{row['at']}] {row['actor']} did {row['kind']}, {odd_text(dice)}\n" for row in rows)
    else:
        text = csv_text(rows, dice)
    data = text.encode("utf-8", "surrogatepass")
    return spoil_bytes(data, dice, values.WORDS["csv"]) if chance(dice, 0.15) else data


def _table(dice: Dice) -> bytes:
    """A table of characters to be joined."""
    rows = [{"actor": one, "acc": f"acc{number % 3}", "level": str(number)} for number, one in enumerate(ACTORS)]
    rows = spoil_rows(rows, dice) if chance(dice, 0.3) else rows
    if chance(dice, 0.2):
        return parquet_bytes(rows, dice)
    data = (json_rows if chance(dice, 0.2) else csv_text)(rows, dice).encode("utf-8", "surrogatepass")
    return spoil_bytes(data, dice, values.WORDS["csv"]) if chance(dice, 0.15) else data


_RULES = ("where", "join", "also", "line", "kind")
_PATHS = (*_COLUMNS, "who.acc", "who.deep.er", "who", "c.acc", "c.level", "c", "a.b.c.d.e.f.g.h.i", ".", "a..b", "row")
_PATTERNS = (
    r"\[(?P<at>[^\]]+)\] (?P<actor>.+) did (?P<kind>[\w.]+), .*",
    r"(?P<at>.*?)\] (?P<actor>\S+) did (?P<kind>.*)",
    r"(?P<actor>(x+x+)+y)",
    r"(?x) (?P<actor>.*) # all",
    r"(?P<a>a{900}{900})",
    r"(?<kind>\p{L}+)(?s:.)*(?P<row>.)?",
    "(?P<actor>",
    "(?=a)",
    "",
)


def _rules(dice: Dice) -> dict[str, object]:
    """The sections that say which rows are meant, and what else is in them."""
    one = dice.choice(values.KINDS)
    also = {"kind": dice.choice((*values.KINDS, "odd")), "columns": {dice.choice(_COLUMNS): dice.choice(_PATHS)}}
    also |= {"opposite": chance(dice, 0.5)} if chance(dice, 0.5) else {}
    also |= {"where": _where(dice)} if chance(dice, 0.3) else {}
    return {
        "columns": {dice.choice(("actor", "level", "amount", "other")): dice.choice(("c.acc", "who.acc", "actor"))},
        "kinds": {one: {dice.choice(("positive", "negative", "zero", "x")): dice.choice(values.KINDS)}},
        "where": _where(dice),
        "join": {dice.choice(("c", "c", "c", "who", "a.b", "")): _join(dice)},
        "also": [also for _ in range(dice.choice((1, 1, 2, 20)))],
        "line": {"pattern": dice.choice((*_PATTERNS, odd_text(dice))), "other": dice.choice(("skip", "bad", "x"))},
        "kind": dice.choice((*values.KINDS, odd_text(dice))),
        "time": {"format": dice.choice(("epoch_ns", "%d %b %H:%M:%S")), "year": dice.choice((2026, 0, -1, 9999))},
    }


def _where(dice: Dice) -> dict[str, object]:
    one = dice.choice((*values.KINDS, "", odd_text(dice)))
    value = dice.choice((one, [one], {"not": one}, {"not": [one]}, 5))
    return {dice.choice(("actor", "kind", "at", dice.choice(_PATHS))): value}


def _join(dice: Dice) -> dict[str, object]:
    file = "chars.csv" if chance(dice, 0.8) else dice.choice(("log.csv", "none.csv", "..", "/dev/null", "map.toml", ""))
    on = "actor" if chance(dice, 0.7) else dice.choice(_PATHS)
    said: dict[str, object] = {"file": file, "on": on, "key": dice.choice(("actor", "actor", "actor", "acc", "x"))}
    return said | ({"grows": True} if chance(dice, 0.3) else {})


def _sections(dice: Dice) -> dict[str, object]:
    return {
        "columns": {dice.choice(_COLUMNS): dice.choice(_COLUMNS) for _ in range(dice.choice((1, 3, 6)))},
        "time": {"format": dice.choice(_FORMATS), "zone": dice.choice(("UTC", "Asia/Seoul", "localtime", "x"))},
        "kinds": {dice.choice((*values.KINDS, odd_text(dice))): dice.choice((*values.KINDS, "odd", odd_text(dice)))},
        "only": {dice.choice(_COLUMNS): [dice.choice(values.KINDS)]},
        "amount": {"losses": [odd_text(dice)]},
        "file": _layout(dice),
    }


def _layout(dice: Dice) -> dict[str, object]:
    made = {
        "encoding": dice.choice(_ENCODINGS),
        "header": dice.choice((True, False, ["actor", "at", "kind"], [], [odd_text(dice), "at"])),
        "null": dice.choice((["x"], [], ["", "0"], [odd_text(dice)])),
    }
    return {name: value for name, value in made.items() if chance(dice, 0.6)}


def _finished(text: str, dice: Dice) -> bytes:
    data = text.encode("utf-8", "surrogatepass")
    return spoil_bytes(data, dice, values.WORDS["toml"]) if chance(dice, 0.25) else data
