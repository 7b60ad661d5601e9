"""Challenges: who is asked when, what an answer leads to, and what an outcome is evidence of."""

import hmac
import math
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from challenges_made_up import seeded
from gamewarden.cases import CHALLENGE, DISCONNECT, LOST, OPEN, PASSED, TIMEOUT, Challenge, Suspicion
from gamewarden.errors import ResponseError
from gamewarden.policy import ChallengeSettings
from gamewarden.response.challenges import REGISTRY, load
from gamewarden.response.challenges.answering import OVER, REFUSED, WRONG, Answer, answer, disconnect, expire
from gamewarden.response.challenges.asking import Issued, issue
from gamewarden.response.challenges.outcomes import likelihoods, observation_of
from gamewarden.response.challenges.phrases import ITEMS, LANGUAGES
from gamewarden.response.challenges.question import Game, plain
from gamewarden.response.challenges.waiting import Postponed, first_moment, interval, wait

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
SECRET = "a secret of the ledger"  # noqa: S105  of nobody
SETTINGS = ChallengeSettings()
KINDS = tuple(REGISTRY.own)


def suspicion(score=3.0, actor="ann", entered=NOW):
    return Suspicion(actor, score, 3, entered, entered)


def issued(now=NOW, *, settings=SETTINGS, score=3.0, history=(), kind="arithmetic", busy=(), seed=1, game=None):
    rng = seeded(seed)
    return issue(
        settings,
        suspicion(score),
        "s1",
        now,
        secret=SECRET,
        history=history,
        busy=busy,
        kind=kind,
        game=game,
        rng=rng,
    )


def reply(made, text=None, *, actor="ann", session="s1", now=NOW, challenge=None, settings=SETTINGS):
    said = made.question.answers[0] if text is None else text
    return answer(settings, challenge or made.challenge, Answer(actor, session, said), now, secret=SECRET)


def ended(state, ended_at=NOW, *, actor="ann", score=3.0, name="x", issued_at=None):
    begun = issued_at or ended_at - timedelta(minutes=1)
    return Challenge(
        name, actor, "s1", "image", begun, begun + timedelta(minutes=3), "", state, 1, ended_at, None, score
    )


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("language", LANGUAGES)
@given(seed=st.integers(0, 1 << 32))
def test_every_kind_is_passed_by_its_answer_and_only_by_it(kind, language, seed):
    made = issued(kind=kind, seed=seed, game=Game(language, npcs=("Kafra",)))

    assert made.challenge.kind == kind
    assert reply(made)[1].outcome == PASSED
    for text in ("", " ", "wrong", "123456789", made.challenge.answer, made.question.answers[0][:-1]):
        assert reply(made, text)[1].outcome == WRONG


@pytest.mark.parametrize("kind", KINDS)
def test_the_ledger_keeps_no_answer(kind):
    made = issued(kind=kind)
    read = load(kind).read(made.question.answers[0])
    guess = hmac.new(b"another secret", f"answer\0{made.challenge.id}\0{read}".encode(), "sha256").hexdigest()

    assert read not in repr(replace(made.challenge, answer="", id=""))
    assert len(made.challenge.answer) == len(guess)
    assert made.challenge.answer != guess


def test_the_same_answer_of_two_challenges_is_kept_in_two_ways():
    one = issued()
    other = replace(one.challenge, id="another")

    assert reply(one, challenge=other)[1].outcome == WRONG


def test_a_challenge_is_passed_once():
    made = issued()
    after, first = reply(made)

    assert (first.outcome, after.state, after.ended) == (PASSED, PASSED, NOW)
    assert reply(made, challenge=after) == (after, replace(first, outcome=OVER))


@pytest.mark.parametrize("other", [{"actor": "bob"}, {"session": "s2"}, {"actor": "ann "}, {"actor": "ANN"}])
def test_nobody_answers_for_another_account_or_session_and_the_refusal_is_that_of_an_unknown_id(other):
    made = issued()
    unknown = answer(SETTINGS, None, Answer("ann", "s1", "7"), NOW, secret=SECRET)[1]

    assert reply(made, **other) == (made.challenge, unknown)
    assert unknown.outcome == REFUSED


