"""Commands around the synthetic game: `demo`, `world`, `reproduce`."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from gamewarden.cli import options
from gamewarden.cli.registry import PartGroup
from gamewarden.cli.show import Presentation, at_a_terminal, progress, say, tell
from gamewarden.core.extras import need
from gamewarden.core.text import counted

if TYPE_CHECKING:
    from gamewarden.lab.studies import Number
    from gamewarden.lab.world.traces import Traces

GAMES = ("lineage", "aion", "blade-and-soul")


@click.command
@click.option("--to", "place", type=options.FILE, default="demo", show_default=True, help="Where the files go.")
@click.option("--accounts", type=click.IntRange(min=60), default=600, show_default=True, help="How many accounts play.")
@click.option("--seed", type=int, default=1, show_default=True, help="One seed gives one world.")
@click.option(
    "--serve/--no-serve",
    "served",
    default=None,
    help="Open its desk in the end, or do not.  [default: at a terminal]",
)
def demo(*, place: Path, accounts: int, seed: int, served: bool | None) -> None:
    """Walk the whole path on a synthetic game.

    It is played, read, learned from, ranked and judged, and two of its accounts are explained, step by step. In the end
    its desk is open in a browser until Ctrl-C.
    """
    from gamewarden.cli.walk import walk

    need("demo", "sklearn", "matplotlib")
    walk(place, accounts, seed)
    if at_a_terminal() if served is None else served:
        _open_desk(place)


def _open_desk(place: Path) -> None:
    from gamewarden.cli.serving import NEEDED, open_desk
    from gamewarden.workspace.place import Workspace

    need("the desk", *NEEDED)
    tell("")
    open_desk(Workspace.at(place), port=None)


@click.command
@click.argument("directory", type=options.FILE, metavar="DIR")
@click.option("--accounts", type=click.IntRange(min=1), default=1000, show_default=True, help="How many accounts play.")
@click.option("--days", type=click.IntRange(min=1), default=1, show_default=True, help="For how many days.")
@click.option("--seed", type=click.IntRange(min=0), default=1, show_default=True, help="One seed gives one world.")
@click.option("--game", type=click.Choice(GAMES), default="lineage", show_default=True, help="Which game it resembles.")
@click.option(
    "--bots", type=click.FloatRange(0, 1), default=0.5, show_default=True, metavar="SHARE", help="Share of bots in it."
)
@click.option("--society", is_flag=True, help="With farms, guilds, households and raids, and who belongs to them.")
@click.option("--year", is_flag=True, help="A scripted year instead: one day of each of 52 weeks, a file each.")
@click.option("--ragnarok", is_flag=True, help="Instead: what clients of a synthetic Ragnarok send in an evening.")
@click.option("--sessions", type=click.IntRange(1), default=25, show_default=True, help="Of players; as many of bots.")
@click.option("--packets", is_flag=True, help="Write packets and a capture of its first players too.")
@click.option("--players", type=click.IntRange(min=1), default=40, show_default=True, help="How many of them.")
@click.option(
    "--minutes",
    type=click.IntRange(min=1),
    help="For how long, at most.  [default: 60; of every session with --traces: 12]",
)
@click.option(
    "--traces", is_flag=True, help="Instead: a log, packets and client messages of the same players and sessions."
)
def world(
    *,
    directory: Path,
    accounts: int,
    days: int,
    seed: int,
    game: str,
    bots: float,
    society: bool,
    year: bool,
    ragnarok: bool,
    sessions: int,
    packets: bool,
    players: int,
    minutes: int | None,
    traces: bool,
) -> None:
    """Write a synthetic game: events, labels, profiles and the truth.

    DIR gets events.parquet, labels.csv, profiles.csv and truth.json; --society adds circles.csv, and --packets
    packets.parquet, capture.pcap and accounts.csv. With --ragnarok: packetstreams in players, bots and unknown, a
    capture of the same play, labels and the truth. With --traces: events.parquet, packets.parquet and packetstreams in
    sessions, by the same names, with labels, profiles and the truth.
    """
    if society and (year or ragnarok or traces):
        raise click.UsageError("--society is of the plain world; leave --year, --ragnarok and --traces out")
    if traces:
        if year or ragnarok or packets:
            raise click.UsageError("--traces is a world of its own; leave --year, --ragnarok and --packets out")
        from gamewarden.lab.world.traces import MINUTES, Traces

        _write_traces(Traces(accounts, days, seed, minutes=minutes or MINUTES, game=game), directory)
        return
    if ragnarok:
        _write_ragnarok(directory, sessions, seed)
        return
    from gamewarden.lab.world import World, write, write_packets

    if year:
        _write_year(directory, accounts, seed, game)
        return
    made = World(game, accounts, days, seed, bots=bots, society=society)
    with progress("playing", accounts) as done:
        write(made, directory, done)
    say(f"A synthetic {game} of {accounts:,} accounts and {days} days is in {directory}")
    if packets:
        with progress("sending", players) as done:
            sending = write_packets(made, directory, players, minutes or 60, done)
        say(f"Packets of {sending:,} players are in packets.parquet, capture.pcap and accounts.csv there")


def _write_traces(made: "Traces", directory: Path) -> None:
    from gamewarden.lab.world.traces import write_traces

    with progress("playing", 2 * made.sessions.height) as done:
        played = write_traces(made, directory, done)
    say(
        f"{counted(played, 'session')} of {made.accounts:,} accounts are in {directory}: events.parquet, "
        "packets.parquet and sessions show the same play"
    )


def _write_year(directory: Path, accounts: int, seed: int, game: str) -> None:
    from gamewarden.lab.world import Year, write_year

    made = Year(accounts, seed, game)
    with progress("playing weeks", 52) as done:
        write_year(made, directory, done)
    told = ", ".join(f"{name} in week {week}" for name, week in made.script.happenings.items())
    say(f"A synthetic year of {game} with {accounts:,} accounts is in {directory}: {told}")


def _write_ragnarok(directory: Path, sessions: int, seed: int) -> None:
    from gamewarden.lab.world.ragnarok import Ragnarok, write_ragnarok

    made = Ragnarok(sessions, seed)
    with progress("playing", len(made.cast)) as done:
        played = write_ragnarok(made, directory, done)
    say(
        f"{counted(played, 'session')} of a synthetic Ragnarok in {directory}: players, bots, unknown, and capture.pcap"
    )


def _reproduce_command(name: str) -> click.Command:
    from gamewarden.lab import studies

    study = studies.load(name)

    @click.command(name, help=study.__doc__)
    @options.together(*map(_number_option, study.NUMBERS))
    @click.option("--plots", type=options.FILE, metavar="DIR", help="Draw the figures here.")
    @click.option("--report", type=options.FILE, metavar="FILE", help="Write all of it as one HTML page.")
    @options.table
    def command(*, plots: Path | None, report: Path | None, present: Presentation, **numbers: int) -> None:
        need(f"reproduce {name}", "sklearn", "scipy")
        for option, wanted in (("--plots", plots), ("--report", report)):
            if wanted is not None:
                need(f"reproduce {name} {option}", "matplotlib")
        with progress(f"reproducing {name}", study.steps(**numbers)) as done:
            result = study.run(**numbers, progress=done)
        if plots is not None:
            for path in study.draw(result, plots):
                say(f"drawn: {path}")
        say(*result.notes)
        present.table(result.frame, result.title)
        for title, frame in result.more:
            present.beside(frame, title)
        if report is not None:
            _write_report(study, result, report)
            say(f"The report is in {report}")

    return command


def _write_report(study: Any, result: Any, path: Path) -> None:  # noqa: ANN401  see studies.load
    from tempfile import TemporaryDirectory

    from gamewarden.core.files import write_text
    from gamewarden.presentation.report import html_page

    with TemporaryDirectory() as place:
        pictures = study.draw(result, Path(place))
        tables = [("Beside the paper", result.frame), *result.more]
        write_text(path, html_page(result.title, result.notes, tables, pictures))


def _number_option(number: "Number") -> options.Decorator:
    return click.option(
        f"--{number.name}",
        type=click.IntRange(min=number.least),
        default=number.default,
        show_default=True,
        help=number.says,
    )


def _study_names() -> tuple[str, ...]:
    from gamewarden.lab import studies

    return studies.NAMES


@click.group(cls=PartGroup, names=_study_names, make=_reproduce_command)
def reproduce() -> None:
    """Repeat a paper's experiment on the synthetic world."""
