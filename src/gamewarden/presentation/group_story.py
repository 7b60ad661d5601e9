"""Groups as lines for a person: each with its sentence, and its members by what is said of them."""

from collections.abc import Iterator
from datetime import datetime, timedelta

import polars as pl

from gamewarden.core.text import counted
from gamewarden.groups.finding import Found

ALONE = "Being in a group is never enough alone: look at what speaks about each account by itself."
KINDS = {
    "star": "star",
    "small-star": "small star",
    "chain": "chain",
    "copies": "copies",
    "gifts": "gifts",
    "giant": "giant",
    "circle": "circle",
    "guild": "guild",
    "trader": "trader",
    "friends": "friends",
    "household": "household",
    "cafe": "café",
}
_NAMED = 12  # members of one sentence that are named
_MOMENT = timedelta(microseconds=1)


def groups_in_short(found: Found, since: datetime | None, until: datetime | None, top: int) -> list[str]:
    """The first groups, and how many there are of each type."""
    if found.groups.is_empty():
        return ["No accounts belong together here."]
    counts = found.groups["type"].value_counts(sort=True).iter_rows()
    of_types = ", ".join(f"{KINDS[kind]} {n:,}" for kind, n in counts)
    when = "" if since is None or until is None else f", {since:%Y-%m-%d} to {until - _MOMENT:%Y-%m-%d}"
    lines = [f"{counted(found.groups.height, 'group')} of accounts{when}: {of_types}.", ALONE]
    shown = found.groups.head(top) if top else found.groups
    for row in shown.iter_rows(named=True):
        at = f" at {row['address']}" if row["address"] else ""
        lines += [
            "",
            f"{KINDS[row['type']]} of {row['n']:,}{at}, score {row['score']:.2f}  {row['id']}",
            f"  {row['says']}",
        ]
        lines += list(_members(found.members.filter(group=row["id"])))
    left = found.groups.height - shown.height
    return [*lines, "", f"{counted(left, 'further group')} not shown; --top 0 shows all."] if left else lines


def _members(members: pl.DataFrame) -> Iterator[str]:
    """Those of whom the same is said together."""
    for role, says, actors in members.group_by("role", "says", maintain_order=True).agg("actor").iter_rows():
        more = f" and {len(actors) - _NAMED:,} others" if len(actors) > _NAMED else ""
        yield f"  {role}: {', '.join(actors[:_NAMED])}{more}: {says}"
