"""What people see: tables and progress on a terminal, whole files and JSON for machines."""

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from gamewarden.files import refuse_bad_place
from gamewarden.words import counted

if TYPE_CHECKING:
    import polars as pl

_PIPE_WIDTH = 160
_ROWS, _COLUMNS = 60, 12  # what a person can take in at once
_DECIMALS = {"self_sim": 5} | dict.fromkeys(("alarm", "probability", "published", "synthetic", "lowest", "highest"), 4)
_LARGE = 1e6  # from here on decimals say nothing


@dataclass(frozen=True)
class Presentation:
    """How a command's table is shown: written to a file, printed as JSON, or laid out for a person."""

    out: Path | None
    as_json: bool

    def __post_init__(self) -> None:
        """Refuse a place that cannot be written before any work is done."""
        if self.out is not None:
            refuse_bad_place(self.out)

    @property
    def for_machines(self) -> bool:
        """Whether a program will read it."""
        return self.out is not None or self.as_json

    def table(self, frame: "pl.DataFrame", title: str = "") -> None:
        """Show a table."""
        from gamewarden.tables import json_text, write_table

        if self.out is not None:
            write_table(frame, self.out)
            say(f"{counted(frame.height, 'row')} in {self.out}")
        if self.as_json:
            click.echo(json_text(frame), nl=False)
        elif self.out is None:
            lay_out(frame, title)

    def beside(self, frame: "pl.DataFrame", name: str) -> None:
        """Show a further table: in a file of its own beside the first, `results.csv` and `results-name.csv`."""
        if self.out is not None:
            words = "-".join("".join(letter if letter.isalnum() else " " for letter in name).split()).lower()
            own = self.out.with_name(f"{self.out.stem}-{words}{self.out.suffix}")
            Presentation(own, as_json=False).table(frame)
        elif not self.as_json:
            lay_out(frame, name)


def lay_out(frame: "pl.DataFrame", title: str = "") -> None:
    """Print a table for a person: what fits a screen, and a word on what does not."""
    from rich.console import Console
    from rich.table import Table as RichTable

    console = Console(width=None if sys.stdout.isatty() else _PIPE_WIDTH)
    shown = frame.head(_ROWS).select(_first_and_last(frame.columns))
    grid = RichTable(title=title or None, title_justify="left", header_style="bold")
    for name, dtype in shown.schema.items():
        grid.add_column(name.replace("_", " "), justify="right" if dtype.is_numeric() else "left", overflow="fold")
    for row in shown.iter_rows():
        grid.add_row(*(_cell(name, value) for name, value in zip(shown.columns, row, strict=True)))
    console.print(grid, markup=False)
    hidden = {"rows": frame.height - shown.height, "columns": frame.width - shown.width}
    if more := " and ".join(f"{count:,} more {what}" for what, count in hidden.items() if count):
        say(f"{more}; --out FILE writes all")


def _first_and_last(columns: list[str]) -> list[str]:
    """As many columns as fit: who and when stand first, answers often last."""
    return columns if len(columns) <= _COLUMNS else [*columns[: _COLUMNS - 4], *columns[-4:]]


def say(*lines: str) -> None:
    """Remarks for the person at the terminal; they never mix with a table on standard output."""
    for line in lines:
        click.echo(line, err=True)


def one_under_the_other(frames: "Iterable[pl.DataFrame]") -> "pl.DataFrame":
    """Tables of the same columns as one."""
    import polars as pl

    return pl.concat(list(frames))


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
    match value:
        case None:
            return "–"
        case bool():
            return "yes" if value else "no"
        case float():
            return _number(value, _DECIMALS.get(name, 3))
        case int():
            return f"{value:,}"
        case datetime():
            midnight = (value.hour, value.minute, value.second) == (0, 0, 0)
            return value.strftime("%Y-%m-%d" if midnight else "%Y-%m-%d %H:%M:%S")
        case _:
            return str(value)


def _number(value: float, decimals: int) -> str:
    return f"{value:,.0f}" if abs(value) >= _LARGE else f"{value:,.{decimals}f}"
