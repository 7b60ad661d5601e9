"""Pages for people: one layout for all, each a single file that fetches nothing and runs nothing.

Whatever a template shows goes through `core.outside.visible` and is escaped; only pictures drawn here are markup.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import polars as pl
from markupsafe import Markup

from gamewarden.core.outside import visible
from gamewarden.presentation.cells import cell_text

if TYPE_CHECKING:
    from jinja2 import Environment

_DECIMALS = 4
_LONG = 40  # letters: such a text gets a column that is wide enough to be read


@dataclass(frozen=True)
class Figure:
    """A picture and what it shows."""

    picture: Markup
    caption: str


@dataclass(frozen=True)
class Column:
    """The head of a column."""

    name: str
    numeric: bool


@dataclass(frozen=True)
class Cell:
    """A value as it is shown."""

    text: str
    look: str = ""


@dataclass(frozen=True)
class Row:
    """The cells of a row, and the names and texts that stand under it."""

    cells: list[Cell]
    under: list[tuple[str, str]]


@dataclass(frozen=True)
class TableView:
    """A table as a page shows it: numbers to the right, what is not known as a dash, long texts under their row."""

    name: str
    frame: pl.DataFrame
    under: tuple[str, ...] = ()

    @property
    def columns(self) -> list[Column]:
        """The heads of what stands in a row."""
        kinds = self.frame.drop(self.under).schema.items()
        return [Column(name.replace("_", " "), dtype.is_numeric()) for name, dtype in kinds]

    @property
    def rows(self) -> Iterator[Row]:
        """One row after the other, so that a long table is not held twice."""
        for row in self.frame.iter_rows(named=True):
            cells = [_cell(name, value) for name, value in row.items() if name not in self.under]
            below = [(name.replace("_", " "), str(row[name])) for name in self.under if row[name] is not None]
            yield Row(cells, below)


def page(template: str, **values: Any) -> str:  # noqa: ANN401  each template has values of its own
    """A page from its template; a value that it lacks is an error."""
    return _environment().get_template(template).render(inside=False, style=_style(), **values) + "\n"


def fragment(template: str, **values: Any) -> str:  # noqa: ANN401  as of `page`
    """The same as a part of somebody else's page, such as a notebook: its style reaches no further than itself."""
    return _environment().get_template(template).render(inside=True, style=_style_inside(), **values) + "\n"


def table_view(frame: pl.DataFrame, name: str = "") -> TableView:
    """A table for a page."""
    return TableView(name, frame)


def table_page(frame: pl.DataFrame, title: str) -> str:
    """A table as a page of its own."""
    texts = [series for series in frame[:, 1:] if series.dtype == pl.String]
    under = tuple(text.name for text in texts if (text.str.len_chars().max() or 0) > _LONG)  # type: ignore[operator]
    shown = TableView("", frame, under)
    wide = len(shown.columns) > 8  # noqa: PLR2004  columns that the width of a text can hold
    return page("report.html", kind="table", title=title, notes=(), tables=[shown], pictures=(), wide=wide)


def figure(picture: str, caption: str) -> Figure:
    """A picture that was drawn here, as markup."""
    return Figure(Markup(picture), caption)  # noqa: S704  matplotlib has escaped the texts in it


def _cell(name: str, value: object) -> Cell:
    text = cell_text(name, value, _DECIMALS)
    numeric = isinstance(value, int | float) and not isinstance(value, bool)
    return Cell(text, "number" if numeric else "long" if len(text) > _LONG else "short")


@lru_cache
def _style() -> Markup:
    return Markup(_environment().get_template("style.css").render())  # noqa: S704  a file of ours


@lru_cache
def _style_inside() -> Markup:
    """The style for rules that are nested: what is said of the page is said of the part."""
    return Markup(re.sub(r":root|\bbody\b", "&", _style()))  # noqa: S704  a file of ours


@lru_cache
def _environment() -> "Environment":
    from jinja2 import Environment, PackageLoader, StrictUndefined

    return Environment(
        loader=PackageLoader("gamewarden.presentation"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_shown,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def _shown(value: object) -> object:
    """What a template gives out: text with what cannot be seen in it written out; markup of our own as it is."""
    return visible(value) if isinstance(value, str) and not isinstance(value, Markup) else value
