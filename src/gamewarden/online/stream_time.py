"""How late it is in a stream of events, by the events themselves: one odd time, or a few, do not move it.

Rows are looked at sixteen at a time. What the middle one of sixteen shows, and the middle one of the sixteen before
did too, is believed; so a time in the future has to be that of most rows, twice in a row. The clock strikes when a
border of a tick is passed, at the end of such a block, and therefore depends on the rows alone and not on how they
came. It never goes back.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gamewarden.errors import ReadError

BLOCK = 16  # rows
_MIDDLE = BLOCK // 2 - 1  # the lower of both
LONG_AGO = -(1 << 62)


class StreamTime:
    """A clock that rows move."""

    def __init__(self, tick: int, kept: Mapping[str, Any] | None = None) -> None:
        """Go on from what a state keeps.

        Raises:
            ReadError: it is not that of a clock.
        """
        self._tick = tick
        kept = kept or {"now": LONG_AGO, "last": LONG_AGO, "rest": []}
        try:
            self.now = int(kept["now"])
            self._last = int(kept["last"])
            self._rest = np.array(kept["rest"], np.int64)
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise ReadError("the state's clock shows no time; restore the state, or remove it to start anew") from error

    def to_dict(self) -> dict[str, Any]:
        """What a state has to keep."""
        return {"now": self.now, "last": self._last, "rest": self._rest.tolist()}

    def strikes(self, at: NDArray[np.int64]) -> list[tuple[int, int]]:
        """After how many of these rows the clock strikes, and what it shows then."""
        rows = np.concatenate([self._rest, at])
        blocks = len(rows) // BLOCK
        shown = np.sort(rows[: blocks * BLOCK].reshape(blocks, BLOCK), axis=1)[:, _MIDDLE]
        before = np.concatenate([[self._last], shown])
        times = np.maximum.accumulate(np.concatenate([[self.now], np.minimum(before[:-1], before[1:])]))
        struck = np.flatnonzero((times[1:] // self._tick > times[:-1] // self._tick) & (times[:-1] > LONG_AGO))
        ends = (struck + 1) * BLOCK - len(self._rest)
        self._rest = rows[blocks * BLOCK :]
        self._last, self.now = int(before[-1]), int(times[-1])
        return list(zip(ends.tolist(), times[struck + 1].tolist(), strict=True))
