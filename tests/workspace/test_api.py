"""The functions for a notebook: as the commands on files, and on tables in memory."""

import importlib.util
import re
import subprocess
import sys
import warnings
from datetime import UTC, datetime

import polars as pl
import pyarrow as pa
import pytest

import gamewarden as gw
from commands import done
from gamewarden.errors import ConfigError, GamewardenError, ModelError, ReadError, Remark
from gamewarden.tables import json_text

HOSTILE = ["<script>alert(1)</script>", "\x1b[2J\x1b]0;owned\x07", "봇\u202eegnahc", "{{ 7 * 7 }}"]
FROM = ["--probability", 0, "--top", 5, "--prevalence", 0.2]


@pytest.fixture(scope="module")
def game(tmp_path_factory):
    place = tmp_path_factory.mktemp("game")
    done("world", place, "--accounts", 60, "--days", 2, "--seed", 3)
    events, labels = pl.read_parquet(place / "events.parquet"), pl.read_csv(place / "labels.csv")
    busy = events.group_by("actor").len().sort("len", descending=True)
    bots = busy.filter(pl.col("actor").is_in(labels.filter("bot")["actor"].implode()))["actor"]
    names = dict(zip(bots, HOSTILE, strict=False))
    events.with_columns(pl.col("actor").replace(names)).write_parquet(place / "log.parquet")
    labels.with_columns(pl.col("actor").replace(names)).write_parquet(place / "labels.parquet")
    return place


@pytest.fixture(scope="module")
def events(game):
    return pl.read_parquet(game / "log.parquet")


@pytest.fixture(scope="module")
def fitted(game):
    return gw.fit("account-day", game / "log.parquet", game / "labels.parquet", to=game / "models")


@pytest.fixture(scope="module")
def ranking(events, fitted):
    return gw.rank(events, fitted, probability=0, top=0, prevalence=0.2)


