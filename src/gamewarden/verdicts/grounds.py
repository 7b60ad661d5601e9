"""The rows that verdicts rest on, and what speaks for and against in them."""

from collections.abc import Mapping, Sequence

import polars as pl

from gamewarden.contracts import Model
from gamewarden.tables import EVIDENCE, check
from gamewarden.verdicts.periods import KEY, Clock, periods_of
from gamewarden.verdicts.timeless import TIMELESS


def evidence_behind(
    verdicts: pl.DataFrame, models: Sequence[Model], features: Mapping[str, pl.DataFrame], cut: Clock
) -> pl.DataFrame:
    """EVIDENCE of every row that these verdicts rest on; a model without rows has none."""
    rows = ((model, rows_behind(verdicts, features[model.card.id], cut)) for model in models)
    parts = [model.explain(table) for model, table in rows if table.height]
    nothing = check(pl.DataFrame(schema=dict(EVIDENCE.columns)), EVIDENCE, "judge")
    return pl.concat([nothing, *parts])


def rows_behind(verdicts: pl.DataFrame, table: pl.DataFrame, cut: Clock) -> pl.DataFrame:
    """The rows that end in the period of one of these verdicts or in none at all, in the table's order."""
    return table[places_behind(verdicts, table, cut)["row"].unique().sort()]


def places_behind(verdicts: pl.DataFrame, table: pl.DataFrame, cut: Clock) -> pl.DataFrame:
    """Which row belongs to which verdict; one without a period to all of its actor's."""
    keys = verdicts.select(KEY).unique(maintain_order=True)
    timed = periods_of(table, cut).with_row_index("row")
    inside = timed.join(keys, on=KEY, how="semi", maintain_order="left")
    always = timed.filter(TIMELESS).select("row", "actor")
    return pl.concat([inside, always.join(keys, on="actor", maintain_order="left_right").select(inside.columns)])
