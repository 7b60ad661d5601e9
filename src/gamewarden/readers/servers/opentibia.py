"""OpenTibia: The Forgotten Server and Canary; they keep deaths and deals at the market, and no log of what players do.

Facts of The Forgotten Server cbc4d7bba and Canary 1789d5f97 (schema.sql, src/enums.h, src/iomarket.cpp, the scripts of
deaths). Nearly all that detectors need has to be written by a script in the server.
"""

from typing import TYPE_CHECKING

import polars as pl

from gamewarden.readers.servers.advice import Advice
from gamewarden.readers.servers.collector import GW_EVENTS
from gamewarden.readers.servers.collector import TABLE as COLLECTED
from gamewarden.readers.servers.preset import KEY, Directory, LogTable, Preset, Rows, number, text

if TYPE_CHECKING:
    from gamewarden.readers.databases.database import Database

_SELLS = 1  # market_history.sale
_CANCELLED, _TAKEN, _TOOK = 1, 3, 255  # market_history.state: the offer was taken; who took it
_GAMEMASTER = 4  # accounts.type and players.group_id, from here on
_VOCATIONS = (
    "None", "Sorcerer", "Druid", "Paladin", "Knight", "Master Sorcerer", "Elder Druid", "Royal Paladin", "Elite Knight",
    "Monk", "Exalted Monk",
)  # fmt: skip


def _deals(rows: Rows) -> pl.DataFrame:
    """Who takes an offer acts, and whose offer it was may be away: of the two rows of a deal the first is an event."""
    frame = _paired(rows.frame.sort(KEY))
    state, sells = number("state").cast(pl.Int64, strict=False), number("sale") == _SELLS
    acts = rows.without(frame, state == _TAKEN, "an offer's half of a deal, which happens while its owner does nothing")
    acts = rows.without(acts, ~state.is_in([_CANCELLED, _TOOK]), "offers that ended by themselves")
    known = rows.with_other(rows.of_characters(acts, "player_id"), "_owner")
    deal = pl.when(sells).then(pl.lit("market.sell")).otherwise(pl.lit("market.buy"))
    return known.select(
        KEY, "at", "actor", "character", "level", "other",
        kind=pl.when(state == _TOOK).then(deal).otherwise(pl.lit("market.cancel")), item=text("itemtype"),
        amount=pl.when(state == _TOOK).then(pl.when(sells).then(-number("amount")).otherwise(number("amount"))),
    )  # fmt: skip


def _paired(frame: pl.DataFrame) -> pl.DataFrame:
    """Rows with `_owner`, whose offer was taken: the server writes both halves of a deal, one after the other."""
    same = [pl.col(name) == pl.col(name).shift(-1) for name in ("itemtype", "amount", "price", "expires_at")]
    halves = (number("state") == _TOOK) & (number("state").shift(-1) == _TAKEN)
    pair = pl.all_horizontal(*same, halves, number("sale") != number("sale").shift(-1)).fill_null(value=False)
    return frame.with_columns(_owner=pl.when(pair).then(pl.col("player_id").shift(-1)))


MARKET_HISTORY = LogTable(
    "market_history",
    "inserted",
    ("player_id", "sale", "itemtype", "amount", "price", "expires_at", "state"),
    _deals,
    frozenset({"market.buy", "market.sell", "market.cancel"}),
    key="id",
    format="epoch_s",
)


def _deaths(rows: Rows) -> pl.DataFrame:
    """Who died, at which level, by whom; where that was a player, their account is the other."""
    known = rows.of_characters(rows.frame.rename({"level": "_level"}), "player_id")
    names = rows.who.characters.select(_name="name", _killer="character").unique("_name", keep="none")
    player = pl.when(number("is_player") == 1).then(pl.col("killed_by").cast(pl.String)).alias("_name")
    named = known.with_columns(player).join(names, on="_name", how="left", maintain_order="left")
    return rows.with_other(named, "_killer").select(
        KEY, "at", "actor", "character", "other", kind=pl.lit("combat.death"), target=text("killed_by"),
        level=number("_level").cast(pl.Int16, strict=False),
    )  # fmt: skip


PLAYER_DEATHS = LogTable(
    "player_deaths",
    "time",
    ("player_id", "level", "killed_by", "is_player"),
    _deaths,
    frozenset({"combat.death"}),
    format="epoch_s",
)


def _killed(rows: Rows) -> pl.DataFrame:
    """Players whom somebody killed without right; of all others killed the server keeps nothing."""
    known = rows.with_other(rows.of_characters(rows.frame, "player_id"), "target")
    return known.select(
        KEY, "at", "actor", "character", "level", "other", kind=pl.lit("pvp.kill"), target=text("target")
    )


PLAYER_KILLS = LogTable(
    "player_kills", "time", ("player_id", "target"), _killed, frozenset({"pvp.kill"}), format="epoch_s"
)


def _bought(rows: Rows) -> pl.DataFrame:
    known = rows.without(rows.frame, text("account_id").is_null(), "of no account")
    return known.select(KEY, "at", actor=text("account_id"), kind=pl.lit("store.change"), amount=number("coin_amount"))


