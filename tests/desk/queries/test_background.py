"""Behind the desk a workspace is run, never twice at once, and actions leave when they are due."""

import json
import time
from datetime import timedelta

import pytest

from desks_made_up import NOON, make_desk, suspect
from gamewarden.desk import background
from gamewarden.desk.acts import act
from gamewarden.desk.background import Background, carry_due
from gamewarden.errors import ConfigError
from gamewarden.workspace.place import Workspace
from pushes_made_up import make_workspace


def until(wanted, seconds=60):
    """Wait for something to become true."""
    for _ in range(int(seconds / 0.05)):
        if wanted():
            return
        time.sleep(0.05)
    raise AssertionError("it did not happen")


@pytest.fixture
def workspace(tmp_path):
    return make_workspace(tmp_path / "ws")


def test_a_run_begins_at_once_and_the_next_is_due_after_the_span(workspace):
    behind = Background(workspace, timedelta(hours=1))
    behind.start()
    until(lambda: behind.state().next is not None)
    state = behind.state()
    behind.stop()

    assert state.last.code == 0, state.last
    assert state.last.started <= state.last.ended < state.next
    assert any(line.startswith("models") for line in state.last.lines)


def test_what_fails_in_a_run_is_told(workspace):
    workspace.lake.mkdir()
    (workspace.lake / "lake.json").write_text("broken")
    behind = Background(workspace)
    behind.run_now()
    until(lambda: behind.state().last is not None and behind.state().last.ended is not None)
    last = behind.state().last
    behind.stop()

    assert last.code == 1
    assert "lake.json" in last.failures[0]


def test_nothing_runs_by_itself_unless_it_is_wanted(workspace):
    behind = Background(workspace, look=0.01)
    behind.start()
    time.sleep(0.2)
    state = behind.state()
    behind.stop()

    assert (state.running, state.last, state.next) == (False, None, None)


def test_a_run_that_goes_on_is_not_done_twice_and_ends_when_the_desk_is_closed(workspace, monkeypatch):
    def lasting(_root, _settings):
        return background.subprocess.Popen(
            ["sleep", "60"],
            stdout=background.subprocess.PIPE,
            text=True,
        )

    monkeypatch.setattr(background, "_started", lasting)
    behind = Background(workspace)
    first = behind.run_now()
    until(lambda: behind.state().running)
    second = behind.run_now()
    begun = time.monotonic()
    behind.stop()

    assert (first, second) == (True, False)
    assert time.monotonic() - begun < 10
    assert behind.state().last.code == -15
    assert not behind.state().running


@pytest.fixture
def later(monkeypatch):
    monkeypatch.setattr(background, "now", lambda: NOON + timedelta(hours=1))


@pytest.mark.usefixtures("later")
def test_actions_that_are_due_leave_between_runs_where_the_response_is_armed(tmp_path):
    desk = suspect(make_desk(tmp_path / "ws", armed=True), "ann")
    act(desk, ["ann"], "freeze", by="Ada", because="a farm", span=timedelta(days=7))
    root = desk.workspace.root
    told, again = carry_due(root), carry_due(root)

    assert told == "1 carried out"
    assert again == ""
    assert [json.loads(line)["actor"] for line in (root / "actions.jsonl").read_text().splitlines()] == ["ann"]


@pytest.mark.usefixtures("later")
def test_nothing_leaves_once_somebody_disarms_it(tmp_path):
    desk = suspect(make_desk(tmp_path / "ws", armed=True), "ann")
    act(desk, ["ann"], "freeze", by="Ada", because="a farm", span=timedelta(days=7))
    settings = desk.workspace.root / "warden.toml"
    settings.write_text(settings.read_text().replace("armed = true", "armed = false"))

    assert carry_due(desk.workspace.root) == ""
    assert not (desk.workspace.root / "actions.jsonl").exists()


@pytest.mark.usefixtures("later")
def test_nothing_leaves_behind_a_desk_that_was_given_settings_of_a_rehearsal(tmp_path):
    desk = suspect(make_desk(tmp_path / "ws", armed=True), "ann")
    act(desk, ["ann"], "freeze", by="Ada", because="a farm", span=timedelta(days=7))
    root, named = desk.workspace.root, tmp_path / "rehearsal.toml"
    named.write_text((root / "warden.toml").read_text().replace("armed = true", "armed = false"))
    behind = Background(Workspace.at(root, named), look=0.01)
    behind.start()
    time.sleep(0.3)
    behind.stop()

    assert not (root / "actions.jsonl").exists()


def test_a_run_follows_the_settings_that_the_desk_was_given(workspace, tmp_path):
    named = tmp_path / "named.toml"
    named.write_text(
        (workspace.root / "warden.toml").read_text().replace("[workspace]", '[workspace]\nlake = "sea"', 1)
    )
    behind = Background(Workspace.at(workspace.root, named))
    own = workspace.root / "warden.toml"
    own.write_text(own.read_text().replace("[workspace]", '[workspace]\nlake = "broken"', 1))
    (workspace.root / "broken").mkdir()
    (workspace.root / "broken" / "lake.json").write_text("broken")
    behind.run_now()
    until(lambda: behind.state().last is not None and behind.state().last.ended is not None)
    last = behind.state().last
    behind.stop()

    assert last.code == 0, last


def test_settings_that_cannot_be_followed_are_told_and_end_nothing(workspace):
    (workspace.root / "warden.toml").write_text("[workspace]\nnonsense = 1\n")
    with pytest.raises(ConfigError):
        carry_due(workspace.root)
    behind = Background(workspace, look=0.01)
    behind.start()
    until(lambda: behind.state().trouble)
    behind.stop()

    assert "nonsense" in behind.state().trouble
