"""Settings of the response: --config allows no more than the workspace's own, and every change is in the audit."""

import json
from datetime import timedelta

import pytest

from commands import done, run
from desks_made_up import NOON, make_desk, suspect
from gamewarden.config import config_from
from gamewarden.core.user import system_user
from gamewarden.desk.acts import act
from gamewarden.errors import ConfigError, ResponseError
from gamewarden.workspace.place import Workspace
from gamewarden.workspace.responding import Responding
from gamewarden.workspace.response_settings import no_more_permissive, values_of

OWN = {
    "response": {
        "armed": False,
        "canary": 0.1,
        "actions_per_hour": 5,
        "overturned_most": 0.05,
        "overturned_of": 5,
        "cases_per_day": 10,
        "evidence_for": "14d",
        "long_ban": "7d",
        "prior": 0.01,
    },
    "verdict": {"act": 0.0005, "agree": 3},
    "coverage": {"least": 0.95},
}
RUNG = {"name": "a", "enter": 1.0, "steps": ["limit"]}
WORKSPACE = '[workspace]\nlabels = ""\n'


def limited(other, own=OWN):
    return no_more_permissive(config_from(own, "own"), config_from(other, "other"), "other.toml")


@pytest.mark.parametrize(
    ("other", "says"),
    [
        ({"response": {"armed": True}}, "[response] armed = true: warden.toml of the workspace has false"),
        ({"response": {"four_eyes": False}}, "four_eyes = false"),
        ({"response": {"canary": 0.2}}, "canary = 0.2"),
        ({"response": {"actions_per_hour": 6}}, "actions_per_hour = 6"),
        ({"response": {"overturned_most": 0.1}}, "overturned_most = 0.1"),
        ({"response": {"overturned_of": 10}}, "overturned_of = 10"),
        ({"response": {"evidence_for": "15d"}}, 'evidence_for = "15d"'),
        ({"response": {"long_ban": "8d"}}, 'long_ban = "8d"'),
        ({"response": {"prior": 0.02}}, "prior = 0.02"),
        ({"response": {"prior": 0.001}}, "prior = 0.001"),
        ({"response": {"ladder": [RUNG]}}, "[[response.ladder]]"),
        ({"response": {"adapter": [{"name": "x", "kind": "log"}]}}, "[[response.adapter]]"),
        ({"verdict": {"act": 0.001}}, "act = 0.001"),
        ({"verdict": {"agree": 2}}, "agree = 2"),
        ({"coverage": {"least": 0.9}}, "least = 0.9"),
        ({"workspace": {"ledger": "other.db"}}, 'ledger = "other.db"'),
        ({"workspace": {"results": "other"}}, 'results = "other"'),
        ({"workspace": {"one_rater": True}}, "one_rater = true"),
        ({"retention": {"ledger": "1d"}}, 'ledger = "1d"'),
        ({"challenge": {"failed": 50.0}}, "failed = 50.0"),
        ({"verdict": {"watch": 0.5}}, "watch = 0.5"),
    ],
)
def test_another_file_that_allows_more_or_changes_the_policy_is_refused(other, says):
    with pytest.raises(ConfigError) as caught:
        limited(other)

    assert says in str(caught.value)
    assert str(caught.value).startswith("other.toml ")
    assert "write it into warden.toml" in str(caught.value)


NAMES = {"source": [{"name": "log", "locator": "log.csv"}]}
NUMBERS = {"source": [{"name": "log", "locator": "log.csv", "account_numbers": True}]}


def test_another_file_makes_no_account_numbers_of_names():
    pushed = {"workspace": {"account_numbers": True}}

    for other, own in ((NUMBERS, NAMES), (NUMBERS, {}), (pushed, NAMES)):
        with pytest.raises(ConfigError, match=r"account_numbers = true: warden\.toml of the workspace has"):
            limited(other, own)
    both = {"source": [*NAMES["source"], {**NUMBERS["source"][0], "name": "numbers"}]}
    assert [one.account_numbers for one in limited({"source": both["source"][1:]}, both).sources] == [False]
    assert limited({}, NAMES).sources == config_from(NAMES, "own").sources
    assert limited(NUMBERS, NUMBERS).sources == config_from(NUMBERS, "own").sources


def test_another_file_may_be_stricter():
    strict = {"response": {"canary": 0.05, "actions_per_hour": 1, "long_ban": "1d"}, "verdict": {"agree": 4}}

    found = limited(strict)

    assert (found.response.canary, found.response.actions_per_hour, found.response.long_ban) == (0.05, 1, "1d")
    assert found.verdict.agree == 4


def test_what_another_file_leaves_out_is_as_strict_as_the_workspaces_own_and_as_the_defaults():
    armed = {**OWN, "response": {**OWN["response"], "armed": True, "actions_per_hour": 50, "ladder": [RUNG]}}

    found = limited({"rank": {"top": 7}}, armed)

    assert (found.response.armed, found.response.actions_per_hour) == (False, 20)  # the defaults are stricter here
    assert (found.response.canary, found.response.long_ban, found.response.prior) == (0.1, "7d", 0.01)
    assert [rung.name for rung in found.ladder] == ["a"]
    assert found.rank.top == 7


def test_no_command_follows_a_file_that_arms_a_workspace(tmp_path):
    (tmp_path / "warden.toml").write_text(WORKSPACE)
    (tmp_path / "other.toml").write_text("[response]\narmed = true\n")

    named = run("--workspace", tmp_path, "--config", tmp_path / "other.toml", "decide")
    inside = run("--config", "other.toml", "decide", cwd=tmp_path)
    shown = run("--config", "other.toml", "config", cwd=tmp_path)

    for ended in (named, inside, shown):
        assert ended.returncode == 1
        assert "--config cannot allow more" in ended.stderr
    assert not (tmp_path / "ledger.db").exists()


