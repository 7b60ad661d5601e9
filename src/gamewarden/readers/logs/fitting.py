"""Which of the columns that a mapping names a file has."""

from collections.abc import Collection, Mapping, Sequence

from gamewarden.errors import ReadError
from gamewarden.readers.logs.mapping import LogMap
from gamewarden.readers.logs.rules import Side
from gamewarden.readers.logs.shapes import Peek
from gamewarden.readers.logs.toml_sections import nearest
from gamewarden.tables import EVENTS


def present_sides(shape: Peek, mapping: LogMap, looked_up: Collection[str] = ()) -> tuple[Side, ...]:
    """The events that a row gives, each with those of its columns that the file, or a table `looked_up`, has.

    Raises:
        ReadError: a column that must be there is missing, one that may be is there under a name written otherwise, or
            one is there twice.
    """
    own = [one for one in mapping.references if one not in looked_up]
    if twice := [name for name in own if shape.names.count(name) > 1]:
        raise ReadError(f"{shape.path}: has two columns named {twice[0]!r}; give each its own name")
    _demand_conditions(shape, mapping, looked_up)
    sides = zip(mapping.sides, ({}, *(one.columns for one in mapping.also)), strict=True)
    return tuple(
        Side(_present(shape, mapping, side, own, looked_up), side.kind, side.where, side.opposite)
        for side, own in sides
    )


def _present(
    shape: Peek, mapping: LogMap, side: Side, own: Mapping[str, str], looked_up: Collection[str]
) -> dict[str, str]:
    theirs = side.columns
    named = {*mapping.columns, *own}
    needed = {ours for ours in mapping.needed if ours != "kind" or side.kind is None}
    present = {ours: name for ours, name in theirs.items() if name in looked_up or shape.has(name)}
    # JSON leaves out what is null: a key not among the first objects may still come. Numbers that begin late could
    # tell no rows apart, so seq must be there from the start, or be named in the mapping.
    if shape.format == "jsonl":
        late = [ours for ours in theirs if ours in named or ours not in {*EVENTS.required, "seq"}]
        present |= {ours: theirs[ours] for ours in late if ours not in EVENTS.required}
    alike = {_folded(name) for name in shape.names}
    wrong = [
        ours
        for ours in theirs
        if ours not in present and (ours in needed or (ours in named and _folded(theirs[ours]) in alike))
    ]
    if wrong:
        raise ReadError(_missing(shape, wrong, theirs))
    return present


def _demand_conditions(shape: Peek, mapping: LogMap, looked_up: Collection[str]) -> None:
    """A misspelled column of [where] or of a join would quietly leave out every row, or none."""
    tested = [("where", one.column) for one in (*mapping.where, *(one for side in mapping.also for one in side.where))]
    used = [(f"join.{join.name}", join.on) for join in mapping.joins]
    for section, name in (*tested, *used):
        late = shape.format == "jsonl" and section == "where"
        if name not in looked_up and not shape.has(name) and not late:
            raise ReadError(f"{shape.path}: lacks {name!r}, which [{section}] names; it has {shape.some}")


def _folded(name: str) -> str:
    return "".join(sign for sign in name.casefold() if sign.isalnum())


def _missing(shape: Peek, missing: Sequence[str], theirs: Mapping[str, str]) -> str:
    called = [ours if theirs[ours] == ours else f"{theirs[ours]!r} (our {ours})" for ours in missing]
    meant = [(theirs[ours], nearest(theirs[ours], (*shape.names, *shape.nested), 0.75)) for ours in missing]
    hints = [f"{there!r} looks like {name!r}" for name, there in meant if there]
    hint = f"; {hints[0]}" if hints else ""
    return (
        f"{shape.path}: lacks {', '.join(called)}{hint}; it has {shape.some}; a mapping file (--map) names the columns"
    )
