"""Words for people: what a number of a feature is called, what it belongs to, and how much and little of it reads.

The words of a column belong to the feature that measures it; whoever compares a number with people puts them beside
the comparison. Features and detectors both speak, and neither knows the other: the words stand below them.
"""

from dataclasses import dataclass
from typing import Self

OTHER_TOPIC = "What else it does"


@dataclass(frozen=True)
class Phrase:
    """The words for one number; `{window}` is the time unit, `{value}` the number, `{period}` the period's minutes."""

    more: str  # more than {humans}
    usual: str
    less: str  # less than {humans}
    shows: str  # the number behind it, where the lead does not give it
    unseen: str  # why there is no number
    decimals: int = 0
    has: str = "a typical human has"
    striking: str = ""  # stronger words for more than nearly all humans
    unit: str | None = None  # of the typical human's number, where it has one: s
    topic: str = OTHER_TOPIC  # numbers of one topic measure nearly the same, and are weighed together

    @classmethod
    def plain(cls, column: str, decimals: int = 2) -> Self:
        """The words for a number of which nothing but its name is known."""
        name = column.replace("_", " ").capitalize()
        return cls(
            f"{name} is higher than with {{humans}}",
            f"{name} is as usual",
            f"{name} is lower than with {{humans}}",
            "{value}",
            f"{name} was not measured.",
            decimals,
        )


# How many rows a number comes from, which every feature says.
EVENTS = Phrase(
    "Does more than {humans}",
    "Does as much as usual",
    "Does less than {humans}",
    "{value} events",
    "Nothing was seen.",
    topic="How much it does",
)
