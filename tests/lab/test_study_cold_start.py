"""What a first day is worth: who is held out, who is asked about, and how figures are made of orders."""

from dataclasses import replace
from functools import cache

import numpy as np
import polars as pl
import pytest

from gamewarden.detectors.signs.oddness import Oddness
from gamewarden.detectors.signs.recipe import SignsDetector
from gamewarden.lab.studies import cold_start, load
from gamewarden.lab.studies.cold_start import Study, compared, draw, found_first, of_characters, worth_of
from gamewarden.lab.studies.cold_start_baselines import baselines
from gamewarden.lab.studies.cold_start_reviews import (
    ACTIVE,
    ERRORS,
    FULL,
    RANDOM,
    SIZES,
    Population,
    _Sitting,
    reviewed,
)
from grounds import ground_of
from made_up import DAY, START
from tables_made_up import account_table

pytestmark = pytest.mark.nightly

ACCOUNTS = 360  # of which a third is held out, so that there are 200 to review
FARM = 4  # accounts of a bot's farm


@cache
def population(accounts=ACCOUNTS):
    """Made-up signs of so many accounts: bots have more of everything, with overlap; their farms belong together."""
    feature, chance = ground_of("signs").feature, np.random.default_rng(9)
    actors = [f"u{number:04}" for number in range(accounts)]
    bot = np.arange(accounts) % 4 == 0
    sides = {name: -1 if side == "low" else 1 for name, side in feature.odd_when.items()}
    columns = {
        name: pl.Series(np.exp(chance.normal(np.where(bot, 3 + 0.6 * sides.get(name, 0), 3.0), 0.6))).cast(kind)
        for name, kind in feature.schema.items()
    }
    head = {"actor": actors, "since": START, "until": START + DAY, "events": 50}
    rows = pl.DataFrame({**head, **columns}).with_columns(pl.col("since", "until").cast(pl.Datetime("us", "UTC")))
    farm = [f"farm{number // (4 * FARM)}" if number % 4 == 0 else actor for number, actor in enumerate(actors)]
    truth = pl.DataFrame({"actor": actors, "bot": bot, "group": farm})
    zones = pl.DataFrame({"actor": actors, "zone": [f"z{number % 7}" for number in range(accounts)]})
    return Population("made up", SignsDetector(feature), rows, truth, zones)


@cache
def sitting(seed=0):
    return _Sitting.of(population(), seed)


@cache
def reviews():
    return pl.DataFrame([row for seed in range(2) for row in reviewed(population(), seed)])


@pytest.mark.parametrize("seed", range(3))
def test_no_group_is_on_both_sides_and_everybody_is_on_one(seed):
    made = sitting(seed)

    assert not set(made.pool["group"]) & set(made.held_out["group"])
    assert sorted([*made.pool["actor"], *made.held_out["actor"]]) == population().truth["actor"].to_list()
    assert made.held_out["bot"].any()
    assert ACCOUNTS / 5 < made.held_out.height < ACCOUNTS / 2


def test_each_order_holds_others_out():
    assert not sitting(0).held_out.equals(sitting(1).held_out)
    assert sitting(0).held_out.equals(_Sitting.of(population(), 0).held_out)


def test_whoever_is_held_out_teaches_nothing_not_even_what_is_odd():
    made = sitting()
    theirs = population().rows.join(made.pool, on="actor", how="semi")
    signs = tuple(name for name in made.recipe.feature.odd_when if name not in made.recipe.columns)

    alone = Oddness(made.recipe.feature, without=signs).fit(theirs)

    assert made.recipe.population == alone
    assert set(made.odd["actor"]) == set(made.pool["actor"])


@pytest.mark.parametrize("way", [ACTIVE, RANDOM])
def test_only_accounts_that_may_be_reviewed_are_asked_about_each_once(way):
    told = sitting()._answers(way, 0.0)

    assert told.height == SIZES[-1]
    assert told["actor"].n_unique() == SIZES[-1]
    assert set(told["actor"]) <= set(sitting().pool["actor"])


def test_a_small_population_is_asked_about_as_far_as_it_goes():
    """And the end is reached: nobody waits for accounts that are not there."""
    rows = list(reviewed(population(120), 0))

    assert {row["reviewed"] for row in rows if row["way"] != FULL} == {20, 50}


def test_an_answer_is_the_truth_but_for_raters_who_err():
    truth = dict(population().truth.select("actor", "bot").iter_rows())

    told = sitting()._answers(RANDOM, 0.0)

    assert dict(told.select("actor", "bot").iter_rows()) == {actor: truth[actor] for actor in told["actor"]}


