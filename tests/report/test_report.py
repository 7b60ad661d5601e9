import polars as pl

from gamewarden.presentation.plots import plot_curves
from gamewarden.presentation.report import html_page


def page(tmp_path, **changed):
    plot_curves({"one": ([1, 2, 3], [0.1, 0.5, 0.2])}, tmp_path / "curve.png", "a curve", ("t", "MCC"))
    table = pl.DataFrame({"way": ["<b>bold</b>", None], "auc": [0.123456, None], "n": [1234, 5], "bot": [True, False]})
    given = {"title": "A <study>", "notes": ["Synthetic & said so."], "tables": [("Results", table)]} | changed
    return html_page(**given, pictures=[tmp_path / "curve.png"])


def test_text_from_outside_cannot_become_markup(tmp_path):
    text = page(tmp_path)

    assert "<b>bold" not in text
    assert "&lt;b&gt;bold" in text
    assert "A &lt;study&gt;" in text


def test_pictures_are_inside_the_page_and_nothing_is_fetched(tmp_path):
    text = page(tmp_path)

    assert 'src="data:image/png;base64,iVBOR' in text
    assert "http:" not in text
    assert "https:" not in text


def test_numbers_and_what_is_not_known_are_shown_for_people(tmp_path):
    text = page(tmp_path)

    assert '<td class="number">0.1235</td>' in text
    assert '<td class="number">1,234</td>' in text
    assert '<td class="short">–</td>' in text
    assert '<td class="short">yes</td>' in text
