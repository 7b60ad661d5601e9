"""The detector of pulses: whoever lets a program play is found, and one even pastime by hand is not taken for it."""

from datetime import timedelta

import numpy as np
import polars as pl
import pytest

from gamewarden.detectors.pulses.recipe import PulseDetector
from gamewarden.features.pulses.recipe import Pulses
from gamewarden.features.pulses.stretches import pulses_like, stretches_of
from gamewarden.features.self_similarity.recipe import SelfSimilarity
from gamewarden.presentation.pulse_plots import plot_stretches
from gamewarden.tables import TIME
from pulses_made_up import KINDS, day, hand, log, rounds, script

RECIPE = Pulses(vocabulary=KINDS)


def crowd(people=40, bots=30):
    """People who hunt by hand, each in an own way, and people who let a script hunt after an hour or two."""
    draw = np.random.default_rng(3)
    told = {}
    for number in range(people):
        told[f"p{number}"] = day(
            (240, rounds(("combat.kill", "exp.gain"), 18, draw.uniform(0.3, 0.6), 240, number, 0.1))
        )
    for number in range(bots):
        own = int(draw.integers(60, 120))
        told[f"b{number}"] = day((own, hand(own, seed=number)), (180, script(180, seed=100 + number)))
    return told


@pytest.fixture(scope="module")
def model():
    told = crowd()
    labels = pl.DataFrame({"actor": list(told), "bot": [name.startswith("b") for name in told], "source": "rater"})
    return PulseDetector(RECIPE, folds=4).fit(RECIPE.measure(log(**told)), labels)


def judged(model, events):
    return model.score(RECIPE.measure(log(a=events))).row(0, named=True)


def test_somebody_who_lets_a_program_play_after_an_evening_by_hand_is_found(model):
    score = judged(model, day((100, hand(100, seed=71)), (200, script(200, seed=72))))

    assert score["probability"] > 0.9


@pytest.mark.parametrize(
    "events",
    [
        day((240, rounds(("item.craft", "craft.sword"), 9, 0.35, 240, 81))),
        day((240, rounds(("loot.pickup",), 25, 0.5, 240, 82))),
        day((240, rounds(("item.craft",), 12, 0.45, 240, 83)), (60, hand(60, seed=84))),
    ],
    ids=["the crafter at the anvil", "the fisher", "the crafter who then hunts"],
)
def test_one_even_pastime_by_hand_is_not_taken_for_a_program(model, events):
    score = judged(model, events)

    assert score["probability"] < 0.2
    assert score["fpr"] > 0.05


def test_of_the_idle_nothing_is_said(model):
    score = judged(model, day((400, rounds(("chat",), 1200, 0.1, 400, 91))))

    assert (score["probability"], score["fpr"]) == (None, None)


def test_a_reason_is_a_sentence_about_hours_and_clocks(model):
    rows = RECIPE.measure(log(a=day((100, hand(100, seed=71)), (200, script(200, seed=72)))))

    says = model.explain(rows).filter(feature="clockwork")["says"].item()

    assert says.startswith("For hours it acts more like a clock than")


def stretches(events):
    return stretches_of(RECIPE, log(a=events), ["a"])["a"]


def test_the_hours_of_somebody_stand_beside_their_own_level():
    told = stretches(day((150, hand(150)), (180, script(180))))

    assert told.pulses.height == 1
    assert told.pulses["steady"].item() > 0.8
    assert told.own_steady < 0.5
    assert told.own_self_sim < told.pulses["self_sim"].item()


def test_who_has_no_hour_full_of_actions_has_no_stretches():
    told = stretches(day((30, hand(30))))

    assert (told.spans.height, told.pulses.height, told.own_steady) == (0, 0, None)


def test_the_recipe_of_another_feature_lends_its_windows_and_vocabulary():
    days = SelfSimilarity(vocabulary=KINDS, time_zone="Asia/Seoul")

    assert pulses_like(days.to_dict()) == Pulses(vocabulary=KINDS, time_zone="Asia/Seoul")


@pytest.mark.parametrize("zone", ["UTC", "Asia/Seoul"])
@pytest.mark.parametrize("minutes", [0, 180])
def test_a_picture_of_hours_is_drawn_with_and_without_pulses(tmp_path, minutes, zone):
    told = stretches(day((120, hand(120)), (minutes, script(minutes))))
    begin = told.spans["since"].min()
    times = [begin + timedelta(minutes=at) for at in range(200)]
    windows = pl.DataFrame(
        {"since": pl.Series(times, dtype=TIME), "cosine": [0.3 if at % 9 else 0.0 for at in range(200)]}
    )

    plot_stretches(windows, told, tmp_path / "hours.png", "somebody $x$ <b>", zone)

    assert (tmp_path / "hours.png").read_bytes().startswith(b"\x89PNG")
