"""When a lake has events: the stretches of its parts, so that nobody need walk through years in which it has none."""

from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from gamewarden.contracts import canonical_json, digest
from gamewarden.core.clock import Period
from gamewarden.core.durations import DAY, to_micros
from gamewarden.store.manifest import Part


@dataclass(frozen=True)
class Stretches:
    """The parts of a lake by their first moments; each lies within one day of UTC."""

    parts: tuple[Part, ...]

    @classmethod
    def of(cls, parts: tuple[Part, ...]) -> "Stretches":
        """From the parts in any order."""
        return cls(tuple(sorted(parts, key=lambda part: (part.since, part.last, part.rows, part.source))))

    def __iter__(self) -> Iterator[tuple[int, int]]:
        """First and last moment of each part, in microseconds, the earliest first."""
        return ((part.since, part.last) for part in self.parts)

    def last_by(self, horizon: int) -> int | None:
        """The latest moment with an event, as far as one by `horizon` goes; None where all are later."""
        return max((min(part.last, horizon) for part in self.parts if part.since <= horizon), default=None)

    def content(self, since: int, until: int) -> str | None:
        """A digest that changes when events come into [since, until); None while none of the parts touches it.

        A source that is read anew gives the same again where its rows of that time are the same.
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
