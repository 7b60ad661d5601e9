import pytest

from gamewarden.evaluation.paired import Paired, sign_test


def test_the_sign_test_counts_as_by_hand():
    assert sign_test(7, 0) == sign_test(0, 7) == 2 / 128
    assert sign_test(6, 1) == 2 * 8 / 128
    assert sign_test(3, 3) == 1
    assert sign_test(0, 0) == 1


def test_worlds_are_compared_one_by_one():
    found = Paired.of([0.9, 0.2, 0.5], [0.5, 0.3, 0.5])

    assert (found.won, found.lost, found.mean) == (1, 1, pytest.approx(0.1))


@pytest.mark.parametrize(("ours", "verdict"), [(0.1, "yes"), (-0.1, "no")])
def test_a_difference_that_is_always_there_is_sure(ours, verdict):
    found = Paired.of([0.5 + ours] * 6, [0.5] * 6)

    assert found.verdict == verdict
    assert found.low == found.high == pytest.approx(ours)


def test_a_difference_that_changes_its_sign_is_open_and_its_interval_holds_the_mean():
    found = Paired.of([0.9, 0.1, 0.8, 0.3], [0.1, 0.9, 0.4, 0.5])

    assert found.verdict == "open"
    assert found.low < found.mean < found.high
    assert found == Paired.of([0.9, 0.1, 0.8, 0.3], [0.1, 0.9, 0.4, 0.5])


def test_three_worlds_that_agree_do_not_settle_anything():
    found = Paired.of([0.9, 0.8, 0.7], [0.1, 0.1, 0.1])

    assert found.low > 0
    assert found.verdict == "open"
