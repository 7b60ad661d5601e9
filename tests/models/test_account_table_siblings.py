"""Rows of one account know each other's numbers: what that tells, and that a row alone is judged as before."""

import json
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from commands import run
from gamewarden import detectors
from gamewarden.contracts import Divides
from gamewarden.detectors.account_table.recipe import AccountTableDetector
from gamewarden.errors import MeasureError, ModelError
from gamewarden.features.account_table.labels import labels_of_table
from gamewarden.features.account_table.recipe import AccountTable
from gamewarden.features.account_table.siblings import names_of, with_siblings
from gamewarden.tables import FrameRows

pytestmark = pytest.mark.integration

QUICK = {"rounds": 40, "runs": 1}


def characters(accounts=160, seed=3):
    """Accounts of one to four characters; of a bot's account the others tell, and of itself each tells little."""
    draw = np.random.default_rng(seed)
    rows = []
    for account in range(accounts):
        bot, size = account % 4 == 0, 1 + account // 4 % 4
        rows += [
            {
                "character": f"c{account:04}{place}",
                "account": f"a{account:04}",
                "Playtime": float(draw.lognormal(9.4 if bot else 9.0, 0.6)),
                "Max_level": float(draw.integers(5, 50)),
                "Login_count": float(draw.integers(1, 60)),
                "verdict": "Bot" if bot else "Human",
            }
            for place in range(size)
        ]
    return pl.DataFrame(rows)


TABLE = FrameRows(characters(), "characters.csv")
PLAIN = AccountTable(actor="character", group="account", label="verdict").learn(TABLE)
KNOWING = replace(PLAIN, siblings=True)
LABELS = labels_of_table(TABLE, PLAIN, "Bot")[0]


@pytest.fixture(scope="module")
def alone():
    return AccountTableDetector(feature=PLAIN, **QUICK).fit(PLAIN.measure(TABLE), LABELS)


@pytest.fixture(scope="module")
def model():
    return AccountTableDetector(feature=KNOWING, **QUICK).fit(KNOWING.measure(TABLE), LABELS)


@given(
    groups=st.lists(st.sampled_from(["a", "b", "c", None]), min_size=1, max_size=12),
    data=st.data(),
)
def test_siblings_are_all_others_of_the_group_and_never_the_row_itself(groups, data):
    numbers = st.one_of(st.none(), st.integers(-5, 5).map(float))
    values = data.draw(st.lists(numbers, min_size=len(groups), max_size=len(groups)))
    table = pl.DataFrame({"x": pl.Series(values, dtype=pl.Float64)})

    rows = with_siblings(table, pl.Series(groups, dtype=pl.String), ("x",)).to_dicts()

    for place, row in enumerate(rows):
        mine = groups[place]
        others = [] if mine is None else [at for at, group in enumerate(groups) if group == mine and at != place]
        known = [values[at] for at in others if values[at] is not None]
        assert row["siblings"] == len(others)
        assert row["siblings' mean x"] == (pytest.approx(sum(known) / len(known)) if known else None)
        assert row["siblings' largest x"] == (max(known) if known else None)
        assert row["siblings' smallest x"] == (min(known) if known else None)


def test_a_row_has_the_same_siblings_numbers_whatever_other_groups_stand_in_the_table():
    whole = KNOWING.measure(TABLE)
    few = TABLE.frame.filter(pl.col("account").is_in(["a0009", "a0012"]))

    part = KNOWING.measure(FrameRows(few.reverse(), "few"))

    assert part.equals(whole.join(part, on="actor", how="semi"))
    assert KNOWING.divides == Divides(None, actors=False)


def test_the_label_is_no_number_of_siblings():
    assert all("verdict" not in name for name in KNOWING.of_siblings)
    torn = TABLE.frame.with_columns(verdict=pl.col("verdict").reverse())
    assert KNOWING.measure(FrameRows(torn, "torn")).equals(KNOWING.measure(TABLE))


def test_siblings_without_a_group_are_refused_in_one_line():
    with pytest.raises(MeasureError, match="siblings need a column of who belongs together; name it with --group"):
        AccountTable(siblings=True)


def test_a_column_called_as_a_number_of_siblings_is_refused():
    table = TABLE.frame.with_columns(siblings=pl.col("Max_level") % 7)

    with pytest.raises(MeasureError, match="a column is called 'siblings'"):
        AccountTable(actor="character", group="account", label="verdict", siblings=True).learn(FrameRows(table, "t"))


def test_a_recipe_without_siblings_is_written_as_before_there_were_any():
    assert "siblings" not in PLAIN.to_dict()
    assert AccountTable.from_dict(PLAIN.to_dict()) == PLAIN
    assert AccountTable.from_dict(KNOWING.to_dict()) == KNOWING
    with pytest.raises(MeasureError, match="or other options"):
        AccountTable.from_dict({**KNOWING.to_dict(), "siblings": "yes"})


