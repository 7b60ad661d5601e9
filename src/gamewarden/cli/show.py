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
from time import monotonic
from typing import IO, TYPE_CHECKING

import click

from gamewarden.core.files import TABLE_ENDINGS, refuse_bad_place, write_text
from gamewarden.core.outside import cut, plain_json, visible
from gamewarden.core.text import counted
from gamewarden.presentation.widths import wrapped

if TYPE_CHECKING:
    import polars as pl

    from gamewarden.pipeline import Page
    from gamewarden.presentation.listing import Layout

_MOST_ROWS = 60  # what a person can take in at once
_PAGES = (".html",)
_STANDARD_OUTPUT = Path("-")
_HANGING = "  "  # further lines of a remark, so that one is told from the next
_NARROWEST, _USUAL = 30, 80  # columns of a terminal
QUIET, VERBOSE = "gamewarden.quiet", "gamewarden.verbose"  # where the command line keeps them
TIME_ZONE = "gamewarden.time_zone"
_ZONE_NAMED = "gamewarden.time_zone_named"  # a command of several tables names it once


@dataclass(frozen=True)
class Presentation:
    """How a command's table is shown: written to a file, printed as JSON, or laid out for a person."""

    out: Path | None  # `-` is standard output
    as_json: bool
    exact: bool = False  # texts stand in CSV as they are, formulas too

    def __post_init__(self) -> None:
        """Refuse a place that cannot be written before any work is done."""
        if self.out is not None and not self.printed:
            refuse_bad_place(self.out, (*TABLE_ENDINGS, *_PAGES))
        if self.printed and self.as_json:
            raise click.UsageError("--out - prints CSV and --json prints JSON; give one of them")

    @property
    def for_machines(self) -> bool:
        """Whether a program will read it."""
        return self.out is not None or self.as_json

    @property
    def printed(self) -> bool:
        """Whether CSV goes to standard output."""
        return self.out == _STANDARD_OUTPUT

    def table(self, frame: "pl.DataFrame", title: str = "", layout: "Layout | None" = None) -> None:
        """Show a table; the layout says what counts most of it for a person."""
        from gamewarden.tables import csv_text, json_text

        if self.as_json:
            hand_over(json_text(frame))
        if self.out is None:
            if not self.as_json:
                lay_out(frame, title, layout=layout)
        elif self.printed:
            _print_csv(csv_text(frame, exact=self.exact))
        else:
            self._write(frame, self.out, title)
            say(f"{counted(frame.height, 'row')} in {self.out}")

    def beside(self, frame: "pl.DataFrame", name: str) -> None:
        """Show a further table: in a file of its own beside the first, `results.csv` and `results-name.csv`."""
        if self.out is None:
            if not self.as_json:
                lay_out(frame, name)
        elif self.printed:
            say(f"A further table, {name}, is not printed here; --out FILE writes it beside the first.")
        else:
            words = "-".join("".join(letter if letter.isalnum() else " " for letter in name).split()).lower()
            own = self.out.with_name(f"{self.out.stem}-{words}{self.out.suffix}")
            Presentation(own, as_json=False, exact=self.exact).table(frame, name)

    def _write(self, frame: "pl.DataFrame", path: Path, title: str) -> None:
        from gamewarden.tables import write_table

        if path.suffix.lower() in _PAGES:
            from gamewarden.presentation.pages import table_page

            write_text(path, table_page(frame, title or f"gamewarden {_command()}"))
        else:
            write_table(frame, path, exact=self.exact)


def _local(frame: "pl.DataFrame") -> "pl.DataFrame":
    """A table for a person, its times in the time zone of what was read."""
    import polars as pl

    context = click.get_current_context(silent=True)
    zone = "UTC" if context is None else context.meta.get(TIME_ZONE) or "UTC"
    times = [name for name, kind in frame.schema.items() if isinstance(kind, pl.Datetime) and kind.time_zone]
    if context is None or zone == "UTC" or not times:
        return frame
    if not context.meta.get(_ZONE_NAMED):
        say(f"Times are in {zone}.")
    context.meta[_ZONE_NAMED] = True
    return frame.with_columns(pl.col(times).dt.convert_time_zone(zone))


def _command() -> str:
    """The words of the command that runs, without its options."""
    context = click.get_current_context(silent=True)
    return "" if context is None else context.command_path.partition(" ")[2]


def _print_csv(text: str) -> None:
    """CSV on standard output: exact for a program, and nothing that steers a terminal for a person."""
    if sys.stdout.isatty():
        text = "".join(f"{visible(line)}\n" for line in text.split("\n")[:-1])
    click.echo(text.encode(), nl=False)


