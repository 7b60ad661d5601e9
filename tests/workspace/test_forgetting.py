"""A player who is forgotten is in no byte of a workspace, no file brings them back, and numbers without a name stay."""

import json
import re
import shutil
from datetime import timedelta

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import workspaces_made_up as made_up
from commands import done, run
from gamewarden.errors import VerdictError
from gamewarden.store import verdict_days
from gamewarden.store.lake import Lake
from gamewarden.workspace import forgetting
from gamewarden.workspace.forgetting import begin, begun, finish, held
from gamewarden.workspace.place import Workspace
from gamewarden.workspace.proving import show, verify_days
from gamewarden.workspace.retention import tables_at_rest
from several_made_up import LOG, packets
from workspaces_made_up import LATER, run_all

pytestmark = pytest.mark.integration

ACTOR, OTHER = "bot001", "bot003"
SOON = LATER + timedelta(hours=1)
OWN = ("logs", "packets", "labels.csv", "accounts.csv", "warden.toml")  # the operator's own files


@pytest.fixture(scope="module")
def at_rest(tmp_path_factory):
    """A workspace that was run, and whose days were judged twice."""
    place = tmp_path_factory.mktemp("made")
    workspace = made_up.make_workspace(place / "ws", made_up.make_models(place / "models-from"))
    run_all(workspace)
    workspace.judged(LATER + timedelta(minutes=1)).judge(fresh=True)
    return workspace


@pytest.fixture
def workspace(at_rest, tmp_path):
    shutil.copytree(at_rest.root, tmp_path / "ws")
    return Workspace.at(tmp_path / "ws")


def forget(workspace, *actors, at=SOON):
    begin(workspace, actors, at)
    return finish(workspace, at)


def naming(workspace, actor):
    """The files of a workspace that have a name in their bytes or in their tables, but for the operator's own."""
    found = []
    for path in sorted(workspace.root.rglob("*")):
        place = path.relative_to(workspace.root)
        if not path.is_file() or place.parts[0] in OWN or path.match("models/traffic@*.json"):
            continue
        texts = [path.read_bytes()]
        if path.suffix == ".parquet":
            table = pl.read_parquet(path, glob=False)
            texts += [str(table[name].to_list()).encode() for name in table.columns if table[name].dtype != pl.Int64]
        if any(actor.encode() in text for text in texts) or actor in str(place):
            found.append(str(place))
    return found


def rows_of_others(workspace):
    """All results but those of the actor."""
    return {
        f"{table.directory.parent.name}/{table.directory.name}/{name}": table.read(one).filter(pl.col("actor") != ACTOR)
        for table in tables_at_rest(workspace.results)
        if "actor" in table.schema.columns
        for name, one in table.all().items()
    }


def verdicts(workspace):
    """The verdicts of every bundle, by the day and its place among the day's."""
    return [workspace.verdicts.table(seal) for seal in workspace.verdicts.seals()]


def test_a_name_is_found_where_it_is(workspace):
    rooms = {"/".join(place.split("/")[:2]) for place in naming(workspace, ACTOR)}

    assert {"results/features", "results/scores", "results/verdicts", "models/maintenance"} <= rooms
    assert any(room.startswith("lake/day=") for room in rooms)


def test_a_forgotten_player_is_in_no_byte_of_the_workspace(workspace):
    forget(workspace, ACTOR)

    assert naming(workspace, ACTOR) == []


def test_a_forgotten_player_is_in_no_file_either_that_a_killed_run_has_left(workspace):
    for table in tables_at_rest(workspace.results):
        one = next(iter(table.all().values()))
        (table.directory / "day=2020-01-01").mkdir()
        shutil.copy(table.directory / one.file, table.directory / "day=2020-01-01" / f"{'0' * 16}.parquet")

    forget(workspace, ACTOR)

    assert naming(workspace, ACTOR) == []


def test_the_results_of_all_others_stay_as_they_are(workspace):
    before = rows_of_others(workspace)

    forget(workspace, ACTOR)

    after = rows_of_others(workspace)
    assert after.keys() == before.keys()
    for name, rows in before.items():
        assert_frame_equal(after[name], rows)


def test_a_verdict_stays_as_numbers_under_a_name_that_nobody_can_turn_back(workspace):
    before = verdicts(workspace)

    forget(workspace, ACTOR)

    after, stub = verdicts(workspace), None
    assert len(after) == len(before) == 8  # four days, each judged twice
    for old, new in zip(before, after, strict=True):
        assert_frame_equal(new.drop("actor"), old.drop("actor"))
        changed = new.filter(new["actor"] != old["actor"])["actor"].to_list()
        assert len(changed) == 1
        assert stub in {None, changed[0]}
        stub = changed[0]
    assert re.fullmatch(r"forgotten-[0-9a-f]{32}", stub)