def test_a_row_alone_is_judged_bit_for_bit_as_without_siblings(alone, model):
    rows = KNOWING.measure(TABLE).filter(siblings=0)
    before = alone.score(PLAIN.measure(TABLE).join(rows, on="actor", how="semi"))

    scores = model.score(rows)

    assert rows.height > 30
    assert scores.drop("model").equals(before.drop("model"))


def test_rows_with_siblings_are_judged_by_what_those_have(alone, model):
    rows = KNOWING.measure(TABLE).filter(pl.col("siblings") > 0)
    before = alone.score(PLAIN.measure(TABLE).join(rows, on="actor", how="semi"))

    scores = model.score(rows)

    assert (scores["probability"] != before["probability"]).mean() > 0.9
    assert model.validation["auc"] > model.validation["auc_without_siblings"]
    assert model.validation["auc_without_siblings"] == alone.validation["auc"]


def test_scores_come_in_the_order_of_the_table_and_under_one_name(model):
    rows = KNOWING.measure(TABLE).sample(fraction=1.0, shuffle=True, seed=5)

    scores = model.score(rows)

    assert scores["actor"].to_list() == rows["actor"].to_list()
    assert scores["model"].unique().to_list() == [model.id]


def test_a_row_scores_the_same_alone_as_in_a_crowd(model):
    rows = KNOWING.measure(TABLE)

    together = model.score(rows)

    for place in (0, 7, 8, 33):
        assert model.score(rows[place]).equals(together[place])


def test_evidence_of_siblings_adds_up_with_the_same_base(model):
    rows = KNOWING.measure(TABLE)
    odds = {row["actor"]: row["probability"] for row in model.score(rows).iter_rows(named=True)}

    told = model.explain(rows).group_by("actor").agg(pl.col("weight").sum())

    for actor, weight in told.iter_rows():
        probability = odds[actor]
        if probability is not None:
            assert weight + model.base == pytest.approx(np.log(probability / (1 - probability)), abs=1e-6)


def test_evidence_names_the_siblings_in_words(model):
    row = KNOWING.measure(TABLE).filter(pl.col("siblings") > 0)[0]

    told = dict(model.explain(row).select("feature", "says").iter_rows())

    assert told["siblings' mean Playtime"].startswith("Siblings' mean playtime is ")
    assert "siblings" in told


def test_a_model_that_knows_siblings_comes_back_from_json_with_the_same_scores(model):
    rows = KNOWING.measure(TABLE)

    again = detectors.load_model(json.loads(json.dumps(model.to_dict())))

    assert again.id == model.id
    assert again.score(rows).equals(model.score(rows))


def test_a_model_whose_second_judge_knows_no_siblings_is_not_believed(model):
    values = json.loads(json.dumps(model.to_dict()))
    bare = {key: value for key, value in values.items() if key not in {"id", "among"}}

    with pytest.raises(ModelError, match="what judges siblings knows how many there are"):
        detectors.load_model({**values, "among": bare})


def test_too_few_accounts_with_siblings_leave_the_model_as_it_was(alone):
    few = TABLE.frame.filter(pl.col("character").str.ends_with("0"))
    rows = FrameRows(few, "few")

    model = AccountTableDetector(feature=KNOWING, **QUICK).fit(KNOWING.measure(rows), LABELS)

    assert model.among is None
    assert model.left_out["siblings"] == "fewer than 5 groups of bots or of humans have several rows"
    del alone


def test_a_budget_counts_each_person_once_by_what_judges_it(alone, model):
    assert len(model.people.lowest) == len(alone.people.lowest)
    assert model.people.lowest == tuple(sorted(model.people.lowest))


def test_the_names_of_siblings_numbers_begin_with_how_many_there_are():
    assert names_of(("x",)) == ("siblings", "siblings' mean x", "siblings' largest x", "siblings' smallest x")
    assert names_of(()) == ()


def test_fit_score_and_explain_know_siblings(tmp_path):
    path = tmp_path / "characters.csv"
    TABLE.frame.write_csv(path)
    columns = ("--actor", "character", "--group", "account", "--label", "verdict", "--positive", "Bot")

    quick = ("--rounds", 20, "--runs", 1, "--to", tmp_path / "m")
    fitted = run("fit", "account-table", path, *columns, "--siblings", *quick)
    scored = run("score", path, "--models", tmp_path / "m", "--json")
    told = run("explain", "c00121", path, "--models", tmp_path / "m", "--json")

    assert fitted.returncode == 0, fitted.stderr
    assert scored.returncode == 0, scored.stderr
    assert told.returncode == 0, told.stderr
    assert "siblings' mean" in told.stdout
    assert "people who have siblings" in fitted.stdout
