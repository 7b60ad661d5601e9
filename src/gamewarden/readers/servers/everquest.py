"""What the rows of EQEmu's player_event_logs mean: a type, and a payload in JSON, which is hostile until it is read.

Facts of EQEmu c611a2538 (common/events/player_events.h and player_event_logs.cpp, and where zone records each). Money
is in copper. A trade is written once for each side with the same payload. "Went Offline" is written whenever a
character leaves a zone, to another one too, and is no log-out.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from math import isfinite
from typing import TYPE_CHECKING, Any, NamedTuple

import polars as pl

from gamewarden.core.durations import SECOND
from gamewarden.readers.servers.preset import COUNTS, KEY, Directory, LogTable, Rows, number, text

if TYPE_CHECKING:
    from gamewarden.readers.databases.database import Database

FLOOR = 60 * SECOND  # what somebody drops and another account takes up within this time changed hands
_NEAR = 30.0  # and within this distance: who drops something stands where it lies
_LONGEST = 1 << 20  # characters of a payload; the longest trade has some 60,000
_LONGEST_NAME = 64
_COINS = {"platinum": 1000, "gold": 100, "silver": 10, "copper": 1}
_MONEY_ITEM = "99990"  # the item that money is in a parcel
_PICKED_UP = 21
Payload = Mapping[str, Any]


class Told(NamedTuple):
    """What a row tells of an event beside who, where and when."""

    kind: str
    item: str | None = None
    amount: float | None = None
    target: str | None = None
    other: str | None = None
    zone: str | None = None
    level: int | None = None


@dataclass(frozen=True)
class People:
    """Accounts by the number and by the name of a character."""

    who: Directory

    def account(self, character: object) -> str | None:
        """Whose a character is, that a payload names by its number or its name."""
        known = self._names if isinstance(character, str) else self._numbers
        return known.get(str(character))

    @cached_property
    def _numbers(self) -> dict[str, str]:
        return dict(self.who.characters.select("character", "actor").iter_rows())

    @cached_property
    def _names(self) -> dict[str, str]:
        return dict(
            self.who.characters.drop_nulls("name").unique("name", keep="none").select("name", "actor").iter_rows()
        )


class Row(NamedTuple):
    """One row, with its payload read."""

    actor: str
    character: str | None
    payload: Payload
    people: People

    def word(self, field: str) -> str | None:
        """A field as a name; nothing where it is empty, zero, or neither a text nor a whole number."""
        value = self.payload.get(field)
        if isinstance(value, bool) or not isinstance(value, int | str) or value in {0, ""}:
            return None
        return str(value)[:_LONGEST_NAME]

    def size(self, field: str) -> float | None:
        """A field as a number."""
        return _size(self.payload.get(field))

    def other(self, field: str) -> str | None:
        """The account of a character that a field names; nobody is their own other."""
        found = self.people.account(self.payload.get(field))
        return found if found != self.actor else None

    def is_called(self, field: str) -> bool:
        """Whether a field names a character of the same account."""
        return self.people.account(self.payload.get(field)) == self.actor


@dataclass(frozen=True)
class EventType:
    """A type of rows: the kinds that it can give, and what a row tells, or why it is no event."""

    kinds: tuple[str, ...]
    meaning: Callable[[Row], list[Told] | str]


def _plain(kind: str, *, target: str = "", item: str = "", count: str = "", sign: int = 0) -> EventType:
    """An event with a few fields of its payload; a thing without a number of pieces is one."""

    def meaning(row: Row) -> list[Told]:
        pieces = max(row.size(count) or 1.0, 1.0) * sign if sign else None
        return [Told(kind, row.word(item), pieces, row.word(target))]

    return EventType((kind,), meaning)


def _level(kind: str) -> EventType:
    def meaning(row: Row) -> list[Told]:
        reached = row.size("to_level")
        return [Told(kind, level=int(reached) if reached is not None and 0 < reached < 1 << 15 else None)]

    return EventType((kind,), meaning)


def _merchant(kind: str, sign: int) -> EventType:
    """Bought or sold at a merchant; some are paid in a currency of their own, which is no money."""

    def meaning(row: Row) -> list[Told]:
        cost = row.size("cost")
        money = cost is not None and not row.size("alternate_currency_id") and not row.size("player_currency_balance")
        return [Told(kind, row.word("item_id"), sign * cost if money and cost else None, row.word("npc_id"))]

    return EventType((kind,), meaning)


def _zoned(row: Row) -> list[Told]:
    return [Told("zone.enter", zone=row.word("to_zone_id"))]


def _split(row: Row) -> list[Told]:
    return [Told("currency.split", amount=_coins(row.payload))]


def _tribute(row: Row) -> list[Told]:
    paid = row.size("plat")
    return [Told("guild.tribute", amount=None if paid is None else -paid * _COINS["platinum"])]


def _bought(row: Row) -> list[Told]:
    cost = row.size("total_cost")
    return [Told("market.buy", row.word("item_id"), None if cost is None else -cost, other=row.other("trader_id"))]


def _of_a_shop(_row: Row) -> str:
    return "a shop's half of a sale, which is no act of its owner"


def _of_the_server(_row: Row) -> str:
    return "of the server itself"


def _bartered(row: Row) -> list[Told] | str:
    """What somebody sold to one who buys while away; it is written for either side, and when it failed, too."""
    if not str(row.payload.get("status")).startswith("Success"):
        return "a sale that did not come about"
    if not row.is_called("seller_name"):
        return _of_a_shop(row)
    return [Told("market.sell", row.word("item_id"), row.size("total_cost"), other=row.other("buyer_name"))]


def _parcel(kind: str, sign: int, other: str) -> EventType:
    def meaning(row: Row) -> list[Told] | str:
        if kind == "mail.send" and not row.is_called("from_player_name"):
            return "a parcel that a shop or the server sent"
        item, count = row.word("item_id"), row.size("quantity")
        what = None if item == _MONEY_ITEM else item
        return [Told(kind, what, None if count is None else sign * count, other=row.other(other))]

    return EventType((kind,), meaning)


def _traded(row: Row) -> list[Told] | str:
    """What the row's own character gave and got: an event for the money, and one for each thing."""
    sides = {row.word("character_1_id"): ("1", "2"), row.word("character_2_id"): ("2", "1")}
    if row.character not in sides:
        return "a trade that does not say who gave what"
    mine, theirs = sides[row.character]
    other = row.other(f"character_{theirs}_id")
    gave = [Told("trade.give", item, -amount, other=other) for item, amount in _goods(row.payload, mine)]
    got = [Told("trade.receive", item, amount, other=other) for item, amount in _goods(row.payload, theirs)]
    return [*gave, *got] or "a trade of nothing"


