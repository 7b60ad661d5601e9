"""What the charts of an account's page are drawn from: the views' numbers, times as the reader's clock shows them."""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Any
from zoneinfo import ZoneInfo

from gamewarden.desk.account_habits import Hours, Mix
from gamewarden.desk.account_movement import Movement
from gamewarden.desk.account_series import Band, Line, Series
from gamewarden.desk.account_timeline import Timeline
from gamewarden.desk.account_trade import Trade
from gamewarden.desk.account_traffic import Traffic
from gamewarden.web.account_names import account_url

_PLACES = 5  # digits of a number that is drawn


def shown_at(moment: datetime, zone: str) -> int:
    """What the reader's clock shows, in milliseconds as if it were UTC: charts know no time zones but the browser's."""
    local = moment.astimezone(ZoneInfo(zone))
    return round(local.replace(tzinfo=UTC).timestamp() * 1_000)


def series_data(view: Series, zone: str) -> dict[str, Any]:
    """The windows and spans of a day."""
    return {
        "windows": _points(view.windows, zone),
        "events": view.events,
        "kinds": view.top_kinds,
        "spans": _points(view.spans, zone),
        "band": _band(view.band),
        "spanBand": _band(view.span_band),
        "bot": None if view.usual_bot is None else view.usual_bot.self_sim,
        "own": view.own,
        "pulses": [[shown_at(one.since, zone), shown_at(one.until, zone)] for one in view.pulses],
        "from": shown_at(view.since, zone),
        "to": shown_at(view.until, zone),
    }


def hours_data(view: Hours) -> dict[str, Any]:
    """Events by hour and day, and the share of people there in each hour."""
    cells = [[hour, place, count] for place, one in enumerate(view.days) for hour, count in enumerate(one.hours)]
    return {"days": [one.day for one in view.days], "cells": cells, "people": _rounded(view.peers_by_hour)}


def mix_data(view: Mix) -> dict[str, Any]:
    """Shares of kinds, the largest last: charts begin at the bottom."""
    ordered = view.kinds[::-1]
    return {
        "kinds": [one.kind for one in ordered],
        "shares": _rounded(one.share for one in ordered),
        "people": [
            None if one.usual is None else _rounded((one.low or 0.0, one.usual, one.high or 0.0)) for one in ordered
        ],
    }


def traffic_data(view: Traffic, zone: str) -> dict[str, Any]:
    """Windows of packets: tests that say bot, or the numbers alone."""
    return {
        "at": [shown_at(one.since, zone) for one in view.windows],
        "votes": None if view.blind else [sum(map(bool, (one.votes or {}).values())) for one in view.windows],
        "bot": None if view.blind else [one.bot for one in view.windows],
        "numbers": {
            name: [one.numbers.get(name) for one in view.windows]
            for name in (view.windows[0].numbers if view.windows else ())
        },
        "people": view.peers_numbers,
    }


def movement_data(view: Movement, zone: str) -> dict[str, Any]:
    """The way, the squares to which it came, and where everybody was."""
    return {
        "way": [[_short(x), _short(y)] for x, y in zip(view.x, view.y, strict=True)],
        "ends": [shown_at(one, zone) for one in (view.at[0], view.at[-1])] if view.at else [],
        "squares": [[one.x, one.y, one.visits, one.events] for one in view.squares],
        "crowd": [[one.x, one.y, one.events] for one in view.crowd],
        "side": view.side,
    }


def trade_data(view: Trade) -> dict[str, Any]:
    """Nodes and edges for a graph."""
    numbers = {one.actor: place for place, one in enumerate(view.nodes)}
    return {
        "nodes": [
            {
                "id": f"n{place}",
                "label": one.actor,
                "depth": one.depth,
                "point": one.point,
                "to": account_url(one.actor),
            }
            for place, one in enumerate(view.nodes)
        ],
        "edges": [
            {"from": f"n{numbers[one.giver]}", "to": f"n{numbers[one.receiver]}", "n": one.n, "amount": one.amount}
            for one in view.edges
        ],
    }


def suspicion_data(view: Timeline, zone: str) -> dict[str, Any]:
    """How suspicion went, and where rungs begin."""
    return {
        "moments": [[shown_at(one.at, zone), _short(one.score), one.kind, _short(one.llr)] for one in view.suspicion],
        "rungs": [{"name": one.name, "enter": one.enter} for one in view.rungs],
    }


def _points(line: Line, zone: str) -> list[list[float]]:
    return [[shown_at(at, zone), _short(value)] for at, value in zip(line.at, line.values, strict=True)]


def _band(band: Band | None) -> list[float] | None:
    return None if band is None else [_short(one) for one in (band.low, band.middle, band.high)]


def _rounded(values: Iterable[float] | Sequence[float]) -> list[float]:
    return [_short(one) for one in values]


def _short(value: float) -> float:
    return round(value, _PLACES)
