"""The logic flow of a period: who is called when, which model stays, and what becomes of the limits."""

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

import pytest

from gamewarden.drift.causes import Cause
from gamewarden.drift.ewma import Rules
from gamewarden.drift.flow import Day, Ledger, Period, Policy, Retrained, Signal
from gamewarden.drift.story import story
from gamewarden.drift.validation import Comparison, judge

START = datetime(2026, 3, 2, tzinfo=UTC)
GOOD = Comparison(0.95, 0.9, 0.1, 0.1, None, 50, 50)
BAD = Comparison(0.7, 0.9, 0.1, 0.1, None, 50, 50)


@dataclass
class Script:
    """Hands that do what the test wrote down: X_t of each day, and whether new models are good."""

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


def run(xs, comparison=GOOD, **policy):
    hands, notebook = Script(list(xs), comparison), Notebook()
    ledger = Ledger(notebook, Policy(Rules(provisional=3, settled=3), **policy))
    ledger.append({"period": "start", "step": "begin", "model": "old@1"})
    for day in range(len(hands.xs)):
        Day(Period(START + timedelta(days=day), START + timedelta(days=day + 1)), hands, ledger).run()
    return hands, ledger, notebook


QUIET = [0.90, 0.91, 0.89, 0.90]


def test_in_control_nothing_is_done_but_scoring_and_watching():
    hands, ledger, notebook = run(QUIET)

    assert {record["step"] for record in notebook.records} == {"begin", "score", "watch", "done"}
    assert (ledger.standing.model, hands.told) == ("old@1", [])


def test_a_signal_with_a_good_new_model_promotes_it_and_begins_z_anew_without_a_call():
    hands, ledger, _ = run([*QUIET, 0.5])

    assert (ledger.standing.model, hands.promoted, hands.told) == ("new@06", 1, [])
    assert ledger.standing.chart.drawn == ()


def test_a_failed_validation_keeps_the_old_model_and_its_z_and_calls_the_operator():
    hands, ledger, _ = run([*QUIET, 0.5], BAD)

    assert (ledger.standing.model, hands.promoted) == ("old@1", 0)
    assert ledger.standing.chart.drawn[-1] == 0.5
    assert [reason for reason, _ in hands.told] == ["invalid"]
    assert hands.told[0][1].endswith("Likeliest cause: Bots may have adapted.")


def test_two_signals_in_a_row_call_the_operator_also_when_each_new_model_is_good():
    hands, _, _ = run([*QUIET, 0.5, 0.5])

    assert [reason for reason, _ in hands.told] == ["consecutive"]
    assert hands.told[0][1].startswith("Change was detected 2 times in a row.")


def test_a_quiet_period_between_two_signals_is_no_row():
    hands, _, _ = run([*QUIET, 0.5, 0.9, 0.5])

    assert hands.told == []


def test_how_many_in_a_row_is_policy():
    hands, _, _ = run([*QUIET, 0.5, 0.5, 0.5], consecutive=3)

    assert [text[:31] for _, text in hands.told] == ["Change was detected 3 times in "]


def test_three_missing_periods_in_a_row_call_the_operator_once():
    hands, _, _ = run([*QUIET, None, None, None, None])

    assert [reason for reason, _ in hands.told] == ["missing"]


def test_old_limits_are_kept_through_two_signals_and_dropped_when_a_third_model_is_accepted():
    _, two, _ = run([*QUIET, 0.5, 0.5])
    assert two.standing.chart.limits.taken_over

    _, three, _ = run([*QUIET, 0.5, 0.5, 0.5])
    assert three.standing.chart.limits is None


def test_a_new_model_is_compared_with_the_latest_period_in_control_and_not_with_a_missing_one():
    hands, _, _ = run([*QUIET, None, 0.5, 0.4], BAD)

    assert hands.in_control == [START + timedelta(days=3)] * 2


def test_the_flow_does_not_run_before_it_has_a_model():
    day = Day(Period(START, START + timedelta(days=1)), Script([0.9]), Ledger(Notebook(), Policy()))

    with pytest.raises(ValueError, match="has not begun"):
        day.run()


def test_the_story_has_a_sentence_for_every_answer():
    silent = Signal(None, 200, "in it kinds went silent", silent=("combat.kill",))
    _, _, notebook = run([*QUIET, silent, Signal(0.5, 200, ban_wave=True)], BAD)
    told = "\n".join(story(notebook.records))

    assert "No X_t: in it kinds went silent. Z stays. Silent kinds: combat.kill." in told
    assert "the model is retrained. Marked: a ban wave." in told
    assert "Invalid, so it scores nobody and the old model stays: its AUC of 0.700 is below the floor of 0.85" in told
    assert "Operator (sent): The new model is invalid" in told
