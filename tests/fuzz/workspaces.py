"""What rests in a workspace: indexes of results, the log of seals, bundles of verdicts, what is known of sources.

A workspace lies at the place of the case, so that every command stands in it. Seals are mostly made again for what was
spoiled, as someone who knows the format would: what is behind the seal is met too.
"""

import hashlib
import json

import pyarrow as pa

from fuzz import values
from fuzz.case import Case, command
from fuzz.kit import Kit
from fuzz.logs import events, parquet_bytes
from fuzz.mutate import Dice, chance, json_text, spoil_bytes, spoil_json, spoil_rows
from fuzz.stored import bound, chained, json_bytes
from gamewarden.store.inbox_segments import Told, framed
from gamewarden.store.sealed import sha256
from gamewarden.store.verdict_days import FACTS, HEAD, LOG
from gamewarden.tables import EVENTS_ARROW

_HOME = "ws/"
_SEALS, _HEAD = f"results/verdicts/{LOG}", f"results/verdicts/{HEAD}"
_ASKED = (
    (20, "status"),
    (6, "status --json"),
    (14, "judge"),
    (6, "judge --json"),
    (12, "score --json"),
    (4, "rank"),
    (3, "explain bot001"),
    (5, "forget bot001 --dry-run"),
    (4, "forget bot001 --yes"),
)


def index(dice: Dice, kit: Kit) -> Case:
    """The index of a table of results, or one of its files, not as we left it."""
    files = _files(kit)
    names = [name for name in files if name.startswith(("results/features/", "results/scores/", "results/kinds/"))]
    name = dice.choice([one for one in names if one.endswith("index.json")])
    if chance(dice, 0.85):
        files[name] = _index(files[name], dice)
    else:
        name = dice.choice([one for one in names if one.endswith(".parquet")])
        files[name] = _table(files[name], dice)
    return Case(command(dice, *_ASKED, (10, "run"), (3, "run --fresh")), files)


def _index(data: bytes, dice: Dice) -> bytes:
    """An index spoiled anywhere, mostly in what it says of one partition."""
    tree = json.loads(data)
    if chance(dice, 0.3):
        return json_bytes(tree, dice)
    one = dice.choice(tree["partitions"])
    spoil_json(one["about"] if chance(dice, 0.5) and one["about"] else one, dice)
    return json_text(tree).encode("utf-8", "surrogatepass")


def seals(dice: Dice, kit: Kit) -> Case:
    """The log of seals with a record that is not as it was, or the head that remembers its length."""
    files = _files(kit)
    if chance(dice, 0.25):
        files[_HEAD] = json_bytes(json.loads(files[_HEAD]), dice)
    else:
        files[_SEALS] = chained(files[_SEALS], dice)
        _head_again(files, dice)
    return Case(command(dice, *_ASKED, (20, "verify"), (10, "verify --json"), (6, "run")), files)


def bundle(dice: Dice, kit: Kit) -> Case:
    """A sealed bundle of a day: its facts or one of its tables spoiled, and mostly sealed again."""
    files = _files(kit)
    place = dice.choice(sorted({name.rpartition("/")[0] for name in files if name.endswith(f"/{FACTS}")}))
    name = dice.choice([FACTS, FACTS, *(one.removeprefix(f"{place}/") for one in files if one.startswith(place))])
    data = files[f"{place}/{name}"]
    files[f"{place}/{name}"] = json_bytes(json.loads(data), dice) if name == FACTS else _table(data, dice)
    if chance(dice, 0.8):
        _seal_again(files, place, name)
    shown = dice.choice(kit.sealed)
    asked = command(dice, *_ASKED, (30, "verify"), (10, "verify --json"), (30, f"verdict show {shown}"), (4, "run"))
    return Case(asked, files)


def sources(dice: Dice, kit: Kit) -> Case:
    """What is known of the files of a source."""
    files = _files(kit)
    name = "results/sources/game.json"
    tree = json.loads(files[name])
    part = tree[dice.choice(("files", "known"))]
    files[name] = (
        json_text({**tree, "files": spoil_json(part, dice)} if isinstance(part, list) else _known(tree, dice)).encode(
            "utf-8", "surrogatepass"
        )
        if chance(dice, 0.7)
        else json_bytes(tree, dice)
    )
    return Case(command(dice, *_ASKED, (30, "run")), files)


def _known(tree: dict[str, object], dice: Dice) -> dict[str, object]:
    return {**tree, "known": spoil_json(tree["known"], dice)}


def inbox(dice: Dice, kit: Kit) -> Case:
    """What waits in an inbox: segments, keys and files of packets, mostly with checksums that fit."""
    files = _files(kit)
    rows = parquet_bytes(spoil_rows(events(dice), dice), dice)
    content = dice.choice((_pushed(dice), spoil_bytes(_pushed(dice), dice, values.WORDS["parquet"]), rows))
    segment = framed(Told(dice.choice((0, 3, 3, -1)), "digest", dice.choice(("", "key"))), content)
    if chance(dice, 0.5):
        segment = spoil_bytes(segment, dice, values.WORDS["parquet"])
    kind = dice.choice(("events", "events", "packets"))
    ending = dice.choice((".segment", ".segment", ".open"))
    files[f"inbox/{kind}/00000000000000000001-1-1{ending}"] = segment
    files[f"inbox/{kind}/00000000000000000001-1-1.keys"] = json_bytes([1, "digest", "key"], dice)
    if chance(dice, 0.3):
        files["inbox/packets/00000000000000000000-1-1.parquet"] = rows
    return Case(command(dice, *_ASKED, (40, "run")), files)


def _pushed(dice: Dice) -> bytes:
    """A batch as it is kept."""
    table = EVENTS_ARROW.empty_table()
    if chance(dice, 0.9):
        at = dice.choice((0, 1_700_000_000_000_000, -(1 << 62)))
        some = {"actor": ["ann", "bob", None], "at": [at] * 3, "kind": ["move"] * 3}
        arrays = [
            pa.array(some.get(one.name, [None] * 3), pa.int64() if one.name == "at" else one.type).cast(one.type)
            for one in EVENTS_ARROW
        ]
        table = pa.table(arrays, schema=EVENTS_ARROW)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table)
    return bytes(sink.getvalue())


def _files(kit: Kit) -> dict[str, bytes]:
    return {name.removeprefix(_HOME): data for name, data in kit.files("ws").items()}


def _table(data: bytes, dice: Dice) -> bytes:
    fresh = parquet_bytes(spoil_rows(events(dice), dice), dice)
    return dice.choice((spoil_bytes(data, dice, values.WORDS["parquet"]), fresh))


def _head_again(files: dict[str, bytes], dice: Dice) -> None:
    """Let the head fit the log, where the log can be read."""
    try:
        records = [json.loads(line)["record"] for line in files[_SEALS].splitlines()]
        head = {"seals": len(records), "last": sha256(records[-1])}
    except (ValueError, TypeError, KeyError, IndexError, AttributeError, RecursionError):
        return
    if chance(dice, 0.95):
        files[_HEAD] = json.dumps(head).encode()


def _seal_again(files: dict[str, bytes], place: str, name: str) -> None:
    """Give a file's new digest to the seal of its bundle, and bind the log anew."""
    records = [json.loads(line)["record"] for line in files[_SEALS].splitlines()]
    for record in records:
        if place.endswith(str(record.get("bundle"))):
            record["files"][name] = hashlib.sha256(files[f"{place}/{name}"]).hexdigest()
    files[_SEALS] = bound(records)
    files[_HEAD] = json.dumps({"seals": len(records), "last": sha256(records[-1])}).encode()