STORE_HISTORY = LogTable(
    "store_history",
    "time",
    ("account_id", "coin_amount"),
    _bought,
    frozenset({"store.change"}),
    key="id",
    format="epoch_s",
)


def _rewarded(rows: Rows) -> pl.DataFrame:
    known = rows.of_characters(rows.frame, "player_id")
    return known.select(KEY, "at", "actor", "character", "level", kind=pl.lit("reward.daily"))


DAILY_REWARD_HISTORY = LogTable(
    "daily_reward_history",
    "timestamp",
    ("player_id",),
    _rewarded,
    frozenset({"reward.daily"}),
    key="id",
    format="epoch_s",
)


def _directory(database: "Database") -> Directory:
    characters = database.frame("players", ("id", "account_id", "name", "level"))
    accounts = database.frame("accounts", ("id", "name"))
    people = characters.select(
        character=pl.col("id").cast(pl.String), actor=pl.col("account_id").cast(pl.String),
        name=pl.col("name").cast(pl.String), level=number("level").cast(pl.Int16, strict=False),
    )  # fmt: skip
    users = accounts.select(user=pl.col("name").cast(pl.String), actor=pl.col("id").cast(pl.String))
    return Directory(people, users, database.clock.utc)


def _profiles(database: "Database") -> pl.DataFrame:
    """PROFILES: of each account its highest character, how long all were played, and what they own."""
    characters = database.frame(
        "players",
        (
            "id",
            "account_id",
            "name",
            "level",
            "vocation",
            "group_id",
            "onlinetime",
            "balance",
            "experience",
            "lastlogin",
        ),
    )
    accounts = database.frame("accounts", ("id", "type", "creation")).rename({"id": "account_id"})
    best = (
        characters.sort("account_id", number("level"), number("id")).group_by("account_id", maintain_order=True).last()
    )
    sums = characters.group_by("account_id").agg(
        characters=pl.len().cast(pl.Int64), hours_played=number("onlinetime").sum() / 3600,
        gold=number("balance").sum(), rank=number("group_id").max(), last=number("lastlogin").max(),
    )  # fmt: skip
    own = best.select("account_id", "id", "name", "level", "vocation")
    whole = accounts.join(own, on="account_id", how="left").join(sums, on="account_id", how="left")
    vocation = number("vocation").cast(pl.Int64, strict=False)
    return whole.sort(number("account_id")).select(
        actor=pl.col("account_id").cast(pl.String),
        name=pl.col("name").cast(pl.String),
        main_character=pl.col("id").cast(pl.String),
        **{"class": vocation.replace_strict(dict(enumerate(_VOCATIONS)), default=None)},
        level=number("level").cast(pl.Int16, strict=False),
        first_login=_moment("creation"),
        last_login=_moment("last"),
        characters="characters",
        hours_played="hours_played",
        gold="gold",
        group=pl.col("type").cast(pl.String),
        staff=(number("type") >= _GAMEMASTER) | (pl.col("rank") >= _GAMEMASTER).fill_null(value=False),
    )


def _moment(column: str) -> pl.Expr:
    seconds = number(column).cast(pl.Int64, strict=False)
    return pl.from_epoch(pl.when(seconds > 0).then(seconds)).cast(pl.Datetime("us")).dt.replace_time_zone("UTC")


def _wrote(database: "Database") -> bool:
    return database.owns("players") and {"account_id", "vocation", "posx"} <= database.columns("players").keys()


def _advice(database: "Database") -> list[Advice]:
    found = [] if database.holds(COLLECTED) else [_collector()]
    for table in (PLAYER_DEATHS, PLAYER_KILLS):
        if table.name not in database.places or database.backend == "sqlite":
            continue
        if table.time not in database.indexed(table.name):
            found.append(_unindexed(table))
    if "player_deaths" in database.places:
        found.append(
            Advice(
                "the server keeps the last few deaths of each player",
                "older deaths: what was not read in time is gone, so read at least daily",
            )
        )
    return found


def _collector() -> Advice:
    return Advice(
        "no table records kills, loot, positions, log-ins or log-outs, and no setting of the server changes that",
        "nearly all that detectors of game logs need: kills per minute, where somebody walks, how long somebody plays",
        "data/scripts/gw_collector.lua",
        ("-- on onKill, onLogin, onLogout and onAdvance: INSERT INTO gw_events … (integrations/tables.sql)",),
        "a row of some 60 bytes for each; docs/how-to/plug-into-a-game-server.md says what it has to write",
    )


def _unindexed(table: LogTable) -> Advice:
    return Advice(
        f"{table.name} has no index on its time, so that a look at it reads all of it",
        f"{' and '.join(sorted(table.kinds))}, unless it is read --offline",
        "SQL",
        (f"ALTER TABLE `{table.name}` ADD INDEX (`{table.time}`);",),
        "once, some seconds per million rows",
    )


PRESET = Preset(
    "opentibia",
    "OpenTibia (The Forgotten Server, Canary)",
    (MARKET_HISTORY, PLAYER_DEATHS, PLAYER_KILLS, STORE_HISTORY, DAILY_REWARD_HISTORY, GW_EVENTS),
    _directory,
    _profiles,
    _wrote,
    _advice,
    sessions=False,
    purges="of deaths the server keeps the last few of each player",
    beside=("players", "accounts"),
)
