"""What people see: tables and progress on a terminal, whole files and JSON for machines.

All text leaves by this file, and what players chose leaves as it is written: no control or bidirectional character, no
markup and no emoji code is sent to a terminal. Everywhere else in `cli` the ways around it are forbidden by the linter.
"""

import io
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from gamewarden.files import refuse_bad_place
from gamewarden.outside import cut, plain_json, visible
from gamewarden.presentation.cells import cell_text
from gamewarden.words import counted

if TYPE_CHECKING:
    import polars as pl

    from gamewarden.pipeline import Page

_PIPE_WIDTH = 160
MOST_ROWS, _COLUMNS = 60, 12  # what a person can take in at once


@dataclass(frozen=True)
class Presentation:
    """How a command's table is shown: written to a file, printed as JSON, or laid out for a person."""

    out: Path | None
    as_json: bool
    exact: bool = False  # texts stand in CSV as they are, formulas too

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
            write_table(frame, self.out, exact=self.exact)
            say(f"{counted(frame.height, 'row')} in {self.out}")
        if self.as_json:
            hand_over(json_text(frame))
        elif self.out is None:
            lay_out(frame, title)

    def beside(self, frame: "pl.DataFrame", name: str) -> None:
        """Show a further table: in a file of its own beside the first, `results.csv` and `results-name.csv`."""
        if self.out is not None:
            words = "-".join("".join(letter if letter.isalnum() else " " for letter in name).split()).lower()
            own = self.out.with_name(f"{self.out.stem}-{words}{self.out.suffix}")
            Presentation(own, as_json=False, exact=self.exact).table(frame)
        elif not self.as_json:
            lay_out(frame, name)


def lay_out(frame: "pl.DataFrame", title: str = "", rows: int | None = None) -> None:
    """Print a table for a person: what fits a screen, and a word on what does not; of `rows` where it is the head."""
    from rich.console import Console
    from rich.table import Table as RichTable
    from rich.text import Text

    console = Console(width=None if sys.stdout.isatty() else _PIPE_WIDTH)
    shown = frame.head(MOST_ROWS).select(_first_and_last(frame.columns))
    grid = RichTable(title=Text(visible(title)) if title else None, title_justify="left", header_style="bold")
    for name, dtype in shown.schema.items():
        called = Text(visible(name.replace("_", " ")))
        grid.add_column(called, justify="right" if dtype.is_numeric() else "left", overflow="fold")
    for row in shown.iter_rows():
        grid.add_row(*(Text(visible(cell_text(name, value))) for name, value in zip(shown.columns, row, strict=True)))
    console.print(grid)
    hidden = {"rows": (frame.height if rows is None else rows) - shown.height, "columns": frame.width - shown.width}
    if more := " and ".join(f"{count:,} more {what}" for what, count in hidden.items() if count):
        say(f"{more}; --out FILE writes all")


def _first_and_last(columns: list[str]) -> list[str]:
    """As many columns as fit: who and when stand first, answers often last."""
    return columns if len(columns) <= _COLUMNS else [*columns[: _COLUMNS - 4], *columns[-4:]]


def tell(*lines: str) -> None:
    """Answers for the person at the terminal, a line each."""
    for line in lines:
        click.echo(visible(line))


def head(line: str) -> None:
    """A line that stands out."""
    click.secho(visible(line), bold=True)


def say(*lines: str) -> None:
    """Remarks for the person at the terminal; they never mix with a table on standard output."""
    for line in lines:
        click.echo(cut(visible(line)), err=True)


def say_usage(error: click.ClickException) -> None:
    """What was wrong with the words that were typed."""
    said = io.StringIO()
    error.show(file=said)
    say(*said.getvalue().rstrip("\n").split("\n"))


def show_page(page: "Page", *, as_json: bool, before: str = "") -> None:
    """A model's card: for a program, or for a person, with what stands before it."""
    if as_json:
        hand_over(page.json() + "\n")
    else:
        tell(*f"{before}{page.markdown()}".split("\n"))


def hand_over(json: str) -> None:
    """JSON for a program: the exact values, and still nothing that steers a terminal; out at once."""
    click.echo(plain_json(json).encode(), nl=False)


def fall_silent() -> None:
    """The reader of our output has gone: nothing is left to say, not even at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


@contextmanager
def quietly() -> Iterator[None]:
    """Within it answers and remarks go nowhere: a command is run for something else than what it says."""
    with (
        io.TextIOWrapper(io.BytesIO(), encoding="utf-8") as nowhere,
        redirect_stdout(nowhere),
        redirect_stderr(nowhere),
    ):
        yield


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

    words = TextColumn("{task.description}", markup=False)
    columns = (words, BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(visible(label), total=total)
        yield lambda done: bar.advance(task, done)


@contextmanager
def status_line() -> Iterator[Callable[[object], object]]:
    """One line that is written over and over, on a terminal alone."""
    if not sys.stderr.isatty():
        yield lambda _status: None
        return
    yield lambda status: click.echo(f"\r\x1b[K{visible(str(status))}", nl=False, err=True)
    click.echo(err=True)
