"""Programs of the operator, run with real scripts: never a shell, never an option from a player's name."""

import json
import os
import stat
import sys
import time
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from carrying_made_up import LATER, NOON, decided, office
from gamewarden.cases import Action
from gamewarden.errors import ConfigError
from gamewarden.policy import AdapterSettings
from gamewarden.response.adapters import RefusedError, TryLaterError, adapter_of, ways_of

ACTION = Action("k1", "d1", "ann", "do", "limit", "run", "begun", NOON, until=LATER, before={})


def script(tmp_path, body):
    """A program that keeps its arguments, then does what `body` says."""
    path = tmp_path / "program.py"
    path.write_text(
        f"#!{sys.executable} -S\nimport json, os, sys, time\n"
        f"with open({str(tmp_path / 'called.jsonl')!r}, 'a') as calls:\n"
        "    calls.write(json.dumps([sys.argv[1:], sorted(os.environ)]) + chr(10))\n"
        f"{body}\n"
    )
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return str(path)


def calls(tmp_path):
    path = tmp_path / "called.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def settings_of(*command, **values):
    undo = (command[0], "back", "--", "{actor}") if command else ()
    return AdapterSettings("run", "command", command=command, **{"undo": undo, "timeout": "20s", **values})


def test_arguments_are_filled_in_and_nothing_in_them_is_obeyed(tmp_path):
    program = script(tmp_path, "print('fine')")
    hostile = replace(ACTION, actor="$(id); rm x `id` {key} %s \\ '\"*")
    arguments = ("{verb}", "{step}", "--who={actor}", "--", "{actor}", "{until}", "{key}", "x{step}y")
    receipt = adapter_of(settings_of(program, *arguments), tmp_path).carry(hostile)

    assert receipt == {"exit": 0, "said": "fine"}
    assert calls(tmp_path)[0][0] == [
        "do", "limit", f"--who={hostile.actor}", "--", hostile.actor, LATER.isoformat(), "k1", "xlimity",
    ]  # fmt: skip


def test_the_way_back_has_its_own_program(tmp_path):
    program = script(tmp_path, "")
    adapter_of(settings_of(program, "{actor}"), tmp_path).carry(replace(ACTION, verb="undo"))

    assert calls(tmp_path)[0][0] == ["back", "--", "ann"]


@pytest.mark.parametrize("actor", ["-rf", "--help", "-"])
def test_an_account_called_like_an_option_is_refused_unless_options_have_ended(tmp_path, actor):
    program = script(tmp_path, "")
    action = replace(ACTION, actor=actor)
    for arguments in (("{actor}",), ("{actor}{key}",), ("{actor}", "--")):
        with pytest.raises(RefusedError, match="would be an option"):
            adapter_of(settings_of(program, *arguments), tmp_path).carry(action)
    assert calls(tmp_path) == []
    for arguments in (("--", "{actor}"), ("--account={actor}",), ("-a{actor}",), ("a:{actor}",)):
        adapter_of(settings_of(program, *arguments), tmp_path).carry(action)
    assert len(calls(tmp_path)) == 4


@pytest.mark.parametrize("actor", ["", "a\0b", "a\nsay hello", "a\x1b[2J", "a\u202eb", "a\ud800"])
def test_a_name_that_could_steer_a_console_is_given_to_no_program(tmp_path, actor):
    adapter = adapter_of(settings_of(script(tmp_path, ""), "--", "{actor}"), tmp_path)
    with pytest.raises(RefusedError, match="by hand"):
        adapter.look(replace(ACTION, actor=actor))
    with pytest.raises(RefusedError, match="by hand"):
        adapter.carry(replace(ACTION, actor=actor))

    assert calls(tmp_path) == []


def test_programs_do_not_get_our_secrets(tmp_path, monkeypatch):
    monkeypatch.setenv("GAMEWARDEN_WEBHOOK_SECRET", "whsec_x")
    monkeypatch.setenv("GAMEWARDEN_LEDGER", "postgresql://me:pass@h/d")
    monkeypatch.setenv("OTHERS", "stay")
    adapter_of(settings_of(script(tmp_path, ""), "{actor}"), tmp_path).carry(ACTION)

    names = calls(tmp_path)[0][1]
    assert "OTHERS" in names
    assert not [name for name in names if name.startswith("GAMEWARDEN_")]


