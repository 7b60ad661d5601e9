"""Logs drawn at random that have all that may go wrong with order, clocks and names, for runs that must agree."""

from datetime import UTC, datetime, timedelta

import numpy as np
import polars as pl

from gamewarden.tables import EVENTS
from made_up import action_log

# Clocks go back in Berlin on 28 October and forward, at midnight, in São Paulo on 4 November 2018.
AUTUMN = datetime(2018, 10, 27, tzinfo=UTC)
# They go back in São Paulo at midnight of 18 February 2018: an hour of a day comes twice, on two dates.
CARNIVAL = datetime(2018, 2, 16, tzinfo=UTC)
_NAMES = ("игрок", "플레이어", "jogador-ção", "🐉drache", 'o\'neil "x"', "Ａ", "a b", "ångström", "Farm", "Бот")
_KINDS = (
    *("combat.kill", "combat.attack", "loot.pickup", "loot.drop", "move", "chat", "trade.give", "trade.receive"),
    *("mail.send", "market.sell", "party.join", "currency.gain", "storage.deposit", "session.login", "session.logout"),
    *("ремесло", "스킬.사용", "emote.🎉"),
)

_RARE = 5  # kinds that one actor does once, and of which whoever sees a part of the log knows nothing


def random_log(seed: int, begin: datetime = AUTUMN, *, days: int = 9, actors: int = 24, rows: int = 6_000):
    """EVENTS in no order: some play at all hours, some at one, some at one moment; names and kinds in any script."""
    draw = np.random.default_rng(seed)
    names = [f"{_NAMES[at % len(_NAMES)]}{at:02}" for at in range(actors)]
    who = np.minimum((actors * draw.random(rows) ** 2).astype(int), actors - 1)
    seconds = draw.choice(days * 86_400, rows) + np.where(draw.random(rows) < 0.3, 0, draw.random(rows))
    busy = draw.random(rows) < 0.5
    seconds[busy] = (who[busy] * 7_919) % (days * 86_400) + draw.exponential(40, busy.sum()).cumsum() % 20_000
    nameless = draw.random(rows) < 0.1
    item, partner = draw.integers(0, 5, rows), draw.integers(0, actors, rows)
    log = pl.DataFrame(
        {
            "actor": [names[at] for at in who],
            "character": [None if skip else f"{names[at]}#{at % 3}" for at, skip in zip(who, nameless, strict=True)],
            "at": [begin + timedelta(microseconds=round(1e6 * second)) for second in seconds],
            "seq": draw.permutation(rows),
            "kind": [*(f"редко.{at}" for at in range(_RARE)), *draw.choice(_KINDS, rows - _RARE, p=_weights(draw))],
            "zone": draw.choice(["북부", "море", "field-1", "field-2"], rows),
            "x": np.round(draw.normal(0, 20, rows)),
            "y": np.round(draw.normal(0, 20, rows)),
            "level": (1 + who + seconds // 86_400).astype(int),
            "target": [f"orc{at}" for at in item],
            "item": [None if at == 0 else f"меч{at}" for at in item],
            "amount": np.where(draw.random(rows) < 0.4, draw.integers(-500, 500, rows), draw.normal(0, 50, rows)),
            "other": [names[at] if at % 3 else None for at in partner],
            "session": [f"s{at}-{int(second) // 40_000}" for at, second in zip(who, seconds, strict=True)],
            "ip": [f"10.0.0.{at % 7}" for at in who],
        }
    )
    return log.select(pl.col(name).cast(dtype) for name, dtype in EVENTS.columns.items())


def _weights(draw: np.random.Generator) -> np.ndarray:
    weights = draw.uniform(0.2, 1, len(_KINDS))
    return weights / weights.sum()


def played_log(*, days: int = 3, accounts: int = 24) -> pl.DataFrame:
    """EVENTS of as many bots as people that detectors can tell apart, over a night in which Berlin's clocks change."""
    draw = np.random.default_rng(11)
    some = action_log(accounts, accounts, hours=2.0)
    later = pl.duration(minutes=26 * (pl.col("actor").rank("dense") - 1), hours=1)
    each = [some.with_columns(pl.col("at") + later + pl.duration(days=27 + number)) for number in range(days)]
    log = pl.concat([*each, *(_ticking(one) for one in each)])
    rows, names = log.height, sorted(log["actor"].unique())
    bot = log["actor"].str.starts_with("bot").to_numpy()
    others = [names[at] if at % 2 else None for at in draw.integers(0, len(names), rows)]
    table = log.with_columns(
        character=pl.col("actor") + "#1",
        seq=pl.Series(draw.permutation(rows)),
        zone=pl.Series(draw.choice(["море", "field"], rows)),
        x=pl.Series(np.where(bot, np.arange(rows) % 11 * 9.0, draw.normal(0, 60, rows))),
        y=pl.Series(np.where(bot, np.arange(rows) % 7 * 9.0, draw.normal(0, 60, rows))),
        level=pl.Series(draw.integers(5, 60, rows)),
        other=pl.when(kind="trade.give").then(pl.Series(others, dtype=pl.String)),
        ip=pl.Series([f"10.0.0.{at % 9}" for at in range(rows)]),
        amount=pl.Series(draw.integers(1, 100, rows)),
    )
    known = {name: dtype for name, dtype in EVENTS.columns.items() if name in table.columns}
    return table.select(pl.col(name).cast(dtype) for name, dtype in known.items())


def _ticking(log: pl.DataFrame) -> pl.DataFrame:
    """What a script does besides, every half minute to the microsecond."""
    ends = (
        log.filter(pl.col("actor").str.starts_with("bot"))
        .group_by("actor")
        .agg(pl.col("at").min(), till=pl.col("at").max())
    )
    ticks = pl.datetime_ranges("at", "till", interval="30s", time_unit="us")
    return ends.select("actor", at=ticks).explode("at").with_columns(kind=pl.lit("npc.sell")).select(log.columns)
