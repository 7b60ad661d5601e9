"""Commands of the response: `decide`, and `decisions` to list, show, approve, undo and settle them."""

import json
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import click

from gamewarden.cli import options
from gamewarden.cli.home import here
from gamewarden.cli.show import Presentation, hand_over, progress, say, tell
from gamewarden.core.outside import visible
from gamewarden.policy import STEPS

if TYPE_CHECKING:
    from gamewarden.workspace.responding import Responding

_by = click.option("--by", required=True, metavar="NAME", help="Who decides: a person's name, for the audit.")
_because = click.option("--because", required=True, metavar="TEXT", help="Why, in a sentence; it is kept.")


@click.command
@click.argument("actor", required=False, metavar="[ACTOR]")
@click.argument("step", required=False, type=click.Choice(STEPS), metavar="[STEP]")
@click.option("--by", metavar="NAME", help="Who decides: a person's name, for the audit.")
@click.option("--because", metavar="TEXT", help="Why, in a sentence; it is kept.")
@click.option("--for", "length", type=options.Span(), metavar="SPAN", help="How long the step holds, such as 7d.")
@click.option("--for-ever", is_flag=True, help="Until it is taken back; such a ban needs a second person.")
def decide(
    *, actor: str | None, step: str | None, by: str | None, because: str | None, length: int | None, for_ever: bool
) -> None:
    """Let the ladder decide, or decide on a step as a person.

    Without ACTOR the verdicts that are new are taken in and the ladder of warden.toml decides, as `run` does. With
    ACTOR and STEP a person decides: watch, limit, challenge, freeze, isolate, review, hold, suspend or ban. Only a
    person can hold, suspend or ban; a ban or suspension for longer than [response] long_ban needs a second person.
    Nothing leaves gamewarden while [response] armed is false.
    """
    if actor is None:
        responding = _responding()
        with progress("deciding") as done:
            tell(str(responding.decide(done)))
        tell(str(responding.carry()))
        return
    if step is None or not by or not because:
        raise click.UsageError("a person's decision names ACTOR and STEP, --by NAME and --because TEXT")
    if (length is None) != for_ever:
        raise click.UsageError("say how long the step holds: --for 7d, or --for-ever")
    span = None if length is None else timedelta(microseconds=length)
    made, doubts = _responding().by_person(actor, step, by=by, because=because, span=span)
    tell(f"{made.id}: {visible(made.step)} for {visible(made.actor)} until {_moment(made.until)}")
    say(*doubts)
    if made.waits_for:
        say(f"it counts once a second person approves: gamewarden decisions approve {made.id} --by NAME")
    elif made.rehearsal:
        say("a rehearsal: nothing leaves gamewarden while [response] armed is false")


@click.group
def decisions() -> None:
    """List decisions, show them, approve them and take them back."""


@decisions.command("list")
@click.option("--actor", metavar="NAME", help="Only of this account.")
@click.option("--step", type=click.Choice(STEPS), help="Only this step.")
@click.option("--all", "everything", is_flag=True, help="Also those that no longer stand.")
@click.option("--last", type=options.Span(), metavar="SPAN", help="Only those of the newest time, such as 7d.")
@options.table
def list_decisions(
    *, actor: str | None, step: str | None, everything: bool, last: int | None, present: Presentation
) -> None:
    """List the decisions that stand, the newest first."""
    from gamewarden.workspace.deciding import listed

    responding = _responding()
    since = None if last is None else responding.at - timedelta(microseconds=last)
    present.table(listed(responding.ledger, actor=actor, step=step, since=since, standing=not everything))


