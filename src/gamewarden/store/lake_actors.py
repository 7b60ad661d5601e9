"""Of whom a lake is read: of everybody, of some who are named, or of a stretch of names.

Parts that were compacted are sorted by actor, so that a stretch of names is a stretch of their row groups.
"""

from bisect import bisect_left
from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import pyarrow as pa
import pyarrow.compute as pc


class Actors(Protocol):
    """Some of all actors."""

    def may_be_between(self, first: str, last: str) -> bool:
        """Whether one of them may be called so, or anything between."""

    def among(self, names: pa.Array) -> pa.Array:
        """Which of these names are theirs."""


@dataclass(frozen=True)
class NamedActors:
    """Those who are named."""

    names: Collection[str]

    @cached_property
    def _sorted(self) -> list[str]:
        return sorted(set(self.names))  # as UTF-8 is sorted

    @cached_property
    def _array(self) -> pa.Array:
        return pa.array(self._sorted, pa.string())

    def may_be_between(self, first: str, last: str) -> bool:
        """Whether one of them stands there."""
        place = bisect_left(self._sorted, first)
        return place < len(self._sorted) and self._sorted[place] <= last

    def among(self, names: pa.Array) -> pa.Array:
        """Which of these names are named."""
        return pc.is_in(names, self._array)


@dataclass(frozen=True)
class ActorRange:
    """Those whose name stands in [first, end), in the order of UTF-8; None: no end."""

    first: str = ""
    end: str | None = None

    def may_be_between(self, first: str, last: str) -> bool:
        """Whether the two stretches meet."""
        return last >= self.first and (self.end is None or first < self.end)

    def among(self, names: pa.Array) -> pa.Array:
        """Which of these names stand in it."""
        from_first = pc.greater_equal(names, pa.scalar(self.first, names.type))
        return from_first if self.end is None else pc.and_(from_first, pc.less(names, pa.scalar(self.end, names.type)))
