"""How players and bots of the synthetic world answer a challenge."""

from collections import Counter
from datetime import UTC, datetime, timedelta

import pytest

from gamewarden.cases import DISCONNECT, LOST, PASSED, TIMEOUT
from gamewarden.errors import ConfigError
from gamewarden.lab.world.answers import ALONE, LEAVES, ON_CALL, PERSON, SOLVER, Answers
from gamewarden.lab.world.personas import BOTS, HUMANS, NEIGHBOURS

NOON = datetime(2015, 8, 24, 12, tzinfo=UTC)
LASTS = timedelta(minutes=3)


def cast(persona, accounts=400):
    return Answers({f"u{number:07d}": persona for number in range(accounts)}, seed=5)


def outcomes(answers, days=20):
    """Each account is asked once a day, at another hour each time."""
    moments = [NOON + timedelta(hours=25 * day) for day in range(days)]
    return Counter(answers.answer(actor, at, LASTS).outcome for actor in answers.truth for at in moments)


def times_of(answers):
    return [answers.answer(actor, NOON, LASTS).after for actor in answers.truth]


def with_help(helper):
    """Bots of all families with one kind of help."""
    families = [bot.name for bot in BOTS]
    truth = {f"u{number:07d}": families[number % len(families)] for number in range(900)}
    answers = Answers(truth, seed=5)
    return Answers({actor: name for actor, name in truth.items() if answers.helper(actor) == helper}, seed=5)


def share(counts, outcome):
    return counts[outcome] / counts.total()


def test_the_same_question_gets_the_same_answer_in_whatever_company():
    many, alone = cast("casual"), Answers({"u0000007": "casual"}, seed=5)

    assert many.answer("u0000007", NOON, LASTS) == alone.answer("u0000007", NOON, LASTS)
    assert times_of(many) != times_of(Answers(many.truth, seed=6))


def test_most_people_pass_and_those_who_sit_or_play_all_day_are_often_away():
    counts = {persona.name: outcomes(cast(persona.name)) for persona in HUMANS}

    assert share(counts["casual"], PASSED) > 0.9
    assert share(counts["newbie"], LOST) > 2 * share(counts["casual"], LOST)
    assert share(counts["hard-core"], TIMEOUT) > 3 * share(counts["casual"], TIMEOUT)
    assert share(counts["sitter"], TIMEOUT) > 0.4
    assert all(0 < share(one, DISCONNECT) < 0.1 for one in counts.values())


def test_people_whom_only_a_society_knows_pass_mostly_and_its_bots_do_not():
    passed = {persona: share(outcomes(cast(persona.name, accounts=60), days=5), PASSED) for persona in NEIGHBOURS}

    assert all((rate < 0.5) == persona.bot for persona, rate in passed.items())


def test_whoever_is_away_misses_every_question_of_the_next_minutes():
    answers = cast("hard-core")
    missed = [actor for actor in answers.truth if answers.answer(actor, NOON, LASTS).outcome == TIMEOUT]
    again = Counter(answers.answer(actor, NOON + timedelta(minutes=6), LASTS).outcome for actor in missed)

    assert share(again, TIMEOUT) > 0.8


def test_bots_without_a_person_hardly_ever_pass_unless_they_have_a_solver():
    assert share(outcomes(with_help(ALONE)), PASSED) < 0.03
    assert 0.4 < share(outcomes(with_help(SOLVER)), PASSED) < 0.8
    assert share(outcomes(with_help(LEAVES)), DISCONNECT) > 0.9


def test_a_person_on_call_passes_unless_asleep_or_too_late():
    counts = outcomes(with_help(ON_CALL))

    assert 0.5 < share(counts, PASSED) < 0.95
    assert share(counts, TIMEOUT) > 0.1


def test_an_answer_never_takes_longer_than_it_may():
    answers = with_help(ON_CALL)

    for actor in answers.truth:
        answer = answers.answer(actor, NOON, LASTS)
        assert timedelta(0) < answer.after <= LASTS
        assert (answer.after == LASTS) == (answer.outcome == TIMEOUT)


def test_every_bot_has_one_kind_of_help_and_people_are_themselves():
    families = {bot.name: Counter(map((found := cast(bot.name)).helper, found.truth)) for bot in BOTS}

    assert all(set(counts) <= {ALONE, SOLVER, LEAVES, ON_CALL} for counts in families.values())
    assert families["semi-autonomous"][ON_CALL] > families["farmer"][ON_CALL] > 0
    assert set(map(cast("casual").helper, cast("casual").truth)) == {PERSON}


@pytest.mark.parametrize(("helper", "during"), [(ALONE, True), (ON_CALL, False)])
def test_windows_look_like_a_person_only_while_a_person_is_there(helper, during):
    answers = with_help(helper)
    votes = {"before": [], "during": [], "after": []}
    for actor in answers.truth:
        answer = answers.answer(actor, NOON, LASTS)
        if answer.outcome == PASSED or helper == ALONE:
            for window in answers.windows(actor, NOON, answer):
                votes[window.part].append(window.bot)
    shares = {part: sum(found) / len(found) for part, found in votes.items()}

    assert shares["before"] > 0.7
    assert shares["after"] > 0.7
    assert (shares["during"] > 0.5) == during


def test_windows_lie_before_during_and_after_the_test():
    answers = with_help(ON_CALL)
    for actor in list(answers.truth)[:20]:
        answer = answers.answer(actor, NOON, LASTS)
        for window in answers.windows(actor, NOON, answer):
            assert (window.until <= NOON) == (window.part == "before")
            assert (window.since >= NOON + answer.after) == (window.part == "after")


def test_a_persons_windows_look_like_a_person():
    answers = cast("casual")
    windows = [window for actor in answers.truth for window in _windows(answers, actor)]

    assert sum(window.bot for window in windows) / len(windows) < 0.1


def _windows(answers, actor):
    return answers.windows(actor, NOON, answers.answer(actor, NOON, LASTS))


def test_a_persona_nobody_knows_is_refused():
    with pytest.raises(ConfigError, match="no persona 'ghost'"):
        Answers({"u0000001": "ghost"}, seed=1)
