"""Challenges in a ledger: written with their evidence, whoever answers at once, and whatever a game does with them."""

import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, invariant, multiple, rule

import challenges_made_up
from challenges_made_up import decided, seeded
from commands import done, run
from gamewarden.cases import (
    CHALLENGE,
    DISCONNECT,
    LOST,
    OPEN,
    PASSED,
    TIMEOUT,
    Challenge,
    Label,
    Observation,
    Protected,
    Suspicion,
)
from gamewarden.config import Config
from gamewarden.errors import ResponseError
from gamewarden.policy import ChallengeSettings, Response
from gamewarden.response.challenges.answering import OVER, REFUSED, WRONG, Answer
from gamewarden.response.challenges.asking import Issued
from gamewarden.response.challenges.question import Game
from gamewarden.response.challenges.waiting import Postponed
from gamewarden.store.ledger.ledger import Ledger
from gamewarden.workspace.challenging import SECRET, Asked, Challenging

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
SECOND, MINUTE = timedelta(seconds=1), timedelta(minutes=1)
ARMED = Config(response=Response(armed=True), challenge=ChallengeSettings(kind="arithmetic", reward="a potion"))
ANN = Asked("ann", "s1")


@pytest.fixture
def ledger(tmp_path):
    made = Ledger.at(tmp_path / "ledger.db")
    yield made
    made.close()


def challenging(ledger, config=ARMED, **options):
    return Challenging(ledger, config, Game(), seeded(1), **options)


def told(made, text=None, *, actor="ann", session="s1"):
    return made.challenge.id, Answer(actor, session, made.question.answers[0] if text is None else text)


def test_a_challenge_is_written_with_its_evidence_in_one_go(ledger):
    desk = challenging(ledger)
    made = desk.issue(ANN, NOW)
    reply = desk.answer(*told(made), NOW + SECOND)

    assert (reply.outcome, reply.reward) == (PASSED, "a potion")
    assert [(one.state, one.ended) for one in ledger.find(Challenge)] == [(PASSED, NOW + SECOND)]
    (seen,) = ledger.find(Observation)
    assert (seen.actor, seen.kind, seen.llr, seen.ref, seen.agree) == ("ann", CHALLENGE, -2.0, made.challenge.id, 0)


def test_what_evidence_leads_to_is_settled_within_the_same_transaction(ledger):
    seen = []

    def settle(work, actors):
        seen.append((len(work.find(Observation)), actors))
        raise ResponseError("the ladder is broken")

    desk = challenging(ledger, settle=settle)
    made = desk.issue(ANN, NOW)
    with pytest.raises(ResponseError, match="the ladder is broken"):
        desk.answer(*told(made), NOW)

    assert seen == [(1, {"ann"})]
    assert ledger.find(Observation) == []
    assert [one.state for one in ledger.find(Challenge)] == [OPEN]


def test_the_audit_knows_the_reward_and_no_answer(ledger, tmp_path):
    desk = challenging(ledger)
    made = desk.issue(ANN, NOW)
    desk.answer(*told(made), NOW)

    from gamewarden.cases import AuditLine

    lines = ledger.find(AuditLine)
    assert [line.what for line in lines] == ["add challenges", "change challenges", "reward"]
    assert lines[-1].new == {"actor": "ann", "reward": "a potion"}
    assert made.question.text.encode() not in (tmp_path / "ledger.db").read_bytes()
    assert list(ledger.audit_faults()) == []


def test_who_cannot_answer_a_kind_gets_another_once_with_what_is_left(ledger):
    desk = challenging(ledger)
    first = desk.issue(ANN, NOW)
    desk.answer(*told(first, "no"), NOW + SECOND)
    instead = replace(ANN, kind="item", instead=first.challenge.id)
    second = desk.issue(instead, NOW + MINUTE)

    assert (second.challenge.kind, second.challenge.attempts) == ("item", 1)
    assert (second.challenge.expires, second.challenge.issued) == (first.challenge.expires, NOW + MINUTE)
    assert "You have 2 min." in second.text
    assert [one.state for one in ledger.find(Challenge, order=("issued",))] == [DISCONNECT, OPEN]
    assert [one.llr for one in ledger.find(Observation)] == [0.0]
    assert desk.answer(*told(first), NOW + MINUTE).outcome == OVER
    with pytest.raises(ResponseError, match="was asked in the place of another"):
        desk.issue(replace(ANN, kind="task", instead=second.challenge.id), NOW + 2 * MINUTE)
    assert desk.answer(*told(second), NOW + 2 * MINUTE).outcome == PASSED


