"""The desk: a workspace as people look at it, and what is remembered between two looks."""

from dataclasses import dataclass, field
from datetime import datetime

from gamewarden.desk.background import Background
from gamewarden.desk.inbox import Door
from gamewarden.desk.memory import Memory
from gamewarden.notices import now
from gamewarden.workspace.place import Workspace


@dataclass
class Desk:
    """A workspace that is looked at, by several people at once."""

    workspace: Workspace
    memory: Memory = field(default_factory=Memory, repr=False, compare=False)
    door: Door = field(init=False, repr=False, compare=False)  # where game servers push
    background: Background = field(init=False, repr=False, compare=False)  # idle until it is started

    def __post_init__(self) -> None:
        """Make its parts; none of them does anything yet."""
        self.door, self.background = Door(self.workspace), Background(self.workspace)

    def now(self) -> datetime:
        """The clock on the wall."""
        return now()

    def close(self) -> None:
        """End what goes on behind it, and let other processes take what is pushed."""
        self.background.stop()
        self.door.close()
