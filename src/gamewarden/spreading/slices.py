"""How a source is cut into slices that many can read at once: by whole periods, and by the names of actors."""

from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from gamewarden.core.clock import Clock
from gamewarden.readers.options import SourceOptions
from gamewarden.store.lake_events import LakeEvents
from gamewarden.store.lake_slices import actor_borders, slice_of

_EVER = 1 << 62

Slice = dict[str, Any]  # of a source, as JSON values


@dataclass(frozen=True)
class LakeSlices:
    """How a lake is cut: by the time and the names of actors."""

    events: LakeEvents

    def between(self, since: int, until: int) -> "LakeSlices":
        """Of [since, until) only."""
        first, last = self.events.micros
        return LakeSlices(self.events.between(max(since, first), min(until, last + 1)))

    @property
    def rows(self) -> int:
        """About how many there are."""
        return sum(part.rows for part in self.events.parts)

    def spans(self, clock: Clock, most: int) -> list[tuple[int, int]]:
        """Stretches of whole periods with about as many events each, at most so many."""
        first, last = self.events.micros
        numbers = clock.touched((max(begin, first), min(end, last)) for begin, end in self.events.stretches)
        if not len(numbers):
            return []
        groups = [group for group in np.array_split(numbers, min(most, len(numbers))) if len(group)]
        begins = [int(clock.begins(group[:1])[0]) for group in groups]
        ends = [int(clock.begins(group[-1:] + 1)[0]) for group in groups]
        return list(zip(begins, ends, strict=True))

    def slices(self, most: int, *, by_actor: bool) -> list[Slice]:
        """JSON of slices that together are all of it."""
        ranges = actor_borders(self.events, most) if by_actor and most > 1 else [None]
        return [slice_of(self.events, one) for one in ranges]


@dataclass(frozen=True)
class FileSlices:
    """How logs are cut: every task reads all of them, and keeps the actors of its shard."""

    locator: str
    options: SourceOptions
    reader: str | None
    since: int | None = None
    until: int | None = None
    rows = 0

    def between(self, since: int, until: int) -> "FileSlices":
        """Of [since, until) only."""
        first, last = -_EVER if self.since is None else self.since, _EVER if self.until is None else self.until
        return replace(self, since=max(first, since), until=min(last, until))

    def spans(self, clock: Clock, most: int) -> list[tuple[int, int]]:
        """None: reading all of it for every period would be a waste."""
        del clock, most
        return []

    def slices(self, most: int, *, by_actor: bool) -> list[Slice]:
        """JSON of slices that together are all of it."""
        of = most if by_actor else 1
        mapping = self.options.logs.mapping
        logs = {**asdict(self.options.logs), "mapping": _absolute(mapping) if mapping else mapping}
        shared = {"options": logs, "reader": self.reader, "since": self.since, "until": self.until}
        return [{**shared, "locator": _absolute(self.locator), "shard": [one, of]} for one in range(of)]


def _absolute(name: str) -> str:
    return str(Path(name).absolute()) if Path(name).exists() else name


Slices = LakeSlices | FileSlices
