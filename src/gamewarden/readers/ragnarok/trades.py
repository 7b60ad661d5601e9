"""What a client really gave away, and to whom: what lay in its trade window when it committed.

Place 0 of an inventory is the purse. Clients send an offer of 0 zeny by themselves before they agree, so that the side
that only takes looks like a giver to whoever counts offers.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import polars as pl

ZENY = "zeny"
_PURSE = 0
_MESSAGES = ("traderequest", "tradeack", "tradeadditem", "tradeok", "tradecommit", "tradecancel")
_SEEN = ("row", "session", "function", "target", "item", "amount")
_OTHERS = {"row": pl.UInt32, "other": pl.String}
_GIFTS = {"row": pl.UInt32, "item": pl.String, "amount": pl.Float64}


@dataclass
class _Window:
    """One side of a trade: with whom, as far as this side's messages say, and what lies in it by place."""

    partner: str | None = None
    agreed: bool = False
    offered: dict[int | None, float | None] = field(default_factory=dict)

    def put(self, place: int | None, amount: float | None) -> None:
        """Take an offer as a server does: zeny anew instead of before, items in addition, nothing once agreed."""
        if self.agreed:
            return
        before = 0.0 if place == _PURSE else self.offered.get(place, 0.0)
        self.offered[place] = None if amount is None or before is None else before + amount

    def gifts(self) -> Iterator[tuple[str | None, float | None]]:
        """What changes hands, as (item, amount)."""
        return ((_item(place), amount) for place, amount in self.offered.items() if amount != 0)


class Trades:
    """The trade windows that are open, by session."""

    def __init__(self) -> None:
        self._open: dict[int, _Window] = {}

    def settled(self, acts: pl.DataFrame) -> pl.DataFrame:
        """The acts with an event's `item` and `other`, and behind each commit a `trade.give` for every gift."""
        others: list[tuple[int, str | None]] = []
        gifts: list[tuple[int, str | None, float | None]] = []
        trading = acts.filter(pl.col("function").is_in(_MESSAGES))
        for message in trading.select(_SEEN).iter_rows(named=True):
            window = self._after(message)
            if message["function"] in ("tradeadditem", "tradecommit"):
                others.append((message["row"], window.partner))
            if message["function"] == "tradecommit":
                gifts += [(message["row"], *gift) for gift in window.gifts()]
        partners = pl.DataFrame(others, schema=_OTHERS, orient="row")
        told = acts.with_columns(item=_offered_item()).join(partners, on="row", how="left", maintain_order="left")
        return _with_gifts(told, pl.DataFrame(gifts, schema=_GIFTS, orient="row"))

    def _after(self, message: dict[str, Any]) -> _Window:
        """The window a message speaks of, as it leaves it; the last look at one that closes."""
        session, function = message["session"], message["function"]
        if function in ("tradecommit", "tradecancel"):
            return self._open.pop(session, _Window())
        if function == "traderequest":
            self._open[session] = _Window(None if message["target"] is None else str(message["target"]))
        elif function == "tradeack":  # who had asked is in the server's messages alone
            self._open[session] = _Window()
        window = self._open.setdefault(session, _Window())
        if function == "tradeadditem":
            window.put(message["item"], message["amount"])
        window.agreed |= function == "tradeok"
        return window


def offers_nothing() -> pl.Expr:
    """Whether an act is an offer of 0."""
    return (pl.col("function") == "tradeadditem") & (pl.col("amount") == 0)


def _item(place: int | None) -> str | None:
    """What an event calls it: a place in an inventory is no item, but the purse is known."""
    return ZENY if place == _PURSE else None


def _offered_item() -> pl.Expr:
    return pl.when(pl.col("function") == "tradeadditem", pl.col("item") == _PURSE).then(pl.lit(ZENY))


def _with_gifts(acts: pl.DataFrame, gifts: pl.DataFrame) -> pl.DataFrame:
    if not gifts.height:
        return acts
    commits = acts.drop("item", "amount").with_columns(kind=pl.lit("trade.give"))
    rows = gifts.join(commits, on="row", how="left", maintain_order="left").select(acts.columns)
    return pl.concat([acts, rows]).sort("row", maintain_order=True)
