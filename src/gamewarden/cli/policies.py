"""Commands for the ladder itself: `policy show`, `policy test` and `policy diff`."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from gamewarden.cli.home import here, workspace
from gamewarden.cli.settings import current
from gamewarden.cli.show import hand_over, lay_out, progress, tell
from gamewarden.config import load_config
from gamewarden.presentation.listing import Layout

if TYPE_CHECKING:
    from gamewarden.presentation.policies import Told
    from gamewarden.response.ladder import Ladder

_FILE = click.Path(path_type=Path, dir_okay=False)
_LAYOUTS = {
    "accounts": Layout(
        ("actor", "label", "step", "differs", "hours", "rung", "suspicion", "first", "steps"), ("because",)
    ),
    "steps not taken": Layout(("step", "accounts", "because")),
}
_ladder = click.option(
    "--ladder", "file", type=_FILE, metavar="FILE", help="The warden.toml whose policy counts.  [default: in force]"
)
_top = click.option("--top", type=click.IntRange(0), default=20, show_default=True, help="Accounts shown; 0 for all.")
_json = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


@click.group
def policy() -> None:
    """Show the ladder, try it on the past, and compare two.

    A policy is [response] with its [[response.ladder]], [verdict] act and agree, and [coverage] least.
    """


@policy.command
@_ladder
@_json
def show(*, file: Path | None, as_json: bool) -> None:
    """Show the rungs of the ladder and what holds for all of them.

    In a workspace also which steps nobody can reach with the models and adapters at hand, and why.
    """
    from gamewarden.presentation.policies import ladder_told
    from gamewarden.workspace.ladder_reach import unreachable_steps

    ladder, home = _ladder_of(file), workspace()
    _show(ladder_told(ladder, () if home is None else unreachable_steps(home, ladder)), as_json=as_json)


@policy.command
@_ladder
@_top
@_json
def test(*, file: Path | None, top: int, as_json: bool) -> None:
    """Say who would have been touched, day by day.

    The ladder is replayed on the verdicts that rest in the workspace and on the outcomes of challenges in its ledger:
    accounts by step, by label, by style of play and by group, steps that the evidence did not carry, and the accounts
    with their reasons. Nothing is decided.
    """
    from gamewarden.presentation.policies import history_told
    from gamewarden.workspace.policies import past_of

    ladder, home = _ladder_of(file), here()
    with progress("reading verdicts") as done:
        past = past_of(home, done)
    with progress("replaying", len(past.observations)) as done:
        history = past.under(ladder, done)
    _show(history_told(history, past.known, past.sentence), as_json=as_json, top=top)


@policy.command
@click.argument("first", type=_FILE, metavar="A")
@click.argument("second", type=_FILE, metavar="B")
@_top
@_json
def diff(*, first: Path, second: Path, top: int, as_json: bool) -> None:
    """Say what two policies do differently on the same past.

    A and B are settings such as warden.toml. By step: accounts that only one of them touches, or touches earlier; and
    each such account, with how many hours later B comes than A.
    """
    from gamewarden.presentation.policies import difference_told
    from gamewarden.workspace.policies import past_of

    both, home = [_ladder_of(file) for file in (first, second)], here()
    with progress("reading verdicts") as done:
        past = past_of(home, done)
    with progress("replaying", 2 * len(past.observations)) as done:
        one, other = (past.under(ladder, done) for ladder in both)
    _show(difference_told(one, other, past.sentence), as_json=as_json, top=top)


def _ladder_of(file: Path | None) -> "Ladder":
    from gamewarden.response.ladder import Ladder

    home = workspace() if file is None else None
    return Ladder.of(load_config(file) if file is not None else current() if home is None else home.config)


def _show(told: "Told", *, as_json: bool, top: int = 0) -> None:
    from gamewarden.presentation.policies import for_reading

    if as_json:
        hand_over(told.json())
        return
    shown = for_reading(told, top)
    tell(*shown.sentences)
    for name, frame in shown.tables.items():
        tell("")
        lay_out(frame, name.capitalize(), layout=_LAYOUTS.get(name))
