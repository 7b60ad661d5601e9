"""Agreement of raters: the published formulas, against plain counting and against examples worked by hand."""

from collections import Counter
from fractions import Fraction
from itertools import permutations, product

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from gamewarden.reviewing.agreement import agreements, cohen_kappa, fleiss_kappa, raw_agreement

SAYS = st.sampled_from(["bot", "human", "unsure"])
PAIRS = st.lists(st.tuples(SAYS, SAYS), min_size=1, max_size=30)
THREES = st.lists(st.lists(SAYS, min_size=3, max_size=3), min_size=1, max_size=30)
# Fleiss (1971) as worked on in textbooks: fourteen raters, five categories, ten subjects; kappa is 0.210.
FOURTEEN = [
    (0, 0, 0, 0, 14),
    (0, 2, 6, 4, 2),
    (0, 0, 3, 5, 6),
    (0, 3, 9, 2, 0),
    (2, 2, 8, 1, 1),
    (7, 7, 0, 0, 0),
    (3, 2, 6, 3, 0),
    (2, 5, 3, 2, 2),
    (6, 5, 2, 1, 0),
    (0, 2, 2, 3, 7),
]


def test_two_people_of_whom_each_says_bot_half_of_the_time():
    pairs = [("bot", "bot")] * 20 + [("bot", "human")] * 5 + [("human", "bot")] * 10 + [("human", "human")] * 15

    assert cohen_kappa(pairs) == pytest.approx(0.4)


def test_fourteen_people_on_ten_subjects_agree_as_the_textbook_says():
    votes = [[place for place, count in enumerate(row) for _ in range(count)] for row in FOURTEEN]

    assert fleiss_kappa(votes) == pytest.approx(0.2099, abs=5e-5)


def test_three_people_on_four_accounts_by_hand():
    votes = [["bot"] * 3, ["human"] * 3, ["bot", "bot", "human"], ["human", "human", "bot"]]

    # P = (1 + 1 + 1/3 + 1/3) / 4 = 2/3; P_e = 1/2; (2/3 - 1/2) / (1/2) = 1/3
    assert fleiss_kappa(votes) == pytest.approx(1 / 3)


@given(PAIRS)
def test_cohens_kappa_is_what_counting_all_pairs_of_votes_says(pairs):
    first, second = [one for one, _ in pairs], [other for _, other in pairs]
    agreed = Fraction(sum(one == other for one, other in pairs), len(pairs))
    chance = Fraction(sum(one == other for one, other in product(first, second)), len(pairs) ** 2)
    assume(chance < 1)

    assert cohen_kappa(pairs) == pytest.approx(float((agreed - chance) / (1 - chance)))


@given(THREES)
def test_fleiss_kappa_is_what_drawing_two_votes_says(votes):
    everything = [one for account in votes for one in account]
    same = [sum(one == other for one, other in permutations(account, 2)) for account in votes]
    agreed = Fraction(sum(same), 6 * len(votes))
    chance = Fraction(sum(one == other for one, other in product(everything, everything)), len(everything) ** 2)
    assume(chance < 1)

    assert fleiss_kappa(votes) == pytest.approx(float((agreed - chance) / (1 - chance)))


@given(THREES)
def test_whoever_agrees_on_everything_agrees_wholly_or_not_beyond_chance(votes):
    alike = [[account[0]] * 3 for account in votes]

    kappa = fleiss_kappa(alike)

    assert kappa is None if len({account[0] for account in votes}) == 1 else kappa == pytest.approx(1)


@given(PAIRS)
def test_who_is_called_first_changes_nothing(pairs):
    turned = [(other, one) for one, other in pairs]

    assert cohen_kappa(turned) == pytest.approx(cohen_kappa(pairs))


def test_two_of_three_who_agree_are_one_pair_in_three():
    assert raw_agreement(["bot", "bot", "human"]) == pytest.approx(1 / 3)
    assert raw_agreement(["bot"]) == 0


def test_agreement_is_told_only_of_enough_accounts():
    votes = {f"a{number}": {"Ada": "bot", "Ben": "bot" if number % 2 else "human"} for number in range(10)}
    three = {name: said | {"Cy": "human"} for name, said in votes.items()}

    assert agreements(dict(list(votes.items())[:9])) == ()
    assert [(one.kind, one.raters, one.accounts, one.raw) for one in agreements(votes)] == [
        ("Cohen", ("Ada", "Ben"), 10, 0.5)
    ]
    assert Counter(one.kind for one in agreements(three)) == {"Fleiss": 1, "Cohen": 3}
