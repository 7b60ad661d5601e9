"""Folds never split a group and spread both classes."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from gamewarden.learning.folds import assign_folds, max_folds

rows = st.lists(st.tuples(st.integers(0, 15), st.booleans()), min_size=1, max_size=80)


def arrays(pairs):
    return np.array([f"g{group}" for group, _ in pairs]), np.array([bot for _, bot in pairs])


@given(pairs=rows, folds=st.integers(2, 6), seed=st.integers(0, 9))
def test_a_group_is_in_one_fold_only(pairs, folds, seed):
    groups, bot = arrays(pairs)

    dealt = assign_folds(groups, bot, folds, seed)

    assert all(np.unique(dealt[groups == group]).size == 1 for group in np.unique(groups))
    assert dealt.min() >= 0
    assert dealt.max() < folds


@given(pairs=rows, folds=st.integers(2, 6), shuffle=st.randoms(use_true_random=False))
def test_the_order_of_the_rows_does_not_matter(pairs, folds, shuffle):
    mixed = list(pairs)
    shuffle.shuffle(mixed)

    first = dict(zip(arrays(pairs)[0], assign_folds(*arrays(pairs), folds, 0), strict=True))

    assert first == dict(zip(arrays(mixed)[0], assign_folds(*arrays(mixed), folds, 0), strict=True))


@given(pairs=rows, folds=st.integers(2, 6))
def test_every_possible_fold_leaves_both_classes_to_learn_from(pairs, folds):
    groups, bot = arrays(pairs)
    parts = max_folds(groups, bot, folds)
    if parts < 2:
        return

    dealt = assign_folds(groups, bot, parts, 0)

    for part in range(parts):
        assert np.unique(bot[dealt != part]).size == 2


def test_even_groups_give_even_folds():
    groups = np.array([f"g{at}" for at in range(100)])
    bot = np.arange(100) < 40

    dealt = assign_folds(groups, bot, 10, 0)

    assert np.bincount(dealt).tolist() == [10] * 10
    assert np.bincount(dealt[bot]).tolist() == [4] * 10


def test_another_seed_deals_otherwise():
    groups = np.array([f"g{at}" for at in range(100)])

    assert (assign_folds(groups, np.arange(100) < 40, 10, 0) != assign_folds(groups, np.arange(100) < 40, 10, 1)).any()


def test_one_huge_human_group_still_leaves_humans_to_learn_from():
    groups = np.repeat(["a", "b", "c"], [2, 4, 12])
    bot = np.array([True, False, *[True] * 5, *[False] * 11])

    dealt = assign_folds(groups, bot, max_folds(groups, bot, 5), 0)

    assert {bool(bot[dealt != part].all()) for part in (0, 1)} == {False}
