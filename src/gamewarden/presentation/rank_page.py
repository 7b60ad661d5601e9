"""The list of accounts to look at as a page: one card per account, beside people who play as it does."""

import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any
from zoneinfo import ZoneInfo

import polars as pl

from gamewarden.contracts import Card
from gamewarden.core.text import counted
from gamewarden.presentation.cells import UNKNOWN, cell_text
from gamewarden.presentation.pages import fragment, page
from gamewarden.presentation.story import probability_text, rarity

_NUMBERS = {
    "self_sim": "self-similarity",
    "play_minutes": "minutes played",
    "level": "level",
    "zone": "zone",
    "periods": "periods judged",
    "periods_flagged": "of them flagged",
}
_LEFT, _RIGHT, _TOP, _BOTTOM = 52, 712, 8, 128  # of the picture's frame, in its own units
_ROOM = 1.08  # above the highest window
_NEXT = 1.5  # windows: what is further away does not follow
_DOT = "h0.8"  # so that a window alone can be seen


@dataclass(frozen=True)
class Band:
    """The middle 80 % of the windows of some accounts."""

    low: float
    middle: float
    high: float
    accounts: int


@dataclass(frozen=True)
class Series:
    """The windows of one account in one period, and who else is drawn."""

    since: datetime
    until: datetime
    windows: pl.DataFrame  # since, cosine
    unit: timedelta  # of one window
    window: str  # what it is called: minute
    time_zone: str
    style: str | None
    band: Band | None


@dataclass(frozen=True)
class AccountCard:
    """All that stands on one card."""

    row: Mapping[str, Any]  # of the list
    speaks_for: tuple[str, ...]
    speaks_against: tuple[str, ...]
    series: Series | None


@dataclass(frozen=True)
class RankPage:
    """A list, and where it comes from."""

    cards: tuple[AccountCard, ...]
    model: Card
    source: str
    explain: tuple[str, ...]  # the options with which `explain` says the same of one account; none: it has no place
    notes: tuple[str, ...]
    hidden: int = 0  # accounts of the list that have no card


def rank_page(shown: RankPage) -> str:
    """The whole page; everything that comes from data is escaped."""
    return page("rank.html", **_values(shown))


def rank_fragment(shown: RankPage) -> str:
    """The same as a part of a notebook, the cards folded."""
    return fragment("rank.html", **_values(shown))


def _values(shown: RankPage) -> dict[str, Any]:
    series = [card.series for card in shown.cards if card.series is not None]
    top = _ROOM * max(_heights(series), default=1.0)
    where = f" in {shown.source}" if shown.explain else ""
    return {
        "kind": "accounts to look at",
        "title": f"{counted(len(shown.cards), 'account')} to look at{where}",
        "model": shown.model.id,
        "notes": shown.notes,
        "hidden": shown.hidden,
        "cards": [_card(shown, number, card, top) for number, card in enumerate(shown.cards, 1)],
    }


def one_in(fpr: float | None) -> str:
    """A false-positive rate as people read it."""
    if fpr is None:
        return UNKNOWN
    share = round(1 / fpr)
    return f"1 in {share:,} people" if share > 1 else "no conclusion"


def _card(shown: RankPage, number: int, card: AccountCard, top: float) -> dict[str, Any]:
    row, style = card.row, None if card.series is None else card.series.style
    numbers = [(words, cell_text(name, row[name])) for name, words in _NUMBERS.items() if row.get(name) is not None]
    command = ("gamewarden", "explain", str(row["actor"]), shown.source, *shown.explain)
    return {
        "number": number,
        "actor": row["actor"],
        "point": row.get("point"),
        "probability": UNKNOWN if row["probability"] is None else probability_text(row["probability"]),
        "one_in": one_in(row["fpr"]),
        "rarity": "" if row["fpr"] is None else rarity(shown.model, row["fpr"], style),
        "far": row.get("far"),
        "numbers": numbers,
        "speaks_for": card.speaks_for,
        "speaks_against": card.speaks_against,
        "command": shlex.join(command) if shown.explain else "",
        "picture": None if card.series is None else picture_of(card.series, top),
    }


