"""Logs of many accounts over a few days, made up quickly for bench_workspace.py.

Each account plays a session on most days: it logs in, does some forty things in a zone or two, trades a little, and
logs out. Bots do one thing every minute and little else; people do as they like. Every day has two files, the
game's and the market's, with players in common; rows are in the order of time, as servers write them.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

KINDS = (
    "combat.kill",
    "loot.pickup",
    "move",
    "skill.use",
    "currency.gain",
    "item.use",
    "chat",
    "combat.death",
    "storage.deposit",
    "npc.sell",
    "level.up",
    "trade.give",
    "trade.receive",
    "market.sell",
    "session.login",
    "session.logout",
)
LOGIN, LOGOUT, MARKET = KINDS.index("session.login"), KINDS.index("session.logout"), KINDS.index("trade.give")
MONEY = [KINDS.index(name) for name in ("currency.gain", "npc.sell", "market.sell")]
SHARES = {  # of people, of bots
    "combat.kill": (0.16, 0.42),
    "loot.pickup": (0.12, 0.38),
    "move": (0.2, 0.04),
    "skill.use": (0.14, 0.06),
    "currency.gain": (0.08, 0.06),
    "item.use": (0.08, 0.02),
    "chat": (0.08, 0.0),
    "combat.death": (0.02, 0.0),
    "storage.deposit": (0.03, 0.01),
    "npc.sell": (0.03, 0.01),
    "level.up": (0.01, 0.0),
    "trade.give": (0.02, 0.0),
    "trade.receive": (0.02, 0.0),
    "market.sell": (0.01, 0.0),
}
FIRST_DAY = 20_500  # since the epoch
SECOND = 1_000_000
MINUTE = 60 * SECOND
DAY = 1440 * MINUTE
ZONES = 40
ROW_GROUP = 1 << 20
SCHEMA = pa.schema(
    {
        "actor": pa.dictionary(pa.int32(), pa.string()),
        "at": pa.timestamp("us", "UTC"),
        "kind": pa.dictionary(pa.int32(), pa.string()),
        "zone": pa.dictionary(pa.int32(), pa.string()),
        "level": pa.int16(),
        "amount": pa.float64(),
        "session": pa.dictionary(pa.int32(), pa.string()),
        "ip": pa.dictionary(pa.int32(), pa.string()),
    }
)


@dataclass(frozen=True)
class Game:
    """How large a game is."""

    accounts: int
    days: int = 7
    events: int = 48  # of an account and day, at the most

    def write(self, place: Path) -> int:
        """Two files per day; how many events there are."""
        texts = _Texts(self)
        return sum(self._write_day(day, place, texts) for day in range(self.days))

    def write_late(self, place: Path, day: int, accounts: int = 200) -> int:
        """A file of one day that comes when all is over: what some players sold."""
        texts, chance = _Texts(self), np.random.default_rng([13, day])
        who = chance.integers(0, self.accounts, accounts).astype(np.int32)
        at = np.sort(chance.integers(0, DAY, accounts)) + (FIRST_DAY + day) * DAY
        kind = np.full(accounts, KINDS.index("market.sell"), np.int32)
        _write(place / f"market-late-{day}.parquet", texts, (at, who, kind))
        return accounts

    def bots(self) -> NDArray[np.bool_]:
        """Every twentieth account."""
        return np.arange(self.accounts) % 20 == 0

    def labels(self, known: int) -> Iterator[str]:
        """The lines of a file of labels of the first accounts."""
        yield "actor,bot"
        for who, bot in enumerate(self.bots()[:known]):
            yield f"{name_of(who)},{str(bool(bot)).lower()}"

    def _write_day(self, day: int, place: Path, texts: "_Texts") -> int:
        at, who, kind = self._day(day)
        date = np.datetime64(FIRST_DAY + day, "D")
        sold = (kind >= MARKET) & (kind < LOGIN)
        for name, some in (("game", ~sold), ("market", sold)):
            _write(place / f"{name}-{date}.parquet", texts, (at[some], who[some], kind[some]))
        return len(at)

    def _day(self, day: int) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int32]]:
        """When, who and what, in the order of time."""
        chance = np.random.default_rng([2016, day])
        accounts, events = self.accounts, self.events
        bot = self.bots()[:, None]
        waits = np.where(
            bot, 0.9 + chance.random((accounts, events)) * 0.05, chance.exponential(1.2, (accounts, events))
        )
        minute = np.cumsum(waits, axis=1)
        minute += chance.random((accounts, 1)) * np.maximum(1438.0 - minute[:, -1:], 0.0)
        kind = np.where(bot, *(_drawn(chance, column, (accounts, events)) for column in (1, 0)))
        kind[:, 0], kind[:, -1] = LOGIN, LOGOUT
        played = np.broadcast_to(chance.random((accounts, 1)) < 0.95, kind.shape) & (minute < 1440)
        who = np.broadcast_to(np.arange(accounts, dtype=np.int32)[:, None], kind.shape)[played]
        at = (minute[played] * MINUTE).astype(np.int64) + (FIRST_DAY + day) * DAY
        order = np.argsort(at, kind="stable")
        return at[order], who[order], kind[played][order]


def _drawn(chance: np.random.Generator, column: int, shape: tuple[int, int]) -> NDArray[np.int32]:
    """Kinds by their shares."""
    borders = np.cumsum([shares[column] for shares in SHARES.values()])
    return np.searchsorted(borders / borders[-1], chance.random(shape, dtype=np.float32), side="right").astype(np.int32)


class _Texts:
    """The texts that columns are made of."""

    def __init__(self, game: Game) -> None:
        self.actors = pa.array([name_of(who) for who in range(game.accounts)])
        self.zones = pa.array([f"zone{number}" for number in range(ZONES)])
        self.addresses = pa.array([f"10.{n >> 16}.{n >> 8 & 255}.{n & 255}" for n in range(game.accounts // 2 + 1)])
        self.sessions = pa.array([f"session{who}" for who in range(game.accounts)])
        self.kinds = pa.array(KINDS)


def name_of(who: int) -> str:
    """What an account is called."""
    return f"account{who:07d}"


def _write(path: Path, texts: _Texts, rows: tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int32]]) -> None:
    with pq.ParquetWriter(path, SCHEMA, store_schema=False, dictionary_pagesize_limit=16 << 20) as writer:
        for begin in range(0, len(rows[0]), ROW_GROUP):
            writer.write_table(_table(texts, *(column[begin : begin + ROW_GROUP] for column in rows)))


def _table(texts: _Texts, at: NDArray[np.int64], who: NDArray[np.int32], kind: NDArray[np.int32]) -> pa.Table:
    coded = pa.DictionaryArray.from_arrays
    paid = np.isin(kind, MONEY)
    columns = [
        coded(pa.array(who), texts.actors),
        pa.array(at, pa.timestamp("us", "UTC")),
        coded(pa.array(kind), texts.kinds),
        coded(pa.array((who % 7 + at // (20 * MINUTE)).astype(np.int32) % ZONES), texts.zones),
        pa.array((who % 60 + 1).astype(np.int16)),
        pa.array((who % 90 + 10).astype(np.float64), mask=~paid),
        coded(pa.array(who), texts.sessions),
        coded(pa.array(who // 2), texts.addresses),
    ]
    return pa.Table.from_arrays(columns, schema=SCHEMA)
