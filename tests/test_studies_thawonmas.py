import polars as pl
import pytest

from gamewarden.errors import ConfigError
from gamewarden.evaluation.plots import plot_curves
from gamewarden.studies import load
from gamewarden.studies import thawonmas as study
from gamewarden.world import World


@pytest.fixture(scope="module")
def play():
    return study._Play(World("aion", 120, days=1, seed=1))


def curves(**mcc):
    """One world's curve of the interval method at 60 minutes, t by name."""
    return pl.DataFrame(
        [{"chunk": 60, "detector": "actions-interval", "t": int(t[1:]), "mcc": value} for t, value in mcc.items()]
    )


def test_the_study_is_known_by_name_and_counts_its_steps():
    assert load("thawonmas") is study
    assert study.steps(accounts=300, seeds=2) == 2 * 3 * 4 * (1 + len(study.SWEEP))


def test_the_best_t_is_the_one_with_the_highest_mean_over_the_worlds():
    both = pl.concat([curves(t5=0.9, t60=0.7), curves(t5=0.1, t60=0.6)])

    assert study._best(both) == (60, [0.7, 0.6])


def test_characters_are_the_first_who_play_long_enough(play):
    bots = play.first(play.of("farmer"), 3)

    assert bots == [actor for actor in play.of("farmer") if actor in bots]
    assert all(play._truth[actor] == "farmer" for actor in bots)
    with pytest.raises(ConfigError, match="take more accounts"):
        play.first(play.of("farmer"), 1000)


def test_one_length_of_chunk_is_judged_by_all_methods_at_every_t(play):
    few = [*play.first(play.humans(), 6), *play.first(play.of("farmer", "gatherer"), 6)]
    labels = play.labels

    table = study._recipe(60).measure(play.events(few))
    method = study._method(study.Frequency, study._recipe(60))

    assert table["actor"].n_unique() == 12
    assert {name[2:].split(".")[0] for name in table.columns if name.startswith("a_")} <= {
        *("loot", "gather", "item", "craft", "currency", "npc", "trade", "market", "storage", "mail")
    }
    assert method.learn(table, labels).enough == 2


def test_loot_is_counted_by_the_hour(play):
    assert play.loot_an_hour(play.of("farmer")) > 0
    assert play.loot_an_hour([]) is None


def test_a_figure_is_drawn_for_every_length_of_chunk(tmp_path):
    rows = [
        {"chunk": minutes, "detector": name, "t": t, "mcc": 0.5}
        for minutes in study.CHUNKS
        for name, ts in (("actions-two-stage", (None,)), ("actions-interval", study.SWEEP))
        for t in ts
    ]
    run = study.Run("aion", 1, pl.DataFrame(rows, schema_overrides={"t": pl.Int64}), {})

    drawn = study.draw(study.Study("", pl.DataFrame(), (run,), ()), tmp_path)

    assert [path.name for path in drawn] == [
        f"thawonmas-figure-{number}-{minutes}m.png" for number, minutes in ((2, 60), (3, 45), (4, 30), (5, 15))
    ]
    assert all(path.stat().st_size > 10_000 for path in drawn)


def test_what_must_match_is_said_as_it_came_out():
    rows = [
        {"chunk": minutes, "detector": name, "t": t, "mcc": mcc - minutes / 1000}
        for minutes in study.CHUNKS
        for name, t, mcc in (
            ("actions-two-stage", None, 0.5),
            ("actions-frequency", None, 0.6),
            ("actions-interval", 5, 0.7),
        )
    ]

    said = list(study._shape(pl.DataFrame(rows)))

    assert said[0] == (
        "60 minutes: actions-interval > actions-frequency > actions-two-stage (published best: actions-interval)."
    )
    assert said[-1] == "The interval method does not fall steadily with shorter chunks; published: falls."


def test_curves_need_a_place_that_names_a_picture(tmp_path):
    from gamewarden.errors import WriteError

    with pytest.raises(WriteError, match="names no picture"):
        plot_curves({"a": ([1.0], [1.0])}, tmp_path / "curve.txt", "", ("x", "y"))
