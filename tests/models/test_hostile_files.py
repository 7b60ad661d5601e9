"""A model file from a stranger: read, or refused with one line; nothing in it runs, hangs or crashes."""

import copy
import json
import os
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gamewarden import detectors, pipeline
from gamewarden.detectors.account_table.recipe import AccountTableDetector
from gamewarden.detectors.actions.recipe import TwoStage
from gamewarden.detectors.logistic.recipe import AccountDay
from gamewarden.detectors.traffic.recipe import TrafficDetector
from gamewarden.errors import GamewardenError, ModelError
from gamewarden.features.account_table.recipe import AccountTable
from gamewarden.features.self_similarity.recipe import SelfSimilarity
from gamewarden.features.traffic.details import TrafficDetails
from gamewarden.features.traffic.recipe import TrafficTest
from gamewarden.pipeline.measuring import feature_of
from gamewarden.presentation.card import card_markdown
from gamewarden.store import models, sealed
from gamewarden.tables import FrameEvents, FramePackets, FrameRows
from grounds import ground_of, recipe_of
from limits import limited
from made_up import CHUNKS, account_days, action_chunks, action_log, labels_of
from renamed_models import NASTY, places, renamed
from tables_made_up import account_table
from traces_made_up import trace_labels, traces


def _of_ground(name):
    """A model of the contract tests' ground, and a row that it can judge."""
    ground = ground_of(name)
    model = recipe_of(name).fit(ground.table, ground.labels)
    return model, ground.table.filter(model.score(ground.table)["fpr"].is_not_null())[:1]


@pytest.fixture(scope="module")
def cases():
    """A model of each kind, and rows it can score."""
    days = SelfSimilarity(min_windows=10).learn(FrameEvents(action_log(hours=0.5)))
    packets = traces(hours=0.2)
    layouts = TrafficDetails(layouts=((19, 5),))
    traffic = TrafficDetector(layouts).fit(layouts.measure(FramePackets(packets)), trace_labels())
    rows = FrameRows(account_table())
    table = AccountTable(label="verdict", drop=("character",)).learn(rows)
    trees = AccountTableDetector(feature=table, rounds=4, runs=1).fit(table.measure(rows), labels_of(60, 80))
    return {
        "account-table": (trees, table.measure(rows)[:1]),
        "account-day": (AccountDay(days).fit(account_days(), labels_of()), account_days(1, 1, 1)[:1]),
        "session-angle": _of_ground("session-angle"),
        "session-network": _of_ground("session-network"),
        "fusion": _of_ground("fusion"),
        "actions-two-stage": (TwoStage(CHUNKS).fit(action_chunks(), labels_of(12, 14)), action_chunks(1, 1)[:1]),
        "traffic": (traffic, TrafficTest.from_dict(traffic.feature.options).measure(FramePackets(packets))[:1]),
    }


@pytest.fixture
def path(cases, tmp_path):
    return models.save(cases["account-day"][0], tmp_path)


def refusal(path):
    with pytest.raises(ModelError) as caught:
        detectors.load_model(models.load(path))
    return str(caught.value).replace(str(path), "FILE")


class RunsOnLoad:
    def __reduce__(self):
        return (os.mkdir, ("it-ran",))


def flipped(path):
    whole = bytearray(path.read_bytes())
    whole[whole.index(b'"intercept": ') + 15] ^= 1
    path.write_bytes(whole)


def disguised(path):
    path.write_bytes(pickle.dumps(RunsOnLoad(), protocol=0))


def named_wrongly(path):
    envelope = json.loads(path.read_text())
    envelope["model"]["id"] = "account-day@0123456789ab"
    envelope["sha256"] = sealed.sha256(envelope["model"])
    path.write_text(json.dumps(envelope))


def newer(path):
    path.write_text(path.read_text().replace('"version": 1', '"version": 2'))


def cut_short(path):
    path.write_bytes(path.read_bytes()[:-100])


