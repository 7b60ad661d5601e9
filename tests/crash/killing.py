"""Kill every command that writes at its file operations, one after the other, and see what is left.

Usage: python tests/crash/killing.py [--most N] [COMMAND…]. Prints a line a command: operations, kills, and what was
wrong. After each kill nothing half-written may be there to be read, and the same command again must end with the very
files of an undisturbed run, and no other.

Children are forked from one process that has imported everything and done nothing, so that a kill costs no start.
"""

import argparse
import ctypes
import json
import os
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "support"), str(HERE)]
_CLOCK = re.compile(rb'"(at|link)":"[^"]*"')  # a link covers the time
_INODE = re.compile(rb'"identity": "[^"]*"')  # which file of this machine a log is: another one in every copy
_NOW = datetime(2100, 1, 1, tzinfo=UTC)  # what a run reads from the clock: later than every file
Tree = dict[str, bytes | None]


def built(place: Path) -> Path | None:
    """The library that dies, or None where there is no compiler."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None or sys.platform != "linux":
        return None
    library = place / "dying.so"
    subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-o", library, HERE / "dying.c", "-ldl"], check=True)
    return library


def main() -> int:
    """Start again with the library loaded; then kill."""
    asked = argparse.ArgumentParser(description="Kill every command that writes at its file operations.")
    asked.add_argument("--most", type=int, default=60, help="kills a command, spread over its operations")
    asked.add_argument("commands", nargs="*")
    options = asked.parse_args()
    if "DYING" in os.environ:
        return _all(Path(os.environ["DYING"]), options.commands, options.most)
    with tempfile.TemporaryDirectory() as made:
        library = built(Path(made))
        if library is None:
            sys.stdout.write("no C compiler here (Linux only): nothing was killed\n")
            return 0
        quiet = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "POLARS_MAX_THREADS": "1"}
        environment = {**os.environ, **quiet, "LD_PRELOAD": str(library), "DYING": made}
        return subprocess.run([sys.executable, *sys.argv], env=environment, check=False).returncode


def _all(made: Path, names: list[str], most: int) -> int:
    library = ctypes.CDLL(str(made / "dying.so"))
    template = made / "template"
    in_child(lambda: _prepare(template))
    load_everything()
    from killed_commands import COMMANDS

    wrong = kills = 0
    for name in names or COMMANDS:
        counted = Attempt(library, made, name).run(most)
        kills, wrong = kills + counted[0], wrong + counted[1]
    sys.stdout.write(f"{kills} kills in all, {wrong} of them left something wrong\n")
    return 1 if wrong else 0


def _prepare(template: Path) -> None:
    from killed_commands import prepare

    template.mkdir()
    prepare(template)


def load_everything() -> None:
    """Whatever commands import, imported once; nothing is computed, since threads do not live on in a child."""
    import importlib
    import pkgutil

    import gamewarden

    for module in pkgutil.walk_packages(gamewarden.__path__, "gamewarden."):
        if not module.name.endswith(("__main__", "migrations.env")):  # the latter runs within Alembic alone
            importlib.import_module(module.name)
    for heavy in ("lightgbm", "sklearn.linear_model", "sklearn.model_selection", "matplotlib.backends.backend_agg"):
        importlib.import_module(heavy)


def in_child(work: Callable[[], object], quiet: Path | None = None) -> int:
    """Do something in a forked child; how it ended, negative for a signal."""
    return ended(forked(work, quiet))


def ended(child: int) -> int:
    """Wait for a child; how it ended, negative for a signal."""
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def forked(work: Callable[[], object], quiet: Path | None = None) -> int:
    """Begin something in a forked child; its number."""
    child = os.fork()
    if child == 0:
        code = 70
        try:
            if quiet is not None:
                silent = os.open(quiet, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
                os.dup2(silent, 1)
                os.dup2(silent, 2)
            work()
            code = 0
        except SystemExit as left:
            code = left.code if isinstance(left.code, int) else int(left.code is not None)
        except BaseException:  # noqa: BLE001 - told to whoever reads the output
            import traceback

            traceback.print_exc()
        finally:
            sys.stdout.flush()
            os._exit(code)
    return child


class Attempt:
    """All kills of one command."""

    def __init__(self, library: ctypes.CDLL, made: Path, name: str) -> None:
        from killed_commands import COMMANDS

        self.name = name
        self.command = COMMANDS[name]
        self._library = library
        self._place = made / "place"
        self._start = made / "start"
        self._said = made / "said"
        self._counted = made / "counted"

    def run(self, most: int) -> tuple[int, int]:
        """Kill at up to `most` operations, the first and the last among them; how often, and how often in vain."""
        self._begin()
        before = tree(self._start)
        operations = self._undisturbed()
        after = tree(self._place)
        kills = wrong = 0
        for at in spread(operations, most):
            self._again()
            if self._command(at) != -signal.SIGKILL:
                continue  # it ended before: a thread was faster this time
            kills += 1
            half = list(self._half_written(before, after))
            done = self.command.once and not any(differences(tree(self._place), after))
            left = [] if done or self._command(0) == 0 else [f"again it ended with {self._told()}"]
            left += list(differences(tree(self._place), after))
            for line in [*half, *left][:3]:
                sys.stdout.write(f"{self.name}: killed at operation {at} of {operations}: {line}\n")
            wrong += bool(half or left)
        sys.stdout.write(f"{self.name}: {operations} operations, {kills} kills, {wrong} wrong\n")
        sys.stdout.flush()
        return kills, wrong

    def _begin(self) -> None:
        """What has happened before, under the very name of the place, since a lake knows its sources by theirs."""
        template = self._start.with_name("template")
        _copied(template, self._place)
        if self.command.before is not None:
            before = self.command.before
            if in_child(lambda: before(self._place), self._said):
                raise RuntimeError(f"{self.name}: could not be prepared: {self._told()}")
        _copied(self._place, self._start)

    def _again(self) -> None:
        _copied(self._start, self._place)

    def _undisturbed(self) -> int:
        """How many operations there are; twice, to see that nothing depends on the clock."""
        found: list[tuple[int, Tree]] = []
        for _ in range(2):
            self._again()
            if self._command(0):
                raise RuntimeError(f"{self.name}: ended with {self._told()}")
            found.append((int(self._counted.read_text()), tree(self._place)))
        if lines := list(differences(found[0][1], found[1][1])):
            raise RuntimeError(f"{self.name}: two undisturbed runs differ: {lines[0]}")
        return found[0][0]

    def _command(self, at: int) -> int:
        from killed_commands import line_of

        line = line_of(self.name, self._place)

        def work() -> None:
            from gamewarden.cli import main as gamewarden

            _stop_the_clock()
            sys.argv = ["gamewarden", *line]
            self._library.dying_arm(str(self._place).encode(), ctypes.c_long(at))
            try:
                gamewarden()
            finally:
                self._counted.write_text(str(self._library.dying_count()))

        return in_child(work, self._said)

    def _told(self) -> str:
        return " ".join(self._said.read_text(errors="replace").split())[-300:]

    def _half_written(self, before: Tree, after: Tree) -> Iterator[str]:
        """What can be read and is neither as it was nor as it will be."""
        now = tree(self._place)
        for name, content in now.items():
            if content is None or _is_hidden(name) or content in (before.get(name), after.get(name)):
                continue
            if any(fnmatchcase(name, moving) for moving in self.command.moves):
                continue
            beginning = (after.get(name) or b"")[: len(content)]
            if name in self.command.grows and content in (beginning, before.get(name)):
                continue
            if not _is_unnamed_part(name, self._place):
                yield f"{name} is half-written"
        for place in self._place.rglob("lake.json"):
            for part in json.loads(place.read_bytes())["parts"]:
                if not (place.parent / part["file"]).is_file():
                    yield f"{part['file']} is missing from the lake"


def _stop_the_clock() -> None:
    """Let all runs of a workspace begin at the same moment: it names the bundles of verdicts, and is sealed in them."""
    from gamewarden import notices
    from gamewarden.workspace import place

    notices.now = place.now = lambda: _NOW


def _is_hidden(name: str) -> bool:
    """Whether nobody reads it: drafts and their directories begin with a point."""
    return any(part.startswith(".") for part in Path(name).parts)


def _is_unnamed_part(name: str, place: Path) -> bool:
    path = Path(name)
    if not path.parent.name.startswith("day="):
        return False
    manifest = place / path.parent.parent / "lake.json"
    named = json.loads(manifest.read_bytes())["parts"] if manifest.exists() else []
    return f"{path.parent.name}/{path.name}" not in {part["file"] for part in named}


def _copied(one: Path, other: Path) -> None:
    if other.exists():
        shutil.rmtree(other)
    shutil.copytree(one, other, symlinks=True)


def tree(place: Path) -> Tree:
    """Every file with its bytes, and every directory; the clock's time is left out."""
    found: Tree = {}
    for path in sorted(place.rglob("*")):
        name = path.relative_to(place).as_posix()
        if name.endswith(("ledger.db-wal", "ledger.db-shm")):
            continue  # parts of the ledger
        found[name] = None if path.is_dir() else path.read_bytes()
        if name.endswith("promotions.jsonl") and found[name] is not None:
            found[name] = _CLOCK.sub(b'""', path.read_bytes())
        elif path.name == "ledger.db":
            found[name] = _decided(path)
        elif "/results/sources/" in name and found[name] is not None:
            found[name] = _INODE.sub(b'""', path.read_bytes())
    return found


