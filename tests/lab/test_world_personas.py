"""Each kind of player does what sets it apart."""

import polars as pl
import pytest

from gamewarden.lab.world import World
from gamewarden.lab.world.games import GAMES
from gamewarden.lab.world.personas import BOTS, HUMANS, NEIGHBOURS
from gamewarden.lab.world.play import QUICKEST_KILL, RUN
from gamewarden.tables import EVENTS
from paths import DOCS

pytestmark = pytest.mark.integration

WEEK = World("blade-and-soul", accounts=120, days=7, seed=21)


@pytest.fixture(scope="module")
def events() -> pl.DataFrame:
    columns = ("actor", "character", "at", "kind", "zone", "x", "y", "level", "other", "session", "ip")
    batches = [pl.DataFrame(pl.from_arrow(batch)) for batch in WEEK.batches(columns)]
    truth = pl.DataFrame({"actor": list(WEEK.truth()), "persona": list(WEEK.truth().values())})
    types = {name: EVENTS.columns[name] for name in columns}
    return pl.concat([batch.cast(types) for batch in batches]).join(truth, on="actor")


@pytest.fixture(scope="module")
def hours(events: pl.DataFrame) -> pl.DataFrame:
    """Hours online by account and day, from first to last event of each session."""
    spans = events.group_by("persona", "actor", "session", pl.col("at").dt.date().alias("day")).agg(
        hours=(pl.col("at").max() - pl.col("at").min()).dt.total_seconds() / 3600
    )
    return spans.group_by("persona", "actor", "day").agg(pl.col("hours").sum())


def share_of(events: pl.DataFrame, persona: str, *starts: str) -> float:
    kinds = events.filter(pl.col("persona") == persona)["kind"]
    return float(
        pl.DataFrame([kinds]).select(pl.any_horizontal(pl.col("kind").str.starts_with(s) for s in starts)).mean().item()
    )


def typical_hours(hours: pl.DataFrame, persona: str) -> float:
    return float(hours.filter(pl.col("persona") == persona)["hours"].median())


def steadiest_kinds(events: pl.DataFrame, persona: str) -> float:
    """Median number of different kinds an account uses in an hour of play."""
    mine = events.filter(pl.col("persona") == persona)
    return float(mine.group_by("actor", pl.col("at").dt.truncate("1h")).agg(pl.col("kind").n_unique())["kind"].median())


def test_every_game_has_every_persona():
    for game in GAMES:
        assert set(game.humans) == {persona.name for persona in HUMANS}
        assert set(game.bots) | {"star-hub"} == {persona.name for persona in BOTS}


def test_casual_players_play_a_few_hours_and_do_a_bit_of_everything(events: pl.DataFrame, hours: pl.DataFrame):
    assert 1 < typical_hours(hours, "casual") < 4
    for kind in ("combat.kill", "quest.step.", "chat", "npc.", "gather.", "storage."):
        assert share_of(events, "casual", kind) > 0


def test_hard_core_players_can_be_online_twenty_hours_a_day(hours: pl.DataFrame):
    assert hours.filter(pl.col("persona") == "hard-core")["hours"].quantile(0.9) > 19


def test_grinders_kill_in_one_spot_for_hours(events: pl.DataFrame):
    grinding = events.filter(pl.col("persona") == "grinder", pl.col("kind") == "combat.kill")
    by_hour = grinding.group_by("actor", "zone", pl.col("at").dt.truncate("1h")).agg(
        pl.len(), width=pl.col("x").max() - pl.col("x").min()
    )
    full = by_hour.filter(pl.col("len") > 60)

    assert full.height > 100
    assert full["width"].median() < 60


def test_traders_deal_more_than_they_hunt(events: pl.DataFrame):
    dealing = share_of(events, "trader", "market.", "trade.", "storage.")

    assert dealing > 2 * share_of(events, "trader", "combat.kill")
    assert dealing > 5 * share_of(events, "casual", "market.", "trade.", "storage.")


def test_newbies_are_of_low_level_and_level_up_often(events: pl.DataFrame):
    levels = events.group_by("persona").agg(pl.col("level").median(), ups=(pl.col("kind") == "level.up").mean())
    by_name = {row["persona"]: row for row in levels.to_dicts()}

    assert by_name["newbie"]["level"] < by_name["casual"]["level"] / 3
    assert by_name["newbie"]["ups"] > 5 * by_name["casual"]["ups"]


def test_sitters_are_online_for_hours_and_do_next_to_nothing(events: pl.DataFrame, hours: pl.DataFrame):
    minutes = events.filter(pl.col("persona") == "sitter").select("actor", pl.col("at").dt.truncate("1m")).n_unique()
    online = 60 * hours.filter(pl.col("persona") == "sitter")["hours"].sum()

    assert typical_hours(hours, "sitter") > 4
    assert minutes / online < 0.25


def test_sharers_share_an_address_and_casual_players_do_not(events: pl.DataFrame):
    behind = events.group_by("ip").agg(pl.col("actor").n_unique(), pl.col("persona").unique())
    shared = behind.filter(pl.col("actor") > 1)

    assert {name for names in shared["persona"] for name in names} >= {"sharer"}
    assert all("casual" not in names for names in shared["persona"])
    assert behind.filter(pl.col("persona").list.contains("sharer"))["actor"].min() > 1


def test_farmers_hunt_round_the_clock(events: pl.DataFrame, hours: pl.DataFrame):
    assert typical_hours(hours, "farmer") > 18
    assert share_of(events, "farmer", "quest.", "chat", "emote.") < 0.01
    assert share_of(events, "farmer", "combat.kill") > 0.1


