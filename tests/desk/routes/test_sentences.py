"""Sentences that rest in English: the desk tells them in the reader's language, and leaves what people write alone."""

import re

import pytest

from gamewarden.learning.phrases import SeenNumber, says
from gamewarden.phrases.days import PHRASES
from gamewarden.phrases.sessions import PHRASES as SESSION_PHRASES
from gamewarden.web.languages import Language
from gamewarden.web.sentences import told

KOREAN = Language("ko")
ENGLISH_WORD = re.compile(r"[A-Za-z]{2,}")
SAID = {**PHRASES, **SESSION_PHRASES}
PEOPLE = tuple(float(number) for number in range(101))


@pytest.mark.parametrize("feature", SAID)
@pytest.mark.parametrize("value", [-1.0, 20.0, 50.0, 80.0, 99.0, 1_000.0])
def test_every_reason_of_a_day_or_a_session_is_told_in_korean(feature, value):
    reason = says(SeenNumber(feature, value, PEOPLE, window="minute", period=1_440.0), SAID[feature])

    assert not ENGLISH_WORD.search(told(reason, KOREAN)), reason


def test_a_reason_keeps_its_numbers():
    reason = (
        "Acts faster than most humans: 10.3 log entries a minute, a typical human has 7.6 "
        "(15 % of humans are that far up)."
    )

    assert told(reason, KOREAN) == (
        "행동 속도가 대부분의 사람보다 빠름: 분당 로그 10.3건, 보통 사람은 7.6 (사람의 15 %가 이만큼 높음)."
    )
    assert told(reason, Language("en")) == reason


def test_how_long_something_lasts_is_told_in_words():
    line = "It ends by itself after 14d, unless newer evidence carries it."

    assert told(line, KOREAN) == "더 새로운 증거가 없으면 14일 뒤 저절로 끝납니다."


def test_sentences_of_a_line_are_told_one_by_one():
    line = "account-day: its limits are still being learned (2015-08-25); traffic: no period is over yet"

    assert told(line, KOREAN) == "account-day: 관리 한계 학습 중 (2015-08-25); traffic: 끝난 기간이 아직 없음"


@pytest.mark.parametrize("text", ["", "he answered in chat", "a note: 100% sure; see %(name)s", "봇 같음"])
def test_what_a_person_wrote_stays(text):
    assert told(text, KOREAN) == text
