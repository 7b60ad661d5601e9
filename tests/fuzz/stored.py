"""What we keep ourselves: lakes, models, verdicts, and the state of watching, promoting and maintaining.

A spoiled file is mostly sealed again, as someone who knows the format would: what is behind the seal is met too.
"""

import json
from typing import Any

from fuzz import values
from fuzz.case import Case, command, shown
from fuzz.kit import Kit
from fuzz.logs import events, parquet_bytes
from fuzz.mutate import Dice, chance, json_text, odd_text, pack, spoil_bytes, spoil_json, spoil_rows
from gamewarden.contracts import canonical_json, digest
from gamewarden.features.traffic import fold as traffic_fold
from gamewarden.store import models as stored_models
from gamewarden.store import verdicts as stored_verdicts
from gamewarden.store.sealed import Seal
from renamed_models import renamed

_LONGEST = 90  # letters of a file's name
_PARTS = ("lake/day=2026-03-02/", "lake/day=2026-03-03/")


def lake(dice: Dice, kit: Kit) -> Case:
    """A lake whose manifest or parts are not as we left them."""
    files = kit.files("lake")
    if chance(dice, 0.75):
        files["lake/lake.json"] = _manifest(files["lake/lake.json"], dice)
    else:
        name = dice.choice([name for name in files if name.startswith(_PARTS)])
        fresh = parquet_bytes(spoil_rows(events(dice), dice), dice)
        files[name] = dice.choice((spoil_bytes(files[name], dice, values.WORDS["parquet"]), fresh))
    asked = command(
        dice,
        (50, "lint lake"),
        (15, "measure activity lake"),
        (8, "measure self-similarity lake"),
        (15, "read {kit}/more.csv --to lake"),
        (8, "read {kit}/early.parquet --to lake"),
        (3, "rank lake --models {kit}/kept"),
        (3, "maintain --lake lake --models {kit}/models --explain"),
        (2, "judge lake --models {kit}/kept"),
    )
    return Case(asked, files)


def _manifest(data: bytes, dice: Dice) -> bytes:
    """A manifest spoiled anywhere, mostly in what it says of sources and parts."""
    tree = json.loads(data)
    if chance(dice, 0.3):
        return json_bytes(tree, dice)
    for name in ("parts", "sources"):
        if chance(dice, 0.6):
            spoil_json(tree[name], dice)
    return json_text(tree).encode("utf-8", "surrogatepass")


def json_bytes(tree: Any, dice: Dice) -> bytes:
    """A JSON file of ours, spoiled as values, then perhaps as bytes."""
    text = json_text(spoil_json(tree, dice) if chance(dice, 0.9) else tree)
    data = text.encode("utf-8", "surrogatepass")
    return spoil_bytes(data, dice, values.WORDS["json"]) if chance(dice, 0.15) else data


def model(dice: Dice, kit: Kit) -> Case:
    """A model, sealed again under the name that it makes."""
    name = dice.choice(list(kit.models))
    spoiled = renamed(spoil_json(json.loads(kit.models[name]), dice))
    called = spoiled.get("id") if isinstance(spoiled, dict) else None
    file = (
        f"{called}.json"
        if isinstance(called, str) and stored_models.is_id(called) and len(called) < _LONGEST and chance(dice, 0.95)
        else name
    )
    files = {f"shelf/{file}": _sealed(stored_models.SEAL, spoiled, dice)}
    source = {"account-table": "{kit}/table.csv", "traffic": "{kit}/packets.csv"}.get(
        name.partition("@")[0], "{kit}/lake"
    )
    asked = command(
        dice,
        (30, "model list --models shelf"),
        (40, f"model show {file.removesuffix('.json')} --models shelf"),
        (14, f"score {source} --models shelf"),
        (4, f"rank {source} --models shelf --probability 0"),
        (4, f"explain bot000 {source} --models shelf"),
        (6, f"model diff {file.removesuffix('.json')} {name.removesuffix('.json')} --models shelf"),
        (6, "budget --models shelf --wrong-per-month 2 --players 100"),
        (4, "budget --models shelf --cost 10:1"),
        (2, f"judge {source} --models shelf"),
        (4, f"model promote {file.removesuffix('.json')} --models shelf --because x"),
    )
    if asked[1] == "diff" and file != name:
        files[f"shelf/{name}"] = kit.bytes_of(f"shelf/{name}")
    return Case([*asked, *(["--json"] if asked[1] in {"list", "show"} and chance(dice, 0.3) else [])], files)


def _sealed(seal: Seal, spoiled: Any, dice: Dice) -> bytes:
    """The content under a seal that fits it, where it can; sometimes the file is spoiled after that."""
    try:
        data = seal.text(spoiled, indent=None).encode()
    except (ValueError, TypeError, RecursionError):
        data = json_text(
            {"format": seal.format, "version": seal.version, "sha256": "0" * 64, seal.body: spoiled}
        ).encode()
    if chance(dice, 0.1):
        data = spoil_bytes(data, dice, values.WORDS["json"])
    return pack(data, dice) if chance(dice, 0.02) else data


