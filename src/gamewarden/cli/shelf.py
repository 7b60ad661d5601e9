"""Commands for the models at hand: `model list`, `show`, `promote`, `roll-back`, `history`, `diff`."""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from gamewarden.cli import options
from gamewarden.cli.home import workspace
from gamewarden.cli.settings import current
from gamewarden.cli.show import Presentation, progress, say, show_page, tell
from gamewarden.core.text import counted
from gamewarden.core.user import login
from gamewarden.presentation.listing import Layout

if TYPE_CHECKING:
    from gamewarden.contracts import Model
    from gamewarden.readers.options import SourceOptions
    from gamewarden.verdicts.prevalence import Prevalence


@click.group
def model() -> None:
    """The models at hand: list, show, compare and promote them."""


@model.command("list")
@options.models
@options.table
def list_models(*, models: Path, present: Presentation) -> None:
    """List the models of a directory, the newest file last.

    The model in force judges: the promoted one of each detector, or the newest file where none was ever promoted.
    """
    from gamewarden import pipeline

    table = pipeline.models_on(models)
    layout = Layout(("model", "in_force", "auc", "bots", "humans"), ("problem",))
    present.table(table if present.for_machines else pipeline.models_in_short(table), layout=layout)


@model.command
@click.argument("id_", metavar="ID")
@options.models
@click.option("--json", "as_json", is_flag=True, help="Print the card as JSON.")
def show(*, id_: str, models: Path, as_json: bool) -> None:
    """Show a model's card.

    What it needs, what it learned, from whom, how good it was and where it fails.

    ID may be cut short as long as it names one model only, with or without the detector: account-day@3f or 3f2a.
    """
    from gamewarden import pipeline

    page = pipeline.page_of(pipeline.load_model(models, id_), models)
    show_page(page, as_json=as_json)


def _reasoned(function: Callable[..., None]) -> Callable[..., None]:
    """Adds --because and --by; the command gets both, and the time."""

    @click.option("--because", required=True, metavar="TEXT", help="Why; it is kept for ever.")
    @click.option("--by", metavar="NAME", help="Who decided it.  [default: your login name]")
    @wraps(function)
    def command(*, by: str | None, **given: Any) -> None:  # noqa: ANN401  the command's own
        function(by=by or login(), at=datetime.now(UTC), **given)

    return command


@model.command
@click.argument("id_", metavar="ID")
@options.models
@_reasoned
def promote(*, id_: str, models: Path, because: str, by: str, at: datetime) -> None:
    """Put a model into force.

    From then on no newer file takes its place by itself. In a workspace a model is refused that flags an account which
    an appeal has exonerated, on the same evidence.
    """
    from gamewarden import pipeline

    tell(pipeline.promote(models, id_, because=because, by=by, at=at, objections=_objections))


def _objections(model: "Model") -> Sequence[str]:
    """What the workspace has against a model, if there is a workspace; who cannot be looked at is said."""
    home = workspace()
    if home is None or not home.has_ledger:
        return ()
    from gamewarden.workspace.gate import Gate

    looked = Gate(home).look(model)
    if looked.unseen:
        accounts = counted(len(looked.unseen), "exonerated account")
        say(
            f"{accounts} could not be looked at: what was held against them is gone, or {model.card.id} sees none of it"
        )
    return looked.with_names()


@model.command("roll-back")
@click.argument("detector")
@options.models
@_reasoned
def roll_back(*, detector: str, models: Path, because: str, by: str, at: datetime) -> None:
    """Take the latest promotion of a detector back.

    What was in force before it is in force again.
    """
    from gamewarden import pipeline

    tell(pipeline.roll_back(models, detector, because=because, by=by, at=at))


@model.command
@options.models
@options.table
def history(*, models: Path, present: Presentation) -> None:
    """List who put which model into force, when and why.

    Nothing is ever taken off this list.
    """
    from gamewarden import pipeline

    present.table(pipeline.history_of(models))


@model.command
@click.argument("first")
@click.argument("second")
@options.models
@click.option("--on", "source", type=options.SOURCE, metavar="SOURCE", help="Also say who scores differently here.")
@options.prevalence
@options.reading
@options.packets
@options.table
def diff(
    *,
    first: str,
    second: str,
    models: Path,
    source: options.Where | None,
    prevalence: "Prevalence",
    reading: "SourceOptions",
    present: Presentation,
) -> None:
    """Say how two models differ.

    What they were made of, what they learned, and with --on whom they would list.
    """
    from gamewarden import pipeline

    both = pipeline.load_model(models, first), pipeline.load_model(models, second)
    difference = pipeline.compare(*both)
    (say if present.for_machines else tell)(*difference.sentences)
    present.table(difference.table)
    if source is not None:
        with progress("scoring") as done:
            held, run = options.opened(source, reading), options.run_options(reading)
            listed = current().rank.probability
            told = pipeline.compare_on(both, held, listed, run, prevalence=prevalence, progress=done)
        say(*told.notes)
        present.beside(told.frame, "scores")
