"""The periods of a source in which it speaks as the log did that a vocabulary was learned from."""

from gamewarden.contracts import EventStream, Feature, Vocabulary
from gamewarden.features.kinds import kinds_by_period
from gamewarden.tables import Table
from gamewarden.verdicts.likeness import Likeness
from gamewarden.verdicts.meeting import Limits


def only_alike(told: Table, feature: Feature, events: EventStream, limits: Limits) -> Table:
    """FEATURES in which nothing is said of what a source did not show in a period.

    A kind that was common in training and never occurs in a period is null there, not 0. A period most of whose events
    are of other kinds, or in which too much is missing, is not measured at all. What the source can show is then told
    by the other periods; where there are none, by what did occur, whatever a mapping promises.
    """
    learned = feature.learned
    if told.shows is None or learned is None or learned.kinds is None or learned.shares is None:
        return told
    return likeness_of(learned, events, limits).applied(told)


def likeness_of(learned: Vocabulary, events: EventStream, limits: Limits) -> "Likeness":
    """One look at all events of a source."""
    return Likeness.of(learned, kinds_by_period(events.whole, learned.clock), limits)
