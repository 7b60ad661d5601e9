import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from gamewarden.contracts import frame_digest
from gamewarden.errors import ConfigError, WriteError
from gamewarden.lab.world import World, write
from gamewarden.lab.world.games import GAMES
from gamewarden.lab.world.personas import PERSONAS
from gamewarden.tables import EVENTS, LABELS, PROFILES, check

GAME_NAMES = [game.name for game in GAMES]


def events_of(world: World) -> pl.DataFrame:
    return pl.concat([pl.DataFrame(pl.from_arrow(batch)).cast(EVENTS.columns) for batch in world.batches()])


@pytest.fixture(scope="module")
def small() -> World:
    return World("aion", accounts=60, days=2, seed=7)


@pytest.fixture(scope="module")
def events(small: World) -> pl.DataFrame:
    return events_of(small)


@pytest.mark.parametrize("game", GAME_NAMES)
def test_one_seed_gives_one_world_whatever_the_batch_size(game: str):
    whole = events_of(World(game, accounts=30, days=2, seed=11))
    in_pieces = events_of(World(game, accounts=30, days=2, seed=11, batch_rows=1000))

    assert whole.equals(in_pieces)
    assert frame_digest(whole) == frame_digest(in_pieces)


def test_another_seed_gives_another_world(small: World, events: pl.DataFrame):
    other = World("aion", accounts=60, days=2, seed=8)

    assert other.truth() != small.truth()
    assert not events_of(other).equals(events)


def test_an_account_lives_the_same_life_when_the_world_goes_on_longer(events: pl.DataFrame):
    longer = events_of(World("aion", accounts=60, days=3, seed=7))
    actor = events["actor"][0]
    noon = events["at"].min().replace(hour=12, minute=0)
    untraded = ~pl.col("kind").str.starts_with("trade.")

    mine = events.filter(pl.col("actor") == actor, pl.col("at") < noon, untraded).drop("seq")
    theirs = longer.filter(pl.col("actor") == actor, pl.col("at") < noon, untraded).drop("seq")
    assert mine.equals(theirs)


def test_the_events_pass_the_door(events: pl.DataFrame):
    checked = check(events, EVENTS, "test")

    assert checked.equals(events)
    assert all(events[name].null_count() < events.height for name in EVENTS.columns)


def test_seq_counts_the_rows_of_the_whole_world(events: pl.DataFrame):
    assert events["seq"].equals(pl.Series("seq", np.arange(events.height), dtype=pl.Int64))


def test_events_stay_within_the_days_and_in_order_within_an_account(events: pl.DataFrame, small: World):
    in_order = events.group_by("actor").agg(pl.col("at").is_sorted())["at"]

    assert in_order.all()
    assert events["at"].min() >= small.start
    assert (events["at"].max() - small.start).total_seconds() < 2 * 86400


def test_only_the_columns_asked_for_are_made(small: World):
    batch = next(small.batches(("kind", "actor")))

    assert batch.schema.names == ["kind", "actor"]


def test_every_session_begins_and_ends_once_unless_the_days_cut_it(events: pl.DataFrame):
    per_session = events.group_by("session").agg(
        logins=(pl.col("kind") == "session.login").sum(),
        logouts=(pl.col("kind") == "session.logout").sum(),
        first=pl.col("kind").first(),
        last=pl.col("kind").last(),
        at=pl.col("at").min(),
    )
    whole = per_session.filter((pl.col("logins") == 1) & (pl.col("logouts") == 1))

    assert per_session["logins"].max() == per_session["logouts"].max() == 1
    assert set(whole["first"]) == {"session.login"}
    assert set(whole["last"]) == {"session.logout"}
    assert whole.height > 0.6 * per_session.height


def test_every_trade_is_logged_by_both_sides_at_the_same_moment(events: pl.DataFrame):
    trades = events.filter(pl.col("kind").str.starts_with("trade.")).select("actor", "other", "at", "item", "kind")
    given = trades.filter(pl.col("kind") == "trade.give").drop("kind")
    received = (
        trades.filter(pl.col("kind") == "trade.receive").drop("kind").rename({"actor": "other", "other": "actor"})
    )

    assert given.height > 0
    assert frame_digest(given) == frame_digest(received.select(given.columns))


@pytest.mark.parametrize("game", GAME_NAMES)
def test_a_few_kinds_make_most_of_the_log(game: str):
    counts = events_of(World(game, accounts=40, days=1, seed=3))["kind"].value_counts(sort=True)["count"].to_numpy()

    assert counts[:10].sum() > 0.6 * counts.sum()
    assert np.median(counts) < counts.max() / 200


def test_no_game_has_a_kind_twice():
    assert all(len(set(game.vocabulary.kinds)) == len(game.vocabulary.kinds) for game in GAMES)


def test_levels_rise_by_one_and_never_fall(events: pl.DataFrame):
    steps = events.select(pl.col("level").cast(pl.Int32).diff().over("character"))["level"].drop_nulls()

    assert set(steps.unique()) == {0, 1}
    assert (steps == 1).sum() == (events["kind"] == "level.up").sum()


def test_labels_truth_and_profiles_name_every_account_once(small: World):
    labels, truth, profiles = small.labels(), small.truth(), small.profiles()
    bots = {persona.name: persona.bot for persona in PERSONAS}

    assert labels.equals(check(labels, LABELS, "test"))
    assert profiles.equals(check(profiles, PROFILES, "test"))
    assert labels["actor"].to_list() == profiles["actor"].to_list() == list(truth)
    assert labels["bot"].to_list() == [bots[name] for name in truth.values()]
    assert set(labels["source"]) == {"simulation"}


