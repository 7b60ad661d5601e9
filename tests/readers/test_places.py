"""Which files a locator names."""

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commands import run
from gamewarden.errors import ReadError
from gamewarden.readers.places import _fits, located, places


def put(root, *names):
    for name in names:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(name)


def names(locator, root):
    return [Path(place.name).relative_to(root).as_posix() for place in places(locator, root)]


def test_a_plain_file_is_one_place_with_its_size_and_time(tmp_path):
    put(tmp_path, "a.csv")
    os.utime(tmp_path / "a.csv", (1_700_000_000, 1_700_000_000))

    (place,) = places("a.csv", tmp_path)

    assert place.file == tmp_path / "a.csv"
    assert (place.name, place.size, place.mtime) == (str(tmp_path / "a.csv"), 5, 1_700_000_000_000_000)


def test_a_relative_locator_begins_where_it_is_told_and_not_where_we_are(tmp_path, monkeypatch):
    put(tmp_path, "ws/a.csv", "elsewhere/a.csv")
    monkeypatch.chdir(tmp_path / "elsewhere")

    assert names("a.csv", tmp_path / "ws") == ["a.csv"]
    assert names(str(tmp_path / "elsewhere" / "a.csv"), tmp_path) == ["elsewhere/a.csv"]


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        ("*.csv", ["b.csv", "c.csv"]),
        ("?.csv", ["b.csv", "c.csv"]),
        ("[b].csv", ["b.csv"]),
        ("d/*.csv", ["d/a.csv"]),
        ("*/*.csv", ["d/a.csv"]),
        ("**/*.csv", ["b.csv", "c.csv", "d/a.csv", "d/e/z.csv"]),
        ("d/**", ["d/a.csv", "d/e/z.csv"]),
        ("**/e/*", ["d/e/z.csv"]),
        ("*/e/z.csv", ["d/e/z.csv"]),
        (".*.csv", [".hidden.csv"]),
        ("*.json", []),
        ("nowhere/*.csv", []),
        ("b.csv/*", []),
    ],
)
def test_a_pattern_names_its_files_in_order(tmp_path, pattern, found):
    put(tmp_path, "c.csv", "b.csv", "d/a.csv", "d/e/z.csv", ".hidden.csv", ".dark/x.csv", "e.txt")

    assert [name for name in names(pattern, tmp_path) if name.endswith(".csv")] == found


def test_a_file_called_like_a_pattern_is_that_file(tmp_path):
    put(tmp_path, "[a].csv", "a.csv")

    assert names("[a].csv", tmp_path) == ["[a].csv"]


def test_a_directory_is_its_files_without_those_that_programs_keep_there(tmp_path):
    put(tmp_path, "logs/b.csv", "logs/deep/a.csv", "logs/_SUCCESS", "logs/.x.swp", "logs/_tmp/c.csv")

    assert names("logs", tmp_path) == ["logs/b.csv", "logs/deep/a.csv"]


def test_several_locators_are_read_in_their_order_and_no_file_twice(tmp_path):
    put(tmp_path, "a.csv", "b.csv")

    assert names(["b.csv", "*.csv"], tmp_path) == ["b.csv", "a.csv"]


def test_directories_of_a_dataset_say_what_all_rows_have(tmp_path):
    put(tmp_path, "data/day=2026-03-01/server=a%20b/part.parquet", "data/day=__HIVE_DEFAULT_PARTITION__/part.parquet")

    told = {place.file.relative_to(tmp_path).as_posix(): dict(place.partitions) for place in places("data", tmp_path)}

    assert told == {
        "data/day=2026-03-01/server=a%20b/part.parquet": {"day": "2026-03-01", "server": "a b"},
        "data/day=__HIVE_DEFAULT_PARTITION__/part.parquet": {"day": None},
    }


def test_standard_input_is_one_place_of_unknown_size(tmp_path):
    (place,) = places("-", tmp_path)

    assert (place.name, place.size, place.mtime) == ("-", None, None)


