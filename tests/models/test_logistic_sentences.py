"""The sentences a game master reads."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gamewarden.detectors.logistic.recipe import FOURTEEN
from gamewarden.learning import phrases
from gamewarden.learning.phrases import HUMANS, PLAYERS, USUAL, SeenNumber, window_word
from gamewarden.phrases.days import PHRASES

REGULARITY = tuple(0.99 + 0.00005 * step for step in range(101))  # median 0.9925
MINUTES = tuple(6.0 * step for step in range(101))  # median 300


def says(seen):
    return phrases.says(seen, PHRASES.get(seen.feature))


SENTENCES = {
    SeenNumber("self_sim", 0.9987, REGULARITY, "minute"): """
        Every minute looks almost like every other: self-similarity 0.9987, a typical human has 0.9925
        (no human in training was that far up).""",
    SeenNumber("self_sim", 0.99492, REGULARITY, "minute"): """
        Every minute looks almost like every other: self-similarity 0.9949, a typical human has 0.9925
        (only 2 % of humans are that far up).""",
    SeenNumber("self_sim", 0.9926, REGULARITY, "5s window"): """
        The 5s windows vary as usual: self-similarity 0.9926, a typical human has 0.9925.""",
    SeenNumber("self_sim", 0.98, REGULARITY, "minute"): """
        The minutes vary more than those of nearly all humans: self-similarity 0.9800, a typical human has 0.9925
        (no human in training was that far down).""",
    SeenNumber("total_use_time_min", 1436.2, MINUTES, "minute", 1440): """
        Online longer than nearly all humans: 1,436 of 1,440 minutes, a typical human plays 300
        (no human in training was that far up).""",
    SeenNumber("self_sim", 0.994, REGULARITY, "minute"): """
        The minutes resemble one another more than those of most humans: self-similarity 0.9940, a typical human has
        0.9925 (21 % of humans are that far up).""",
    SeenNumber("npc_kill_count", 150, MINUTES): """
        Kills fewer monsters than most humans: 150, a typical human has 300 (26 % of humans are that far down).""",
    SeenNumber("total_use_time_min", 240, MINUTES, "minute", 1440): """
        Online for a usual time: 240 of 1,440 minutes, a typical human plays 300.""",
    SeenNumber("trade_get_count", None, MINUTES): "This log does not show what is received in trades.",
    SeenNumber("deposit_count", None, ()): "This log does not show visits to storage to put something in.",
    SeenNumber("deposit_count", 0, (), unused="the same in every training row"): """
        Deposit count 0: the model does not use it (the same in every training row).""",
    SeenNumber("self_sim", None, REGULARITY, "minute", 1440, 12): """
        Too little play to judge: only 12 minutes were measured.""",
    SeenNumber("odd_share", 0.25, MINUTES): """
        Odd share is lower than with nearly all humans: 0.25, a typical human has 300.00
        (only 1 % of humans are that far down).""",
}


@pytest.mark.parametrize(("seen", "sentence"), SENTENCES.items())
def test_a_number_becomes_a_sentence(seen, sentence):
    assert says(seen) == " ".join(sentence.split())


@pytest.mark.parametrize("feature", FOURTEEN)
def test_what_stands_before_the_colon_is_the_same_for_all_accounts_of_which_it_holds(feature):
    one, other = (says(SeenNumber(feature, value, MINUTES, "minute", 1440.0)).split(":")[0] for value in (1e4, 2e4))

    assert one == other


def test_every_published_feature_has_its_words():
    assert set(PHRASES) == set(FOURTEEN)


@given(
    feature=st.sampled_from(FOURTEEN),
    value=st.one_of(st.none(), st.floats(0, 1e7)),
    humans=st.lists(st.floats(0, 1e7), min_size=101, max_size=101),
)
def test_a_sentence_never_accuses_and_never_shows_a_hole(feature, value, humans):
    sentence = says(SeenNumber(feature, value, sorted(humans), "minute", 1440.0))

    assert sentence[0].isupper()
    assert sentence.endswith(".")
    for word in ("bot", "cheat", "guilt", "nan", "None", "{", "  "):
        assert word not in sentence


@given(value=st.floats(0, 100), humans=st.lists(st.floats(0, 100), min_size=101, max_size=101))
def test_more_is_said_only_of_what_few_humans_reach(value, humans):
    sentence = says(SeenNumber("npc_kill_count", value, sorted(humans)))

    reach, stay = sum(human >= value for human in humans), sum(human <= value for human in humans)
    assert sentence.startswith("Kills more monsters than nearly all humans") == (reach <= 10)
    if sentence.startswith("Kills more"):
        assert reach <= 33
    elif sentence.startswith("Kills fewer"):
        assert stay <= 33
    else:
        assert min(reach, stay) > 33


@pytest.mark.parametrize(
    ("unit", "word"),
    [
        ("60s", "minute"),
        ("1m", "minute"),
        ("5s", "5s window"),
        ("1h", "hour"),
        (None, "window"),
        ("nonsense", "window"),
    ],
)
def test_a_time_unit_is_called_by_its_name(unit, word):
    assert window_word(unit) == word


@pytest.mark.parametrize("feature", [*FOURTEEN, "odd_share"])
def test_a_number_as_people_have_it_is_called_usual_and_no_other(feature):
    words = [
        says(SeenNumber(feature, value, MINUTES, "minute", 1440.0)).split(":")[0] for value in (1e4, 450.0, 150.0, -1.0)
    ]

    assert USUAL in says(SeenNumber(feature, 300.0, MINUTES, "minute", 1440.0)).split(":")[0]
    assert not [lead for lead in words if USUAL in lead]


@pytest.mark.parametrize("seen", SENTENCES)
def test_beside_all_players_a_number_is_told_without_a_word_of_humans(seen):
    told = says(replace(seen, whom=PLAYERS))

    assert told == says(seen).replace("human in training", "player").replace("human", "player")
    assert "in training" not in told
    assert says(replace(seen, whom=HUMANS)) == says(seen)
