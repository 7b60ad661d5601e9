"""Killed at every step, carrying out neither drops an action nor doubles it."""

import json
import os
import subprocess
import sys
from contextlib import ExitStack

import pytest

from azeroth_world import LOGIN, world_of
from carrying_killed import GAMES, PLACES
from games_made_up import Server
from paths import SUPPORT
from webhook_server import receiving

pytestmark = pytest.mark.integration

SECRET = {"GAMEWARDEN_WEBHOOK_SECRET": "a secret of enough letters"}
SCRIPT = SUPPORT.joinpath("carrying_killed.py")


def told(tmp_path, kind, verb, *ledger, **environment):
    """What came of it at each place."""
    done = subprocess.run(
        [sys.executable, str(SCRIPT), kind, verb, str(tmp_path), *ledger], capture_output=True, text=True, check=False,
        env={**os.environ, **environment},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def check_reached(outcomes, verb):
    """Each place was one where the process ended, but those that the way back does not come by: it does not look."""
    assert [one["place"] for one in outcomes] == PLACES
    missed = {one["place"] for one in outcomes if not one["killed"]}
    assert missed == ({"before look", "after look"} if verb == "undo" else set())
    assert not [one for one in outcomes if one["faults"] or not (one["killed"] or one["ended"])]


@pytest.mark.parametrize("verb", ["do", "undo"])
def test_killed_anywhere_and_started_again_there_is_exactly_one_effect(tmp_path, verb):
    outcomes = told(tmp_path, "log", verb)

    check_reached(outcomes, verb)
    assert {one["place"]: (one["state"], one["effects"]) for one in outcomes} == dict.fromkeys(PLACES, ("done", 1))


@pytest.fixture(params=GAMES)
def game(request, mariadb):
    """A kind of game, and where its accounts and its console are."""
    server = Server.new(mariadb, GAMES[request.param])
    if request.param == "rathena":
        server.add_poller()
        server.add_panel()
    with ExitStack() as stack:
        url = stack.enter_context(world_of(server)).url if request.param == "soap" else ""
        yield request.param, {"GAMEWARDEN_GAME_DB": mariadb, "SOAP": url, "SOAP_LOGIN": LOGIN}


@pytest.mark.parametrize("verb", ["do", "undo"])
@pytest.mark.parametrize("game", ["rathena"], indirect=True)
def test_killed_anywhere_there_is_exactly_one_effect_on_a_games_accounts(tmp_path, game, verb):
    kind, environment = game
    outcomes = told(tmp_path, kind, verb, **environment)

    check_reached(outcomes, verb)
    assert {one["place"]: (one["state"], one["effects"]) for one in outcomes} == dict.fromkeys(PLACES, ("done", 1))


@pytest.mark.parametrize("verb", ["do", "undo"])
def test_killed_after_any_statement_there_is_exactly_one_effect_and_all_who_are_told_are_told_once(
    tmp_path, game, verb
):
    kind, environment = game
    outcomes = told(tmp_path, kind, verb, **environment, STATEMENTS="all")

    assert [one["killed"] for one in outcomes].count(True) >= 2
    assert not outcomes[-1]["killed"]  # no statement was left out
    assert {(one["state"], one["effects"]) for one in outcomes} == {("done", 1)}
    kicked, panel = [["kick", None if verb == "do" else "refused"]], [2] if verb == "do" else [2, 0]
    assert all(one["told"] == ([*kicked, *panel] if kind == "rathena" else []) for one in outcomes)


@pytest.mark.parametrize("verb", ["do", "undo"])
def test_killed_anywhere_a_webhook_arrives_under_one_id(tmp_path, verb):
    with receiving() as receiver:
        outcomes = told(tmp_path, "webhook", verb, HOOK=receiver.url, **SECRET)
        sent = [headers["webhook-id"] for headers, _, _ in receiver.requests]

    check_reached(outcomes, verb)
    assert {one["state"] for one in outcomes} == {"done"}
    assert all(receiver.effects[one["key"]] == 1 for one in outcomes)
    assert len(receiver.effects) == len(PLACES) * (1 if verb == "do" else 2)
    assert max(map(sent.count, sent)) == 2  # killed after the effect and before it was written down


@pytest.mark.parametrize("verb", ["do", "undo"])
def test_killed_anywhere_a_program_that_may_not_run_twice_runs_once_at_most_and_a_person_is_asked(tmp_path, verb):
    outcomes = told(tmp_path, "command", verb)

    check_reached(outcomes, verb)
    assert {one["effects"] for one in outcomes} == {0, 1}
    assert {one["state"] for one in outcomes} == {"done", "uncertain"}
    # Whether it happened is known, or somebody is asked.
    assert {one["effects"] for one in outcomes if one["state"] == "done"} == {1}


@pytest.mark.parametrize("verb", ["do", "undo"])
def test_killed_anywhere_there_is_exactly_one_effect_with_a_ledger_on_postgresql(tmp_path, postgres, verb):
    outcomes = told(tmp_path, "log", verb, postgres)

    check_reached(outcomes, verb)
    assert {one["place"]: (one["state"], one["effects"]) for one in outcomes} == dict.fromkeys(PLACES, ("done", 1))
