"""How what stands in a verdict's document differs from what comes out now."""

from collections.abc import Iterable, Sequence

import polars as pl

_NAMED = 3  # differences that are named one by one


def number_changes(
    what: str, kept: pl.DataFrame, found: pl.DataFrame, numbers: Sequence[str]
) -> Iterable[tuple[str, bool]]:
    """How two tables that should be the same differ."""
    if kept.equals(found):
        return
    if kept.columns != found.columns or kept.height != found.height:
        yield f"{what} had {kept.height} rows and come out with {found.height}", False
        return
    apart = [(kept[name] - found[name]).abs().max() for name in numbers]
    largest = max((float(str(one)) for one in apart if one is not None), default=0.0)
    yield (f"{what} differ by up to {largest:.3g}" if largest else f"{what} differ in more than their numbers"), False


def row_changes(kept: pl.DataFrame, now: pl.DataFrame) -> list[str]:
    """The columns of two measurements that are not the same."""
    if kept.equals(now):
        return []
    if kept.height != now.height:
        return [f"{kept.height} rows were measured, {now.height} are now"]
    shared = [name for name in kept.columns if name in now.columns and not kept[name].equals(now[name])]
    told = [f"{name} was {_listed(kept[name])} and is {_listed(now[name])}" for name in shared]
    return told or ["other columns are measured now"]


def _listed(column: pl.Series) -> str:
    return ", ".join("nothing" if value is None else str(value) for value in column.head(_NAMED))


def some_of(lines: Sequence[str]) -> str:
    """The first lines, and how many more there are."""
    more = f" and {len(lines) - _NAMED} more" if len(lines) > _NAMED else ""
    return ", ".join(lines[:_NAMED]) + more
