"""A fusion in which what looks human to one detector excuses nothing that another has seen."""

from datetime import UTC, datetime, timedelta

import numpy as np
import polars as pl
import pytest

from gamewarden.core.durations import DAY
from gamewarden.detectors import load_model
from gamewarden.detectors.fusion.recipe import Fusion
from gamewarden.detectors.fusion.scores import Scores
from gamewarden.evaluation.metrics import tpr_at_fpr
from gamewarden.learning.model_info import ModelInfo

pytestmark = pytest.mark.integration

START = datetime(2026, 3, 1, tzinfo=UTC)
TRACES = ("log@1", "tap@1")
FEATURE = Scores({name: ModelInfo(name.partition("@")[0], name, 0.5) for name in TRACES}, DAY, "UTC", 0.3)


def days(bots=120, humans=120, seed=1):
    """Each bot shows in one trace and hides in the other, where it looks more human than people do."""
    draw = np.random.default_rng(seed)
    shows = np.arange(bots) % 2 == 0
    seen, hidden = draw.normal(4.5, 0.7, bots), draw.normal(-3.5, 0.7, bots)
    columns = {
        "log@1": np.concatenate([np.where(shows, seen, hidden), draw.normal(-1, 1, humans)]),
        "tap@1": np.concatenate([np.where(shows, hidden, seen), draw.normal(-1, 1, humans)]),
    }
    names = [f"b{at}" for at in range(bots)] + [f"h{at}" for at in range(humans)]
    frame = pl.DataFrame({"actor": names, **columns}).with_columns(
        since=pl.lit(START), until=pl.lit(START + timedelta(days=1)), events=pl.lit(2)
    )
    return frame, pl.DataFrame({"actor": names, "bot": [name.startswith("b") for name in names]})


def caught(fusion):
    frame, labels = days(seed=2)
    return tpr_at_fpr(fusion.score(frame)["probability"].to_numpy(), labels["bot"].to_numpy(), 0.01)


def test_a_bot_that_hides_from_one_trace_is_not_excused_by_it():
    excusing, strict = (Fusion(FEATURE, excuses=excuses).fit(*days()) for excuses in (True, False))

    assert caught(strict) > 0.9
    assert caught(excusing) < 0.7


def test_what_is_usual_among_people_counts_alike():
    fusion = Fusion(FEATURE, excuses=False).fit(*days())
    frame, _ = days()
    row = frame.head(1).with_columns(pl.lit(4.0).alias("log@1"))
    shy = [fusion.score(row.with_columns(pl.lit(said).alias("tap@1")))["probability"][0] for said in (-1, -5, -50)]

    assert shy[0] == shy[1] == shy[2]
    assert all(term.least is not None and -1 < term.least < 0.5 for term in fusion.terms)


def test_weights_of_evidence_add_up_to_the_probability():
    fusion = Fusion(FEATURE, excuses=False).fit(*days())
    row = days(seed=3)[0].head(1)
    told = fusion.explain(row)

    said = fusion.base + told["weight"].sum()
    assert 1 / (1 + np.exp(-said)) == pytest.approx(fusion.score(row)["probability"][0])
    assert sorted(told["value"]) == pytest.approx(sorted(row.select(TRACES).row(0)))


def test_such_a_fusion_is_kept_as_json_and_comes_back():
    fusion = Fusion(FEATURE, excuses=False).fit(*days())
    back = load_model(fusion.to_dict())

    assert back.to_dict() == fusion.to_dict()
    assert caught(back) == caught(fusion)


def test_a_fusion_as_it_always_was_writes_nothing_new():
    fusion = Fusion(FEATURE).fit(*days())
    values = fusion.to_dict()

    assert "excuses" not in values["recipe"]
    assert all("least" not in term for term in values["voices"])
    assert Fusion.from_dict(values["recipe"], FEATURE).excuses is True
    assert Fusion(FEATURE, excuses=False).to_dict()["excuses"] is False


def agreeing(bots=120, humans=120, seed=1):
    """Both traces show the same bots; of people who hardly move the second says nothing."""
    frame, labels = days(bots, humans, seed)
    draw = np.random.default_rng([seed, 1])
    log = pl.Series("log@1", np.concatenate([draw.normal(3, 1, bots), draw.normal(-1, 1, humans)]))
    tap = pl.Series("tap@1", np.concatenate([draw.normal(6, 1, bots), draw.normal(-2, 1, humans)]))
    still = pl.col("actor").is_in([f"h{at}" for at in range(0, humans, 3)])
    both = frame.with_columns(log, tap)
    return both.with_columns(pl.when(~still).then(pl.col("tap@1")).alias("tap@1")), labels


def test_silence_is_not_held_against_somebody_where_it_counts_as_usual():
    expecting, fair = (Fusion(FEATURE, excuses=False, expects=expects).fit(*agreeing()) for expects in (True, False))
    one = agreeing()[0].head(1)
    silent = one.with_columns(pl.lit(2.0).alias("log@1"), pl.lit(None, pl.Float64).alias("tap@1"))
    usual = one.with_columns(pl.lit(2.0).alias("log@1"), pl.lit(-9.0).alias("tap@1"))

    assert fair.score(silent)["probability"][0] == fair.score(usual)["probability"][0]
    assert fair.score(silent)["probability"][0] < expecting.score(silent)["probability"][0]


def test_the_weight_of_silence_is_part_of_the_sum_and_said():
    fusion = Fusion(FEATURE, excuses=False, expects=False).fit(*agreeing())
    silent = agreeing()[0].head(1).with_columns(pl.lit(None, pl.Float64).alias("tap@1"))
    told = fusion.explain(silent)

    said = fusion.base + told["weight"].sum()
    assert 1 / (1 + np.exp(-said)) == pytest.approx(fusion.score(silent)["probability"][0])
    assert "tap was silent: that counts as what is usual among people." in told["says"].to_list()


def test_where_all_are_silent_there_is_still_no_number():
    fusion = Fusion(FEATURE, excuses=False, expects=False).fit(*agreeing())
    nobody = agreeing()[0].head(1).with_columns(pl.lit(None, pl.Float64).alias(name) for name in TRACES)

    assert fusion.score(nobody)["probability"].to_list() == [None]
    assert fusion.explain(nobody)["weight"].null_count() == len(TRACES)
