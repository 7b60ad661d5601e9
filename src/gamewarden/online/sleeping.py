"""Every player's state, whether awake or asleep: batches in, completed windows out, and one place where all is saved.

Who is idle goes to sleep on disk and comes back as if it had never left. What is decided is the same as if all had
stayed in memory.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

import polars as pl
import pyarrow as pa

from gamewarden.contracts import Bounds
from gamewarden.core.files import whole_file
from gamewarden.errors import ReadError
from gamewarden.features.traffic.fold import Fold, Tally
from gamewarden.features.traffic.recipe import TrafficTest
from gamewarden.online.asleep import Asleep
from gamewarden.online.forgetting import Forgetting
from gamewarden.online.journal import load_state

_STATE = "players.state"


class Sleeping:
    """A fold, the clock by which players fall asleep and are forgotten, and the file in which they sleep."""

    def __init__(self, fold: Fold, bounds: Bounds, note: Mapping[str, Any], state: Path | None) -> None:
        """Go on with a fold and the note that its state has; sleepers are beside the state, or in a temporary file.

        Raises:
            ReadError: the note, or the file of sleepers, is not what the state needs.
            WriteError: the file of sleepers cannot be written.
        """
        self.fold = fold
        self._state = state
        self._forgetting = Forgetting(fold, bounds, note)
        self._asleep = Asleep.of(state, bounds.idle, note, fold.tally.asleep)
        fold.letters = bounds.letters
        fold.sleepers = self._asleep

    @classmethod
    def opened(cls, directory: Path, test: TrafficTest, bounds: Bounds) -> tuple[Self, dict[str, Any]]:
        """Players as a directory has them, and the note they were saved with; nobody, and no note, where it has none.

        Raises:
            ReadError: what is there is damaged, or was made with another profile.
            WriteError: the directory cannot be written.
        """
        state = directory / _STATE
        fold, note = load_state(state, test, bounds.players) if state.exists() else (Fold(test, bounds.players), {})
        return cls(fold, bounds, note, state), note

    @property
    def tally(self) -> Tally:
        """What was counted so far."""
        return self.fold.tally

    @property
    def nbytes(self) -> int:
        """The memory that all players take together, awake and asleep."""
        return self.fold.nbytes + self._asleep.nbytes

    def take(self, batch: pa.RecordBatch) -> list[pl.DataFrame]:
        """Take packets in; the windows they complete, in that order.

        Raises:
            MeasureError: a packet lacks a value or has a size that no payload has.
        """
        pushed = (self.fold.push(piece) for piece in self._forgetting.pieces(batch))
        return [windows.frame() for windows in pushed if windows]

    def settled(self) -> dict[str, int]:
        """Let sleepers reach the disk; what the note of a state that is written next has to say of them and the clock.

        Raises:
            WriteError: they cannot be written.
        """
        return {**self._asleep.save(), **self._forgetting.note}

    def save(self, note: Mapping[str, Any]) -> None:
        """Keep all of it in the directory it was opened in: whole, or as it was saved before.

        Raises:
            WriteError: it cannot be written.
        """
        if self._state is None:
            raise ReadError("these players have no place on disk; open a directory to save them in")
        whole = {**note, **self.settled()}
        with whole_file(self._state) as draft, draft.open("wb") as file:
            self.fold.write_to(file, whole)

    def close(self) -> None:
        """Let go of files."""
        self._asleep.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
