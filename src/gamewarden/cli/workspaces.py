"""Commands of a workspace: `init`, `run`, `status`, `forget`."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, replace
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import click

from gamewarden.cli import options
from gamewarden.cli.home import here
from gamewarden.cli.show import TIME_ZONE, complain, hand_over, lay_out, progress, say, tell
from gamewarden.core.database_urls import Address
from gamewarden.core.extras import need
from gamewarden.core.outside import visible
from gamewarden.errors import ReadError

if TYPE_CHECKING:
    import polars as pl

    from gamewarden.core.listening import Listener
    from gamewarden.readers.options import SourceOptions
    from gamewarden.workspace.metrics import RunMeters
    from gamewarden.workspace.place import Workspace
    from gamewarden.workspace.running import Step

_SECOND = 1_000_000


@click.command
@click.argument("directory", type=options.FILE, default=".", metavar="[DIR]")
@click.option(
    "--from",
    "preset",
    metavar="PRESET",
    help="demo makes a synthetic game to run on; a mapping or game server that we know says how logs are read.",
)
@click.option("--source", type=options.SOURCE, metavar="URL", help="The database of a game server to read.")
@options.reading
@options.databases
def init(*, directory: Path, preset: str | None, source: options.Where | None, reading: "SourceOptions") -> None:
    """Make a workspace: settings, and places for all it keeps.

    With --source mysql://user@host/name it reads that game server's database; --from names the server where its tables
    do not tell, --time-zone its clock where it is not UTC.

    Inside it (or with --workspace DIR, or GAMEWARDEN_WORKSPACE) every command knows lake, models, labels and time zone.
    """
    from gamewarden.workspace.setting_up import DEMO, set_up, set_up_database

    inside = "" if directory == Path() else f"cd {directory} && "
    if source is not None:
        if not isinstance(source, Address):
            raise click.UsageError(f"--source {source} is no database; write mysql://user@host/name")
        made = set_up_database(directory, source, preset, reading)
        steps: tuple[str, ...] = (
            f"Next: {inside}gamewarden run   # takes in what its tables hold; again and again, only what is new",
            "Then: gamewarden doctor   # what detectors see in it, and which lines of the server would show them more",
            "Then: gamewarden rank   # who looks odd, before anybody has said who is a bot",
            "Then: gamewarden review   # look at them one by one; `gamewarden fit signs` learns from what you say",
        )
    else:
        if preset == DEMO:
            need("init --from demo", "sklearn")
        with progress("setting up", 600 if preset == DEMO else None) as done:
            made = set_up(directory, preset, done)
        steps = (f"Next: {inside}gamewarden run",)
    say(f"The workspace is {directory.absolute()}", *made.notes)
    tell(*steps)


@click.command
@click.option("--once", is_flag=True, help="Do what there is to do, and end; so it is by default.")
@click.option("--every", type=options.Span(), metavar="SPAN", help="Keep running, and look again this often.")
@options.fresh
@options.measured_by
@options.metrics
@click.pass_context
def run(
    ctx: click.Context, *, once: bool, every: int | None, fresh: bool, on: str | None, metrics: "Listener | None"
) -> None:
    """Take in what is new, measure, score, judge, decide and maintain.

    Each step does only what is missing, so it may be stopped and started at any time. What fails is told and does not
    keep the rest from being done; the exit code is then 1.
    """
    if once and every is not None:
        raise click.UsageError("--once ends after one run and --every never does; give one of them")
    workspace = replace(here(), engine=options.engine_at(on or ""))
    with _metered(workspace, metrics) as meters:
        if every is None:
            ctx.exit(1 if _run(workspace, meters, fresh=fresh) else 0)
        _keep_running(workspace, meters, every, fresh=fresh)


@contextmanager
def _metered(workspace: "Workspace", listener: "Listener | None") -> "Iterator[RunMeters | None]":
    """The numbers of the runs, on a page where one is wanted."""
    if listener is None:
        yield None
        return
    from gamewarden.core.metrics_page import metrics_page
    from gamewarden.workspace.metrics import RunMeters

    meters = RunMeters(workspace)
    with metrics_page(meters.meters, listener) as address:
        say(f"metrics are at {address}")
        yield meters


def _run(workspace: "Workspace", meters: "RunMeters | None", *, fresh: bool = False) -> int:
    from gamewarden.notices import now
    from gamewarden.workspace.running import Run

    if meters is None:
        return Run(workspace, now(), _tell, progress, fresh=fresh).run()

    def tell_both(step: "Step") -> None:
        meters.tell(step)
        _tell(step)

    with meters.run() as failures:
        failures.append(Run(workspace, now(), tell_both, progress, fresh=fresh).run())
    return sum(failures)


def _tell(step: "Step") -> None:
    line = f"{step.step:<8} {step.what:<12} {step.says}"
    if step.failed:
        complain(f"gamewarden: {step.step} {step.what}: {step.says}".replace(" : ", ": "))
    else:
        tell(line if step.begins else f"{line}  ({step.seconds:.1f} s)")


def _keep_running(workspace: "Workspace", meters: "RunMeters | None", every: int, *, fresh: bool) -> None:
    """Run, wait, and again, until somebody asks to stop; then the step in hand is finished first."""
    import signal
    from threading import Event

    from gamewarden.errors import GamewardenError

    asked = Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: asked.set())
    while not asked.is_set():
        try:
            _run(workspace, meters, fresh=fresh)
        except GamewardenError as error:
            complain(f"gamewarden: {error}; trying again later")
        fresh = False
        asked.wait(every / _SECOND)
    say("stopped")


@click.command
@click.option("--json", "as_json", is_flag=True, help="Print it as JSON.")
def status(*, as_json: bool) -> None:
    """Say how the workspace stands, and what to do next.

    For each source its last event, how far behind it is, and what was wrong in it; for each detector its model, and
    whether it is blind here; the days that were judged, and those that are missing; what was decided and what waits
    for a person; what is kept how long.
    """
    from gamewarden.notices import now
    from gamewarden.workspace.status import status as look

    workspace = here()
    found = look(workspace, now())
    if as_json:
        from gamewarden.tables import json_text

        parts = {
            name: json.loads(json_text(_seconds(getattr(found, name)))) for name in ("sources", "detectors", "days")
        }
        response = None if found.response is None else asdict(found.response)
        told = {"response": response, "retention": list(found.retention), "next": list(found.next_steps)}
        hand_over(json.dumps({**parts, **told}, ensure_ascii=False, indent=1) + "\n")
        return
    click.get_current_context().meta[TIME_ZONE] = workspace.time_zone
    lay_out(_readable(found.sources), "Sources")
    lay_out(_readable(found.detectors), "Detectors")
    lay_out(_readable(found.days.tail(14)), "Days")
    tell("", *(() if found.response is None else found.response.lines()))
    tell(f"{'; '.join(found.retention)}.".capitalize())
    tell("", *(f"Next: {line}" for line in found.next_steps or ("nothing is left to do",)))


@click.command
@click.argument("actors", nargs=-1, required=True, metavar="ACTOR…")
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.option("--dry-run", is_flag=True, help="Say what there is of them, and change nothing.")
def forget(actors: tuple[str, ...], *, yes: bool, dry_run: bool) -> None:
    """Remove all personal data of players, for good.

    Verdicts stay as numbers under a name that nobody can turn back, in sealed days that say so. No file brings them
    back. Labels, profiles and the files of sources are yours: it is said which of them name a player, and they are not
    touched.
    """
    from gamewarden.workspace.forgetting import held, is_known

    workspace = here()
    found = {actor: held(workspace, [actor]) for actor in dict.fromkeys(actors)}
    for actor, one in found.items():
        tell(f"{visible(actor)}:", *(f"  {visible(line)}" for line in one.sentences()))
    unknown = [actor for actor, one in found.items() if not one.rows and not is_known(workspace, actor)]
    if unknown:
        raise ReadError(f"{workspace.root}: nothing rests of {visible(unknown[0])!r}; look how it is written")
    if dry_run:
        return
    if not yes:
        click.confirm("Forget them for good?", abort=True, err=True)
    _forget(workspace, tuple(found))
    tell(f"{'it is' if len(found) == 1 else 'they are'} forgotten; the next run measures anew the days they played")


def _forget(workspace: "Workspace", actors: tuple[str, ...]) -> None:
    from gamewarden.notices import now
    from gamewarden.workspace.forgetting import begin, finish

    with workspace.running():
        begin(workspace, actors, now())
        finish(workspace, now())


def _seconds(frame: "pl.DataFrame") -> "pl.DataFrame":
    """Lengths of time as seconds, for machines."""
    import polars as pl

    return frame.with_columns(pl.selectors.duration().dt.total_seconds())


def _readable(frame: "pl.DataFrame") -> "pl.DataFrame":
    """Lengths of time in words, for people; a column that says nothing is left out."""
    import polars as pl

    lengths = [name for name, dtype in frame.schema.items() if isinstance(dtype, pl.Duration)]
    told = frame.with_columns(
        pl.col(name).map_elements(_words, return_dtype=pl.String, skip_nulls=True).alias(name) for name in lengths
    )
    silent = [name for name in told.columns if name == "says" and not told["says"].str.len_chars().sum()]
    return told.drop(silent)


def _words(length: timedelta) -> str:
    if length.days:
        return f"{length.days} days" if length.days > 1 else "1 day"
    minutes = int(length.total_seconds() // 60)
    return f"{minutes // 60} h {minutes % 60} min" if minutes >= 60 else f"{minutes} min"  # noqa: PLR2004  an hour
