"""A statement of reasons tells an operator everything and a player what is the player's to know, in two languages."""

import os
import re
import string
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from appeals_made_up import DAY, NOW, action, appeal, decision, observation
from gamewarden.cases import CHALLENGE, GROUP, LADDER, OVERTURNED, PERSON, UPHELD, VERDICT, WINDOWS, Suspicion
from gamewarden.errors import ResponseError
from gamewarden.policy import STEPS
from gamewarden.presentation.statement import AUDIENCES, Background, VerdictBehind, statement
from gamewarden.presentation.statement_words import LANGUAGES, WORDS
from paths import GOLDEN

GOLDEN = GOLDEN / "statements"
KNOWN = Background(
    decision=decision(),
    evidence=(
        observation(1),
        observation(2, covered=0.9375, played=3.5),
        observation(
            3, kind=GROUP, ref="farm-7", because_of="lee", fpr=None, agree=0, llr=1.21875, since=None, until=None
        ),
        observation(4, kind=CHALLENGE, ref="challenge-9", fpr=None, agree=0, llr=3.0, since=None, until=None),
    ),
    actions=(action(),),
    appeals=(appeal(),),
    suspicion=Suspicion("kim", 3.4172, 3, NOW, NOW, 4),
    verdicts={
        observation(1).ref: VerdictBehind("act", 0.98765, ("account-day@0123456789ab",), ("+ it never rests (0.9961)",))
    },
    rule="§4: no bots.",
    where="https://game.example/appeal",
)
BANNED = replace(
    KNOWN,
    decision=decision(step="ban", until=None, by="ann", approved_by="bob", because=("seen by Ann",)),
    actions=(),
    appeals=(appeal(outcome=UPHELD, decided=NOW, decided_by="cho", because="score 3.4172"),),
    rule="",
    where="",
)
CASES = {"limited": KNOWN, "banned": BANNED}


def text(background, audience, language):
    return "\n".join(statement(background, audience, language).lines()) + "\n"


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("audience", AUDIENCES)
@pytest.mark.parametrize("case", CASES)
def test_a_statement_reads_as_people_have_agreed(case, audience, language):
    path = GOLDEN / f"{case}-{audience}.{language}.txt"
    told = text(CASES[case], audience, language)
    if os.environ.get("GAMEWARDEN_WRITE_GOLDENS"):
        path.parent.mkdir(exist_ok=True)
        path.write_text(told, encoding="utf-8")

    assert told == path.read_text(encoding="utf-8")


def test_both_languages_say_the_same_things_with_the_same_gaps():
    english, korean = (WORDS[language] for language in LANGUAGES)

    assert list(english) == list(korean)
    for key in english:
        gaps = [{name for _, name, _, _ in string.Formatter().parse(words[key]) if name} for words in (english, korean)]
        assert gaps[0] == gaps[1], key
    assert all(re.search("[가-힣]", words) for words in korean.values())
    assert {f"step {step}" for step in STEPS} <= english.keys()


def kinds():
    """Observations of any kind, with numbers that cannot be missed."""
    numbers = st.floats(0.001, 0.999).map(lambda share: round(share, 7)).filter(lambda share: len(str(share)) > 6)
    return st.builds(
        lambda number, kind, llr, fpr, excluded: observation(
            number, kind=kind, llr=llr * 9, fpr=fpr, because_of="Other-Player", far="model@77", excluded=excluded
        ),
        st.integers(1, 8),
        st.sampled_from([VERDICT, CHALLENGE, WINDOWS, GROUP, PERSON]),
        numbers,
        numbers,
        st.sampled_from([None, "appeal-1"]),
    )


