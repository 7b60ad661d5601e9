"""LandSandBoat: the open server of Final Fantasy XI; it tells who trades with whom, and little else.

Facts of e8fd63f4e7 (sql, settings/default, src/map) and of the audit tables that came after it. Everything that it
audits is off by default, and a table that is off is there and empty. Kills and walks are counters of a character.
"""

from functools import partial
from typing import TYPE_CHECKING

import polars as pl

from gamewarden.readers.servers.advice import Advice
from gamewarden.readers.servers.collector import GW_EVENTS
from gamewarden.readers.servers.collector import TABLE as COLLECTED
from gamewarden.readers.servers.preset import KEY, Directory, LogTable, Preset, Rows, number, text

if TYPE_CHECKING:
    from collections.abc import Callable

    from gamewarden.readers.databases.database import Database

_JOBS = (
    "none", "WAR", "MNK", "WHM", "BLM", "RDM", "THF", "PLD", "DRK", "BST", "BRD", "RNG", "SAM", "NIN", "DRG", "SMN",
    "BLU", "COR", "PUP", "DNC", "SCH", "GEO", "RUN",
)  # fmt: skip
_PLAYER = 1  # accounts.priv
_COUNTERS = (
    "enemies_defeated", "times_knocked_out", "spells_cast", "items_used", "chats_sent", "npc_interactions",
    "distance_travelled",
)  # fmt: skip
_MAP, _LOGIN = "settings/map.lua", "settings/login.lua"


def _empty(database: "Database", table: str, kinds: frozenset[str]) -> frozenset[str]:
    """The kinds of a table that was never written to: then its setting is off, and nobody knows of them."""
    return frozenset() if database.holds(table) else kinds


def _audited(
    table: str,
    columns: tuple[str, ...],
    events: "Callable[[Rows], pl.DataFrame]",
    *kinds: str,
    key: str | None = "id",
    time: str = "date",
    written: str = "epoch_s",
) -> LogTable:
    """A table that is empty where its setting is off."""
    every = frozenset(kinds)
    muted = partial(_empty, table=table, kinds=every)
    return LogTable(table, time, columns, events, every, key=key, format=written, muted=muted)


def _named(rows: Rows, frame: pl.DataFrame, column: str) -> pl.DataFrame:
    """Rows with `_charid`, the character that a name is of."""
    names = rows.who.characters.select(_name="name", _charid="character").unique("_name", keep="none")
    return frame.join(
        names, left_on=pl.col(column).cast(pl.String), right_on="_name", how="left", maintain_order="left"
    )


def _trades(rows: Rows) -> pl.DataFrame:
    """Both sides of a trade; what is handed to somebody who is no player is handed to an NPC."""
    given = rows.with_other(rows.of_characters(rows.frame, "sender"), "receiver")
    people = rows.who.characters["character"].implode()
    player = pl.col("receiver").cast(pl.String).is_in(people)
    gives = given.select(
        KEY, "at", "actor", "character", "level", "other",
        kind=pl.when(player).then(pl.lit("trade.give")).otherwise(pl.lit("npc.trade")),
        target=pl.when(~player).then(text("receiver_name")), item=text("itemid"), amount=-number("quantity"),
    )  # fmt: skip
    taken = rows.with_other(rows.of_characters(rows.frame.filter(player), "receiver"), "sender")
    takes = taken.select(
        KEY, "at", "actor", "character", "level", "other", kind=pl.lit("trade.receive"), item=text("itemid"),
        amount=number("quantity"),
    )  # fmt: skip
    return pl.concat([gives, takes], how="diagonal").sort(KEY, maintain_order=True)


AUDIT_TRADE = _audited(
    "audit_trade", ("itemid", "quantity", "sender", "receiver", "receiver_name"), _trades,
    "trade.give", "trade.receive", "npc.trade",
)  # fmt: skip


def _handed(kind: str, who: str, other: str | None, sign: int) -> "Callable[[Rows], pl.DataFrame]":
    """Rows of which one side acts, and the other, where there is one, may be away."""

    def events(rows: Rows) -> pl.DataFrame:
        acts = rows.of_characters(rows.frame, who)
        known = acts.with_columns(other=pl.lit(None, pl.String)) if other is None else rows.with_other(acts, other)
        return known.select(
            KEY, "at", "actor", "character", "level", "other",
            kind=pl.lit(kind), item=text("itemid"), amount=sign * number("quantity"),
        )  # fmt: skip

    return events


