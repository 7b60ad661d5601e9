"""Readers of a lake beside its writer: nobody fails, nobody sees two states, nothing is left behind."""

import os
import subprocess
import sys

import pytest

from gamewarden.errors import ReadError, WriteError
from gamewarden.readers.logs.tables import EventFile
from gamewarden.store.lake import Lake
from gamewarden.store.manifest import load

HEADER = "actor,at,kind\n"
STATES = 6


def line(state, number):
    return f"s{state},{number % 3 * 86400 + number},k\n"


def grown(log, state):
    """The log after another line; it never ends with a newline, so its rows are read anew each time."""
    rows = [line(0, number) for number in range(30)] + [line(one, 40 + one) for one in range(1, state + 1)]
    log.write_text((HEADER + "".join(rows))[:-1])
    return EventFile(log).numbered()


def actors(events):
    return [name for batch in events.batches(["actor"]) for name in batch.column(0).to_pylist()]


def inside(lake):
    return {path.relative_to(lake.directory).as_posix() for path in lake.directory.rglob("*") if path.is_file()}


def live(lake):
    return {part.file for part in load(lake.directory).parts} | {"lake.json", ".lock"}


@pytest.fixture
def log(tmp_path):
    return tmp_path / "log.csv"


@pytest.fixture
def lake(tmp_path, log):
    lake = Lake(tmp_path / "lake")
    lake.add(grown(log, 0))
    return lake


def test_a_reader_sees_the_state_it_began_with_however_often_sources_are_replaced(lake, log):
    before = lake.events()
    half = before.batches(["actor"])
    first = next(half).column(0).to_pylist()

    for state in range(1, STATES):
        lake.add(grown(log, state))

    rest = [name for batch in half for name in batch.column(0).to_pylist()]
    assert first + rest == actors(before) == ["s0"] * 30
    assert len(actors(lake.events())) == 30 + STATES - 1


def test_what_no_reader_needs_any_more_goes_with_the_next_writing(lake, log):
    reader = lake.events()
    for state in range(1, STATES):
        lake.add(grown(log, state))
    beside = len(inside(lake)) - len(live(lake))
    del reader
    lake.add(grown(log, STATES))

    assert beside == 4  # three parts and the manifest of one reader, after five states
    assert inside(lake) == live(lake)


def test_each_reader_keeps_its_own_state_and_no_other(lake, log):
    readers = {}
    for state in range(1, STATES):
        readers[state] = lake.events()
        lake.add(grown(log, state))
    for state in (2, 3, 4):
        del readers[state]
    lake.add(grown(log, STATES))

    assert sorted(map(len, map(actors, readers.values()))) == [30, 34]
    assert len(inside(lake)) == len(live(lake)) + 2 * 4


def test_a_reader_in_the_middle_of_a_lake_without_hard_links_is_waited_for(lake, log, monkeypatch):
    def none(*_args, **_options):
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", none)
    reader = lake.events()

    with pytest.raises(WriteError, match="is being read"):
        lake.add(grown(log, 1))
    assert len(actors(reader)) == 30
    del reader
    assert lake.add(grown(log, 1)).new == 31


READER = """
import sys
from pathlib import Path
from gamewarden.store.lake import Lake

lake, last = Lake(Path(sys.argv[1])), int(sys.argv[2])
print("ready", flush=True)
seen, passes = 0, 0
while seen < last:
    events = lake.events()
    first, second = ([n for batch in events.batches(["actor"]) for n in batch.column(0).to_pylist()] for _ in "ab")
    state = len(first) - 30
    assert first == second, (len(first), len(second))
    assert sorted(first) == sorted(["s0"] * 30 + [f"s{one}" for one in range(1, state + 1)]), first
    assert state >= seen, (state, seen)
    seen, passes = state, passes + 1
print(passes)
"""


@pytest.mark.integration
def test_readers_in_other_processes_never_fail_while_a_source_is_replaced_again_and_again(lake, log):
    last = 40
    command = [sys.executable, "-c", READER, str(lake.directory), str(last)]
    readers = [subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for _ in range(2)]
    for reader in readers:
        assert reader.stdout.readline() == "ready\n"
    for state in range(1, last + 1):
        lake.add(grown(log, state))
    told = [reader.communicate(timeout=300) for reader in readers]

    assert [reader.returncode for reader in readers] == [0, 0], told
    assert all(int(out) > 1 for out, _ in told)
    lake.add(grown(log, last + 1))
    assert inside(lake) == live(lake)


def test_the_broom_does_not_follow_a_day_that_is_a_link_into_another_lake(lake, log, tmp_path):
    other = Lake(tmp_path / "other")
    theirs = tmp_path / "theirs.csv"
    theirs.write_text(HEADER + "them,864000,k\n")
    other.add(EventFile(theirs).numbered())
    (lake.directory / "day=1970-01-11").symlink_to(other.directory / "day=1970-01-11")

    lake.add(grown(log, 1))

    assert actors(other.events()) == ["them"]
    assert (lake.directory / "day=1970-01-11").is_symlink()


def test_a_lake_writes_no_part_through_a_linked_day(lake, tmp_path):
    other = Lake(tmp_path / "other")
    theirs = tmp_path / "theirs.csv"
    theirs.write_text(HEADER + "them,864000,k\n")
    other.add(EventFile(theirs).numbered())
    before = inside(other), inside(lake)
    (lake.directory / "day=1970-01-11").symlink_to(other.directory / "day=1970-01-11")
    theirs.write_text(HEADER + "ours,864000,k\nours,1,k\n")

    with pytest.raises(WriteError, match=r"day=1970-01-11.* is a link"):
        lake.add(EventFile(theirs).numbered())
    (lake.directory / "day=1970-01-11").unlink()

    assert (inside(other), inside(lake)) == before


def test_a_lake_that_may_only_be_read_can_be_read(lake):
    command = [sys.executable, "-c", READ_ONLY, str(lake.directory)]
    for path in [*lake.directory.rglob("*"), lake.directory]:
        path.chmod(0o555 if path.is_dir() else 0o444)

    done = subprocess.run(command, capture_output=True, text=True, check=False)

    assert (done.returncode, done.stdout) == (0, "30\n"), done.stderr
    lake.directory.chmod(0o755)
    for path in lake.directory.rglob("*"):
        path.chmod(0o755 if path.is_dir() else 0o644)


READ_ONLY = """
import os, sys
from pathlib import Path
from gamewarden.store.lake import Lake

for place in [Path(sys.argv[1]), *Path(sys.argv[1]).parents][:-2]:
    place.chmod(0o755) if place != Path(sys.argv[1]) and os.getuid() == 0 else None
if os.getuid() == 0:
    os.setgid(65534), os.setuid(65534)
print(Lake(Path(sys.argv[1])).events().rows)
"""


def test_a_lake_whose_manifest_vanishes_is_no_lake(lake):
    (lake.directory / "lake.json").unlink()

    with pytest.raises(ReadError, match="is not a lake"):
        lake.events()
