"""`gamewarden verify`: whether a kept verdict still stands on what it was given for."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from gamewarden.cli import options
from gamewarden.cli.show import Presentation, progress

if TYPE_CHECKING:
    from gamewarden.contracts import Source
    from gamewarden.readers.options import SourceOptions


@click.command
@click.argument("verdicts", nargs=-1, required=True, type=options.FILE, metavar="VERDICT…")
@click.option("--models", type=options.FILE, metavar="DIR", help="Score again with the models kept here.")
@click.option(
    "--source",
    "sources",
    type=options.SOURCE,
    multiple=True,
    metavar="SOURCE",
    help="Measure again what was judged; may be given again.",
)
@options.reading
@options.packets
@options.table
@click.pass_context
def verify(
    ctx: click.Context,
    *,
    verdicts: tuple[Path, ...],
    models: Path | None,
    sources: tuple[options.Where, ...],
    reading: "SourceOptions",
    present: Presentation,
) -> None:
    """Say whether verdicts still stand, or what has changed.

    VERDICT is a document that `judge --to` kept, or a directory of them. With --models each is scored again from the
    numbers in it and must come out the same to the last bit; with --source these are measured again too. Exits with 1
    when one does not hold.
    """
    from gamewarden import pipeline

    held = _held(sources, reading, models)
    with progress("verifying") as done:
        table = pipeline.verify(verdicts, pipeline.VerifyOptions(models, held, options.run_options(reading)), done)
    present.table(table)
    ctx.exit(0 if table["holds"].all() else 1)


def _held(sources: tuple[options.Where, ...], reading: "SourceOptions", models: Path | None) -> "Source | None":
    """What was judged, where it is at hand; several sources are read as the models see them."""
    if not sources:
        return None
    return options.opened(sources[0], reading) if models is None else options.opened_together(sources, reading, models)
