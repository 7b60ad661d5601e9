"""Tidying up: what is older than `[retention]` says goes, and nothing brings it back."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from gamewarden.config import Retention
from gamewarden.core.durations import from_micros, parse_span
from gamewarden.core.text import counted
from gamewarden.store.lake import Lake
from gamewarden.store.maintenance_state import drop_scores
from gamewarden.store.partitions import Partition, Partitions
from gamewarden.tables import FEATURES, SCORES, Schema
from gamewarden.workspace.kept import FOR_EVER, TABLES, Kept
from gamewarden.workspace.parts import ALWAYS
from gamewarden.workspace.place import Workspace
from gamewarden.workspace.rest import ACCOUNT_DAYS, DESK, KINDS, PARTS

_ALL = (*TABLES, "ledger")


@dataclass(frozen=True)
class Tidied:
    """How much of each table was removed."""

    events: int = 0  # days of the lake
    features: int = 0  # days and files
    scores: int = 0
    verdicts: int = 0  # sealed days
    ledger: int = 0  # records: decisions, challenges, observations and what belongs to them

    def __str__(self) -> str:
        """One line for a person."""
        told = [
            f"{name} of {counted(getattr(self, name), unit)}"
            for name, unit in zip(_ALL, ("day", "part", "part", "day", "record"), strict=True)
            if getattr(self, name)
        ]
        return f"{', '.join(told)} removed: older than [retention] keeps them" if told else "nothing is too old"


def tables_at_rest(results: Path) -> Iterator[Partitions]:
    """Every table of results, also those of recipes and models that nobody uses any more."""
    schemas: dict[str, Schema] = {"features": FEATURES, "parts": PARTS, "kinds": KINDS, "scores": SCORES}
    for room, schema in schemas.items():
        for place in sorted((results / room).glob("*")):
            if place.is_dir():
                yield Partitions(place, schema)
    for name, schema in DESK.items():
        if (results / "desk" / name).is_dir():
            yield Partitions(results / "desk" / name, schema)


def sweep(workspace: Workspace) -> None:
    """Remove what killed runs have left: files of results that nothing names, which may hold what has to go.

    Raises:
        ReadError: something that rests is damaged.
        WriteError: a place cannot be written.
    """
    for table in tables_at_rest(workspace.results):
        table.sweep()
    workspace.verdicts.sweep()


def tidy(workspace: Workspace, at: datetime) -> Tidied:
    """Remove what is kept no longer.

    Raises:
        ReadError: something that rests is damaged.
        LedgerError: the ledger is damaged or cannot be written.
        WriteError: a place cannot be written, or another process is writing to the lake.
    """
    kept, ends = workspace.kept(at), {part.name: part.valid[1] for part in workspace.parts().parts}
    removed = {"features": 0, "scores": 0}
    for table in tables_at_rest(workspace.results):
        name = _kept_as(table)
        gone = _shortened(table, getattr(kept, name), ends)
        if table.schema not in DESK.values():  # what the desk reads is told of elsewhere already
            removed[name] += gone
    if kept.scores != FOR_EVER:
        drop_scores(workspace.models, from_micros(kept.scores), parse_span(workspace.config.maintain.period))
    verdicts = _without_verdicts(workspace, kept, at)
    cases = _without_old_cases(workspace, at)
    return Tidied(_without_events(workspace, kept), removed["features"], removed["scores"], verdicts, cases)


def _kept_as(table: Partitions) -> str:
    """By which table's span another one is kept: what the desk shows of verdicts goes with them."""
    if table.schema is ACCOUNT_DAYS:
        return "verdicts"
    return "scores" if table.schema is SCORES else "features"


def is_limited(settings: Retention) -> bool:
    """Whether anything is removed at all."""
    return any(getattr(settings, name) for name in _ALL)


def sentences(settings: Retention) -> Iterator[str]:
    """What is kept how long, a sentence per table."""
    for name in TABLES:
        span = getattr(settings, name)
        yield f"{name} are kept {f'for {span}' if span else 'for ever'}"
    yield f"decisions are kept {f'for {settings.ledger} once they are over' if settings.ledger else 'for ever'}"


def _without_old_cases(workspace: Workspace, at: datetime) -> int:
    """How many records of the ledger went."""
    span = workspace.config.retention.ledger
    if not span or not workspace.has_ledger:
        return 0
    from gamewarden.store.ledger.tidying import tidy as tidy_ledger

    # What still counts as evidence would be decided on again if what was decided on it were forgotten.
    longest = max(parse_span(span), parse_span(workspace.config.response.evidence_for))
    return sum(tidy_ledger(workspace.ledger, at - timedelta(microseconds=longest), at).values())


def _shortened(table: Partitions, before: int, ends: dict[str, int]) -> int:
    """How many partitions went; of a file that a source names the entry stays, so that it is not measured again."""
    if before == FOR_EVER:
        return 0
    old = [one for one in table.all().values() if _end(one, ends) <= before and (one.rows or _is_day(one))]
    files = [one for one in old if one.name in ends and table.schema is FEATURES]
    for one in files:
        table.empty(one)
    gone = {one.name for one in old} - {one.name for one in files}
    if gone:
        table.drop(gone)
    return len(old)


def _is_day(one: Partition) -> bool:
    return one.name.startswith("day=")


def _end(one: Partition, ends: dict[str, int]) -> int:
    """Until when a partition is about; rows without times are so until their file counts no longer."""
    return ends.get(one.name, FOR_EVER + 1) if (one.since, one.until) == ALWAYS else one.until


def _without_verdicts(workspace: Workspace, kept: Kept, at: datetime) -> int:
    """A day goes with all bundles that were ever sealed of it."""
    store = workspace.verdicts
    old = [seal.day for seal in store.current().values() if seal.until <= kept.verdicts]
    if old:
        store.drop(old, f"[retention] verdicts = {workspace.config.retention.verdicts!r}", at.isoformat())
    return len(old)


def _without_events(workspace: Workspace, kept: Kept) -> int:
    """When the sources were there is remembered first: features that outlive their events are judged by it."""
    if kept.events == FOR_EVER or not Lake.is_at(workspace.lake):
        return 0
    lake = Lake(workspace.lake)
    span = lake.span
    if span is None or span[0] >= kept.events:
        return 0
    workspace.gone.save(kept.gone.and_before(kept.events, lake.events().coverage))
    return lake.drop_days(kept.first_day).days