@pytest.mark.parametrize(
    ("words", "after", "says"),
    [
        ({"kind": "arithmetic"}, SECOND, "is of the kind arithmetic already"),
        ({"kind": "item", "session": "s2"}, SECOND, "no such challenge"),
        ({"kind": "item", "actor": "bob"}, SECOND, "no such challenge"),
        ({"kind": "item"}, 3 * MINUTE, "is over"),
        ({"kind": "item", "busy": ("fighting",)}, SECOND, None),
    ],
)
def test_nothing_else_is_asked_in_the_place_of_a_challenge(ledger, words, after, says):
    desk = challenging(ledger)
    first = desk.issue(ANN, NOW)
    asked = replace(ANN, instead=first.challenge.id, **words)
    if says is None:
        assert isinstance(desk.issue(asked, NOW + after), Issued)  # it was asked already: a fight does not matter
        return
    with pytest.raises(ResponseError, match=says):
        desk.issue(asked, NOW + after)

    assert ledger.find(Challenge) == [first.challenge]
    assert ledger.find(Observation) == []


def test_the_key_of_answers_is_made_once_and_kept(ledger):
    desk = challenging(ledger)
    desk.issue(ANN, NOW)
    first = ledger.fact(SECRET)
    desk.issue(Asked("bob", "s2"), NOW)

    assert len(first) == 64
    assert ledger.fact(SECRET) == first


def test_a_challenge_that_cannot_be_told_from_another_is_not_asked(ledger):
    challenging(ledger).issue(ANN, NOW)

    with pytest.raises(ResponseError, match="its id is taken"):
        challenging(ledger).issue(Asked("bob", "s2"), NOW)  # the same chance draws the same id


def test_in_a_rehearsal_nobody_is_asked(ledger):
    desk = challenging(ledger, replace(ARMED, response=Response()))
    with pytest.raises(ResponseError, match=r"armed is false, so nobody is asked"):
        desk.issue(ANN, NOW)
    shown = desk.rehearse(ANN, NOW)

    assert isinstance(shown, Issued)
    assert ledger.find(Challenge) == []
    assert desk.answer(*told(shown), NOW).outcome == REFUSED


def test_who_is_protected_is_not_asked(ledger):
    with ledger.writing("gm", NOW) as work:
        work.add([Protected("ann", NOW + MINUTE, "gm", "a tester", NOW)])

    assert challenging(ledger).issue(ANN, NOW) == Postponed(NOW + MINUTE, "the account is protected")
    assert isinstance(challenging(ledger).issue(ANN, NOW + MINUTE), Issued)


def test_a_new_session_ends_what_was_open_in_another_without_guilt(ledger):
    desk = challenging(ledger)
    first = desk.issue(ANN, NOW)
    later = desk.issue(Asked("ann", "s2"), NOW + MINUTE)

    assert isinstance(later, Postponed)  # but not at once
    assert [one.state for one in ledger.find(Challenge)] == [DISCONNECT]
    assert [one.llr for one in ledger.find(Observation)] == [0.0]
    assert desk.answer(*told(first), NOW + MINUTE).outcome == OVER
    assert isinstance(desk.issue(Asked("ann", "s2"), NOW + 5 * MINUTE), Issued)


def test_what_nobody_answers_ends_by_itself_and_once(ledger):
    desk = challenging(ledger)
    desk.issue(ANN, NOW)

    assert desk.expire(NOW + 2 * MINUTE) == []
    assert [one.state for one in desk.expire(NOW + 3 * MINUTE)] == [TIMEOUT]
    assert desk.expire(NOW + 4 * MINUTE) == []
    assert [(one.llr, one.at) for one in ledger.find(Observation)] == [(2.0, NOW + 3 * MINUTE)]


def test_a_late_answer_is_written_down_as_a_timeout(ledger):
    desk = challenging(ledger)
    made = desk.issue(ANN, NOW)

    assert desk.answer(*told(made), NOW + 3 * MINUTE).outcome == TIMEOUT
    assert [one.llr for one in ledger.find(Observation)] == [2.0]


def test_the_end_of_a_challenge_nobody_knows_is_refused(ledger):
    with pytest.raises(ResponseError, match=r"challenge 'x\\\\x1b' is unknown"):
        challenging(ledger).end("x\x1b", NOW)


