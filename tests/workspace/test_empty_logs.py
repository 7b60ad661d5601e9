"""Logs without a row: they are told of, they are no failure, and they are read once something is in them."""

import gzip
import json

import pytest

from commands import done
from gamewarden.notices import now
from gamewarden.store.lake import Lake
from gamewarden.workspace.intake import take_in
from gamewarden.workspace.place import Workspace

HEADER = "actor,at,kind\n"
ROW = "a,2026-03-02T00:00:00Z,chat\n"
EMPTY = {"no byte": ("log.csv", b""), "a header alone": ("log.csv", HEADER.encode())}
EMPTY["nothing, packed"] = ("log.csv.gz", gzip.compress(b"", mtime=0))
EMPTY["blank lines"] = ("log.csv", b"\n\n")


@pytest.fixture
def place(tmp_path):
    root = tmp_path / "ws"
    (root / "logs").mkdir(parents=True)
    (root / "warden.toml").write_text('[workspace]\n[[source]]\nname = "game"\nlocator = "logs/*"\n')
    (root / "logs" / "full.csv").write_text(HEADER + ROW)
    return root


def rows(place):
    (source,) = json.loads(done("--workspace", place, "status", "--json").stdout)["sources"]
    return source["rows"]


@pytest.mark.parametrize(("name", "content"), EMPTY.values(), ids=EMPTY)
def test_a_run_says_which_log_has_no_rows_and_does_not_fail(place, name, content):
    (place / "logs" / name).write_bytes(content)

    ended = done("--workspace", place, "run")

    assert f"{name} has no rows" in ended.stdout
    assert "still being written" not in ended.stdout
    assert rows(place) == 1


@pytest.mark.parametrize(("name", "content"), EMPTY.values(), ids=EMPTY)
def test_an_empty_log_is_read_once_it_has_grown(place, name, content):
    path = place / "logs" / name
    path.write_bytes(content)
    done("--workspace", place, "run")
    text = HEADER + ROW.replace("a,", "b,")
    path.write_bytes(gzip.compress(text.encode(), mtime=0) if path.suffix == ".gz" else text.encode())

    ended = done("--workspace", place, "run")

    assert "has no rows" not in ended.stdout
    assert rows(place) == 2
    assert "no rows" not in done("--workspace", place, "status").stdout


def test_what_is_wrong_in_a_log_is_written_down_with_the_log_itself(place):
    """A kill between two logs loses neither, or both: a log that the lake knows would not say again what was wrong."""
    (place / "logs" / "a.csv").write_text(HEADER + ROW * 99 + "a,yesterday,chat\n")
    workspace, seen = Workspace.at(place), []

    take_in(
        workspace,
        workspace.config.sources[0],
        now(),
        lambda _rows: seen.append((len(Lake(workspace.lake).sources), len(workspace.states.load("game").files))),
    )

    assert all(in_lake == listed for in_lake, listed in seen)
    assert any("yesterday" in note for one in workspace.states.load("game").files for note in one.notes)


def test_several_empty_logs_are_counted(place):
    for number in range(3):
        (place / "logs" / f"empty{number}.csv").write_text(HEADER)

    assert "3 files have no rows to take in, the first is" in done("--workspace", place, "run").stdout


def test_a_log_without_rows_is_read_with_a_note(place):
    (place / "head.csv").write_text(HEADER)

    told = [done("read", place / "head.csv", "--to", place / "lake").stderr for _ in range(2)]

    assert all("head.csv: it has no rows" in text for text in told)


def test_a_log_whose_rows_are_there_already_is_not_called_empty(place):
    done("read", place / "logs" / "full.csv", "--to", place / "lake")

    assert "no rows" not in done("read", place / "logs" / "full.csv", "--to", place / "lake").stderr


def test_a_log_whose_rows_are_all_bad_says_why_and_is_not_called_empty(place):
    (place / "bad.csv").write_text(HEADER + "a,yesterday,chat\n")

    told = done("read", place / "bad.csv", "--to", place / "lake", "--max-bad-share", "1").stderr

    assert "Left out" in told
    assert "no rows" not in told
