"""Commands for a lake that is there already: `compact`, `delta`."""

from datetime import UTC, datetime
from pathlib import Path

import click

from gamewarden.cli import options
from gamewarden.cli.home import from_workspace
from gamewarden.cli.show import Presentation, progress, say, tell


@click.command
@click.argument("lake", type=options.FILE, required=False, metavar="[LAKE]", callback=from_workspace("lake"))
@click.option(
    "--before", type=options.Moment(), metavar="DATE", help="Only days before this one (UTC); default: today."
)
@options.table
def compact(*, lake: Path, before: datetime | None, present: Presentation) -> None:
    """Make the files of each day of a lake one.

    The rows of a day are sorted by actor and time, so that many logs are read as fast as one, and one actor without
    reading all. Nothing else changes: results stay the same, and logs are known again. Days that are one such file
    already are left alone; a day that got late events is compacted again. In a workspace its lake need not be
    named.
    """
    from gamewarden import pipeline

    until = (before or datetime.now(UTC)).date()
    with progress(f"compacting {lake.name}") as done:
        told = pipeline.compact(lake, until, done)
    say(*told.notes)
    present.table(told.frame)


@click.command
@click.argument("lake", type=options.FILE, required=False, metavar="[LAKE]", callback=from_workspace("lake"))
def delta(*, lake: Path) -> None:
    """Let other systems read a lake as a Delta table.

    From now on every change of the lake is also written to LAKE/_delta_log, so that Polars, deltalake and other
    readers of Delta tables can read it; only gamewarden may write to it. Remove that directory to end this. In a
    workspace its lake need not be named.
    """
    from gamewarden import pipeline

    tell(pipeline.keep_delta_log(lake))
