"""A line per action in a file, each once, whatever a crash left there."""

import json
from dataclasses import replace

import pytest

from carrying_made_up import LATER, NOON, lines_of
from gamewarden.cases import Action
from gamewarden.errors import ConfigError
from gamewarden.policy import AdapterSettings
from gamewarden.response.adapters import TryLaterError, adapter_of

ACTION = Action("k1", "d1", "ann", "do", "limit", "log", "begun", NOON, until=LATER, before={})


@pytest.fixture
def path(tmp_path):
    return tmp_path / "sub" / "actions.jsonl"


@pytest.fixture
def log(tmp_path):
    return adapter_of(AdapterSettings("log", "log", path="sub/actions.jsonl"), tmp_path)


def test_the_same_action_is_written_once(log, path):
    numbers = [log.carry(one)["line"] for one in (ACTION, replace(ACTION, id="k2"), ACTION, replace(ACTION, id="k2"))]

    assert numbers == [1, 2, 1, 2]
    assert [one["key"] for one in lines_of(path)] == ["k1", "k2"]


@pytest.mark.parametrize("cut", range(1, 40, 3))
def test_a_line_that_a_crash_tore_is_left_and_the_action_gets_a_whole_one(log, path, cut):
    log.carry(ACTION)
    whole = path.read_bytes()
    path.write_bytes(whole + whole[:cut])
    log.carry(replace(ACTION, id="k2"))
    log.carry(replace(ACTION, id="k2"))

    lines = path.read_bytes().splitlines()
    assert [json.loads(line)["key"] for line in (lines[0], lines[-1])] == ["k1", "k2"]
    assert len(lines) == 3


def test_a_line_that_lacks_nothing_but_its_end_counts(log, path):
    log.carry(ACTION)
    path.write_bytes(path.read_bytes()[:-1])
    log.carry(ACTION)

    assert [one["key"] for one in lines_of(path)] == ["k1"]
    assert path.read_bytes().endswith(b"\n")


def test_a_key_within_another_field_or_another_programs_line_is_not_taken_for_it(log, path):
    path.parent.mkdir()
    path.write_text('hello k1\n{"note": "k1"}\n["k1"]\n{"key": "k10"}\n')
    log.carry(replace(ACTION, actor='x", "key": "k2'))
    log.carry(replace(ACTION, id="k2"))

    assert [json.loads(line)["key"] for line in path.read_text().splitlines()[4:]] == ["k1", "k2"]


def test_a_name_that_steers_terminals_is_written_out(log, path):
    log.carry(replace(ACTION, actor="a\x1b[2J\u202e\nb\ud800"))

    assert path.read_bytes().isascii()
    assert len(lines_of(path)) == 1


def test_a_file_that_cannot_be_written_is_tried_again_later(tmp_path):
    (tmp_path / "actions.jsonl").mkdir()
    with pytest.raises(TryLaterError, match=r"actions\.jsonl: .* let gamewarden write there"):
        adapter_of(AdapterSettings("log", "log"), tmp_path).carry(ACTION)


def test_a_kind_or_a_step_that_is_unknown_is_refused(tmp_path):
    with pytest.raises(ConfigError, match="kind mail is unknown"):
        adapter_of(AdapterSettings("x", "mail"), tmp_path)
    with pytest.raises(ConfigError, match="cannot carry out watch"):
        adapter_of(AdapterSettings("x", "log", steps=("watch",)), tmp_path)
