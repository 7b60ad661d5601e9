"""One self-contained HTML page: tables and pictures that open anywhere, without a network."""

from base64 import b64encode
from collections.abc import Iterator, Sequence
from pathlib import Path

import polars as pl

from gamewarden.outside import escape

_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; color: #1d2b3a; max-width: 70rem; margin: 2rem auto; padding: 0 1rem; }
table { border-collapse: collapse; margin: 1rem 0 2rem; font-size: 0.9rem; }
th, td { padding: 0.3rem 0.8rem; border-bottom: 1px solid #d5dbe1; text-align: left; }
td.number, th.number { text-align: right; font-variant-numeric: tabular-nums; }
img { max-width: 100%; margin: 1rem 0; }
p.remark { color: #51606f; margin: 0.2rem 0; }
"""


def html_page(
    title: str, remarks: Sequence[str], tables: Sequence[tuple[str, pl.DataFrame]], pictures: Sequence[Path]
) -> str:
    """The page: its remarks, each table under its name, each picture inside the page itself."""
    parts = [
        f"<!doctype html><html lang='en'><head><meta charset='utf-8'><title>{escape(title)}</title>",
        f"<style>{_STYLE}</style></head><body><h1>{escape(title)}</h1>",
        *(f"<p class='remark'>{escape(remark)}</p>" for remark in remarks),
        *(part for name, frame in tables for part in table_html(name, frame)),
        *(_picture(path) for path in pictures),
        "</body></html>",
    ]
    return "\n".join(parts) + "\n"


def table_html(name: str, frame: pl.DataFrame) -> Iterator[str]:
    """A table under its name; numbers to the right, what is not known as a dash."""
    yield f"<h2>{escape(name)}</h2><table><thead><tr>"
    yield "".join(_heading(column, numeric=dtype.is_numeric()) for column, dtype in frame.schema.items())
    yield "</tr></thead><tbody>"
    for row in frame.iter_rows():
        yield "<tr>" + "".join(_cell(value) for value in row) + "</tr>"
    yield "</tbody></table>"


def _heading(column: str, *, numeric: bool) -> str:
    return f"<th{' class=number' if numeric else ''}>{escape(column.replace('_', ' '))}</th>"


def _cell(value: object) -> str:
    match value:
        case None:
            return "<td>–</td>"
        case bool():
            return f"<td>{'yes' if value else 'no'}</td>"
        case float():
            return f"<td class='number'>{value:,.4f}</td>"
        case int():
            return f"<td class='number'>{value:,}</td>"
        case _:
            return f"<td>{escape(str(value))}</td>"


def _picture(path: Path) -> str:
    data = b64encode(path.read_bytes()).decode()
    return f"<img alt='{escape(path.stem)}' src='data:image/png;base64,{data}'>"
