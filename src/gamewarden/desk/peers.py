"""Whom an account is shown beside: people who play as it does, on the same day.

Those whom people have called human come first; where nobody was called so, accounts that reach no point stand in for
them, and it is said that nobody has looked at those.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import polars as pl

from gamewarden.contracts import Model
from gamewarden.desk.desk import Desk
from gamewarden.desk.judged_days import everybody_on, look, span_of
from gamewarden.desk.known_people import known_as
from gamewarden.features.self_similarity.recipe import SelfSimilarity
from gamewarden.pipeline.measuring import feature_of
from gamewarden.pipeline.models import days_of
from gamewarden.store.verdict_days import DaySeal
from gamewarden.verdicts.points import ACT, NEITHER, WATCH
from gamewarden.workspace.rest import Rest, recipe_of

MOST = 20  # that an account is shown beside
FEWEST = 5  # fewer are no comparison
LEVELS = 20  # levels of one range: accounts of a range are shown beside the same people
LABELLED, UNSUSPECTED = "labelled", "unsuspected"


@dataclass(frozen=True)
class Peers:
    """Accounts that stand beside another one, and how they were found."""

    actors: tuple[str, ...]
    known_as: str  # labelled: people called them human; unsuspected: they reach no point; empty: there are none
    style: str | None  # of play, that they share with it; None: of any
    levels: tuple[int, int] | None  # that they were taken from; None: any
    of: int  # how many there were to take them from


@dataclass(frozen=True)
class UsualBot:
    """How alike the minutes of a usual bot are, and who says so."""

    self_sim: float
    known_as: str  # labelled: people called them bots; suspected: accounts that reach a point
    accounts: int


NOBODY = Peers((), "", None, None, 0)


def people_on(desk: Desk, seal: DaySeal) -> pl.DataFrame:
    """Everybody who was judged on a day: actor, point, bot (as people say), style, level, self_sim.

    Raises:
        ReadError: what rests of the day is missing or damaged.
    """
    key = look(desk), seal.bundle, tuple(model.card.id for model in desk.workspace.models_in_force())
    rows = desk.memory.of("people of a day", key, partial(_judged, desk, seal), most=3)
    return rows.join(known_as(desk), on="actor", how="left", maintain_order="left")


def days_recipe(desk: Desk) -> SelfSimilarity | None:
    """How the minutes of a day are looked at: as the model of events does that sees most; None without such a model."""
    model = _event_model(desk)
    return None if model is None else days_of(model, desk.workspace.models).recipe


def peers_of(desk: Desk, actor: str, seal: DaySeal) -> Peers:
    """The people to show beside an account."""
    everybody = people_on(desk, seal)
    mine, others = everybody.filter(pl.col("actor") == actor), everybody.filter(pl.col("actor") != actor)
    style, level = (mine["style"][0], mine["level"][0]) if mine.height else (None, None)
    for known, people in _people(others):
        for alike, levels in _conditions(style, level):
            found = people if alike is None else people.filter(pl.col("style") == alike)
            found = found if levels is None else found.filter(pl.col("level").is_between(*levels))
            if found.height >= FEWEST:
                return Peers(tuple(_spread(found["actor"].sort().to_list())), known, alike, levels, found.height)
    return NOBODY


def usual_bot(desk: Desk, seal: DaySeal) -> UsualBot | None:
    """The median self-similarity of known bots on a day; where none are known, of accounts that reach a point."""
    measured = people_on(desk, seal).drop_nulls("self_sim")
    for known, bots in (
        (LABELLED, measured.filter(pl.col("bot"))),
        ("suspected", measured.filter(pl.col("point").is_in([ACT, WATCH]))),
    ):
        if bots.height >= FEWEST:
            return UsualBot(_median(bots["self_sim"]), known, bots.height)
    return None


def _median(values: pl.Series) -> float:
    return float(pl.select(values.median()).item())


def _people(others: pl.DataFrame) -> Iterator[tuple[str, pl.DataFrame]]:
    yield LABELLED, others.filter(~pl.col("bot"))
    yield UNSUSPECTED, others.filter(pl.col("bot").is_null(), pl.col("point") == NEITHER)


def _conditions(style: str | None, level: int | None) -> Iterator[tuple[str | None, tuple[int, int] | None]]:
    """How alike peers must be, the strictest first."""
    if style is not None and level is not None:
        yield style, (level // LEVELS * LEVELS, level // LEVELS * LEVELS + LEVELS - 1)
    if style is not None:
        yield style, None
    yield None, None


def _spread(actors: Sequence[str]) -> Sequence[str]:
    """At most so many, taken evenly."""
    many = len(actors)
    return actors if many <= MOST else [actors[at * many // MOST] for at in range(MOST)]


def _event_model(desk: Desk) -> Model | None:
    models = desk.workspace.models_in_force()
    return next((one for one in models if feature_of(one.feature).input == "events"), None)


def _judged(desk: Desk, seal: DaySeal) -> pl.DataFrame:
    judged = everybody_on(desk, seal).unique("actor", keep="first", maintain_order=True)
    return judged.join(_measured(desk, seal), on="actor", how="left", maintain_order="left")


def _measured(desk: Desk, seal: DaySeal) -> pl.DataFrame:
    """The style, level and self-similarity of everybody on a day, as they rest."""
    model, recipe = _event_model(desk), days_recipe(desk)
    empty = pl.DataFrame(
        schema={"actor": pl.String, "style": pl.String, "level": pl.Int64, "self_sim": pl.Float64},
    )
    if model is None or recipe is None:
        return empty
    table, (since, until) = Rest(desk.workspace.results).features(recipe_of(recipe)), span_of(seal)
    wanted = [one for one in table.within(seal.since, seal.until) if one.since >= seal.since]
    rows = table.table(wanted)
    if not rows.height or "self_sim" not in rows.columns:
        return empty
    inside = rows.filter(pl.col("since") >= since, pl.col("until") <= until)
    styled = inside.with_columns(model.told_styles(inside).cast(pl.String).alias("style"))
    fullest = styled.sort("events", descending=True, nulls_last=True).unique("actor", keep="first", maintain_order=True)
    return fullest.select("actor", "style", pl.col("main_char_level").cast(pl.Int64).alias("level"), "self_sim")
