"""Files that are whole or not there, also when a process dies in between."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from gamewarden.core.files import names_kept_together, whole_file, write_text
from gamewarden.errors import WriteError

KILLED = """
import os, signal, sys
from pathlib import Path
from gamewarden.core.files import whole_file

with whole_file(Path(sys.argv[1])) as draft:
    draft.write_text("half")
    os.kill(os.getpid(), signal.SIGKILL)
"""
WRITING = """
import sys
from pathlib import Path
from gamewarden.core.files import whole_file

with whole_file(Path(sys.argv[1])) as draft:
    draft.write_text("whole")
    print("writing", flush=True)
    sys.stdin.readline()
"""
WRITES = """
import sys
from pathlib import Path
from gamewarden.core.files import write_text
write_text(Path(sys.argv[1]), "b")
"""


def run(script, path):
    return subprocess.run([sys.executable, "-c", script, str(path)], capture_output=True, text=True, check=False)


@pytest.mark.parametrize("next_one", ["model.json", "another.json"])
def test_what_a_killed_writer_left_goes_with_the_next_writing_in_that_directory(tmp_path, next_one):
    run(KILLED, tmp_path / "model.json")
    left = list(tmp_path.iterdir())
    (tmp_path / ".model.json.mine").write_text("not ours")

    run(WRITES, tmp_path / next_one)

    assert len(left) == 1
    assert {path.name for path in tmp_path.iterdir()} == {next_one, ".model.json.mine"}


def test_a_draft_that_is_being_written_is_left_to_its_writer(tmp_path):
    command = [sys.executable, "-c", WRITING, str(tmp_path / "slow.json")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as slow:
        assert slow.stdout.readline() == "writing\n"
        other = run(WRITES, tmp_path / "quick.json")
        slow.communicate("go on\n")

    assert (slow.returncode, other.returncode) == (0, 0), other.stderr
    assert (tmp_path / "slow.json").read_text() == "whole"
    assert {path.name for path in tmp_path.iterdir()} == {"slow.json", "quick.json"}


def test_two_threads_of_one_process_do_not_take_each_others_drafts(tmp_path):
    with whole_file(tmp_path / "one.json") as one, whole_file(tmp_path / "two.json") as two:
        one.write_text("1")
        two.write_text("2")

    assert [(tmp_path / name).read_text() for name in ("one.json", "two.json")] == ["1", "2"]


def test_a_name_of_the_greatest_length_can_be_written(tmp_path):
    path = tmp_path / ("n" * 250 + ".json")

    write_text(path, "whole")

    assert path.read_text() == "whole"


@pytest.fixture
def operations(monkeypatch):
    """What reaches the disk, in its order: syncs of files and directories, renames."""
    done = []
    fsync, rename = os.fsync, os.replace

    def synced(handle):
        done.append(("sync", str(Path(f"/proc/self/fd/{handle}").readlink())))
        fsync(handle)

    def renamed(old, new):
        done.append(("rename", str(new)))
        rename(old, new)

    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(os, "replace", renamed)
    return done


def test_a_file_is_on_the_disk_with_its_name_and_its_new_directories(tmp_path, operations):
    path = tmp_path / "new" / "deep" / "model.json"

    write_text(path, "whole")

    kinds = [("sync" if kind == "sync" else "rename", place) for kind, place in operations]
    assert kinds[:2] == [("sync", str(tmp_path)), ("sync", str(tmp_path / "new"))]
    assert kinds[-2:] == [("rename", str(path)), ("sync", str(path.parent))]
    assert len(kinds) == 5


def test_names_of_many_files_reach_the_disk_together(tmp_path, operations):
    with names_kept_together():
        for number in range(5):
            write_text(tmp_path / f"{number}.json", "whole")
        before = operations.count(("sync", str(tmp_path)))

    assert (before, operations.count(("sync", str(tmp_path)))) == (0, 1)
    assert sum(kind == "rename" for kind, _ in operations) == 5


def test_a_failure_leaves_neither_file_nor_draft(tmp_path):
    with pytest.raises(WriteError, match="cannot be written"), whole_file(tmp_path / "x.json"):
        raise OSError(28, "No space left on device")

    assert list(tmp_path.iterdir()) == []
