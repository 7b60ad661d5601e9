"""The control chart of maintenance as a picture and as a page."""

from collections.abc import Sequence
from pathlib import Path

import polars as pl

from gamewarden.presentation.control_plots import plot_control_chart


def draw_chart(frame: pl.DataFrame, path: Path, title: str) -> None:
    """The control chart as a picture."""
    plot_control_chart(frame, path, title)


def chart_page(frame: pl.DataFrame, title: str, sentences: Sequence[str]) -> str:
    """The control chart, its table and its story as one HTML page."""
    from tempfile import TemporaryDirectory

    from gamewarden.presentation.report import html_page

    with TemporaryDirectory() as place:
        picture = Path(place) / "control-chart.png"
        draw_chart(frame, picture, title)
        happened = pl.DataFrame({"day": [line[:10] for line in sentences], "what": [line[12:] for line in sentences]})
        return html_page(title, (), [("What happened", happened), ("Periods", frame)], [picture])