def test_sealed_days_still_verify_and_say_that_somebody_was_forgotten(workspace):
    before = verify_days(workspace.verdicts, workspace.models)

    forget(workspace, ACTOR)

    after = verify_days(workspace.verdicts, workspace.models)
    assert before["holds"].all()
    assert after["holds"].all(), after["says"].to_list()
    assert after["day"].to_list() == before["day"].to_list()
    assert after["judged"].to_list() == before["judged"].to_list()
    assert all("1 player forgotten" in line for line in after["says"])
    for seal in workspace.verdicts.seals():
        assert not list(workspace.verdicts.faults(seal))
        assert (seal.forgotten, seal.resealed) == (1, SOON.isoformat())


def test_a_stub_that_is_removed_from_a_day_shows(workspace):
    forget(workspace, ACTOR)
    seal = next(iter(workspace.verdicts.current().values()))
    path = workspace.verdicts.directory / seal.bundle / "verdicts.parquet"
    pl.read_parquet(path).filter(~pl.col("actor").is_in(workspace.verdicts.stubs(seal))).write_parquet(path)

    told = verify_days(workspace.verdicts, workspace.models).row(0, named=True)

    assert not told["holds"]
    assert "verdicts.parquet is not what was sealed" in told["says"]


def test_the_verdict_of_a_forgotten_player_is_told_in_one_line(workspace):
    seal = next(iter(workspace.verdicts.current().values()))
    mine = workspace.verdicts.table(seal, actors=[ACTOR]).drop_nulls("verdict")["verdict"][0]

    forget(workspace, ACTOR)

    with pytest.raises(VerdictError, match=r"whom it was about has been forgotten .* false-positive rate of"):
        show(workspace.verdicts, mine)


def test_lists_of_verdicts_leave_a_forgotten_player_out_and_keep_one_who_only_is_called_so(workspace):
    before = workspace.judged(SOON).verdicts()

    forget(workspace, ACTOR)

    assert_frame_equal(workspace.judged(SOON).verdicts(), before.filter(pl.col("actor") != ACTOR))


def test_the_next_run_measures_the_days_anew_judges_none_again_and_brings_nobody_back(workspace):
    before = rows_of_others(workspace)
    seals = workspace.verdicts.current()

    forget(workspace, ACTOR)
    sealed = workspace.verdicts.current()
    said = run_all(workspace, SOON)

    assert said["measure lake"].startswith("4 days")
    assert said["judge"] == "nothing new"
    assert workspace.verdicts.current() == sealed
    assert seals.keys() == sealed.keys()
    assert naming(workspace, ACTOR) == []
    after = rows_of_others(workspace)
    assert after.keys() == before.keys()
    for name, rows in before.items():
        assert_frame_equal(after[name], rows)
    assert set(run_all(workspace, SOON).values()) == {"nothing new"}


def test_files_that_stay_where_they_are_do_not_bring_a_player_back(workspace):
    forget(workspace, ACTOR)

    run_all(workspace, SOON, fresh=True)
    more = packets().with_columns(pl.col("at") + timedelta(days=4)).filter(pl.col("at").dt.day() == 6)
    more.write_parquet(workspace.root / "packets" / "more.parquet")
    events = LOG.events().with_columns(pl.col("at") + timedelta(days=4), pl.col("seq") + 10_000_000)
    events.filter(pl.col("at").dt.day() == 6).write_parquet(workspace.root / "logs" / "more.parquet")
    said = run_all(workspace, SOON)

    assert "1 file" in said["take in packets"]
    assert naming(workspace, ACTOR) == []
    assert naming(workspace, OTHER)


def test_a_workspace_without_a_log_forgets_as_well(at_rest, tmp_path):
    settings = made_up.SETTINGS.replace('locator = "logs/*.parquet"', 'locator = "none/*.parquet"')
    settings = re.sub(r"\[\[source\]\]\nname = \"game\".*?\n\n", "", settings, flags=re.DOTALL)
    workspace = made_up.make_workspace(tmp_path / "packets-only", at_rest.root, settings=settings)
    for path in [*workspace.models.glob("account-day@*"), *workspace.models.glob("promotions*")]:
        path.unlink()
    shutil.rmtree(workspace.models / "maintenance")
    run_all(workspace)
    assert naming(workspace, ACTOR)

    forget(workspace, ACTOR)

    assert naming(workspace, ACTOR) == []
    run_all(workspace, SOON, fresh=True)
    assert naming(workspace, ACTOR) == []


