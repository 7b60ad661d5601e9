"""What the log tables of Ragnarok servers mean; rAthena and Hercules share nearly all of them.

Facts of rAthena e985006171 and Hercules 410b9738c (sql-files, src/map/log.cpp and log.c), and of real logs of rAthena.
A monster's rows carry its class where a character would stand. What a shop sells while its owner is away is no act of
the owner: only the buyer's half of a sale is an event, and names the owner as the other side.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import polars as pl

from gamewarden.core.durations import SECOND
from gamewarden.readers.servers.preset import KEY, Directory, LogTable, Rows, number, text

if TYPE_CHECKING:
    from gamewarden.readers.databases.database import Database

PEOPLE = ("char", "login", "vendings", "buyingstores", "autotrade_merchants")
FLOOR = 60 * SECOND  # what somebody drops and another account takes up within this time changed hands
_GAINS, _LOSSES = "gains", "losses"
# A letter of picklog: what it is when the character gains the item, and when it loses it.
Letters = Mapping[str, tuple[str, str]]
LETTERS: Letters = {
    "T": ("trade.receive", "trade.give"),
    "V": ("market.buy", "market.sell"),
    "B": ("market.buy", "market.sell"),
    "I": ("market.buy", "market.sell"),
    "P": ("loot.pickup", "loot.drop"),
    "S": ("npc.buy", "npc.sell"),
    "N": ("script.gain", "script.loss"),
    "C": ("item.gain", "item.use"),
    "O": ("item.craft", "item.craft"),
    "A": ("gm.item", "gm.item"),
    "R": ("storage.withdraw", "storage.deposit"),
    "G": ("guildbank.withdraw", "guildbank.deposit"),
    "E": ("mail.receive", "mail.send"),
    "X": ("item.gain", "item.loss"),
}
_MONSTERS = ("M", "L", "D", "U")  # char_id is a monster's class
# The same of zenylog, when the character gains money and when it loses it: who gains money sells.
_ZENY: Letters = {
    **{letter: LETTERS[letter] for letter in ("T", "E")},
    **{letter: LETTERS[letter][::-1] for letter in ("V", "B", "I", "S")},
    "N": ("currency.gain", "currency.loss"),
    "M": ("currency.gain", "currency.loss"),
    "P": ("currency.gain", "currency.loss"),
    "K": ("bank.withdraw", "bank.deposit"),
    "A": ("gm.currency", "gm.currency"),
}
_OTHERWISE = ("currency.gain", "currency.loss")
_LOGIN_OK = 100  # loginlog.rcode
_PLAYERS = (0, 1, 5)  # login.group_id of stock groups that are no staff: Player, Super Player, VIP


def kinds_of(letters: Letters) -> frozenset[str]:
    """The kinds that letters can give."""
    return frozenset(kind for pair in letters.values() for kind in pair)


def _kind(letters: Letters, otherwise: tuple[str, str]) -> pl.Expr:
    """The kind of a row by its letter and the sign of its amount."""
    letter = pl.col("type").cast(pl.String)
    gains = letter.replace_strict({one: pair[0] for one, pair in letters.items()}, default=otherwise[0])
    losses = letter.replace_strict({one: pair[1] for one, pair in letters.items()}, default=otherwise[1])
    return pl.when(number("amount") < 0).then(losses).otherwise(gains)


def _by_the_shop(rows: Rows, frame: pl.DataFrame) -> pl.DataFrame:
    """Without the shops' halves of sales: of vending the one that loses items or gains money, of buying the other."""
    gains, items = number("amount") > 0, pl.lit("nameid" in frame.columns)
    vendor = (pl.col("type") == "V") & (gains ^ items)
    buyer = (pl.col("type") == "B") & (gains == items)
    return rows.without(frame, vendor | buyer, "a shop's half of a sale, which happens while its owner does nothing")


def picked(letters: Letters) -> "LogTable":
    """picklog: whatever items moved, signed as the character sees it."""

    def events(rows: Rows) -> pl.DataFrame:
        frame = _paired(rows.frame.sort(KEY))
        taken_up = _floor_trades(frame, rows.who)
        players = rows.without(frame, pl.col("type").is_in(_MONSTERS), "of monsters, and not of players")
        known = rows.with_other(rows.of_characters(players, "char_id"), "_partner")
        told = known.join(taken_up, on=KEY, how="left").with_columns(pl.coalesce("other", "_floor").alias("other"))
        acts = _by_the_shop(rows, told)
        return acts.select(
            KEY, "at", "actor", "character", "level", "other",
            kind=_kind(letters, LETTERS["X"]), zone=text("map"), item=text("nameid"), amount=number("amount"),
        )  # fmt: skip

    return LogTable(
        "picklog",
        "time",
        ("char_id", "type", "nameid", "amount", "map"),
        events,
        kinds_of(letters),
        key="id",
        reach=FLOOR + SECOND,
        may=("unique_id",),
    )