def test_an_answer_after_its_time_is_a_timeout_however_right_it_is():
    made = issued()
    late, told = reply(made, now=made.challenge.expires)

    assert (told.outcome, late.state, late.ended) == (TIMEOUT, TIMEOUT, made.challenge.expires)
    assert reply(made, now=made.challenge.expires - timedelta(microseconds=1))[1].outcome == PASSED


def test_wrong_answers_are_counted_and_the_last_one_fails_it():
    made = issued()
    challenge, outcomes = made.challenge, []
    for _ in range(4):
        challenge, told = reply(made, "no", challenge=challenge)
        outcomes.append((told.outcome, told.left, challenge.attempts))

    assert outcomes == [(WRONG, 2, 1), (WRONG, 1, 2), (LOST, 0, 3), (OVER, 0, 3)]
    assert reply(made, challenge=challenge)[1].outcome == OVER


def test_an_answer_by_somebody_else_costs_no_try():
    made = issued()

    assert reply(made, "no", actor="bob")[0] == made.challenge


def test_a_disconnect_is_no_guilt_and_no_pass():
    gone = disconnect(issued().challenge, NOW + timedelta(seconds=5))

    assert gone.state == DISCONNECT
    assert observation_of(gone, likelihoods(SETTINGS, [], {})).llr == 0
    assert reply(issued(), challenge=gone)[1].outcome == OVER


def test_who_disconnects_after_the_time_has_let_it_pass():
    made = issued().challenge

    assert disconnect(made, made.expires).state == TIMEOUT


@pytest.mark.parametrize("state", [PASSED, LOST, TIMEOUT, DISCONNECT])
def test_nothing_that_has_ended_changes(state):
    one = ended(state)

    assert disconnect(one, NOW) is one
    assert expire(one, NOW + timedelta(days=1)) is one


def test_a_pass_tells_the_reward():
    made = issued()

    assert reply(made, settings=ChallengeSettings(reward="a potion"))[1].reward == "a potion"
    assert reply(made, "no", settings=ChallengeSettings(reward="a potion"))[1].reward == ""


def test_a_kind_that_is_not_there_asks_nothing_and_passes_nothing():
    with pytest.raises(ResponseError, match="kind of challenge 'riddle' is unknown"):
        issued(kind="riddle")
    made = issued()
    with pytest.raises(ResponseError, match="'riddle' is unknown"):
        reply(made, challenge=replace(made.challenge, kind="riddle"))


@pytest.mark.parametrize("word", ["fighting", " Trading ", "DEAD"])
def test_nobody_is_asked_while_busy(word):
    later = issued(busy=("walking", word))

    assert later == Postponed(NOW + timedelta(minutes=1), word.strip().lower())
    assert isinstance(issued(busy=("walking",)), Issued)
    assert isinstance(issued(busy=(word,), settings=ChallengeSettings(never_while="")), Issued)


def test_only_one_challenge_of_an_account_is_open():
    first = issued().challenge
    often = ChallengeSettings(every="1s", least_every="1s")

    assert issued(NOW + timedelta(minutes=2), history=[first], settings=often) == Postponed(
        first.expires, "a challenge is open"
    )
    assert isinstance(issued(first.expires, history=[first], settings=often), Issued)


def test_after_a_pass_there_is_rest_until_suspicion_has_risen_again():
    passed = ended(PASSED, NOW - timedelta(days=1), score=4.0)  # it was 2.0 after it
    rested = Postponed(NOW + timedelta(days=6), "the last challenge was passed")

    assert issued(history=[passed], score=2.9) == rested
    assert isinstance(issued(history=[passed], score=3.0), Issued)
    assert isinstance(issued(NOW + timedelta(days=6), history=[passed], score=2.9), Issued)
    assert issued(history=[replace(passed, score=None)], score=8.0) == rested