def _decided(path: Path) -> bytes:
    """What a ledger says, whatever its bytes; it is looked at in a copy, since opening it would change it."""
    with tempfile.TemporaryDirectory() as place:
        for part in path.parent.glob(f"{path.name}*"):
            shutil.copy(part, place)
        with closing(sqlite3.connect(Path(place) / path.name)) as ledger:
            known = {name for (name,) in ledger.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
            kinds = sorted(known & {"observations", "suspicions", "decisions", "actions", "not_taken", "verdicts"})
            rows = {kind: sorted(ledger.execute(f"SELECT * FROM {kind}"), key=repr) for kind in kinds}  # noqa: S608  our names
            return repr(rows).encode()


def differences(now: Tree, wanted: Tree) -> Iterator[str]:
    """What is missing, left over or other."""
    for name in sorted(now.keys() | wanted.keys()):
        if name not in now:
            yield f"{name} is missing"
        elif name not in wanted:
            yield f"{name} is left over"
        elif now[name] != wanted[name]:
            yield f"{name} is another than after an undisturbed run"


def spread(operations: int, most: int) -> list[int]:
    """Operations to die at, each one where they are few, else spread evenly with the first and the last."""
    if operations <= most:
        return list(range(1, operations + 1))
    return sorted({1 + round(place * (operations - 1) / (most - 1)) for place in range(most)})


if __name__ == "__main__":
    sys.exit(main())