def _paired(frame: pl.DataFrame) -> pl.DataFrame:
    """Rows with the character of the other half of a trade or a sale: the server writes both, one after the other.

    The half that gains comes first, then the one that loses, of the same item, amount, map and second.
    """
    halves = frame.filter(pl.col("type").is_in(["T", "V", "B"]))
    same = [pl.col(name) == pl.col(name).shift(-1) for name in ("type", "nameid", "map", "at")]
    opposite = (number("amount") > 0) & (number("amount") == -number("amount").shift(-1))
    begins = pl.all_horizontal(*same, opposite, pl.col("char_id") != pl.col("char_id").shift(-1)).fill_null(value=False)
    found = halves.with_columns(_begins=begins).with_columns(
        _partner=pl.when("_begins").then(pl.col("char_id").shift(-1)).when(pl.col("_begins").shift()).then(
            pl.col("char_id").shift()
        )
    )  # fmt: skip
    return frame.join(found.select(KEY, "_partner"), on=KEY, how="left", maintain_order="left")


def _floor_trades(frame: pl.DataFrame, who: Directory) -> pl.DataFrame:
    """Which account took up what another had dropped, and the other way round: KEY and `_floor`.

    A thing that a monster of the same map may have dropped just as well proves nothing, unless it has a number.
    """
    here = ["nameid", "map", "_unique", "_amount"]
    unique = text("unique_id") if "unique_id" in frame.columns else pl.lit(None, pl.String)
    rows = frame.with_columns(_unique=unique.fill_null(""), _amount=number("amount").abs(), _when=pl.col("at"))
    people = who.characters.select(pl.col("character").alias("_who"), pl.col("actor").alias("_actor"))
    mine = (
        rows.filter(pl.col("type") == "P").with_columns(_who=pl.col("char_id").cast(pl.String)).join(people, on="_who")
    )
    drops = mine.filter(number("amount") < 0).select(*here, "_when", _drop=KEY, _from="_actor", _dropped="at")
    takes = mine.filter(number("amount") > 0).select(*here, "_when", "at", KEY, "_actor")
    if not drops.height or not takes.height:
        return pl.DataFrame(schema={KEY: pl.Int64, "_floor": pl.String})
    # Polars would warn that it cannot check within groups what is sorted right here.
    found = takes.sort("_when").join_asof(
        drops.sort("_when"), on="_when", by=here, tolerance=f"{FLOOR}us", check_sortedness=False
    )
    other = found.filter(pl.col("_from").is_not_null() & (pl.col("_from") != pl.col("_actor")))
    loot = rows.filter(pl.col("type").is_in(["M", "L"]) & (number("amount") < 0))
    loot = loot.select("nameid", "map", "_when", _loot=KEY).sort("_when")
    sure = other.sort("_when").join_asof(
        loot, on="_when", by=["nameid", "map"], tolerance=f"{FLOOR}us", check_sortedness=False
    )
    once = sure.filter((pl.col("_unique") != "") | pl.col("_loot").is_null()).unique(
        "_drop", keep="first", maintain_order=True
    )
    took = once.select(KEY, pl.col("_from").alias("_floor"))
    gave = once.select(pl.col("_drop").alias(KEY), pl.col("_actor").alias("_floor"))
    return pl.concat([took, gave]).unique(KEY, keep="first", maintain_order=True)


def _zeny(rows: Rows) -> pl.DataFrame:
    known = rows.with_other(rows.of_characters(rows.frame, "char_id"), "src_id")
    acts = _by_the_shop(rows, known)
    return acts.select(
        KEY, "at", "actor", "character", "level", "other",
        kind=_kind(_ZENY, _OTHERWISE), zone=text("map"), amount=number("amount"),
    )  # fmt: skip


ZENYLOG = LogTable("zenylog", "time", ("char_id", "src_id", "type", "amount", "map"), _zeny, kinds_of(_ZENY), key="id")


