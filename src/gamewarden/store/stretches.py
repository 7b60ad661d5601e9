"""When a lake has events: the stretches of its pieces, so that nobody need walk through years in which it has none."""

from bisect import bisect_left
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

from gamewarden.contracts import canonical_json, digest
from gamewarden.core.clock import Period
from gamewarden.core.durations import DAY, to_micros
from gamewarden.store.manifest import Part, Piece


@dataclass(frozen=True)
class Stretches:
    """What sources brought into the days of a lake, by first moments; each lies within one day of UTC.

    Whether parts were compacted makes no difference.
    """

    parts: tuple[Piece, ...]

    @classmethod
    def of(cls, parts: Iterable[Part]) -> "Stretches":
        """From the parts in any order."""
        return cls._of(one for part in parts for one in part.origins)

    def within(self, earliest: int, latest: int) -> "Stretches":
        """Those that touch [earliest, latest] in microseconds."""
        return Stretches._of(one for one in self.parts if one.last >= earliest and one.since <= latest)

    @classmethod
    def _of(cls, pieces: Iterable[Piece]) -> "Stretches":
        return cls(tuple(sorted(pieces, key=lambda one: (one.since, one.last, one.rows, one.source))))

    def __iter__(self) -> Iterator[tuple[int, int]]:
        """First and last moment of each piece, in microseconds, the earliest first."""
        return ((part.since, part.last) for part in self.parts)

    def last_by(self, horizon: int) -> int | None:
        """The latest moment with an event, as far as one by `horizon` goes; None where all are later."""
        return max((min(part.last, horizon) for part in self.parts if part.since <= horizon), default=None)

    def content(self, since: int, until: int) -> str | None:
        """A digest that changes when events come into [since, until); None while none of the parts touches it.

        A source that is read anew gives the same again where its rows of that time are the same, and so does a day
        whose parts were compacted.
        """
        touching = self.parts[bisect_left(self._begins, since - DAY) : bisect_left(self._begins, until)]
        found = [
            [part.source, part.rows, part.since, part.last, part.first_seq, part.last_seq]
            for part in touching
            if part.last >= since
        ]
        return digest(canonical_json(found)) if found else None

    @cached_property
    def _begins(self) -> list[int]:
        return [part.since for part in self.parts]


def content_of(stretches: Stretches, period: Period) -> str | None:
    """What names all that a lake holds of a period; None where it holds nothing."""
    return stretches.content(to_micros(period.since), to_micros(period.until))
