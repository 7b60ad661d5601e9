"""Which items a client really gave away: those it had put into the trade window when it committed."""

import polars as pl

_ENDS = ("tradecommit", "tradecancel", "traderequest", "tradeack")


class Trades:
    """The trade windows that are open, by session."""

    def __init__(self) -> None:
        self._offered: dict[int, list[float | None]] = {}

    def settled(self, acts: pl.DataFrame) -> pl.DataFrame:
        """The acts, with a `trade.give` behind each commit for every item that was offered in that trade."""
        given: list[tuple[int, float | None]] = []
        trading = acts.filter(pl.col("function").is_in(("tradeadditem", *_ENDS)))
        for row, session, function, amount in trading.select("row", "session", "function", "amount").iter_rows():
            if function == "tradeadditem":
                self._offered.setdefault(session, []).append(amount)
                continue
            offered = self._offered.pop(session, [])
            if function == "tradecommit":
                given += [(row, one) for one in offered]
        if not given:
            return acts
        rows = pl.DataFrame(given, schema={"row": acts.schema["row"], "amount": pl.Float64}, orient="row")
        gifts = rows.join(acts.drop("amount"), on="row", how="left", maintain_order="left").with_columns(
            kind=pl.lit("trade.give")
        )
        return pl.concat([acts, gifts.select(acts.columns)]).sort("row", maintain_order=True)
