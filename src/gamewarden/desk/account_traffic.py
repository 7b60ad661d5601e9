"""The packets of an account's client on a day: how each window of them was, beside people's."""

from dataclasses import dataclass
from datetime import datetime

import polars as pl

from gamewarden.contracts import Feature
from gamewarden.desk.account import chosen_day
from gamewarden.desk.desk import Desk
from gamewarden.desk.judged_days import day_of, span_of
from gamewarden.desk.peers import NOBODY, Peers, peers_of
from gamewarden.pipeline.measuring import feature_of
from gamewarden.store.verdict_days import DaySeal
from gamewarden.workspace.rest import recipe_of

_NUMBERS = ("gaps_over_1", "gaps_over_2", "sizes_over_1", "sizes_over_2")
_VOTES = ("autocorrelation", "interarrival", "lengths")


@dataclass(frozen=True)
class PacketWindow:
    """One window of packets that a client sent."""

    since: datetime
    until: datetime
    packets: int
    numbers: dict[str, int | None]  # how many gaps and sizes are above the borders
    votes: dict[str, bool | None] | None  # what each test says: bot, or not; None: hidden
    bot: bool | None  # what they say together


@dataclass(frozen=True)
class Traffic:
    """All windows of a day."""

    actor: str
    day: str
    windows: tuple[PacketWindow, ...]
    bot_share: float | None  # of the windows that could be judged
    peers: Peers
    peers_share: float | None  # the median of theirs
    peers_numbers: dict[str, float | None]  # the median of each number
    missing: str = ""  # why there is nothing: model (of packets), captures, account
    blind: bool = False


def traffic(desk: Desk, actor: str, day: str | None = None, *, blind: bool = False) -> Traffic:
    """The packet windows of an account's day; `blind` leaves out what the tests say of them.

    Raises:
        NotThereError: it was not judged on that day.
        ReadError: what rests of a capture is missing or damaged.
    """
    seal = chosen_day(desk, actor, day)
    feature = _packet_feature(desk)
    if feature is None:
        return Traffic(
            actor=actor,
            day=day_of(seal),
            windows=(),
            bot_share=None,
            peers=NOBODY,
            peers_share=None,
            peers_numbers={},
            missing="model",
            blind=blind,
        )
    mine = _rows(desk, feature, seal, [actor])
    if mine is None or not mine.height:
        missing = "captures" if mine is None else "account"
        return Traffic(
            actor=actor,
            day=day_of(seal),
            windows=(),
            bot_share=None,
            peers=NOBODY,
            peers_share=None,
            peers_numbers={},
            missing=missing,
            blind=blind,
        )
    peers = peers_of(desk, actor, seal)
    theirs = _rows(desk, feature, seal, list(peers.actors)) if peers.actors else None
    shares = None if theirs is None or blind else _shares(theirs)
    windows = tuple(_window(row, blind=blind) for row in mine.iter_rows(named=True))
    own = None if blind else _shares(mine)
    return Traffic(
        actor=actor,
        day=day_of(seal),
        windows=windows,
        bot_share=None if own is None or not len(own) else float(own[0]),
        peers=peers,
        peers_share=None if shares is None or not len(shares) else _median(shares),
        peers_numbers={}
        if theirs is None
        else {name: _median(theirs[name]) for name in _NUMBERS if name in theirs.columns},
        missing="",
        blind=blind,
    )


def _median(values: pl.Series) -> float | None:
    found = pl.select(values.median()).item()
    return None if found is None else float(found)


def _packet_feature(desk: Desk) -> Feature | None:
    features = (feature_of(model.feature) for model in desk.workspace.models_in_force())
    return next((one for one in features if one.input == "packets"), None)


def _rows(desk: Desk, feature: Feature, seal: DaySeal, actors: list[str]) -> pl.DataFrame | None:
    """TRAFFIC at rest of some actors on a day; None where no capture tells of the day."""
    parts, (since, until) = desk.workspace.parts(desk.now()), span_of(seal)
    touching = [one for one in parts.partitions(feature) if one.since < seal.until and one.until > seal.since]
    if not touching:
        return None
    rows = parts.rest.features(recipe_of(feature)).table(touching, actors=actors)
    return rows.filter(pl.col("until") > since, pl.col("until") <= until).sort("since", "until")


def _shares(rows: pl.DataFrame) -> pl.Series:
    """Of each actor the share of its windows that look like a bot's, among those that could be judged."""
    judged = rows.drop_nulls("bot") if "bot" in rows.columns else rows.clear()
    return judged.group_by("actor").agg(pl.col("bot").mean())["bot"] if judged.height else pl.Series(dtype=pl.Float64)


def _window(row: dict[str, object], *, blind: bool) -> PacketWindow:
    since, until = row["since"], row["until"]
    assert isinstance(since, datetime)  # noqa: S101  as TRAFFIC has it
    assert isinstance(until, datetime)  # noqa: S101  as TRAFFIC has it
    numbers = {name: _count(row[name]) for name in _NUMBERS if name in row}
    votes = None if blind else {name: _said(row[name]) for name in _VOTES if name in row}
    return PacketWindow(since, until, int(str(row["events"])), numbers, votes, None if blind else _said(row.get("bot")))


def _count(value: object) -> int | None:
    return None if value is None else int(str(value))


def _said(value: object) -> bool | None:
    return None if value is None else bool(value)
