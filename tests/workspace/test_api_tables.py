"""Labels and profiles that stand in memory are checked like files, and no file is made of them."""

import polars as pl
import pyarrow as pa
import pytest

from gamewarden.errors import ReadError
from gamewarden.readers.logs.operator_tables import read_labels, read_profiles

LABELS = {
    "actor": ["a", "b", "b", "c", "c"],
    "bot": [True, False, False, True, False],
    "since": ["2026-03-01T00:00:00Z"] * 5,
}


@pytest.mark.parametrize("make", [pl.DataFrame, pa.table], ids=["polars", "arrow"])
def test_labels_in_memory_are_those_of_the_file(make, tmp_path):
    pl.DataFrame(LABELS).write_csv(tmp_path / "labels.csv")

    held, filed = read_labels(make(LABELS)), read_labels(tmp_path / "labels.csv")

    assert held.frame.equals(filed.frame)
    assert held.notes == tuple(line.replace(str(tmp_path / "labels.csv"), "labels in memory") for line in filed.notes)
    assert len(held.notes) == 2


@pytest.mark.parametrize(
    ("table", "says"),
    [
        (pl.DataFrame({"actor": ["a"]}), "labels in memory: lacks bot; it has actor"),
        (pl.DataFrame({"actor": ["a"], "bot": ["maybe"]}), "row 1: bot is 'maybe'; it must be true, false, 1 or 0"),
        (pl.DataFrame({"actor": [None], "bot": [1]}), "row 1: actor is"),
        ([1, 2], "labels in memory: list is no table; give a path, or one of Polars, pandas or Arrow"),
    ],
)
def test_labels_in_memory_are_refused_in_a_line(table, says):
    with pytest.raises(ReadError, match=says):
        read_labels(table)


def test_profiles_in_memory_are_those_of_the_file(tmp_path):
    profiles = pl.DataFrame({"actor": ["a", "b"], "payment": [3, None], "level": [1, 2]})
    profiles.write_csv(tmp_path / "profiles.csv")

    assert read_profiles(profiles).equals(read_profiles(tmp_path / "profiles.csv"))


def test_an_actor_with_two_profiles_in_memory_is_refused():
    with pytest.raises(ReadError, match="profiles in memory: actor 'a' has more than one row"):
        read_profiles(pa.table({"actor": ["a", "a"]}))