def test_results_whose_events_are_gone_are_cleaned_too(workspace):
    limited = made_up.keep(workspace, events="8d")
    run_all(limited)

    forget(limited, ACTOR)
    run_all(limited, SOON)

    assert naming(limited, ACTOR) == []
    assert verify_days(limited.verdicts, limited.models)["holds"].all()


def test_results_of_recipes_and_models_that_nobody_uses_any_more_are_cleaned(workspace):
    for table in list(tables_at_rest(workspace.results)):
        if table.directory.parent.name != "desk":
            shutil.copytree(table.directory, table.directory.with_name(f"once-{table.directory.name}"))

    forget(workspace, ACTOR)

    assert naming(workspace, ACTOR) == []


def test_two_players_are_forgotten_one_after_the_other(workspace):
    forget(workspace, ACTOR)
    forget(workspace, OTHER)

    assert naming(workspace, ACTOR) == naming(workspace, OTHER) == []
    told = verify_days(workspace.verdicts, workspace.models)
    assert told["holds"].all()
    assert all("2 players forgotten" in line for line in told["says"])


class KilledError(BaseException):
    """As a process dies: nothing catches it."""


PLACES = {  # where the work can die
    "_from_lake": forgetting,
    "put": forgetting.Partitions,
    "rewrite_scores": forgetting._Looking,
    "rewrite_notes": forgetting._Looking,
    "replace": verdict_days.VerdictDays,
    "_log": verdict_days.VerdictDays,
    "_remember": verdict_days.VerdictDays,
    "_strike_out": forgetting,
}


@pytest.mark.parametrize("where", PLACES)
@pytest.mark.parametrize("nth", [0, 2])
def test_killed_in_the_middle_and_run_again_it_ends_clean(workspace, monkeypatch, where, nth):
    before = rows_of_others(workspace)
    begin(workspace, [ACTOR], SOON)
    with monkeypatch.context() as patched:
        died = _die_after(patched, where, nth)
        try:
            finish(workspace, SOON)
        except KilledError:
            assert begun(workspace) is not None
    assert died or nth

    said = run_all(workspace, SOON + timedelta(minutes=1))

    assert begun(workspace) is None
    assert not died or "forgotten" in said["forget"]
    assert naming(workspace, ACTOR) == []
    assert verify_days(workspace.verdicts, workspace.models)["holds"].all()
    assert said["judge"] == "nothing new"
    bundles = {str(path.relative_to(workspace.verdicts.directory)) for path in workspace.verdicts.directory.glob("*/*")}
    assert bundles == {seal.bundle for seal in workspace.verdicts.seals()}
    for name, rows in rows_of_others(workspace).items():
        assert_frame_equal(rows, before[name])


def _die_after(patched, where, nth):
    """Die in the call after so many that were let through; a list that says whether it happened."""
    real, calls, died = getattr(PLACES[where], where), [], []

    def dying(*arguments, **options):
        if len(calls) == nth:
            died.append(where)
            raise KilledError
        calls.append(where)
        return real(*arguments, **options)

    patched.setattr(PLACES[where], where, dying)
    return died


def test_the_command_asks_first_and_says_what_there_is_and_what_it_leaves(workspace):
    told = done("--workspace", workspace.root, "forget", ACTOR, "--dry-run").stdout

    assert "8 verdicts" in told
    assert "labels.csv" in "".join(told.split())
    assert naming(workspace, ACTOR)
    refused = run("--workspace", workspace.root, "forget", ACTOR)
    assert refused.returncode == 1
    assert naming(workspace, ACTOR)
    said = done("--workspace", workspace.root, "forget", ACTOR, "--yes").stdout
    assert "it is forgotten" in said
    assert naming(workspace, ACTOR) == []
    again = done("--workspace", workspace.root, "forget", ACTOR, "--yes").stdout
    assert "0 events" in again


def test_somebody_nobody_has_seen_is_not_forgotten_by_mistake(workspace):
    ended = run("--workspace", workspace.root, "forget", "bto001", "--yes")

    assert ended.returncode == 1
    assert "nothing rests of 'bto001'" in ended.stderr
    assert json.loads((workspace.lake / "lake.json").read_text())["forgotten"] == []


def test_what_is_told_beforehand_is_what_there_is(workspace):
    found = held(workspace, [ACTOR])

    assert (
        found.events
        == pl.concat(
            pl.from_arrow(batch) for batch in Lake(workspace.lake).events(actors=[ACTOR]).batches(["actor"])
        ).height
    )
    assert found.verdicts == 8
    assert found.maintenance > 0
    assert any("labels.csv" in name for name in found.files)
    assert any("models/traffic@" in name for name in found.files)  # it names the traces that it learned from
