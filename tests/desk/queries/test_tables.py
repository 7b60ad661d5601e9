"""What the desk reads rests beside the verdicts: counted once, written anew when it changed, gone when it has to go."""

import shutil
from collections import Counter
from datetime import UTC, datetime, timedelta

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rich_made_up
from gamewarden.errors import ReadError
from gamewarden.features.day_counts import DayCounts
from gamewarden.tables import TIME, FrameEvents, write_table
from gamewarden.workspace.desk_tables import DeskTables, DeskWriting, write_desk
from gamewarden.workspace.forgetting import begin, finish
from gamewarden.workspace.place import Workspace
from gamewarden.workspace.rest import DESK, HOUR_COLUMNS, OTHER_KINDS
from workspaces_made_up import LATER, keep, run_all

ALL = ["day=2026-03-02", "day=2026-03-03", "day=2026-03-04", "day=2026-03-05"]
BEGIN = datetime(2026, 3, 2, tzinfo=UTC)
SOON = LATER + timedelta(hours=1)


@pytest.fixture(scope="module")
def at_rest(tmp_path_factory):
    """A workspace that was run once."""
    return rich_made_up.run_rich(tmp_path_factory.mktemp("made"))


@pytest.fixture
def workspace(at_rest, tmp_path):
    shutil.copytree(at_rest.root, tmp_path / "ws")
    return Workspace.at(tmp_path / "ws")


def of_day(day=2):
    events = rich_made_up.rich_events()
    return events.filter(pl.col("at").dt.day() == day)


EVENT = st.fixed_dictionaries(
    {
        "actor": st.sampled_from(["a", "b", "c"]),
        "minute": st.integers(0, 24 * 60 - 1),
        "kind": st.sampled_from(["chat", "move", "rare"]),
        "zone": st.sampled_from([None, "Aden", "Dion"]),
        "x": st.none() | st.floats(-3000, 3000, width=32),
        "y": st.none() | st.floats(-3000, 3000, width=32),
        "level": st.none() | st.integers(1, 90),
        "amount": st.none() | st.integers(-50, 50).map(float),
        "other": st.sampled_from([None, "b", "z"]),
        "ip": st.sampled_from([None, "1.1.1.1", "2.2.2.2"]),
    }
)


def counted(events, batch, zone="UTC"):
    times = [BEGIN + timedelta(minutes=one["minute"]) for one in events]
    rows = [{**one, "at": at} for one, at in zip(events, times, strict=True)]
    kinds = {"at": TIME, "level": pl.Int16, "x": pl.Float32, "y": pl.Float32, "amount": pl.Float64}
    texts = dict.fromkeys(("actor", "kind", "zone", "other", "ip"), pl.String)
    frame = pl.DataFrame(rows, schema={**texts, **kinds})
    counts = DayCounts(["chat", "move"], other_kinds=OTHER_KINDS, time_zone=zone, suspected=["b"])
    return counts.read(FrameEvents(frame, batch)), rows


@given(st.lists(EVENT, min_size=1, max_size=40), st.integers(1, 40))
def test_what_is_counted_is_what_is_there_however_it_is_cut_into_batches(events, batch):
    counts, rows = counted(events, batch)

    hours = Counter((one["actor"], one["at"].hour) for one in rows)
    told = {(row["actor"], at): row[name] for row in counts.hours().to_dicts() for at, name in enumerate(HOUR_COLUMNS)}
    assert {key: n for key, n in told.items() if n} == hours
    kinds = Counter((one["actor"], one["kind"] if one["kind"] != "rare" else OTHER_KINDS) for one in rows)
    assert {(row["actor"], row["kind"]): row["n"] for row in counts.mix().to_dicts()} == kinds
    seen = Counter((one["actor"], one["ip"]) for one in rows if one["ip"])
    assert {(row["actor"], row["address"]): row["n"] for row in counts.addresses().to_dicts()} == seen
    for row in counts.hours().to_dicts():
        levels = [one["level"] for one in rows if one["actor"] == row["actor"] and one["level"] is not None]
        assert row["level"] == (max(levels) if levels else None)


