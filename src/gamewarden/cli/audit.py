"""`gamewarden audit`: who did what in the ledger, and whether the audit is as it was written."""

from datetime import timedelta

import click

from gamewarden.cli import options
from gamewarden.cli.home import here
from gamewarden.cli.show import Presentation, say, tell
from gamewarden.presentation.listing import Layout

_LAYOUT = Layout(("at", "who", "what", "subject"), ("says",))


@click.command
@click.argument("about", required=False, metavar="[ACTOR]")
@click.option("--verify", is_flag=True, help="Look whether every line is as it was written.")
@click.option(
    "--since-head",
    "noted",
    metavar='"N HASH"',
    help="With --verify: the last line as an earlier audit said it and you noted it elsewhere.",
)
@click.option("--last", type=options.Span(), metavar="SPAN", help="Only what was done so lately, such as 7d.")
@options.table
def audit(*, about: str | None, verify: bool, noted: str | None, last: int | None, present: Presentation) -> None:
    """Say who did what, the newest first, and what changed.

    ACTOR is an account, or the id of a decision, action, challenge or appeal. The last line's number and hash are said
    at the end: note them where nobody who can change the ledger can, and `audit --verify --since-head "N HASH"` finds
    whatever was changed up to then, even where the whole audit was written anew.
    """
    from gamewarden.notices import now
    from gamewarden.workspace.auditing import Auditing

    if noted is not None and not verify:
        raise click.UsageError("--since-head is for --verify; give both")
    auditing = Auditing.of(here())
    if verify:
        tell(auditing.verified(noted))
    else:
        found = auditing.lines(about, None if last is None else now() - timedelta(microseconds=last))
        for_people = found.drop("old", "new", "hash").reverse()
        present.table(found.drop("says") if present.for_machines else for_people, layout=_LAYOUT)
    say(f"Head: {auditing.head()}")  # short enough for one line of 80 columns
