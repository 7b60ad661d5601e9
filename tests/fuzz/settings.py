"""Settings and mappings: TOML that people write by hand."""

from fuzz import values
from fuzz.case import Case, command, perhaps
from fuzz.kit import Kit
from fuzz.logs import events
from fuzz.mutate import Dice, chance, csv_text, odd_text, odd_toml, spoil_bytes, toml_text
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
    for part in tree.values():
        if chance(dice, 0.3):
            part[dice.choice((*part, odd_text(dice)))] = odd_toml(dice)
    if chance(dice, 0.1):
        tree[dice.choice(("columns", "time", "file", "other"))] = odd_toml(dice)
    log = csv_text(events(dice), dice).encode("utf-8", "surrogatepass")
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
    return Case([*asked, *preset], {"map.toml": _finished(toml_text(tree), dice), "log.csv": log})


def _sections(dice: Dice) -> dict[str, dict[str, object]]:
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