def test_what_is_not_there_is_one_line_and_a_pattern_may_find_nothing(tmp_path):
    (tmp_path / "empty").mkdir()

    for locator in ("none.csv", "empty"):
        with pytest.raises(ReadError) as caught:
            list(places(locator, tmp_path))
        assert str(caught.value).startswith(f"{locator!r}: there is no file here; ")
    assert list(places("*.csv", tmp_path)) == []


def test_a_link_that_leads_back_is_not_followed_for_ever(tmp_path):
    put(tmp_path, "logs/a.csv")
    (tmp_path / "logs" / "again").symlink_to(tmp_path / "logs")
    (tmp_path / "logs" / "gone").symlink_to(tmp_path / "nothing")

    assert names("logs/**", tmp_path) == ["logs/a.csv"]
    assert names("logs/*", tmp_path) == ["logs/a.csv"]


def test_a_file_that_vanishes_while_it_is_listed_is_not_there(tmp_path, monkeypatch):
    put(tmp_path, "a.csv", "b.csv")
    really = os.scandir

    def then_gone(directory):
        listed = really(directory)
        (tmp_path / "a.csv").unlink(missing_ok=True)
        return listed

    monkeypatch.setattr(os, "scandir", then_gone)

    assert names("*.csv", tmp_path) == ["b.csv"]


def test_a_pipe_is_no_file_of_a_pattern(tmp_path):
    put(tmp_path, "a.csv")
    os.mkfifo(tmp_path / "b.csv")

    assert names("*.csv", tmp_path) == ["a.csv"]


@pytest.mark.parametrize("name", ["a b.csv", "50%.csv", "ñandú.csv", "line\nbreak.csv", "'quoted\".csv", "-x.csv"])
def test_names_are_taken_as_they_are(tmp_path, name):
    put(tmp_path, name)

    assert names("*.csv", tmp_path) == [name]
    assert names(name, tmp_path) == [name]


def test_a_plain_path_stays_what_it_is_whether_it_is_there_or_not(tmp_path):
    put(tmp_path, "a.csv")

    assert located("a.csv", tmp_path) == tmp_path / "a.csv"
    assert located("none.csv", tmp_path) == tmp_path / "none.csv"
    assert located("-", tmp_path) == Path("-")
    assert [place.file for place in located("*.csv", tmp_path)] == [tmp_path / "a.csv"]


PARTS = st.lists(st.sampled_from(["a", "b", "ab", "c"]), max_size=4)


@given(PARTS, st.lists(st.sampled_from(["a", "*", "?", "**", "a*"]), min_size=1, max_size=4))
def test_a_pattern_with_any_depth_fits_what_some_pattern_without_fits(parts, pattern):
    if "**" not in pattern:
        by_hand = len(parts) == len(pattern) and all(
            _fits([part], [one]) for part, one in zip(parts, pattern, strict=True)
        )
    else:
        place = pattern.index("**")
        by_hand = any(_fits(parts, [*pattern[:place], *["*"] * count, *pattern[place + 1 :]]) for count in range(5))

    assert _fits(parts, pattern) == by_hand


@pytest.mark.parametrize(
    "pattern", ["a\0*", "\0/*", "x" * 5_000 + "*", "[", "[!", "*" * 200, "a/" * 2_000 + "*", "\udc80*"]
)
def test_a_pattern_that_no_file_can_have_names_none(tmp_path, pattern):
    assert list(places(pattern, tmp_path)) == []


@pytest.mark.parametrize("pattern", ["x" * 5_000 + "*", "[", "\x1b[31m*"])
def test_a_command_over_such_a_pattern_is_one_line(pattern):
    told = run("lint", pattern)

    assert told.returncode == 1
    assert "Traceback" not in told.stderr
    assert len(told.stderr.strip().splitlines()) == 1