@decisions.command("show")
@click.argument("name", metavar="ID")
@click.option("--json", "as_json", is_flag=True, help="Print it with its evidence and actions as JSON.")
@click.option("--html", "page", type=options.Page(), metavar="PAGE", help="Write it as a page.")
def show_decision(*, name: str, as_json: bool, page: Path | None) -> None:
    """Show one decision: why, on what evidence, by whom, and what became of it.

    ID is that of `decisions list`, or the beginning of it. `appeal statement ID` tells it to the player.
    """
    from gamewarden.core.files import write_text
    from gamewarden.presentation.statement import OPERATOR, statement
    from gamewarden.workspace.stating import background, records

    found = background(here(), name, with_verdicts=not as_json)
    made = statement(found, OPERATOR, "en")
    if page is not None:
        write_text(page, made.page())
        say(f"The decision is in {page}")
    if as_json:
        hand_over(json.dumps(records(found), ensure_ascii=False, indent=1) + "\n")
    elif page is None:
        tell(*made.lines())


@decisions.command("undo")
@click.argument("name", metavar="ID")
@_by
@_because
def undo_decision(*, name: str, by: str, because: str) -> None:
    """Take a decision back: the step ends, and what was carried out of it is undone."""
    responding = _responding()
    undone = responding.undo(name, by=by, because=because)
    tell(f"{undone.id}: {undone.step} for {visible(undone.actor)} was taken back", str(responding.carry()))


@decisions.command("approve")
@click.argument("name", metavar="ID")
@_by
def approve_decision(*, name: str, by: str) -> None:
    """Approve a decision that waits for a second person."""
    responding = _responding()
    approved = responding.approve(name, by=by)
    tell(f"{approved.id}: {approved.step} for {visible(approved.actor)} is approved", str(responding.carry()))


@decisions.command("settle")
@click.argument("action", metavar="ACTION")
@click.argument("outcome", type=click.Choice(("happened", "again")))
@_by
def settle_action(*, action: str, outcome: str, by: str) -> None:
    """Say what became of an action that nobody knows the end of.

    happened: it was carried out. again: it was not, so it is carried out anew unless its decision was taken back.
    """
    settled = _responding().settle(action, happened=outcome == "happened", by=by)
    tell(f"{settled.id}: {settled.verb} {settled.step} for {visible(settled.actor)} is {settled.state}")


@decisions.command("resume")
@_by
def resume(*, by: str) -> None:
    """Let actions leave again after a breaker stopped them.

    It stops them where too many left within an hour, or too many of them were taken back.
    """
    responding = _responding()
    why = responding.resume(by=by)
    tell(f"they were stopped: {why}" if why else "nothing was stopped", str(responding.carry()))


@decisions.command("reconcile")
@click.option("--repair", is_flag=True, help="Record in the ledger what the game holds, then go on.")
@click.option("--by", metavar="NAME", help="Who repairs: a person's name, for the audit.")
@options.table
def reconcile(*, repair: bool, by: str | None, present: Presentation) -> None:
    """Compare the ledger with the game.

    Lists each action of which they differ, with both states. An action that the game holds and the ledger does not know
    is recorded as carried out, and undone where its decision is over; one that the game no longer holds ends its
    decision. What the game holds without any record is only listed: lift it in the game, or decide it anew. A ledger
    that was restored from an older copy carries out nothing until it was repaired.
    """
    from gamewarden.workspace.reconciling import restored, table_of

    if repair != bool(by):
        raise click.UsageError("--repair and --by NAME belong together; give both")
    responding = _responding()
    found = responding.reconciling.repair(by) if by else responding.reconciling.mismatches()
    present.table(table_of(found))
    if by:
        tell(str(responding.carry()))
    elif (why := restored(responding.workspace)) is not None:
        say(why)


@decisions.command("actions")
@click.option("--all", "everything", is_flag=True, help="Also those that are done or never left.")
@options.table
def list_actions(*, everything: bool, present: Presentation) -> None:
    """List what is on its way into the game or back, and what nobody knows the end of."""
    from gamewarden.workspace.deciding import on_their_way

    present.table(on_their_way(_responding().ledger, everything=everything))


def _responding() -> "Responding":
    from gamewarden.notices import now
    from gamewarden.workspace.responding import Responding

    return Responding(here(), now())


def _moment(at: datetime | None) -> str:
    return "it is taken back" if at is None else f"{at:%Y-%m-%d %H:%M} UTC"
