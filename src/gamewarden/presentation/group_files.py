"""Groups as files for other programs: tables of groups, accounts and gifts, and the graph as GraphML."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TextIO
from xml.sax.saxutils import escape, quoteattr

import polars as pl

from gamewarden.core.files import make_directory, whole_file
from gamewarden.core.outside import visible
from gamewarden.groups.finding import Found
from gamewarden.tables import write_table

_NODE: Mapping[str, str] = {"name": "string", "type": "string", "group": "string", "role": "string", "hours": "double"}
_EDGE: Mapping[str, str] = {
    "gifts": "long",
    "amount": "double",
    "items": "double",
    "value": "double",
    "one_way": "boolean",
}
_HEAD = '<?xml version="1.0" encoding="UTF-8"?>\n<graphml xmlns="http://graphml.graphdrawing.org/xmlns">\n'


def write_groups(found: Found, directory: Path) -> list[Path]:
    """groups.csv, nodes.csv, edges.csv and groups.graphml; each whole or not at all.

    Raises:
        WriteError: the place cannot be written.
    """
    make_directory(directory)
    tables = {"groups.csv": found.groups, "nodes.csv": nodes_of(found), "edges.csv": edges_of(found)}
    for name, table in tables.items():
        write_table(table, directory / name)
    graph = directory / "groups.graphml"
    with whole_file(graph) as draft, draft.open("w", encoding="utf-8") as file:
        _write_graph(file, found)
    return [*(directory / name for name in tables), graph]


def nodes_of(found: Found) -> pl.DataFrame:
    """One row per account and group, with what the group is."""
    return found.members.join(found.groups.select("type", "by", group="id"), on="group", how="left").select(
        "actor", "group", "by", "type", pl.exclude("actor", "group", "by", "type")
    )


def edges_of(found: Found) -> pl.DataFrame:
    """FLOWS, with the group in which both accounts are by their gifts."""
    who = _by_gifts(found).select("actor", "group")
    rows = found.flows.join(who, left_on="giver", right_on="actor", how="left")
    rows = rows.join(who.rename({"group": "other"}), left_on="taker", right_on="actor", how="left")
    same = pl.when(pl.col("group") == pl.col("other")).then("group").alias("group")
    return rows.with_columns(same).drop("other").sort("giver", "taker")


def _by_gifts(found: Found) -> pl.DataFrame:
    return nodes_of(found).filter(pl.col("by") == "gifts")


def _write_graph(file: TextIO, found: Found) -> None:
    flows = found.flows
    names = pl.concat([flows["giver"], flows["taker"].alias("giver")]).unique().sort()
    places = dict(zip(names.to_list(), range(len(names)), strict=True))
    file.write(_HEAD)
    for where, keys in (("node", _NODE), ("edge", _EDGE)):
        key = '<key id="{0}-{1}" for="{0}" attr.name="{1}" attr.type="{2}"/>\n'
        file.writelines(key.format(where, name, kind) for name, kind in keys.items())
    file.write('<graph edgedefault="directed">\n')
    file.writelines(_nodes(found, places))
    for row in flows.select("giver", "taker", "n", "amount", "items", "value", "one_way").iter_rows():
        giver, taker, *values = row
        told = _data("edge", dict(zip(_EDGE, values, strict=True)))
        file.write(f'<edge source="n{places[giver]}" target="n{places[taker]}">{told}</edge>\n')
    file.write("</graph>\n</graphml>\n")


def _nodes(found: Found, places: Mapping[str, int]) -> Iterator[str]:
    known = {row["actor"]: row for row in _by_gifts(found).iter_rows(named=True)}
    for actor, place in places.items():
        row = known.get(actor, {})
        told = {"name": actor, **{name: row.get(name) for name in _NODE if name != "name"}}
        yield f"<node id={quoteattr(f'n{place}')}>{_data('node', told)}</node>\n"


def _data(where: str, told: Mapping[str, object]) -> str:
    parts = (f'<data key="{where}-{name}">{_text(value)}</data>' for name, value in told.items() if value is not None)
    return "".join(parts)


def _text(value: object) -> str:
    """What XML can hold: letters that it forbids are written out, as people see them elsewhere."""
    if isinstance(value, bool):
        return str(value).lower()
    return escape(visible(str(value)))
