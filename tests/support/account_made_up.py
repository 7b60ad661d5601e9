"""A workspace that was run, as the desk sees it: with an account whose packets nobody caught, and one that wanders."""

import dataclasses
from datetime import timedelta

import polars as pl

import workspaces_made_up as made_up
from gamewarden.desk.desk import Desk
from gamewarden.tables import write_table
from several_made_up import LOG
from upkeep_made_up import START

HIDDEN = (
    "probability",
    "fpr",
    "one_in",
    "point",
    "weight",
    "alone",
    "verdict",
    "streak",
    "agree",
    "score",
    "llr",
    "kept",
)
UNHEARD = "nobody-sent-packets"
WANDERER = "<img src=x onerror=alert(1)>/../?a=b#c%2F \u202e\u200b"
DAY = f"{START:%Y-%m-%d}"
GIVEN = 3  # accounts that the wanderer gives something to


def desk_of(place):
    """A desk before a small workspace."""
    workspace = made_up.make_workspace(place / "ws", made_up.make_models(place / "from"))
    events = LOG.events()
    alone = events.filter(pl.col("actor") == events["actor"][0]).with_columns(actor=pl.lit(UNHEARD))
    write_table(alone, workspace.root / "logs" / "alone.parquet")
    write_table(wandering(), workspace.root / "logs" / "wandering.parquet")
    made_up.run_all(workspace)
    return Desk(workspace)


def wandering():
    """EVENTS of one account that walks to and fro in two zones, twice a day, and gives things away."""
    rows = []
    for hour, zone, address in ((2, "<b>swamp</b>", "10.0.0.1"), (5, "hill", "10.0.0.2")):
        begin = START + timedelta(hours=hour)
        for minute in range(50):
            at = begin + timedelta(minutes=minute)
            rows.append((at, "move", zone, float(minute % 7), float(hour), None, None, address))
            rows.append((at + timedelta(seconds=9), "combat.kill", zone, None, None, None, None, address))
            if minute % 10 == 0:
                other = f"bot{minute // 10 % GIVEN:03}"
                rows.append((at + timedelta(seconds=12), "trade.give", zone, None, None, 100.0, other, address))
    names = ("at", "kind", "zone", "x", "y", "amount", "other", "ip")
    return pl.DataFrame(rows, schema=names, orient="row").with_columns(actor=pl.lit(WANDERER))


def leaks(shown, row):
    """What in a view says, or is, a score: names of fields that have a value, and the numbers of a verdict."""
    numbers = {row[name] for name in ("probability", "fpr", "verdict") if row[name] is not None}
    return [
        (path, value)
        for path, value in _leaves(dataclasses.asdict(shown))
        if (path[-1] in HIDDEN and value not in {None, 0, ""}) or (value is not True and value in numbers)
    ]


def _leaves(value, path=()):
    if isinstance(value, dict):
        for name, one in value.items():
            yield from _leaves(one, (*path, name))
    elif isinstance(value, (list, tuple)):
        for one in value:
            yield from _leaves(one, path)
    else:
        yield path, value
