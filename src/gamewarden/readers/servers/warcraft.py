"""What the log tables of World of Warcraft servers mean; AzerothCore and TrinityCore share most of them.

Facts of AzerothCore b506a6eb09 (data/sql/base, src/server/scripts/World/action_ip_logger.cpp, src/server/game/Guilds)
and of TrinityCore fdcd7d00d8b and its branch 3.3.5 (sql/base). Accounts are in one database, characters in another.
"""

from typing import TYPE_CHECKING

import polars as pl

from gamewarden.readers.servers.preset import KEY, Directory, LogTable, Rows, number, text

if TYPE_CHECKING:
    from gamewarden.readers.databases.database import Database

_ACTIONS = {
    0: "account.login",
    1: "login.refused",
    2: "account.password",
    3: "account.password_refused",
    4: "account.email",
    5: "account.email_refused",
    7: "character.create",
    8: "session.login",
    9: "session.logout",
    10: "character.delete",
    11: "character.delete_refused",
}
_COLLECTED = {8: "character.login", 9: "character.logout"}  # where a collector of ours tells who came and went
_OF_ACTIONS = frozenset({*_ACTIONS.values(), *_COLLECTED.values()})
_ACTIONS_LOG = "logs_ip_actions"
_SERVER_PLAYED = "rndbot"  # how mod-playerbots calls the accounts that the server itself plays, unless told otherwise


def _actions(rows: Rows) -> pl.DataFrame:
    known = rows.without(rows.frame, text("account_id").is_null(), "of no account")
    known = rows.without(known, ~pl.col("type").is_in(list(_ACTIONS)), "of a type that the server does not write")
    since = pl.lit(rows.collected, pl.Datetime("us", "UTC"))
    after = (pl.col("at") >= since).fill_null(value=False)
    kind = pl.col("type").replace_strict(_ACTIONS, return_dtype=pl.String)
    later = pl.col("type").replace_strict({**_ACTIONS, **_COLLECTED}, return_dtype=pl.String)
    named = rows.of_accounts(known.with_columns(actor=text("account_id")), "character_guid")
    return named.select(
        KEY, "at", "actor", "character", "level", kind=pl.when(after).then(later).otherwise(kind), ip=text("ip")
    )


IP_ACTIONS = LogTable(
    _ACTIONS_LOG,
    "unixtime",
    ("account_id", "character_guid", "type", "ip"),
    _actions,
    _OF_ACTIONS,
    key="id",
    format="epoch_s",
    muted=lambda database: frozenset() if database.holds(_ACTIONS_LOG) else _OF_ACTIONS,
)

_BANK = {
    1: "guildbank.deposit",
    2: "guildbank.withdraw",
    3: "guildbank.move",
    4: "guildbank.deposit",
    5: "guildbank.withdraw",
    6: "guildbank.repair",
    7: "guildbank.move",
    8: "guildbank.tab",
    9: "guildbank.tab",
    10: "guildbank.income",
}
_ITEMS = (1, 2, 3, 7)  # EventTypes of things; the others are of money
_SIGNS = {1: -1, 2: 1, 4: -1, 5: 1}  # as the player sees it: repairs and tabs are paid by the guild


def guild_bank(told_elsewhere: int | None = None) -> LogTable:
    """guild_bank_eventlog; money above so much copper is left to the log that has it, too."""

    def events(rows: Rows) -> pl.DataFrame:
        what = pl.col("EventType")
        frame = rows.without(rows.frame, ~what.is_in(list(_BANK)), "of a type that the server does not write")
        if told_elsewhere is not None:
            large = ~what.is_in(_ITEMS) & (number("ItemOrMoney") > told_elsewhere)
            frame = rows.without(frame, large, "money above 10 gold, which log_money tells")
        known = rows.of_characters(frame, "PlayerGuid")
        thing = what.is_in(_ITEMS)
        size = pl.when(thing).then(number("ItemStackCount")).otherwise(number("ItemOrMoney"))
        return known.select(
            KEY, "at", "actor", "character", "level",
            kind=what.replace_strict(_BANK, return_dtype=pl.String),
            target=text("guildid"),
            item=pl.when(thing).then(text("ItemOrMoney")),
            amount=size * what.replace_strict(_SIGNS, default=None, return_dtype=pl.Float64),
        )  # fmt: skip

    columns = ("guildid", "TabId", "EventType", "PlayerGuid", "ItemOrMoney", "ItemStackCount")
    return LogTable("guild_bank_eventlog", "TimeStamp", columns, events, frozenset(_BANK.values()), format="epoch_s")


