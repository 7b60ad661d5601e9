"""Files of our own that somebody else has written: every value is looked at, and what cannot be is one line."""

import copy
import hashlib
import io
import json

import numpy as np
import pytest

from commands import run
from gamewarden.contracts import canonical_json, digest
from gamewarden.drift.flow import Ledger, Policy, standing_doubts
from gamewarden.errors import GamewardenError
from gamewarden.features.traffic.fold import _MAGIC, Fold
from gamewarden.features.traffic.recipe import TrafficTest
from gamewarden.online.journal import Origin, load_state, save_state
from gamewarden.presentation.maintenance_story import story
from gamewarden.readers.logs.tables import EventFile
from gamewarden.store import manifest, model_registry
from gamewarden.store.append_log import AppendLog
from gamewarden.store.lake import Lake
from gamewarden.store.maintenance_state import MaintenanceState
from gamewarden.store.manifest import MANIFEST
from gamewarden.tables import FramePackets
from packets_made_up import mixture
from renamed_models import NASTY, places

STRANGE = (
    *NASTY,
    float("nan"),
    float("inf"),
    -(2**63) - 1,
    2**63,
    10**400,
    "\ud800",
    "9" * 5000,
    [[[[]]]],
    {"a": {"b": 1}},
)


def exchanged(values, way, other):
    odd = copy.deepcopy(values)
    holder = odd
    for key in way[:-1]:
        holder = holder[key]
    holder[way[-1]] = other
    return odd


def every_exchange(values):
    for at, way in enumerate(places(values)):
        for other in STRANGE[at % 5 :: 5]:
            yield way, exchanged(values, way, other)


def refusal(action):
    """The line with which an action is refused, or nothing; any other end is a crash."""
    try:
        action()
    except GamewardenError as error:
        return str(error)
    return None


# --- lake.json


@pytest.fixture
def lake(tmp_path):
    log = tmp_path / "log.csv"
    log.write_text("actor,at,kind\na,2024-01-01T10:00:00Z,move\nb,2024-01-02T11:00:00Z,kill\n")
    Lake(tmp_path / "lake").add(EventFile(log).numbered())
    return tmp_path / "lake"


def test_a_lake_in_which_any_value_was_exchanged_is_read_or_refused_with_a_line(lake):
    file = lake / MANIFEST
    values = json.loads(file.read_text())

    def use():
        events = Lake(lake).events()
        _ = events.coverage, Lake(lake).span
        return list(events.batches(["actor", "at"]))

    lines = []
    for _, odd in every_exchange(values):
        file.write_text(json.dumps(odd))
        lines.append(refusal(use))

    assert sum(line is not None for line in lines) > 50
    assert max(len(line or "") for line in lines) < 600


@pytest.mark.parametrize(
    ("part", "name", "value", "line"),
    [
        ("sources", "size", -1, "it.sources[0].size is -1, not a whole number from 0 on"),
        ("sources", "rows", "2", "it.sources[0].rows is '2', not a whole number from 0 on"),
        ("sources", "name", 3, "it.sources[0].name is 3, not a text"),
        ("sources", "columns", "actor", "it.sources[0].columns is 'actor', not a list"),
        ("sources", "kinds", {"move": -1}, "it.sources[0].kinds['move'] is -1, not a whole number from 0 on"),
        ("sources", "own_seq", 1, "it.sources[0].own_seq is 1, not true or false"),
        ("parts", "rows", 10**30, f"it.parts[0].rows is {10**30}, not a whole number from 0 on"),
        ("parts", "since", 2**62, f"it.parts[0].since is {2**62}, not a time in microseconds since 1970"),
        ("parts", "pulse", [], "it.parts[0].pulse is [], not an object"),
        ("parts", "file", "day=2024-99-99/part-0123456789ab-0000.parquet", "is no part of a lake"),
    ],
)
def test_a_wrong_type_in_a_lake_is_named(lake, part, name, value, line):
    file = lake / MANIFEST
    values = json.loads(file.read_text())
    values[part][0][name] = value
    file.write_text(json.dumps(values))

    ended = run("measure", "activity", lake)

    assert ended.returncode == 1
    assert ended.stderr.startswith(f"gamewarden: {file}: ")
    assert line in ended.stderr
    assert ended.stderr.count("\n") == 1


def test_a_lake_that_names_no_parts_is_not_an_empty_one(lake):
    (lake / MANIFEST).write_text('{"format": 1}')

    with pytest.raises(GamewardenError, match="it lacks 'sources'"):
        manifest.load(lake)


# --- Promotions

PROMOTION = {
    "at": "2024-01-01T00:00:00.000000Z",
    "because": "it is better",
    "by": "warden",
    "detector": "account-day",
    "instead_of": None,
    "model": "account-day@0123456789ab",
    "rolled_back": False,
}


def test_a_promotion_in_which_any_value_was_exchanged_is_read_or_refused_with_a_line(tmp_path):
    lines = []
    for name in PROMOTION:
        for other in STRANGE:
            (tmp_path / model_registry.HISTORY).write_text(json.dumps(PROMOTION | {name: other}) + "\n")
            lines.append(refusal(lambda: model_registry.promotions(tmp_path)))

    refused = [line for line in lines if line is not None]
    assert len(refused) > 100
    assert all(f"{model_registry.HISTORY}:1: " in line and len(line) < 600 for line in refused)


