"""A society: who belongs together, what changes hands, and that its value adds up."""

import hashlib
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner

from gamewarden.cli import root
from gamewarden.lab.world import World
from gamewarden.lab.world.economy import savings
from gamewarden.lab.world.games import GAMES, game_named
from gamewarden.tables import EVENTS

pytestmark = pytest.mark.integration

TOWN = World("blade-and-soul", accounts=400, days=4, seed=101, society=True)  # a design seed
TOLD = ("combat.kill", "currency.gain", "item.craft", "party.join", "party.leave", "session.login", "session.logout")
TIED = ("trade.give", "trade.receive", "mail.send", "mail.receive", "market.buy", "market.sell")


def events_of(world: World) -> pl.DataFrame:
    return pl.concat([pl.DataFrame(pl.from_arrow(batch)).cast(EVENTS.columns) for batch in world.batches()])


@pytest.fixture(scope="module")
def events() -> pl.DataFrame:
    """The events that the tests look at: all of them would be ten million."""
    looked_at = pl.col("kind").is_in([*TOLD, *TIED]) | pl.col("kind").str.starts_with("gather.")
    columns = [name for name in EVENTS.columns if name not in {"character", "level", "target"}]
    types = {name: EVENTS.columns[name] for name in columns}
    return pl.concat(
        [pl.DataFrame(pl.from_arrow(batch)).cast(types).filter(looked_at) for batch in TOWN.batches(columns)]
    )


@pytest.fixture(scope="module")
def deals(events: pl.DataFrame) -> pl.DataFrame:
    return events.filter(pl.col("kind").is_in(TIED), pl.col("other").is_not_null())


def mirrored(deals: pl.DataFrame, kind: str) -> pl.DataFrame:
    """What the other side should have logged."""
    return (
        deals.filter(kind=kind)
        .select("at", "item", actor="other", other="actor", amount=-pl.col("amount"))
        .sort(pl.all())
    )


def seen(deals: pl.DataFrame, kind: str) -> pl.DataFrame:
    return deals.filter(kind=kind).select("at", "item", "actor", "other", "amount").sort(pl.all())


# What worlds without a society were before there was one; recorded figures rest on them.
PLAIN = {"lineage": "bc13708dc198d733", "aion": "9323d5b82959fc2c", "blade-and-soul": "f5213af06ff27942"}


@pytest.mark.parametrize("game", PLAIN)
def test_a_world_without_a_society_is_what_it_was_before_there_were_any(game: str):
    events = events_of(World(game, accounts=40, days=2, seed=31))
    # Another library may round the last bit of a moment or a place: seconds are enough, and places are left out.
    text = events.drop("seq", "x", "y").with_columns(pl.col("at").dt.truncate("1s")).write_csv()

    assert hashlib.sha256(text.encode()).hexdigest()[:16] == PLAIN[game]


def test_one_seed_gives_one_society_whatever_the_batch_size():
    whole = events_of(World("aion", accounts=80, days=2, seed=105, society=True))
    in_pieces = events_of(World("aion", accounts=80, days=2, seed=105, society=True, batch_rows=1000))

    assert whole.equals(in_pieces)


def test_events_stay_in_order_and_within_sessions(events: pl.DataFrame):
    marks = events.group_by("session").agg(
        pl.col("at").is_sorted(),
        logins=(pl.col("kind") == "session.login").sum(),
        first=pl.col("kind").first(),
        last=pl.col("kind").last(),
    )

    assert events.group_by("actor").agg(pl.col("at").is_sorted())["at"].all()
    assert marks["at"].all()
    assert set(marks.filter(pl.col("logins") == 1)["first"]) == {"session.login"}


def test_both_sides_of_a_trade_and_of_a_sale_log_it_at_the_same_microsecond(deals: pl.DataFrame):
    assert seen(deals, "trade.receive").equals(mirrored(deals, "trade.give"))
    assert seen(deals, "market.buy").equals(mirrored(deals, "market.sell"))
    assert deals.filter(pl.col("item").is_null(), kind="trade.give").height > 100
    assert deals.filter(kind="market.sell").height > 100


def test_a_letter_arrives_once_with_what_was_sent_and_later(deals: pl.DataFrame):
    keys = ["actor", "other", "item", "amount"]
    sent = mirrored(deals, "mail.send").rename({"at": "sent"})
    arrived = seen(deals, "mail.receive")
    both = arrived.join(sent, on=keys, how="left", nulls_equal=True)

    assert arrived.height > 50
    assert both["sent"].is_not_null().all()
    assert (both["sent"] < both["at"]).all()
    assert 0.8 * sent.height < arrived.height <= sent.height


