"""How varied each minute of an account's day was, beside people who play as it does; and where it was suddenly even."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial

import polars as pl

from gamewarden.contracts import EventStream
from gamewarden.core.durations import SECOND
from gamewarden.desk.account import chosen_day
from gamewarden.desk.day_events import events_of, lake_between
from gamewarden.desk.day_events import look as lake_look
from gamewarden.desk.desk import Desk
from gamewarden.desk.judged_days import day_of, look, span_of
from gamewarden.desk.peers import NOBODY, Peers, UsualBot, days_recipe, peers_of, usual_bot
from gamewarden.errors import MeasureError
from gamewarden.features.pulses.recipe import SPAN, STEP
from gamewarden.features.pulses.stretches import Pulse, Stretches, pulses_like, stretches_of
from gamewarden.features.self_similarity.recipe import SelfSimilarity
from gamewarden.learning.phrases import window_word
from gamewarden.store.verdict_days import DaySeal


@dataclass(frozen=True)
class Band:
    """The middle 80 % of some numbers of other accounts."""

    low: float
    middle: float
    high: float
    numbers: int


@dataclass(frozen=True)
class Line:
    """Numbers over time."""

    at: tuple[datetime, ...]
    values: tuple[float, ...]


NOTHING = Line((), ())


@dataclass(frozen=True)
class Series:
    """The windows of one account on one day."""

    actor: str
    day: str
    since: datetime
    until: datetime
    unit: float = 0.0  # seconds of a window
    window: str = ""  # what it is called: minute
    windows: Line = NOTHING  # the cosine of each, empty ones as 0
    events: tuple[int, ...] = ()  # in each
    top_kinds: tuple[str | None, ...] = ()  # the commonest kind in each
    self_sim: float | None = None  # of the whole day
    span: int = SPAN  # windows of a span
    step: int = STEP
    spans: Line = NOTHING  # H of each span, at its middle
    peers: Peers = NOBODY
    band: Band | None = None  # of the windows of the peers
    span_band: Band | None = None  # of their spans
    usual_bot: UsualBot | None = None
    own: float | None = None  # H of its usual span outside pulses
    pulses: tuple[Pulse, ...] = ()
    missing: str = ""  # why there is nothing: no model of events, or no events
    blind: bool = False


def series(desk: Desk, actor: str, day: str | None = None, *, blind: bool = False) -> Series:
    """The windows of an account's day; `blind` leaves out what compares it with bots.

    Raises:
        NotThereError: it was not judged on that day.
        ReadError: a part of the lake is missing or damaged.
    """
    seal = chosen_day(desk, actor, day)
    recipe, (since, until) = days_recipe(desk), span_of(seal)
    windows = None if recipe is None else windows_of(desk, recipe, actor, since, until)
    if recipe is None or windows is None:
        missing = "model" if recipe is None else "events"
        return Series(actor, day_of(seal), since, until, missing=missing, blind=blind)
    told, peers = _stretches(desk, recipe, actor, since, until), peers_of(desk, actor, seal)
    band, span_band = _bands(desk, recipe, peers, seal)
    bot = None if blind else usual_bot(desk, seal)
    return Series(
        actor=actor,
        day=day_of(seal),
        since=since,
        until=until,
        unit=recipe.unit / SECOND,
        window=window_word(recipe.unit),
        windows=Line(tuple(windows["since"]), tuple(windows["cosine"])),
        events=tuple(windows["events"]),
        top_kinds=tuple(windows["top_kind"]),
        self_sim=_self_sim(windows, recipe),
        spans=_at_middles(told.spans),
        peers=peers,
        band=band,
        span_band=span_band,
        usual_bot=bot,
        own=None if blind else told.own_self_sim,
        pulses=() if blind else told.named,
        blind=blind,
    )


def _at_middles(told: pl.DataFrame) -> Line:
    """H of each span, at its middle."""
    middles = told.select(pl.col("since") + (pl.col("until") - pl.col("since")) / 2).to_series()
    return Line(tuple(middles), tuple(told["self_sim"]))


def windows_of(desk: Desk, recipe: SelfSimilarity, actor: str, since: datetime, until: datetime) -> pl.DataFrame | None:
    """The windows of an account in a time, as `explain` measures them; None where it has no event then."""
    events = events_of(desk, actor, since, until, recipe.entity)
    if not events.frame.height:
        return None
    found = recipe.windows(events.stream(), actor)
    return found.filter(pl.col("since") >= since, pl.col("since") < until)


def _stretches(desk: Desk, recipe: SelfSimilarity, actor: str, since: datetime, until: datetime) -> Stretches:
    """The hours of an account in a time, as `explain` shows them."""
    events = events_of(desk, actor, since, until, recipe.entity)
    return stretches_of(pulses_like(recipe.to_dict()), events.stream(), [actor])[actor]


def _self_sim(windows: pl.DataFrame, recipe: SelfSimilarity) -> float | None:
    """H of the whole day, as the recipe says it."""
    if windows.height < recipe.min_windows:
        return None
    deviation = pl.select(windows["cosine"].std(ddof=recipe.ddof)).item()
    return None if deviation is None else 1 - float(deviation) / 2


def _bands(desk: Desk, recipe: SelfSimilarity, peers: Peers, seal: DaySeal) -> tuple[Band | None, Band | None]:
    """The middle 80 % of the windows of others that are not empty, and of their spans."""
    if not peers.actors:
        return None, None
    key = look(desk), lake_look(desk), seal.bundle, peers.actors, repr(recipe)
    return desk.memory.of("bands", key, partial(_measured_bands, desk, recipe, peers, seal), most=64)


def _measured_bands(desk: Desk, recipe: SelfSimilarity, peers: Peers, seal: DaySeal) -> tuple[Band | None, Band | None]:
    events = _events_of_all(desk, recipe, peers.actors, *span_of(seal))
    if events is None:
        return None, None
    try:
        theirs = recipe.windows_of(events, peers.actors).values()
    except MeasureError:
        return None, None  # their events are gone meanwhile
    hours = stretches_of(pulses_like(recipe.to_dict()), events, peers.actors).values()
    cosines = [frame.filter(pl.col("events") > 0)["cosine"] for frame in theirs]
    return _band(cosines), _band([told.spans["self_sim"] for told in hours])


def _events_of_all(
    desk: Desk, recipe: SelfSimilarity, actors: Sequence[str], since: datetime, until: datetime
) -> EventStream | None:
    """The events of several accounts; None where the lake has none of that time any more."""
    events = lake_between(desk, since, until)
    if events is None:
        return None
    return events.of(actors) if recipe.entity == "actor" else events


def _band(parts: Sequence[pl.Series]) -> Band | None:
    numbers = pl.concat(parts) if parts else pl.Series(dtype=pl.Float64)
    if not len(numbers):
        return None
    low, middle, high = (float(pl.select(numbers.quantile(share)).item()) for share in (0.1, 0.5, 0.9))
    return Band(low, middle, high, len(numbers))