def _cash(rows: Rows) -> pl.DataFrame:
    known = rows.of_characters(rows.frame, "char_id")
    kind = pl.when(number("amount") < 0).then(pl.lit("cash.loss")).otherwise(pl.lit("cash.gain"))
    return known.select(KEY, "at", "actor", "character", "level", kind=kind, zone=text("map"), amount=number("amount"))


CASHLOG = LogTable(
    "cashlog", "time", ("char_id", "amount", "map"), _cash, frozenset({"cash.gain", "cash.loss"}), key="id"
)


def _chat(rows: Rows) -> pl.DataFrame:
    """Who said something where; what was said stays where it is."""
    known = rows.without(rows.frame, text("src_accountid").is_null(), "no account said it")
    return known.select(
        KEY, "at", actor=text("src_accountid"), character=text("src_charid"), kind=pl.lit("chat"),
        zone=text("src_map"), x=number("src_map_x"), y=number("src_map_y"),
    )  # fmt: skip


CHATLOG = LogTable(
    "chatlog",
    "time",
    ("src_charid", "src_accountid", "src_map", "src_map_x", "src_map_y"),
    _chat,
    frozenset({"chat"}),
    key="id",
)


def _logins(rows: Rows) -> pl.DataFrame:
    """Log-ins, and attempts that were refused; where a collector tells when somebody plays, these are the account's."""
    servers = pl.col("log").str.starts_with("charserver") | (pl.col("user") == "login server")
    people = rows.without(rows.frame, servers, "of the servers themselves")
    # MariaDB takes ANN for ann, and so does the server.
    users = rows.who.accounts.with_columns(pl.col("user").str.to_lowercase().alias("_user"))
    users = users.unique("_user", keep="none").select("_user", "actor")
    joined = people.with_columns(_user=pl.col("user").cast(pl.String).str.to_lowercase()).join(
        users, on="_user", how="left"
    )
    known = rows.without(joined, pl.col("actor").is_null(), "nobody logs in by such a name")
    here = "account.login" if rows.collected is not None else "session.login"
    # A collector tells who came and went from its first row on.
    since = pl.lit(rows.collected, pl.Datetime("us", "UTC"))
    came = pl.when((pl.col("at") >= since).fill_null(value=False)).then(pl.lit(here)).otherwise(pl.lit("session.login"))
    kind = pl.when(number("rcode") == _LOGIN_OK).then(came).otherwise(pl.lit("login.refused"))
    return known.select(KEY, "at", "actor", kind=kind, ip=text("ip"))


LOGINLOG = LogTable(
    "loginlog", "time", ("ip", "user", "rcode", "log"), _logins, frozenset({"session.login", "login.refused"})
)


def _characters(rows: Rows) -> pl.DataFrame:
    message = pl.col("char_msg").cast(pl.String).str.to_lowercase()
    kind = (
        pl.when(message == "char select").then(pl.lit("character.select"))
        .when(message.str.starts_with("make new char")).then(pl.lit("character.create"))
        .when(message.str.contains("delet")).then(pl.lit("character.delete"))
        .otherwise(pl.lit("character.change"))
    )  # fmt: skip
    known = rows.without(rows.frame, text("account_id").is_null(), "of no account")
    names = rows.who.characters.select(pl.col("name").alias("_name"), "character", pl.col("actor").alias("_owner"))
    named = known.with_columns(_name=pl.col("name").cast(pl.String), actor=text("account_id"))
    joined = named.join(names.unique("_name", keep="none"), on="_name", how="left", maintain_order="left")
    own = pl.when(pl.col("_owner") == pl.col("actor")).then("character")
    return joined.select(KEY, "at", "actor", kind=kind, character=own)


_OF_CHARACTERS = frozenset({"character.select", "character.create", "character.delete", "character.change"})
CHARLOG = LogTable("charlog", "time", ("char_msg", "account_id", "name"), _characters, _OF_CHARACTERS, key="id")
CHARLOG_WITHOUT_KEY = replace(CHARLOG, key=None)


def _bosses(rows: Rows) -> pl.DataFrame:
    """Bosses that were killed.

    Ordinary kills are not written down, so these are a kind of their own: a count of kills that holds bosses alone
    would say of everybody that they hardly ever kill.
    """
    known = rows.of_characters(rows.frame, "kill_char_id")
    return known.select(
        KEY,
        "at",
        "actor",
        "character",
        "level",
        kind=pl.lit("combat.boss"),
        target=text("monster_id"),
        zone=text("map"),
    )


