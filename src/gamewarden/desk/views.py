"""What people keep for another day: searches under a name, alone or for all, and marks of what happened to the game."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, time

from gamewarden.contracts import digest
from gamewarden.core.durations import parse_zone
from gamewarden.desk.conditions import Conditions
from gamewarden.desk.desk import Desk
from gamewarden.desk_records import BAN_WAVE, OTHER, PATCH, Mark, SavedView
from gamewarden.errors import ConfigError, NotThereError, short

MARKS = (PATCH, BAN_WAVE, OTHER)
_LONGEST = 80  # letters of a name
_MOST = 200  # of one person
_PATH = "/accounts"


@dataclass(frozen=True)
class View:
    """A search under a name."""

    id: str
    name: str
    url: str
    owner: str
    shared: bool
    mine: bool


def saved_views(desk: Desk, person: str) -> tuple[View, ...]:
    """One's own searches and those that others share, by name.

    Raises:
        LedgerError: the ledger cannot be read.
    """
    if not desk.workspace.has_ledger:
        return ()
    return tuple(sorted(_views(desk, person), key=lambda one: (not one.mine, one.name.lower(), one.id)))


def _views(desk: Desk, person: str) -> Iterator[View]:
    for one in desk.workspace.ledger.find(SavedView, path=_PATH):
        if one.shared or one.owner == person:
            url = f"{_PATH}?{one.query}" if one.query else _PATH
            yield View(one.id, one.name, url, one.owner, one.shared, one.owner == person)


def save_view(desk: Desk, name: str, query: str, *, shared: bool, by: str) -> View:
    """Keep a search under a name, in the place of one's own of the same name.

    Raises:
        ConfigError: it has no name, or is no search.
        LedgerError: the ledger cannot be written.
    """
    called = _name(name)
    clean = Conditions.of_query(query).first_page().url("").removeprefix("?")
    mine = [one for one in saved_views(desk, by) if one.mine]
    if len(mine) >= _MOST and called not in {one.name for one in mine}:
        raise ConfigError(f"views: {_MOST} searches are kept for you already; remove one first")
    made = SavedView(digest(by, called), by, called, _PATH, clean, shared, desk.now())
    with desk.workspace.ledger.writing(by, desk.now()) as work:
        work.put([made])
    return View(made.id, called, f"{_PATH}?{clean}" if clean else _PATH, by, shared, mine=True)


def remove_view(desk: Desk, number: str, *, by: str, anybodys: bool = False) -> None:
    """Keep a search no longer: one's own, or anybody's for whoever administers.

    Raises:
        NotThereError: there is no such search of theirs.
        LedgerError: the ledger cannot be written.
    """
    with desk.workspace.ledger.writing(by, desk.now()) as work:
        found = work.find(SavedView, id=number)
        if not found or (found[0].owner != by and not anybodys):
            raise NotThereError(f"views: no search of yours is called {short(number)}")
        work.remove(found[0])


def mark(desk: Desk, day: str, kind: str, text: str, *, by: str) -> Mark:
    """Note what happened to the game on a day, for all trends to show.

    Raises:
        ConfigError: it is no day, no kind of mark, or says nothing.
        LedgerError: the ledger cannot be written.
    """
    if kind not in MARKS:
        raise ConfigError(f"marks: {short(kind)} is no kind of mark; there are {', '.join(MARKS)}")
    zone = parse_zone(desk.workspace.time_zone or "UTC")
    try:
        at = datetime.combine(date.fromisoformat(day), time(), zone).astimezone(UTC)
    except (ValueError, OverflowError) as error:  # no day, or none that begins within the calendar
        raise ConfigError(f"marks: {short(day)} is no day; give one such as 2026-03-01") from error
    told = _name(text)
    made = Mark(digest(day, kind, told), at, kind, told, by, desk.now())
    with desk.workspace.ledger.writing(by, desk.now()) as work:
        work.put([made])
    return made


def remove_mark(desk: Desk, number: str, *, by: str) -> None:
    """Take a mark away.

    Raises:
        NotThereError: there is none of this name.
        LedgerError: the ledger cannot be written.
    """
    with desk.workspace.ledger.writing(by, desk.now()) as work:
        found = work.find(Mark, id=number)
        if not found:
            raise NotThereError(f"marks: there is none called {short(number)}")
        work.remove(found[0])


def _name(text: str) -> str:
    told = " ".join(text.split())
    if not told or len(told) > _LONGEST:
        raise ConfigError(f"a name has 1 to {_LONGEST} letters; this one has {len(told):,}")
    return told
