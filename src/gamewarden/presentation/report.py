"""A study or a maintenance as one page: its notes, tables and pictures."""

from base64 import b64encode
from collections.abc import Sequence
from pathlib import Path

import polars as pl

from gamewarden.presentation.pages import fragment, page, table_view


def html_page(
    title: str, notes: Sequence[str], tables: Sequence[tuple[str, pl.DataFrame]], pictures: Sequence[Path]
) -> str:
    """The page: its notes, each table under its name, each picture inside the page itself."""
    return page(
        "report.html",
        kind="report",
        title=title,
        notes=notes,
        tables=[table_view(frame, name) for name, frame in tables],
        pictures=[{"name": path.stem, "data": b64encode(path.read_bytes()).decode()} for path in pictures],
        wide=False,
    )


def table_fragment(frame: pl.DataFrame, title: str, kind: str, notes: Sequence[str]) -> str:
    """A table and its notes as a part of a notebook."""
    shown = [table_view(frame)]
    return fragment("report.html", kind=kind, title=title, notes=notes, tables=shown, pictures=(), wide=False)
