"""The table that our own collectors fill in a game's database: events as we call them, one row each."""

import polars as pl

from gamewarden.readers.servers.preset import KEY, LogTable, Rows, number, text

TABLE = "gw_events"
_PLAIN = ("kind", "zone", "target", "item", "ip")
KINDS = frozenset({
    "combat.kill", "combat.death", "session.login", "session.logout", "level.up", "zone.enter", "move",
})  # fmt: skip


def _events(rows: Rows) -> pl.DataFrame:
    frame = rows.without(rows.frame, text("actor").is_null() | text("kind").is_null(), "a collector's row names nobody")
    return frame.select(
        KEY,
        "at",
        text("actor").alias("actor"),
        text("character").alias("character"),
        text("other").alias("other"),
        *(text(name).alias(name) for name in _PLAIN),
        *(number(name).cast(pl.Float32).alias(name) for name in ("x", "y")),
        number("level").cast(pl.Int16, strict=False).alias("level"),
        number("amount").alias("amount"),
    )


GW_EVENTS = LogTable(
    TABLE,
    "at",
    ("actor", "character", "x", "y", "level", "amount", "other", *_PLAIN),
    _events,
    KINDS,
    key="id",
    format="epoch_ms",
)