def audited(workspace):
    return [line for line in workspace.ledger.lines() if line.what == "change response settings"]


def settings(tmp_path, text, config=None):
    (tmp_path / "warden.toml").write_text(WORKSPACE + text)
    return Workspace.at(tmp_path, config)


def test_arming_and_every_change_is_in_the_audit_once_with_who_and_both_values(tmp_path):
    for text in ("", "", "[response]\narmed = true\n", "[response]\narmed = true\n", "[response]\ncanary = 0.5\n"):
        workspace = settings(tmp_path, text)
        Responding(workspace, NOON).carry()

    assert [(line.who, line.at, line.old, line.new) for line in audited(workspace)] == [
        (system_user(), NOON, {"[response] armed": False}, {"[response] armed": True}),
        (
            system_user(),
            NOON,
            {"[response] armed": True, "[response] canary": 1.0},
            {"[response] armed": False, "[response] canary": 0.5},
        ),
    ]


def test_who_changed_settings_is_the_user_of_the_process_and_not_what_the_environment_says(tmp_path, monkeypatch):
    monkeypatch.setenv("LOGNAME", "mallory")
    Responding(settings(tmp_path, "[challenge]\nfailed = 9.0\n"), NOON).carry()
    Responding(workspace := settings(tmp_path, ""), NOON).carry()

    assert [(line.who, line.old, line.new) for line in audited(workspace)] == [
        (system_user(), {"[challenge] failed": 3.0}, {"[challenge] failed": 9.0}),
        (system_user(), {"[challenge] failed": 9.0}, {"[challenge] failed": 3.0}),
    ]
    assert system_user() != "mallory"


def test_settings_that_an_earlier_version_did_not_record_are_compared_with_the_defaults(tmp_path):
    ladder = '[[response.ladder]]\nname = "a"\nenter = 1.0\nsteps = ["limit"]\n'
    workspace = settings(tmp_path, ladder)
    known = {name: value for name, value in values_of(workspace.config).items() if "challenge" not in name}
    with workspace.ledger.writing("eve", NOON) as work:
        work.remember("response settings", json.dumps(known))
    Responding(settings(tmp_path, "[challenge]\nfailed = 9.0\n" + ladder), NOON).carry()

    [line] = audited(workspace)
    assert (line.old, line.new) == ({"[challenge] failed": 3.0}, {"[challenge] failed": 9.0})


def test_a_changed_rung_and_a_changed_adapter_are_in_the_audit_without_addresses(tmp_path):
    ladder = '[[response.ladder]]\nname = "a"\nenter = 1.0\nsteps = ["limit"]\n'
    adapter = '[[response.adapter]]\nname = "hook"\nkind = "webhook"\nurl = "https://game.example/{}"\n'
    for text in (ladder + adapter.format("token1"), ladder.replace("1.0", "2.0") + adapter.format("token2")):
        workspace = settings(tmp_path, text)
        Responding(workspace, NOON).decide()

    last = audited(workspace)[-1]

    assert set(last.old) == set(last.new) == {"[[response.ladder]] a", "[[response.adapter]] hook"}
    assert "enter = 1.0" in last.old["[[response.ladder]] a"]
    assert "enter = 2.0" in last.new["[[response.ladder]] a"]
    assert "token" not in json.dumps([last.old, last.new])


def test_a_stricter_file_is_named_in_the_audit(tmp_path):
    (tmp_path / "calm.toml").write_text("[response]\ncanary = 0.5\n")
    workspace = settings(tmp_path, "", tmp_path / "calm.toml")

    Responding(workspace, NOON).carry()

    assert [line.new["--config"] for line in audited(workspace)] == [str(tmp_path / "calm.toml")]


def test_what_a_person_decides_at_the_desk_under_changed_settings_is_preceded_by_them(tmp_path):
    desk = suspect(make_desk(tmp_path / "ws", armed=True), "ann")

    act(desk, ["ann"], "ban", by="Ada", because="a farm")

    kinds = [line.what for line in desk.workspace.ledger.lines()]
    assert kinds.index("change response settings") < kinds.index("add decisions")


@pytest.mark.parametrize("step", ["ban", "suspend"])
def test_a_command_line_ban_or_suspension_for_ten_years_waits_for_a_second_person(tmp_path, step):
    (tmp_path / "warden.toml").write_text(WORKSPACE)
    words = ("--workspace", tmp_path, "decide", "kim", step, "--by", "Ada", "--because", "seen")

    long, short = (done(*words, "--for", span) for span in ("3650d", "30d"))

    assert "once a second person approves" in long.stderr
    assert "second person" not in short.stderr
    found = json.loads(done("--workspace", tmp_path, "decisions", "list", "--json").stdout)
    assert sorted(one["stands"] for one in found) == ["rehearsed", "waits for approval"]


def test_a_ban_that_was_decided_under_a_longer_limit_can_be_approved(tmp_path):
    armed = '[response]\narmed = true\nwave = "1s"\nlong_ban = "{}"\n'
    decided = Responding(settings(tmp_path, armed.format("60d")), NOON)
    made, _ = decided.by_person("kim", "ban", by="Ada", because="seen", span=timedelta(days=50))
    later = Responding(settings(tmp_path, armed.format("30d")), NOON + timedelta(hours=1))

    assert str(later.carry()) == "1 waiting"
    with pytest.raises(ResponseError, match="two people"):
        later.approve(made.id, by="ada")
    later.approve(made.id, by="Ben")
    assert str(later.carry()) == "1 carried out"
    with pytest.raises(ResponseError, match="nothing to approve"):
        later.approve(made.id, by="Cid")
