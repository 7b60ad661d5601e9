"""Decoded client messages as EVENTS, so that everything that reads a game's log can read a tap on its port.

A client only asks; the server's answers are not read. So an attack is an order to attack, a pick-up one to pick up,
and what lies in a trade window counts as given when this side commits to it.
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from typing import Protocol

import polars as pl
import pyarrow as pa

from gamewarden.contracts import MessageStream, canonical_json, digest
from gamewarden.core.text import counted
from gamewarden.readers.compression import Content, content_of
from gamewarden.readers.logs.plausible import ANY_TIME, Plausible
from gamewarden.readers.places import File
from gamewarden.readers.ragnarok.message_table import MessageTable
from gamewarden.readers.ragnarok.trades import Trades, offers_nothing
from gamewarden.streams import PlainEvents
from gamewarden.tables import EVENTS, EVENTS_ARROW, TIME

# Function -> kind; what is not here and has a function becomes "client.FUNCTION".
KINDS = {
    "wanttoconnection": "session.login",
    "quitgame": "session.quit",
    "loadendack": "zone.enter",
    "walktoxy": "move",
    "changedir": "turn",
    "takeitem": "loot.pickup",
    "dropitem": "loot.drop",
    "useitem": "item.use",
    "useskilltoid": "skill.use",
    "useskilltopos": "skill.use",
    "useskilltoposinfo": "skill.use",
    "movetokafra": "storage.deposit",
    "movetokafrafromcart": "storage.deposit",
    "movefromkafra": "storage.withdraw",
    "movefromkafratocart": "storage.withdraw",
    "tradeadditem": "trade.offer",
    "tradecommit": "trade.commit",
    "npcbuylistsend": "npc.buy",
    "npcselllistsend": "npc.sell",
    "purchasereq": "market.buy",
    "purchasereq2": "market.buy",
    "globalmessage": "chat",
    "wis": "chat",
    "partymessage": "chat",
    "guildmessage": "chat",
    "battlechat": "chat",
}
ACTIONS = {0: "combat.attack", 7: "combat.attack", 2: "rest.sit", 3: "rest.stand"}
# What a client says by itself, without anybody doing anything: its clock, and questions for names and emblems.
NOT_ACTS = frozenset(
    {
        "ticksend",
        "getcharnamerequest",
        "solvecharname",
        "guildcheckmaster",
        "guildrequestinfo",
        "guildrequestemblem",
        "howmanyconnections",
        "lesseffect",
    }
)
LOSSES = ("loot.drop", "storage.deposit", "trade.give")  # kinds whose amount the actor gives away
_NEEDED = (
    "stream",
    "client",
    "session",
    "actor",
    "character",
    "at",
    "function",
    "x",
    "y",
    "target",
    "action",
    "item",
    "amount",
)
_FILLED = frozenset(
    ("actor", "character", "at", "seq", "kind", "x", "y", "target", "item", "amount", "other", "session", "ip")
)
_UNTOLD = {  # of a logout, which no message tells
    "x": pl.Int16,
    "y": pl.Int16,
    "target": pl.UInt32,
    "item": pl.String,
    "amount": pl.Float64,
    "other": pl.String,
}
_RULES = 2  # raised whenever the same messages make other events, so that a lake reads its sources anew


class BoundMessages(MessageStream, Protocol):
    """Messages that can be bound to the bytes somebody knows them by."""

    def only(self, size: int, digest: str) -> None:
        """Read so many first bytes from now on, and refuse others than those of the digest."""


class MessageEvents(PlainEvents):
    """The events in a packetstream or capture; a source that a lake can take in and know again."""

    own_seq = False
    time_zone: str | None = None
    columns = _FILLED
    stretch = None

    def __init__(
        self,
        path: File,
        messages: BoundMessages,
        db: MessageTable,
        *options: object,
        plausible: Plausible = ANY_TIME,
    ) -> None:
        self.name = str(path)
        self._plausible = plausible
        self._path = path
        self._messages = messages
        self._left_out: dict[str, int] = {}
        packets = [[e.id, e.length, e.function, list(e.positions)] for e in db.entries.values()]
        self.recipe = digest("ragnarok", canonical_json([_RULES, packets, list(options)]))
        self.promised = _promised({entry.function for entry in db.entries.values()})

    @property
    def notes(self) -> tuple[str, ...]:
        """What the latest reading counted and left out."""
        left = (
            f"{counted(count, 'message')} left out of the events: {why}"
            for why, count in self._left_out.items()
            if count
        )
        return (*self._messages.notes, *left)

    def content(self, beginnings: Sequence[int] = ()) -> Content:
        """A digest of the unpacked bytes; a file that has grown is read anew, since sessions may go on in it."""
        found = content_of(self._path, beginnings)
        self._messages.only(found.size, found.digest)
        return replace(found, ends_with_newline=False)

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """The events in the order their messages came, `columns` only."""
        self._left_out = {}
        reading = _Reading(self._left_out, self._plausible)
        for batch in self._messages.batches(_NEEDED):
            yield from reading.events(pl.DataFrame(pl.from_arrow(batch)), columns)
        yield from reading.farewells(columns)


class _Reading:
    """One pass: what has to be remembered from batch to batch."""

    def __init__(self, left_out: dict[str, int], plausible: Plausible) -> None:
        self._left_out = left_out
        self._plausible = plausible
        self._seq = 0
        self._trades = Trades()
        self._open = pl.DataFrame(schema={"stream": pl.Int32, "session": pl.Int64, "since": TIME})
        self._last = pl.DataFrame()  # of each open session, its last message as an event

    def events(self, messages: pl.DataFrame, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """The events of a batch."""
        texts = [name for name in ("client", "actor", "character", "function") if name in messages.columns]
        rows = messages.with_columns(pl.col(texts).cast(pl.String)).with_row_index("row")
        rows = self._without(rows, pl.col("at").is_null(), "a stream without tags tells no time")
        for why, unfit in self._plausible.beyond.items():
            rows = self._without(rows, unfit, why)
        rows = self._without(rows, pl.col("actor").is_null(), "no connect message told the account")
        rows = self._named(rows)
        yield from self._written(self._ended(rows), columns)
        rows = self._without(rows, pl.col("function").is_null(), "their id has no function in the message table")
        rows = self._without(rows, pl.col("function").is_in(NOT_ACTS), "the client says them by itself")
        acts = rows.with_columns(kind=_kind(), amount=pl.col("amount").cast(pl.Float64))
        told = self._without(self._trades.settled(acts), offers_nothing(), "an offer of nothing")
        yield from self._written(told, columns)

    def farewells(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """A logout for every session that is still open when the source ends."""
        yield from self._written(_logouts(self._last), columns)

    def _without(self, rows: pl.DataFrame, unfit: pl.Expr, why: str) -> pl.DataFrame:
        kept = rows.filter(~unfit)
        self._left_out[why] = self._left_out.get(why, 0) + rows.height - kept.height
        return kept

    def _named(self, rows: pl.DataFrame) -> pl.DataFrame:
        """With `since`, when each row's session began: it names the session, whatever file it is read from."""
        first = rows.group_by("stream", "session", maintain_order=True).agg(since=pl.col("at").first())
        known = pl.concat([self._open, first]).unique(["stream", "session"], keep="first", maintain_order=True)
        named = rows.join(known, on=["stream", "session"], how="left", maintain_order="left")
        latest = known.group_by("stream", maintain_order=True).agg(pl.all().last())
        self._open = latest.select("stream", "session", "since")
        return named

    def _ended(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Logouts of the sessions after which another began in the same stream."""
        seen = rows.group_by("stream", "session", maintain_order=True).agg(pl.all().last())
        lasts = pl.concat([self._last, seen.select(rows.columns)] if self._last.width else [seen.select(rows.columns)])
        lasts = lasts.unique(["stream", "session"], keep="last", maintain_order=True)
        newest = pl.col("session") == pl.col("session").max().over("stream")
        self._last = lasts.filter(newest)
        return _logouts(lasts.filter(~newest))

    def _written(self, rows: pl.DataFrame, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        if not rows.height:
            return
        losing = pl.when(pl.col("kind").is_in(LOSSES)).then(-pl.col("amount")).otherwise("amount")
        told = rows.select(
            "actor",
            "character",
            "at",
            "kind",
            pl.int_range(self._seq, self._seq + rows.height, dtype=pl.Int64).alias("seq"),
            pl.col("x", "y").cast(pl.Float32),
            pl.col("target").cast(pl.String),
            "item",
            losing.alias("amount"),
            "other",
            (pl.col("character") + "@" + pl.col("since").dt.strftime("%Y-%m-%dT%H:%M:%S%.6fZ")).alias("session"),
            pl.col("client").str.replace(r":\d+$", "").str.strip_chars("[]").alias("ip"),
        )
        self._seq += rows.height
        missing = [pl.lit(None, EVENTS.columns[name]).alias(name) for name in columns if name not in told.columns]
        arrow = told.with_columns(missing).select(columns).to_arrow(compat_level=pl.CompatLevel.oldest())
        schema = pa.schema([EVENTS_ARROW.field(name) for name in columns])
        yield from arrow.cast(schema).combine_chunks().to_batches()


def _promised(functions: Collection[str | None]) -> frozenset[str]:
    """The kinds that messages of these functions can become."""
    named = {kind for function, kind in KINDS.items() if function in functions}
    acted = set(ACTIONS.values()) if "actionrequest" in functions else set()
    given = {"trade.give"} if {"tradeadditem", "tradecommit"} <= set(functions) else set()
    return frozenset(named | acted | given | {"session.logout"})


def _kind() -> pl.Expr:
    acted = pl.col("action").replace_strict(ACTIONS, default="client.action", return_dtype=pl.String)
    named = pl.col("function").replace_strict(KINDS, default="client." + pl.col("function"), return_dtype=pl.String)
    return pl.when(pl.col("function") == "actionrequest").then(acted).otherwise(named)


def _logouts(lasts: pl.DataFrame) -> pl.DataFrame:
    """The last messages of sessions as their ends: nothing else tells when a client went."""
    if not lasts.height:
        return pl.DataFrame()
    nothing = [pl.lit(None, dtype).alias(name) for name, dtype in _UNTOLD.items()]
    return lasts.with_columns(*nothing, kind=pl.lit("session.logout"))
