"""`gamewarden map`: mapping files for logs that call things by other names."""

from pathlib import Path

import click

from gamewarden.cli import options
from gamewarden.cli.show import print_lines, say
from gamewarden.errors import ConfigError


@click.group(name="map")
def map_() -> None:
    """Write mappings: what a log's columns and kinds are called."""


@map_.command
@click.argument("file", type=options.FILE)
@click.option("--out", type=options.FILE, metavar="FILE", help="Write the draft here instead of printing it.")
@click.option("--force", is_flag=True, help="Write over a file that is there.")
@click.option(
    "--time-zone", "--zone", "time_zone", metavar="ZONE", help="Where the log's clock stood, such as Asia/Seoul."
)
def init(*, file: Path, out: Path | None, force: bool, time_zone: str | None) -> None:
    """Draft a mapping for a log, with counts.

    Columns are guessed by their names and tried on the first rows: each line of the draft says how many rows bear it
    out. Nothing is guessed that would lose rows without saying so, and no time zone at all.
    """
    from gamewarden.readers.logs.drafts import draft

    if out is not None and out.exists() and not force:
        raise ConfigError(f"{out}: is there already; --force writes over it")
    drafted = draft(file, time_zone)
    if out is None:
        print_lines(*drafted.text.rstrip("\n").split("\n"))
        return
    out.write_text(drafted.text, encoding="utf-8")
    say(*drafted.notes)
    say(f"{out}: look it over, then: gamewarden lint {file} --map {out}")