# Who has a bazaar stands there while nobody plays; what is bought at the auction house is not known, so that these
# are not all that somebody buys.
AUDIT_BAZAAR = _audited(
    "audit_bazaar",
    ("itemid", "quantity", "seller", "purchaser"),
    _handed("bazaar.buy", "purchaser", "seller", 1),
    "bazaar.buy",
)
AUDIT_DBOX = _audited(
    "audit_dbox",
    ("itemid", "quantity", "sender", "receiver"),
    _handed("mail.send", "sender", "receiver", -1),
    "mail.send",
)
AUDIT_VENDOR = _audited(
    "audit_vendor", ("itemid", "quantity", "seller"), _handed("npc.sell", "seller", None, -1), "npc.sell"
)


def _offered(rows: Rows) -> pl.DataFrame:
    """What somebody puts up for auction; who buys it is written into the same row later, and is not read."""
    players = rows.without(rows.frame, text("seller").is_null(), "put up by the server itself")
    known = rows.of_characters(players, "seller")
    return known.select(
        KEY, "at", "actor", "character", "level", kind=pl.lit("auction.list"), item=text("itemid"),
        amount=-number("price"),
    )  # fmt: skip


AUCTION_HOUSE = LogTable(
    "auction_house",
    "date",
    ("itemid", "seller", "price"),
    _offered,
    frozenset({"auction.list"}),
    key="id",
    format="epoch_s",
)


def _chat(rows: Rows) -> pl.DataFrame:
    """Who said something; what was said stays where it is."""
    known = rows.of_characters(_named(rows, rows.frame, "speaker"), "_charid")
    return known.select(KEY, "at", "actor", "character", "level", kind=pl.lit("chat"), zone=text("zoneid"))


AUDIT_CHAT = _audited("audit_chat", ("speaker", "zoneid"), _chat, "chat", key="lineID", time="datetime", written="auto")


def _commands(rows: Rows) -> pl.DataFrame:
    known = rows.of_characters(_named(rows, rows.frame, "gm_name"), "_charid")
    return known.select(KEY, "at", "actor", "character", "level", kind=pl.lit("gm.command"))


AUDIT_GM = _audited("audit_gm", ("gm_name",), _commands, "gm.command", key=None, time="date_time", written="auto")


def _entered(rows: Rows) -> pl.DataFrame:
    """Who chose a character, and from where; when they left nobody writes, so that it is no session."""
    known = rows.without(rows.frame, text("accid").is_null(), "of no account")
    return known.select(
        KEY, "at", actor=text("accid"), character=text("charid"), kind=pl.lit("character.select"), ip=text("client_ip")
    )


ACCOUNT_IP_RECORD = _audited(
    "account_ip_record", ("accid", "charid", "client_ip"), _entered, "character.select",
    key=None, time="login_time", written="auto",
)  # fmt: skip


def _incidents(rows: Rows) -> pl.DataFrame:
    known = rows.of_characters(rows.frame, "charid")
    return known.select(
        KEY, "at", "actor", "character", "level", kind=pl.lit("anticheat.incident"), target=text("cheatid")
    )


CHEAT_INCIDENTS = _audited(
    "cheat_incidents", ("charid", "cheatid"), _incidents, "anticheat.incident",
    key=None, time="incident_time", written="auto",
)  # fmt: skip


def _levels(database: "Database") -> pl.DataFrame:
    """Of each character the job it has now and the level of it."""
    return database.frame("char_stats", ("charid", "mjob", "mlvl")).with_columns(pl.col("charid").cast(pl.String))


def _directory(database: "Database") -> Directory:
    characters = database.frame("chars", ("charid", "accid", "charname")).with_columns(pl.col("charid").cast(pl.String))
    accounts = database.frame("accounts", ("id", "login"))
    people = characters.join(_levels(database), on="charid", how="left").select(
        character="charid", actor=pl.col("accid").cast(pl.String), name=pl.col("charname").cast(pl.String),
        level=number("mlvl").cast(pl.Int16, strict=False),
    )  # fmt: skip
    users = accounts.select(user=pl.col("login").cast(pl.String), actor=pl.col("id").cast(pl.String))
    return Directory(people, users, database.clock.utc)


