"""The words for rhythm: when somebody plays, how it keeps time, and how fast it acts."""

from collections.abc import Mapping
from dataclasses import replace

from gamewarden.core.text import counted
from gamewarden.phrases import Phrase

WHEN = "When it plays"
TIME = "How it keeps time"
FAST = "How fast it acts"
_NO_PERIOD = "On no day was it there for three hours, or it did the same all the time."

_PHRASES: Mapping[str, Phrase] = {
    "days_seen": Phrase(
        "More days are known of it than of {humans}",
        "As many days are known of it as usual",
        "Fewer days are known of it than of {humans}",
        "{value} days of the log",
        "It is not known how many days the log has.",
        topic=WHEN,
    ),
    "days_played": Phrase(
        "Plays on more days than {humans}",
        "Plays on as many days as usual",
        "Plays on fewer days than {humans}",
        "{value} days",
        "The days on which it plays were not counted.",
        topic=WHEN,
    ),
    "play_hours": Phrase(
        "Active for more hours a day than {humans}",
        "Active for a usual number of hours a day",
        "Active for fewer hours a day than {humans}",
        "{value} hours of minutes with an event",
        "Play time was not measured.",
        1,
        topic=WHEN,
    ),
    "awake_hours": Phrase(
        "Plays across more clock hours without a rest of {rest} than {humans}",
        "Plays across a usual number of clock hours without a rest of {rest}",
        "Plays across fewer clock hours without a rest of {rest} than {humans}",
        "{value} from the first to the last",
        "It is not known when it rests.",
        topic=WHEN,
    ),
    "hours_of_day": Phrase(
        "Plays at more hours of the day than {humans}",
        "Plays at as many hours of the day as usual",
        "Plays at fewer hours of the day than {humans}",
        "{value} of 24 hours",
        "It is not known at which hours it plays.",
        topic=WHEN,
    ),
    "day_spread": Phrase(
        "One day differs from the other more than with {humans}",
        "Its days differ as usual",
        "One day is as long as the other, more than with {humans}",
        "its play time varies by {value} of its mean",
        "Too few days are known to tell whether one is like the other.",
        2,
        has="with a typical human by",
        topic=WHEN,
    ),
    "gap_entropy": Phrase(
        "The time between two actions varies more than with {humans}",
        "The time between two actions varies as usual",
        "The time between two actions varies less than with {humans}",
        "{value} bits, where 0 is always the same time",
        "Too few actions to tell how the time between them varies.",
        2,
        topic=TIME,
    ),
    "periodic": Phrase(
        "What it does comes back in a fixed period more than with {humans}",
        "What it does comes back in a fixed period no more than usual",
        "What it does comes back in a fixed period less than with {humans}",
        "a share of {value} of all its ups and downs",
        _NO_PERIOD,
        3,
        topic=TIME,
    ),
    "period_min": Phrase(
        "What it does comes back after a longer time than with {humans}",
        "What it does comes back after a usual time",
        "What it does comes back after a shorter time than with {humans}",
        "every {value} minutes",
        _NO_PERIOD,
        1,
        topic=TIME,
    ),
    "busiest_min": Phrase(
        "Does more in its busiest minute than {humans}",
        "Does as much in its busiest minute as usual",
        "Does less in its busiest minute than {humans}",
        "{value} actions in a minute",
        "Actions of a minute were not counted.",
        topic=FAST,
    ),
    "busiest_hour": Phrase(
        "Does more in its busiest hour than {humans}",
        "Does as much in its busiest hour as usual",
        "Does less in its busiest hour than {humans}",
        "{value} actions in an hour",
        "Actions of an hour were not counted.",
        topic=FAST,
    ),
}


def phrases(rest: int) -> Mapping[str, Phrase]:
    """The words where a rest has so many hours at least."""
    awake, idle = _PHRASES["awake_hours"], counted(rest, "hour")
    more, usual, less = (lead.replace("{rest}", idle) for lead in (awake.more, awake.usual, awake.less))
    return {**_PHRASES, "awake_hours": replace(awake, more=more, usual=usual, less=less)}
