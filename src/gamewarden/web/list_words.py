"""How the columns, conditions and values of accounts are called and written, in the reader's language.

Here and not in a template, since a list writes some thousand of them.
"""

from collections.abc import Mapping
from datetime import datetime

from gamewarden.desk.conditions import PROFILE
from gamewarden.web.languages import N_, Language
from gamewarden.web.step_names import STEP_NAMES

Value = str | int | float | bool | datetime | None

TITLES: Mapping[str, str] = {
    "actor": N_("Account"),
    "name": N_("Name"),
    "probability": N_("Bot probability"),
    "fpr": N_("False-positive rate"),
    "point": N_("Point"),
    "days": N_("Days"),
    "reason": N_("First reason"),
    "state": N_("State"),
    "zone": N_("Main zone"),
    "level": N_("Level"),
    "class": N_("Class"),
    "server": N_("Server"),
    "play_minutes": N_("Play minutes that day"),
    "self_sim": N_("Self-similarity"),
    "sharing": N_("Accounts at its address"),
    "money": N_("Money gained"),
    "money_total": N_("Money gained"),
    "money_gained": N_("Money that day"),
    "since": N_("Highest day"),
    "last": N_("Last day"),
    "agree": N_("Families that agree"),
    "covered": N_("Covered"),
    "events": N_("Events"),
    "events_total": N_("Events in all"),
    "play_total": N_("Play minutes in all"),
    "zones": N_("Zones"),
    "addresses": N_("Addresses"),
    "days_judged": N_("Days judged"),
    "days_reached": N_("Days at a point"),
    "streak": N_("Days in a row"),
    "detector": N_("Detector"),
    "far": N_("Far beyond"),
    "verdict": N_("Verdict"),
    "main_character": N_("Main character"),
    "first_login": N_("First login"),
    "customer_grade": N_("Customer grade"),
    "ticket": N_("Ticket"),
    "payment": N_("Payment"),
    "guard_pattern": N_("Guard pattern"),
    "rung": N_("Rung"),
    "step": N_("Step"),
    "rehearsal": N_("Rehearsed"),
    "protected": N_("Protected"),
    "appeal": N_("Open appeal"),
    "votes": N_("Votes"),
    "label": N_("Label"),
    "family": N_("Bot family"),
    "group": N_("Group"),
    "kind": N_("Has events of kind"),
    "q": N_("Text"),
}
WORDS: Mapping[tuple[str, str], str] = {
    ("point", "act"): N_("act"),
    ("point", "watch"): N_("watch"),
    ("point", "neither"): N_("below"),
    ("state", "review"): N_("for review"),
    ("state", "watching"): N_("watching"),
    ("state", "actioned"): N_("actioned"),
    ("state", "dismissed"): N_("dismissed"),
    ("state", ""): N_("nothing to do"),
    ("label", "bot"): N_("bot"),
    ("label", "human"): N_("human"),
    **{("step", step): name for step, name in STEP_NAMES.items()},
}
_UNKNOWN, _YES, _NO = N_("not known"), N_("yes"), N_("no")
_DIGITS = {"probability": ".3f", "covered": ".3f", "self_sim": ".4f", "fpr": ".2g"}


class ListWords:
    """The words for one reader."""

    def __init__(self, language: Language) -> None:
        self._language = language
        self._days: dict[datetime, str] = {}
        self._titles = {name: language.text(title) for name, title in TITLES.items()}

    def title(self, name: str) -> str:
        """How a column or a condition is called; what profiles call one, where it is theirs."""
        return self._titles.get(name) or name.removeprefix(PROFILE)

    def word(self, name: str, value: str) -> str:
        """A value of a condition."""
        told = WORDS.get((name, value)) or ("" if value else _UNKNOWN)
        return self._language.text(told) if told else value

    def cell(self, name: str, value: Value) -> str:
        """A value of a row; a dash where it is not known."""
        if value is None:
            return "–"
        if isinstance(value, bool):
            return self._language.text(_YES if value else _NO)
        if isinstance(value, int | float):
            return self.number(name, value)
        if isinstance(value, datetime):
            return self._time(name, value)
        return self.word(name, value)

    def _time(self, name: str, value: datetime) -> str:
        """Days come again in every row, and to write one takes a while."""
        if name == "first_login":
            return self._language.when(value)
        if value not in self._days:
            self._days[value] = self._language.day(value)
        return self._days[value]

    def number(self, name: str, value: float) -> str:
        """A number with as many digits as its column has."""
        if name in _DIGITS:
            return format(value, _DIGITS[name])
        return f"{value:,.0f}" if float(value).is_integer() else f"{value:,.2f}"
