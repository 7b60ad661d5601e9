"""What a watch has counted so far, as a file that machines can look at while it runs."""

import json
import time
from pathlib import Path

from gamewarden.contracts import PacketStream
from gamewarden.core.files import whole_file
from gamewarden.features.traffic.fold import Tally

_SECONDS = 10.0


class Counts:
    """A JSON file of counts, replaced whole every few seconds."""

    def __init__(self, path: Path, packets: PacketStream) -> None:
        self._path = path
        self._packets = packets
        self._written = -_SECONDS

    def take(self, tally: Tally) -> None:
        """Write the counts when they have not been written for a while."""
        if time.monotonic() - self._written >= _SECONDS:
            self.write(tally)

    def write(self, tally: Tally) -> None:
        """Write the counts.

        Raises:
            WriteError: the file cannot be written.
        """
        said = {"watch": tally._asdict(), "source": dict(self._packets.counts)}
        with whole_file(self._path) as draft:
            draft.write_text(json.dumps(said, indent=2) + "\n", encoding="utf-8")
        self._written = time.monotonic()
