"""Pictures are written whole, without a screen."""

import subprocess
import sys

import numpy as np
import polars as pl
import pytest

from gamewarden.core.outside import visible
from gamewarden.detectors.logistic.recipe import AccountDay, SelfSimilarityAlone
from gamewarden.errors import Remark, TableError, WriteError
from gamewarden.evaluation.cross_validation import evaluate
from gamewarden.presentation import lettering, report_plots
from gamewarden.presentation.plots import (
    _broken,
    plot_roc,
    plot_scores,
    plot_self_similarity,
    plot_windows,
    save_picture,
)
from made_up import DAY, START, GivenNumbers, account_days, labels_of


@pytest.fixture(scope="module")
def scores():
    recipes = (SelfSimilarityAlone(GivenNumbers()), AccountDay(GivenNumbers()))
    return evaluate(recipes, account_days(12, 12), labels_of(12, 12), folds=2).scores


def windows(count=50):
    times = pl.datetime_range(START, START + DAY, "1m", eager=True).head(count)
    return pl.DataFrame({"since": times, "cosine": [0.2 if at % 7 else 0.0 for at in range(count)]})


def painted(path):
    """More than a blank sheet: the picture has several colours."""
    from matplotlib.image import imread

    pixels = imread(path)
    return np.unique(pixels.reshape(-1, pixels.shape[-1]), axis=0).shape[0] > 20


def test_every_picture_is_painted(scores, tmp_path):
    plot_roc(scores, tmp_path / "roc.png")
    plot_scores(scores, tmp_path / "scores.png", threshold=0.99)
    plot_self_similarity(account_days(), labels_of(), tmp_path / "self-similarity.png")
    plot_windows(windows(), tmp_path / "windows.png", "an actor")

    files = sorted(tmp_path.iterdir())
    assert [file.name for file in files] == ["roc.png", "scores.png", "self-similarity.png", "windows.png"]
    assert all(painted(file) for file in files)


def test_a_picture_may_be_a_vector_drawing(tmp_path):
    plot_windows(windows(), tmp_path / "windows.svg")

    assert "<svg" in (tmp_path / "windows.svg").read_text()


@pytest.mark.parametrize("count", [0, 1, 2])
def test_few_windows_can_be_drawn(count, tmp_path):
    plot_windows(windows(count), tmp_path / "windows.png")

    assert painted(tmp_path / "windows.png")


def test_a_class_without_rows_and_values_that_do_not_vary_can_be_drawn(scores, tmp_path):
    flat = account_days().with_columns(self_sim=pl.lit(0.99))

    plot_self_similarity(flat, labels_of().filter("bot"), tmp_path / "flat.png")
    plot_roc(scores.filter("bot"), tmp_path / "bots.png")
    plot_scores(scores.head(0), tmp_path / "empty.png")

    assert len(list(tmp_path.iterdir())) == 3


def test_the_line_breaks_at_empty_windows_and_gaps():
    times = np.array(["2026-01-01T00:00", "2026-01-01T00:01", "2026-01-01T00:02", "2026-01-01T00:09"], "datetime64[us]")

    _, values = _broken(times, np.array([0.1, 0.0, 0.3, 0.4]), np.array([False, True, False, False]))

    np.testing.assert_array_equal(values, [0.1, np.nan, 0.3, np.nan, 0.4])


def test_an_ending_that_names_no_picture_is_refused(tmp_path):
    with pytest.raises(WriteError, match=r"'\.txt' names no picture"):
        plot_windows(windows(), tmp_path / "windows.txt")
    with pytest.raises(WriteError, match="names no picture"):
        plot_windows(windows(), tmp_path / "windows")
    assert not list(tmp_path.iterdir())


def test_missing_columns_are_named(tmp_path):
    with pytest.raises(TableError, match="lack cosine"):
        plot_windows(windows().drop("cosine"), tmp_path / "windows.png")
    with pytest.raises(TableError, match="lacks self_sim"):
        plot_self_similarity(account_days().drop("self_sim"), labels_of(), tmp_path / "x.png")


def test_evaluation_imports_no_matplotlib_before_it_draws():
    code = "import sys, gamewarden.presentation.plots, gamewarden.evaluation.cross_validation as _; "
    code += "sys.exit('matplotlib' in sys.modules or 'sklearn' in sys.modules)"

    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


NAMES = {"Korean": "김철수", "Japanese": "山田太郎のキツネ", "Chinese": "王小明"}


@pytest.mark.parametrize("name", NAMES.values(), ids=NAMES)
def test_east_asian_names_are_drawn_where_a_font_has_them(name, tmp_path):
    if not all(map(lettering.has_glyph, name)):
        pytest.skip("no font here has Chinese, Japanese or Korean letters; Debian has fonts-wqy-microhei")
    plot_windows(windows(), tmp_path / "named.png", name)
    plot_windows(windows(), tmp_path / "other.png", name[::-1])

    assert (tmp_path / "named.png").read_bytes() != (tmp_path / "other.png").read_bytes()


def test_letters_no_font_has_are_written_as_numbers_and_said_once(tmp_path):
    with pytest.warns(Remark, match=r"no font here draws .* \(U\+12000\) nor 1 other letter of it") as said:
        plot_windows(windows(), tmp_path / "named.png", "\U00012000\U00012001")
    plot_windows(windows(), tmp_path / "numbers.png", r"\U00012000\U00012001")

    assert len(said) == 1
    assert (tmp_path / "named.png").read_bytes() == (tmp_path / "numbers.png").read_bytes()


@pytest.mark.parametrize("name", ["a$\\foo$", "a$", "$x^2$", "\x1b[2J", "a\u202eb", "\udcff"], ids=ascii)
def test_a_name_is_drawn_as_it_is_written(name, tmp_path):
    plot_windows(windows(), tmp_path / "named.png", name)
    plot_windows(windows(), tmp_path / "shown.png", visible(name))

    assert (tmp_path / "named.png").read_bytes() == (tmp_path / "shown.png").read_bytes()


def test_names_of_ticks_are_lettered_too(tmp_path):
    def draw(figure):
        axes = figure.subplots()
        axes.set_yticks([0, 1], ["a\u202e", "\U00012000"])

    with pytest.warns(Remark):
        save_picture(draw, tmp_path / "ticks.png", (4, 3))


def test_the_page_s_pictures_leave_letters_to_the_browser_and_warn_nobody(scores):
    named = scores.with_columns(pl.lit("김철수\U00012000\u202e").alias("detector"))

    picture = report_plots.curves(named)

    assert "김철수\U00012000\\u202e" in picture
