"""Features that look back in a workspace: parts of days rest, and a day's rows are made of those of its week."""

from datetime import UTC, datetime, timedelta

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from gamewarden import readers
from gamewarden.features.copies.recipe import Copies
from gamewarden.features.flows import Flows
from gamewarden.store.lake import Lake
from gamewarden.tables import write_table
from gamewarden.workspace.days import LakeDays
from gamewarden.workspace.forgetting import begin, finish, held
from gamewarden.workspace.kept import Kept
from gamewarden.workspace.place import Workspace
from gamewarden.workspace.rest import Rest, recipe_of
from gamewarden.workspace.retention import tidy

FIRST = datetime(2026, 3, 2, 12, tzinfo=UTC)
DAYS = 10
NOW = FIRST + timedelta(days=DAYS)
FLOWS = Flows()


def events(days=range(DAYS)):
    """Every day each of five farmers plays two hours and hands over gold to a hub; two friends give and take."""
    rows = []
    for day in days:
        begin = FIRST + timedelta(days=day)
        for farmer in range(5):
            rows += [
                (f"f{farmer}", begin + timedelta(minutes=10 * step), "combat.kill", None, None) for step in range(12)
            ]
            rows.append((f"f{farmer}", begin + timedelta(hours=2), "trade.give", "hub", -100.0 - farmer))
        rows += [
            ("hub", begin, "session.login", None, None),
            ("ann", begin, "trade.give", "bob", -10.0),
            ("bob", begin, "trade.give", "ann", -12.0),
        ]
    schema = {"actor": pl.String, "at": pl.Datetime("us", "UTC"), "kind": pl.String, "other": pl.String}
    return pl.DataFrame(rows, schema={**schema, "amount": pl.Float64}, orient="row")


def take_in(lake, table, place, name):
    write_table(table, place / f"{name}.parquet")
    Lake(lake).add(readers.open(str(place / f"{name}.parquet")).log())


@pytest.fixture
def place(tmp_path):
    """A lake of ten days, and where results rest."""
    take_in(tmp_path / "lake", events(), tmp_path, "log")
    return tmp_path


def days_at(place, now=NOW, kept=None):
    return LakeDays(Lake(place / "lake"), Rest(place / "results"), now, kept=kept or Kept())


def whole(place):
    """Rows of all events at once."""
    return FLOWS.measure(Lake(place / "lake").events())


def test_rows_from_parts_at_rest_are_those_of_the_whole_log(place):
    days = days_at(place)

    days.measure([FLOWS])

    assert_frame_equal(days.table(FLOWS).sort("actor", "since"), whole(place))
    assert len(days.rest.parts(recipe_of(FLOWS)).all()) == DAYS
    assert days.measure([FLOWS]) == set()


@pytest.mark.parametrize("feature", [Copies(min_moments=5), Flows(back=2)], ids=lambda one: one.name)
def test_parts_of_every_kind_can_rest(place, feature):
    days = days_at(place)

    days.measure([feature])

    whole = feature.measure(Lake(place / "lake").events())
    assert whole.height
    assert_frame_equal(days.table(feature).sort("actor", "since"), whole)
    assert feature.about_others


def test_a_window_is_measured_with_the_days_before_it(place):
    last = FIRST + timedelta(days=DAYS - 1)

    days = days_at(place)
    days.measure([FLOWS], (last.replace(hour=0), None))

    wanted = whole(place).filter(pl.col("since") >= last.replace(hour=0))
    assert_frame_equal(days.table(FLOWS).sort("actor", "since"), wanted)
    assert len(days.rest.parts(recipe_of(FLOWS)).all()) == FLOWS.back


def test_late_events_of_a_day_change_its_parts_and_the_rows_of_the_days_after_it(place):
    days_at(place).measure([FLOWS])
    late = pl.DataFrame(
        [("f9", FIRST + timedelta(days=2, hours=1), "trade.give", "hub", -5.0)], schema=events().schema, orient="row"
    )
    take_in(place / "lake", late, place, "late")

    days = days_at(place)
    assert [one.since.day for one in days.missing(FLOWS)] == [*range(4, 11)]
    read = days.measure([FLOWS])

    assert read == {f"day=2026-03-{day:02}" for day in range(4, 11)}
    assert_frame_equal(days.table(FLOWS).sort("actor", "since"), whole(place))


def test_rows_stay_as_they_are_once_a_day_that_they_look_back_on_is_gone(place):
    days_at(place).measure([FLOWS])
    before = days_at(place).table(FLOWS).sort("actor", "since")
    parts = Rest(place / "results").parts(recipe_of(FLOWS))

    parts.drop([name for name in parts.all() if name < "day=2026-03-06"])
    kept = Kept(events=int((FIRST + timedelta(days=4)).replace(hour=0).timestamp() * 1_000_000))
    days = days_at(place, kept=kept)
    days.measure([FLOWS])

    assert_frame_equal(days.table(FLOWS).sort("actor", "since"), before)


@pytest.fixture
def workspace(place):
    (place / "warden.toml").write_text('[workspace]\n\n[[source]]\nname = "game"\nlocator = "log.parquet"\n')
    made = Workspace.at(place)
    assert made.lake == place / "lake"
    days_at(place).measure([FLOWS])
    return made


def test_whoever_is_forgotten_is_in_no_part_neither_as_actor_nor_as_the_other(workspace):
    table = Rest(workspace.results).parts(recipe_of(FLOWS))
    everybody = table.table(list(table.all().values()))
    assert held(workspace, ["hub"]).features > DAYS

    begin(workspace, ["hub"], NOW)
    finish(workspace, NOW)

    left = table.table(list(table.all().values()))
    assert left.filter((pl.col("actor") == "hub") | (pl.col("other") == "hub").fill_null(value=False)).is_empty()
    theirs = (pl.col("actor") == "hub") | (pl.col("other") == "hub").fill_null(value=False)
    assert left.height == everybody.filter(~theirs).height


def test_parts_are_kept_as_long_as_features(workspace, place):
    path = place / "warden.toml"
    path.write_text(path.read_text() + '\n[retention]\nfeatures = "4d"\n')

    tidy(Workspace.at(place), NOW)

    parts = Rest(workspace.results).parts(recipe_of(FLOWS)).all()
    assert len(parts) == len(Rest(workspace.results).features(recipe_of(FLOWS)).all()) < DAYS