def test_a_pass_lifts_no_decision(ledger):
    decided(ledger, "ann", NOW)
    desk = challenging(ledger)
    before = ledger.find(type(decided(ledger, "bob", NOW)))
    made = desk.issue(ANN, NOW)
    desk.answer(*told(made), NOW)

    assert made.challenge.decision == "decision of ann"
    assert ledger.find(type(before[0])) == before


def test_outcomes_of_known_accounts_are_learned_from(ledger):
    short = replace(ARMED, challenge=ChallengeSettings(kind="arithmetic", learned_from=4))
    names = [(f"{state}{number}", state) for state in (PASSED, LOST) for number in range(4)]
    old = Challenge("", "", "s", "image", NOW, NOW, "", PASSED, 1, NOW)
    with ledger.writing("gm", NOW) as work:
        work.add([replace(old, id=name, actor=name, state=state) for name, state in names])
        work.add([Label(name, state == LOST, "rater", NOW, "gm") for name, state in names])
    desk = challenging(ledger, short)
    desk.answer(*told(desk.issue(ANN, NOW)), NOW)

    assert [one.llr for one in ledger.find(Observation)] == [pytest.approx(-1.6094, abs=1e-4)]  # ln (1/7)/(5/7)


def test_only_steps_that_were_carried_out_make_a_challenge_due(ledger):
    for name, options in {
        "carried out": {},
        "waits": {"state": "waiting"},
        "canary": {"state": "rehearsed"},
        "rehearsal": {"rehearsal": True},
        "over": {"until": NOW},
        "undone": {"undone_at": NOW},
        "unapproved": {"waits_for": "approval"},
        "protected": {},
    }.items():
        decided(ledger, name, NOW - MINUTE, **options)
    with ledger.writing("gm", NOW) as work:
        work.add([Protected("protected", NOW + MINUTE, "gm", "a tester", NOW)])

    assert [(one.actor, one.decision) for one in challenging(ledger).due(NOW)] == [
        ("carried out", "decision of carried out")
    ]
    assert challenging(ledger, replace(ARMED, response=Response())).due(NOW) == []


def test_who_is_due_can_be_asked_from_then_on_and_not_before(ledger):
    decided(ledger, "ann", NOW)
    with ledger.writing("gm", NOW) as work:
        work.add([Suspicion("ann", 3.5, 3, NOW, NOW)])
    desk = challenging(ledger)
    first = desk.due(NOW)[0]
    made = desk.issue(ANN, first.at)
    desk.answer(*told(made, "no"), first.at)
    again = desk.due(first.at + 3 * MINUTE)[0]
    desk.expire(first.at + 3 * MINUTE)
    once_more = desk.due(first.at + 3 * MINUTE)[0]

    assert NOW <= first.at <= NOW + 9 * MINUTE
    assert once_more.at == again.at
    assert 21 * MINUTE <= again.at - first.at <= 39 * MINUTE
    assert again.because == "the last challenge was not long ago"
    assert isinstance(desk.issue(ANN, again.at - SECOND), Postponed)
    assert isinstance(desk.issue(ANN, again.at), Issued)


