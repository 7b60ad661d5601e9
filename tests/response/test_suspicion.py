"""Suspicion: what observations say, and how they add up."""

from dataclasses import replace
from itertools import pairwise
from math import exp, log

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cases_made_up import DEFAULT, START, challenge, moment, verdict
from gamewarden.cases import PERSON, WINDOWS
from gamewarden.config import Config, config_from
from gamewarden.errors import ResponseError
from gamewarden.response.evidence import llr_of, observations_of
from gamewarden.response.ladder import Ladder
from gamewarden.response.suspicion import path, suspicion_of
from gamewarden.tables import VERDICTS

SCALE = DEFAULT.scale
PRIOR = log(0.02 / 0.98)


def score(*observations, scale=SCALE, **values):
    return suspicion_of(scale, "mira", observations, at=START, **values).score


def verdicts(**values):
    row = {"actor": "mira", "since": moment(0), "until": moment(1), "probability": 0.9, "fpr": 0.001}
    row |= {"agree": 2, "streak": 1, "covered": 1.0, "far": None, "point": "act", "verdict": "v1"} | values
    columns = dict(VERDICTS.columns) | {"point": pl.String, "verdict": pl.String, "played": pl.Float64}
    return pl.DataFrame([row], schema={name: kind for name, kind in columns.items() if name in row})


def test_the_published_figures_give_the_published_ratios():
    assert llr_of(0.787, 0.066, says_bot=True) == pytest.approx(2.48, abs=0.005)
    assert llr_of(0.787, 0.066, says_bot=False) == pytest.approx(-1.48, abs=0.005)


@pytest.mark.parametrize(("recall", "fpr"), [(0.0, 0.1), (1.0, 0.1), (0.5, 0.0), (0.5, 1.0), (float("nan"), 0.1)])
def test_a_rate_that_has_no_logarithm_is_refused_by_name(recall, fpr):
    with pytest.raises(ResponseError, match=r"llr: (recall|fpr) .* cannot be used"):
        llr_of(recall, fpr, says_bot=True)


def test_a_verdict_says_its_odds_less_those_it_supposed():
    (one,) = observations_of(verdicts(probability=0.9), bots=0.05)

    assert one.llr == pytest.approx(log(0.9 / 0.1) - log(0.05 / 0.95))
    assert (one.actor, one.kind, one.ref, one.at) == ("mira", "verdict", "v1", moment(1))
    assert (one.fpr, one.agree, one.covered, one.far, one.played) == (0.001, 2, 1.0, None, None)


def test_a_verdict_says_no_more_than_its_false_positive_rate():
    (one,) = observations_of(verdicts(probability=1.0, fpr=0.02), bots=0.05)

    assert one.llr == pytest.approx(log(50))


def test_a_verdict_without_a_false_positive_rate_says_nothing_against_anybody():
    (one,) = observations_of(verdicts(probability=0.99, fpr=None), bots=0.05)

    assert one.llr == 0


def test_a_human_day_says_no_more_than_a_passed_challenge():
    (one,) = observations_of(verdicts(probability=0.0, fpr=1.0), bots=0.05)

    assert one.llr == Config().challenge.passed


def test_what_nobody_judged_is_no_observation():
    assert observations_of(verdicts(probability=None, fpr=None), bots=0.05) == []


def test_a_day_judged_again_has_its_place_and_another_id():
    (first,) = observations_of(verdicts(), bots=0.05)
    (again,) = observations_of(verdicts(), bots=0.05)
    (other,) = observations_of(verdicts(verdict="v2"), bots=0.05)
    unkept = [observations_of(verdicts(verdict=None, probability=share), bots=0.05)[0] for share in (0.2, 0.3)]

    assert first == again
    assert (other.actor, other.since, other.until) == (first.actor, first.since, first.until)
    assert other.id != first.id
    assert unkept[0].id != unkept[1].id


def test_hours_of_play_are_taken_where_they_are_known():
    (one,) = observations_of(verdicts(played=3.5), bots=0.05)

    assert one.played == 3.5


def test_suspicion_starts_at_the_prior():
    found = suspicion_of(SCALE, "mira", [], at=START)

    assert found.score == pytest.approx(PRIOR)
    assert (found.rung, found.observations) == (0, 0)


def test_the_first_verdict_counts_whole_and_a_further_one_by_the_discount():
    assert score(verdict(1, 2.0)) == pytest.approx(PRIOR + 2.0)
    assert score(verdict(1, 2.0), verdict(2, 2.0)) == pytest.approx(PRIOR + 2.0 * exp(-4 / 24) + 0.3 * 2.0)


def test_a_challenge_and_a_person_count_whole_and_windows_by_the_discount():
    person, windows = (replace(challenge(1.0, 2.0), kind=kind) for kind in (PERSON, WINDOWS))

    assert score(challenge(1.0, 3.0)) == pytest.approx(PRIOR + 3.0)
    assert score(person) == pytest.approx(PRIOR + 2.0)
    assert score(windows) == pytest.approx(PRIOR + 0.6)


