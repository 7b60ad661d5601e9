"""Groups of accounts that belong together, from a source of events."""

from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from pathlib import Path

import polars as pl

from gamewarden.contracts import EventStream, Progress, Source, no_progress, sight_of
from gamewarden.core.extras import need
from gamewarden.features.copies.recipe import Copies
from gamewarden.features.flows import PLAY, Flows
from gamewarden.features.folding import feed_together
from gamewarden.groups.copying import Copying, likeness
from gamewarden.groups.finding import Found, find
from gamewarden.pipeline.measuring import USUAL, RunOptions
from gamewarden.presentation.group_files import write_groups
from gamewarden.presentation.group_plots import plot_groups
from gamewarden.presentation.group_story import groups_in_short
from gamewarden.streams import WatchedEvents
from gamewarden.tables import json_text

_HOUR = 60.0  # minutes
_BLIND = "no event names another account (other) or an address (ip): there is nothing to find groups by"
_ALIKE = " but what accounts do alike"


@dataclass(frozen=True)
class Grouped:
    """Groups of some days, those that look most like a farm first."""

    found: Found
    since: datetime | None
    until: datetime | None
    notes: tuple[str, ...]

    def lines(self, top: int) -> list[str]:
        """For a person: the first groups with their members."""
        return groups_in_short(self.found, self.since, self.until, top)

    @cached_property
    def frame(self) -> pl.DataFrame:
        """For a program: a group a row, with its members in it."""
        people = self.found.members.group_by(id="group", maintain_order=True).agg(
            members=pl.struct(pl.exclude("group"))
        )
        return self.found.groups.join(people, on="id", how="left", maintain_order="left")

    def json(self) -> str:
        """The same as JSON."""
        return json_text(self.frame)

    def write(self, directory: Path) -> list[Path]:
        """Tables of groups, accounts and gifts, and the graph as GraphML.

        Raises:
            WriteError: the place cannot be written.
        """
        return write_groups(self.found, directory)

    def draw(self, directory: Path) -> list[Path]:
        """The groups as networks, and all of them on one map.

        Raises:
            WriteError: the place cannot be written.
        """
        return plot_groups(self.found, directory)


def groups(source: Source, run: RunOptions = USUAL, progress: Progress = no_progress) -> Grouped:
    """Groups of accounts in the time that the source is asked about.

    Raises:
        InstallError: the library that finds communities is not installed.
    """
    need("groups", "graspologic_native")
    events = WatchedEvents(source.events(), progress)
    told = _counted(events, run.time_zone)
    hours = told.play.group_by("actor").agg(hours=pl.col("items").sum() / _HOUR)
    ends = told.play.select(pl.col("since").min(), pl.col("until").max())
    since, until = ends.row(0)
    days = None if since is None else max(1.0, (until - since).total_seconds() / 86400)
    found = find(told.edges, hours, days, told.copying)
    return Grouped(found, since, until, (*events.notes, *told.notes))


@dataclass(frozen=True)
class _Counted:
    """What groups are found by."""

    edges: pl.DataFrame  # EDGES
    play: pl.DataFrame  # since, until, actor, items: minutes of play
    copying: Copying
    said: tuple[str, ...]

    @property
    def notes(self) -> tuple[str, ...]:
        """What has to be said of it."""
        if not self.edges.is_empty():
            return self.said
        return (*self.said, _BLIND if self.copying.accounts.is_empty() else _BLIND + _ALIKE)


def _counted(events: EventStream, time_zone: str | None) -> _Counted:
    """Who has to do with whom, and who is like whom, from one reading of all events."""
    flows, copies = Flows(time_zone=time_zone), Copies(time_zone=time_zone)
    sight = sight_of("events", events)
    gifts, sketches = flows.part_fold(sight), copies.part_fold(sight)
    feed_together([gifts, sketches], events)
    parts = gifts.frame()
    is_play = pl.col("kind") == PLAY
    said = sketches.notes().sentences()
    return _Counted(parts.filter(~is_play), parts.filter(is_play), likeness(sketches.frame(), copies.min_moments), said)