def _profiles(database: "Database") -> pl.DataFrame:
    """PROFILES: of each account its highest character, and what all of them did."""
    characters = database.frame("chars", ("charid", "accid", "charname", "playtime", "gmlevel"))
    accounts = database.frame("accounts", ("id", "status", "priv", "timecreate"))
    told = characters.with_columns(pl.col("charid").cast(pl.String)).join(_levels(database), on="charid", how="left")
    best = told.sort("accid", number("mlvl"), number("charid")).group_by("accid", maintain_order=True).last()
    counted = _counters(database)
    sums = told.join(counted, on="charid", how="left").group_by("accid").agg(
        characters=pl.len().cast(pl.Int64), hours_played=number("playtime").sum() / 3600,
        gm=number("gmlevel").max(), **{name: number(name).sum() for name in counted.columns if name != "charid"},
    )  # fmt: skip
    whole = accounts.join(best, left_on="id", right_on="accid", how="left").join(
        sums, left_on="id", right_on="accid", how="left"
    )
    job = number("mjob").cast(pl.Int64, strict=False)
    return whole.sort(number("id")).select(
        actor=pl.col("id").cast(pl.String),
        name=pl.col("charname").cast(pl.String),
        main_character=pl.col("charid"),
        **{"class": job.replace_strict(dict(enumerate(_JOBS)), default=None)},
        level=number("mlvl").cast(pl.Int16, strict=False),
        characters="characters",
        hours_played="hours_played",
        **{name: pl.col(name) for name in counted.columns if name != "charid"},
        group=pl.col("priv").cast(pl.String),
        staff=(number("priv") > _PLAYER) | (pl.col("gm") > 0).fill_null(value=False),
        created=pl.col("timecreate").cast(pl.String),
        state=pl.col("status").cast(pl.String),
    )


def _counters(database: "Database") -> pl.DataFrame:
    """What the server counts of a character since it was made."""
    if "charid" not in database.columns("char_history"):
        return pl.DataFrame(schema={"charid": pl.String})
    return database.frame("char_history", ("charid", *_COUNTERS)).with_columns(pl.col("charid").cast(pl.String))


def _wrote(database: "Database") -> bool:
    return database.owns("char_jobs") and {"charid", "accid", "charname"} <= database.columns("chars").keys()


_SWITCHES = {
    "audit_trade": ("AUDIT_PLAYER_TRADES", "who gives what to whom"),
    "audit_bazaar": ("AUDIT_PLAYER_BAZAAR", "who buys at whose bazaar"),
    "audit_dbox": ("AUDIT_PLAYER_DBOX", "who sends what to whom by the delivery box"),
    "audit_vendor": ("AUDIT_PLAYER_VENDOR", "what is sold to shops"),
}


def _advice(database: "Database") -> list[Advice]:
    found = [
        Advice(
            f"{table} is empty ({switch} is off by default)" if table in database.places
            else f"there is no {table}; newer versions of the server have it",
            lack, _MAP, (f"{switch} = true,",), "a row of some 60 bytes for each",
        )
        for table, (switch, lack) in _SWITCHES.items()
        if not database.holds(table)
    ]  # fmt: skip
    found += _chats(database) + _addresses(database) + _unindexed(database)
    if not database.holds(COLLECTED):
        found.append(
            Advice(
                "no table records kills, loot, positions or log-outs; the server counts kills and steps of a character",
                "kills per minute, where somebody walks, and how long somebody plays; profiles have the counters",
                cost="there is no collector for this server yet: what one has to write, docs/how-to say",
            )
        )
    return found


def _chats(database: "Database") -> list[Advice]:
    if database.holds("audit_chat"):
        return []
    said = ("AUDIT_CHAT", "AUDIT_SAY", "AUDIT_SHOUT", "AUDIT_TELL", "AUDIT_YELL", "AUDIT_LINKSHELL", "AUDIT_PARTY")
    lines = tuple(f"{switch} = true," for switch in said)
    return [
        Advice(
            "the chat log is empty (off by default)", "who talks (what is said is never read)", _MAP, lines,
            "a row for each line, with what is said in it",
        )
    ]  # fmt: skip


def _addresses(database: "Database") -> list[Advice]:
    if database.holds("account_ip_record"):
        return []
    return [
        Advice(
            "account_ip_record is empty (off by default)", "who comes from which address, and when", _LOGIN,
            ("LOG_USER_IP = true,",), "a row of some 40 bytes for each log-in",
        )
    ]  # fmt: skip


def _unindexed(database: "Database") -> list[Advice]:
    table, by = CHEAT_INCIDENTS.name, CHEAT_INCIDENTS.time
    if table not in database.places or database.backend == "sqlite" or by in database.indexed(table):
        return []
    line = f"ALTER TABLE `{table}` ADD INDEX (`{by}`);"
    return [
        Advice(
            f"{table} has no index, so that a look at it reads all of it", "what the server itself found suspicious",
            "SQL", (line,), "once, some seconds per million rows",
        )
    ]  # fmt: skip


PRESET = Preset(
    "landsandboat",
    "LandSandBoat",
    (
        ACCOUNT_IP_RECORD,
        AUDIT_TRADE,
        AUDIT_BAZAAR,
        AUDIT_DBOX,
        AUDIT_VENDOR,
        AUCTION_HOUSE,
        AUDIT_CHAT,
        AUDIT_GM,
        CHEAT_INCIDENTS,
        GW_EVENTS,
    ),
    _directory,
    _profiles,
    _wrote,
    _advice,
    sessions=False,
    beside=("chars", "accounts", "char_stats", "char_history", "char_jobs"),
)