@given(st.floats(-1e9, 1e9))
def test_the_wait_halves_with_each_step_of_suspicion_between_its_limits(score):
    found = interval(SETTINGS, score)

    assert timedelta(minutes=5) <= found <= timedelta(days=7)
    assert interval(SETTINGS, score + 1) <= found


def test_the_wait_is_that_of_the_reference_design():
    waits = [interval(SETTINGS, score) / timedelta(minutes=1) for score in (1.5, 2.5, 3.5, 4.5, 6.5)]

    assert waits == [120, 60, 30, 15, 5]


@given(st.floats(-6, 8), st.text(max_size=5), st.text(max_size=5))
def test_a_wait_varies_by_its_share_and_is_the_same_whenever_it_is_asked_for(score, name, secret):
    last = ended(LOST, name=name)
    found = wait(SETTINGS, score, last, secret)

    assert found == wait(SETTINGS, score, last, secret)
    assert found >= timedelta(minutes=5)
    assert 0.7 * interval(SETTINGS, score) <= found or found == timedelta(minutes=5)
    assert found <= max(1.3 * interval(SETTINGS, score), timedelta(minutes=5))


def test_waits_of_different_challenges_differ():
    assert len({wait(SETTINGS, 2.5, ended(LOST, name=str(name)), SECRET) for name in range(50)}) == 50


def test_who_has_disconnected_is_asked_again_soon():
    assert wait(SETTINGS, 2.5, ended(DISCONNECT), SECRET) == timedelta(minutes=5)


def test_the_first_challenge_does_not_follow_at_once():
    moments = {first_moment(SETTINGS, suspicion(2.5, actor=str(name)), SECRET) for name in range(50)}

    assert len(moments) == 50
    assert all(NOW <= moment < NOW + timedelta(minutes=18) for moment in moments)


@given(st.lists(st.tuples(st.integers(0, 900), st.sampled_from(["pass", "fail", "gone", "leave"])), max_size=40))
def test_no_sequence_floods_an_account_with_challenges(moves):
    history, now = [], NOW
    for seconds, move in moves:
        now += timedelta(seconds=seconds)
        history = [expire(one, now) for one in history]
        made = issued(now, history=history, score=8.0, seed=len(history))
        if isinstance(made, Issued):
            end = {"pass": PASSED, "fail": LOST, "gone": DISCONNECT}.get(move, OPEN)
            history.append(replace(made.challenge, state=end, ended=None if end == OPEN else now))

    moments = [one.issued for one in history]
    assert all(b - a >= timedelta(minutes=5) for a, b in pairwise(moments))


@given(st.text(st.characters(), max_size=400))
def test_any_text_is_read_by_every_kind(text):
    for kind in KINDS:
        read = load(kind).read(text)

        assert read.isascii() or not text.isascii()
        assert load(kind).read(read) == read or kind != "item"


@pytest.mark.parametrize("text", ["ａｃ ３４", "Ac34", " a C\u200b3\t4\u00a0", "AC٣٤"])
def test_case_spaces_width_and_script_of_digits_do_not_count(text):
    assert plain(text) == "ac34"


def test_a_text_without_end_answers_nothing():
    assert plain("1" + " " * 1000) == ""


@pytest.mark.parametrize("text", ["2 5", "5,2", "2、5", "２ と ５", "5 2 2", "No. 2 and no. 5"])
def test_items_are_named_by_their_numbers_in_any_order(text):
    assert load("item").read(text) == "25"


def test_a_number_may_begin_with_zeros():
    assert load("arithmetic").read(" 007 ") == "7"
    assert load("arithmetic").read("0") == "0"


@given(st.integers(0, 1 << 32))
def test_the_items_asked_for_are_those_of_their_kind(seed):
    question = load("item").ask(Game(), seeded(seed))
    listed = dict(part.split(": ") for part in question.text.partition("2 5. ")[2].split(", "))
    kind = question.text.removeprefix("Which of these are ").partition("?")[0]

    assert len(listed) == 9
    assert {listed[number] for number in question.answers[0]} == set(listed.values()) & set(ITEMS["en"][kind])


