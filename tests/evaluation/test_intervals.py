"""Intervals hold what they say, also where few players played much."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gamewarden.core.binomial import chance_of_at_most
from gamewarden.core.intervals import auc_interval, share_interval, student

DRAWS = 120
LEAST = 0.93
FEW = ([8] * 6, [8] * 6)  # six players a side with eight sessions each, as in the arcade games
SHAPES = {
    "few": FEW,
    "three": ([8] * 3, [8] * 3),
    "single": ([1] * 20, [1] * 20),
    "many": ([3] * 100, [3] * 100),
    "uneven": ([1, 2, 4, 8, 16, 30], [1, 2, 4, 8, 16, 30]),
    "few beside many": ([8] * 6, [1] * 60),
}


def rows_of(sizes):
    return np.repeat(np.arange(len(sizes)), sizes)


def alike(random, sizes, share):
    """Numbers of which a player's own make up this share of the variance."""
    players = rows_of(sizes)
    return np.sqrt(share) * random.normal(size=len(sizes))[players] + np.sqrt(1 - share) * random.normal(
        size=players.size
    )


def scores_of(random, shape, auc, share, kind):
    """Scores of bots and of humans whose AUC in the long run is known."""
    bots, humans = shape
    ours, theirs = alike(random, bots, share), alike(random, humans, share)
    if kind == "normal":
        return ours + np.sqrt(2) * _normal_quantile(auc), theirs
    seen = random.random(len(bots)) < auc  # the other bots look more human than humans
    return ours + np.where(seen, 15.0, -15.0)[rows_of(bots)], theirs


def _normal_quantile(chance):
    return {0.6: 0.2533471, 0.8: 0.8416212, 0.95: 1.6448536, 0.99: 2.3263479}[chance]


def interval_of(ours, theirs, shape):
    names = [f"bot {player}" for player in rows_of(shape[0])] + [f"human {player}" for player in rows_of(shape[1])]
    bot = np.arange(len(names)) < ours.size
    return auc_interval(np.append(ours, theirs), bot, np.array(names))


@pytest.mark.parametrize("kind", ["normal", "missed"])
@pytest.mark.parametrize(("auc", "share"), [(0.6, 0.1), (0.8, 0.9), (0.95, 0.1), (0.95, 0.9), (0.99, 0.9)])
@pytest.mark.parametrize("shape", SHAPES)
def test_95_percent_of_the_intervals_hold_the_auc(shape, auc, share, kind):
    random = np.random.default_rng([len(shape), int(100 * auc), int(10 * share), len(kind)])
    held = 0

    for _ in range(DRAWS):
        ours, theirs = scores_of(random, SHAPES[shape], auc, share, kind)
        low, high = interval_of(ours, theirs, SHAPES[shape])
        held += low <= auc <= high

    assert chance_of_at_most(held, DRAWS, LEAST) > 0.0005, f"{held} of {DRAWS}"


@pytest.mark.parametrize("rate", [0.5, 0.75, 0.95])
@pytest.mark.parametrize("sizes", [[1] * 25, [8] * 6, [1] * 300])
def test_95_percent_of_the_intervals_hold_the_share(sizes, rate):
    random = np.random.default_rng([len(sizes), int(100 * rate)])
    held = 0

    for _ in range(DRAWS):
        flagged = (random.random(len(sizes)) < rate)[rows_of(sizes)]
        low, high = share_interval(flagged, rows_of(sizes).astype(str))
        held += low <= rate <= high

    assert chance_of_at_most(held, DRAWS, LEAST) > 0.0005, f"{held} of {DRAWS}"


def test_many_sessions_of_few_players_say_little_more_than_the_players():
    random = np.random.default_rng(0)
    widths = {}

    for name, shape in (("few", FEW), ("many", ([1] * 48, [1] * 48))):
        ends = [interval_of(*scores_of(random, shape, 0.8, 0.9, "normal"), shape) for _ in range(50)]
        widths[name] = np.mean([high - low for low, high in ends])

    assert widths["few"] > 2 * widths["many"]


@pytest.mark.parametrize("players", [6, 25, 400])
def test_a_perfect_ranking_leaves_possible_what_as_many_right_answers_do(players):
    low, high = interval_of(np.ones(players), np.zeros(players), ([1] * players, [1] * players))

    exact = 0.025 ** (1 / players)
    assert high == 1.0
    assert exact - 0.1 < low < exact + 0.002


def test_of_two_players_a_side_nothing_can_be_said():
    assert interval_of(np.ones(16), np.zeros(16), ([8, 8], [8, 8])) is None
    assert interval_of(np.ones(24), np.zeros(16), ([8] * 3, [8, 8])) is None
    assert share_interval(np.array([True, False]), np.array(["a", "b"])) is None


def test_a_constant_stands_at_one_half_for_certain():
    assert interval_of(np.zeros(40), np.zeros(40), ([8] * 5, [8] * 5)) == (0.5, 0.5)


def test_groups_that_have_bots_and_humans_count_once():
    scores, bot = np.array([3.0, 1, 2, 0, 5, 4, 6, 1]), np.array([True, False] * 4)
    together = auc_interval(scores, bot, np.repeat(list("abcd"), 2))

    assert together is not None
    assert together != auc_interval(scores, bot, np.arange(8).astype(str))


@given(st.lists(st.tuples(st.integers(0, 5), st.booleans(), st.integers(0, 9)), min_size=6, max_size=60))
def test_an_interval_holds_its_auc_and_turns_with_the_scores(rows):
    scores, bot, groups = (np.array(column) for column in zip(*rows, strict=True))
    found = auc_interval(scores.astype(float), bot, groups.astype(str))
    turned = auc_interval(-scores.astype(float), bot, groups.astype(str))

    if found is None:
        assert turned is None
        return
    pairs = scores[bot][:, None] - scores[~bot][None, :]
    auc = (pairs > 0).mean() + (pairs == 0).mean() / 2
    assert -1e-12 <= found[0] <= auc + 1e-12
    assert auc - 1e-12 <= found[1] <= 1 + 1e-12
    assert turned == pytest.approx((1 - found[1], 1 - found[0]), abs=1e-9)


@pytest.mark.parametrize(
    ("freedom", "bound"), [(1, 12.7062), (2, 4.30265), (5, 2.57058), (30, 2.04227), (1e6, 1.95997)]
)
def test_students_bounds_are_those_of_the_tables(freedom, bound):
    assert student(freedom) == pytest.approx(bound, rel=2e-4)