@pytest.mark.parametrize("errors", [0.05, 0.1, 0.3])
def test_raters_who_err_do_so_in_about_that_share_of_the_answers(errors):
    made = sitting()
    wrong = [made._errs(f"u{number}", errors) for number in range(4_000)]

    told = made._answers(RANDOM, errors)

    assert sum(wrong) / len(wrong) == pytest.approx(errors, abs=4 * (errors * (1 - errors) / len(wrong)) ** 0.5)
    truth = dict(made.pool.select("actor", "bot").iter_rows())
    flipped = [actor for actor, bot in told.select("actor", "bot").iter_rows() if truth[actor] != bot]
    assert flipped == [actor for actor in told["actor"] if made._errs(actor, errors)]
    assert flipped


def test_whoever_errs_in_few_answers_errs_in_the_same_ones_among_more():
    made, actors = sitting(), population().truth["actor"]

    few, more = ({actor for actor in actors if made._errs(actor, errors)} for errors in ERRORS)

    assert few < more


def test_every_order_has_all_ways_at_all_sizes():
    told = reviews()

    ways = told.group_by("way", "errors").agg(pl.col("reviewed").sort()).sort("way", "errors")
    twice = sorted([*SIZES, *SIZES])
    assert {(way, errors): sizes for way, errors, sizes in ways.filter(pl.col("way") != FULL).iter_rows()} == {
        (ACTIVE, 0.0): twice,
        (ACTIVE, 0.05): twice,
        (ACTIVE, 0.1): twice,
        (RANDOM, 0.0): twice,
    }
    assert told.filter(way=FULL)["reviewed"].to_list() == [sitting(seed).pool.height for seed in (0, 1)]
    assert told["auc"].is_between(0, 1).all()


def test_many_reviewed_accounts_are_worth_more_than_few():
    by_size = dict(reviews().filter(way=RANDOM).group_by("reviewed").agg(pl.col("auc").mean()).iter_rows())

    assert by_size[200] > 0.9
    assert by_size[200] >= by_size[20] - 0.02
    assert reviews().filter(way=ACTIVE, reviewed=200)["modelled"].all()


def test_as_long_as_there_is_no_model_oddness_tells_bots_apart():
    people = sitting().pool.filter(~pl.col("bot")).head(20)

    row = sitting().told(ACTIVE, 0.0, people, 20)

    assert (row["modelled"], row["bots_found"]) == (False, 0)
    assert row["auc"] > 0.7


def test_the_first_of_the_list_are_counted_with_an_interval_and_beside_other_methods():
    told = pl.DataFrame(list(found_first(population())))

    rows = {row["method"]: row for row in told.iter_rows(named=True)}
    assert {"oddness", "oddness, no ways", "isolation forest", "one-class SVM"} <= rows.keys()
    assert set(told["bots"]) == {0.25}
    ours = rows["oddness"]
    assert ours["first_50"] > 0.5
    assert ours["first_500"] == 90 / ACCOUNTS, "there are no five hundred"
    for row in rows.values():
        assert all(row[f"first_{n}_low"] <= row[f"first_{n}"] <= row[f"first_{n}_high"] for n in (50, 100, 500))


def test_other_methods_see_the_same_columns_with_gaps_at_their_middle():
    columns = pl.DataFrame({"a": [1.0, None, 2.0, 3.0, 50.0] * 8, "b": [None] * 40}, schema_overrides={"b": pl.Float64})

    told = baselines(columns)

    assert all(numbers.shape == (40,) and np.isfinite(numbers).all() for numbers in told.values())
    assert told["isolation forest"].argmax() % 5 == 4
    again = baselines(columns)
    assert all((again[name] == numbers).all() for name, numbers in told.items())


def table(rows):
    """Reviews as a run holds them, from (seed, way, errors, reviewed, auc, tpr, bots found)."""
    names = ["seed", "way", "errors", "reviewed", "auc", "tpr", "bots_found"]
    made = pl.DataFrame(rows, schema=names, orient="row", schema_overrides={"auc": pl.Float64, "tpr": pl.Float64})
    return made.with_columns(population=pl.lit("p"), modelled=pl.col("reviewed") > 20)


HAND_MADE = [
    (0, FULL, 0.0, 240, 1.0, 0.8, 60),
    (1, FULL, 0.0, 260, 0.8, 0.6, 50),
    (0, ACTIVE, 0.0, 20, 0.9, 0.5, 10),
    (1, ACTIVE, 0.0, 20, 0.6, 0.3, 6),
    (0, RANDOM, 0.0, 20, 0.7, 0.5, 4),
    (1, RANDOM, 0.0, 20, 0.6, 0.1, 2),
    (0, ACTIVE, 0.1, 20, 0.1, 0.1, 9),
]