def test_randomised_farmers_kill_at_far_less_regular_times_than_farmers(events: pl.DataFrame):
    kills = events.filter(pl.col("kind") == "combat.kill").with_columns(gap=pl.col("at").diff().over("session"))
    seconds = kills.filter(pl.col("gap") < pl.duration(minutes=2)).with_columns(pl.col("gap").dt.total_milliseconds())
    spread = seconds.group_by("persona", "session").agg(cv=pl.col("gap").std() / pl.col("gap").mean())
    typical = {
        name: spread.filter(pl.col("persona") == name)["cv"].median() for name in ("farmer", "randomised-farmer")
    }

    assert typical["randomised-farmer"] > 1.4 * typical["farmer"]


def test_gatherers_harvest_more_in_a_day_than_any_human(events: pl.DataFrame):
    a_day = (
        events.filter(pl.col("kind").str.starts_with("gather."))
        .group_by("persona", "actor", pl.col("at").dt.date().alias("day"))
        .len()
    )
    humans = a_day.filter(pl.col("persona").is_in([persona.name for persona in HUMANS]))["len"]

    assert a_day.filter(pl.col("persona") == "gatherer")["len"].median() > humans.max()


def test_semi_autonomous_bots_leave_town_and_quests_to_a_person(events: pl.DataFrame):
    assert share_of(events, "semi-autonomous", "quest.step.", "npc.talk.", "ui.") > 0.001
    assert share_of(events, "semi-autonomous", "combat.kill") > 0.1


def test_only_cheats_kill_faster_than_the_rules_allow(events: pl.DataFrame):
    kills = events.filter(pl.col("kind") == "combat.kill").with_columns(gap=pl.col("at").diff().over("session"))
    too_fast = kills.filter(pl.col("gap").dt.total_microseconds() < QUICKEST_KILL * 1e6 - 1)

    assert set(too_fast["persona"]) == {"cheat"}
    assert too_fast["actor"].n_unique() == events.filter(pl.col("persona") == "cheat")["actor"].n_unique()


def test_only_cheats_cross_ground_faster_than_the_rules_allow(events: pl.DataFrame):
    stayed = (pl.col("zone") == pl.col("zone").shift()) & (pl.col("kind") != "zone.enter")
    steps = events.with_columns(
        far=((pl.col("x").diff() ** 2 + pl.col("y").diff() ** 2).sqrt()).over("session"),
        seconds=(pl.col("at").diff().dt.total_microseconds() / 1e6).over("session"),
        stayed=stayed.over("session"),
    )
    too_far = steps.filter(pl.col("stayed"), pl.col("far") > RUN * pl.col("seconds") + 0.1)

    assert set(too_far["persona"]) == {"cheat"}


def test_mimics_use_as_many_kinds_as_a_person_and_farmers_do_not(events: pl.DataFrame):
    assert steadiest_kinds(events, "mimic") > 0.7 * steadiest_kinds(events, "casual")
    assert steadiest_kinds(events, "farmer") < 0.7 * steadiest_kinds(events, "casual")


def test_star_farmers_play_less_than_ten_hours_a_week(hours: pl.DataFrame):
    weekly = hours.filter(pl.col("persona") == "star-farmer").group_by("actor").agg(pl.col("hours").sum())

    assert weekly.height >= 5
    assert weekly["hours"].max() < 10


def test_star_farmers_give_to_their_hub_alone_and_get_almost_nothing_back(events: pl.DataFrame):
    trades = events.filter(pl.col("persona") == "star-farmer", pl.col("kind").str.starts_with("trade."))
    truth = WEEK.truth()
    giving = trades.filter(pl.col("kind") == "trade.give")

    assert {truth[other] for other in trades["other"].unique()} == {"star-hub"}
    assert trades.group_by("actor").agg(pl.col("other").n_unique())["other"].max() == 1
    assert giving.height > 0.95 * trades.height
    assert giving["actor"].n_unique() >= 5


def test_the_hub_trades_and_never_hunts(events: pl.DataFrame):
    hub = events.filter(pl.col("persona") == "star-hub")
    received = hub.filter(pl.col("kind") == "trade.receive")

    assert hub.filter(pl.col("kind") == "combat.kill").is_empty()
    assert {WEEK.truth()[other] for other in received["other"].unique()} >= {"star-farmer"}
    assert received.height > 5 * hub.filter(pl.col("kind") == "trade.give").height


def test_an_occasional_user_plays_by_hand_and_then_lets_the_bot_hunt_for_hours(events: pl.DataFrame):
    sessions = events.filter(pl.col("persona") == "occasional").with_columns(
        minute=(pl.col("at") - pl.col("at").min().over("session")).dt.total_minutes()
    )
    long = sessions.filter(pl.col("minute").max().over("session") > 360)
    by_hand = pl.col("kind").str.starts_with("quest.") | pl.col("kind").is_in(["chat", "npc.talk.", "craft."])
    early = long.filter(pl.col("minute") < 45).select(by_hand.mean()).item()
    late = long.filter(pl.col("minute") > 300).select(by_hand.mean()).item()

    assert early > 0.02
    assert late < 0.2 * early


def test_the_document_tells_of_every_persona_and_game_and_its_kinds():
    page = (DOCS / "world.md").read_text(encoding="utf-8")

    for persona in (*HUMANS, *BOTS, *NEIGHBOURS):
        assert f"| {persona.name} |" in page
    for game in GAMES:
        assert f"| {game.name} | {len(game.vocabulary.kinds):,} |" in page
