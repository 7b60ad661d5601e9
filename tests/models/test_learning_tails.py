"""How far out a number lies among all players: never fewer than there are, and exact where they are few."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from gamewarden.errors import ModelError
from gamewarden.learning.model_json import dump, load_part
from gamewarden.learning.tails import KNOTS, Tail, outward, surprise

NUMBERS = st.floats(-1e9, 1e9)
FEW = st.one_of(
    arrays(np.float64, st.integers(1, 200), elements=NUMBERS),
    arrays(np.float64, st.integers(1, 900), elements=st.integers(-3, 40).map(float)),  # many ties
)


@st.composite
def crowds(draw):
    """More different numbers than a tail keeps: even ones, some that lie far out, and ties."""
    size, seed = draw(st.integers(KNOTS + 1, 4_000)), draw(st.integers(0, 99))
    chance = np.random.default_rng(seed)
    kind = draw(st.sampled_from(["even", "wild", "ties"]))
    if kind == "even":
        return chance.permutation(size).astype(np.float64)
    return np.exp(3 * chance.normal(size=size)) if kind == "wild" else chance.integers(0, size, size) / 3


def exact(numbers, value):
    """The share of players with at least so much, by counting."""
    return float((numbers >= value).mean())


@given(FEW, arrays(np.float64, 20, elements=NUMBERS))
def test_a_share_is_never_below_one_player_nor_below_those_who_have_at_least_so_much(numbers, asked):
    told = Tail.of(numbers).share(asked)

    assert (told >= 1 / numbers.size).all()
    assert (told <= 1).all()
    assert all(share >= exact(numbers, value) for share, value in zip(told, asked, strict=True))


@given(FEW)
def test_a_share_among_few_different_numbers_is_exactly_that_of_those_who_have_at_least_so_much(numbers):
    assert Tail.of(numbers).share(numbers).tolist() == [exact(numbers, value) for value in numbers]


@given(FEW, NUMBERS)
def test_between_two_numbers_the_share_is_that_of_the_lower_one(numbers, value):
    below = numbers[numbers <= value]

    told = Tail.of(numbers).share(np.array([value])).item()

    assert told == (exact(numbers, below.max()) if below.size else 1.0)


@given(crowds())
def test_a_share_among_many_errs_by_little_and_only_upwards(numbers):
    tail = Tail.of(numbers)

    told, true = tail.share(numbers), np.array([exact(numbers, value) for value in numbers])

    half = KNOTS // 2
    assert len(tail.values) <= KNOTS + 2
    assert (told >= true).all()
    assert (told - true).max() <= 1 / (half - 1) + 1e-12
    assert (told / true).max() <= numbers.size ** (1 / (half - 1)) + 1e-9
    assert tail.share(numbers[[numbers.argmax()]]) == exact(numbers, numbers.max())


@given(st.one_of(FEW, crowds()), arrays(np.float64, 30, elements=NUMBERS))
def test_whoever_has_more_has_no_larger_share(numbers, asked):
    told = Tail.of(numbers).share(np.sort(asked))

    assert (np.diff(told) <= 0).all()


@given(FEW)
def test_what_was_not_measured_stays_so(numbers):
    told = Tail.of(numbers).share(np.array([np.nan, numbers[0], np.nan]))

    assert np.isnan(told).tolist() == [True, False, True]


@given(FEW, st.integers(0, 99))
def test_a_tail_is_the_same_whatever_the_order_and_comes_back_from_json(numbers, seed):
    tail = Tail.of(numbers)

    again = Tail.of(np.random.default_rng(seed).permutation(numbers))
    back = load_part(Tail, json.loads(json.dumps(dump(tail))), "test")

    assert again == tail == back
    assert back.share(numbers).tolist() == tail.share(numbers).tolist()


def test_the_rarest_of_a_thousand_is_one_in_a_thousand_and_no_rarer_however_far_out():
    tail = Tail.of(np.arange(1_000.0))

    assert tail.share(np.array([999.0, 1e12])).tolist() == [0.001, 0.001]


@pytest.mark.parametrize(
    ("values", "shares", "players", "says"),
    [
        ([1.0, 2.0], [1.0], 2, "equally many"),
        ([1.0, 2.0], [1.0, 0.25], 2, "below one of its players"),
        ([1.0, 2.0], [0.5, 0.5], 2, "falling shares"),
        ([2.0, 1.0], [1.0, 0.5], 2, "rising"),
        ([], [], 2, "falling shares"),
    ],
)
def test_a_tail_that_cannot_be_one_is_refused(values, shares, players, says):
    with pytest.raises(ModelError, match=says):
        load_part(Tail, {"values": values, "shares": shares, "players": players}, "test")


def test_low_numbers_are_odd_on_the_low_side():
    assert outward(np.array([1.0, 2.0]), "low").tolist() == [-1.0, -2.0]
    assert outward(np.array([1.0, 2.0]), "high").tolist() == [1.0, 2.0]


def test_to_be_like_everybody_is_no_surprise_and_to_be_e_times_rarer_is_one_more():
    told = surprise(np.array([1.0, np.exp(-1), np.exp(-2)]))

    np.testing.assert_allclose(told, [0, 1, 2])
    assert not np.signbit(told).any()