def test_nobody_gives_money_that_its_log_does_not_show_it_gained(events: pl.DataFrame, deals: pl.DataFrame):
    truth = list(TOWN.truth().values())
    owned = savings(game_named(TOWN.game), TOWN.roster.persona, TOWN.seed)[:, 0]
    people = pl.DataFrame({"actor": list(TOWN.truth()), "family": truth, "owned": owned})
    money = deals.filter(pl.col("item").is_null() | pl.col("kind").str.starts_with("market."))
    moves = pl.concat([money, events.filter(kind="currency.gain")]).join(people, on="actor").sort("actor", "at")
    balance = moves.with_columns(left=pl.col("owned") + pl.col("amount").cum_sum().over("actor"))
    giving = balance.filter(pl.col("amount") < 0)

    handing_over = giving.filter(pl.col("family").is_in(["star-farmer", "star-hub", "mule", "chain-link"]))
    assert handing_over.height > 100
    assert (handing_over["left"] >= 0).all()
    assert (giving["left"] >= 0).mean() > 0.99


def test_what_leaves_earn_goes_to_their_hub_and_on_to_buyers(deals: pl.DataFrame):
    circles = TOWN.circles().filter(kind="star")
    roles = dict(circles.select("actor", "role").iter_rows())
    money = deals.filter(pl.col("kind").is_in(["trade.give", "mail.send"]), pl.col("item").is_null())
    flows = money.with_columns(
        giver=pl.col("actor").replace_strict(roles, default="-"),
        taker=pl.col("other").replace_strict(roles, default="-"),
    )
    by_role = {
        (giver, taker): -amount
        for giver, taker, amount in flows.group_by("giver", "taker").agg(pl.col("amount").sum()).iter_rows()
    }
    of_leaves = sum(amount for (giver, _), amount in by_role.items() if giver == "leaf")

    assert by_role["leaf", "hub"] > 0.95 * of_leaves
    assert by_role["hub", "buyer"] + by_role["hub", "mule"] > 0.2 * of_leaves
    assert by_role["mule", "buyer"] > 0


@pytest.mark.parametrize("game", [game.name for game in GAMES])
def test_every_circle_is_of_people_or_of_a_farm_and_its_buyers(game: str):
    world = World(game, accounts=1200, days=1, seed=102, society=True)
    labels = world.labels()
    circles = world.circles().join(labels, on="actor")
    sizes = {
        (kind, role): (size.min(), size.max())
        for (kind, role), part in circles.group_by("kind", "role")
        for size in [part.group_by("group").len()["len"]]
    }

    assert circles.filter(pl.col("role") == "buyer")["bot"].sum() == 0
    assert circles.filter(pl.col("kind").is_in(["star", "chain", "script"]), pl.col("role") != "buyer")["bot"].all()
    others = circles.filter(~pl.col("kind").is_in(["star", "chain", "script"]), pl.col("bot"))
    assert set(others["kind"]) == {"guild"}
    assert set(others["family"]) <= {"semi-autonomous", "occasional", "cheat"}
    assert sizes["star", "leaf"][0] >= 8
    assert sizes["star", "leaf"][1] <= 50
    assert sizes["star", "hub"] == (1, 2)
    assert sizes["chain", "link"][0] >= 4
    assert sizes["script", "member"][0] >= 4
    assert sizes["household", "member"][1] <= 5
    assert sizes["café", "member"][0] >= 6


def test_a_farm_has_one_name_for_hubs_leaves_and_mules_and_none_for_buyers():
    labels = dict(TOWN.labels().select("actor", "farm").iter_rows())
    farms = TOWN.circles().filter(pl.col("kind").is_in(["star", "chain", "script"]))
    named = farms.with_columns(farm=pl.col("actor").replace_strict(labels, return_dtype=pl.String))

    own = named.filter(pl.col("role") != "buyer")
    assert own["farm"].is_not_null().all()
    assert own.group_by("group").agg(pl.col("farm").n_unique())["farm"].max() == 1
    assert named.filter(pl.col("role") == "buyer")["farm"].is_null().all()
    assert TOWN.labels().filter(~pl.col("bot"))["farm"].is_null().all()


