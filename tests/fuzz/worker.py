"""A process that runs cases one after the other, everything imported and compiled: what ends it is a finding.

It reads what to run from its standard input: `first last step` are numbers of a run, `= ID ID …` names cases, `! ID`
makes a case and only keeps its files. On a pipe it answers a line a finding and `done` after each.
"""

import faulthandler
import gc
import json
import mmap
import os
import resource
import shutil
import signal
import struct
import sys
import time
import traceback
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from fuzz.case import KIT, Case
from fuzz.corpus import keep, kept
from fuzz.formats import FORMATS, make, nth
from fuzz.judge import Fault, Outcome, fault_of, frames_of
from fuzz.kit import Kit, make_kit
from fuzz.plants import PLANT, PLANTS
from gamewarden.cli import main

CPU = int(os.environ.get("FUZZ_CPU", "120"))  # seconds; the first pcapng of a fresh clone compiles for half a minute
MEMORY, LARGEST_FILE = 2 << 30, 1 << 30  # bytes
SLOT = struct.Struct("<64sd")  # the case in hand, and when it began
COUNTS = struct.Struct("<6d")  # cases that ended with 0, 1, 2, with a fault; CPU-seconds; CPU-seconds of the slowest
SEED = "seed"
_COMPILING = 600  # seconds
_WARM = (
    "lint {kit}/events.parquet",
    "lint {kit}/days.csv --max-bad-share 1",
    "rank {kit}/lake --models {kit}/kept",
    "measure actions {kit}/lake",
    "measure traffic {kit}/packets.csv",
    "watch {kit}/packets.csv",
    "watch {kit}/net.pcap",
    "packets {kit}/net.pcap --server-port 3724",
    "packets {kit}/one.adam",
    "measure session {kit}/one.adam",
    "read {kit}/one.adam --to lake --as ragnarok",
    "score {kit}/table.csv --models {kit}/shelf",
    "verify {kit}/verdicts --models {kit}/kept",
    "maintain --lake {kit}/lake --models {kit}/models --explain",
)


def slot_size() -> int:
    """Bytes of what a worker shares with its driver."""
    return SLOT.size + COUNTS.size * (len(FORMATS) + 2)


class Slot:
    """What a worker is doing and has done, in memory that outlives it."""

    def __init__(self, path: Path) -> None:
        with path.open("r+b") as file:
            self._map = mmap.mmap(file.fileno(), slot_size())
        self._names = [*FORMATS, SEED, PLANT]

    def close(self) -> None:
        """Let go of the memory."""
        self._map.close()

    def begin(self, name: str) -> None:
        """A case begins."""
        SLOT.pack_into(self._map, 0, name.encode()[:64], time.monotonic())

    def rest(self) -> None:
        """No case is in hand."""
        SLOT.pack_into(self._map, 0, b"", 0.0)

    def current(self) -> tuple[str, float]:
        """The case in hand and when it began; an empty name while there is none."""
        name, began = SLOT.unpack_from(self._map, 0)
        return name.rstrip(b"\0").decode(), began

    def count(self, name: str, place: int, cpu: float) -> None:
        """A case has ended: with 0, 1 or 2, or 3 with a fault."""
        at = SLOT.size + COUNTS.size * self._names.index(name)
        counts = list(COUNTS.unpack_from(self._map, at))
        counts[place] += 1
        counts[4] += cpu
        counts[5] = max(counts[5], cpu)
        COUNTS.pack_into(self._map, at, *counts)

    def counts(self) -> dict[str, list[float]]:
        """All counts by format."""
        return {
            name: list(COUNTS.unpack_from(self._map, SLOT.size + COUNTS.size * at))
            for at, name in enumerate(self._names)
        }


@dataclass(frozen=True)
class Mouths:
    """Where a command's words go: standard output, our standard error, and what a library writes past us."""

    printed: int
    said: int
    past_us: int

    @classmethod
    def open(cls) -> "Mouths":
        """Files in memory instead of the process's own output."""
        printed, said, past_us = (os.memfd_create(name) for name in ("printed", "said", "past_us"))
        os.dup2(printed, 1)
        os.dup2(past_us, 2)
        sys.stdout = os.fdopen(1, "w", encoding="utf-8", closefd=False)
        sys.stderr = os.fdopen(said, "w", encoding="utf-8", closefd=False)
        return cls(printed, said, past_us)

    def empty(self) -> None:
        """Forget what was said."""
        for file in (self.printed, self.said, self.past_us):
            os.ftruncate(file, 0)
            os.lseek(file, 0, os.SEEK_SET)

    def heard(self) -> tuple[bytes, bytes, bytes]:
        """All that was said."""
        sys.stdout.flush()
        sys.stderr.flush()
        return tuple(os.pread(file, os.fstat(file).st_size, 0) for file in (self.printed, self.said, self.past_us))


