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

_NODE: Mapping[str, str] = {
    "name": "string",
    "type": "string",
    "group": "string",
    "role": "string",
    "hours": "double",
    "copies": "string",
}
_EDGE: Mapping[str, str] = {
    "kind": "string",
    "gifts": "long",
    "amount": "double",
    "items": "double",
    "value": "double",
    "one_way": "boolean",
    "alike": "double",
    "same_way": "double",
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
    who = _by(found, "gifts").select("actor", "group")
    rows = found.flows.join(who, left_on="giver", right_on="actor", how="left")
    rows = rows.join(who.rename({"group": "other"}), left_on="taker", right_on="actor", how="left")
    same = pl.when(pl.col("group") == pl.col("other")).then("group").alias("group")
    return rows.with_columns(same).drop("other").sort("giver", "taker")


def _by(found: Found, what: str) -> pl.DataFrame:
    return nodes_of(found).filter(pl.col("by") == what)


def _write_graph(file: TextIO, found: Found) -> None:
    flows, same = found.flows, found.copies
    names = pl.concat([flows["giver"], flows["taker"], same["actor"], same["other"]]).unique().sort()
    places = dict(zip(names.to_list(), range(len(names)), strict=True))
    file.write(_HEAD)
    for where, keys in (("node", _NODE), ("edge", _EDGE)):
        key = '<key id="{0}-{1}" for="{0}" attr.name="{1}" attr.type="{2}"/>\n'
        file.writelines(key.format(where, name, kind) for name, kind in keys.items())
    file.write('<graph edgedefault="directed">\n')
    file.writelines(_nodes(found, places))
    file.writelines(_edges(found, places))
    file.write("</graph>\n</graphml>\n")


def _edges(found: Found, places: Mapping[str, int]) -> Iterator[str]:
    """Gifts, and copies of each other: those as arrows, too, since programs refuse graphs with arrows and lines."""
    gifts = found.flows.select("n", "amount", "items", "value", "one_way", one="giver", other="taker")
    same = found.copies.select("alike", "same_way", one="actor", other="other")
    for kind, rows in (("gifts", gifts.rename({"n": "gifts"})), ("copies", same)):
        for row in rows.iter_rows(named=True):
            ends = f'source="n{places[row["one"]]}" target="n{places[row["other"]]}"'
            told = {"kind": kind, **{name: row.get(name) for name in _EDGE if name != "kind"}}
            yield f"<edge {ends}>{_data('edge', told)}</edge>\n"


def _nodes(found: Found, places: Mapping[str, int]) -> Iterator[str]:
    known = {row["actor"]: row for row in _by(found, "gifts").iter_rows(named=True)}
    same = dict(_by(found, "copies").select("actor", "group").iter_rows())
    own = [name for name in _NODE if name not in ("name", "copies")]
    for actor, place in places.items():
        row = known.get(actor, {})
        told = {"name": actor, **{name: row.get(name) for name in own}, "copies": same.get(actor)}
        yield f"<node id={quoteattr(f'n{place}')}>{_data('node', told)}</node>\n"


def _data(where: str, told: Mapping[str, object]) -> str:
    parts = (f'<data key="{where}-{name}">{_text(value)}</data>' for name, value in told.items() if value is not None)
    return "".join(parts)


def _text(value: object) -> str:
    """What XML can hold: letters that it forbids are written out, as people see them elsewhere."""
    if isinstance(value, bool):
        return str(value).lower()
    return escape(visible(str(value)))