def test_worth_is_the_mean_over_orders_and_the_share_of_what_all_labels_reach_in_the_same_order():
    told = worth_of(table(HAND_MADE)).filter(pl.col("order") == ACTIVE, pl.col("errors") == 0).row(0, named=True)

    assert told["auc"] == pytest.approx(0.75)
    assert told["tpr"] == pytest.approx(0.4)
    assert told["bots_found"] == 8
    assert told["of_full_auc"] == pytest.approx((0.9 / 1.0 + 0.6 / 0.8) / 2)
    assert told["of_full_auc_lowest"] == pytest.approx(0.75)
    assert told["modelled"] == 0


def test_raters_who_err_are_told_apart_from_those_who_do_not():
    told = worth_of(table(HAND_MADE))

    assert told.filter(pl.col("errors") == 0.1)["auc"].to_list() == [0.1]
    assert told.height == 4


def test_all_labels_have_one_line_although_each_order_leaves_another_number_of_them():
    (told,) = worth_of(table(HAND_MADE)).filter(pl.col("order") == FULL).iter_rows(named=True)

    assert (told["reviewed"], told["of_full_auc"]) == (250, 1.0)
    assert told["auc"] == pytest.approx(0.9)


def test_active_is_compared_with_random_in_the_same_order_without_errors():
    (told,) = compared(table(HAND_MADE)).iter_rows(named=True)

    half = 1.96 * np.std([0.2, 0.0], ddof=1) / np.sqrt(2)
    assert told["auc_gain"] == pytest.approx(0.1)
    assert (told["auc_gain_low"], told["auc_gain_high"]) == pytest.approx((0.1 - half, 0.1 + half))
    assert told["tpr_gain"] == pytest.approx(0.1)


def test_real_characters_are_held_out_by_account_and_their_label_is_no_column(tmp_path):
    accounts = account_table(40, 50).rename({"actor": "Actor", "account": "A_Acc", "verdict": "Type"})
    accounts.drop("character", "ticket").write_csv(tmp_path / "characters.csv")

    made = of_characters(tmp_path / "characters.csv")

    assert made.truth["bot"].sum() == 40
    assert made.truth["group"].n_unique() == 45
    assert "Type" not in made.rows.columns
    assert "A_Acc" not in made.recipe.feature.own_names
    split = _Sitting.of(made, 0)
    assert not set(split.pool["group"]) & set(split.held_out["group"])


def test_real_characters_are_looked_at_only_where_somebody_says_where_they_are(tmp_path, monkeypatch):
    monkeypatch.delenv("GAMEWARDEN_DATA", raising=False)
    assert cold_start.real_file() is None
    assert cold_start.steps(300, 2) == 18

    (tmp_path / "aion").mkdir()
    (tmp_path / "aion" / "characters.csv").write_text("Actor\n")
    monkeypatch.setenv("GAMEWARDEN_DATA", str(tmp_path))

    assert cold_start.real_file() == tmp_path / "aion" / "characters.csv"
    assert cold_start.steps(300, 2) == 21


def test_a_run_tells_precision_worth_and_what_is_left_out_and_draws_two_pictures(tmp_path, monkeypatch):
    monkeypatch.delenv("GAMEWARDEN_DATA", raising=False)
    monkeypatch.setattr(cold_start, "populations", lambda _: iter([population()]))
    steps = []

    study = load("cold-start").run(accounts=ACCOUNTS, orders=2, progress=steps.append)
    pictures = draw(study, tmp_path)

    assert isinstance(study, Study)
    assert sum(steps) == 3
    assert study.reviews.sort("seed", "way", "errors", "reviewed").equals(
        reviews().sort("seed", "way", "errors", "reviewed")
    )
    assert [frame.height for _, frame in study.more] == [worth_of(reviews()).height, len(SIZES)]
    assert any("were left out: GAMEWARDEN_DATA names no directory" in note for note in study.notes)
    assert any("made up: 100 accounts reviewed in active order reach " in note for note in study.notes)
    assert [path.name for path in pictures] == ["cold-start-precision.png", "cold-start-reviews.png"]
    assert {path.read_bytes()[:4] for path in pictures} == {b"\x89PNG"}
    assert "SYNTHETIC" in study.title


def test_many_populations_have_a_panel_each(tmp_path):
    five = [reviews().with_columns(population=pl.lit(f"p{number}")) for number in range(5)]
    first = pl.concat([pl.DataFrame(list(found_first(replace(population(), name=f"p{n}")))) for n in range(2)])

    pictures = draw(Study("t", first, (), (), pl.concat(five)), tmp_path)

    assert all(path.stat().st_size > 10_000 for path in pictures)
