"""The front page counts what rests, and every number leads to the accounts behind it."""

import shutil
from datetime import timedelta

import polars as pl
import pytest

import rich_made_up
from gamewarden import pipeline, readers
from gamewarden.desk import population as people
from gamewarden.desk.conditions import Conditions
from gamewarden.desk.desk import Desk
from gamewarden.desk.overview import cells, overview
from gamewarden.desk.population import Span
from gamewarden.desk.search import accounts, count
from gamewarden.desk.views import mark, remove_mark, remove_view, save_view, saved_views
from gamewarden.desk.warming import warm
from gamewarden.errors import ConfigError, NotThereError
from gamewarden.features.self_similarity.recipe import SelfSimilarity
from gamewarden.store.model_registry import promote
from gamewarden.workspace.desk_tables import DeskTables
from gamewarden.workspace.place import Workspace
from people_made_up import empty_desk


@pytest.fixture(scope="module")
def desk(tmp_path_factory):
    return Desk(rich_made_up.run_rich(tmp_path_factory.mktemp("made")))


@pytest.fixture
def own(desk, tmp_path):
    """A desk that a test may change."""
    shutil.copytree(desk.workspace.root, tmp_path / "ws")
    return Desk(Workspace.at(tmp_path / "ws"))


def behind(desk, url):
    """How many accounts an address shows."""
    return count(desk, Conditions.of_query(url.partition("?")[2]))


def test_the_trend_counts_who_was_judged_and_who_reaches_a_point(desk):
    view = overview(desk, Span())
    rows = DeskTables(desk.workspace).table("accounts")

    assert [one.day for one in view.trend] == ["2026-03-02", "2026-03-03", "2026-03-04", "2026-03-05"]
    for one in view.trend:
        mine = rows.filter(pl.col("since").dt.date().cast(pl.String) == one.day)
        assert one.judged == mine["point"].count()
        assert (one.watch, one.act) == tuple((mine["point"] == name).sum() for name in ("watch", "act"))
        assert one.listed == (mine["probability"] >= view.threshold).sum()
        assert one.rate == pytest.approx((one.watch + one.act) / one.judged)
        assert behind(desk, one.url) == one.watch + one.act


def test_every_number_leads_to_as_many_accounts(desk):
    view = overview(desk, Span(2))

    for name in ("suspected", "act", "queue", "appeals"):
        assert behind(desk, view.urls[name]) == getattr(view, name)
    for one in (*view.zones, *view.families, *view.detectors):
        assert behind(desk, one.url) == one.suspected > 0
    assert sum(one.suspected for one in view.zones) == view.suspected
    assert {one.name for one in view.families} == {"farmer"}


def test_what_waits_for_people_is_said_first(desk):
    view = overview(desk, Span())

    assert [one.what for one in view.to_do] == ["review"]
    assert view.to_do[0].count == view.queue > 0


def test_a_workspace_that_was_never_run_says_what_to_do(tmp_path):
    view = overview(empty_desk(tmp_path / "ws"), Span(30))

    assert [one.what for one in view.to_do] == ["source", "fit"]
    assert view.days == ()
    assert view.rate is None


def test_a_map_shows_where_suspected_accounts_were(desk):
    view = cells(desk, Span())
    rows = DeskTables(desk.workspace).table("cells")
    totals = dict(rows.group_by("zone").agg(pl.col("suspected").sum()).rows())

    assert sum(one.suspected for one in view.cells) == totals[view.zone] == max(totals.values())
    other = next(zone for zone in view.zones if zone != view.zone)
    assert sum(one.events for one in cells(desk, Span(), other).cells) == rows.filter(zone=other)["n"].sum()
    assert cells(desk, Span(), "nowhere").cells == ()
    assert overview(desk, Span()).map_zones == view.zones


def test_what_happened_to_the_game_is_marked_on_its_day_and_taken_away(own):
    made = mark(own, "2026-03-03", "ban wave", "  spring   cleaning ", by="op")
    mark(own, "2025-01-01", "patch", "long ago", by="op")

    assert [(one.day, one.kind, one.text) for one in overview(own, Span()).marks] == [
        ("2026-03-03", "ban wave", "spring cleaning")
    ]
    remove_mark(own, made.id, by="op")
    assert overview(own, Span()).marks == ()
    with pytest.raises(NotThereError):
        remove_mark(own, made.id, by="op")


def test_another_model_is_marked_on_the_trend(desk, own):
    before = set(own.workspace.models.glob("*@*.json"))
    log, labels = desk.workspace.root.parent / "made" / "events.parquet", own.workspace.root / "labels.csv"
    recipe = pipeline.detector_recipe("account-day", SelfSimilarity(), {})
    pipeline.fit(recipe, readers.open(log), labels, own.workspace.models)
    (model,) = (path.stem for path in set(own.workspace.models.glob("*@*.json")) - before)
    day = overview(own, Span()).trend[1].day
    at = pl.Series([day]).str.to_datetime(time_zone="UTC")[0] + timedelta(hours=3)
    promote(own.workspace.models, model, because="better", by="op", at=at)

    told = [one for one in overview(own, Span()).marks if one.kind == "model"]
    assert [(one.day, model in one.text) for one in told] == [(day, True)]


@pytest.mark.parametrize(
    ("day", "kind", "text"), [("now", "patch", "x"), ("2026-03-03", "party", "x"), ("2026-03-03", "patch", " ")]
)
def test_a_mark_needs_a_day_a_kind_and_a_text(own, day, kind, text):
    with pytest.raises(ConfigError):
        mark(own, day, kind, text, by="op")


def test_a_day_that_begins_before_all_calendars_is_none(tmp_path):
    east = empty_desk(tmp_path / "east", '[read]\ntime_zone = "Asia/Seoul"\n')

    with pytest.raises(ConfigError, match="no day"):
        mark(east, "0001-01-01", "patch", "x", by="op")


def test_a_search_is_kept_under_a_name_for_oneself_or_for_all(own):
    mine = save_view(own, "Dion", "zone=Dion&after=xyz", shared=False, by="ann")
    save_view(own, "all elves", "class=elf", shared=True, by="ann")

    assert [one.name for one in saved_views(own, "ann")] == ["all elves", "Dion"]
    assert mine.url == "/accounts?zone=Dion"
    assert [(one.name, one.mine) for one in saved_views(own, "bob")] == [("all elves", False)]
    save_view(own, "Dion", "zone=Aden", shared=False, by="ann")
    assert [one.url for one in saved_views(own, "ann") if one.name == "Dion"] == ["/accounts?zone=Aden"]


def test_only_its_owner_or_who_administers_removes_a_search(own):
    made = save_view(own, "elves", "class=elf", shared=True, by="ann")

    with pytest.raises(NotThereError):
        remove_view(own, made.id, by="bob")
    remove_view(own, made.id, by="root", anybodys=True)
    assert saved_views(own, "ann") == ()


@pytest.mark.parametrize(("name", "query"), [("", "zone=Dion"), ("x" * 90, ""), ("x", "nothing=1")])
def test_what_is_no_search_is_not_kept(own, name, query):
    with pytest.raises(ConfigError):
        save_view(own, name, query, shared=False, by="ann")


def test_what_the_first_visitor_needs_is_found_before_they_come(own, monkeypatch):
    warm(own).join()
    monkeypatch.setattr(people, "_folded", None)  # whoever would have to do it now fails

    assert accounts(own, Conditions()).total == overview(own, Conditions().span).accounts == 50
