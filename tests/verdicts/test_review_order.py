"""The order of a review: everybody once, the odd early, the same after every break, and a fair draw beside it."""

from itertools import islice, pairwise
from statistics import mean

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gamewarden.verdicts.review_order import Candidate, Place, in_order

SHARES = st.floats(0, 1)
CANDIDATES = st.lists(
    st.builds(
        Candidate, st.text(max_size=6), SHARES, st.none() | SHARES, st.none() | st.sampled_from(["farm", "guild", ""])
    ),
    max_size=40,
    unique_by=lambda one: one.actor,
)
CHANCES = st.sampled_from([0.0, 0.2, 0.5, 1.0])
SEEDS = st.text(max_size=4)


def crowd(count=1_000):
    """The n-th account is the n-th oddest."""
    return [Candidate(f"a{number:04}", (number + 1) / count) for number in range(count)]


def shown(places):
    """Who was shown, and who of them chance named."""
    known = {}
    for place in places:
        known |= dict.fromkeys([place.actor, *place.passed], True) if place.drawn else {place.actor: False}
    return known


@given(CANDIDATES, SEEDS, CHANCES)
def test_every_candidate_comes_exactly_once(candidates, seed, chance):
    places = list(in_order(candidates, seed=seed, chance=chance))

    assert sorted(one.actor for one in places) == sorted(one.actor for one in candidates)


@given(CANDIDATES, SEEDS, CHANCES, st.data())
def test_whoever_stops_and_goes_on_sees_the_same_order(candidates, seed, chance, data):
    places = list(in_order(candidates, seed=seed, chance=chance))
    stop = data.draw(st.integers(0, len(places)))

    rest = list(in_order(candidates, seed=seed, chance=chance, known=shown(places[:stop])))

    assert rest == places[stop:]


@given(CANDIDATES, SEEDS, CHANCES, st.randoms(use_true_random=False))
def test_the_order_in_which_candidates_come_changes_nothing(candidates, seed, chance, random):
    mixed = random.sample(candidates, len(candidates))

    assert list(in_order(mixed, seed=seed, chance=chance)) == list(in_order(candidates, seed=seed, chance=chance))


@pytest.mark.parametrize("chance", [0.0, 0.1, 0.2, 0.5, 1.0])
def test_the_share_of_drawn_places_is_what_was_asked_for(chance):
    drawn = [one.drawn for one in in_order(crowd(4_000), seed="s", chance=chance)]

    assert mean(drawn) == pytest.approx(chance, abs=0.03)


def test_odd_accounts_come_early_and_no_other_is_kept_out():
    heads = [[one.actor for one in islice(in_order(crowd(), seed=str(seed), chance=0), 100)] for seed in range(30)]

    odd = mean(mean(actor < "a0100" for actor in head) for head in heads)
    assert odd > 0.3, "a tenth of all are the oddest tenth"
    assert any(actor >= "a0900" for head in heads for actor in head)


def test_who_looks_least_odd_comes_first_as_often_as_the_weights_say():
    two = [Candidate("odd", 0.0), Candidate("plain", 0.95)]

    first = [next(iter(in_order(two, seed=str(seed), chance=0))).actor for seed in range(4_000)]

    assert mean(actor == "plain" for actor in first) == pytest.approx(1 / 21, abs=0.012)


def test_whom_a_model_is_unsure_of_comes_three_times_as_often_first():
    two = [Candidate("sure", 0.5, probability=1.0), Candidate("unsure", 0.5, probability=0.5)]

    first = [next(iter(in_order(two, seed=str(seed), chance=0))).actor for seed in range(4_000)]

    assert mean(actor == "unsure" for actor in first) == pytest.approx(3 / 4, abs=0.025)


def test_a_farm_does_not_fill_the_head():
    farm = [Candidate(f"farm{number:02}", 0.02, group="farm") for number in range(30)]
    others = [Candidate(f"other{number:02}", 0.02) for number in range(30)]

    heads = [[one.actor for one in islice(in_order([*farm, *others], seed=str(s), chance=0), 20)] for s in range(50)]

    assert mean(sum(actor.startswith("farm") for actor in head) for head in heads) < 5


def test_accounts_of_a_farm_that_were_shown_before_count_too():
    pair = [Candidate("one", 0.5, group="farm"), Candidate("alone", 0.5)]
    before = [Candidate(f"seen{number}", 0.5, group="farm") for number in range(5)]
    known = {one.actor: False for one in before}

    first = [next(iter(in_order([*pair, *before], seed=str(s), chance=0, known=known))).actor for s in range(500)]

    assert mean(actor == "one" for actor in first) < 0.15


@given(CANDIDATES, SEEDS, CHANCES)
def test_those_whom_chance_named_are_the_head_of_an_order_that_does_not_know_who_is_odd(candidates, seed, chance):
    plain = [Candidate(one.actor, 0.5) for one in candidates]
    uniform = [one.actor for one in in_order(plain, seed=seed, chance=1)]
    known = {}

    for place in in_order(candidates, seed=seed, chance=chance):
        known |= shown([place])
        named = {actor for actor, drawn in known.items() if drawn}
        assert named == set(uniform[: len(named)])


def test_a_share_estimated_from_those_whom_chance_named_is_fair_although_the_odd_were_looked_at_first():
    bots = {f"a{number:04}" for number in range(50)}  # the 50 oddest of 500
    shares, unfair = [], []
    for seed in range(60):
        places = list(islice(in_order(crowd(500), seed=str(seed), chance=0.3), 300))
        named = [actor for actor, drawn in shown(places).items() if drawn]
        shares.append(mean(actor in bots for actor in named))
        unfair.append(mean(one.actor in bots for one in places if one.drawn))

    assert mean(shares) == pytest.approx(0.1, abs=0.015)
    assert mean(unfair) < 0.08, "without those passed over it would be far too low"


def test_whoever_is_known_but_no_candidate_changes_nothing():
    assert list(in_order(crowd(20), seed="s", chance=0.5, known={"stranger": True})) == list(
        in_order(crowd(20), seed="s", chance=0.5)
    )


def test_another_seed_is_another_order():
    orders = [tuple(one.actor for one in in_order(crowd(50), seed=str(seed), chance=0.2)) for seed in range(5)]

    assert all(one != other for one, other in pairwise(orders))


def test_nobody_has_no_order():
    assert list(in_order([], seed="s", chance=0.5)) == []
    assert list(in_order([Candidate("a", 1.0)], seed="s", chance=1.0)) == [Place("a", drawn=True)]
