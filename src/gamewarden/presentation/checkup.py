"""What a doctor of game servers says: who sees what, and which lines would let them see more."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from gamewarden.core.outside import visible
from gamewarden.readers.servers.advice import Advice
from gamewarden.readers.servers.diagnosis import Diagnosis, TableFound

ALIVE, HALF_BLIND, BLIND = "alive", "half blind", "blind"
_ELSEWHERE = {
    "packets": "it reads packets: capture the game's port, and `gamewarden watch` or `run` reads it",
    "messages": "it reads what game clients say: capture the game's port, or let the server write packetstreams",
    "table": "it reads a table of yours with one row per account",
}


@dataclass(frozen=True)
class Vision:
    """What one detector sees here."""

    detector: str
    state: str
    why: str

    @classmethod
    def of(cls, detector: str, blind: tuple[str, ...], poorer: Mapping[str, str]) -> "Vision":
        """From what it needs and does not get."""
        if blind:
            return cls(detector, BLIND, f"no {' and no '.join(blind)} in the log")
        if poorer:
            return cls(detector, HALF_BLIND, "; ".join(f"no {what} without {name}" for name, what in poorer.items()))
        return cls(detector, ALIVE, "it gets all it needs")

    @classmethod
    def elsewhere(cls, detector: str, kind: str) -> "Vision":
        """Of one that reads something else than logs."""
        return cls(detector, BLIND, _ELSEWHERE.get(kind, f"it reads {kind}"))


@dataclass(frozen=True)
class Checkup:
    """A game server's database, looked over."""

    found: Diagnosis
    visions: tuple[Vision, ...]
    kinds: Mapping[str, int]  # of recent events
    problem: str | None = None
    notes: tuple[str, ...] = ()  # what was left out of them

    @property
    def healthy(self) -> bool:
        """Whether whoever reads logs gets all it needs."""
        of_logs = [one for one in self.visions if one.why not in _ELSEWHERE.values()]
        return self.problem is None and all(one.state == ALIVE for one in of_logs)

    def as_json(self) -> dict[str, Any]:
        """For machines."""
        return {**asdict(self), "healthy": self.healthy, "kinds": dict(self.kinds)}

    def sentences(self) -> Iterator[str]:
        """For people."""
        found = self.found
        yield f"{found.name} is a database of {found.server}."
        yield f"This preset was tried on {found.seen}." if found.seen else "This preset was not seen with real data."
        yield from (f"Problem: {line}" for line in (self.problem,) if line)
        yield ""
        yield "Tables"
        yield from (f"  {_table(one)}" for one in found.tables)
        yield from (f"  {line[0].upper()}{line[1:]}." for line in (found.purges, *found.clock, *found.rights))
        yield from (f"  Of the latest rows: {line}." for line in self.notes)
        yield ""
        yield "Detectors"
        yield from (line for state in (ALIVE, HALF_BLIND, BLIND) for line in _seeing(self.visions, state))
        if found.advice:
            yield ""
            yield "What would let them see more"
            yield from (line for one in found.advice for line in _told(one))


def _seeing(visions: tuple[Vision, ...], state: str) -> Iterator[str]:
    """Those of a state, with what they have in common said once."""
    reasons: dict[str, list[str]] = {}
    for one in visions:
        if one.state == state:
            reasons.setdefault(one.why, []).append(one.detector)
    for why, names in reasons.items():
        yield f"  {state}: {', '.join(names)}"
        yield from (f"    {line}" for line in why.split("; "))


def _table(one: TableFound) -> str:
    rows = "" if one.rows is None else f", {'about ' if one.engine == 'InnoDB' else ''}{one.rows:,} rows"
    reach = f", from {one.first} to {one.last}" if one.first else ""
    problem = f"; not read: {one.problem}" if one.problem else ""
    return visible(f"{one.table}{f' ({one.engine})' if one.engine else ''}{rows}{reach}{problem}")


def _told(one: Advice) -> Iterator[str]:
    yield f"  - {one.missing[0].upper()}{one.missing[1:]}."
    yield f"    Unknown without it: {one.so}."
    if one.lines:
        yield f"    {'In SQL' if one.file == 'SQL' else f'In {one.file}'}:"
        yield from (f"      {line}" for line in one.lines)
    yield from (f"    Now: {visible(line)}." for line in one.now)
    if one.cost:
        yield f"    Cost: {one.cost}."
