"""Commands for operators of game servers: `doctor`."""

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from gamewarden.cli import options
from gamewarden.cli.home import here
from gamewarden.cli.show import hand_over, tell
from gamewarden.core.database_urls import address_of, is_database
from gamewarden.errors import ConfigError

if TYPE_CHECKING:
    from gamewarden.contracts import Source
    from gamewarden.readers.options import SourceOptions

_MORE_TO_SEE = 3


@click.command
@click.argument("source", type=options.SOURCE, metavar="[LOCATOR]", required=False)
@click.option("--from", "preset", metavar="PRESET", help="Which server wrote it; by default its tables tell.")
@click.option(
    "--settings",
    type=options.FILE,
    multiple=True,
    metavar="FILE",
    help="A file of the server's settings, such as conf/log_athena.conf; may be given again, the last counts.",
)
@options.reading
@options.databases
@click.option("--json", "as_json", is_flag=True, help="Print it as JSON.")
@click.pass_context
def doctor(
    ctx: click.Context,
    *,
    source: options.Where | None,
    preset: str | None,
    settings: tuple[Path, ...],
    reading: "SourceOptions",
    as_json: bool,
) -> None:
    """Say what a game server's database lets each detector see.

    Its tables, how far they reach back, its clock and the rights of its user; of each detector whether it is alive,
    half blind or blind, and why; and the lines in the server's own settings that would change that, with their cost.
    Nothing is written. Without LOCATOR it looks at the databases of the workspace. Exits with 0 where detectors of logs
    get all they need, with 3 where they do not.
    """
    from gamewarden import pipeline

    named = reading if preset is None else replace(reading, logs=replace(reading.logs, mapping=preset))
    sources = _of_workspace() if source is None else [options.opened(source, named)]
    found = [pipeline.doctor(one, settings) for one in sources]
    if as_json:
        told = [one.as_json() for one in found]
        hand_over(json.dumps(told[0] if source is not None else told, ensure_ascii=False, indent=1) + "\n")
    else:
        tell(*(line for one in found for line in one.sentences()))
    ctx.exit(0 if all(one.healthy for one in found) else _MORE_TO_SEE)


def _of_workspace() -> "list[Source]":
    """The databases that the workspace reads."""
    home = here()
    found = [
        home.open(source, address_of(locator, home.root))
        for source in home.config.sources
        for locator in source.locator
        if is_database(locator)
    ]
    if not found:
        raise ConfigError("doctor: no [[source]] of warden.toml is a database; name one: mysql://user@host/name")
    return found
