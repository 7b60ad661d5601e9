"""A slice of a lake as JSON: which parts, which time and whose events, so that another process reads just these.

Whoever made the slice holds the lake's manifest, so that the parts stay where they are until the slice was read.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow.compute as pc

from gamewarden.errors import ReadError
from gamewarden.store.lake_actors import ActorRange
from gamewarden.store.lake_events import LakeEvents, names_in
from gamewarden.store.lake_parts import open_part
from gamewarden.store.manifest import Manifest, Part, Piece

_SAMPLED = 8  # parts of which names are looked at where row groups are too few
_GROUPS = 2  # row groups at least for each stretch


@dataclass(frozen=True)
class _Given:
    """A manifest that somebody else holds."""

    manifest: Manifest


def slice_of(events: LakeEvents, actors: ActorRange | None = None) -> dict[str, Any]:
    """The events of a time and of a stretch of names as JSON values."""
    earliest, latest = events.micros
    return {
        "lake": str(events.directory.absolute()),
        "parts": [[part.file, part.rows, part.since, part.last, part.is_compact] for part in events.parts],
        "earliest": earliest,
        "latest": latest,
        "actors": None if actors is None else [actors.first, actors.end],
    }


def sliced(values: Mapping[str, Any]) -> LakeEvents:
    """The events back, in whatever process, as they were when the slice was made.

    Raises:
        ReadError: the values are none of a slice.
    """
    try:
        parts = tuple(_part(*one) for one in values["parts"])
        actors = None if values["actors"] is None else ActorRange(*values["actors"])
        held = _Given(Manifest(parts=parts))
        return LakeEvents(Path(values["lake"]), held, int(values["earliest"]), int(values["latest"]), actors)
    except (KeyError, TypeError, ValueError) as error:
        raise ReadError(f"these words name no slice of a lake ({error}); only gamewarden makes them") from error


def _part(file: str, rows: int, since: int, last: int, compact: bool) -> Part:  # noqa: FBT001  as JSON has it
    pieces = (Piece(0, rows, since, last, None, None),) if compact else ()
    return Part(file, 0, rows, since, last, None, None, pieces=pieces)


def actor_borders(events: LakeEvents, most: int) -> list[ActorRange]:
    """Stretches of names, at most so many, that together are everybody, with about as many events each."""
    weights = sorted(_weighed(events, most))
    total, passed, borders = sum(rows for _, rows in weights), 0, list[str]()
    for name, rows in weights:
        if passed * most >= total * (len(borders) + 1) and (not borders or name > borders[-1]):
            borders.append(name)
        passed += rows
    ends: list[str | None] = [*borders, None]
    return [ActorRange(first, end) for first, end in zip(["", *borders], ends, strict=True)]


def _weighed(events: LakeEvents, most: int) -> list[tuple[str, int]]:
    """Names, and about how many events there are from each on: where parts are sorted, their row groups tell."""
    sorted_parts = [part for part in events.parts if part.is_compact]
    groups = [weight for part in sorted_parts for weight in _by_groups(events.directory / part.file)]
    if len(sorted_parts) == len(events.parts) and len(groups) >= _GROUPS * most:
        return groups
    some = events.parts[:: max(1, len(events.parts) // _SAMPLED)]
    return [weight for part in some for weight in _by_rows(events.directory / part.file, part.rows)]


def _by_groups(path: Path) -> Iterator[tuple[str, int]]:
    file = open_part(path, ("actor",))
    for number in range(file.num_row_groups):
        group = file.metadata.row_group(number)
        named = names_in(group)
        if named is not None:
            yield named[0], group.num_rows


def _by_rows(path: Path, rows: int) -> Iterator[tuple[str, int]]:
    """Those of the first row group, as if all rows were like them."""
    file = open_part(path, ("actor",))
    if file.num_row_groups:
        found = file.read_row_group(0, ["actor"]).column("actor").cast("string")
        for one in pc.value_counts(found).to_pylist():
            yield one["values"], max(1, one["counts"] * rows // len(found))