def test_profiles_state_the_level_the_account_begins_with(small: World, events: pl.DataFrame):
    first = events.filter(pl.col("character").str.ends_with("-c1")).group_by("actor").agg(pl.col("level").first())
    both = first.join(small.profiles().select("actor", stated="level"), on="actor")

    assert (both["level"] == both["stated"]).all()


def test_half_are_bots_unless_another_share_is_asked_for():
    assert World("lineage", 50, 1, 1).labels()["bot"].sum() == 25
    assert World("lineage", 50, 1, 1, bots=0.1).labels()["bot"].sum() == 5
    assert World("lineage", 50, 1, 1, bots=0.0).labels()["bot"].sum() == 0


def test_the_place_of_an_account_tells_nothing_of_its_class():
    bot = World("lineage", 4000, 1, 1).labels()["bot"].to_numpy()

    assert abs(bot[:2000].mean() - 0.5) < 0.05
    assert abs(np.corrcoef(bot[1:], bot[:-1])[0, 1]) < 0.05


@pytest.mark.parametrize(
    ("change", "word"),
    [({"game": "tetris"}, "tetris"), ({"accounts": 0}, "accounts"), ({"days": 0}, "days"), ({"bots": 1.5}, "bots")],
)
def test_a_world_that_cannot_be_says_which_number_is_wrong(change: dict[str, object], word: str):
    values: dict[str, object] = {"game": "aion", "accounts": 5, "days": 1, "seed": 1}

    with pytest.raises(ConfigError, match=word):
        World(**values | change)


@pytest.mark.parametrize("accounts", [1, 2, 3])
def test_a_world_of_a_few_accounts_can_be_played(accounts: int):
    world = World("blade-and-soul", accounts, 2, 1)

    assert set(events_of(world)["actor"]) <= set(world.truth())


def test_a_written_world_reads_back_as_it_was_played(tmp_path: Path, small: World, events: pl.DataFrame):
    done: list[int] = []
    write(small, tmp_path, done.append)

    assert pl.read_parquet(tmp_path / "events.parquet").equals(events)
    assert sum(done) == small.accounts
    columns = ("actor", "bot", "source", "family", "farm")
    assert pl.read_csv(tmp_path / "labels.csv").equals(small.labels().select(columns))
    assert json.loads((tmp_path / "truth.json").read_text()) == small.truth()
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "events.parquet",
        "labels.csv",
        "profiles.csv",
        "truth.json",
    ]


def test_a_world_that_breaks_off_leaves_no_events_file(tmp_path: Path, small: World):
    def interrupt(_rows: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write(small, tmp_path, interrupt)

    assert list(tmp_path.iterdir()) == []


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path, small: World):
    (tmp_path / "file").write_text("")

    with pytest.raises(WriteError, match="file"):
        write(small, tmp_path / "file")


def test_an_account_played_alone_lives_as_among_all_the_others(small: World, events: pl.DataFrame):
    some = [events["actor"][-1], events["actor"][0]]

    alone = pl.concat([pl.DataFrame(pl.from_arrow(batch)).cast(EVENTS.columns) for batch in small.lives(some)])

    for actor in some:
        mine, whole = (frame.filter(pl.col("actor") == actor).drop("seq") for frame in (alone, events))
        assert mine.equals(whole)
    assert alone["actor"].unique(maintain_order=True).to_list() == some


def test_a_recast_account_plays_another_persona_and_nobody_else_does(small: World, events: pl.DataFrame):
    actor = next(actor for actor, persona in small.truth().items() if persona == "farmer")

    other = small.recast({actor: "wide-mimic"})

    assert other.truth() == small.truth() | {actor: "wide-mimic"}
    assert other != small
    played, untraded = events_of(other).drop("seq"), ~pl.col("kind").str.starts_with("trade.")
    stranger, mine = pl.col("actor") != actor, pl.col("actor") == actor
    assert played.filter(stranger, untraded).equals(events.drop("seq").filter(stranger, untraded))
    assert played.filter(mine)["kind"].n_unique() > 2 * events.filter(mine)["kind"].n_unique()


@pytest.mark.parametrize("actor", ["u0000060", "nobody", "u1", "", "u00000x1"])
def test_an_account_that_is_not_there_cannot_be_played(small: World, actor: str):
    with pytest.raises(ConfigError, match="there is no account"):
        list(small.lives([actor]))
    with pytest.raises(ConfigError, match="there is no account"):
        small.recast({actor: "farmer"})


def test_a_persona_that_is_not_there_cannot_be_played(small: World):
    with pytest.raises(ConfigError, match="there is no persona 'ghost'"):
        small.recast({"u0000001": "ghost"})


def test_labels_name_the_family_of_everybody_and_the_farm_of_bots_only():
    world = World("aion", accounts=400, days=1, seed=5)
    labels = world.labels()

    assert dict(labels.select("actor", "family").iter_rows()) == world.truth()
    farmed = labels.filter(pl.col("farm").is_not_null())
    assert farmed["bot"].all()
    assert farmed.group_by("farm").len()["len"].min() > 1


def test_a_star_farmer_is_of_its_hubs_farm():
    labels = World("lineage", accounts=400, days=1, seed=5).labels()

    stars = labels.filter(pl.col("family").is_in(["star-farmer", "star-hub"]))
    assert stars.filter(family="star-hub").height >= 1
    assert set(stars.filter(family="star-farmer")["farm"]) == set(stars.filter(family="star-hub")["farm"])