def test_too_few_items_are_refused_by_name():
    with pytest.raises(ResponseError, match="'swords' has 2 items of 3"):
        load("item").ask(Game(items={"swords": ("a", "b"), "food": ("c",)}), seeded(1))


def test_a_task_is_data_for_the_game_and_its_report_is_not_in_the_text():
    for seed in range(40):
        question = load("task").ask(Game(npcs=("Kafra",)), seeded(seed))

        assert question.task["report"] == question.answers[0]
        assert question.task["report"] not in question.text
        assert question.task["do"] in {"walk", "sit", "emote", "talk"}


def test_every_phrase_is_there_in_every_language_and_takes_the_same_values():
    english = LANGUAGES["en"]
    for phrases in LANGUAGES.values():
        assert phrases.keys() == english.keys()
        for name, phrase in phrases.items():
            assert sorted(_fields(phrase)) == sorted(_fields(english[name]))


def _fields(phrase):
    return [part.partition("}")[0] for part in phrase.split("{")[1:]]


def test_an_unknown_language_is_refused():
    with pytest.raises(ResponseError, match="language 'tlh' is unknown; choose one of: en, ko"):
        Game("tlh")


def outcomes(bots, humans):
    """Challenges with these outcomes, of an account each."""
    made = [(True, state, count) for state, count in bots.items()]
    made += [(False, state, count) for state, count in humans.items()]
    challenges, labels = [], {}
    for bot, state, count in made:
        for number in range(count):
            name = f"{bot}{state}{number}"
            challenges.append(ended(state, actor=name, name=name))
            labels[name] = bot
    return challenges, labels


def test_few_outcomes_change_nothing():
    found = likelihoods(SETTINGS, *outcomes({LOST: 49}, {PASSED: 1000}))

    assert (found.passed, found.failed, found.timeout, found.learned) == (-2.0, 3.0, 2.0, "")


def test_enough_outcomes_say_what_they_are_worth():
    found = likelihoods(SETTINGS, *outcomes({LOST: 60, TIMEOUT: 30, PASSED: 10}, {LOST: 5, TIMEOUT: 5, PASSED: 90}))

    assert found.failed == pytest.approx(math.log(61 / 6))
    assert found.timeout == pytest.approx(math.log(31 / 6))
    assert found.passed == pytest.approx(math.log(11 / 91))
    assert found.learned == "100 outcomes of known bots and 100 of known humans"


def test_a_pass_never_adds_suspicion_and_a_failure_takes_none_away():
    found = likelihoods(SETTINGS, *outcomes({PASSED: 100}, {LOST: 50, TIMEOUT: 50}))

    assert (found.passed, found.failed, found.timeout) == (0, 0, 0)


def test_one_account_counts_for_no_crowd():
    challenges = [ended(LOST, actor="bot", name=str(number)) for number in range(500)]
    humans, labels = outcomes({}, {PASSED: 100})

    assert likelihoods(SETTINGS, [*challenges, *humans], {**labels, "bot": True}).learned == ""


def test_disconnects_and_strangers_teach_nothing():
    challenges, labels = outcomes({DISCONNECT: 100, LOST: 49}, {PASSED: 100, DISCONNECT: 100})
    strangers = [ended(LOST, actor=f"stranger{number}", name=f"s{number}") for number in range(100)]

    assert likelihoods(SETTINGS, challenges + strangers, labels).learned == ""


def test_an_outcome_is_one_observation_that_carries_no_step_by_itself():
    usual = likelihoods(SETTINGS, [], {})
    lost = observation_of(ended(LOST), usual)

    assert (lost.kind, lost.ref, lost.llr, lost.agree, lost.fpr, lost.at) == (CHALLENGE, "x", 3.0, 0, None, NOW)
    assert lost == observation_of(ended(LOST), usual)
    assert [observation_of(ended(state), usual).llr for state in (PASSED, TIMEOUT, DISCONNECT)] == [-2.0, 2.0, 0.0]
    assert observation_of(issued().challenge, usual) is None
