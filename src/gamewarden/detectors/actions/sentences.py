"""What an action or an interval of a chunk means, in a sentence for a game master."""

from collections.abc import Sequence

from gamewarden.detectors.actions.vectors import DONE, INTERVAL, OFTEN, OWN_MEAN
from gamewarden.learning.phrases import Phrase, Seen, says

_OFTEN = "{value} for every 100 of its most frequent action"
_UNSEEN = "This log does not show {}."
_INTERVALS = "{value} for every 100 of its most frequent interval"


def sentence(name: str, value: float | None, percentiles: Sequence[float], last: int) -> str:
    """One sentence on one number of a chunk; `last` is the bin of all longer intervals."""
    if name.startswith(DONE):
        return _done(name.removeprefix(DONE), value, percentiles)
    phrase = _phrase(name, last)
    scale = _per_hundred if name.startswith((OFTEN, INTERVAL)) else float
    shown = None if value is None else scale(value)
    return says(Seen(name, shown, [scale(one) for one in percentiles]), phrase)


def flagged(kind: str, count: int, most: int) -> str:
    """The sentence of the first stage."""
    return f"Does {kind} far more often than any human in training: {count:,} times, the most of a human is {most:,}."


def rest(numbers: int) -> str:
    """The sentence for all that was not listed."""
    return f"The {numbers} other numbers together: none of them is heavier than those listed."


def too_little(actions: int) -> str:
    """The sentence of a chunk that nobody should judge."""
    return f"Too little play to judge: only {actions} actions were counted."


def _per_hundred(root: float) -> float:
    return 100 * root**4


def _done(kind: str, value: float | None, percentiles: Sequence[float]) -> str:
    if value is None:
        return _UNSEEN.format(kind)
    share = sum(percentiles) / len(percentiles)
    lead = f"Does {kind}" if value else f"Does no {kind}"
    return f"{lead}: {share:.0%} of the humans' chunks have it."


def _phrase(name: str, last: int) -> Phrase:
    what = name.partition("_")[2].replace("{", "{{").replace("}", "}}")
    if name.startswith(OFTEN):
        return Phrase(
            f"Does {what} more often beside its other actions than {{humans}}",
            f"Does {what} as often as usual",
            f"Does {what} less often beside its other actions than {{humans}}",
            _OFTEN,
            _UNSEEN.format(what),
            1,
        )
    if name.startswith(INTERVAL):
        pause = f"{what} s or more" if int(what) == last else f"{what} to {int(what) + 1} s"
        return Phrase(
            f"Lets {pause} pass between two actions more often than {{humans}}",
            f"Lets {pause} pass between two actions as often as usual",
            f"Lets {pause} pass between two actions less often than {{humans}}",
            _INTERVALS,
            "Intervals were not counted.",
            1,
        )
    return _own_phrase(what, mean=name.startswith(OWN_MEAN))


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
    )
