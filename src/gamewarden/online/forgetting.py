"""Players long silent are forgotten, by the packets' own clock, so that a watch of months does not grow for ever.

The clock is the lower of two neighbouring packets' times: one odd time does not move it. Batches are cut where it
strikes; what is forgotten when therefore depends on the packets alone and not on how they came.
"""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from gamewarden.contracts import Bounds
from gamewarden.errors import ReadError
from gamewarden.features.traffic.fold import Fold

NEVER = 1 << 60  # microseconds: who keeps for so long forgets nobody
_LONG_AGO = -(1 << 62)
_NOTES = ("clock_last", "clock_due")


class Clock(NamedTuple):
    """What the clock stands at: the latest packet's time, and from when on somebody is forgotten again."""

    last: int = _LONG_AGO
    due: int = _LONG_AGO


class Forgetting:
    """A fold's batches, cut where silent players are forgotten."""

    def __init__(self, fold: Fold, bounds: Bounds, note: Mapping[str, Any]) -> None:
        """Go on with the clock that a state's note has, if there is one.

        Raises:
            ReadError: the note has something else in its place.
        """
        self._fold = fold
        self._keep = bounds.keep
        self._every = min(bounds.keep, fold.test.session_gap)
        times = [note.get(name, _LONG_AGO) for name in _NOTES]
        if not all(isinstance(time, int) and abs(time) <= -_LONG_AGO for time in times):
            raise ReadError("the state's clock shows no time; restore the state, or remove it to start anew")
        self.clock = Clock(*times)

    @property
    def note(self) -> dict[str, int]:
        """What a state has to keep of the clock."""
        return dict(zip(_NOTES, self.clock, strict=True))

    def pieces(self, batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        """The batch in pieces; before each the players that have to be forgotten are.

        The windows a piece completes must be read before the next is asked for.
        """
        if self._keep >= NEVER:
            yield batch
            return
        at = batch.column("at").cast(pa.int64()).to_numpy()
        begin = 0
        while begin < len(at):
            end, due = self._next_change(at[begin:])
            if end:
                yield batch.slice(begin, end)
                self.clock = self.clock._replace(last=int(at[begin + end - 1]))
            if due is not None:
                self._change(due, int(at[begin + end]))
            begin += end

    def _next_change(self, at: NDArray[np.int64]) -> tuple[int, int | None]:
        """How many packets come before the clock strikes or has to be set back, and when it strikes next."""
        before = np.concatenate([[self.clock.last], at[:-1]])
        lower, upper = np.minimum(at, before), np.maximum(at, before)
        due = self.clock.due
        known = before > _LONG_AGO
        changes = known & ((lower >= due) | (upper + 2 * self._every < due))
        if not changes.any():
            return len(at), None
        first = int(changes.argmax())
        return first, int(lower[first] if lower[first] >= due else upper[first]) + self._every

    def _change(self, due: int, at: int) -> None:
        now = min(self.clock.last, at)
        if now >= self.clock.due:
            self._fold.forget(now, self._keep)
        self.clock = self.clock._replace(due=due)