@pytest.mark.integration
def test_of_processes_that_answer_at_once_one_wins(ledger, tmp_path):
    desk = challenging(ledger)
    made = [desk.issue(Asked(f"ann{number}", "s1"), NOW) for number in range(25)]
    words = [word for one in made for word in (one.challenge.id, one.challenge.actor, one.question.answers[0])]
    command = [sys.executable, challenges_made_up.__file__, tmp_path / "ledger.db", *words]
    several = [subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    assert [one.stdout.readline() for one in several] == ["ready\n"] * 3
    for one in several:
        one.stdin.write("go\n")
        one.stdin.flush()
    ended = [one.communicate()[0].split() for one in several]

    assert [sorted(replies) for replies in zip(*ended, strict=True)] == [[OVER, OVER, PASSED]] * 25
    assert len(ledger.find(Observation)) == 25
    assert list(ledger.audit_faults()) == []


def test_on_postgresql_one_of_several_answers_at_once_wins_too(postgres):
    asking = Ledger.at(postgres)
    desk = challenging(asking)
    made = [desk.issue(Asked(f"ann{number}", "s1"), NOW) for number in range(10)]
    several = [Ledger.at(postgres) for _ in range(4)]

    def answer_all(ledger):
        desk = challenging(ledger)
        return [desk.answer(*told(one, actor=one.challenge.actor), NOW).outcome for one in made]

    with ThreadPoolExecutor(4) as pool:
        ended = list(pool.map(answer_all, several))

    assert [sorted(replies) for replies in zip(*ended, strict=True)] == [[OVER, OVER, OVER, PASSED]] * 10
    assert len(asking.find(Observation)) == 10
    assert list(asking.audit_faults()) == []
    for ledger in (asking, *several):
        ledger.close()


class AnyGame(RuleBasedStateMachine):
    """A game that asks, answers rightly and wrongly, for others, again, late, and loses connections."""

    made = Bundle("made")

    def __init__(self):
        super().__init__()
        self.place = TemporaryDirectory()
        self.ledger = Ledger.at(Path(self.place.name) / "ledger.db")
        self.now, self.count, self.rights = NOW, 0, {}
        self.desk = Challenging(self.ledger, ARMED, Game(), seeded(3))

    def teardown(self):
        self.ledger.close()
        self.place.cleanup()

    @rule(target=made, actor=st.sampled_from("ab"), session=st.sampled_from("st"), kind=st.sampled_from(["item", None]))
    def ask(self, actor, session, kind):
        found = self.desk.issue(Asked(actor, session, kind=kind), self.now)
        return found if isinstance(found, Issued) else multiple()

    @rule(seconds=st.sampled_from([1, 60, 200, 3600, 700_000]))
    def wait(self, seconds):
        self.now += timedelta(seconds=seconds)

    @rule(one=made)
    def answer_rightly(self, one):
        before = self.state(one)
        reply = self.desk.answer(*told(one, actor=one.challenge.actor, session=one.challenge.session), self.now)

        late = self.now >= one.challenge.expires
        assert reply.outcome == (OVER if before.state != OPEN else TIMEOUT if late else PASSED)
        assert (reply.reward == "a potion") == (reply.outcome == PASSED)

    @rule(one=made, text=st.text(max_size=8))
    def answer_wrongly(self, one, text):
        before = self.state(one)
        given = f"{text}wrong123456789"
        reply = self.desk.answer(*told(one, given, actor=one.challenge.actor, session=one.challenge.session), self.now)

        assert reply.outcome in {WRONG, LOST, TIMEOUT, OVER}
        assert reply.outcome == OVER or before.state == OPEN
        assert self.state(one).attempts <= 3

    @rule(one=made, other=st.sampled_from([("a", "x"), ("x", "s"), ("b", "t"), ("", "")]), right=st.booleans())
    def answer_for_another(self, one, other, right):
        before = self.state(one)
        if other == (one.challenge.actor, one.challenge.session):
            return
        reply = self.desk.answer(*told(one, None if right else "wrong", actor=other[0], session=other[1]), self.now)

        assert reply == self.desk.answer("nobody knows it", Answer(*other, "1"), self.now)
        assert self.state(one) == before

    @rule(one=made)
    def lose_connection(self, one):
        before = self.state(one)
        after = self.desk.end(one.challenge.id, self.now)

        assert after == before if before.state != OPEN else after.state in {DISCONNECT, TIMEOUT}

    @rule(one=consumes(made))
    def forget(self, one):
        del one

    @rule()
    def look_for_late_ones(self):
        self.desk.expire(self.now)

        assert all(one.expires > self.now for one in self.ledger.find(Challenge, state=OPEN))

    def state(self, one):
        return self.ledger.find(Challenge, id=one.challenge.id)[0]

    @invariant()
    def every_end_is_one_observation_and_nobody_has_two_open(self):
        challenges = self.ledger.find(Challenge)
        over = {one.id: one.state for one in challenges if one.state != OPEN}
        seen = self.ledger.find(Observation)
        worth = {PASSED: -2.0, LOST: 3.0, TIMEOUT: 2.0, DISCONNECT: 0.0}

        assert {one.ref: one.llr for one in seen} == {name: worth[state] for name, state in over.items()}
        assert len(seen) == len(over)
        still = [one.actor for one in challenges if one.state == OPEN]
        assert len(still) == len(set(still))


TestAnyGame = pytest.mark.integration(AnyGame.TestCase)
TestAnyGame.settings = hypothesis_settings(stateful_step_count=30)


@pytest.fixture
def home(tmp_path):
    (tmp_path / "warden.toml").write_text('[workspace]\nlake = "lake"\n[response]\narmed = true\n', encoding="utf-8")
    return tmp_path


def test_a_game_asks_and_answers_by_commands(home):
    pytest.importorskip("PIL")
    asked = done("challenge", "issue", "ann", "--session", "s1", "--to", "x.bmp", "--tell-answer", "--json", cwd=home)
    made = json.loads(asked.stdout)
    words = ("challenge", "answer", made["id"], "--session", "s1", "--json")
    wrong = done(*words, "--actor", "ann", "--", "--nothing", cwd=home)
    other = run(*words, "--actor", "bob", "--", made["answer"], cwd=home)
    unknown = run("challenge", "answer", "x", "--actor", "ann", "--session", "s1", "--", "1", cwd=home)
    right = done(*words, "--actor", "ann", "--language", "ko", "--", made["answer"].lower(), cwd=home)
    listed = json.loads(done("challenge", "list", "--actor", "ann", "--json", cwd=home).stdout)

    assert (home / "x.bmp").stat().st_size == 59_454
    assert json.loads(wrong.stdout)["left"] == 2
    assert (other.returncode, other.stderr) == (unknown.returncode, unknown.stderr)
    assert other.stderr == "gamewarden: challenge: there is no such challenge of this account in this session\n"
    assert json.loads(right.stdout) == {"outcome": "passed", "left": 0, "text": "감사합니다. 정답입니다.", "reward": ""}
    assert [(one["state"], one["attempts"]) for one in listed] == [("passed", 2)]
    assert "answer" not in listed[0]


def test_who_is_busy_is_asked_later(home):
    words = ("challenge", "issue", "ann", "--session", "s1", "--kind", "arithmetic", "--busy", "fighting", "--json")
    told = json.loads(done(*words, cwd=home).stdout)

    assert told["because"] == "fighting"
    assert json.loads(done("challenge", "list", "--json", cwd=home).stdout) == []


def test_a_picture_that_cannot_be_written_asks_nobody(home):
    nowhere = run("challenge", "issue", "ann", "--session", "s1", cwd=home)
    odd = run("challenge", "issue", "ann", "--session", "s1", "--to", "x.gif", cwd=home)

    assert (nowhere.returncode, odd.returncode) == (2, 1)
    assert "--to FILE.png" in nowhere.stderr
    assert json.loads(done("challenge", "list", "--json", cwd=home).stdout) == []


def test_a_kind_that_is_not_there_is_one_line(home):
    ended = run("challenge", "issue", "ann", "--session", "s1", "--kind", "riddle", cwd=home)

    assert ended.returncode == 1
    assert ended.stderr == (
        "gamewarden: kind of challenge 'riddle' is unknown; choose one of: image, arithmetic, item, task\n"
    )


def test_a_disconnect_is_told_by_its_id(home):
    words = ("challenge", "issue", "ann", "--session", "s1", "--kind", "task", "--json")
    made = json.loads(done(*words, cwd=home).stdout)

    assert made["task"]["report"] not in made["text"]
    assert run("challenge", "end", made["id"], cwd=home).returncode == 2
    assert done("challenge", "end", made["id"], "--disconnect", cwd=home).stdout == f"{made['id']}: disconnect\n"


def test_a_game_has_its_own_words(home):
    (home / "words.toml").write_text('npcs = ["카프라"]\n[items]\n"무기" = ["검"]\n', encoding="utf-8")
    with (home / "warden.toml").open("a", encoding="utf-8") as file:
        file.write('[challenge]\nwords = "words.toml"\nlanguage = "ko"\n')
    words = ("challenge", "issue", "ann", "--session", "s1", "--rehearse", "--json", "--kind")
    few = run(*words, "item", cwd=home)
    (home / "words.toml").write_text("item = 1", encoding="utf-8")
    odd = run(*words, "item", cwd=home)

    assert "'무기' has 1 items of 1" in few.stderr
    assert "'item' is unknown; write npcs = [names] and [items] with kind = [names]" in odd.stderr


def test_who_is_due_is_listed_for_a_game(home):
    ledger = Ledger.at(home / "ledger.db")
    decided(ledger, "ann", datetime.now(UTC))
    ledger.close()
    (one,) = json.loads(done("challenge", "due", "--json", cwd=home).stdout)

    assert (one["actor"], one["decision"]) == ("ann", "decision of ann")