def test_a_line_that_is_no_object_is_no_promotion(tmp_path):
    for line in ("3", "[]", '"x"', "null", "{}", "[" * 100_000):
        (tmp_path / model_registry.HISTORY).write_text(line + "\n{}\n")

        with pytest.raises(GamewardenError, match="the history of promotions was edited or damaged"):
            model_registry.promotions(tmp_path)


# --- What maintenance keeps

WATCHED = {
    "step": "watch",
    "period": "2026-03-02T00:00:00+00:00",
    "x": 0.9,
    "ban_wave": False,
    "doubts": [],
    "status": "missing",
    "silent": [],
    "why_missing": "too few",
    "signal": None,
}


def linked(path, records):
    """A history that hangs together, as someone who knows the format would write it."""
    link, lines = "0" * 12, []
    for record in records:
        body = canonical_json(record)
        link = digest(link, body)
        lines.append(f'{{"link":"{link}","record":{body}}}\n')
    path.write_text("".join(lines))


def test_a_history_of_maintenance_in_which_any_value_was_exchanged_is_read_or_refused_with_a_line(tmp_path):
    def use():
        history = AppendLog(tmp_path / "history.jsonl")
        return Ledger(history, Policy()).latest_in_control, list(story(history.records))

    lines = []
    for name in WATCHED:
        for other in NASTY:
            linked(tmp_path / "history.jsonl", [WATCHED | {name: other}])
            lines.append(refusal(use))

    refused = [line for line in lines if line is not None]
    assert len(refused) > 20
    assert {line.partition(" (")[0] for line in refused} == {
        "maintenance: record 1 of its history holds what it never writes"
    }


def test_doubts_in_a_history_that_somebody_changed_are_read_or_refused_with_a_line():
    scored = {"period": WATCHED["period"], "step": "score", "model": "account-day@0123456789ab"}
    others = [WATCHED | {name: other} for name in WATCHED for other in NASTY]
    fewer = [{key: WATCHED[key] for key in WATCHED if key != name} for name in WATCHED]
    lines = [refusal(lambda record=record: standing_doubts([scored, record])) for record in (*others, *fewer)]

    assert sum(line is not None for line in lines) > 10
    assert all(line is None or line.startswith("maintenance: ") for line in lines)


def test_what_a_period_held_is_looked_at(tmp_path):
    place = MaintenanceState(tmp_path, "account-day")
    place.keep_seen("2026-03-02", {"actors": 3, "kinds": {"move": 2}, "actors_by_kind": {"move": 1}})
    file = place._seen_path("2026-03-02")
    values = json.loads(file.read_text())
    for way, odd in every_exchange(values):
        file.write_text(json.dumps(odd))
        line = refusal(lambda: place.seen("2026-03-02"))

        assert line in (None, f"{file}: is damaged; delete it and it is made again"), way
        assert line or all(isinstance(one, int) and one >= 0 for one in place.seen("2026-03-02")["kinds"].values()), way


# --- The state of a watch


@pytest.fixture
def state(tmp_path):
    fold, origin = Fold(TrafficTest()), Origin()
    for batch in FramePackets(mixture(packets=300)).batches():
        fold.push(batch)
        origin.take(batch)
    save_state(tmp_path / "state", fold, origin, out=0)
    return tmp_path / "state"


def parts(state):
    content = state.read_bytes()[len(_MAGIC) + 65 :]
    body = io.BytesIO(content)
    return json.loads(body.readline()), body.read()


def resealed(state, head, arrays):
    content = json.dumps(head).encode() + b"\n" + arrays
    state.write_bytes(_MAGIC + hashlib.sha256(content).hexdigest().encode() + b"\n" + content)


def test_a_state_in_which_any_value_was_exchanged_is_read_or_refused_with_a_line(state):
    head, arrays = parts(state)
    for _, odd in every_exchange(head):
        resealed(state, odd, arrays)
        if refusal(lambda: load_state(state, TrafficTest())) is None:
            _, note = load_state(state, TrafficTest())

            assert all(isinstance(one, str) or (isinstance(one, int) and one >= 0) for one in note.values())


def claims(count, dtype):
    """The beginning of an array that says it is larger than anything."""
    body = io.BytesIO()
    np.lib.format.write_array_header_1_0(body, {"descr": dtype, "fortran_order": False, "shape": (count,)})
    return body.getvalue()


@pytest.mark.parametrize(
    "arrays",
    [b"", b"\x93NUMPY", claims(1 << 60, "<i8"), claims(1 << 40, "|u1"), claims(-1, "<i8"), claims(2, "|O")],
)
def test_arrays_that_are_not_there_are_not_waited_for(state, arrays):
    head, _ = parts(state)
    resealed(state, head, arrays)

    with pytest.raises(GamewardenError, match="the state contradicts itself"):
        load_state(state, TrafficTest())


def test_names_in_a_state_are_texts(state):
    head, arrays = parts(state)
    resealed(state, head, arrays[:-2] + b"\xff\xfe")

    with pytest.raises(GamewardenError, match="the state contradicts itself"):
        load_state(state, TrafficTest())
