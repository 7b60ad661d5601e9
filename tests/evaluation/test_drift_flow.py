"""The logic flow of a period: who is called when, which model stays, and what becomes of the limits."""

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

import pytest

from gamewarden.core.clock import Period
from gamewarden.drift.causes import Cause
from gamewarden.drift.doubts import Doubt
from gamewarden.drift.ewma import ChartRules
from gamewarden.drift.flow import Ledger, PeriodRun, Policy, Retrained, Signal
from gamewarden.drift.validation import Comparison, judge
from gamewarden.presentation.maintenance_story import story

START = datetime(2026, 3, 2, tzinfo=UTC)
GOOD = Comparison(0.95, 0.9, 0.1, 0.1, None, 50, 50)
BAD = Comparison(0.7, 0.9, 0.1, 0.1, None, 50, 50)


@dataclass
class Script:
    """Actions that do what the test wrote down: X_t of each day, and whether new models are good."""

    xs: list
    comparison: Comparison = GOOD
    told: list = field(default_factory=list)
    in_control: list = field(default_factory=list)
    promoted: int = 0

    def score(self, _period, _model):
        return {"actors": 200, "flagged": 20}

    def signal(self, period, _model):
        x = self.xs[(period.since - START).days]
        return x if isinstance(x, Signal) else Signal(x, 200, None if x is not None else "too few")

    def causes(self, _period, _model):
        return [Cause("adaptation", 1.0, "Bots may have adapted.")]

    def retrain(self, period, _model):
        return Retrained(f"new@{period.since:%d}", None, {"bots": 60, "humans": 60, "periods": 4})

    def validate(self, _period, _model, _candidate, in_control):
        self.in_control.append(in_control)
        return judge(self.comparison)

    def promote(self, _period, _candidate, _because):
        self.promoted += 1

    def notify(self, _period, reason, text):
        self.told.append((reason, text))
        return "sent"


class Notebook:
    def __init__(self):
        self.records = []

    def append(self, record):
        self.records.append(record)


def begun(notebook=None, **policy):
    ledger = Ledger(notebook or Notebook(), Policy(ChartRules(provisional=3, settled=3), **policy))
    ledger.append({"period": "start", "step": "begin", "model": "old@1"})
    return ledger


def run_day(actions, ledger, day):
    PeriodRun(Period(START + timedelta(days=day), START + timedelta(days=day + 1)), actions, ledger).run()


def run(xs, comparison=GOOD, **policy):
    actions, notebook = Script(list(xs), comparison), Notebook()
    ledger = begun(notebook, **policy)
    for day in range(len(actions.xs)):
        run_day(actions, ledger, day)
    return actions, ledger, notebook


QUIET = [0.90, 0.91, 0.89, 0.90]


def test_in_control_nothing_is_done_but_scoring_and_watching():
    actions, ledger, notebook = run(QUIET)

    assert {record["step"] for record in notebook.records} == {"begin", "score", "watch", "done"}
    assert (ledger.standing.model, actions.told) == ("old@1", [])


def test_a_signal_with_a_good_new_model_promotes_it_and_begins_z_anew_without_a_call():
    actions, ledger, _ = run([*QUIET, 0.5])

    assert (ledger.standing.model, actions.promoted, actions.told) == ("new@06", 1, [])
    assert ledger.standing.chart.drawn == ()


def test_a_failed_validation_keeps_the_old_model_and_its_z_and_calls_the_operator():
    actions, ledger, _ = run([*QUIET, 0.5], BAD)

    assert (ledger.standing.model, actions.promoted) == ("old@1", 0)
    assert ledger.standing.chart.drawn[-1] == 0.5
    assert [reason for reason, _ in actions.told] == ["invalid"]
    assert actions.told[0][1].endswith("Likeliest cause: Bots may have adapted.")


def test_two_signals_in_a_row_call_the_operator_also_when_each_new_model_is_good():
    actions, _, _ = run([*QUIET, 0.5, 0.5])

    assert [reason for reason, _ in actions.told] == ["consecutive"]
    assert actions.told[0][1].startswith("Change was detected 2 times in a row.")


def test_a_quiet_period_between_two_signals_is_no_row():
    actions, _, _ = run([*QUIET, 0.5, 0.9, 0.5])

    assert actions.told == []


def test_how_many_in_a_row_is_policy():
    actions, _, _ = run([*QUIET, 0.5, 0.5, 0.5], consecutive=3)

    assert [text[:31] for _, text in actions.told] == ["Change was detected 3 times in "]


def test_three_missing_periods_in_a_row_call_the_operator_once():
    actions, _, _ = run([*QUIET, None, None, None, None])

    assert [reason for reason, _ in actions.told] == ["missing"]


def rows_told(actions):
    return [int(text.split()[3]) for reason, text in actions.told if reason == "consecutive"]


def test_a_row_is_told_of_only_on_days_that_left_the_limits_and_a_day_in_control_ends_it():
    actions, _, notebook = run([*QUIET, 0.85, 0.85, None, 0.95, 0.85, 0.85], BAD)
    watched = [record for record in notebook.records if record["step"] == "watch"][len(QUIET) :]

    assert [record["status"] for record in watched] == ["below", "below", "missing", "in control", "below", "below"]
    assert [record["consecutive"] for record in watched] == [1, 2, 2, 0, 1, 2]
    assert rows_told(actions) == [2, 2]