def test_five_kinds_of_harm_have_five_different_lines(cases, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    lines = []
    for harm in (flipped, disguised, named_wrongly, newer, cut_short):
        file = models.save(cases["account-day"][0], tmp_path)
        harm(file)
        lines.append(refusal(file))
        file.unlink()

    words = ("does not fit its sha256", "a Python pickle", "its recipe and data make it", "version is 2", "ends early")
    for line, word in zip(lines, words, strict=True):
        assert word in line
        assert sum(word in other for other in lines) == 1
    assert not (tmp_path / "it-ran").exists()


@pytest.mark.parametrize("protocol", [0, 1, 2, 3, 4, 5])
def test_a_pickle_of_any_age_is_called_one_and_never_runs(path, protocol, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    for harmful in (RunsOnLoad(), {"model": RunsOnLoad()}, [RunsOnLoad()] * 3, ("a", 1, RunsOnLoad())):
        path.write_bytes(pickle.dumps(harmful, protocol=protocol))
        assert "this is a Python pickle, which could run code" in refusal(path)

    assert not (tmp_path / "it-ran").exists()


@pytest.mark.parametrize("text", ["hello.", "(not a pickle).", "I am text.", "No.", "{", "[1, 2", "null", "3"])
def test_text_is_not_called_a_pickle_for_nothing(path, text):
    path.write_text(text)

    assert "pickle" not in refusal(path)


@given(data=st.data())
def test_a_file_with_any_bytes_exchanged_is_the_same_model_or_refused(cases, path, data):
    model = cases["account-day"][0]
    whole = path.read_bytes()
    start = data.draw(st.integers(0, len(whole)))
    end = start + data.draw(st.integers(0, 12))
    other = path.with_name("other.json")
    other.write_bytes(whole[:start] + data.draw(st.binary(max_size=12)) + whole[end:])

    try:
        same = detectors.load_model(models.load(other)) == model
    except ModelError:
        same = True

    assert same


@given(content=st.binary(max_size=60) | st.text(max_size=60).map(str.encode))
def test_any_bytes_at_all_are_refused_with_one_line(tmp_path, content):
    path = tmp_path / "any.json"
    path.write_bytes(content)

    with pytest.raises(ModelError) as caught:
        models.load(path)

    assert "\n" not in str(caught.value).replace("\\n", "")


def exchanged(values, way, other):
    """The values with another one at the end of the way."""
    odd = copy.deepcopy(values)
    holder = odd
    for key in way[:-1]:
        holder = holder[key]
    holder[way[-1]] = copy.deepcopy(other)
    return renamed(odd)


@pytest.mark.integration
@pytest.mark.parametrize(
    "name",
    ["account-day", "actions-two-stage", "traffic", "account-table", "session-angle", "session-network", "fusion"],
)
def test_a_model_with_any_value_exchanged_is_refused_or_works(cases, name):
    model, rows = cases[name]
    values = model.to_dict()
    for at, way in enumerate(places(values)):
        for other in NASTY[at % 13 :: 13]:
            try:
                odd = detectors.load_model(exchanged(values, way, other))
                if not detectors.fuses(name):
                    feature_of(odd.feature)
                scores, evidence = odd.score(rows), odd.explain(rows)
            except GamewardenError:
                continue

            assert scores["probability"].drop_nulls().is_between(0, 1).all()
            assert evidence.height >= scores.height
            assert card_markdown(odd.card, needs=pipeline.needs_of(odd.feature))
            assert pipeline.compare(model, odd).sentences


# --- Files that are small enough to be read and large enough to hurt

HURTS = {
    "numbers": lambda size: b"0.1," * (size // 4) + b"1",
    "lists": lambda size: b"[]," * (size // 3) + b"1",
    "objects": lambda size: b"{}," * (size // 3) + b"1",
    "texts": lambda size: b'"",' * (size // 3) + b"1",
}


@pytest.mark.integration
@pytest.mark.parametrize("what", HURTS)
def test_a_model_as_large_as_models_may_be_is_refused_in_little_time_and_memory(tmp_path, what):
    path = tmp_path / "account-day@0123456789ab.json"
    head = b'{"format": "gamewarden-model", "version": 1, "sha256": "' + b"0" * 64 + b'", "model": {"a": ['
    path.write_bytes(head + HURTS[what](sealed.LARGEST - 500) + b"]}}")

    ended = limited("model", "show", path.stem, "--models", tmp_path)

    assert ended.returncode == 1
    assert ended.stderr.startswith(f"gamewarden: {path}: ")
    assert ended.stderr.count("\n") == 1


def test_a_model_that_is_larger_is_not_even_read(tmp_path):
    path = tmp_path / "account-day@0123456789ab.json"
    with path.open("wb") as file:
        file.truncate(114 << 20)

    with pytest.raises(ModelError, match=r"119,537,664 bytes are too many for a model \(at most 67,108,864\)"):
        models.load(path)


def test_a_model_that_nobody_could_load_is_not_saved():
    with pytest.raises(ModelError, match="are more than any model may have"):
        models.SEAL.text({"text": "x" * sealed.LARGEST})


@pytest.mark.parametrize("text", ['["]",' * 50_000, '{"a":"}","b":' * 50_000])
def test_brackets_in_quotes_hide_no_nesting(path, text):
    path.write_text(f'{{"format": "gamewarden-model", "model": {text}')

    assert refusal(path) == "FILE: brackets are nested deeper than 32; a model is flatter"


def test_half_a_letter_in_a_model_is_one_line(path):
    path.write_text(path.read_text().replace('"model": {', '"model": {"x": "\\ud800",', 1))

    assert refusal(path).startswith("FILE: it holds what no model does")