MVPLOG = LogTable(
    "mvplog", "mvp_date", ("kill_char_id", "monster_id", "map"), _bosses, frozenset({"combat.boss"}), key="mvp_id"
)


def _plain_table(name: str, prefix: str, kind: str) -> LogTable:
    """A log that names the account itself."""

    def events(rows: Rows) -> pl.DataFrame:
        known = rows.without(rows.frame, text("account_id").is_null(), "of no account")
        return known.select(
            KEY, "at", actor=text("account_id"), character=text("char_id"), kind=pl.lit(kind), zone=text("map")
        )

    columns = ("account_id", "char_id", "map")
    return LogTable(name, f"{prefix}_date", columns, events, frozenset({kind}), key=f"{prefix}_id")


ATCOMMANDLOG = _plain_table("atcommandlog", "atcommand", "gm.command")
BRANCHLOG = _plain_table("branchlog", "branch", "item.branch")
NPCLOG = _plain_table("npclog", "npc", "script.log")


def _feeding(rows: Rows) -> pl.DataFrame:
    known = rows.of_characters(rows.frame, "char_id")
    return known.select(
        KEY, "at", "actor", "character", "level", kind=pl.lit("pet.feed"), target=text("target_class"),
        item=text("item_id"), zone=text("map"), x=number("x"), y=number("y"),
    )  # fmt: skip


FEEDINGLOG = LogTable(
    "feedinglog",
    "time",
    ("char_id", "target_class", "item_id", "map", "x", "y"),
    _feeding,
    frozenset({"pet.feed"}),
    key="id",
)


def directory(database: "Database") -> Directory:
    """Who is who: the tables `char` and `login` as they are now."""
    characters = database.frame("char", ("char_id", "account_id", "name", "base_level"))
    accounts = database.frame("login", ("account_id", "userid"))
    people = characters.select(
        character=pl.col("char_id").cast(pl.String), actor=pl.col("account_id").cast(pl.String),
        name=pl.col("name").cast(pl.String), level=number("base_level").cast(pl.Int16, strict=False),
    )  # fmt: skip
    users = accounts.select(user=pl.col("userid").cast(pl.String), actor=pl.col("account_id").cast(pl.String))
    return Directory(people, users, database.clock.utc)


def profiles(database: "Database") -> pl.DataFrame:
    """PROFILES: of each account its highest character, its group, whether it is staff or keeps a shop while away."""
    characters = database.frame("char", ("char_id", "account_id", "name", "class", "base_level", "zeny", "last_login"))
    accounts = database.frame("login", ("account_id", "sex", "group_id", "state", "logincount", "lastlogin"))
    best = (
        characters.sort("account_id", number("base_level"), number("char_id"))
        .group_by("account_id", maintain_order=True)
        .last()
    )
    many = characters.group_by("account_id").agg(characters=pl.len(), zeny=number("zeny").sum())
    players = accounts.filter(pl.col("sex").cast(pl.String) != "S") if "sex" in accounts.columns else accounts
    told = players.join(best.drop("zeny"), on="account_id", how="left").join(many, on="account_id", how="left")
    away = shopkeepers(database)
    return told.sort("account_id").select(
        actor=pl.col("account_id").cast(pl.String),
        name=pl.col("name"),
        main_character=pl.col("char_id").cast(pl.String),
        **{"class": pl.col("class").cast(pl.String)},
        level=number("base_level").cast(pl.Int64),
        characters=pl.col("characters").cast(pl.Int64),
        zeny=pl.col("zeny"),
        group=pl.col("group_id").cast(pl.String),
        staff=~number("group_id").cast(pl.Int64).is_in(_PLAYERS),
        autotrader=pl.col("account_id").cast(pl.String).is_in(sorted(away)),
        log_ins=number("logincount").cast(pl.Int64),
        last_login=pl.col("lastlogin").cast(pl.String),
        state=pl.col("state").cast(pl.String),
    )


def shopkeepers(database: "Database") -> set[str]:
    """The accounts whose characters sell or buy while nobody plays them."""
    away: set[str] = set()
    for name in ("vendings", "buyingstores"):
        if {"account_id", "autotrade"} <= database.columns(name).keys():
            shops = database.frame(name, ("account_id", "autotrade"))
            away |= set(shops.filter(number("autotrade") == 1)["account_id"].cast(pl.String))
    if "autotrade_merchants" in database.places:
        away |= set(database.frame("autotrade_merchants", ("account_id",))["account_id"].cast(pl.String))
    return away
