"""Copies among the groups of `gamewarden groups`, in `explain`, and in what is kept of days."""

import json

import networkx as nx
import numpy as np
import polars as pl
import pytest

from commands import done, run
from copies_made_up import SKILLS, copies, life, parts_of, people
from gamewarden import readers
from gamewarden.detectors.copies.recipe import CopyDetector
from gamewarden.features.copies.recipe import Copies
from gamewarden.groups.copying import NOBODY, likeness
from gamewarden.groups.finding import COPIES, find
from gamewarden.pipeline.grouping import groups
from gamewarden.pipeline.listing import Explanation
from gamewarden.presentation.group_files import write_groups
from gamewarden.presentation.group_plots import plot_groups
from gamewarden.presentation.story import explanation_text
from gamewarden.tables import FrameEvents, write_table
from group_cases import star

NASTY = "skill.use.\x1b[2J\u202e=cmd<&>$x$"
FARM = [f"copy{number:02}" for number in range(6)]


def without_positions(lives):
    return [one.with_columns(pl.lit(None, pl.Float32).alias("x"), y=None) for one in lives]


def found(lives, edges=None):
    gifts, hours = edges or (star()[0].clear(), pl.DataFrame(schema={"actor": pl.String, "hours": pl.Float64}))
    return find(gifts, hours, None, likeness(parts_of(lives), 200))


def the_only(one):
    (row,) = one.groups.filter(type=COPIES).to_dicts()
    return row


@pytest.fixture(scope="module")
def lives():
    return [*people(30), *copies(6)]


@pytest.fixture(scope="module")
def log(tmp_path_factory, lives):
    path = tmp_path_factory.mktemp("copies") / "log.parquet"
    write_table(pl.concat(lives).sort("at"), path)
    return path


def test_a_group_of_copies_is_told_with_the_stretch_that_they_share_and_on_how_many_accounts(lives):
    one = found(lives)
    row = the_only(one)

    assert one.members["actor"].to_list() == FARM
    assert set(one.members["role"]) == {"copy"}
    assert set(row["shared"].replace(",", "").split()) & set(SKILLS)
    assert f"{row['shared']}; {row['shared_n']:,} times on all 6 of them, and on " in row["says"]
    assert "walk the same way" in row["says"]
    assert one.members["times"].sum() == row["shared_n"]
    assert not row["flagged"]


def test_what_a_group_shares_is_counted_as_plain_python_counts_it(lives):
    row = the_only(found(lives))
    parts = parts_of(lives)
    book = parts.filter(pl.col("actor").is_null()).select("stretches", "words").explode("stretches", "words")
    code = book.filter(words=row["shared"])["stretches"][0]
    days = parts.drop_nulls("actor").select("actor", "stretches", "stretch_n").explode("stretches", "stretch_n")
    mine = days.filter(stretches=code)

    farm = pl.col("actor").is_in(FARM)
    assert row["shared_n"] == mine.filter(farm)["stretch_n"].sum()
    assert row["shared_by"] == mine.filter(farm)["actor"].n_unique()
    assert row["outside"] == mine.filter(~farm)["actor"].n_unique()


def test_what_is_alike_without_positions_is_not_called_a_way(lives):
    one = found(without_positions(lives))

    assert "way" not in the_only(one)["says"]
    assert set(one.members["says"]) == {"Does the same as others of it, in the same order and at the same pace."}


def test_what_many_others_do_too_is_not_said_to_be_the_reason():
    """Copies that walk one way and fight as everybody fights."""
    crowd = [
        life(f"p{n:02}", n, skills=SKILLS[:2], places=lambda _, draw: tuple(draw.uniform(0, 200, 2)), jitter=0.08)
        for n in range(30)
    ]
    points = np.random.default_rng(5).uniform(0, 200, (10, 2))
    farm = [
        life(f"c{n}", 60 + n, skills=SKILLS[:2], places=lambda number, _: tuple(points[number % 10]), jitter=0.08)
        for n in range(3)
    ]

    row = the_only(found([*crowd, *farm]))

    assert row["n"] == 3
    assert row["says"].startswith("3 accounts walk the same way, from place to place")
    assert row["outside"] > 0
    assert f"and on {row['outside']} other account" in row["says"]


def test_an_account_can_be_in_a_star_and_among_copies(lives):
    edges, hours = star()
    names = dict(zip([f"leaf{number:02}" for number in range(6)], FARM, strict=True))
    rename = pl.col("actor").replace(names)
    one = found(lives, (edges.with_columns(rename), hours.with_columns(rename)))

    assert one.groups["type"].to_list()[0] == "star"
    assert COPIES in one.groups["type"].to_list()


