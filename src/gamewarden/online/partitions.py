"""What the partitions of one stream know of each other: how far each has come, and what it counted of a period.

Each has a directory of its own beside the others', and saves a file there that is replaced whole. The others read what
was saved and nothing else: whatever happens to a partition, it goes on from there, so that nothing they have seen of it
is ever taken back.
"""

import json
from base64 import b64decode, b64encode
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from gamewarden.contracts import canonical_json
from gamewarden.core.files import whole_file
from gamewarden.errors import ReadError
from gamewarden.features.census import Census
from gamewarden.verdicts.meeting import Far

FILE = "live.json"
_LARGEST = 1 << 28  # bytes
_ANEW = "restore it, or remove the partition's directory and read the stream again"


@dataclass
class Closed:
    """A period that is over in a partition: what was counted of it, and what lies far, once that is known."""

    census: Census
    far: Mapping[str, Far] | None = None  # by the model's id
    said: bool = False

    def to_dict(self) -> dict[str, Any]:
        """All of it as JSON values."""
        far = None if self.far is None else {name: _far_to_dict(one) for name, one in self.far.items()}
        return {"census": b64encode(self.census.to_bytes()).decode(), "far": far, "said": self.said}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """It back from JSON values."""
        far = values["far"]
        known = None if far is None else {name: _far_of(one) for name, one in far.items()}
        return cls(Census.from_bytes(b64decode(values["census"])), known, bool(values["said"]))


@dataclass(frozen=True)
class Saved:
    """A partition as it was saved last."""

    reached: int  # what its clock showed when it struck last: periods that ended long enough before are over
    idle: bool  # whether nothing had come for a while
    closed: Mapping[str, Closed]  # by the period's name
    rest: Mapping[str, Any] = field(default_factory=dict)  # what is nobody else's business

    @classmethod
    def read(cls, path: Path) -> Self:
        """Read it back.

        Raises:
            ReadError: it cannot be read, or is damaged.
        """
        try:
            if path.stat().st_size > _LARGEST:
                raise ReadError(f"{path}: is larger than any state ({_LARGEST:,} bytes); {_ANEW}")
            values = json.loads(path.read_bytes())
            closed = {name: Closed.from_dict(one) for name, one in values["closed"].items()}
            return cls(int(values["reached"]), bool(values["idle"]), closed, dict(values["rest"]))
        except OSError as error:
            raise ReadError(f"{path}: cannot be read ({error.strerror or error}); {_ANEW}") from error
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise ReadError(f"{path}: is damaged ({type(error).__name__}); {_ANEW}") from error

    def write(self, path: Path) -> None:
        """Keep it whole, or leave what was there.

        Raises:
            WriteError: it cannot be written.
        """
        closed = {name: one.to_dict() for name, one in self.closed.items()}
        said = {"reached": self.reached, "idle": self.idle, "closed": closed, "rest": dict(self.rest)}
        with whole_file(path) as draft:
            draft.write_text(canonical_json(said), encoding="utf-8")


class Others:
    """The other partitions of a stream, as they were saved last."""

    def __init__(self, directory: Path, partitions: int | None) -> None:
        """`partitions` says how many there are with this one; None: those that have a directory."""
        self._own = directory
        self._wanted = partitions
        self._known: dict[Path, tuple[tuple[int, int, int], Saved]] = {}

    def saved(self) -> list[Saved] | None:
        """Each of them; None where one is still to come.

        Raises:
            ReadError: one of them is damaged.
        """
        if self._wanted == 1:
            return []
        mine = self._own.absolute()
        places = sorted(one for one in mine.parent.glob(f"*/{FILE}") if one.parent != mine)
        found = [self._read(place) for place in places]
        return found if self._wanted is None or len(found) >= self._wanted - 1 else None

    def _read(self, place: Path) -> Saved:
        try:
            there = place.stat()
        except OSError as error:
            raise ReadError(f"{place}: cannot be read ({error.strerror or error}); {_ANEW}") from error
        version = (there.st_ino, there.st_mtime_ns, there.st_size)
        if place not in self._known or self._known[place][0] != version:
            self._known[place] = version, Saved.read(place)
        return self._known[place][1]


def _far_to_dict(far: Far) -> dict[str, Any]:
    return {"judged": far.judged, "some": sorted(far.some), "by": dict(far.by)}


def _far_of(values: Mapping[str, Any]) -> Far:
    by = {str(name): int(count) for name, count in values["by"].items()}
    return Far(int(values["judged"]), frozenset(map(str, values["some"])), by)
