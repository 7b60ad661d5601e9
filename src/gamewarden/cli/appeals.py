"""Commands for people's word against the machine's: `appeal`, `protect`, `label`."""

import json
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import click

from gamewarden.cli import options
from gamewarden.cli.home import here
from gamewarden.cli.show import Presentation, hand_over, say, tell
from gamewarden.core.user import login
from gamewarden.presentation.listing import Layout

if TYPE_CHECKING:
    from gamewarden.workspace.appealing import Appealing

_who = click.option("--by", required=True, metavar="NAME", help="Who decides: a person's name, for the audit.")
_why = click.option("--because", required=True, metavar="TEXT", help="Why, in a sentence; it is kept.")


@click.group
def appeal() -> None:
    """Appeals: open, decide and list them; statements of reasons."""


@appeal.command("open")
@click.argument("about", metavar="ACTOR|DECISION")
@click.option("--text", required=True, metavar="TEXT", help="What the player says, in up to 4,000 letters.")
@click.option("--by", metavar="NAME", help="Who brings it forward.  [default: your login name]")
def open_appeal(*, about: str, text: str, by: str | None) -> None:
    """Open an appeal against one decision, or all about an account.

    An account has one open appeal at a time. After a decision only a new text opens the case again.
    """
    made = _appealing().open(about, text, by=by or login())
    tell(f"{made.id} is open; `gamewarden appeal decide {made.id} upheld|overturned --by NAME --because TEXT`")


@appeal.command("decide")
@click.argument("name", metavar="ID")
@click.argument("outcome", type=click.Choice(("upheld", "overturned")))
@_who
@_why
def decide_appeal(*, name: str, outcome: str, by: str, because: str) -> None:
    """Decide an appeal, once: the decision is upheld, or overturned.

    Overturned, the case is healed: every decision about the account is taken back and what was carried out is undone,
    the evidence no longer counts, the account is labelled human, whoever was suspected because of it is scored anew,
    and no model takes over that flags it on the same evidence. Who took part in a decision does not decide the appeal
    against it where [response] four_eyes says so.
    """
    healed = _appealing().decide(name, outcome, by=by, because=because)
    tell(*healed.sentences())


@appeal.command("list")
@click.option("--open", "only_open", is_flag=True, help="Only those that nobody has decided yet.")
@options.table
def list_appeals(*, only_open: bool, present: Presentation) -> None:
    """List appeals, the newest first."""
    layout = Layout(("appeal", "actor", "opened", "outcome", "decided_by"), ("text", "because"))
    present.table(_appealing().listed(only_open=only_open), layout=layout)


@appeal.command("statement")
@click.argument("decision", metavar="DECISION")
@click.option(
    "--for",
    "audience",
    type=click.Choice(("player", "operator")),
    default="player",
    show_default=True,
    help="Facts, rule and how to appeal; or all of it.",
)
@click.option("--language", type=click.Choice(("en", "ko")), default="en", show_default=True, help="English or Korean.")
@click.option("--json", "as_json", is_flag=True, help="Print it as JSON.")
@click.option("--html", "page", type=options.Page(), metavar="PAGE", help="Write it as a page.")
def state_reasons(*, decision: str, audience: str, language: str, as_json: bool, page: Path | None) -> None:
    """Write the statement of reasons for a decision.

    For a player: what was decided, on which facts, by which rule, whether a person decided, until when, and how to
    appeal; no scores, no thresholds, no names of others. For an operator: all of it. DECISION is an id of `decisions
    list`, or the beginning of one.
    """
    from gamewarden.core.files import write_text
    from gamewarden.presentation.statement import OPERATOR, statement
    from gamewarden.workspace.stating import background

    made = statement(background(here(), decision, with_verdicts=audience == OPERATOR), audience, language)
    if page is not None:
        write_text(page, made.page())
        say(f"The statement is in {page}")
    if as_json:
        hand_over(json.dumps(made.values(), ensure_ascii=False, indent=1) + "\n")
    elif page is None:
        tell(*made.lines())


@click.command
@click.argument("actor", required=False, metavar="[ACTOR]")
@click.option("--for", "length", type=options.Span(), metavar="SPAN", help="How long, such as 90d.")
@click.option("--by", metavar="NAME", help="Who protects it: a person's name, for the audit.")
@click.option("--because", metavar="TEXT", help="Why, in a sentence; it is kept.")
@click.option("--end", is_flag=True, help="Protect it no longer.")
@click.option("--list", "listing", is_flag=True, help="List who is protected.")
@options.table
def protect(
    *,
    actor: str | None,
    length: int | None,
    by: str | None,
    because: str | None,
    end: bool,
    listing: bool,
    present: Presentation,
) -> None:
    """Let no step above watching touch an account for a time.

    Protection ends by itself, or with --end. Without ACTOR, or with --list, those who are protected are listed.
    """
    from gamewarden.notices import now
    from gamewarden.workspace.appealing import end_protection, protect, protected

    ledger, at = here().ledger, now()
    if listing or actor is None:
        present.table(protected(ledger, at))
        return
    if not by:
        raise click.UsageError("name who protects the account or ends that: --by NAME")
    if end:
        end_protection(ledger, actor, by=by, at=at)
        tell(f"{actor} is no longer protected")
        return
    if length is None or not because:
        raise click.UsageError("say how long and why: --for 90d --because TEXT")
    made = protect(here(), actor, until=at + timedelta(microseconds=length), by=by, because=because, at=at)
    tell(f"{actor} is protected until {made.until:%Y-%m-%d %H:%M} UTC")


@click.command
@click.argument("actor", metavar="ACTOR")
@click.argument("said", type=click.Choice(("bot", "human")))
@click.option("--by", required=True, metavar="NAME", help="Which rater says so; each has one vote on an account.")
@click.option("--source", default="review", show_default=True, metavar="NAME", help="What kind of looking it was.")
@click.option("--because", metavar="TEXT", help="Why, in a sentence; it is kept.")
def label(*, actor: str, said: str, by: str, source: str, because: str | None) -> None:
    """Say what an account is, as one rater among several.

    Every vote is kept. A label needs two raters who agree and are two thirds of all; anything else is uncertain and in
    no training set. [workspace] one_rater = true lets one vote be enough. Labels count beside the labels file in fit,
    evaluate, maintain and run.
    """
    from gamewarden.notices import now
    from gamewarden.workspace.labels import agreed, vote

    home = here()
    made = vote(home.ledger, actor, bot=said == "bot", by=by, at=now(), source=source, because=because)
    result = agreed(made, one_enough=home.config.workspace.one_rater)
    known = {True: "a bot", False: "human", None: "uncertain"}[result]
    bots = sum(made.votes.values())
    tell(f"{actor}: {bots} of {len(made.votes)} {'say' if bots != 1 else 'says'} bot, so it is {known}")
    if actor in home.disputed:
        tell(f"{actor}: this contradicts what is known of it; a third person decides with `gamewarden review`")


def _appealing() -> "Appealing":
    from gamewarden.notices import now
    from gamewarden.workspace.appealing import Appealing

    return Appealing(here(), now())