def test_where_nobody_can_be_compared_everything_is_as_without_copies():
    plain, asked = find(*star()), find(*star(), None, NOBODY)

    assert plain.groups.equals(asked.groups)
    assert plain.members.equals(asked.members)
    assert COPIES not in plain.groups["type"].to_list()


def test_the_command_tells_of_copies_where_no_event_names_anybody_else(log):
    ended = run("groups", log)

    assert ended.returncode == 0
    assert "there is nothing to find groups by but what accounts do alike" in ended.stderr
    assert "1 group of accounts" in ended.stdout
    assert "copies of 6, score" in ended.stdout
    assert "copy: copy00, copy01, copy02, copy03, copy04, copy05: Does the same as others of it" in ended.stdout


def test_json_and_files_have_the_copies_with_their_members(log, tmp_path):
    (group,) = json.loads(done("groups", log, "--json", "--out", tmp_path, "--plot", tmp_path).stdout)

    assert (group["type"], group["by"], group["n"], group["shared_by"]) == ("copies", "copies", 6, 6)
    assert [one["actor"] for one in group["members"]] == FARM
    assert all(one["copies"] >= 1 and one["times"] > 0 for one in group["members"])
    assert pl.read_csv(tmp_path / "nodes.csv")["actor"].to_list() == FARM
    graph = nx.read_graphml(tmp_path / "groups.graphml")
    assert {data["copies"] for _, data in graph.nodes(data=True)} == {group["id"]}
    assert {data["kind"] for *_, data in graph.edges(data=True)} == {"copies"}
    assert graph.number_of_edges() == group["ties"]
    assert (tmp_path / "groups.png").stat().st_size > 10_000


def test_the_source_is_read_once(log):
    passes = []

    class Watched(FrameEvents):
        def batches(self, columns):
            passes.append(tuple(columns))
            return super().batches(columns)

    class Once:
        def __getattr__(self, name):
            return getattr(readers.open(str(log)), name)

        def events(self):
            return Watched(pl.read_parquet(log))

    assert groups(Once()).found.groups["type"].to_list() == [COPIES]
    assert len(passes) == 1


def test_a_kind_that_was_named_to_do_harm_does_none(tmp_path):
    lives = [one.with_columns(pl.col("kind").replace(dict.fromkeys(SKILLS, NASTY))) for one in copies(6)]
    one = found([*people(30), *lives])
    write_groups(one, tmp_path)
    plot_groups(one, tmp_path)
    write_table(pl.concat([*people(30), *lives]).sort("at"), tmp_path / "log.parquet")

    told = done("groups", tmp_path / "log.parquet").stdout

    assert NASTY in the_only(one)["shared"]
    assert "skill.use.\\x1b[2J\\u202e=cmd<&>$x$" in told
    assert not {"\x1b", "\u202e"} & set(told)
    nx.read_graphml(tmp_path / "groups.graphml")


@pytest.fixture(scope="module")
def model(lives):
    more = [
        one.with_columns(actor=f"other{script}-" + pl.col("actor")) for script in (8, 9) for one in copies(6, script)
    ]
    rows = Copies().measure(FrameEvents(pl.concat([*lives, *more]).sort("at")))
    actors = rows["actor"].unique(maintain_order=True)
    labels = pl.DataFrame({"actor": actors, "bot": actors.str.contains("copy"), "source": "rater"})
    return CopyDetector(Copies(), folds=3).fit(rows, labels), rows


def explained(model, actor):
    fitted, rows = model
    mine = rows.filter(actor=actor)
    period = mine.head(1)
    case = Explanation(actor, fitted, fitted.score(mine), fitted.explain(period), period, pl.DataFrame())
    return explanation_text(case), period.row(0, named=True)


def test_explain_says_what_an_account_does_as_others_do(model):
    told, row = explained(model, "copy00")

    assert row["alike_with"] > 1
    assert f"\n  Does the same as {row['alike_with']} others at least: {row['shared']}.\n" in told
    assert f"  Walks the same way as {row['same_way_with']} others at least." in told


def test_explain_says_nothing_of_what_a_person_happens_to_share(model):
    told, row = explained(model, "person01")

    assert (row["alike_with"], row["same_way_with"]) == (0, 0)
    assert "Shared with others" not in told
