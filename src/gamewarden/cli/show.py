"""What people see: tables and progress on a terminal, whole files and JSON for machines."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    import polars as pl

_PIPE_WIDTH = 160
_DECIMALS = {"self_sim": 5, "alarm": 4, "probability": 4}


def show_table(frame: "pl.DataFrame", out: Path | None, *, as_json: bool, title: str = "") -> None:
    """Write the table to `out`, print it as JSON, or lay it out for a person."""
    from gamewarden.tables import json_text, write_table

    if out is not None:
        write_table(frame, out)
        say(f"{frame.height:,} rows in {out}")
    if as_json:
        click.echo(json_text(frame), nl=False)
    elif out is None:
        lay_out(frame, title)


def lay_out(frame: "pl.DataFrame", title: str = "") -> None:
    """Print a table for a person."""
    from rich.console import Console
    from rich.table import Table as RichTable

    console = Console(width=None if sys.stdout.isatty() else _PIPE_WIDTH)
    grid = RichTable(title=title or None, title_justify="left", header_style="bold")
    for name, dtype in frame.schema.items():
        grid.add_column(name.replace("_", " "), justify="right" if dtype.is_numeric() else "left", overflow="fold")
    for row in frame.iter_rows():
        grid.add_row(*(_cell(name, value) for name, value in zip(frame.columns, row, strict=True)))
    console.print(grid)


def say(line: str) -> None:
    """A remark for the person at the terminal; it never mixes with a table on standard output."""
    click.echo(line, err=True)


@contextmanager
def progress(label: str, total: int | None = None) -> Iterator[Callable[[int], None]]:
    """A progress bar on a terminal, nothing in a pipe; the caller reports how much it just did."""
    if not sys.stderr.isatty():
        yield lambda _done: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(label, total=total)
        yield lambda done: bar.advance(task, done)


def _cell(name: str, value: object) -> str:
    from datetime import datetime

    match value:
        case None:
            return "–"
        case bool():
            return "yes" if value else "no"
        case float():
            return f"{value:,.{_DECIMALS.get(name, 3)}f}".rstrip("0").rstrip(".") if abs(value) < 1e6 else f"{value:,.0f}"  # noqa: PLR2004
        case int():
            return f"{value:,}"
        case datetime():
            midnight = (value.hour, value.minute, value.second) == (0, 0, 0)
            return value.strftime("%Y-%m-%d" if midnight else "%Y-%m-%d %H:%M:%S")
        case _:
            return str(value)
