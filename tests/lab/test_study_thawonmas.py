import numpy as np
import polars as pl
import pytest

from gamewarden.core.durations import HOUR, MINUTE
from gamewarden.detectors.actions.recipe import Frequency, Interval, TwoStage
from gamewarden.errors import ConfigError
from gamewarden.evaluation.leave_pair_out import leave_pair_out
from gamewarden.features.actions.recipe import Actions
from gamewarden.lab.studies import load
from gamewarden.lab.studies import thawonmas as study
from gamewarden.lab.studies import thawonmas_cast as casting
from gamewarden.lab.studies import thawonmas_evaders as hiding
from gamewarden.lab.studies import thawonmas_folds as folds
from gamewarden.lab.world import World
from gamewarden.presentation.plots import plot_curves
from gamewarden.tables import FrameEvents

pytestmark = pytest.mark.nightly


@pytest.fixture(scope="module")
def stage():
    return casting.Stage(World("aion", 1500, days=3, seed=1001))


@pytest.fixture(scope="module")
def cast(stage):
    return casting.cast_of(stage)


@pytest.fixture(scope="module")
def few(cast):
    """Three humans and three bots of it, a farmer among them."""
    return casting.Cast(cast.humans[:3], cast.bots[:3])


def curves(**mcc):
    """One world's curve of the interval method at 60 minutes, t by name."""
    return pl.DataFrame(
        [{"chunk": 60, "detector": "actions-interval", "t": int(t[1:]), "mcc": value} for t, value in mcc.items()]
    )


def world_curves(interval, frequency=0.3, two_stage=0.4):
    """One world's curves; the interval method by the length of chunks, the same at every t."""
    return pl.DataFrame(
        [
            {"chunk": minutes, "detector": name, "t": t, "mcc": value}
            for minutes, ours in zip(study.CHUNKS, interval, strict=True)
            for name, ts, value in (
                ("actions-two-stage", (None,), two_stage),
                ("actions-frequency", (None,), frequency),
                ("actions-interval", study.SWEEP, ours),
            )
            for t in ts
        ],
        schema_overrides={"t": pl.Int64},
    )


def test_the_study_is_known_by_name_and_counts_its_steps():
    assert load("thawonmas") is study
    assert study.steps(accounts=3000, seeds=2) == 2 * 3 * 4 * (2 + len(study.SWEEP))


def test_seven_and_seven_of_one_class_have_the_same_levels(stage, cast):
    profiles = dict(stage.world.profiles().select("actor", "class").iter_rows())
    humans, bots = (np.sort([stage.levels[actor] for actor in side]) for side in (cast.humans, cast.bots))

    assert len(set(cast.all)) == 14
    assert {profiles[actor] for actor in cast.all} == {casting.CLASS}
    assert np.abs(humans - bots).max() <= 8
    assert humans[-1] - humans[0] > 20


def test_the_irregular_are_the_tools_that_the_paper_names_and_none_is_alone(stage, cast):
    truth = stage.world.truth()
    families = [truth[actor] for actor in cast.bots]
    labels = dict(stage.labels.select("actor", "bot").iter_rows())

    assert {family: families.count(family) for family in families} == casting.IRREGULAR
    assert min(casting.IRREGULAR.values()) > 1
    assert not any(labels[actor] for actor in cast.humans)


def test_everybody_plays_long_enough_and_only_resources_count(stage, cast):
    counted = pl.concat([stage.life(actor).log for actor in cast.all])["kind"].unique().to_list()

    assert all(stage.life(actor).hours >= casting.LEAST_HOURS for actor in cast.all)
    assert {kind.split(".")[0] for kind in counted} <= {
        *("loot", "gather", "item", "craft", "currency", "npc", "trade", "market", "storage", "mail")
    }


def test_a_world_with_too_few_characters_is_refused():
    with pytest.raises(ConfigError, match="take more accounts"):
        casting.cast_of(casting.Stage(World("aion", 40, days=3, seed=1)))


def test_folds_from_shared_work_are_those_of_the_detectors(stage, few):
    chunks = folds.chunks_of(stage, few, 60)
    recipe = Actions(chunk=HOUR, t=folds.LONGEST, kinds=casting.RESOURCES, max_freq=True)
    methods = [method(recipe, enough=2, least=2) for method in (TwoStage, Frequency, Interval)]

    slow = leave_pair_out(methods, chunks.table, stage.labels, draws=1).summary
    quick = {name: counts for name, _, counts in folds.held_out(chunks, [folds.LONGEST])}

    for row in slow.iter_rows(named=True):
        ours = quick[row["detector"]]
        assert [ours.tp, ours.fp, ours.tn, ours.fn] == pytest.approx(
            [row[cell] for cell in ("tp", "fp", "tn", "fn")], abs=1
        )
        assert row["unsure"] == 0


@pytest.mark.parametrize("t", [5, 60])
def test_folded_bins_are_those_of_a_smaller_t(stage, few, t):
    chunks = folds.chunks_of(stage, few, 30)
    log = pl.concat([stage.life(actor).log for actor in few.all])
    recipe = Actions(chunk=30 * MINUTE, t=t, kinds=casting.RESOURCES, max_freq=True)

    measured = recipe.measure(FrameEvents(log)).select(pl.col("^i_.*$")).to_numpy()

    assert chunks.gaps(t) == pytest.approx(measured, abs=1e-9)