def test_a_farm_of_one_script_walks_one_way_and_others_do_not(events: pl.DataFrame):
    places = (
        events.filter(pl.col("kind") == "combat.kill", pl.col("zone").str.starts_with("field"))
        .group_by("actor")
        .agg(spots=pl.concat_str("zone", pl.col("x").round(1), pl.col("y").round(1), separator=":").unique())
    )
    spots = dict(places.iter_rows())
    truth, circles = TOWN.truth(), TOWN.circles().filter(kind="script")
    farm = next(list(part["actor"]) for part in circles.partition_by("group") if truth[part["actor"][0]] == "farmer")
    alone = [actor for actor, name in truth.items() if name == "farmer" and actor not in set(circles["actor"])]

    def shared(one: str, two: str) -> float:
        mine, theirs = set(spots[one]), set(spots[two])
        return len(mine & theirs) / min(len(mine), len(theirs))

    assert shared(farm[0], farm[1]) > 0.5
    assert shared(alone[0], alone[1]) < 0.05


def test_a_raid_kills_together_in_one_place_in_its_leaders_party(events: pl.DataFrame):
    raids = TOWN.circles().filter(kind="raid")
    member_of = dict(raids.select("actor", "group").iter_rows())
    kills = events.filter(pl.col("kind") == "combat.kill", pl.col("actor").is_in(raids["actor"].to_list()))
    common = kills.filter(pl.len().over("at") >= 4).with_columns(group=pl.col("actor").replace_strict(member_of))
    moments = common.group_by("at").agg(pl.col("group").n_unique(), pl.col("zone").n_unique())
    leader = raids.filter(role="leader").select("group", other="actor")
    followers = raids.filter(role="member").join(leader, on="group").join(common, on="actor", how="semi")
    joined = events.filter(kind="party.join").select("actor", "other").unique()

    assert moments.height > 20
    assert moments["group"].max() == 1
    assert (moments["zone"] == 1).mean() > 0.8
    assert followers.join(joined, on=["actor", "other"], how="anti").is_empty()


def test_parties_of_bots_last_longer_than_those_of_people(events: pl.DataFrame):
    named = events.filter(pl.col("kind").is_in(["party.join", "party.leave"]), pl.col("other").is_not_null())
    sat = named.with_columns(
        until=pl.col("at").shift(-1).over("session", "other"), left=pl.col("kind").shift(-1).over("session", "other")
    ).filter(kind="party.join", left="party.leave")
    hours = sat.join(TOWN.labels(), on="actor").with_columns(lasts=(pl.col("until") - pl.col("at")).dt.total_minutes())
    typical = dict(hours.group_by("family").agg(pl.col("lasts").median()).iter_rows())

    assert typical["farmer"] > 2 * typical["casual"]


def test_a_guilds_bank_gives_back_and_a_veteran_only_gives(deals: pl.DataFrame):
    given = deals.filter(pl.col("kind").is_in(["trade.give", "mail.send"])).select("actor", "other").unique()
    truth = TOWN.truth()
    pairs = set(given.iter_rows())
    of_banks = [(one, two) for one, two in pairs if truth[one] == "guild-bank"]
    of_veterans = [(one, two) for one, two in pairs if truth[one] == "veteran" and truth[two] == "newbie"]
    deposits = [(one, two) for one, two in pairs if truth[two] == "guild-bank"]

    assert sum((two, one) in pairs for one, two in deposits) > 0.3 * len(deposits)
    assert len(of_banks) > 0.5 * len(deposits)
    assert len(of_veterans) > 4
    assert not any((two, one) in pairs for one, two in of_veterans)


def test_links_of_a_chain_pass_on_what_they_got(deals: pl.DataFrame):
    links = TOWN.circles().filter(kind="chain", role="link")
    money = deals.filter(pl.col("kind").is_in(["trade.give", "mail.send"]), pl.col("item").is_null())
    within = money.join(links, on="actor").join(
        links.select(other="actor", theirs="group"), left_on=["other", "group"], right_on=["other", "theirs"]
    )
    givers, takers = set(within["actor"]), set(within["other"])

    assert len(givers & takers) > 0.4 * links.height
    assert within.group_by("actor").agg(pl.col("other").n_unique())["other"].max() == 1


