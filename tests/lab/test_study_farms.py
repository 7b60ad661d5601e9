"""What the evidence of groups, copies, ways and pulses adds: who is held out, and how figures are made of days."""

from datetime import UTC, datetime, timedelta

import polars as pl
import pytest

from gamewarden.lab.studies import farms
from gamewarden.lab.world import World

pytestmark = pytest.mark.nightly

START = datetime(2026, 3, 1, tzinfo=UTC)


def days(rows):
    """Days as a run holds them, from (fold, actor, family, bot, farm, circles, without, with)."""
    names = ("fold", "actor", "family", "bot", "farm", "circles", farms.WITHOUT, farms.WITH)
    frame = pl.DataFrame(
        rows, schema=list(names), orient="row", schema_overrides={"farm": pl.String, "circles": pl.List(pl.String)}
    )
    ways = {way: pl.col(farms.WITH if way == farms.NO_WAYS else way) for way in farms.WAYS}
    return frame.with_columns(since=pl.lit(START), until=pl.lit(START + timedelta(days=1)), **ways).with_columns(
        *((1 - pl.col(way)).alias(f"{way}_fpr") for way in ways),
        *((pl.col(way) > 0.99).alias(f"{way}_act") for way in ways),
    )


def run_of(rows, game="aion", held_out=farms.FARMS):
    return farms.Run(game, held_out, days(rows), dict.fromkeys(farms.WAYS[farms.WITH], 1.0))


def people(fold, count=100, family="casual", circle=None):
    return [(fold, f"{fold}{family}{n}", family, False, None, circle, n / count, n / count) for n in range(count)]


def test_of_two_worlds_each_is_asked_about_by_the_other_and_no_farm_stands_on_both_sides():
    known = pl.concat([farms._people(World("aion", 300, 1, seed, society=True)) for seed in (101, 102)])
    splits = list(farms.by_world(known))

    assert len(splits) == 2
    for taught, asked in splits:
        assert not set(taught) & set(asked)
        both = (known.filter(pl.col("actor").is_in(side.implode()))["group"] for side in (taught, asked))
        assert not set.intersection(*map(set, both))
    assert sum(len(asked) for _, asked in splits) == known.height


def test_of_a_family_held_out_nobody_of_its_farms_teaches_and_strangers_stand_beside_it():
    known = pl.concat([farms._people(World("aion", 300, 1, seed, society=True)) for seed in (101, 102)])
    families = sorted(set(farms.BARS) & set(known["family"]))

    for family, (taught, asked) in zip(families, farms.by_family(known), strict=True):
        teaching, tested = (known.filter(pl.col("actor").is_in(side.implode())) for side in (taught, asked))
        assert set(tested.filter("bot")["family"]) == {family}
        assert not set(teaching.filter("bot")["group"]) & set(tested.filter("bot")["group"])
        assert not set(teaching["actor"]) & set(tested["actor"])
        assert teaching["bot"].any()


def test_a_family_is_compared_with_all_people_of_its_own_fold():
    rows = [*people(0), *people(1), *((0, f"m{n}", "mimic", True, None, None, 0.5, 2.0) for n in range(3))]
    rows += [(1, f"n{n}", "mimic", True, None, None, 0.5, -1.0) for n in range(3)]

    found = farms.families_of([run_of(rows), run_of(rows, held_out=farms.FAMILIES)], "aion")

    told = found.filter(family="mimic").row(0, named=True)
    assert told["without"] == pytest.approx(0.505)
    assert (told["with"], told["lowest"]) == (0.5, 0.0)
    assert (told["bots"], told["met"]) == (6, False)


def test_people_of_groups_have_rows_of_their_own_and_bots_none():
    rows = [*people(0, 10), (0, "bank", "guild-bank", False, None, ["guild", "raid"], 0.2, 0.995)]
    rows += [(0, "spy", "mimic", True, None, ["guild"], 1.0, 1.0)]

    found = farms.guards([run_of(rows)])

    assert found["people"].to_list() == ["all people", "casual", "guild (circle)", "guild-bank", "raid (circle)"]
    bank = found.filter(people="guild (circle)").row(0, named=True)
    assert (bank["accounts"], bank["below_without"], bank["below_with"], bank["accused_with"]) == (1, 0.0, 1.0, 1.0)


def test_a_farm_is_caught_by_somebody_by_half_or_by_its_hub():
    rows = people(0, 200)
    rows += [(0, f"leaf{n}", "star-farmer", True, "f1", None, 0.1, 2.0 if n < 2 else 0.1) for n in range(3)]
    rows += [(0, "hub", "star-hub", True, "f1", None, 0.1, 2.0)]
    rows += [(0, f"copy{n}", "mimic", True, "f2", None, 2.0, 0.1) for n in range(2)]

    found = {row["kind"]: row for row in farms.farms_caught([run_of(rows)]).iter_rows(named=True)}

    assert (found["star"]["farms"], found["star"]["half_with"], found["star"]["half_without"]) == (1, 1.0, 0.0)
    assert (found["star"]["hub_with"], found["star"]["hub_without"]) == (1.0, 0.0)
    assert (found["mimic"]["somebody_with"], found["mimic"]["somebody_without"]) == (0.0, 1.0)
    assert found["mimic"]["hub_with"] is None


def test_what_stays_below_its_bar_is_said():
    rows = [*people(0), *((0, f"m{n}", "mimic", True, None, None, 2.0, 0.5) for n in range(3))]
    runs = [run_of(rows), run_of(rows, held_out=farms.FAMILIES)]

    notes = list(farms._notes(farms.families_of(runs, "aion"), runs))

    assert "Below its bar: mimic in aion, 0.505 of 0.93." in notes
    assert "Worse by more than 0.005: mimic in aion, -0.4950." in notes
    assert notes[0].startswith("Synthetic")


def test_the_picture_shows_every_game(tmp_path):
    rows = [*people(0), *((0, f"m{n}", "mimic", True, None, None, 0.5, 2.0) for n in range(3))]
    runs = [run_of(rows), run_of(rows, held_out=farms.FAMILIES)]
    study = farms.Study("t", farms.families_of(runs, "aion"), tuple(runs), ())

    assert [path.name for path in farms.draw(study, tmp_path)] == ["farms-families.png"]
