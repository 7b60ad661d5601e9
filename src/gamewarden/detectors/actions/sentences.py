"""What an action or an interval of a chunk means, in a sentence for a game master."""

from collections.abc import Callable, Sequence

from gamewarden.detectors.actions.vectors import ACTIONS, DONE, INTERVAL, OFTEN, PACE, actions_in
from gamewarden.learning.phrases import SeenNumber, says
from gamewarden.phrases.chunks import UNSEEN, phrase_of


def sentence(name: str, value: float | None, percentiles: Sequence[float], last: int) -> str:
    """One sentence on one number of a chunk; `last` is the bin of all longer intervals."""
    if name.startswith(DONE):
        return _done(name.removeprefix(DONE), value, percentiles)
    phrase = phrase_of(name, last)
    scale = _scale_of(name)
    shown = None if value is None else scale(value)
    return says(SeenNumber(name, shown, [scale(one) for one in percentiles]), phrase)


def flagged(kind: str, count: int, most: int) -> str:
    """The sentence of the first stage."""
    return f"Does {kind} far more often than any human in training: {count:,} times, the most of a human is {most:,}."


def rest(numbers: int) -> str:
    """The sentence for all that was not listed."""
    return f"The {numbers} other numbers together: none of them is heavier than those listed."


def too_little(actions: int) -> str:
    """The sentence of a chunk that nobody should judge."""
    return f"Too little play to judge: only {actions} actions were counted."


def _scale_of(name: str) -> Callable[[float], float]:
    """What turns a number of the machine into one for people."""
    if name == ACTIONS:
        return actions_in
    if name.startswith(PACE):
        return lambda share: 100 * share
    return _per_hundred if name.startswith((OFTEN, INTERVAL)) else float


def _per_hundred(root: float) -> float:
    return 100 * root**4


def _done(kind: str, value: float | None, percentiles: Sequence[float]) -> str:
    if value is None:
        return UNSEEN.format(kind)
    share = sum(percentiles) / len(percentiles)
    lead = f"Does {kind}" if value else f"Does no {kind}"
    return f"{lead}: {share:.0%} of the humans' chunks have it."
