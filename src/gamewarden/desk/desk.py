"""The desk: a workspace as people look at it, and what is remembered between two looks."""

from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime

from gamewarden.config import FILE_NAME
from gamewarden.desk.background import Background
from gamewarden.desk.inbox import Door
from gamewarden.desk.memory import Memory
from gamewarden.errors import GamewardenError
from gamewarden.notices import now
from gamewarden.workspace.place import Workspace


@dataclass
class Desk:
    """A workspace that is looked at, by several people at once; its settings may change meanwhile."""

    at_start: Workspace
    memory: Memory = field(default_factory=Memory, repr=False, compare=False)
    door: Door = field(init=False, repr=False, compare=False)  # where game servers push
    background: Background = field(init=False, repr=False, compare=False)  # idle until it is started

    def __post_init__(self) -> None:
        """Make its parts; none of them does anything yet."""
        self._now, self._seen = self.at_start, self._look()
        self.door, self.background = Door(self.at_start), Background(self.at_start)

    @property
    def workspace(self) -> Workspace:
        """The workspace by its settings as they are now; as they were, while nobody can follow the new ones."""
        seen = self._look()
        if seen != self._seen:
            self._seen = seen
            with suppress(GamewardenError):
                self._now, self.memory = Workspace.at(self.at_start.root, self.at_start.settings), Memory()
        return self._now

    def _look(self) -> tuple[int, int] | None:
        """What tells that somebody wrote the settings anew."""
        try:
            found = (self.at_start.settings or self.at_start.root / FILE_NAME).stat()
        except OSError:
            return None
        return found.st_mtime_ns, found.st_size

    def now(self) -> datetime:
        """The clock on the wall."""
        return now()

    def close(self) -> None:
        """End what goes on behind it, and let other processes take what is pushed."""
        self.background.stop()
        self.door.close()