def _quests(rows: Rows) -> pl.DataFrame:
    known = rows.of_characters(rows.frame, "character_guid")
    return known.select(KEY, "at", "actor", "character", "level", kind=pl.lit("quest.accept"), target=text("id"))


# A row is written when a quest is taken, and changed when it is done or given up: of what changes nothing is read, or
# a changed row would count as another one.
QUESTS = LogTable(
    "quest_tracker",
    "quest_accept_time",
    ("id", "character_guid"),
    _quests,
    frozenset({"quest.accept"}),
    muted=lambda database: frozenset() if database.holds("quest_tracker") else frozenset({"quest.accept"}),
)


def directory(database: "Database") -> Directory:
    """Who is who: the table `characters`; one that was deleted lately still names its account."""
    columns = ("guid", "account", "name", "level", "deleteInfos_Account")
    found = database.frame("characters", columns)
    owner = text("account")
    if "deleteInfos_Account" in found.columns:
        owner = pl.coalesce(owner, text("deleteInfos_Account"))
    people = found.select(
        character=pl.col("guid").cast(pl.String), actor=owner, name=pl.col("name").cast(pl.String),
        level=number("level").cast(pl.Int16, strict=False),
    )  # fmt: skip
    return Directory(people.drop_nulls("actor"), at=database.clock.utc)


def profiles(database: "Database", account: str, level: str) -> pl.DataFrame:
    """PROFILES: of each account its highest character, and its level of access.

    `account_access` has the two in columns of these names.
    """
    columns = ("guid", "account", "name", "class", "level", "money", "totaltime", "online")
    characters = database.frame("characters", columns).with_columns(actor=text("account")).drop_nulls("actor")
    best = characters.sort("actor", "level", "guid").group_by("actor", maintain_order=True).last()
    many = characters.group_by("actor").agg(
        characters=pl.len().cast(pl.Int64),
        money=number("money").sum(),
        hours_played=(number("totaltime").sum() / 3600).round(1),
        online=(number("online") > 0).any(),
    )
    accounts = _accounts(database, best["actor"])
    told = accounts.join(best.drop("money", "totaltime", "online", "account"), on="actor", how="left")
    told = told.join(many, on="actor", how="left").join(_access(database, account, level), on="actor", how="left")
    return told.sort("actor").select(
        "actor",
        name=pl.col("name").cast(pl.String),
        main_character=pl.col("guid").cast(pl.String),
        **{"class": pl.col("class").cast(pl.String)},
        level=number("level").cast(pl.Int16, strict=False),
        first_login=_in_utc(database, "joindate"),
        last_login=_in_utc(database, "last_login"),
        characters=pl.col("characters"),
        money=pl.col("money"),
        hours_played=pl.col("hours_played"),
        online=pl.col("online"),
        group=pl.col("_access").cast(pl.Int64).cast(pl.String),
        staff=(pl.col("_access") > 0).fill_null(value=False),
        server_played=pl.col("username").cast(pl.String).str.to_lowercase().str.starts_with(_SERVER_PLAYED),
    )


def _accounts(database: "Database", seen: pl.Series) -> pl.DataFrame:
    """The accounts, or where their database cannot be seen those that have characters."""
    columns = {"username": pl.String, "joindate": pl.String, "last_login": pl.String}
    if not {"id", *columns} <= database.columns("account").keys():
        nothing = [pl.lit(None, dtype).alias(name) for name, dtype in columns.items()]
        return pl.DataFrame({"actor": seen}).with_columns(nothing)
    found = database.frame("account", ("id", *columns))
    return found.select(pl.col("id").cast(pl.String).alias("actor"), *columns)


def _access(database: "Database", account: str, level: str) -> pl.DataFrame:
    """The highest level of access of each account that has one; some have one for each realm."""
    if not {account, level} <= database.columns("account_access").keys():
        return pl.DataFrame(schema={"actor": pl.String, "_access": pl.Float64})
    found = database.frame("account_access", (account, level))
    return found.group_by(pl.col(account).cast(pl.String).alias("actor")).agg(_access=number(level).max())


def _in_utc(database: "Database", column: str) -> pl.Expr:
    """A time of the table, which the database gives in its own zone, by the zone's present offset: to the hour."""
    local = pl.col(column).cast(pl.String).str.to_datetime("%Y-%m-%d %H:%M:%S%.f", time_unit="us", strict=False)
    return (local - database.clock.ahead).dt.replace_time_zone("UTC")
