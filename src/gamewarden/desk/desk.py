"""The desk: a workspace as people look at it, and what is remembered between two looks."""

from dataclasses import dataclass
from datetime import datetime

from gamewarden.notices import now
from gamewarden.workspace.place import Workspace


@dataclass
class Desk:
    """A workspace that is looked at, by several people at once."""

    workspace: Workspace

    def now(self) -> datetime:
        """The clock on the wall."""
        return now()
