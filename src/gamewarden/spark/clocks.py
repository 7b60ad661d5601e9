"""The periods of a clock as a Spark expression, so that days are told apart where the events lie.

Spark has calendars of its own; what an hour that comes twice belongs to, `core.clock` alone says, and here too.
"""

from typing import TYPE_CHECKING

from pyspark.sql import functions

from gamewarden.core.clock import Clock
from gamewarden.spark.frames import MICROS

if TYPE_CHECKING:
    from pyspark.sql import Column

Span = tuple[int, int]  # the first and the last moment, in microseconds


def number_of(clock: Clock, span: Span) -> "Column":
    """The number of the period that holds `at`, of moments within a span."""
    pieces = clock.offsets(*span)
    first, last = (int(place) for place in pieces.since.searchsorted(span, side="right") - 1)
    found = _shown(clock, int(pieces.offset[first]), int(pieces.least[first]))
    for piece in range(first + 1, last + 1):
        later = _shown(clock, int(pieces.offset[piece]), int(pieces.least[piece]))
        found = f"CASE WHEN {MICROS} >= {int(pieces.since[piece])} THEN {later} ELSE {found} END"
    return functions.expr(found)


def _shown(clock: Clock, offset: int, least: int) -> str:
    return f"greatest({whole_parts(f'({MICROS} + {offset})', clock.every)}, {least})"


def whole_parts(number: str, of: int) -> str:
    """How many whole parts of this length a number of microseconds has; as exact as integers are, also before 1970."""
    return f"(({number} - pmod({number}, {of}L)) div {of}L)"
