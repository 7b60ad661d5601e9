import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.svm import SVC

from gamewarden.detectors.actions.hinge import Machines


def chunks(seed: int, rows: int = 80, columns: int = 6):
    random = np.random.default_rng(seed)
    bot = random.random(rows) < 0.6
    bot[:2] = True, False
    values = np.clip(0.6 * random.random((rows, columns)) + 0.2 * bot[:, None] * random.random(columns), 0, 1)
    return values, bot


def strength(values):
    return 1 / (values**2).sum(axis=1).mean()


def libsvm(values, bot):
    return SVC(kernel="linear", C=strength(values), tol=1e-5).fit(values, bot)


def cost(values, bot, weights, intercept):
    """What a soft-margin machine makes as small as it can."""
    hinge = np.maximum(0, 1 - np.where(bot, 1, -1) * (values @ weights + intercept))
    return weights @ weights / 2 + strength(values) * hinge.sum()


def cost_of(machines, values, bot, kept):
    """Of the machine without some rows; its weights are what each number adds to the margin of nothing."""
    columns = values.shape[1]
    intercept, *shifted = machines.margins(kept, np.vstack([np.zeros(columns), np.eye(columns)]))
    return cost(values[kept], bot[kept], np.array(shifted) - intercept, intercept)


@pytest.mark.parametrize("columns", [6, 40])
def test_margins_are_those_of_libsvm_whoever_is_left_out(columns):
    values, bot = chunks(1, columns=columns)
    machines = Machines(values, bot)

    for fold in range(5):
        kept = np.arange(len(bot)) % 5 != fold
        theirs = libsvm(values[kept], bot[kept]).decision_function(values)

        assert machines.margins(kept, values) == pytest.approx(theirs, abs=5e-3)


@given(st.integers(0, 10_000), st.integers(1, 12))
def test_no_machine_costs_more_than_libsvms_whatever_came_before(seed, columns):
    # Where several intercepts are equally good the margins may differ, the cost may not.
    values, bot = chunks(seed, 40, columns)
    machines = Machines(values, bot)
    machines.margins(np.arange(40) % 7 != 2, values)
    kept = np.arange(40) % 3 != 2

    theirs = libsvm(values[kept], bot[kept])

    best = cost(values[kept], bot[kept], theirs.coef_[0], theirs.intercept_[0])
    assert cost_of(machines, values, bot, kept) == pytest.approx(best, rel=1e-4)


def test_rows_that_are_left_out_do_not_count_at_all():
    values, bot = chunks(3)
    kept = np.arange(len(bot)) % 4 != 0
    others = np.where(kept[:, None], values, 1 - values)

    assert Machines(values, bot).margins(kept, values) == pytest.approx(
        Machines(others, bot).margins(kept, values), abs=1e-9
    )


def test_one_class_alone_is_the_answer_and_nobody_is_human():
    values, bot = chunks(4)
    machines = Machines(values, bot)

    assert set(machines.margins(bot, values)) == {1.0}
    assert set(machines.margins(~bot, values)) == {-1.0}
    assert set(machines.margins(np.zeros(len(bot), np.bool_), values)) == {-1.0}


def test_chunks_that_are_all_alike_have_a_margin():
    bot = np.array([True, True, False])

    assert np.isfinite(Machines(np.zeros((3, 2)), bot).margins(np.ones(3, np.bool_), np.zeros((1, 2)))).all()
