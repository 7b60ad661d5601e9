"""The periods of a clock as a Spark expression, so that days are told apart where the events lie.

Spark has calendars of its own; what an hour that comes twice belongs to, `core.clock` alone says, and here too.
"""

from typing import TYPE_CHECKING

from pyspark.sql import functions

from gamewarden.core.clock import Clock, Offsets
from gamewarden.spark.frames import MICROS

if TYPE_CHECKING:
    from pyspark.sql import Column

Span = tuple[int, int]  # the first and the last moment, in microseconds


def number_of(clock: Clock, span: Span) -> "Column":
    """The number of the period that holds `at`, of moments within a span."""
    pieces = clock.offsets(*span)
    first, last = (int(place) for place in pieces.since.searchsorted(span, side="right") - 1)
    return functions.expr(_of_pieces(clock, pieces, first, last + 1))


def _of_pieces(clock: Clock, pieces: Offsets, first: int, end: int) -> str:
    """Halves of halves, so that a century of clock changes is eight questions deep."""
    if end - first == 1:
        return _shown(clock, int(pieces.offset[first]), int(pieces.least[first]))
    middle = (first + end) // 2
    earlier, later = _of_pieces(clock, pieces, first, middle), _of_pieces(clock, pieces, middle, end)
    return f"CASE WHEN {MICROS} < {int(pieces.since[middle])} THEN {earlier} ELSE {later} END"


def _shown(clock: Clock, offset: int, least: int) -> str:
    return f"greatest({whole_parts(f'({MICROS} + {offset})', clock.every)}, {least})"


def whole_parts(number: str, of: int) -> str:
    """How many whole parts of this length a number of microseconds has; as exact as integers are, also before 1970."""
    return f"(({number} - pmod({number}, {of}L)) div {of}L)"
