"""Commands for kept verdicts: `verify`, whether they still stand, and `verdict show`, one with all it rests on."""

from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from gamewarden.cli import options, ragnarok
from gamewarden.cli.home import here
from gamewarden.cli.show import Presentation, hand_over, progress, say, tell
from gamewarden.errors import VerdictError

if TYPE_CHECKING:
    from gamewarden.contracts import Source
    from gamewarden.readers.options import SourceOptions


@click.command
@click.argument("verdicts", nargs=-1, type=options.FILE, metavar="[VERDICT]…")
@click.option("--models", type=options.FILE, metavar="DIR", help="Score again with the models kept here.")
@click.option(
    "--source",
    "sources",
    type=options.SOURCE,
    multiple=True,
    metavar="SOURCE",
    help="Measure again what was judged; may be given again.",
)
@click.option("--day", "days", multiple=True, metavar="DATE", help="In a workspace only this day; may be given again.")
@options.reading
@options.packets
@ragnarok.decoding
@options.table
@click.pass_context
def verify(
    ctx: click.Context,
    *,
    verdicts: tuple[Path, ...],
    models: Path | None,
    sources: tuple[options.Where, ...],
    days: tuple[str, ...],
    reading: "SourceOptions",
    present: Presentation,
) -> None:
    """Say whether verdicts still stand, or what has changed.

    In a workspace every sealed day is looked at: whether a byte, a row or a day is missing or was changed, and whether
    its scores, reasons and verdicts come out the same to the last bit from the numbers kept with them. A day that was
    sealed under earlier rules is compared with its digests alone.

    VERDICT is a document that `judge --to` or `verdict show --json` wrote, or a directory of them. With --models each
    is scored again from the numbers in it; with --source these are measured again too. Exits with 1 when one does not
    hold.
    """
    from gamewarden import pipeline

    if not verdicts:
        from gamewarden.workspace.proving import verify_days

        home = here()
        with progress("verifying") as done:
            table = verify_days(home.verdicts, models or home.models, days or None, done)
        if not table.height:
            raise VerdictError(f"{home.results}: no day has been judged yet; `gamewarden run` judges")
    else:
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


@click.group
def verdict() -> None:
    """Show verdicts that a workspace keeps."""


@verdict.command("show")
@click.argument("name", metavar="ID")
@click.option("--json", "as_json", is_flag=True, help="Print the whole document as JSON; `verify` reads it.")
@click.option("--html", "page", type=options.Page(), metavar="PAGE", help="Write it as a page.")
def show_verdict(*, name: str, as_json: bool, page: Path | None) -> None:
    """Show one verdict with all it rests on: reasons, scores, numbers, rules.

    ID is that of `judge`, or the beginning of it.
    """
    from gamewarden.core.files import write_text
    from gamewarden.presentation.verdict_page import verdict_page, verdict_text
    from gamewarden.workspace.proving import show

    home = here()
    found = show(home.verdicts, name)
    until = home.exonerated.get(found.values["actor"])
    refuted = until is not None and datetime.fromisoformat(found.values["since"]) < until
    if page is not None:
        write_text(page, verdict_page(found, refuted=refuted))
        say(f"The verdict is in {page}")
    if as_json:
        hand_over(found.text() + "\n")
    elif page is None:
        tell(*verdict_text(found, refuted=refuted))
