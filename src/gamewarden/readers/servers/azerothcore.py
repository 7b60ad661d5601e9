"""AzerothCore: the most used open World of Warcraft server (3.3.5a), which logs money and raids, too."""

from typing import TYPE_CHECKING

import polars as pl

from gamewarden.readers.servers import warcraft, warcraft_advice
from gamewarden.readers.servers.advice import Advice
from gamewarden.readers.servers.collector import GW_EVENTS
from gamewarden.readers.servers.collector import TABLE as COLLECTED
from gamewarden.readers.servers.preset import KEY, LogTable, Preset, Rows, number, text

if TYPE_CHECKING:
    from gamewarden.readers.databases.database import Database

_LOGGED = 10 * 100 * 100  # copper from which on the server writes money down: 10 gold
# log_money.type: what it is for the sender, and for the receiver. Only a trade is an act of both: mail, what is paid on
# delivery and auctions reach somebody who may be away. The names are not those of all trades and mails, since most of
# these are not written down: a count of them would say of everybody that they hardly ever trade.
_GIVES = {1: "money.cod", 2: "money.auction", 3: "guildbank.deposit", 5: "money.mail", 6: "money.give"}
_TAKES = {4: "guildbank.withdraw", 6: "money.receive"}
_GUILDS = (3, 4)  # the other side is a guild: its number stands for the receiver's account, or for the sender's guid


def _money(rows: Rows) -> pl.DataFrame:
    """Money from a sender to a receiver, who is named by account and name."""
    known = rows.without(rows.frame, ~pl.col("type").is_in([*_GIVES, *_TAKES]), "of a type that we do not know")
    gives = known.filter(pl.col("type").is_in(list(_GIVES))).with_columns(
        actor=text("sender_acc"), _other=text("receiver_acc"), _kind=_named(_GIVES), _guild=text("receiver_acc"),
        _sign=-1.0, ip=text("sender_ip"),
    )  # fmt: skip
    takes = known.filter(pl.col("type").is_in(list(_TAKES))).with_columns(
        actor=text("receiver_acc"), _other=text("sender_acc"), _kind=_named(_TAKES), _guild=text("sender_guid"),
        _sign=1.0, ip=pl.when(pl.col("type") == 4).then(text("sender_ip")),  # noqa: PLR2004  of who withdraws
    )  # fmt: skip
    both = [rows.of_accounts(gives, "sender_guid"), rows.of_accounts(_by_name(takes, rows), "_guid")]
    sides = pl.concat(both, how="diagonal")
    acts = rows.without(sides.sort(KEY, maintain_order=True), pl.col("actor").is_null(), "of no account")
    guild = pl.col("type").is_in(_GUILDS)
    return acts.select(
        KEY, "at", "actor", "character", "level", "ip", kind=pl.col("_kind"),
        amount=number("money") * pl.col("_sign"),
        target=pl.when(guild).then("_guild"),
        other=pl.when(~guild & (pl.col("_other") != pl.col("actor"))).then("_other"),
    )  # fmt: skip


def _named(kinds: dict[int, str]) -> pl.Expr:
    return pl.col("type").replace_strict(kinds, default=None, return_dtype=pl.String)


def _by_name(takes: pl.DataFrame, rows: Rows) -> pl.DataFrame:
    names = rows.who.characters.select(receiver_name="name", _guid="character").unique("receiver_name", keep="none")
    named = takes.with_columns(pl.col("receiver_name").cast(pl.String))
    return named.join(names, on="receiver_name", how="left", maintain_order="left")


LOG_MONEY = LogTable(
    "log_money",
    "date",
    ("sender_acc", "sender_guid", "sender_ip", "receiver_acc", "receiver_name", "money", "type"),
    _money,
    frozenset({*_GIVES.values(), *_TAKES.values()}),
)

_MOST = 80  # players of one encounter: twice as many as a raid holds
_PLAYER = (
    r"Low: (?<guid>[0-9]{1,10}), acc: (?<account>[0-9]{1,10}), ip: (?<ip>[0-9a-fA-F.:]{0,45}), guild: [0-9]{1,10}\), "
    r"xyz: \((?<x>-?[0-9]{1,6}\.[0-9]), (?<y>-?[0-9]{1,6}\.[0-9]), "
)


def _encounters(rows: Rows) -> pl.DataFrame:
    """Who was there when a raid's boss fell: a line each, written for people."""
    lines = rows.frame.with_columns(_line=pl.col("playersInfo").cast(pl.String).str.split("\n").list.head(_MOST))
    each = lines.with_columns(_someone=pl.col("_line").list.eval(pl.element().str.contains(_PLAYER)).list.any())
    read = rows.without(each, ~pl.col("_someone").fill_null(value=False), "nobody can be read in them")
    found = read.explode("_line").with_columns(pl.col("_line").str.extract_groups(_PLAYER).alias("_found"))
    players = found.unnest("_found").with_columns(actor=text("account")).drop_nulls("actor")
    once = rows.of_accounts(players.unique([KEY, "actor"], keep="first", maintain_order=True), "guid")
    return once.select(
        KEY, "at", "actor", "character", "level", kind=pl.lit("combat.encounter"), target=text("creditEntry"),
        zone=text("map"), x=number("x"), y=number("y"), ip=text("ip"),
    )  # fmt: skip


LOG_ENCOUNTER = LogTable(
    "log_encounter", "time", ("map", "creditEntry", "playersInfo"), _encounters, frozenset({"combat.encounter"})
)


def _wrote(database: "Database") -> bool:
    return {"guid", "account"} <= database.columns("characters").keys() and "sender_acc" in database.columns(
        "log_money"
    )


def _profiles(database: "Database") -> pl.DataFrame:
    return warcraft.profiles(database, "id", "gmlevel")


def _advice(database: "Database") -> list[Advice]:
    found = [*warcraft_advice.switched_off(database), *warcraft_advice.without_index(database, PRESET.tables)]
    found += [*warcraft_advice.overwritten(database), _SMALL_MONEY, warcraft_advice.SECONDS]
    return found if database.holds(COLLECTED) else [*found, _COLLECTOR]


_SMALL_MONEY = Advice(
    "log_money has trades and mails from 10 gold on, auctions from 500 gold on, and no items; no setting changes that",
    "smaller payments, and everything that changes hands without money",
)
_COLLECTOR = Advice(
    "no table records kills, loot, positions or levels, and no setting of the server changes that",
    "kills per minute, what is looted, and where somebody walks",
    "lua_scripts/",
    ("gw_collector.lua",),
    "see integrations/README.md: build the server with mod-ale, load tables.sql into the characters database, copy the "
    "script",
)

PRESET = Preset(
    "azerothcore",
    "AzerothCore",
    (
        warcraft.IP_ACTIONS,
        LOG_MONEY,
        LOG_ENCOUNTER,
        warcraft.guild_bank(told_elsewhere=_LOGGED),
        warcraft.QUESTS,
        GW_EVENTS,
    ),
    warcraft.directory,
    _profiles,
    _wrote,
    _advice,
    purges="the guild banks' log is a ring of 25 rows a tab; from the others the server removes nothing",
    beside=("characters", "account", "account_access"),
    sessions=False,
)
