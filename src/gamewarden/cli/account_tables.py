"""The command that learns from an operator's own table: `fit account-table`."""

from pathlib import Path
from typing import Any

import click

from gamewarden.cli import options
from gamewarden.cli.settings import current
from gamewarden.cli.show import progress, say, show_page


def fit_account_table(name: str) -> click.Command:
    """The command, with the options of its detector."""
    from gamewarden import detectors, pipeline, requests
    from gamewarden.cli.recipes import options_of
    from gamewarden.readers.options import SourceOptions

    detector = detectors.load(name)

    @click.command(
        name,
        help=f"{detector.says}\n\nFILE is CSV, JSON Lines or Parquet with one row per actor, its label in it or in "
        "--labels. Columns that look like identifiers are left out, with a word on how well they alone would separate "
        "the labels; values that cannot be true count as missing. Prints the model's card.",
    )
    @click.argument("source", type=options.SOURCE, metavar="FILE")
    @click.option("--actor", required=True, metavar="COLUMN", help="Names the row; never fed.")
    @click.option("--group", metavar="COLUMN", help="Who belongs together is held out together; never fed.")
    @click.option("--label", metavar="COLUMN", help="Who is a bot; empty is neither bot nor human.")
    @click.option("--labels", type=options.FILE, metavar="FILE", help="Instead of --label, who is known: actor,bot …")
    @click.option("--positive", metavar="VALUE", help="The label that means bot; all others mean human.")
    @click.option("--drop", multiple=True, metavar="COLUMN", help="Do not feed it; may be given again.")
    @click.option("--keep", multiple=True, metavar="COLUMN", help="Feed it though it looks like an identifier.")
    @click.option("--siblings", is_flag=True, help="Rows of one group know each other's numbers, never their labels.")
    @options.kept_in
    @options_of(detector)
    @options.reading
    @click.option("--json", "as_json", is_flag=True, help="Print the card as JSON.")
    def command(
        *,
        source: options.Where,
        to: Path,
        reading: SourceOptions,
        as_json: bool,
        **given: Any,  # noqa: ANN401  the columns, and the options of the recipe
    ) -> None:
        if (given["label"] is None) == (given["labels"] is None):
            raise click.UsageError(
                "say who is known, by a column of the table (--label) or a file beside it (--labels)"
            )
        asked = requests.table_named(name, given, current())
        with progress(f"fitting {name}") as done:
            fitted = pipeline.fit_table(asked, options.opened(source, reading), to, progress=done)
        say(*fitted.notes)
        page = pipeline.page_of(fitted.model, to)
        show_page(page, as_json=as_json)
        say(f"The model is in {fitted.path}")

    return command