def picture_alone(series: Series) -> dict[str, Any]:
    """What a template needs to draw the windows of one account beside nobody's."""
    drawn = series.windows["cosine"]
    windows = {"filled": int((drawn > 0).sum()), "empty": int((drawn == 0).sum())}
    return picture_of(series, _ROOM * (max(_heights([series]), default=0.0) or 1.0)) | {
        "caption": f"{_what(series, **windows)} A flat line is a routine, ups and downs are not."
    }


def picture_of(series: Series, top: float) -> dict[str, Any]:
    """What a template needs to draw the windows of an account, up to the height `top`."""
    drawn = series.windows.sort("since")
    filled = drawn.filter(pl.col("cosine") > 0)
    span = (series.until - series.since).total_seconds()
    places = [(_across(at, series.since, span), height) for at, height in filled.select("since", "cosine").iter_rows()]
    empty = [_across(at, series.since, span) for at in drawn.filter(pl.col("cosine") == 0)["since"]]
    step = series.unit.total_seconds() / span * (_RIGHT - _LEFT)
    band = series.band
    return {
        "line": " ".join(_line(places, step, top)),
        "empty": " ".join(f"M{place:.1f} {_BOTTOM}v-6" for place in empty),
        "ticks": _ticks(series),
        "band": None
        if band is None
        else {"high": _up(band.high, top), "low": _up(band.low, top), "middle": _up(band.middle, top)},
        "caption": caption(series, filled.height, len(empty)),
        "frame": {"left": _LEFT, "right": _RIGHT, "top": _TOP, "bottom": _BOTTOM},
        "highest": f"{top / _ROOM:.3f}",
        "highest_at": f"{_up(top / _ROOM, top):.1f}",
    }


def caption(series: Series, filled: int, empty: int) -> str:
    """What a picture shows, and who is in its band."""
    line = _what(series, filled, empty)
    style = f" of the same style of play ({series.style})" if series.style else ""
    band = series.band
    if band is None:
        return f"{line} No band: too few accounts{style} in this source are called human by the model."
    return (
        f"{line} Band: 80 % of the {series.window}s of {band.accounts} accounts in this source{style} that the model "
        "calls human, each in its own highest period; their median is dashed. Nobody has said that they are people."
    )


def _what(series: Series, filled: int, empty: int) -> str:
    day = series.since.astimezone(ZoneInfo(series.time_zone)).strftime("%Y-%m-%d")
    quiet = f", {empty:,} empty ones as ticks below" if empty else ""
    return f"{day}, the period that scores highest: {filled:,} {series.window}s, how varied each was (cosine){quiet}."


def _line(places: Sequence[tuple[float, float]], step: float, top: float) -> Iterator[str]:
    """A line that is interrupted where windows do not follow each other."""
    if places:
        yield f"M{places[0][0]:.1f} {_up(places[0][1], top):.1f}{_DOT}"
    for (before, _), (place, height) in pairwise(places):
        yield f"{'L' if place - before <= 1.5 * step else 'M'}{place:.1f} {_up(height, top):.1f}"
        if place - before > 1.5 * step:
            yield "h0.8"


def _ticks(series: Series) -> list[dict[str, Any]]:
    """The hours below a picture, in the zone by which days begin."""
    quarters = (series.since + part * (series.until - series.since) / 4 for part in range(5))
    span = (series.until - series.since).total_seconds()
    told = [(at, at.astimezone(ZoneInfo(series.time_zone)).strftime("%H:%M")) for at in quarters]
    return [{"at": _across(at, series.since, span), "says": says} for at, says in told]


def _heights(drawn: Sequence[Series]) -> Iterator[float]:
    for series in drawn:
        yield from series.windows["cosine"]
        yield 0.0 if series.band is None else series.band.high


def _across(at: datetime, since: datetime, span: float) -> float:
    return _LEFT + (at - since).total_seconds() / span * (_RIGHT - _LEFT)


def _up(height: float, top: float) -> float:
    return round(_BOTTOM - height / (top or 1.0) * (_BOTTOM - _TOP), 1)