class Worker:
    """Runs cases in a directory of its own."""

    def __init__(self, kit: Kit, place: Path, mouths: Mouths) -> None:
        self.kit, self.place, self.mouths = kit, place, mouths

    def case(self, name: str) -> Case:
        """A case by its id: format and number, or a seed."""
        form, _, which = name.partition(":")
        if form == PLANT:
            return Case([PLANT, which])
        return kept(which) if form == SEED else make(form, int(which), self.kit)

    def run(self, case: Case, seconds: int = CPU) -> tuple[Outcome, float]:
        """Run a case that is laid out; how it ended, and its CPU-seconds."""
        self.mouths.empty()
        words = [word.replace(KIT, str(self.kit.place)) for word in case.words]
        began = _spent()
        _limit(began + seconds)
        code, raised = _called(words)
        cpu = _spent() - began
        return Outcome(list(case.words), code, *self.mouths.heard(), raised), cpu

    def lay_out(self, case: Case) -> None:
        """Write a case's files, and nothing else, into the directory."""
        for entry in self.place.iterdir():
            if entry.is_dir() and not entry.is_symlink():
                shutil.rmtree(entry)
            else:
                entry.unlink()
        for name, data in case.files.items():
            if "/" in name:
                Path(name).parent.mkdir(parents=True, exist_ok=True)
            Path(name).write_bytes(data)


def _called(words: list[str]) -> tuple[int | None, BaseException | None]:
    sys.argv = ["gamewarden", *words]
    try:
        main() if words[0] != PLANT else PLANTS[words[1]]()
    except SystemExit as ended:
        return (0 if ended.code is None else ended.code), None
    except BaseException as error:  # noqa: BLE001 - a panic of Polars is no Exception
        return None, error
    return 0, None


def _spent() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def _limit(upto: float) -> None:
    """The kernel ends the process when this case has used its CPU time."""
    resource.setrlimit(resource.RLIMIT_CPU, (int(upto) + 1, resource.RLIM_INFINITY))


def _confine(trace: BinaryIO) -> None:
    """No more memory than a case may take, and a trace of what was being done when the process ends."""
    data, resident = (_kilobytes(name) << 10 for name in ("VmData", "VmRSS"))
    most = data + MEMORY - resident  # what is only reserved is not taken from a case
    resource.setrlimit(resource.RLIMIT_DATA, (most, most))
    resource.setrlimit(resource.RLIMIT_FSIZE, (LARGEST_FILE, LARGEST_FILE))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    faulthandler.enable(trace)
    faulthandler.register(signal.SIGXCPU, trace, chain=True)


def _kilobytes(name: str) -> int:
    status = Path("/proc/self/status").read_text()
    return int(status.partition(f"{name}:")[2].split()[0])


def _asked(line: str) -> Iterator[str]:
    if line.startswith("="):
        yield from line[1:].split()
        return
    for number in range(*map(int, line.split())):
        yield ":".join(map(str, nth(number)))


def work(directory: Path, number: int, *, warm: bool) -> None:
    """Serve until the input ends."""
    orders, answers = os.fdopen(os.dup(0)), os.fdopen(os.dup(1), "w")
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    place = directory / f"case-{number}"
    place.mkdir(exist_ok=True)
    os.chdir(place)
    worker = Worker(make_kit(directory / "kit"), place, Mouths.open())
    slot = Slot(directory / f"slot-{number}")
    with (directory / f"trace-{number}").open("wb", buffering=0) as trace:
        for words in _WARM if warm else ():
            worker.lay_out(Case(()))
            worker.run(Case(words.split()), _COMPILING)
        gc.freeze()
        _confine(trace)
        _tell(answers, "ready")
        for line in orders:
            _serve(line, worker, slot, answers, directory)


def _serve(line: str, worker: Worker, slot: Slot, answers: BinaryIO, directory: Path) -> None:
    if line.startswith("!"):
        keep(directory / "dead", line[1:].strip(), worker.case(line[1:].strip()))
    else:
        for name in _asked(line):
            _try(name, worker, slot, answers, directory)
    slot.rest()
    _tell(answers, "done")


def _try(name: str, worker: Worker, slot: Slot, answers: BinaryIO, directory: Path) -> None:
    slot.begin(name)
    form = name.partition(":")[0]
    try:
        case = worker.case(name)
        worker.lay_out(case)
    except Exception as error:  # noqa: BLE001 - a fault of the harness is written down, and the run goes on
        slot.count(form, 3, 0.0)
        _tell(
            answers, json.dumps(_finding(name, Fault("harness", frames_of(error)), Outcome([], None, raised=error), 0))
        )
        return
    outcome, cpu = worker.run(case)
    fault = fault_of(outcome)
    slot.count(form, outcome.code if fault is None else 3, cpu)
    if fault is not None:
        keep(directory / "found", name, case)
        _tell(answers, json.dumps(_finding(name, fault, outcome, cpu)))


def _finding(name: str, fault: Fault, outcome: Outcome, cpu: float) -> dict[str, object]:
    said = (outcome.said + outcome.past_us).decode("utf-8", "backslashreplace")
    error = "" if outcome.raised is None else f"{type(outcome.raised).__name__}: {outcome.raised}"
    return {
        "id": name,
        "kind": fault.kind,
        "cause": fault.cause,
        "words": list(outcome.words),
        "code": outcome.code,
        "said": (error or said)[-400:],
        "cpu": round(cpu, 3),
    }


def _tell(answers: BinaryIO, line: str) -> None:
    answers.write(line + "\n")
    answers.flush()


if __name__ == "__main__":
    own = os.fdopen(os.dup(2), "w", buffering=1)  # a fault of the worker itself is told to whoever started it
    try:
        work(Path(sys.argv[1]), int(sys.argv[2]), warm=sys.argv[3] == "warm")
    except BaseException:
        traceback.print_exc(file=own)
        raise