def test_half_of_the_scripted_bots_are_in_farms_of_which_half_share_an_address():
    world = World("lineage", accounts=2400, days=1, seed=103, society=True)
    circles, labels = world.circles().filter(kind="script"), world.labels()
    bots = labels.filter(pl.col("family").is_in(["farmer", "randomised-farmer", "gatherer", "mimic"]))
    shared = [
        len(set(world.roster.address[[int(actor[1:]) for actor in farm["actor"]]])) == 1
        for farm in circles.partition_by("group")
    ]

    assert 0.45 < circles.height / bots.height <= 0.5
    assert 0.4 < np.mean(shared) < 0.7


def test_somebody_on_rounds_comes_back_to_a_spot_but_never_to_the_pace(events: pl.DataFrame):
    truth = TOWN.truth()
    kills = events.filter(pl.col("kind") == "combat.kill").with_columns(
        persona=pl.col("actor").replace_strict(truth), x=pl.col("x").round(1), y=pl.col("y").round(1)
    )

    def new_places(persona: str, across: float) -> float:
        """The share of kills at a place, so many paces across, where the account has not killed before."""
        mine = kills.filter(persona=persona)
        places = mine.select("actor", "zone", (pl.col("x") / across).floor(), (pl.col("y") / across).floor())
        return places.n_unique() / places.height

    assert new_places("rounder", 0.1) > 0.7
    assert new_places("rounder", 8.0) < 0.4
    assert new_places("farmer", 0.1) < 0.4


def test_people_of_one_activity_keep_the_times_of_a_hand(events: pl.DataFrame):
    gathering = events.filter(pl.col("kind").str.starts_with("gather.") | (pl.col("kind") == "item.craft"))
    gaps = gathering.with_columns(
        persona=pl.col("actor").replace_strict(TOWN.truth()), gap=pl.col("at").diff().over("session")
    ).filter(pl.col("gap") < pl.duration(minutes=2), pl.col("gap") > pl.duration())
    by_actor = gaps.group_by("persona", "actor").agg(pl.len(), spread=pl.col("gap").dt.total_microseconds().log().std())
    many = by_actor.filter(pl.col("len") > 200)
    spread = dict(many.group_by("persona").agg(pl.col("spread").median()).iter_rows())

    assert spread["fisher"] > 0.25
    assert spread["crafter"] > 0.25


def test_a_world_without_a_society_has_no_circles():
    assert World("aion", 60, 1, 1).circles().is_empty()


def test_an_account_of_a_society_played_alone_lives_as_among_all_the_others():
    world = World("lineage", 120, 2, 106, society=True)
    hub = world.circles().filter(role="hub")["actor"][0]
    alone = pl.concat([pl.DataFrame(pl.from_arrow(batch)).cast(EVENTS.columns) for batch in world.lives([hub])])

    assert alone.drop("seq").equals(events_of(world).filter(actor=hub).drop("seq"))


def test_somebody_recast_keeps_its_circles_and_both_sides_still_agree():
    world = World("lineage", 120, 2, 106, society=True)
    leaf = world.circles().filter(role="leaf")["actor"][0]
    other = world.recast({leaf: "mimic"})
    deals = events_of(other).filter(pl.col("kind").is_in(TIED), pl.col("other").is_not_null())

    assert other.circles().equals(world.circles())
    assert other.truth()[leaf] == "mimic"
    assert seen(deals, "trade.receive").equals(mirrored(deals, "trade.give"))


def test_the_command_writes_who_belongs_together(tmp_path: Path):
    result = CliRunner().invoke(root, ["world", str(tmp_path), "--accounts", "90", "--seed", "104", "--society"])

    assert result.exit_code == 0, result.output
    world = World("lineage", 90, 1, 104, society=True)
    assert pl.read_csv(tmp_path / "circles.csv").equals(world.circles())
    assert pl.read_parquet(tmp_path / "events.parquet").equals(events_of(world))


@pytest.mark.parametrize("other", ["--year", "--ragnarok", "--traces"])
def test_other_worlds_have_no_society(tmp_path: Path, other: str):
    result = CliRunner().invoke(root, ["world", str(tmp_path), "--society", other])

    assert result.exit_code == 2
    assert "--society is of the plain world" in result.output


@pytest.mark.parametrize("accounts", [1, 2, 5, 30])
def test_a_society_may_be_as_small_as_it_likes(accounts: int):
    world = World("lineage", accounts, 2, 103, society=True)

    assert world.labels().height == accounts
    assert events_of(world)["actor"].n_unique() <= accounts
