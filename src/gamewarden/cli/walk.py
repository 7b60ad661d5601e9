"""`gamewarden demo`: the whole path on a synthetic game, told step by step."""

import shutil
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from gamewarden.cli.models import RANKING
from gamewarden.cli.show import head, lay_out, progress, tell, width_here
from gamewarden.config import Config
from gamewarden.presentation.story import explanation_text

if TYPE_CHECKING:
    import polars as pl

    from gamewarden.pipeline import RankOptions

_GAME = "lineage"
_DAYS = 2
_KNOWN = 3  # every third account has been judged by people; the detectors learn from these
_LISTED = 10


def walk(place: Path, accounts: int, seed: int) -> None:
    """Play a game, read its log, learn from a third of its accounts, and look for bots among the others."""
    import polars as pl

    from gamewarden import pipeline, readers
    from gamewarden.features.self_similarity.recipe import SelfSimilarity
    from gamewarden.lab.world import World, write
    from gamewarden.tables import write_table
    from gamewarden.verdicts.filters import parse_filter
    from gamewarden.verdicts.prevalence import Prevalence

    world = World(_GAME, accounts, days=_DAYS, seed=seed)
    log, lake, models = place / "world" / "events.parquet", place / "lake", place / "models"

    _step(1, f"A synthetic game: {accounts:,} accounts play {_GAME} for {_DAYS} days (seed {seed}).")
    with progress("playing", accounts) as done:
        write(world, place / "world", done)
    events = readers.open(log).events().rows or 0
    _tell(f"{events:,} events in {log}")

    _step(2, "Read the log into a lake.")
    with progress("reading", events) as done:
        _tell(f"{pipeline.read(readers.open(log), lake, done).frame['new'][0]:,} new rows in {lake}")

    _step(3, f"Learn from one account in {_KNOWN}, as if people had judged only those.")
    labels = world.labels()
    known = labels.filter(pl.int_range(pl.len()) % _KNOWN == 0)
    write_table(known, place / "labels.csv")
    for name in ("self-similarity", "account-day"):
        recipe = pipeline.detector_recipe(name, SelfSimilarity(), {})
        fitted = pipeline.fit(recipe, readers.open(lake), place / "labels.csv", models)
        card = fitted.model.card
        _tell(f"{card.id}: AUC {card.validation['auc']:.3f} on held-out accounts (synthetic)")

    _step(4, "Rank all accounts; those at the top are for a person to look at.")
    share = Prevalence(world.bots, "as the synthetic game has them; of your own say it with [population] bots")
    wishes = pipeline.RankOptions.of(
        Config(), probability=0.0, top=0, profiles=place / "world" / "profiles.csv", prevalence=share
    )
    ranked = pipeline.rank(readers.open(lake), models, wishes).frame
    write_table(ranked, place / "ranked.csv")
    families = pl.DataFrame(list(world.truth().items()), schema=["actor", "truth"], orient="row")
    unseen = ranked.join(known, on="actor", how="anti").join(families, on="actor", maintain_order="left")
    first_ones = unseen.select("actor", "truth").head(_LISTED)
    these = parse_filter(f"actor in {','.join(first_ones['actor'])}")
    _list_first(first_ones, lake, models, replace(wishes, filters=(these,)))
    _tell(_hits(unseen.head(50), labels))

    _step(5, "Explain the first of them, and a person from the middle of the list.")
    first = unseen["actor"][0]
    people = unseen.join(labels.filter(~pl.col("bot")), on="actor", maintain_order="left")["actor"]
    person = people[len(people) // 2]
    for actor, name in ((first, "suspect"), (person, "person")):
        story = pipeline.explain(actor, readers.open(lake), models, None, prevalence=share)
        pipeline.draw_story(story, place / f"{name}.png")
        tell("", *explanation_text(story, width_here()).split("\n"), "")

    _step(6, "Judge every day, decide (in rehearsal), and keep what was found.")
    _judge(place, world.bots)

    _step(7, "What is where.")
    _say_where(place, first)


def _say_where(place: Path, first: str) -> None:
    """The files there are, and what to ask of them."""
    for path in sorted(place.iterdir()):
        _tell(str(path))
    activate = Path(sys.prefix) / "bin" / "activate"
    if shutil.which("gamewarden") is None and activate.exists():
        _tell(f"First: . {activate}   # then this terminal knows gamewarden")
    _tell(f"Next: cd {place} && gamewarden rank")
    _tell(f"      gamewarden explain {first}")
    _tell("      gamewarden serve   # the same in a browser: accounts, evidence, review, decisions")


def _judge(place: Path, bots: float) -> None:
    """Make the place a workspace, and let it run once."""
    from gamewarden.notices import now
    from gamewarden.workspace.place import Workspace
    from gamewarden.workspace.running import Run
    from gamewarden.workspace.setting_up import set_up_around

    set_up_around(place, "world/profiles.csv", bots)
    Run(Workspace.at(place), now(), lambda step: _tell(f"{step.step:<8} {step.says}"), progress).run()


def _list_first(first: "pl.DataFrame", lake: Path, models: Path, wishes: "RankOptions") -> None:
    """The first accounts of the list, with what each has that the others do not."""
    from gamewarden import pipeline, readers

    listed = pipeline.rank(readers.open(lake), models, wishes)
    for remark in listed.notes:
        _tell(remark)
    shown = pipeline.ranking_in_short(listed).join(first, on="actor", maintain_order="left")
    layout = replace(RANKING, first=("truth", *RANKING.first))
    lay_out(_listed(shown), "Accounts nobody had judged, and what the game knows they are", layout=layout)


def _step(number: int, title: str) -> None:
    tell("")
    head(f"{number}. {title}")


def _tell(line: str) -> None:
    tell(f"   {line}")


def _listed(ranked: "pl.DataFrame") -> "pl.DataFrame":
    return ranked.select("actor", "probability", "fpr", "point", "self_sim", "level", "zone", "reasons", "truth")


def _hits(top: "pl.DataFrame", labels: "pl.DataFrame") -> str:
    bots = top.join(labels.filter("bot"), on="actor", how="semi").height
    return f"Of the first {top.height} unjudged accounts {bots} are bots (synthetic truth)."
