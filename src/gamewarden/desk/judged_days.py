"""The days that were judged: which there are, by which rules, and what they say of one account."""

from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial

import polars as pl

from gamewarden.core.durations import from_micros
from gamewarden.desk.desk import Desk
from gamewarden.desk.memory import looks_of
from gamewarden.store.verdict_days import HEAD, LOG, DaySeal
from gamewarden.tables import check
from gamewarden.verdicts.rules import VerdictRules
from gamewarden.workspace.beside import KEPT, facts_of
from gamewarden.workspace.exonerated import blank_exonerated, without_exonerated

_ABOUT = replace(KEPT, columns={**KEPT.columns, "day": pl.String})
MOST_DAYS = 90  # of one account that a page shows; the list of all of them is `gamewarden verdict list`


@dataclass(frozen=True)
class DayRules:
    """By what a day was judged."""

    rules: VerdictRules
    models: tuple[str, ...]
    fusion: str | None
    caveats: tuple[str, ...]


def look(desk: Desk) -> object:
    """What changes whenever a day is judged."""
    place = desk.workspace.verdicts.directory
    return looks_of(place / LOG, place / HEAD)


def seals(desk: Desk) -> tuple[DaySeal, ...]:
    """The latest seal of each day, the earliest day first.

    Raises:
        VerdictError: the log of seals was edited or damaged.
    """
    store = desk.workspace.verdicts
    return desk.memory.of("seals", look(desk), lambda: tuple(store.current().values()), most=1)


def day_of(seal: DaySeal) -> str:
    """A day as people write it."""
    return seal.day.removeprefix("day=")


def span_of(seal: DaySeal) -> tuple[datetime, datetime]:
    """When it began and ended."""
    return from_micros(seal.since), from_micros(seal.until)


def rules_of(desk: Desk, seal: DaySeal) -> DayRules:
    """By what a day was judged.

    Raises:
        VerdictError: the day's file that says so is missing or damaged.
    """
    return desk.memory.of("rules", seal.bundle, partial(_rules, desk, seal), most=128)


def _rules(desk: Desk, seal: DaySeal) -> DayRules:
    facts = facts_of(desk.workspace.verdicts, seal)
    fusion = None if facts["fusion"] is None else str(facts["fusion"]["id"])
    models = tuple(str(one["id"]) for one in facts["models"])
    return DayRules(VerdictRules.of(facts["rules"]), models, fusion, tuple(facts["caveats"]))


def verdicts_about(desk: Desk, actor: str) -> pl.DataFrame:
    """The latest verdicts about an account, the earliest first, each with its point, its id and its day's name.

    Days whose evidence an overturned appeal has refuted have no numbers.

    Raises:
        ReadError: the verdicts of a day are missing or damaged.
    """
    rows = desk.memory.of("verdicts", (look(desk), actor), partial(_verdicts, desk, actor), most=256)
    return blank_exonerated(rows, desk.workspace.exonerated)


def _verdicts(desk: Desk, actor: str) -> pl.DataFrame:
    store = desk.workspace.verdicts
    wanted = [seal for seal in seals(desk)[-MOST_DAYS:] if actor not in store.stubs(seal)]
    if not wanted:
        return pl.DataFrame(schema=dict(_ABOUT.columns))
    rows = check(store.of_actor(wanted, actor), _ABOUT, str(store.directory)).sort("since")
    named = rows.with_columns(pl.col("day").str.strip_prefix("day="))
    return rules_of(desk, wanted[-1]).rules.points.with_streaks(named)


def everybody_on(desk: Desk, seal: DaySeal) -> pl.DataFrame:
    """Who was judged on a day, and which point each reaches: actor and point.

    Raises:
        ReadError: the verdicts of the day are missing or damaged.
    """
    store = desk.workspace.verdicts
    rows = store.table(seal, columns=["actor", "since", "point"])
    rows = without_exonerated(rows, desk.workspace.exonerated).drop("since")
    gone = store.stubs(seal)
    return rows.filter(~pl.col("actor").is_in(gone)) if gone else rows
