"""Cells that a spreadsheet would take for a formula: made harmless when a table is written, taken back when it is read.

The rule is OWASP's: an apostrophe before the sign. A text that already begins with apostrophes and such a sign gets one
more, so that each text is written in its own way and nothing is lost.
"""

from collections.abc import Callable

import polars as pl

_SIGN = "[=+\\-@\t\r\n＝＋－＠]"  # the wide signs count in East Asian spreadsheets
_TEXTS = (pl.String, pl.Categorical, pl.Enum)


def harmless(frame: pl.DataFrame) -> pl.DataFrame:
    """The table with an apostrophe before every text, and every column name, that could be a formula."""
    return _each_text(frame, lambda text: text.str.replace(f"^('*{_SIGN})", "'$1"))


def restored(frame: pl.DataFrame) -> pl.DataFrame:
    """The table as it was before `harmless`."""
    return _each_text(frame, lambda text: text.str.replace(f"^'('*{_SIGN})", "$1"))


def _each_text(frame: pl.DataFrame, rule: Callable[[pl.Expr], pl.Expr]) -> pl.DataFrame:
    texts = [pl.col(name).cast(pl.String) for name, dtype in frame.schema.items() if dtype in _TEXTS]
    changed = frame.with_columns(rule(text) for text in texts)
    old = pl.Series("name", frame.columns, dtype=pl.String)
    new = old.to_frame().select(rule(pl.col("name"))).to_series()
    # In a table that was never ours, `=x` may stand beside `'=x`: then the names stay as they are.
    return changed if new.is_duplicated().any() else changed.rename(dict(zip(old, new, strict=True)))
