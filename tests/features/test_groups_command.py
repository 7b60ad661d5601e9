"""`gamewarden groups`: the list, its JSON, its files and its pictures, whatever accounts are called."""

import json
import xml.etree.ElementTree as ET
from datetime import UTC, datetime, timedelta

import networkx as nx
import polars as pl
import pytest

from commands import done, run
from gamewarden.groups.finding import find
from gamewarden.presentation.group_files import write_groups
from gamewarden.presentation.group_plots import plot_groups
from gamewarden.presentation.group_story import groups_in_short
from group_cases import chain, star

MONDAY = datetime(2026, 5, 4, 12, tzinfo=UTC)
HOSTILE = '=cmd|"x"!A1\x1b[2J\u202e<&">$x$'


def log(path):
    """Twelve that hand over money every day of a week, and one who plays alone; an older week is about others."""
    rows = []
    for day in range(7):
        at = MONDAY + timedelta(days=day)
        for number in range(12):
            leaf = {"actor": f"leaf{number:02}", "at": at + timedelta(minutes=number)}
            rows += [{**leaf, "kind": "trade.give", "amount": -50.0, "other": "hub"}, {**leaf, "kind": "combat.kill"}]
        rows.append({"actor": "alone", "at": at, "kind": "chat"})
    old = MONDAY - timedelta(days=30)
    rows += [{"actor": f"old{n}", "at": old, "kind": "trade.give", "amount": -1.0, "other": "boss"} for n in range(12)]
    pl.DataFrame(rows, infer_schema_length=None).sort("at").write_parquet(path)
    return path


@pytest.fixture(scope="module")
def events(tmp_path_factory):
    return log(tmp_path_factory.mktemp("groups") / "log.parquet")


def hostile(found):
    """The same groups with a hub that was named to do harm."""
    edges, played = found
    rename = pl.col("actor", "other").replace({"hub": HOSTILE})
    return find(edges.with_columns(rename), played.with_columns(pl.col("actor").replace({"hub": HOSTILE})))


def test_the_last_seven_days_are_told_with_roles_and_reasons(events):
    told = done("groups", events).stdout

    assert "1 group of accounts, 2026-05-04 to 2026-05-10: star 1." in told
    assert "never enough alone" in told
    assert "12 accounts hand 100 % of all they give to hub, which gives nothing back." in told
    assert "In 84 gifts they gave 4,200 in money." in told
    assert "leaf: leaf00, leaf01" in told
    assert "boss" not in told


def test_another_time_can_be_asked_about(events):
    assert "to boss" in done("groups", events, "--until", "2026-04-10").stdout


def test_json_has_every_group_with_its_members(events):
    (group,) = json.loads(done("groups", events, "--json").stdout)

    assert (group["type"], group["hub"], group["flagged"], group["n"]) == ("star", "hub", True, 13)
    assert {one["role"] for one in group["members"]} == {"hub", "leaf"}


def test_files_and_pictures_are_written(events, tmp_path):
    done("groups", events, "--out", tmp_path / "out", "--plot", tmp_path / "plots")

    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        "edges.csv", "groups.csv", "groups.graphml", "nodes.csv",
    ]  # fmt: skip
    assert sorted(path.name for path in (tmp_path / "plots").iterdir()) == ["groups.png", "map.png"]


def test_a_log_that_names_nobody_else_is_told(tmp_path):
    pl.DataFrame({"actor": ["ann"], "at": [MONDAY], "kind": ["chat"]}).write_parquet(tmp_path / "log.parquet")

    ended = run("groups", tmp_path / "log.parquet")

    assert ended.returncode == 0
    assert "no event names another account" in ended.stderr
    assert "No accounts belong together here." in ended.stdout


def test_the_graph_is_graphml_that_others_read(tmp_path):
    write_groups(find(*chain()), tmp_path)

    graph = nx.read_graphml(tmp_path / "groups.graphml")
    names = nx.get_node_attributes(graph, "name")

    assert sorted(names.values()) == [f"link{number}" for number in range(6)]
    assert {(names[a], names[b]) for a, b in graph.edges} == {(f"link{n}", f"link{n + 1}") for n in range(5)}
    assert {data["one_way"] for *_, data in graph.edges(data=True)} == {True}


def test_a_name_that_was_chosen_to_do_harm_does_none(tmp_path):
    found = hostile(star())
    write_groups(found, tmp_path)
    plot_groups(found, tmp_path)

    nodes = (tmp_path / "nodes.csv").read_text(encoding="utf-8")
    names = [one.text for one in ET.parse(tmp_path / "groups.graphml").iter() if one.get("key") == "node-name"]  # noqa: S314  our own

    assert "\n=cmd" not in nodes
    assert any(name.startswith('=cmd|"x"!A1\\x1b[2J\\u202e<&">$x$') for name in names)
    assert (tmp_path / "groups.png").stat().st_size > 10_000


def test_only_the_first_groups_are_told_unless_all_are_asked_for():
    first, second = star(), chain()
    found = find(pl.concat([first[0], second[0]]), pl.concat([first[1], second[1]]))

    short, whole = (groups_in_short(found, None, None, top) for top in (1, 0))

    assert short[-1].startswith("1 further group not shown")
    assert any("chain of 6" in line for line in whole)
    assert not any("chain of 6" in line for line in short)
