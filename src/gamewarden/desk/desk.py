"""The desk: a workspace as people look at it, and what is remembered between two looks."""

from dataclasses import dataclass, field
from datetime import datetime

from gamewarden.desk.memory import Memory
from gamewarden.notices import now
from gamewarden.workspace.place import Workspace


@dataclass
class Desk:
    """A workspace that is looked at, by several people at once."""

    workspace: Workspace
    memory: Memory = field(default_factory=Memory, repr=False, compare=False)

    def now(self) -> datetime:
        """The clock on the wall."""
        return now()