@given(st.lists(EVENT, min_size=1, max_size=40), st.integers(1, 40))
def test_what_somebody_did_with_another_adds_up(events, batch):
    counts, rows = counted(events, batch)

    for edge in counts.edges().to_dicts():
        mine = [one for one in rows if all(one[name] == edge[name] for name in ("actor", "other", "kind"))]
        amounts = [one["amount"] for one in mine if one["amount"] is not None]
        assert edge["n"] == len(mine)
        assert edge["amount"] == (sum(amounts) if amounts else None)
        assert (edge["first"], edge["last"]) == (min(one["at"] for one in mine), max(one["at"] for one in mine))
    assert counts.edges()["n"].sum() == sum(one["other"] is not None for one in rows)


@given(st.lists(EVENT, min_size=1, max_size=40), st.integers(1, 40))
def test_squares_hold_every_place_once_and_no_zone_is_more_than_65_across(events, batch):
    counts, rows = counted(events, batch)

    cells = counts.cells()
    placed = [one for one in rows if None not in (one["zone"], one["x"], one["y"])]
    assert cells["n"].sum() == len(placed)
    assert cells["suspected"].sum() == sum(one["actor"] == "b" for one in placed)
    for zone, side in cells.select("zone", "side").unique().rows():
        mine = cells.filter(zone=zone)
        assert mine["side"].n_unique() == 1
        assert all(mine[name].max() - mine[name].min() < 66 for name in "xy")
        for one in placed:
            if one["zone"] == zone:
                assert mine.filter(x=one["x"] // side, y=one["y"] // side).height == 1


def test_hours_are_those_of_the_workspaces_own_clock():
    event = {"actor": "a", "minute": 0, "kind": "chat"}
    blank = dict.fromkeys(("zone", "x", "y", "level", "amount", "other", "ip"))
    counts, _ = counted([{**event, **blank}], 1, "Asia/Seoul")

    assert counts.hours()["h09"].to_list() == [1]


def test_every_judged_day_is_listed_with_what_each_account_did(at_rest):
    tables = DeskTables(at_rest)
    rows = tables.table("accounts").filter(pl.col("since") == BEGIN)
    verdicts = at_rest.verdicts.table(at_rest.verdicts.current()[ALL[0]])
    one = rows.filter(actor="bot003").to_dicts()[0]

    assert [day.name for day in tables.days()] == ALL
    assert rows["actor"].to_list() == verdicts["actor"].to_list()
    assert rows["probability"].to_list() == verdicts["probability"].to_list()
    assert (one["zone"], one["level"], one["sharing"], one["addresses"]) == ("Heine", 5, 2, 1)
    assert one["events"] == of_day().filter(actor="bot003").height
    assert one["play_minutes"] > 0
    assert one["self_sim"] is not None


def test_who_reaches_a_point_has_a_detector_and_a_reason_and_nobody_else(at_rest):
    rows = DeskTables(at_rest).table("accounts")
    chosen = rows.filter(pl.col("verdict").is_not_null())

    assert 0 < chosen.height < rows.height
    assert chosen.select("detector", "reason").null_count().row(0) == (0, 0)
    assert rows.filter(pl.col("verdict").is_null())["detector"].null_count() == rows.height - chosen.height


def test_the_kinds_of_an_account_are_the_bits_that_the_day_names(at_rest):
    tables = DeskTables(at_rest)
    kinds = tables.days()[0].about["kinds"]
    bits = dict(tables.table("accounts").filter(pl.col("since") == BEGIN).select("actor", "kinds").rows())
    played = of_day().group_by("actor").agg(pl.col("kind").unique())

    for actor, seen in played.rows():
        assert {kind for place, kind in enumerate(kinds) if bits[actor] >> place & 1} == set(seen)


def test_one_accounts_rows_are_found_without_those_of_others(at_rest):
    found = DeskTables(at_rest).table("edges", actors=["bot002"])

    assert found["actor"].unique().to_list() == ["bot002"]
    days = rich_made_up.rich_events().filter(pl.col("other").is_not_null(), actor="bot002")["at"].dt.date()
    assert found["since"].n_unique() == days.n_unique()
    assert DeskTables(at_rest).table("hours", (BEGIN, BEGIN + timedelta(days=1)), ["bot002"]).height == 1


@pytest.mark.parametrize("name", [name for name, schema in DESK.items() if "actor" in schema.columns])
def test_some_accounts_rows_are_those_of_the_whole_table(at_rest, name):
    tables, some = DeskTables(at_rest), ["bot002", "human030", "nobody", "\ud800"]

    found = tables.table(name, actors=some)
    assert found.equals(tables.rest(name).table(actors=some))
    assert found.equals(tables.table(name).filter(pl.col("actor").is_in(some[:3])))
    assert tables.table(name, actors=some, columns=["actor"]).columns == ["actor"]
    assert tables.table(name, (LATER, None), some).schema == found.schema


def test_a_damaged_table_is_said_to_be_so(workspace):
    tables = DeskTables(workspace)
    path = tables.rest("hours").directory / tables.days(name="hours")[1].file
    path.write_bytes(b"PAR1" + path.read_bytes()[4:-200] + bytes(200))

    with pytest.raises(ReadError, match="is damaged"):
        tables.table("hours", actors=["bot002"])


def test_what_is_written_is_not_written_again(workspace):
    assert write_desk(workspace, LATER) == []
    assert run_all(workspace)["list"] == "nothing new"


def test_days_that_were_judged_before_are_filled_by_the_next_run(workspace):
    shutil.rmtree(workspace.results / "desk")

    assert run_all(workspace)["list"] == "4 days listed"
    assert [day.name for day in DeskTables(workspace).days()] == ALL


def test_a_late_file_replaces_its_day_alone(workspace):
    late = of_day().filter(actor="bot002").with_columns(actor=pl.lit("newcomer"))
    write_table(late, workspace.root / "logs" / "late.parquet")
    before = {one.name: one.came_from for one in DeskTables(workspace).days()}

    assert run_all(workspace)["list"] == "1 day listed"
    after = {one.name: one.came_from for one in DeskTables(workspace).days()}
    assert [day for day in ALL if after[day] != before[day]] == ALL[:1]
    assert "newcomer" in DeskTables(workspace).table("hours")["actor"]


def test_whoever_is_forgotten_is_in_no_table_of_the_desk_not_even_as_a_partner(workspace):
    assert "bot003" in DeskTables(workspace).table("edges")["other"]
    others = {name: DeskTables(workspace).table(name) for name in DESK}

    begin(workspace, ["bot003"], SOON)
    finish(workspace, SOON)

    for name in DESK:
        left = DeskTables(workspace).table(name)
        texts = [left[column].to_list() for column in left.columns if left[column].dtype == pl.String]
        assert not any("bot003" in column for column in texts)
        if name in {"hours", "mix", "addresses"}:
            assert left.equals(others[name].filter(pl.col("actor") != "bot003"))
    run_all(workspace, SOON)
    assert "bot003" not in DeskTables(workspace).table("accounts")["actor"]


def test_verdicts_take_their_lists_with_them_and_features_their_counts(workspace):
    limited = keep(workspace, verdicts="8d", features="9d")

    run_all(limited)

    assert [day.name for day in DeskTables(limited).days()] == ALL[2:]
    assert [day.name for day in DeskTables(limited).days(name="mix")] == ALL[1:]
    assert run_all(limited)["list"] == "nothing new"


def test_a_list_outlives_the_events_and_features_it_was_made_of(workspace):
    before = DeskTables(workspace).table("accounts")
    limited = keep(workspace, features="8d", events="8d")

    run_all(limited)
    run_all(limited)

    assert DeskTables(limited).table("accounts").equals(before)


def test_a_workspace_without_events_lists_verdicts_alone(workspace):
    shutil.rmtree(workspace.results / "desk")
    shutil.rmtree(workspace.lake)

    assert DeskWriting(workspace, LATER).write() == ALL
    rows = DeskTables(workspace).table("accounts")
    assert rows["probability"].count() > 0
    assert rows["events"].count() == 0
