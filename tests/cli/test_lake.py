"""The commands for a lake that is there already."""

import json

import pytest

from commands import done, run

LOG = "actor,at,kind\n" + "".join(f"a{n % 7},{1_700_006_400 + n * 700},k{n % 3}\n" for n in range(300))


@pytest.fixture
def place(tmp_path):
    (tmp_path / "one.csv").write_text(LOG)
    (tmp_path / "two.csv").write_text(LOG.replace("\na", "\nb"))
    done("read", tmp_path / "one.csv", tmp_path / "two.csv", "--to", tmp_path / "lake")
    return tmp_path


def test_compact_says_each_day_once_and_measures_the_same(place):
    before = done("measure", "self-similarity", "lake", "--json", cwd=place).stdout

    told = json.loads(done("compact", "lake", "--json", cwd=place).stdout)

    assert [(row["parts"], row["rows"] > 0) for row in told] == [(2, True)] * 3
    assert sum(row["rows"] for row in told) == 600
    assert done("measure", "self-similarity", "lake", "--json", cwd=place).stdout == before
    again = done("compact", "lake", cwd=place)
    assert "every day that is over is one file already" in again.stderr


def test_compact_leaves_days_from_a_date_on_alone(place):
    told = json.loads(done("compact", place / "lake", "--before", "2023-11-16", "--json").stdout)

    assert [row["day"] for row in told] == ["2023-11-15"]


def test_compact_without_a_lake_is_one_line(tmp_path):
    ended = run("compact", tmp_path / "nothing")

    assert ended.returncode == 1
    assert ended.stderr.count("\n") == 1
    assert "is not a lake" in ended.stderr


def test_delta_lets_other_systems_read_the_lake_and_follows_it(place):
    told = done("delta", "lake", cwd=place).stdout

    assert told == "lake is a Delta table too, at version 0; only gamewarden may write to it.\n"
    done("compact", "lake", cwd=place)
    assert "at version 3" in done("delta", "lake", cwd=place).stdout


def test_delta_without_a_lake_is_one_line(tmp_path):
    ended = run("delta", tmp_path / "nothing")

    assert (ended.returncode, ended.stderr.count("\n")) == (1, 1)
    assert "is not a lake" in ended.stderr
    assert not (tmp_path / "nothing").exists()
