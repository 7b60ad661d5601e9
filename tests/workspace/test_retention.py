"""What is older than [retention] says goes, and does not come again from what is still there."""

import shutil
from datetime import timedelta

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import workspaces_made_up as made_up
from gamewarden.store.lake import Lake
from gamewarden.workspace.proving import show, verify_days
from gamewarden.workspace.retention import tables_at_rest
from gamewarden.workspace.status import status
from workspaces_made_up import LATER, days_of, keep, run_all

pytestmark = pytest.mark.integration

ALL = ["2026-03-02", "2026-03-03", "2026-03-04", "2026-03-05"]
NOTHING = "nothing new"


@pytest.fixture(scope="module")
def at_rest(tmp_path_factory):
    """A workspace that was run once, without limits."""
    place = tmp_path_factory.mktemp("made")
    workspace = made_up.make_workspace(place / "ws", made_up.make_models(place / "models-from"))
    run_all(workspace)
    return workspace


@pytest.fixture
def workspace(at_rest, tmp_path):
    shutil.copytree(at_rest.root, tmp_path / "ws")
    return type(at_rest).at(tmp_path / "ws")


def tables(workspace, room):
    return [one for one in tables_at_rest(workspace.results) if one.directory.parent.name == room]


def days(workspace, room):
    return sorted({day for one in tables(workspace, room) for day in days_of(one)})


def files(workspace, room):
    """Rows by partition of files that stay where they are."""
    return {
        (one.directory.name, name): part.rows
        for one in tables(workspace, room)
        for name, part in one.all().items()
        if name.startswith("part=")
    }


def sealed(workspace):
    return [name.removeprefix("day=") for name in workspace.verdicts.current()]


def scores(workspace, at=LATER):
    scored = workspace.scored(at)
    found = [scored.table(model).table(scored.partitions(model)) for model in scored.models]
    return pl.concat(found).sort("actor", "since", "detector")


def computed(said):
    return {name: says for name, says in said.items() if not name.startswith(("take in", "tidy", "maintain"))}


def test_without_limits_everything_is_kept_and_nothing_is_said_of_it(workspace):
    assert "tidy" not in run_all(workspace)
    assert days(workspace, "features") == days(workspace, "scores") == sealed(workspace) == ALL


@pytest.mark.parametrize("room", ["features", "scores"])
def test_results_that_are_too_old_go_and_are_not_computed_again(workspace, room):
    limited = keep(workspace, **{room: "8d"})

    assert room in run_all(limited)["tidy"]
    assert days(limited, room) == ALL[2:]
    second = run_all(limited)
    assert set(computed(second).values()) == {NOTHING}
    assert second["tidy"] == "nothing is too old"
    assert days(limited, room) == ALL[2:]


def test_kinds_go_with_the_features(workspace):
    limited = keep(workspace, features="8d")

    run_all(limited)

    assert days(limited, "kinds") == ALL[2:]


def test_results_of_files_go_too_and_the_files_are_not_measured_again(workspace):
    before = files(workspace, "features")
    limited = keep(workspace, features="8d", scores="8d")

    run_all(limited)

    left = files(limited, "features")
    assert left.keys() == before.keys()
    assert sum(1 for rows in left.values() if not rows) == 2  # packets of two days
    assert run_all(limited)["measure files"] == NOTHING
    assert run_all(limited, fresh=True)["tidy"] == "nothing is too old"
    assert files(limited, "features") == left
    assert all(rows for rows in files(limited, "scores").values())


def test_results_of_recipes_and_models_that_nobody_uses_any_more_go_as_well(workspace):
    table = next(one for one in tables(workspace, "features") if days_of(one))
    old = table.directory.with_name("once@0123456789ab")
    shutil.copytree(table.directory, old)

    run_all(keep(workspace, features="8d"))

    assert [days_of(one) for one in tables(workspace, "features") if one.directory == old] == [ALL[2:]]


def test_scores_outlive_their_features(workspace):
    before = scores(workspace)
    limited = keep(workspace, features="8d")

    run_all(limited)

    assert_frame_equal(scores(limited), before)
    assert days(limited, "scores") == ALL


def test_features_outlive_their_events_and_keep_their_scores(workspace):
    before = scores(workspace)
    limited = keep(workspace, events="8d")

    assert "events of 2 days" in run_all(limited)["tidy"]

    assert Lake(limited.lake).span[0] >= (LATER - timedelta(days=8)).timestamp() * 1e6
    assert_frame_equal(scores(limited), before)
    assert set(computed(run_all(limited)).values()) == {NOTHING}
    assert days(limited, "features") == sealed(limited) == ALL


def test_a_new_model_scores_features_whose_events_are_gone(workspace):
    limited = keep(workspace, events="8d")
    run_all(limited)
    before = scores(limited)

    for one in tables(limited, "scores"):
        shutil.rmtree(one.directory)
    run_all(limited)

    assert_frame_equal(scores(limited), before)


def test_late_events_of_a_day_that_is_gone_change_nothing_of_it(workspace):
    limited = keep(workspace, events="8d")
    run_all(limited)
    before = scores(limited)
    events = pl.read_parquet(limited.root / "logs" / f"{ALL[0]}.parquet").head(50)
    events.with_columns(pl.col("seq") + 1_000_000).write_parquet(limited.root / "logs" / "late.parquet")

    run_all(limited)

    assert_frame_equal(scores(limited), before)
    assert set(computed(run_all(limited)).values()) == {NOTHING}