def test_all_chunks_of_a_pair_are_out_together(stage, few):
    chunks = folds.chunks_of(stage, few, 60)

    pairs = list(chunks.pairs())

    assert len(pairs) == 9
    for out in pairs:
        assert len(np.unique(chunks.actors[out])) == 2
        assert not set(chunks.actors[out]) & set(chunks.actors[~out])


def test_a_wide_mimic_does_more_kinds_of_things_at_a_scripts_intervals(stage):
    actors = stage.of("farmer")[:3]

    def kinds(persona):
        return np.mean([stage.life(actor, persona).log["kind"].n_unique() for actor in actors])

    def regularity(persona):
        """How many lengths of interval in whole seconds make up an hour, typically."""
        recipe = Actions(t=60, kinds=casting.RESOURCES)
        log = pl.concat([stage.life(actor, persona).log for actor in actors])
        return np.median((recipe.measure(FrameEvents(log)).select(pl.col("^i_.*$")).to_numpy() > 0).sum(axis=1))

    assert kinds("wide-mimic") > 3 * kinds("farmer")
    assert regularity("wide-mimic") < 0.75 * regularity("randomised-farmer")


def test_strangers_are_not_among_the_fourteen_and_disguises_are_the_same_accounts(stage, cast):
    strangers = dict(hiding._strangers(stage, cast))

    assert not {actor for lives in strangers.values() for actor, _ in lives} & set(cast.all)
    assert [actor for actor, _ in strangers["wide-mimic"]] == [actor for actor, _ in strangers["farmer"]]
    assert {persona for _, persona in strangers["wide-mimic"]} == {"wide-mimic"}
    assert len(strangers["farmer"]) == hiding.SPARE


def test_the_best_t_is_the_one_with_the_highest_mean_over_the_worlds():
    both = pl.concat([curves(t5=0.9, t60=0.7), curves(t5=0.1, t60=0.6)])

    assert study._best(both) == (60, [0.7, 0.6])


def test_an_order_that_every_world_shows_holds_and_one_that_half_of_them_show_is_not_settled():
    always = pl.concat([world_curves((0.9, 0.8, 0.7, 0.6)) for _ in range(8)])
    sometimes = pl.concat([world_curves((ours,) * 4) for ours in (0.9, 0.1) * 4])
    never = pl.concat([world_curves((0.1,) * 4) for _ in range(8)])

    assert "60 minutes holds: ahead of the second best by 0.50" in study._leads(always, 60)
    assert "ahead of both in 8 of 8 worlds, on average at 6 of 6" in study._leads(always, 60)
    assert "45 minutes is not settled" in study._leads(sometimes, 45)
    assert "60 minutes does not hold" in study._leads(never, 60)


def test_the_second_best_is_the_harder_comparison():
    close = pl.concat([world_curves((0.5,) * 4, frequency=0.1, two_stage=0.49) for _ in range(4)])

    assert "by 0.01 (95 %: 0.01 to 0.01)" in study._leads(close, 60)


def test_a_fall_with_shorter_chunks_is_said_as_it_came_out():
    falling = pl.concat([world_curves((0.9, 0.8, 0.7, 0.6)) for _ in range(8)])
    bumpy = pl.concat([world_curves((0.9, 0.8, 0.85, 0.6)) for _ in range(8)])
    flat = pl.concat([world_curves((0.5 + up, 0.5, 0.5, 0.5)) for up in (0.1, -0.1)])

    assert "shorter chunks holds: 0.90, 0.80, 0.70, 0.60, step by step; from 60 to 15 minutes by 0.30" in study._falls(
        falling
    )
    assert "not at every step" in study._falls(bumpy)
    assert "is not settled" in study._falls(flat)


def test_what_the_order_hangs_on_is_said_as_it_came_out():
    def worlds(interval):
        rows = [{"cast": hiding.ONE_RANDOMISED, **dict.fromkeys(study.METHODS, 0.4), "actions-interval": interval}]
        return [study.Run("aion", seed, pl.DataFrame(), pl.DataFrame(rows), pl.DataFrame()) for seed in range(8)]

    assert "does not hold: 0.30 against 0.40" in study._hangs_on(worlds(0.3))
    assert "holds: 0.60 against 0.40 of actions-frequency" in study._hangs_on(worlds(0.6))


def test_farmers_hide_one_or_all_and_everybody_else_stays(stage, few):
    table = hiding.disguised(stage, few)

    assert table["cast"].to_list()[:2] == [hiding.AS_CAST, hiding.ONE_RANDOMISED]
    assert table.height == 5
    assert table.select(pl.exclude("cast")).to_numpy().min() >= -1


def test_a_figure_is_drawn_for_every_length_of_chunk(tmp_path):
    run = study.Run("aion", 1, world_curves((0.9, 0.8, 0.7, 0.6)), pl.DataFrame(), pl.DataFrame())

    drawn = study.draw(study.Study("", pl.DataFrame(), (run,), ()), tmp_path)

    assert [path.name for path in drawn] == [
        f"thawonmas-figure-{number}-{minutes}m.png" for number, minutes in ((2, 60), (3, 45), (4, 30), (5, 15))
    ]
    assert all(path.stat().st_size > 10_000 for path in drawn)


def test_curves_need_a_place_that_names_a_picture(tmp_path):
    from gamewarden.errors import WriteError

    with pytest.raises(WriteError, match="names no picture"):
        plot_curves({"a": ([1.0], [1.0])}, tmp_path / "curve.txt", "", ("x", "y"))