def verdict(dice: Dice, kit: Kit) -> Case:
    """A verdict, sealed again and named by its content."""
    spoiled = spoil_json(json.loads(dice.choice(kit.verdicts)), dice)
    if chance(dice, 0.95):
        spoiled = _named(spoiled)
    called = spoiled.get("id") if chance(dice, 0.9) else "verdict"
    name = (
        f"{called}.json"
        if isinstance(called, str) and called.isascii() and "/" not in called and len(called) < _LONGEST
        else "v.json"
    )
    files = {f"verdicts/{name}".replace("\0", ""): _sealed(stored_verdicts.SEAL, spoiled, dice)}
    place = dice.choice(("verdicts", *files))
    asked = command(
        dice, (55, "verify"), (40, "verify --models {kit}/kept"), (3, "verify --models {kit}/kept --source {kit}/lake")
    )
    return Case([asked[0], place, *asked[1:], *shown(dice)], files)


def _named(spoiled: dict[str, Any]) -> dict[str, Any]:
    try:
        return {**spoiled, "id": stored_verdicts.verdict_id(spoiled)}
    except (ValueError, TypeError, RecursionError):
        return spoiled


def state(dice: Dice, kit: Kit) -> Case:
    """What watching, promoting and maintaining wrote down."""
    return dice.choice((_watched, _promoted, _promoted, _maintained, _maintained))(dice, kit)


def _watched(dice: Dice, kit: Kit) -> Case:
    whole = kit.bytes_of("watch.state")
    content = whole[len(traffic_fold._MAGIC) + traffic_fold._SEAL :]
    if chance(dice, 0.2):
        whole = spoil_bytes(whole, dice, values.WORDS["json"])
    else:
        spoiled = _state(content, dice)
        whole = traffic_fold._MAGIC + traffic_fold._seal(memoryview(spoiled)) + spoiled
    files = {"st": whole, "decisions": kit.bytes_of("watch.jsonl")}
    asked = command(
        dice, (3, "watch {kit}/packets.csv --state st --out decisions"), (1, "watch {kit}/packets.csv --state st")
    )
    return Case(asked, files)


def _state(content: bytes, dice: Dice) -> bytes:
    """The inside of a state: a head of JSON, then arrays."""
    head, end, arrays = content.partition(b"\n")
    if chance(dice, 0.6):
        head = json_text(spoil_json(json.loads(head), dice)).encode("utf-8", "surrogatepass")
    else:
        arrays = spoil_bytes(arrays, dice, (b"\xff" * 8, b"\x93NUMPY", b"\0" * 8, b"|O", b"<i8", b"'shape': (9,)"))
    return head + end + arrays


def _promoted(dice: Dice, kit: Kit) -> Case:
    name = next(iter(kit.models))
    right = {
        "at": "2026-03-04T00:00:00.000000Z",
        "because": odd_text(dice),
        "by": odd_text(dice),
        "detector": "account-day",
        "instead_of": None,
        "model": name.removesuffix(".json"),
        "rolled_back": False,
    }
    lines = [
        json_bytes(right, dice) if chance(dice, 0.6) else json.dumps(right).encode()
        for _ in range(dice.choice((1, 1, 3)))
    ]
    files = {f"shelf/{name}": kit.bytes_of(f"shelf/{name}"), "shelf/promotions.jsonl": b"\n".join([*lines, b""])}
    asked = command(
        dice,
        (40, "model history --models shelf"),
        (30, "model list --models shelf"),
        (10, f"model promote {name.removesuffix('.json')} --models shelf --because x"),
        (10, "model roll-back account-day --models shelf --because x"),
        (4, "score {kit}/lake --models shelf"),
    )
    return Case(asked, files)


def _maintained(dice: Dice, kit: Kit) -> Case:
    files = kit.files("models")
    name = dice.choice([name for name in files if "/maintenance/" in name])
    if name.endswith("history.jsonl"):
        files[name] = chained(files[name], dice)
    elif name.endswith(".json"):
        files[name] = json_bytes(json.loads(files[name]), dice)
    else:
        fresh = parquet_bytes(spoil_rows(events(dice), dice), dice)
        files[name] = dice.choice((spoil_bytes(files[name], dice, values.WORDS["parquet"]), fresh))
    task = "maintain --lake {kit}/lake --models models"
    asked = command(
        dice,
        (60, f"{task} --explain"),
        (12, task),
        (6, "score {kit}/lake --models models"),
        (3, "rank {kit}/lake --models models"),
    )
    return Case(asked, files)


def chained(data: bytes, dice: Dice) -> bytes:
    """A history whose records are spoiled and bound to each other again."""
    records = [json.loads(line)["record"] for line in data.splitlines()]
    place = dice.randrange(len(records))
    records[place] = spoil_json(records[place], dice)
    try:
        text = bound(records)
    except (ValueError, TypeError):
        return spoil_bytes(data, dice, values.WORDS["json"])
    return spoil_bytes(text, dice, values.WORDS["json"]) if chance(dice, 0.1) else text


def bound(records: list[Any]) -> bytes:
    """A log of records in which each line is bound to all before."""
    lines, link = [], "0" * 12
    for record in records:
        body = canonical_json(record)
        link = digest(link, body)
        lines.append(f'{{"link":"{link}","record":{body}}}\n')
    return "".join(lines).encode("utf-8", "surrogatepass")