def test_a_row_is_not_told_of_once_a_new_model_was_accepted_and_nothing_changed():
    actions = Script([*QUIET, *[0.5] * 7, 0.9, 0.9, 0.9, 0.9], BAD)
    ledger = begun()
    for day in range(len(actions.xs)):
        actions.comparison = GOOD if day == len(QUIET) + 6 else BAD
        run_day(actions, ledger, day)

    assert rows_told(actions) == [2, 3, 4, 5, 6, 7]
    assert ledger.standing.model == "new@12"
    assert ledger.standing.chart.consecutive == 0


@pytest.mark.parametrize("signals", [1, 2, 3])
def test_old_limits_stay_in_force_and_provisional_however_many_models_are_accepted_under_them(signals):
    _, before, _ = run(QUIET)
    _, ledger, notebook = run([*QUIET, *[0.5] * signals, 0.9])
    watched = [record for record in notebook.records if record["step"] == "watch"][-1]

    assert ledger.standing.chart.limits.center == before.standing.chart.limits.center
    assert (watched["status"], watched["provisional"]) == ("in control", True)


def test_a_lasting_shift_after_a_promotion_retrains_three_times_and_then_gets_limits_of_its_own():
    """The very deadlock that kept limits could be: no model's natural X lies within them."""
    actions, ledger, notebook = run([*QUIET, *[0.6, 0.61, 0.62] * 20], consecutive=2)
    retrained = [record["period"][8:10] for record in notebook.records if record["step"] == "retrain"]
    watched = [record for record in notebook.records if record["step"] == "watch"]

    assert retrained == ["06", "07", "08"]
    assert rows_told(actions) == [2, 3, 4, 5, 6]
    assert [record["status"] for record in watched[4:10]] == ["below"] * 6
    assert all(record["provisional"] for record in watched[5:10])
    assert {record["status"] for record in watched[10:]} == {"in control"}
    assert not ledger.standing.chart.limits.taken_over


def test_a_new_model_is_compared_with_the_latest_period_in_control_and_not_with_a_missing_one():
    actions, _, _ = run([*QUIET, None, 0.5, 0.4], BAD)

    assert actions.in_control == [START + timedelta(days=3)] * 2


def test_the_flow_does_not_run_before_it_has_a_model():
    day = PeriodRun(Period(START, START + timedelta(days=1)), Script([0.9]), Ledger(Notebook(), Policy()))

    with pytest.raises(ValueError, match="has not begun"):
        day.run()


def days_of(notebook, step):
    found = [record["period"] for record in notebook.records if record["step"] == step]
    return [(datetime.fromisoformat(period) - START).days for period in found]


UNKNOWN = Doubt("vocabulary", "Half of all events are new.")
BROKEN = Doubt("collapse", "2.0 events an actor.", fault=True)


def doubted(*found, x=0.9):
    return Signal(x, 200, None if x is not None else "its log is incomplete", doubts=found)


def test_a_doubt_is_told_of_at_once_and_every_third_period_and_a_new_one_beside_it_at_once():
    xs = [0.9, *[doubted(UNKNOWN)] * 4, doubted(UNKNOWN, BROKEN, x=None), 0.9, doubted(UNKNOWN)]
    actions, _, notebook = run(xs, BAD, turned_over=99)
    days = [
        record["period"][9:10]
        for record in notebook.records
        if record["step"] == "notify" and record["messages"][0]["reason"] == "not to be trusted"
    ]

    assert days == ["3", "5", "7", "9"]
    first, *_, last = [text for reason, text in actions.told if reason == "not to be trusted"]
    assert first == last == "Scores of this period are not to be trusted: Half of all events are new."


def test_a_doubted_period_is_in_no_baseline_and_is_not_what_a_new_model_is_compared_with():
    actions, ledger, _ = run([0.9, 0.91, doubted(UNKNOWN), doubted(UNKNOWN)], BAD, turned_over=2)

    assert ledger.standing.chart.baseline == (0.9, 0.91)
    assert actions.in_control == [START + timedelta(days=1)] * 2


def test_a_doubt_retrains_while_the_chart_still_learns_and_then_ever_more_seldom():
    _, _, notebook = run([0.9, *[doubted(UNKNOWN)] * 20], BAD, turned_over=4)

    assert days_of(notebook, "retrain") == [1, 4, 8, 16]


def test_a_doubt_that_comes_and_goes_does_not_retrain_every_time():
    _, _, notebook = run([0.9, doubted(UNKNOWN)] * 5, BAD, turned_over=4)

    assert days_of(notebook, "retrain") == [1, 5, 9]


def test_a_fault_of_the_log_is_answered_by_no_retraining():
    actions, _, notebook = run([0.9, doubted(UNKNOWN, BROKEN, x=None)])

    assert "retrain" not in {record["step"] for record in notebook.records}
    assert actions.promoted == 0


def test_a_new_model_that_cures_a_doubt_is_told_of_and_says_why_it_took_over():
    actions, ledger, notebook = run([0.9, doubted(UNKNOWN), 0.9])
    (promoted,) = [record for record in notebook.records if record["step"] == "promote"]

    assert ledger.standing.doubted == {}
    assert "were not to be trusted (vocabulary)" in promoted["because"]
    assert actions.told[0][1].endswith("A new model took over; those it gives instead can be.")


def test_the_story_has_a_sentence_for_every_answer():
    silent = Signal(None, 200, "in it kinds went silent", silent=("combat.kill",))
    _, _, notebook = run([*QUIET, silent, Signal(0.5, 200, ban_wave=True)], BAD)
    told = "\n".join(story(notebook.records))

    assert "No X_t: in it kinds went silent. Z stays. Silent kinds: combat.kill." in told
    assert "the model is retrained. Marked: a ban wave." in told
    assert "Invalid, so it scores nobody and the old model stays: its AUC of 0.700 is below the floor of 0.85" in told
    assert "Operator (sent): The new model is invalid" in told