@given(
    st.lists(kinds(), max_size=5),
    st.tuples(st.sampled_from(STEPS), st.sampled_from([LADDER, "Ann-Gamemaster"])),
    st.floats(-6, 8).map(lambda score: round(score, 6)),
    st.sampled_from([None, UPHELD, OVERTURNED]),
    st.sampled_from(LANGUAGES),
)
def test_a_player_reads_no_score_no_threshold_and_nobodys_name(evidence, taken, score, outcome, language):
    step, by = taken
    made = decision(step=step, by=by, because=(f"suspicion {score} is above 2.5",), approved_by="Bob-Gamemaster")
    judged = appeal(outcome=outcome, decided=NOW, decided_by="Cho-Gamemaster", because=f"score {score}")
    known = replace(KNOWN, decision=made, evidence=tuple(evidence), appeals=(judged,), rule="", where="")

    told = text(known, "player", language)

    numbers = [score, *(value for one in evidence for value in (one.llr, one.fpr))]
    assert not [number for number in numbers if f"{abs(number):.3g}" in told and "." in f"{abs(number):.3g}"]
    assert re.findall(r"\d+[.,]\d+", told) == []
    assert "Player" not in told
    assert "Gamemaster" not in told
    assert "model" not in told
    assert made.ladder not in told
    assert made.id in told


@pytest.mark.parametrize("language", LANGUAGES)
def test_an_operator_reads_every_number_and_every_name(language):
    told = text(KNOWN, "operator", language)

    for part in ("3.4172", "0.00071", "+6.125", "0.9375", "lee", "0123456789ab", "0.9877", "account-day@0123456789ab"):
        assert part in told, part
    for part in ("it never rests", '"line": 7', "rate", "log", "broken leg", "farm-7", "seen1-kim", observation(1).ref):
        assert part in told, part


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({}, "automatically: by fixed rules, and without a person"),
        ({"by": "ann"}, "A person decided it."),
        ({"by": "ann", "approved_by": "bob"}, "A second person approved it."),
        ({"until": None, "by": "ann"}, "holds until it is taken back"),
        ({"rehearsal": True}, "nothing was changed for your account"),
        ({"waits_for": "approval", "by": "ann"}, "before a second person has approved it"),
        ({"undone_at": NOW, "undone_by": "ladder"}, "no longer holds"),
    ],
)
def test_a_player_is_told_how_the_decision_stands(changes, sentence):
    assert sentence in text(replace(KNOWN, decision=decision(**changes)), "player", "en")


def test_what_no_longer_counts_is_said_so():
    excluded = tuple(replace(one, excluded="appeal-1") for one in KNOWN.evidence)

    assert "no longer counts" in statement(replace(KNOWN, evidence=excluded), "player", "en").sections[1].lines[-1]


def test_without_evidence_a_person_decided():
    known = replace(KNOWN, decision=decision(by="ann"), evidence=())

    assert "on what was seen in the game" in text(known, "player", "en")
    assert "Programs had found" not in text(known, "player", "en")


def test_who_may_decide_an_appeal_is_told_as_it_is():
    assert "who had no part" in text(KNOWN, "player", "en")
    assert "who had no part" not in text(replace(KNOWN, four_eyes=False), "player", "en")


def test_as_json_it_says_for_whom_in_which_language_and_whether_a_machine_decided():
    values = statement(KNOWN, "player", "ko").values()

    assert (values["for"], values["language"], values["automated"], values["decision"]) == (
        "player",
        "ko",
        True,
        "decided-kim",
    )
    assert values["sections"][0]["head"] == "결정 내용"


@pytest.mark.parametrize("language", LANGUAGES)
def test_as_a_page_it_is_in_its_language_and_shows_what_a_browser_would_obey(language):
    shown = statement(replace(KNOWN, decision=decision(actor="<b>\u202ekim")), "player", language).page()

    assert f'<html lang="{language}">' in shown
    assert "<b>" not in shown
    assert "\u202e" not in shown
    assert "<script" not in shown


@pytest.mark.parametrize(("audience", "language"), [("player", "de"), ("press", "en")])
def test_there_is_no_other_statement(audience, language):
    with pytest.raises(ResponseError, match="player or operator"):
        statement(KNOWN, audience, language)


def test_days_of_a_period_are_those_that_were_played():
    one = observation(1)

    told = text(replace(KNOWN, evidence=(one,)), "player", "en")

    assert f"from {(one.since).day} March 2026 to {(one.until - DAY / 2).day} March 2026" in told
