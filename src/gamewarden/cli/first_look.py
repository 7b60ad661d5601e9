"""What `rank`, `explain` and `fit oddness` do before anybody has said who is a bot."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from gamewarden.cli import options
from gamewarden.cli.settings import current
from gamewarden.cli.show import Presentation, hand_over, progress, say, tell, width_here
from gamewarden.errors import ConfigError
from gamewarden.presentation.listing import Layout

if TYPE_CHECKING:
    from gamewarden.contracts import EventStream, Progress, Source
    from gamewarden.pipeline.first_look import FirstLook, LookOptions, OddList
    from gamewarden.pipeline.listing import RankOptions
    from gamewarden.readers.options import SourceOptions
    from gamewarden.workspace.place import Workspace

NAME = "oddness"
RANKING = Layout(("actor", "as_odd", "play_hours", "days_played", "self_sim", "level", "zone"), ("reasons",))
_SHORT = ("actor", "as_odd", "play_hours", "days_played", "self_sim", "level", "zone", "reasons")
_ALWAYS = ("actor", "as_odd", "reasons")  # also where nobody is on the list


def looking(function: Callable[..., None]) -> Callable[..., None]:
    """Adds --actor and --without; the command gets `look`: how somebody looks before there are models."""

    @click.option(
        "--actor", "names", metavar="COLUMN", help="Without models, of an operator's own table: names the row."
    )
    @click.option("--without", metavar="FAMILY,…", help="Without models: signs to do without, such as copies,flows.")
    @wraps(function)
    def command(*, names: str | None, without: str | None, **given: Any) -> None:  # noqa: ANN401  the command's own
        from gamewarden.pipeline.first_look import LookOptions

        families = tuple(name.strip() for name in (without or "").split(",") if name.strip())
        function(look=LookOptions(names, families), **given)

    return command


def has_models(models: Path) -> bool:
    """Whether a directory holds a model that learned from labels; one that is not there is said to be missing later."""
    from gamewarden.pipeline.first_look import KEPT

    return any(models.glob("*@*.json")) or not ((models / KEPT).is_dir() or _is_of_workspace(models))


def _is_of_workspace(models: Path) -> bool:
    from gamewarden.cli.home import workspace

    home = workspace()
    return home is not None and home.models == models


def refuse_without_models(**given: Any) -> None:  # noqa: ANN401  values of options
    """Stop over what only a model can answer.

    Raises:
        ConfigError: it was asked for.
    """
    for name, option in (("probability", "--probability"), ("page", "--html"), ("detector", "--detector")):
        if given.get(name) is not None:
            raise ConfigError(
                f"{option} is for models that learned from labels, and there is none; name it with --models"
            )


@dataclass(frozen=True)
class Looker:
    """Somebody who looks at a source, or at the workspace, before there are models."""

    look: "LookOptions"
    home: "Workspace | None"  # whose results answer; None where a source was named
    reading: "SourceOptions"
    fresh: bool = False

    def at(self, source: "Source", asked: "RankOptions", done: "Progress") -> "FirstLook":
        """Everybody in it, and how odd each looks."""
        from gamewarden.pipeline import first_look

        run = options.run_options(self.reading)
        first_look.refuse_bad_conditions(asked, run)
        if self.home is not None:
            answers = options.answers(self.home, self.reading, fresh=self.fresh, progress=done)
            return answers.first_look(asked, self.look)
        return first_look.first_look(source, asked, self.look, run, done)


def rank(place: options.Where, asked: "RankOptions", looker: Looker, present: Presentation) -> None:
    """List who looks odd."""
    from gamewarden.pipeline.first_look import list_odd

    source = options.opened(place, looker.reading)
    with progress("looking at everybody") as done:
        found = looker.at(source, asked, done)
    told = list_odd(found, asked, options.run_options(looker.reading))
    say(*told.notes)
    present.table(told.frame if present.for_machines else _in_short(told), layout=RANKING)


def _in_short(told: "OddList") -> Any:  # noqa: ANN401  a table of a library that is not loaded yet
    from gamewarden.presentation.ranking import own_reasons

    known = (*_SHORT[:-1], *told.asked, "reasons")
    frame = told.frame
    there = [name for name in known if name in frame.columns and (name in _ALWAYS or frame[name].count())]
    import polars as pl

    one_in = pl.format("1 in {}", (1 / pl.col("as_odd")).round().cast(pl.Int64))
    return own_reasons(frame.select(there).with_columns(as_odd=one_in), told.common)


def explain(
    actor: str, places: Sequence[options.Where], looker: Looker, present: Presentation, plot: Path | None
) -> None:
    """Say what looks odd in an account."""
    from gamewarden.pipeline import RankOptions
    from gamewarden.pipeline.first_look import draw_odd_story, odd_stories
    from gamewarden.presentation.odd_story import odd_story_text

    source = options.opened(places[0] if len(places) == 1 else places, looker.reading)
    with progress(f"looking at {actor} among everybody") as done:
        found = looker.at(source, RankOptions.of(current()), done)
        story = odd_stories(found, [actor], events_of(source, found))[actor]
    if plot is not None:
        draw_odd_story(story, plot)
        say(f"Its windows are drawn in {plot}")
    say(*found.notes)
    if present.for_machines:
        present.table(story.evidence)
    else:
        tell(*odd_story_text(story, width_here()).split("\n"))


def events_of(source: "Source", look: "FirstLook") -> "EventStream | None":
    """The events of a source, where that is what was looked at."""
    from gamewarden import features

    return source.events() if features.load(look.model.feature.name).input == "events" else None


@click.command(
    NAME,
    help="How odd an account looks among all players, before anybody has said who is a bot; it needs no labels.\n\n"
    "Keeps the population in --to, so that later accounts are compared with the same players: `rank` and `explain` "
    "find it there by --models as long as no model learned from labels, and in a workspace `review` does. It never "
    "judges anybody.",
)
@options.source
@options.kept_in
@looking
@options.reading
@click.option("--json", "as_json", is_flag=True, help="Print what it is as JSON.")
def fit_oddness(
    *, source: options.Where, to: Path, look: "LookOptions", reading: "SourceOptions", as_json: bool
) -> None:
    """Keep a population."""
    import json

    from gamewarden.pipeline import RankOptions
    from gamewarden.pipeline.first_look import first_look, keep_population
    from gamewarden.presentation.odd_story import population_text

    asked, run = RankOptions.of(current()), options.run_options(reading)
    with progress("looking at everybody") as done:
        found = first_look(options.opened(source, reading), asked, replace(look, models=None), run, done)
    path = keep_population(found.model, to)
    say(*found.notes)
    if as_json:
        hand_over(json.dumps(found.model.card(), ensure_ascii=False) + "\n")
    else:
        tell(*population_text(found.model).split("\n"))
    say(f"The population is in {path}")