def lay_out(frame: "pl.DataFrame", title: str = "", rows: int | None = None, *, layout: "Layout | None" = None) -> None:
    """Print a table: what fits a terminal, and a word on what does not; all of it in a pipe.

    `rows` is how many there are where the table is only their head.
    """
    from gamewarden.presentation import listing

    frame, layout = _local(frame), layout or listing.Layout()
    if title:
        head(title)
    width = width_here()
    if width is None:
        for line in listing.for_pipe(frame, layout):
            click.echo(line)
        return
    shown = listing.for_person(frame.head(_MOST_ROWS), width, layout)
    head(shown.head)
    for line in shown.rows:
        click.echo(line)
    hidden = (frame.height if rows is None else rows) - min(frame.height, _MOST_ROWS)
    say(*filter(None, [listing.left_out(hidden, shown.dropped, width)]))


def most_rows() -> int | None:
    """How many rows of a table are shown: what a person can take in, and all in a pipe."""
    return _MOST_ROWS if sys.stdout.isatty() else None


def at_a_terminal() -> bool:
    """Whether a person sees what is said, and can answer."""
    return sys.stdin.isatty() and sys.stdout.isatty()


def width_here() -> int | None:
    """The columns of the terminal that answers go to; none in a pipe."""
    return _width_of(sys.stdout)


def _width_of(stream: IO[str]) -> int | None:
    """The columns of the terminal behind a stream; none where there is no terminal."""
    if not stream.isatty():
        return None
    said = os.environ.get("COLUMNS", "")
    if said.isdecimal() and int(said):
        return max(_NARROWEST, int(said))
    try:
        return max(_NARROWEST, os.get_terminal_size(stream.fileno()).columns or _USUAL)
    except (OSError, ValueError):
        return _USUAL


def tell(*lines: str) -> None:
    """Answers for the person at the terminal, a line each; at a terminal they are wrapped at its width."""
    width = width_here()
    for line in lines:
        for part in wrapped(visible(line), width):
            click.echo(part)


def print_lines(*lines: str) -> None:
    """Lines that somebody may copy into a file: never wrapped."""
    for line in lines:
        click.echo(visible(line))


def head(line: str) -> None:
    """A line that stands out."""
    for part in wrapped(visible(line), width_here()):
        click.secho(part, bold=True, color=None if _styled() else False)


def say(*lines: str) -> None:
    """Remarks for the person at the terminal; they never mix with a table on standard output; -q leaves them out."""
    if not is_quiet():
        _to_stderr(lines, _width_of(sys.stderr))


def detail(*lines: str) -> None:
    """What -v wants to know, one line each: what was chosen, and how long it took."""
    if is_verbose():
        _to_stderr(lines, None)


def complain(*lines: str) -> None:
    """What went wrong, one line each: never left out and never wrapped."""
    _to_stderr(lines, None)


def _to_stderr(lines: Iterable[str], width: int | None) -> None:
    for line in lines:
        for part in wrapped(cut(visible(line)), width, _HANGING):
            click.echo(part, err=True)


def is_quiet() -> bool:
    """Whether -q was given."""
    return _asked(QUIET)


def is_verbose() -> bool:
    """Whether -v was given."""
    return _asked(VERBOSE)


def _asked(name: str) -> bool:
    context = click.get_current_context(silent=True)
    return context is not None and bool(context.meta.get(name))


def _styled() -> bool:
    """Whether letters may be bold: not in a terminal that knows no such thing, nor where somebody asked for none."""
    return not os.environ.get("NO_COLOR") and not _is_dumb()


def _is_dumb() -> bool:
    return os.environ.get("TERM") == "dumb"


def say_usage(error: click.ClickException) -> None:
    """What was wrong with the words that were typed."""
    said = io.StringIO()
    error.show(file=said)
    complain(*said.getvalue().rstrip("\n").replace("\n\t", " ").split("\n"))


def show_page(page: "Page", *, as_json: bool, before: str = "") -> None:
    """A model's card: for a program, or for a person, with what stands before it."""
    if as_json:
        hand_over(page.json() + "\n")
    else:
        tell(*f"{before}{page.markdown()}".split("\n"))


def hand_over(json: str) -> None:
    """JSON for a program: the exact values, and still nothing that steers a terminal; out at once.

    Where Python does not buffer (PYTHONUNBUFFERED), a signal in the middle of writing leaves the rest unwritten.
    """
    sys.stdout.flush()
    left = memoryview(plain_json(json).encode())
    while left:
        left = left[sys.stdout.buffer.write(left) :]
    sys.stdout.buffer.flush()


def fall_silent() -> None:
    """The reader of our output has gone: nothing is left to say, not even at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


@contextmanager
def quietly() -> Iterator[None]:
    """Within it answers and notes go nowhere: a command is run for something else than what it says."""
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
    begun = monotonic()
    with _bar(label, total) as done:
        yield done
    detail(f"{label}: {monotonic() - begun:.1f} s")


@contextmanager
def _bar(label: str, total: int | None) -> Iterator[Callable[[int], None]]:
    if is_quiet() or _is_dumb() or not sys.stderr.isatty():
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
    if is_quiet() or _is_dumb() or not sys.stderr.isatty():
        yield lambda _status: None
        return
    yield lambda status: click.echo(f"\r\x1b[K{visible(str(status))}", nl=False, err=True)
    click.echo(err=True)