def quiet(function, *given, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", Remark)
        return function(*given, **options)


def harmless(text):
    """A part of a page in which nothing that a player chose is more than text."""
    assert not re.search(r"<(script|iframe|img|link|object|embed)\b|\son\w+=|https?:", text)
    assert not re.search("[\x00-\x08\x0b-\x1f\u202a-\u202e\u2066-\u2069]", text)
    assert text.count('<div class="gamewarden">') == 1
    assert "<html" not in text
    assert "<body" not in text
    return text


def test_importing_the_package_imports_nothing_of_it_before_it_is_asked_for():
    code = (
        "import sys, gamewarden as gw; heavy = {'polars', 'numpy', 'pyarrow', 'gamewarden.api'}; "
        "assert not heavy & set(sys.modules), heavy & set(sys.modules); assert 'rank' in dir(gw); "
        "gw.rank; assert 'gamewarden.api' in sys.modules; assert 'matplotlib' not in sys.modules; "
        "assert 'sklearn' not in sys.modules"
    )

    subprocess.run([sys.executable, "-c", code], check=True)


def test_the_package_offers_what_it_names_and_nothing_else():
    assert all(getattr(gw, name).__module__.startswith("gamewarden.api") for name in gw.__all__)
    with pytest.raises(AttributeError, match="no attribute 'ranking'"):
        gw.ranking  # noqa: B018  asking is the test


def test_reading_gives_events_of_a_time_and_some_actors(game, events):
    some = events["actor"].unique().sort()[:2].to_list()
    first = events["at"].min().date()
    since, until = datetime(first.year, first.month, first.day, tzinfo=UTC), f"{first}T12:00:00Z"

    found = quiet(gw.read, game / "log.parquet", since=since, until=until, actors=some)

    wanted = events.filter(
        pl.col("actor").is_in(some), pl.col("at") >= since, pl.col("at") < datetime.fromisoformat(until)
    )
    assert found.height == wanted.height > 0
    assert found.select("actor", "at", "kind").equals(wanted.select("actor", "at", "kind"))


def test_reading_into_a_lake_says_what_came_in_and_the_lake_has_the_log(game, events, tmp_path):
    added = gw.read(game / "log.parquet", to=tmp_path / "lake")

    assert added["new"].item() == events.height
    assert quiet(gw.read, tmp_path / "lake").height == events.height


def test_measuring_gives_what_the_command_gives_to_the_last_bit(game, events):
    told = done("measure", "self-similarity", game / "log.parquet", "--unit", "10m", "--min-windows", 3, "--json")

    with pytest.warns(Remark, match="another vocabulary gives other numbers"):
        found = gw.measure(events, "self-similarity", unit="10m", min_windows=3)

    assert json_text(found) == told.stdout


def in_arrow(frame):
    return frame.to_arrow()


def with_nanoseconds(frame):
    """As pandas has times and repeated texts."""
    return frame.with_columns(pl.col("at").dt.cast_time_unit("ns"), pl.col("kind").cast(pl.Categorical))


class OnlyColumns:
    """A table of which nothing is known but that it hands over Arrow columns."""

    def __init__(self, frame):
        self.columns_of = frame.__arrow_c_stream__

    def __arrow_c_stream__(self, requested_schema=None):
        return self.columns_of(requested_schema)


def in_pandas(frame):
    if importlib.util.find_spec("pandas") is None:
        pytest.skip("pandas is not installed")
    return frame.to_pandas()


@pytest.mark.parametrize("make", [in_arrow, with_nanoseconds, OnlyColumns, in_pandas])
def test_a_table_of_another_library_gives_the_same_numbers(events, make):
    held, own = quiet(gw.measure, make(events)), quiet(gw.measure, events)

    assert held.equals(own)


def test_a_model_fitted_in_memory_is_the_one_the_command_fits(game, events, fitted):
    words = ("fit", "account-day", game / "log.parquet", "--labels", game / "labels.parquet", "--to", game / "own")
    told = done(*words, "--json")
    held = gw.fit("account-day", events, pl.read_parquet(game / "labels.parquet"))

    assert f'"id":"{fitted.card.id}"' in told.stdout
    assert held.card == fitted.card
    assert str(fitted).startswith(f"# {fitted.card.id}\n")


def test_a_model_without_a_place_lives_as_long_as_its_object(events, game):
    held = gw.fit("self-similarity", events, game / "labels.parquet")
    place = held.directory

    assert place.is_dir()
    del held
    assert not place.exists()


def test_scores_are_those_of_the_command(game, events, fitted):
    told = done("score", game / "log.parquet", "--models", game / "models", "--json")

    found = quiet(gw.score, events, fitted)

    assert json_text(found) == told.stdout
    assert quiet(gw.score, game / "log.parquet", str(game / "models")).equals(found)


def test_what_stands_beside_a_frame_is_warned_of_where_it_was_asked_for(events, fitted):
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        gw.score(events, fitted)

    assert {one.category for one in said} == {Remark}
    assert {one.filename for one in said} == {__file__}
    assert any("Probabilities suppose that" in str(one.message) for one in said)


def test_models_of_several_directories_judge_together(events, game, fitted):
    other = gw.fit("self-similarity", events, game / "labels.parquet")

    found = quiet(gw.score, events, [fitted, other])

    assert set(found["detector"]) == {"account-day", "self-similarity"}
    assert found.filter(detector="account-day").equals(quiet(gw.score, events, [fitted]))


def test_two_models_of_one_detector_are_refused(events, fitted):
    with pytest.raises(ModelError, match=r"account-day has a model in .* too; give only one of them"):
        gw.score(events, [fitted, fitted])


@pytest.mark.usefixtures("fitted")
def test_a_list_is_that_of_the_command_and_its_page_too(game, tmp_path):
    words = ("rank", game / "log.parquet", "--models", game / "models", *FROM, "--profiles", game / "profiles.csv")
    told = done(*words, "--where", "level>=2", "--html", tmp_path / "own.html", "--json")
    profiles = pl.read_csv(game / "profiles.csv")

    found = gw.rank(
        *(game / "log.parquet", game / "models"),
        probability=0,
        top=5,
        prevalence=0.2,
        profiles=profiles,
        where="level>=2",
        html=tmp_path / "list.html",
    )

    assert json_text(found.frame) == told.stdout
    assert (tmp_path / "list.html").read_bytes() == (tmp_path / "own.html").read_bytes()
    assert any("20 %" in line for line in found.notes)


def test_a_list_in_a_notebook_shows_names_and_obeys_none(ranking, events):
    text = harmless(ranking._repr_html_())

    assert text.count('<section class="card"') == ranking.frame.height == events["actor"].n_unique()
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in text
    assert r"\x1b[2J" in text
    assert r"봇\u202eegnahc" in text
    assert "{{ 7 * 7 }}" in text
    assert "gamewarden explain" not in text
    assert "gamewarden measure" not in " ".join(ranking.notes)


@pytest.mark.parametrize("actor", HOSTILE)
def test_an_explanation_is_that_of_the_command_with_sentences_and_windows(game, fitted, actor):
    words = ("explain", actor, game / "log.parquet", "--models", game / "models")
    told, spoken = done(*words, "--json"), done(*words)

    found = gw.explain(actor, game / "log.parquet", fitted)

    text = harmless(found._repr_html_())
    assert json_text(found.evidence) == told.stdout
    assert " ".join(found.text.split()) == " ".join(spoken.stdout.split())
    assert str(found) == found.text
    assert found.windows.height > 0
    assert found.scores["actor"].unique().to_list() == [actor]
    assert '<svg class="series"' in text
    assert all(line in spoken.stderr for line in found.notes)


def test_every_sentence_of_an_explanation_stands_in_a_notebook(events, fitted):
    found = gw.explain(HOSTILE[0], events, fitted)

    text = found._repr_html_()
    assert found.evidence.height > 5
    assert all(re.sub(r"[<>&'\"]", "", says) in re.sub(r"&\w+;|&#\d+;", "", text) for says in found.evidence["says"])


def test_a_card_in_a_notebook_has_all_that_the_command_shows(fitted):
    text = harmless(fitted._repr_html_())

    titles = re.findall(r"^## (.+)$", str(fitted), re.MULTILINE)
    assert titles
    assert all(f"<summary>{title}</summary>" in text for title in titles)


def test_an_evaluation_is_that_of_the_command(game, events):
    labels = game / "labels.parquet"
    words = ("evaluate", game / "log.parquet", "--labels", labels, "--detector", "self-similarity", "--folds", 3)
    told = done(*words, "--split", "actor", "--split", "random", "--json")

    found = gw.evaluate(events, pl.read_parquet(labels), "self-similarity", splits=["actor", "random"], folds=3)

    assert json_text(found.summary) == told.stdout
    text = harmless(found._repr_html_())
    assert text.count('<tr class="split') == 2
    assert found.short["detector"].to_list()
    assert found.notes


def test_what_cannot_be_used_is_refused_in_one_line(events, game, fitted):
    wrong = {
        "source: int is nothing to read": lambda: gw.read(7),
        "source: list is nothing to read": lambda: gw.read([]),
        "no option windows; it takes unit, every": lambda: gw.measure(events, windows=3),
        "min_windows is 'three'; it must be a whole number": lambda: gw.measure(events, min_windows="three"),
        "by is 'guild'; it must be account or character": lambda: gw.measure(events, by="guild"),
        "feature family 'likeness' is unknown": lambda: gw.measure(events, "likeness"),
        "detector 'likeness' is unknown": lambda: gw.fit("likeness", events, game / "labels.parquet"),
        "fit account-day: needs labels": lambda: gw.fit("account-day", events),
        "labels: dict is no table": lambda: gw.fit("account-day", events, {"a": True}),
        "fit account-table: its table has the labels": lambda: gw.fit("account-table", events, events),
        "fit fusion: learns from other models": lambda: gw.fit("fusion", events, game / "labels.parquet"),
        "models: 3 is no directory": lambda: gw.score(events, 3),
        "since: 'yesterday' is not ISO 8601": lambda: gw.read(events, since="yesterday"),
        "actors: 3 is no text and no list of texts": lambda: gw.read(events, actors=3),
        "LazyFrame is nothing to read": lambda: gw.read(events.lazy()),
        "'Moon/Base'": lambda: gw.read(events, time_zone="Moon/Base"),
        "top: -1 is no whole number of 0 or more": lambda: gw.rank(events, fitted, top=-1),
        "probability: 2 is no number from 0 to 1": lambda: gw.rank(events, fitted, probability=2),
        "where: 3 is no text and no list": lambda: gw.rank(events, fitted, where=3),
        "prevalence: 'x' is no number": lambda: gw.score(events, fitted, prevalence="x"),
        "folds: 1 is no whole number of 2 or more": lambda: gw.evaluate(events, game / "labels.parquet", folds=1),
        "there is no split 'moon'; choose among random": lambda: gw.evaluate(events, events, splits="moon"),
        "actor is 3; actors are text": lambda: gw.explain(3, events, fitted),
        "a lake takes a log whole": lambda: gw.read(game / "log.parquet", to=game / "lake", since="2026-03-01"),
        "table in memory, not a log file": lambda: gw.read(events, to=game / "lake"),
        "has no event of actor 'nobody'": lambda: gw.explain("nobody", events, fitted),
        "lacks at": lambda: gw.read(events.drop("at")),
    }
    for says, ask in wrong.items():
        with pytest.raises(GamewardenError, match=re.escape(says)) as caught:
            ask()
        assert "\n" not in str(caught.value)
    assert issubclass(ConfigError, GamewardenError)
    assert issubclass(ReadError, GamewardenError)


@pytest.mark.integration
def test_labels_of_an_own_table_stand_in_it():
    rows = 400
    table = pa.table(
        {
            "who": [f"a{n}" for n in range(rows)],
            "kind": ["bot" if n % 4 == 0 else "human" for n in range(rows)],
            "kills": [n % 7 + 50 * (n % 4 == 0) for n in range(rows)],
            "gold": [(n * 37) % 101 for n in range(rows)],
        }
    )

    held = gw.fit("account-table", table, actor="who", label="kind")

    assert held.card.detector == "account-table"
    assert quiet(gw.score, table, held).height == rows
    found = gw.explain("a0", table, held)
    assert "Kills" in found.text
    assert "Kills" in harmless(found._repr_html_())