def test_time_that_was_played_counts_and_not_time_that_passed():
    resting = score(verdict(1, 4.0), verdict(9, 0.0, played=0.0))
    playing = score(verdict(1, 4.0), verdict(9, 0.0, played=24.0))

    assert resting == pytest.approx(PRIOR + 4.0)
    assert playing == pytest.approx(PRIOR + 4.0 * exp(-1))


def test_nobody_plays_longer_than_time_passes():
    assert score(verdict(1, 4.0), verdict(2, 0.0, played=1000.0)) == pytest.approx(PRIOR + 4.0 * exp(-1))


@pytest.mark.parametrize("llr", [5.0, -1.5])
def test_suspicion_decays_to_the_prior_and_never_to_nothing(llr):
    assert score(verdict(1, llr), verdict(3000, 0.0)) == pytest.approx(PRIOR)


def test_suspicion_stays_within_its_bounds():
    many = [verdict(day, 50.0) for day in range(1, 20)]

    assert score(*many) == 8.0
    assert score(*(replace(one, llr=-50.0) for one in many)) == -6.0


def test_who_has_played_by_hand_for_weeks_is_not_tested_because_of_one_day():
    by_hand = [verdict(day, -2.0) for day in range(1, 31)]
    as_a_bot = [verdict(31 + day, log(1000)) for day in range(7)]
    rungs = [one.rung for one in path(SCALE, [*by_hand, *as_a_bot])]

    assert rungs[30:] == [0, 1, 2, 3, 4, 4, 5]
    assert next(path(SCALE, as_a_bot)).rung == 4  # an account of which nothing else is known


def test_what_is_excluded_leaves_no_trace():
    wrong = replace(verdict(1, 6.0), excluded="appeal 7")

    assert score(wrong, verdict(2, 2.0)) == score(verdict(2, 2.0))


def test_the_same_evidence_twice_is_evidence_once():
    assert score(verdict(1, 2.0), verdict(1, 2.0)) == score(verdict(1, 2.0))


def test_who_has_a_human_on_call_passes_down_to_the_first_rung_and_no_further():
    passes = [challenge(2 + number / 100, -2.0) for number in range(6)]

    assert score(verdict(1, 6.9), *passes, on_call=True) == pytest.approx(-1.0, abs=0.05)
    assert score(verdict(1, 6.9), *passes) < -5


def test_a_pass_never_raises_who_is_below_the_first_rung():
    assert score(challenge(1, -2.0), on_call=True) == score()


def test_a_human_day_still_lowers_who_has_a_human_on_call():
    assert score(verdict(1, -2.0), on_call=True) == pytest.approx(PRIOR - 2.0)


LLRS = st.floats(-2, 7)
SEEN = st.lists(
    st.tuples(st.integers(1, 40), LLRS, st.sampled_from(["verdict", "challenge", "windows", "person", "group"])),
    max_size=25,
)


def _made(rows):
    return [
        replace(verdict(day, llr, id=f"{number} of {kind}"), kind=kind) for number, (day, llr, kind) in enumerate(rows)
    ]


@given(rows=SEEN, data=st.data())
def test_the_order_and_the_batches_in_which_evidence_comes_do_not_matter(rows, data):
    made = _made(rows)
    mixed = data.draw(st.permutations(made))
    cut = data.draw(st.integers(0, len(made)))

    assert suspicion_of(SCALE, "mira", [*mixed[cut:], *mixed[:cut]], at=START) == suspicion_of(
        SCALE, "mira", made, at=START
    )


HYSTERESES = st.floats(0, 3)


@given(rows=SEEN, hysteresis=HYSTERESES)
def test_a_rung_never_flaps_within_the_hysteresis(rows, hysteresis):
    scale = Ladder.of(config_from({"response": {"hysteresis": hysteresis}}, "test")).scale
    moves, rung = [], 0
    for one in path(scale, _made(rows)):
        if one.rung != rung:
            moves.append((one.rung > rung, one.score))
        rung = one.rung

    for (rose, before), (rises, now) in pairwise(moves):
        assert rose == rises or abs(now - before) >= hysteresis - 1e-9


@given(rows=SEEN)
def test_suspicion_on_the_way_is_what_the_evidence_until_then_says(rows):
    made = _made(rows)
    for one in path(SCALE, made):
        known = [seen for seen in made if (seen.at, seen.id) <= (one.observation.at, one.observation.id)]
        found = suspicion_of(SCALE, "mira", known, at=START)
        assert (found.score, found.rung) == (one.score, one.rung)


def test_a_rung_is_entered_at_its_border_and_left_below_the_other():
    up, down = (-3.51, -3.5, -1.0, 0.99, 1.0, 2.5, 4.5, 8), (4.4, 3.5, 3.49, 1.49, -0.01, -2.0, -2.01, -4.5, -4.51)

    assert [SCALE.rung(score, 0) for score in up] == [0, 1, 2, 2, 3, 4, 5, 5]
    assert [SCALE.rung(score, 5) for score in down] == [5, 5, 4, 3, 2, 2, 1, 1, 0]


def test_since_when_somebody_is_on_a_rung_is_when_that_was_entered():
    found = suspicion_of(SCALE, "mira", [verdict(1, 3.0), verdict(2, 0.2), verdict(3, 0.2)], at=START)

    assert (found.rung, found.entered, found.as_of) == (2, moment(1), moment(3))
    assert found.observations == 3
