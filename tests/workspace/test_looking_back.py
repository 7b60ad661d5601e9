"""Features that look back in a workspace: parts of days rest, and a day's rows are made of those of its week."""

from datetime import UTC, datetime, timedelta

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from gamewarden import readers
from gamewarden.features.copies.recipe import Copies
from gamewarden.features.flows import Flows
from gamewarden.features.name_series import Names
from gamewarden.features.rhythm.recipe import Rhythm
from gamewarden.features.signs import Signs
from gamewarden.store.lake import Lake
from gamewarden.tables import write_table
from gamewarden.workspace.days import LakeDays
from gamewarden.workspace.forgetting import begin, finish, held
from gamewarden.workspace.kept import Kept
from gamewarden.workspace.place import Workspace
from gamewarden.workspace.rest import Rest, recipe_of
from gamewarden.workspace.retention import tidy

pytestmark = pytest.mark.integration

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


@pytest.mark.parametrize(
    "recipe", [Copies(min_moments=5), Flows(back=2), Rhythm(), Names(), Signs(back=3)], ids=lambda one: one.name
)
def test_parts_of_every_kind_can_rest(place, recipe):
    days, feature = days_at(place), recipe.learn(Lake(place / "lake").events())

    days.measure([feature])

    whole = feature.measure(Lake(place / "lake").events())
    assert whole.height
    assert_frame_equal(days.table(feature).sort("actor", "since"), whole)
    assert days.measure([feature]) == set()
    assert feature.about_others == (feature.name not in {"rhythm", "signs"})


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


COPIES = Copies(min_moments=5)


def busy(actor, kinds, day, times=40):
    """Some kinds one after the other, as fast as a script."""
    at = FIRST + timedelta(days=day)
    rows = [
        (actor, at + timedelta(seconds=2 * step), kinds[step % len(kinds)], None, None)
        for step in range(times * len(kinds))
    ]
    return pl.DataFrame(rows, schema=events().schema, orient="row")


@pytest.fixture
def with_copies(tmp_path):
    """Three that do the same for four days, and one whose kinds nobody else has: one of them even holds its name."""
    alike = [busy(f"c{n}", ("combat.kill", "exp.gain", "loot.pickup"), day) for n in range(3) for day in range(4)]
    own = [busy("gone", ("combat.kill", "skill.use.only-mine", "emote.gone"), day) for day in range(4)]
    log = pl.concat([*alike, *own]).sort("at")
    take_in(tmp_path / "lake", log, tmp_path, "log")
    (tmp_path / "warden.toml").write_text('[workspace]\n\n[[source]]\nname = "game"\nlocator = "log.parquet"\n')
    days_at(tmp_path).measure([COPIES])
    return Workspace.at(tmp_path)


def parts_of_copies(workspace):
    table = Rest(workspace.results).parts(recipe_of(COPIES))
    return table.table(list(table.all().values()))


def words_of(parts):
    return set(parts.filter(pl.col("actor").is_null())["words"].explode().drop_nulls())


def test_whoever_is_forgotten_leaves_the_sketches_of_all_days_and_what_only_it_did_leaves_their_book(with_copies):
    before = parts_of_copies(with_copies)
    assert held(with_copies, ["gone"]).features == 8  # of four days the sketch, and the row of FEATURES
    assert any("only-mine" in one for one in words_of(before))

    begin(with_copies, ["gone"], NOW)
    finish(with_copies, NOW)

    left = parts_of_copies(with_copies)
    others = pl.col("actor").is_not_null() & (pl.col("actor") != "gone")
    assert_frame_equal(left.filter(pl.col("actor").is_not_null()), before.filter(others))
    assert left["actor"].null_count() == 4
    assert words_of(left)
    assert words_of(left) < words_of(before)
    rest = [path for path in (with_copies.results).rglob("*.parquet") if "copies@" in str(path)]
    texts = [str(pl.read_parquet(path).to_dicts()) for path in rest]
    assert len(texts) == 8
    assert not [text for text in texts if "gone" in text or "only-mine" in text]


def test_what_forgetting_leaves_of_days_is_what_measuring_them_anew_gives(with_copies):
    rows = Rest(with_copies.results).features(recipe_of(COPIES))
    before = rows.table()

    begin(with_copies, ["gone"], NOW)
    finish(with_copies, NOW)
    left = parts_of_copies(with_copies)

    assert_frame_equal(rows.table(), before.filter(pl.col("actor") != "gone"))
    assert days_at(with_copies.root).measure([COPIES]) == {*rows.all()}
    assert_frame_equal(parts_of_copies(with_copies), left)


def test_the_sketches_of_a_day_go_with_its_features(with_copies):
    path = with_copies.root / "warden.toml"
    path.write_text(path.read_text() + '\n[retention]\nfeatures = "8d"\n')

    tidy(Workspace.at(with_copies.root), NOW)

    rest = Rest(with_copies.results)
    kept = rest.parts(recipe_of(COPIES)).all()
    assert [*kept] == [*rest.features(recipe_of(COPIES)).all()]
    assert 0 < len(kept) < 4
    assert parts_of_copies(with_copies)["actor"].null_count() == len(kept)


def test_whoever_is_forgotten_is_in_no_part_of_any_sign(with_copies):
    signs = Signs(families={"self-similarity": {"vocabulary": ["combat.kill", "exp.gain"]}})
    days_at(with_copies.root).measure([signs])
    table = Rest(with_copies.results).parts(recipe_of(signs))
    before = table.table(list(table.all().values()))
    assert "gone" in str(before.to_dicts())

    begin(with_copies, ["gone"], NOW)
    finish(with_copies, NOW)

    left = table.table(list(table.all().values()))
    assert "gone" not in str(left.to_dicts())
    assert "only-mine" not in str(left.to_dicts())
    assert set(left["actor"].drop_nulls()) == {"c0", "c1", "c2"}
    assert set(left["part"]) == set(before["part"])
    rows = Rest(with_copies.results).features(recipe_of(signs)).table()
    assert set(rows["actor"]) == {"c0", "c1", "c2"}
