"""The EWMA chart: the published goldens, its rules, and how long it runs before it signals."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gamewarden.drift.ewma import Chart, ChartRules, Limits, half_width
from gamewarden.drift.run_lengths import KnownLimits, false_signals, false_signals_of_the_chart

MU, SIGMA = 0.9, 0.02
KNOWN = Limits(MU, SIGMA, 20)


def chart(**options):
    """A chart whose limits are known and settled."""
    return Chart(ChartRules(**options), KNOWN, baseline=(MU,) * 20)


def drawn(start, *values, **options):
    points = []
    for value in values:
        start, point = start.observe(value, **options)
        points.append(point)
    return start, points


def test_the_limits_stand_at_0_6_then_0_768_and_in_the_end_1_0_deviations():
    assert half_width(1) == pytest.approx(0.6)
    assert half_width(2) == pytest.approx(0.768, abs=5e-4)
    assert half_width(1000) == pytest.approx(1.0)


def test_a_constant_x_at_the_centre_never_signals():
    _, points = drawn(chart(), *[MU] * 200)

    assert not any(point.signal for point in points)


@pytest.mark.parametrize(("distance", "signals"), [(3.1, True), (2.9, False)], ids=["3.1", "2.9"])
def test_three_deviations_below_decide_at_the_first_period(distance, signals):
    _, (point,) = drawn(chart(), MU - distance * SIGMA)

    assert point.signal is signals
    assert point.z == pytest.approx(MU - 0.2 * distance * SIGMA)


def test_the_limits_are_strict_so_that_reaching_one_signals():
    exact = ChartRules(weight=1.0, width=1.0)  # no rounding: Z is X, and the limit one deviation
    _, (point,) = drawn(Chart(exact, Limits(0.0, 1.0, 20), baseline=(0.0,) * 20), -1.0)

    assert point.z == point.lower == -1.0
    assert point.signal


def test_both_sides_signal_as_published_and_only_the_lower_one_when_asked():
    high = MU + 4 * SIGMA

    assert drawn(chart(), high)[1][0].signal
    _, (point,) = drawn(chart(lower_only=True), high)
    assert (point.status, point.signal) == ("above", False)
    assert drawn(chart(lower_only=True), MU - 4 * SIGMA)[1][0].signal


def test_signals_in_a_row_are_counted_and_one_period_in_control_ends_the_row():
    low = MU - 10 * SIGMA
    after, _ = drawn(chart(), low, low)
    assert after.consecutive == 2

    after, points = drawn(after, *[MU + 6 * SIGMA] * 2)
    assert points[-1].status == "in control"
    assert after.consecutive == 0


def test_a_missing_period_leaves_z_and_the_row_of_signals_and_is_counted():
    after, _ = drawn(chart(), MU - 10 * SIGMA)
    gap, points = drawn(after, None, None, None)

    assert gap.missing == 3
    assert (gap.drawn, gap.consecutive) == (after.drawn, 1)
    assert points[-1].status == "missing"
    assert drawn(gap, MU)[0].missing == 0


def test_there_are_no_limits_before_eight_periods_and_provisional_ones_until_twenty():
    dice = np.random.default_rng(1)
    learning, points = drawn(Chart(), *(0.9 + 0.02 * dice.uniform(-1, 1, 8)))
    assert {point.status for point in points} == {"learning"}
    assert learning.limits.periods == 8

    settled, points = drawn(learning, *(0.9 + 0.02 * dice.uniform(-1, 1, 13)))
    assert [point.provisional for point in points] == [True] * 12 + [False]
    assert settled.limits.periods == 20
    assert drawn(settled, 0.9)[0].limits == settled.limits


def test_the_limits_are_the_mean_and_sample_deviation_of_the_baseline():
    values = [0.90, 0.93, 0.88, 0.91, 0.95, 0.87, 0.92, 0.90]
    learned, _ = drawn(Chart(), *values)

    assert learned.limits.center == pytest.approx(np.mean(values))
    assert learned.limits.sigma == pytest.approx(np.std(values, ddof=1))


def test_the_deviation_never_falls_below_its_floor():
    learned, _ = drawn(Chart(), *[0.99] * 8)

    assert learned.limits.sigma == 0.005
    assert drawn(Chart(ChartRules(sigma_floor=0.0)), *[0.99, 0.991] * 4)[0].limits.sigma < 0.001


def test_a_ban_wave_is_drawn_and_is_in_no_baseline():
    learning, _ = drawn(Chart(), *[0.9, 0.92] * 3)
    marked, (point,) = drawn(learning, 0.5, marked=True)
    assert marked.baseline == learning.baseline
    assert not point.counts

    _, (point,) = drawn(chart(), MU - 10 * SIGMA, marked=True)
    assert point.signal
    provisional = Chart(ChartRules(), Limits(MU, SIGMA, 8), baseline=(MU,) * 8)
    assert drawn(provisional, MU, marked=True)[0].baseline == provisional.baseline


def test_a_period_out_of_control_is_in_no_baseline():
    provisional = Chart(ChartRules(), Limits(MU, SIGMA, 8), baseline=(MU,) * 8)
    after, (point,) = drawn(provisional, MU - 10 * SIGMA)

    assert point.signal
    assert after.baseline == provisional.baseline


def test_after_retraining_z_begins_at_the_centre_under_the_old_limits_until_eight_own_periods():
    after, _ = drawn(chart(), MU - 10 * SIGMA)
    new = after.after_retraining()
    assert (new.drawn, new.baseline, new.consecutive) == ((), (), 1)
    assert new.limits.taken_over

    seven, points = drawn(new, *[0.80, 0.81] * 3, 0.8)
    assert seven.limits.center == MU
    assert all(point.provisional for point in points)
    eight, _ = drawn(seven, 0.81)
    assert eight.limits.center == pytest.approx(0.805)
    assert eight.drawn == ()


def test_limits_that_three_models_in_a_row_took_over_call_and_retrain_no_more():
    low = MU - 10 * SIGMA
    start, signals = chart(), []
    for _ in range(4):
        start, (point,) = drawn(start, low)
        signals.append((point.outside, point.signal, point.provisional))
        start = start.after_retraining() if point.signal else start

    assert signals == [(True, True, False), (True, True, True), (True, True, True), (True, False, True)]
    assert (start.limits.center, start.limits.heirs, start.baseline) == (MU, 3, (low,))
    own, points = drawn(start, *[low, low + SIGMA] * 3, low)
    assert [point.signal for point in points] == [False] * 7
    assert (own.limits.taken_over, own.consecutive) == (False, 11)
    assert drawn(own, low)[1][0].status == "in control"


def test_a_period_without_limits_ends_a_row_of_signals():
    assert drawn(Chart(consecutive=7), 0.9)[0].consecutive == 0


def test_fishers_transform_draws_atanh_and_survives_a_correlation_of_one():
    rules = ChartRules(transform="fisher")

    assert rules.shown(0.9) == pytest.approx(np.arctanh(0.9))
    assert rules.shown(1.0) == rules.shown(0.99999) == pytest.approx(np.arctanh(0.9999))
    assert ChartRules().shown(0.9) == 0.9


@given(st.lists(st.floats(-1, 1), min_size=1, max_size=30))
def test_z_is_the_weighted_mean_of_the_centre_and_all_periods_since_the_reset(values):
    _, points = drawn(chart(), *values)

    weights = 0.2 * 0.8 ** np.arange(len(values))[::-1]
    assert points[-1].z == pytest.approx(0.8 ** len(values) * MU + weights @ np.array(values), abs=1e-9)


def test_in_control_the_chart_runs_about_555_periods_and_finds_a_shift_of_one_deviation_in_about_10():
    in_control = KnownLimits().run_lengths(4000, seed=1).mean()
    shifted = KnownLimits(shift=1.0).run_lengths(4000, seed=1).mean()

    assert in_control == pytest.approx(555, rel=0.1)
    assert shifted == pytest.approx(10, rel=0.1)


def test_the_other_published_widths_run_as_long_as_stated():
    assert KnownLimits(ChartRules(width=2.962)).run_lengths(3000, seed=2).mean() == pytest.approx(495, rel=0.1)
    assert KnownLimits(ChartRules(weight=0.3)).run_lengths(3000, seed=2).mean() == pytest.approx(458, rel=0.1)
    assert KnownLimits(ChartRules(weight=0.1, width=2.814)).run_lengths(3000, seed=2).mean() == pytest.approx(
        482, rel=0.1
    )


def test_the_simulation_and_the_chart_signal_in_the_same_period():
    dice = np.random.default_rng(5)
    values = dice.normal(size=400)

    class Replay:
        def normal(self, shift, scale, size):
            return np.full(size, shift + scale * next(self.values))

    replay = Replay()
    replay.values = iter(values)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(np.random, "default_rng", lambda _seed: replay)
        (length,) = KnownLimits(shift=0.5).run_lengths(1, seed=0)
    _, points = drawn(Chart(ChartRules(sigma_floor=0.0), Limits(0.0, 1.0, 20), baseline=(0.0,) * 20), *(values + 0.5))

    assert next(at for at, point in enumerate(points, 1) if point.signal) == length


def test_limits_from_20_periods_signal_falsely_in_one_run_of_seven_and_from_8_in_three_of_ten():
    assert false_signals(20, within=20, runs=20_000, seed=1) == pytest.approx(0.145, abs=0.01)
    assert false_signals(8, within=20, runs=20_000, seed=1) == pytest.approx(0.29, abs=0.012)


def test_estimating_the_provisional_limits_anew_each_period_brings_false_signals_down():
    assert false_signals_of_the_chart(within=20, runs=500, seed=1) < 0.18
