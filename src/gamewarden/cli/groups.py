"""`gamewarden groups`: which accounts belong together, and what flows between them."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from gamewarden.cli import options
from gamewarden.cli.show import hand_over, progress, say, tell
from gamewarden.core.durations import DAY
from gamewarden.core.extras import need

if TYPE_CHECKING:
    from gamewarden.readers.options import SourceOptions

_WEEK = 7 * DAY


@click.command
@options.source
@click.option("--top", type=click.IntRange(0), default=20, show_default=True, metavar="N", help="So many; 0: all.")
@click.option("--json", "as_json", is_flag=True, help="Print all groups with their members as JSON.")
@click.option(
    "--out", type=options.FILE, metavar="DIR", help="Write groups.csv, nodes.csv, edges.csv and groups.graphml there."
)
@click.option("--plot", type=options.FILE, metavar="DIR", help="Draw groups.png and map.png there.")
@options.reading
@options.time_range
def groups(
    *,
    source: options.Where,
    top: int,
    as_json: bool,
    out: Path | None,
    plot: Path | None,
    reading: "SourceOptions",
) -> None:
    """List accounts that belong together, with roles and reasons.

    By gifts that go one way: stars, whose leaves hand all to a hub, chains, and the circles of people. By trade and
    parties: guilds and traders. By address: households and cafés. By what they do: copies of one script, with the
    stretch that they share. Without --since or --last it is about the last seven days. Being in a group is never enough
    alone.
    """
    from gamewarden import pipeline

    need("groups", "graspologic_native")
    if plot is not None:
        need("groups --plot", "matplotlib")
    asked = reading.time_range
    if asked.since is None and asked.last is None:
        reading = replace(reading, time_range=replace(asked, last=_WEEK))
    with progress("looking for groups") as done:
        found = pipeline.groups(options.opened(source, reading), options.run_options(reading), done)
    say(*found.notes)
    for directory, made in ((out, found.write), (plot, found.draw)):
        if directory is not None:
            say(f"Written: {', '.join(str(path) for path in made(directory))}")
    if as_json:
        hand_over(found.json())
    else:
        tell(*found.lines(top))
