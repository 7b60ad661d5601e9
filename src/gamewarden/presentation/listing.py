"""A table as lines of text: for a person at a terminal of some width, or whole for a pipe.

At a terminal a name is never broken: columns that do not fit are dropped, the least important first, and long texts
stand under their row. In a pipe every row is one line and nothing is dropped: columns are two spaces apart.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from gamewarden.core.outside import cut, visible
from gamewarden.presentation.cells import UNKNOWN, cell_text
from gamewarden.presentation.widths import cells, padded, wrapped

if TYPE_CHECKING:
    import polars as pl

_GAP = "  "
_INDENT = "    "
_AT_ONCE = 10_000  # rows as text
_LONGEST = 3_000  # letters of one value
_WIDEST = 60  # columns in a pipe: what is longer stands out of line
_LONG = 36  # columns: a longer text may stand under its row, a longer name has a line of its own
_IMPORTANT = ("actor", "since", "probability", "fpr", "point", "detector", "model")


@dataclass(frozen=True)
class Layout:
    """What of a table counts most: columns that stay longest, and texts that always stand under their row."""

    first: tuple[str, ...] = _IMPORTANT
    under: tuple[str, ...] = ()


@dataclass(frozen=True)
class Listing:
    """The lines of a table, and the columns that found no room."""

    head: str
    rows: tuple[str, ...]
    dropped: tuple[str, ...]


@dataclass(frozen=True)
class _Column:
    name: str
    head: str
    texts: list[str]
    right: bool
    width: int

    @classmethod
    def of(cls, series: "pl.Series", head: str, *, grouped: bool = True) -> "_Column":
        head, texts = visible(head), _texts(series, grouped=grouped)
        return cls(series.name, head, texts, series.dtype.is_numeric(), max(cells(head), _widest(texts)))

    def narrowed(self) -> "_Column":
        """With the room of its usual names: a longer one gets a line of its own, so that the others stay together."""
        sizes = (size for text in (self.head, *self.texts) if (size := cells(text)) <= _LONG)
        return replace(self, width=max(sizes, default=len(_INDENT)))


def for_person(frame: "pl.DataFrame", width: int, layout: Layout) -> Listing:
    """The table in so many columns of a terminal."""
    if not frame.width:
        return Listing("", (), ())
    who, *others = (_Column.of(series, series.name.replace("_", " ")) for series in frame)
    who = who.narrowed()
    under, beside = _apart(others, lambda column: column.name in layout.under)
    if _across(column.width for column in (who, *beside)) > width:
        more, beside = _apart(beside, lambda column: not column.right and column.width > _LONG)
        under += more
    kept = _fitting(who, beside, width, layout.first)
    rows = [line for at in range(frame.height) for line in _row(who, kept, under, at, width)]
    names = {column.name for column in kept}
    dropped = tuple(column.head for column in beside if column.name not in names)
    return Listing(_line(who, kept, who.head, [column.head for column in kept]), tuple(rows), dropped)


def for_pipe(frame: "pl.DataFrame", layout: Layout) -> Iterator[str]:
    """The whole table, a line per row, long texts last; numbers without commas, names of columns as in a file.

    It begins at once: how wide columns are is told from the first 10,000 rows, and what is longer stands out of line.
    """
    last = [name for name in layout.under if name in frame.columns]
    ordered = frame.select(*(name for name in frame.columns if name not in last), *last)
    heads = [_Column.of(series.clear(), series.name) for series in ordered]
    first = _plain(ordered.head(_AT_ONCE))
    widths = [min(max(pair), _WIDEST) for pair in zip(_widths(heads), _widths(first), strict=True)]
    yield _joined(heads, [column.head for column in heads], widths)
    for part in ordered.iter_slices(_AT_ONCE):
        columns = _plain(part)
        yield from (_joined(columns, row, widths) for row in zip(*(column.texts for column in columns), strict=True))


def left_out(hidden_rows: int, dropped: Sequence[str], width: int) -> str:
    """One line on what a list does not show, or nothing."""
    rows = f"{hidden_rows:,} more {'row' if hidden_rows == 1 else 'rows'}" if hidden_rows else ""
    named = ", ".join(dropped[:6]) + (f" and {len(dropped) - 6} more" if len(dropped) > 6 else "")  # noqa: PLR2004
    columns = f"no room at {width} columns for {named}" if dropped else ""
    more = "; ".join(filter(None, (rows, columns)))
    return f"Not shown: {more}. --out FILE writes all." if more else ""


def _texts(series: "pl.Series", *, grouped: bool) -> list[str]:
    """The values as text; what cannot be seen is looked for once in all of them together."""
    name, values = series.name, series.to_list()
    texts = [value if type(value) is str else cell_text(name, value, grouped=grouped) for value in values]
    together = "".join(texts)
    harmless = visible(together) == together and max(map(len, texts), default=0) <= _LONGEST
    return texts if harmless else [cut(visible(text), _LONGEST) for text in texts]


def _widest(texts: Sequence[str]) -> int:
    plain = all(map(str.isascii, texts))
    return max(map(len if plain else cells, texts), default=0)


def _widths(columns: Sequence[_Column]) -> list[int]:
    return [column.width for column in columns]


def _plain(frame: "pl.DataFrame") -> list[_Column]:
    return [_Column.of(series, series.name, grouped=False) for series in frame]


def _joined(columns: Sequence[_Column], texts: Sequence[str], widths: Sequence[int]) -> str:
    parts = zip(columns, texts, widths, strict=True)
    return _GAP.join(padded(text, wide, right=column.right) for column, text, wide in parts).rstrip()


def _apart(columns: Sequence[_Column], rule: Callable[[_Column], bool]) -> tuple[list[_Column], list[_Column]]:
    """Those the rule fits, and the others."""
    return [column for column in columns if rule(column)], [column for column in columns if not rule(column)]


def _across(widths: Iterable[int]) -> int:
    return sum(size + len(_GAP) for size in widths) - len(_GAP)


def _fitting(who: _Column, beside: Sequence[_Column], width: int, first: Sequence[str]) -> list[_Column]:
    """The most important columns that fit beside the first one, in the table's order; those without a value last."""
    order = {name: place for place, name in enumerate(first)}

    def place(column: _Column) -> tuple[bool, int]:
        return all(text == UNKNOWN for text in column.texts), order.get(column.name, len(order))

    kept: list[_Column] = []
    full = who.width
    for column in sorted(beside, key=place):
        if full + len(_GAP) + column.width <= width:
            kept.append(column)
            full += len(_GAP) + column.width
    names = {column.name for column in kept}
    return [column for column in beside if column.name in names]


def _row(who: _Column, kept: Sequence[_Column], under: Sequence[_Column], at: int, width: int) -> Iterator[str]:
    name = who.texts[at]
    if cells(name) > who.width:
        yield name
        name = ""
    yield _line(who, kept, name, [column.texts[at] for column in kept])
    for column in under:
        says = column.texts[at] if len(under) == 1 else f"{column.head}: {column.texts[at]}"
        yield from wrapped(_INDENT + says, width, _INDENT)


def _line(who: _Column, kept: Sequence[_Column], name: str, texts: Sequence[str]) -> str:
    return _joined([who, *kept], [name, *texts], [column.width for column in (who, *kept)])