def test_a_longer_limit_lets_what_is_still_there_be_computed_again(workspace):
    run_all(keep(workspace, features="8d", scores="8d"))

    longer = keep(workspace, features="20d", scores="20d")
    run_all(longer)

    assert days(longer, "features") == days(longer, "scores") == ALL


def test_a_longer_limit_leaves_what_outlived_its_events(workspace):
    run_all(keep(workspace, events="8d"))
    longer = keep(workspace, events="20d")
    before = scores(longer)

    assert set(computed(run_all(longer)).values()) == {NOTHING}
    assert_frame_equal(scores(longer), before)
    assert before["since"].min().date().isoformat() == ALL[0]


def test_verdicts_that_are_too_old_go_with_every_bundle_and_are_not_given_again(workspace):
    workspace.judged(LATER + timedelta(minutes=1)).judge(fresh=True)  # a second bundle beside the first
    limited = keep(workspace, verdicts="8d")

    assert "verdicts of 2 days" in run_all(limited)["tidy"]

    assert sealed(limited) == ALL[2:]
    assert limited.verdicts.dropped() == {f"day={day}" for day in ALL[:2]}
    assert sorted(path.name for path in limited.verdicts.directory.glob("day=*")) == [f"day={day}" for day in ALL[2:]]
    assert run_all(limited)["judge"] == NOTHING
    assert [seal.day for seal in limited.judged(LATER).judge(fresh=True).seals] == [f"day={day}" for day in ALL[2:]]
    assert run_all(keep(limited, verdicts="90d"))["judge"] == NOTHING
    assert verify_days(limited.verdicts, limited.models)["holds"].to_list() == [True, True]
    assert limited.judged(LATER).verdicts()["since"].min().date().isoformat() == ALL[2]


def test_what_is_left_of_a_dropped_day_by_a_crash_goes_with_the_next_run(workspace):
    limited = keep(workspace, verdicts="8d")
    day = limited.verdicts.directory / f"day={ALL[0]}"
    shutil.copytree(day, limited.root / "aside")
    run_all(limited)
    shutil.copytree(limited.root / "aside", day)

    run_all(limited)

    assert not day.exists()


def test_a_superseded_bundle_stays_as_long_as_its_day(workspace):
    before = workspace.verdicts.current()[f"day={ALL[3]}"]
    workspace.judged(LATER + timedelta(minutes=1)).judge(fresh=True)

    run_all(keep(workspace, verdicts="8d"))

    assert workspace.verdicts.current()[f"day={ALL[3]}"].bundle != before.bundle
    assert not list(workspace.verdicts.faults(before))


def test_what_a_kept_verdict_rests_on_stays_though_events_features_and_scores_go(workspace):
    limited = keep(workspace, events="1d", features="1d", scores="1d")

    run_all(limited)

    assert Lake(limited.lake).span is None
    assert days(limited, "features") == days(limited, "scores") == []
    assert sealed(limited) == ALL
    assert verify_days(limited.verdicts, limited.models)["holds"].all()
    seal = limited.verdicts.current()[f"day={ALL[0]}"]
    named = limited.verdicts.table(seal).drop_nulls("verdict")["verdict"][0]
    assert show(limited.verdicts, named).evidence.height
    assert set(computed(run_all(limited)).values()) <= {NOTHING}


def test_the_scores_of_maintenance_go_with_the_scores(workspace):
    kept = workspace.models / "maintenance" / "account-day" / "scores"
    before = sorted(path.name[:10] for path in kept.iterdir())
    limited = keep(workspace, scores="8d")

    run_all(limited)

    assert before[0] == ALL[0]
    assert sorted(path.name[:10] for path in kept.iterdir()) == [day for day in before if day >= ALL[2]]


def test_the_status_says_what_is_kept_how_long_and_which_models_kept_verdicts_miss(workspace):
    limited = keep(workspace, events="8d")
    run_all(limited)

    assert status(limited, LATER).retention == (
        "events are kept for 8d",
        "features are kept for ever",
        "scores are kept for ever",
        "verdicts are kept for ever",
        "decisions are kept for ever",
    )
    model = next(limited.models.glob("traffic@*.json"))
    model.rename(limited.root / "aside.json")
    told = [line for line in status(limited, LATER).next_steps if model.stem in line]
    assert told == [f"put {model.stem} back into {limited.models}: the verdicts of 4 days rest on it"]


def test_a_day_that_a_border_cuts_is_not_measured_from_what_is_left_of_it(workspace):
    """By the clock of Seoul a day begins nine hours before that of UTC."""
    limited = keep(workspace, events="8d")
    path = limited.root / "warden.toml"
    path.write_text(path.read_text() + '\n[read]\ntime_zone = "Asia/Seoul"\n')
    limited = made_up.again(limited)

    first = limited.kept(LATER).events

    clock = limited.days(LATER).clock_of(_activity("Asia/Seoul"))
    found = limited.days(LATER).periods(clock)
    assert found
    assert all(period.since.timestamp() * 1e6 >= first for period in found)


def _activity(time_zone):
    from gamewarden.features.activity import Activity

    return Activity(every=86_400_000_000, time_zone=time_zone)
