"""Commands around the synthetic game: `demo`, `world`, `reproduce`."""

from pathlib import Path

import click

from gamewarden.cli import options
from gamewarden.cli.registry import PartGroup
from gamewarden.cli.show import Presentation, progress, say

GAMES = ("lineage", "aion", "blade-and-soul")


@click.command
@click.option("--to", "place", type=options.FILE, default="demo", show_default=True, help="Where the files go.")
@click.option("--accounts", type=click.IntRange(min=60), default=600, show_default=True, help="How many accounts play.")
@click.option("--seed", type=int, default=1, show_default=True, help="One seed gives one world.")
def demo(place: Path, accounts: int, seed: int) -> None:
    """Walk the whole path on a synthetic game."""
    from gamewarden.cli.walk import walk

    walk(place, accounts, seed)


@click.command
@click.argument("directory", type=options.FILE, metavar="DIR")
@click.option("--accounts", type=click.IntRange(min=1), default=1000, show_default=True, help="How many accounts play.")
@click.option("--days", type=click.IntRange(min=1), default=1, show_default=True, help="For how many days.")
@click.option("--seed", type=click.IntRange(min=0), default=1, show_default=True, help="One seed gives one world.")
@click.option("--game", type=click.Choice(GAMES), default="lineage", show_default=True, help="Which game it resembles.")
def world(directory: Path, accounts: int, days: int, seed: int, game: str) -> None:
    """Write a synthetic game: events, labels, profiles and the truth."""
    from gamewarden.world import World, write

    with progress("playing", accounts) as done:
        write(World(game, accounts, days, seed), directory, done)
    say(f"A synthetic {game} of {accounts:,} accounts and {days} days is in {directory}")


def _reproduce_command(name: str) -> click.Command:
    from gamewarden import studies

    study = studies.load(name)

    @click.command(name, help=study.__doc__)
    @click.option(
        "--accounts",
        type=click.IntRange(min=100),
        default=study.ACCOUNTS,
        show_default=True,
        help="Accounts a game and seed.",
    )
    @click.option("--seeds", type=click.IntRange(min=1), default=study.SEEDS, show_default=True, help="Worlds a game.")
    @click.option("--plots", type=options.FILE, metavar="DIR", help="Draw the figures here.")
    @options.table
    def command(*, accounts: int, seeds: int, plots: Path | None, present: Presentation) -> None:
        with progress(f"reproducing {name}", study.steps(seeds)) as done:
            result = study.run(accounts, seeds, done)
        if plots is not None:
            for path in study.draw(result, plots):
                say(f"drawn: {path}")
        say(*result.remarks)
        present.table(result.frame, result.title)

    return command


def _study_names() -> tuple[str, ...]:
    from gamewarden import studies

    return studies.NAMES


@click.group(cls=PartGroup, names=_study_names, make=_reproduce_command)
def reproduce() -> None:
    """Repeat a paper's experiment on the synthetic world."""
