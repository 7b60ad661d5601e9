"""How much of a workspace a question reads: of everybody only what it takes to know who is asked about."""

import json
import shutil
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

import polars as pl
import pyarrow.parquet as pq
import pytest

import workspaces_made_up as made_up
from commands import done
from gamewarden.pipeline.models import event_model
from gamewarden.store import partitions as stored
from gamewarden.store import verdict_days
from gamewarden.store.maintenance_state import MaintenanceState
from gamewarden.tables import write_table
from gamewarden.verdicts.shortlist import GLANCE
from several_made_up import LOG

pytestmark = pytest.mark.integration

ROWS = 4  # of a row group: of fifty players there are thirteen a day


@dataclass(frozen=True)
class Table:
    """Some columns of one file of results."""

    path: Path
    columns: tuple[str, ...]

    @property
    def room(self):
        return self.path.parts[-4]

    def groups(self, actors=None):
        """The row groups in which one of these actors stands; of nobody in particular all."""
        with pq.ParquetFile(self.path) as file:
            names = [file.read_row_group(at, ["actor"])["actor"].to_pylist() for at in range(file.num_row_groups)]
        return [at for at, some in enumerate(names) if actors is None or {*some} & {*actors}]


class Readings(defaultdict):
    """The row groups that were read of each table, one after the other."""

    def __init__(self):
        super().__init__(list)

    def split(self):
        """Those of everybody, and those of some actors; sealed verdicts name those whom only packets show."""
        results = {table: groups for table, groups in self.items() if table.room != "verdicts"}
        whole = {table for table, groups in results.items() if set(groups) == set(table.groups())}
        return whole, {table: groups for table, groups in results.items() if table not in whole}


@pytest.fixture(scope="module")
def workspace(tmp_path_factory):
    place = tmp_path_factory.mktemp("made")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stored, "ROW_GROUP", ROWS)
        made = made_up.make_workspace(place / "ws", made_up.make_models(place / "models-from"))
        made_up.run_all(made)
    done("--workspace", made.root, "rank", "--quiet")  # what no run needs is measured with the first list
    return made


@pytest.fixture
def readings(monkeypatch):
    """What is read of tables of actors."""
    seen, path = Readings(), []
    rows, batches = stored.read_rows, stored.parquet_batches

    def of_file(at, *asked):
        path[:] = [at]
        return rows(at, *asked)

    def counted(file, columns, groups=None, **more):
        if "actor" in file.schema_arrow.names:
            seen[Table(path[0], tuple(columns))] += range(file.num_row_groups) if groups is None else groups
        return batches(file, columns, groups, **more)

    monkeypatch.setattr(stored, "read_rows", of_file)
    monkeypatch.setattr(verdict_days, "read_rows", of_file)
    monkeypatch.setattr(stored, "parquet_batches", counted)
    return seen


def listed(workspace, *options):
    return [row["actor"] for row in json.loads(done("--workspace", workspace.root, "rank", *options, "--json").stdout)]


def doubt(workspace, period):
    """Let maintenance doubt the scores of a period and of all that follow."""
    model = event_model(workspace.models, None).card
    history = MaintenanceState(workspace.models, model.detector).history()
    history.append({"period": period, "step": "score", "model": model.id})
    history.append({"period": period, "step": "watch", "doubts": [{"says": "All of it is strange."}]})


def test_a_list_reads_few_columns_of_everybodys_scores_and_all_else_of_those_it_shows(workspace, readings):
    shown = listed(workspace, "--top", 2)

    glances, closely = readings.split()
    assert len(shown) == 2
    assert {(one.room, one.columns) for one in glances} == {("scores", GLANCE)}
    assert {one.room for one in closely} == {"scores", "features"}
    assert all(groups == table.groups(shown) for table, groups in closely.items())  # each of them once


def test_a_list_with_a_condition_reads_closely_those_who_may_reach_it(workspace, readings):
    listed(workspace, "--top", 2, "--where", "periods>=1")

    glances, closely = readings.split()
    assert {(one.room, one.columns) for one in glances} == {("scores", GLANCE)}
    bots = [f"bot{number:03}" for number in range(LOG.bots)]
    assert all(set(groups) <= set(table.groups(bots)) for table, groups in closely.items())


def test_a_list_of_nobody_reads_closely_the_highest_alone(workspace, readings):
    told = done("--workspace", workspace.root, "rank", "--probability", 1, "--json").stderr
    highest = told.partition("the highest is ")[2].partition(" ")[0]

    glances, closely = readings.split()
    assert {(one.room, one.columns) for one in glances} == {("scores", GLANCE)}
    assert {one.room for one in closely} == {"scores", "features"}
    assert all(groups == table.groups([highest]) for table, groups in closely.items())


def test_a_doubt_about_days_of_those_further_down_the_list_is_told(workspace, tmp_path):
    shutil.copytree(workspace.root, tmp_path / "ws")
    place = type(workspace).at(tmp_path / "ws")
    *higher, last = listed(place, "--top", 0)
    played = place.root / "logs" / "2026-03-05.parquet"
    write_table(pl.read_parquet(played).filter(~pl.col("actor").is_in(higher)), played)
    shutil.rmtree(place.lake)
    shutil.rmtree(place.results)
    made_up.run_all(place)
    doubt(place, "2026-03-05T00:00:00+00:00")

    told = done("--workspace", place.root, "rank", "--top", 1, "--json")

    assert last not in told.stdout
    assert "gives 2026-03-05: All of it is strange." in told.stderr


def test_a_story_reads_the_row_groups_of_its_actor_alone(workspace, readings):
    done("--workspace", workspace.root, "explain", "bot001", "--detector", "account-day", "--json")

    assert {table.room for table in readings} == {"scores", "features"}
    assert all(groups == table.groups(["bot001"]) for table, groups in readings.items())
