"""The words for the numbers of a chunk of play: which actions were done, how often, and at what intervals."""

from collections.abc import Mapping

from gamewarden.phrases import Phrase

UNSEEN = "This log does not show {}."
_OFTEN = "{value} for every 100 of its most frequent action"
_INTERVALS = "{value} for every 100 of its most frequent interval"
# By how the names of the numbers begin.
TOPICS: Mapping[str, str] = {
    "a_": "What it does",
    "done_": "What it does",
    "i_": "How long it waits",
    "m_": "How regularly it acts",
    "d_": "How regularly it acts",
    "pace_": "How fast it acts",
}


def phrase_of(name: str, last: int) -> Phrase:
    """The words for one number of a chunk; `last` is the bin of all longer intervals."""
    what = name.partition("_")[2].replace("{", "{{").replace("}", "}}")
    if name.startswith("a_"):
        return Phrase(
            f"Does {what} more often beside its other actions than {{humans}}",
            f"Does {what} as often as usual",
            f"Does {what} less often beside its other actions than {{humans}}",
            _OFTEN,
            UNSEEN.format(what),
            1,
            topic=TOPICS["a_"],
        )
    if name.startswith("i_"):
        pause = f"{what} s or more" if int(what) == last else f"{what} to {int(what) + 1} s"
        return Phrase(
            f"Lets {pause} pass between two actions more often than {{humans}}",
            f"Lets {pause} pass between two actions as often as usual",
            f"Lets {pause} pass between two actions less often than {{humans}}",
            _INTERVALS,
            "Intervals were not counted.",
            1,
            topic=TOPICS["i_"],
        )
    if name.startswith("pace_"):
        return _pace_phrase(what)
    return _own_phrase(what, mean=name.startswith("m_"))


def _own_phrase(kind: str, *, mean: bool) -> Phrase:
    subject = f"The time from one {kind} to the next"
    more, usual, less = (
        ("is longer than with {humans}", "is as usual", "is shorter than with {humans}")
        if mean
        else ("varies more than with {humans}", "varies as usual", "varies less than with {humans}")
    )
    shows = "{value} of 1 on a logarithmic scale"
    return Phrase(
        f"{subject} {more}",
        f"{subject} {usual}",
        f"{subject} {less}",
        shows,
        f"{kind} was not done twice.",
        3,
        topic=TOPICS["m_"],
    )


def _pace_phrase(what: str) -> Phrase:
    if what == "actions":
        return Phrase(
            "Does more in a chunk of play than {humans}",
            "Does as much in a chunk of play as usual",
            "Does less in a chunk of play than {humans}",
            "{value} actions",
            "Its actions were not counted.",
            topic=TOPICS["pace_"],
        )
    seconds = what.removesuffix("s")
    return Phrase(
        f"Acts again within {seconds} s more often than {{humans}}",
        f"Acts again within {seconds} s as often as usual",
        f"Acts again within {seconds} s less often than {{humans}}",
        "{value} of 100 intervals",
        "One action alone has no interval.",
        1,
        topic=TOPICS["pace_"],
    )
