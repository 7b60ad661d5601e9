"""Cases for tests of the response: observations, decisions and the time they happen in."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from gamewarden.cases import CHALLENGE, VERDICT, Decision, Observation, Suspicion
from gamewarden.config import config_from
from gamewarden.response.ladder import Case, Ladder, Outcome, climb, ended

START = datetime(2026, 3, 1, tzinfo=UTC)
DAY = timedelta(days=1)
DEFAULT = Ladder.of(config_from({"response": {"tau": "24h"}}, "tests"))  # the numbers of the spec


def moment(days: float) -> datetime:
    return START + days * DAY


def verdict(days: float, llr: float = 6.9, **values) -> Observation:
    """A verdict on the day that ends so many days after the start: of a bot by all rules, if nothing else is said."""
    said = {"fpr": 0.0005, "agree": 3, "covered": 1.0, "since": moment(days - 1), "until": moment(days)} | values
    name = said.pop("id", f"verdict of day {days:g}")
    return Observation(name, "mira", moment(days), VERDICT, f"ref of {name}", llr, **said)


def challenge(days: float, llr: float) -> Observation:
    return Observation(f"challenge of {days:g}", "mira", moment(days), CHALLENGE, f"challenge-{days:g}", llr)


def case(*observations: Observation, standing: Sequence[Decision] = (), **values) -> Case:
    return Case("mira", observations, values.pop("suspicion", None), standing, **values)


def climbed(*observations: Observation, now: float, ladder: Ladder = DEFAULT, **values) -> Outcome:
    rehearsal = values.pop("rehearsal", True)
    return climb(ladder, case(*observations, **values), moment(now), rehearsal=rehearsal)


def steps(outcome: Outcome) -> list[str]:
    return [one.step for one in outcome.decisions]


def after(standing: Sequence[Decision], outcome: Outcome, at: datetime) -> list[Decision]:
    """The decisions of a case once an outcome has been written down."""
    lifted = {one.id: why for one, why in outcome.lifted}
    kept = [ended(one, at, "ladder", lifted[one.id]) if one.id in lifted else one for one in standing]
    return [*kept, *outcome.decisions]


def on_call(suspicion: Suspicion) -> Suspicion:
    return replace(suspicion, on_call=True)
