"""`--on` for every command that measures: the same tables, models, verdicts and words as without it."""

import shutil

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from commands import done, run
from gamewarden.core.extras import installed

pytestmark = [
    pytest.mark.integration,
    pytest.mark.skipif(not installed("sklearn"), reason="scikit-learn is not installed"),
]
WORKSPACE = '[workspace]\n[[source]]\nname = "log"\nlocator = "../W/events.parquet"\n'


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A small synthetic game, read into a lake, with two models."""
    here = tmp_path_factory.mktemp("on")
    done("world", "W", "--accounts", "60", "--days", "2", "--seed", "3", cwd=here)
    done("read", "W/events.parquet", "--to", "lake", cwd=here)
    for detector in ("account-day", "pulses"):
        done("fit", detector, "lake", "--labels", "W/labels.csv", "--to", "models", cwd=here)
    return here


@pytest.mark.parametrize(
    "words",
    [
        ("measure", "signs", "lake"),
        ("measure", "self-similarity", "lake", "--last", "1d"),
        ("measure", "actions", "W/events.parquet"),
        ("score", "lake", "--models", "models"),
        ("judge", "lake", "--models", "models"),
        ("evaluate", "lake", "--labels", "W/labels.csv", "--split", "actor"),
    ],
    ids=" ".join,
)
def test_a_command_says_the_same_whoever_measures(words, place):
    here = done(*words, "--json", cwd=place)

    away = done(*words, "--json", "--on", "local:2", cwd=place)

    assert away.stdout == here.stdout
    assert away.stderr == here.stderr


def test_a_model_fitted_by_several_processes_is_the_model_of_one(place):
    done("fit", "account-day", "lake", "--labels", "W/labels.csv", "--to", "again", "--on", "local:2", cwd=place)

    (again,) = (place / "again").glob("account-day@*.json")
    assert again.read_bytes() == (place / "models" / again.name).read_bytes()


def test_maintenance_by_several_processes_sees_what_one_sees(place):
    tables = []
    for name, on in (("one", ()), ("two", ("--on", "local:2"))):
        shutil.copytree(place / "models", place / name)
        words = ("maintain", "--lake", "lake", "--models", name, "--labels", "W/labels.csv", "--json")
        tables.append(done(*words, *on, cwd=place).stdout)

    assert tables[0] == tables[1]
    assert "2015" in tables[0]


def test_a_workspace_run_by_several_processes_rests_on_the_same_numbers(place):
    found = []
    for name, on in (("ws1", ()), ("ws2", ("--on", "local:2"))):
        shutil.copytree(place / "models", place / name / "models")
        (place / name / "warden.toml").write_text(WORKSPACE)
        done("run", *on, cwd=place / name)
        done("verify", cwd=place / name)
        files = sorted((place / name / "results" / "features").rglob("*.parquet"))
        found.append({str(one.relative_to(place / name).parent): pl.read_parquet(one) for one in files})

    assert found[0].keys() == found[1].keys()
    for name, table in found[0].items():
        assert_frame_equal(table, found[1][name], check_exact=True)


def test_a_place_to_work_that_is_none_is_one_line(place):
    ended = run("measure", "activity", "lake", "--on", "sparkle://x", cwd=place)

    assert ended.returncode == 1
    assert ended.stderr.startswith("gamewarden: --on sparkle://x: names no place to work")
    assert len(ended.stderr.splitlines()) == 1
