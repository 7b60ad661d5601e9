"""Groups of accounts that belong together, from a source of events."""

from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from pathlib import Path

import polars as pl

from gamewarden.contracts import EventStream, Progress, Source, no_progress
from gamewarden.core.clock import Clock
from gamewarden.core.durations import DAY
from gamewarden.core.extras import need
from gamewarden.features.edges.fold import EdgesFold
from gamewarden.groups.finding import Found, find
from gamewarden.pipeline.measuring import USUAL, RunOptions
from gamewarden.presentation.group_files import write_groups
from gamewarden.presentation.group_plots import plot_groups
from gamewarden.presentation.group_story import groups_in_short
from gamewarden.streams import WatchedEvents
from gamewarden.tables import json_text

_HOUR = 60.0  # minutes
_BLIND = "no event names another account (other) or an address (ip): there is nothing to find groups by"


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
    edges, play = _counted(events, Clock(DAY, run.time_zone or "UTC"))
    hours = play.group_by("actor").agg(hours=pl.col("minutes").sum() / _HOUR)
    ends = play.select(pl.col("since").min(), pl.col("until").max())
    since, until = ends.row(0)
    blind = (_BLIND,) if edges.is_empty() else ()
    days = None if since is None else max(1.0, (until - since).total_seconds() / 86400)
    return Grouped(find(edges, hours, days), since, until, (*events.notes, *blind))


def _counted(events: EventStream, clock: Clock) -> tuple[pl.DataFrame, pl.DataFrame]:
    """EDGES and PLAY of all events."""
    fold = EdgesFold(clock)
    more = True
    while more:
        for batch in events.batches(fold.columns):
            fold.push(batch)
        more = fold.again()
    return fold.edges(), fold.play()