def test_a_program_that_does_not_end_is_stopped_with_its_children(tmp_path):
    body = (
        f"place = {str(tmp_path)!r} + '/pid' + ('2' if os.fork() == 0 else '1')\n"
        "open(place, 'w').write(str(os.getpid()))\ntime.sleep(600)"
    )
    adapter = adapter_of(settings_of(script(tmp_path, body), "{actor}", timeout="2s"), tmp_path)
    with pytest.raises(TryLaterError, match="did not end"):
        adapter.carry(ACTION)

    numbers = [int((tmp_path / name).read_text()) for name in ("pid1", "pid2")]
    for _ in range(500):  # what is killed is gone a little later
        if not any(map(alive, numbers)):
            break
        time.sleep(0.02)
    assert not any(map(alive, numbers))


def alive(number):
    try:
        told = Path(f"/proc/{number}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
    return told.rpartition(")")[2].split()[0] not in {"Z", "X"}


def test_of_a_program_without_end_of_words_the_beginning_is_kept(tmp_path):
    receipt = adapter_of(settings_of(script(tmp_path, "print('a' * 10_000_000)"), "{actor}"), tmp_path).carry(ACTION)

    assert len(receipt["said"]) <= 2_048


def test_a_program_whose_child_stays_is_not_waited_for(tmp_path):
    kept = f"open({str(tmp_path / 'child')!r}, 'w').write(str(child))"
    body = f"child = os.fork()\nif child == 0:\n    time.sleep(60)\nelse:\n    {kept}"
    receipt = adapter_of(settings_of(script(tmp_path, body), "{actor}"), tmp_path).carry(ACTION)
    child = int((tmp_path / "child").read_text())
    was_there = alive(child)
    os.kill(child, 9)

    assert receipt["exit"] == 0
    assert was_there


def test_a_program_that_fails_says_why(tmp_path):
    with pytest.raises(TryLaterError, match=r"ended with 3 \(no\\x1b such account\)"):
        adapter_of(
            settings_of(script(tmp_path, "print('no\\x1b such account'); sys.exit(3)"), "{actor}"), tmp_path
        ).carry(ACTION)


def test_a_program_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(RefusedError, match="cannot be started"):
        adapter_of(settings_of(str(tmp_path / "none"), "{actor}"), tmp_path).carry(ACTION)


@pytest.mark.parametrize(
    ("command", "undo", "text"),
    [
        ((), ("x",), "command is empty"),
        (("x", "{actor}"), (), "undo is empty"),
        (("x", "{account}"), ("x",), "known are {actor}"),
        (("{actor}",), ("x",), "no fixed program"),
        (("x", "a\0"), ("x",), "zero byte"),
    ],
)
def test_a_command_that_cannot_work_is_refused_when_settings_are_read(tmp_path, command, undo, text):
    with pytest.raises(ConfigError, match=text):
        adapter_of(AdapterSettings("run", "command", command=command, undo=undo), tmp_path)


@pytest.mark.parametrize(("repeatable", "state", "times"), [(False, "uncertain", 1), (True, "done", 2)])
def test_a_program_that_fails_is_run_again_only_where_that_does_no_harm(tmp_path, repeatable, state, times):
    body = (
        f"flag = {str(tmp_path / 'flag')!r}\nif not os.path.exists(flag):\n    open(flag, 'w').close()\n    sys.exit(1)"
    )
    settings = settings_of(script(tmp_path, body), "{key}", "{actor}", repeatable=repeatable)
    desk = office(tmp_path, ways_of([settings], tmp_path))
    desk.decide(decided())
    desk.carry()
    desk.carry(LATER + timedelta(hours=3))

    assert desk.only().state == state
    assert len(calls(tmp_path)) == times