def _goods(payload: Payload, side: str) -> Iterator[tuple[str | None, float]]:
    """What one side of a trade gave: money, which is no item, and things."""
    coins, things = payload.get(f"character_{side}_give_money"), payload.get(f"character_{side}_give_items")
    if isinstance(coins, dict) and (money := _coins(coins)):
        yield None, money
    for thing in things if isinstance(things, list) else ():
        if isinstance(thing, dict) and (item := _size(thing.get("item_id"))):
            yield f"{item:.0f}", max(_size(thing.get("charges")) or 1.0, 1.0)


def _coins(payload: Payload) -> float:
    return sum((_size(payload.get(coin)) or 0.0) * worth for coin, worth in _COINS.items())


def _size(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if abs(value) < 1 << 63 and isfinite(value) else None


TYPES: Mapping[int, EventType] = {
    1: _plain("gm.command"),
    2: EventType(("zone.enter",), _zoned),
    3: _plain("aa.gain", count="aa_gained", sign=1),
    4: _plain("aa.buy", target="aa_id"),
    5: _plain("gather.forage", item="item_id", sign=1),
    6: _plain("gather.forage_failed"),
    7: _plain("gather.fish", item="item_id", sign=1),
    8: _plain("gather.fish_failed"),
    9: _plain("item.destroy", item="item_id", count="charges", sign=-1),
    10: _plain("session.login"),
    11: _plain("zone.leave"),
    12: _level("level.up"),
    13: _level("level.down"),
    14: _plain("loot.pickup", target="npc_id", item="item_id", count="charges", sign=1),
    15: _merchant("npc.buy", -1),
    16: _merchant("npc.sell", 1),
    _PICKED_UP: _plain("loot.pickup", item="item_id", sign=1),
    22: _plain("npc.handin", target="npc_id"),
    23: _plain("skill.up", target="skill_id"),
    24: _plain("quest.accept", target="task_id"),
    25: _plain("quest.update", target="task_id"),
    26: _plain("quest.complete", target="task_id"),
    27: EventType(("trade.give", "trade.receive"), _traded),
    29: _plain("chat.say"),  # "Player Speech" has these, too, and all other channels
    30: _plain("combat.resurrected"),
    31: _plain("combat.death", target="killer_name"),
    32: _plain("craft.failed", target="recipe_id"),
    33: _plain("item.craft", target="recipe_id", count="made_count", sign=1),
    34: _plain("loot.drop", item="item_id", count="charges", sign=-1),
    35: EventType(("currency.split",), _split),  # money of corpses that nobody shares is not written down
    38: EventType(("market.buy",), _bought),
    39: EventType((), _of_a_shop),
    42: _plain("item.discover", item="item_id"),
    43: _plain("anticheat.flag"),
    44: _plain("combat.kill", target="npc_id"),
    45: _plain("combat.named", target="npc_id"),  # "Killed NPC" has these two, too, and is off by default
    46: _plain("combat.raid", target="npc_id"),
    47: _plain("item.create", item="item_id", count="charges", sign=1),
    48: _plain("guild.tribute", item="item_id", count="charges", sign=-1),
    49: EventType(("guild.tribute",), _tribute),
    50: _parcel("mail.send", -1, "to_player_name"),
    51: _parcel("mail.receive", 1, "from_player_name"),
    52: EventType((), _of_the_server),
    53: EventType(("market.sell",), _bartered),
    54: _plain("chat"),
    55: _plain("item.evolve", item="item_id"),
    56: _plain("guildbank.deposit", item="item_id", count="quantity", sign=-1),
    57: _plain("guildbank.withdraw", item="item_id", count="quantity", sign=1),
    58: _plain("guildbank.move", item="item_id"),
}
_TOLD: Mapping[str, pl.DataType | type[pl.DataType]] = {
    KEY: pl.Int64, "kind": pl.String, "item": pl.String, "amount": pl.Float64, "target": pl.String,
    "other": pl.String, "_zone": pl.String, "_level": pl.Int16,
}  # fmt: skip


def _events(rows: Rows) -> pl.DataFrame:
    known = rows.without(rows.frame, number("account_id").fill_null(0) <= 0, "of no account")
    people = rows.of_accounts(known.with_columns(actor=text("account_id")), "character_id")
    told = pl.DataFrame(list(_tellings(rows, people)), schema=_TOLD, orient="row")
    whole = told.join(people.drop("zone_id", "level"), on=KEY, how="left", maintain_order="left").join(
        people.select(KEY, "level", zone=text("zone_id")), on=KEY, how="left", maintain_order="left"
    )
    whole = whole.join(_handed_on(whole), on=[KEY, "item"], how="left", maintain_order="left")
    here = pl.col("kind") != "zone.enter"  # that row stands where somebody came from
    return whole.select(
        KEY, "at", "actor", "character", "kind", "item", "amount", "target",
        other=pl.coalesce("other", "_floor"),
        zone=pl.when(here).then("zone").otherwise("_zone"),
        x=pl.when(here).then(number("x")),
        y=pl.when(here).then(number("y")),
        level=pl.coalesce("_level", "level"),
    )  # fmt: skip


def _tellings(rows: Rows, frame: pl.DataFrame) -> Iterator[tuple[Any, ...]]:
    """What each row tells; rows that are no events are counted."""
    people = People(rows.who)
    columns = (KEY, COUNTS, "event_type_id", "actor", "character", "event_data")
    for key, counts, number_of_type, actor, character, payload in frame.select(columns).iter_rows():
        told = _told(number_of_type, Row(actor, character, _payload(payload), people))
        if isinstance(told, str):
            rows.left_out[told] += bool(counts)
        else:
            yield from ((key, *one) for one in told)


def _told(number_of_type: int | None, row: Row) -> list[Told] | str:
    known = TYPES.get(number_of_type) if number_of_type is not None else None
    return "of a type that we do not know" if known is None else known.meaning(row)


def _payload(written: str | None) -> Payload:
    """A payload that can be read, or none: what happened is told by the row's type."""
    if written is None or len(written) > _LONGEST:
        return {}
    try:
        found = json.loads(written)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _handed_on(told: pl.DataFrame) -> pl.DataFrame:
    """Which account took up what another had dropped at the same place, and the other way round: KEY and `_floor`."""
    here = ["item", "zone_id", "instance_id"]
    rows = told.drop_nulls(["item", "zone"]).rename({"zone": "zone_id"}).with_columns(_x=number("x"), _y=number("y"))
    dropped = rows.filter(pl.col("kind") == "loot.drop").select(*here, "at", _drop=KEY, _from="actor", _u="_x", _v="_y")
    taken = rows.filter(pl.col("event_type_id") == _PICKED_UP).select(*here, "at", KEY, "actor", "_x", "_y")
    if not dropped.height or not taken.height:
        return pl.DataFrame(schema={KEY: pl.Int64, "item": pl.String, "_floor": pl.String})
    found = taken.sort("at").join_asof(
        dropped.sort("at"), on="at", by=here, tolerance=f"{FLOOR}us", check_sortedness=False
    )
    apart = (pl.col("_x") - pl.col("_u")) ** 2 + (pl.col("_y") - pl.col("_v")) ** 2
    once = found.filter((pl.col("_from") != pl.col("actor")) & (apart <= _NEAR**2))
    once = once.unique("_drop", keep="first", maintain_order=True)
    took = once.select(KEY, "item", _floor="_from")
    return pl.concat([took, once.select(pl.col("_drop").alias(KEY), "item", _floor="actor")])


KINDS = frozenset(kind for one in TYPES.values() for kind in one.kinds)


def player_event_logs(muted: "Callable[[Database], frozenset[str]]") -> LogTable:
    """The table, of which the server's settings may keep some types out."""
    return LogTable(
        "player_event_logs",
        "created_at",
        ("account_id", "character_id", "zone_id", "instance_id", "x", "y", "event_type_id", "event_data"),
        _events,
        KINDS,
        key="id",
        reach=FLOOR + SECOND,
        muted=muted,
    )
