"""Starts workers, gives them cases, watches what they take, and writes down what fell.

A worker that dies, or that is ended because a case took too long, is a finding of the case it had in hand; another
takes its place and goes on with the next case.
"""

import json
import os
import re
import selectors
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fuzz.report import Report
from fuzz.worker import CPU, MEMORY, SEED, Slot, slot_size

WALL = float(os.environ.get("FUZZ_WALL", "300"))  # seconds a case may take
_BATCH = 100
_RECYCLED = 20_000  # cases, after which a worker makes room for a fresh one
_MOST_KEPT = 3  # cases of one cause
_SAVED = 20  # seconds between two looks at what is known
TESTS = Path(__file__).parents[1]


@dataclass
class Hand:
    """A worker process, and the orders it has not finished."""

    number: int
    directory: Path
    process: subprocess.Popen[bytes]
    slot: Slot
    pending: list[str] = field(default_factory=list)  # cases it is to begin with
    batch: list[str] = field(default_factory=list)  # cases in hand
    served: int = 0
    _half: bytes = b""

    def order(self, line: str) -> None:
        """Give it something to do."""
        self.process.stdin.write(line.encode() + b"\n")
        self.process.stdin.flush()

    def answers(self) -> list[str]:
        """All whole lines that are there; an empty one once it has ended."""
        data = os.read(self.process.stdout.fileno(), 1 << 20)
        *lines, self._half = (self._half + data).split(b"\n")
        return [line.decode() for line in lines] + ([] if data else [""])

    def end(self) -> int:
        """Nothing more is coming; with what it ended."""
        with suppress(BrokenPipeError):
            self.process.stdin.close()
        self.process.stdout.close()
        self.slot.close()
        return self.process.wait()


class Run:
    """One run: its workers, its findings, its counts."""

    def __init__(self, directory: Path, workers: int, corpus: Path | None, *, warm: bool) -> None:
        self.directory, self.corpus, self.warm = directory, corpus, warm
        self.report = Report()
        self.selector = selectors.DefaultSelector()
        self._makers = workers
        self._saved = time.monotonic()

    def through(self, batches: Iterable[list[str]]) -> Report:
        """Try all batches of cases."""
        source = iter(batches)
        hands = [self._hire(number) for number in range(self._makers)]
        try:
            while hands:
                for key, _ in self.selector.select(timeout=0.5):
                    for line in key.data.answers():
                        self._heard(key.data, line, source, hands)
                self._end_the_late(hands)
                self._save(hands)
        finally:
            self.selector.close()
            for hand in hands:  # none, unless the run was stopped
                hand.process.kill()
                hand.end()
        return self.report

    def _save(self, hands: list[Hand]) -> None:
        """What is known so far, now and then: a long run can be looked at."""
        if self.corpus is None or time.monotonic() < self._saved + _SAVED:
            return
        self._saved = time.monotonic()
        for hand in hands:
            self.report.count(hand.number, hand.slot.counts())
        _gather(self.directory, self.corpus, self.report)

    def _hire(self, number: int) -> Hand:
        slot = self.directory / f"slot-{number}"
        if not slot.exists():
            slot.write_bytes(bytes(slot_size()))
        command = [
            sys.executable,
            "-m",
            "fuzz.worker",
            str(self.directory),
            str(number),
            "warm" if self.warm else "cold",
        ]
        with (self.directory / f"error-{number}").open("wb") as error:
            process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=error, env=_environment()
            )
        hand = Hand(number, self.directory, process, Slot(slot))
        self.selector.register(process.stdout, selectors.EVENT_READ, hand)
        return hand

    def _heard(self, hand: Hand, line: str, source: Iterator[list[str]], hands: list[Hand]) -> None:
        match line.strip():
            case "":
                self._replace(hand, hands)
            case "ready" | "done":
                self._next(hand, source, hands)
            case text:
                self._found(json.loads(text))

    def _next(self, hand: Hand, source: Iterator[list[str]], hands: list[Hand]) -> None:
        if hand.pending and hand.pending[0].startswith("!"):
            hand.order(hand.pending.pop(0))
            return
        batch = hand.pending or next(source, None)
        if batch is None or hand.served > _RECYCLED:
            self._dismiss(hand, hands)
            if batch is not None:
                hands.append(self._hire(hand.number))
                hands[-1].pending = batch
            return
        hand.pending, hand.served = [], hand.served + len(batch)
        hand.batch = batch
        hand.order("= " + " ".join(batch))

    def _dismiss(self, hand: Hand, hands: list[Hand]) -> None:
        self.selector.unregister(hand.process.stdout)
        self.report.count(hand.number, hand.slot.counts())
        hand.end()
        hands.remove(hand)

    def _replace(self, hand: Hand, hands: list[Hand]) -> None:
        """A worker has died: say of which case, and let another go on behind it."""
        self.selector.unregister(hand.process.stdout)
        hands.remove(hand)
        name, _ = hand.slot.current()
        if name:
            hand.slot.count(name.partition(":")[0], 3, 0.0)
            hand.slot.rest()
        code = hand.end()
        if not name:
            error = (self.directory / f"error-{hand.number}").read_text(errors="replace")
            raise SystemExit(f"fuzz: a worker ended with {code} and no case in hand: {error[-2000:]}")
        trace = (self.directory / f"trace-{hand.number}").read_text(errors="replace")
        self._found(_death(name, code, trace))
        heir = self._hire(hand.number)
        rest = hand.batch[hand.batch.index(name) + 1 :] if name in hand.batch else []
        heir.pending = [f"! {name}", *rest]
        hands.append(heir)

    def _end_the_late(self, hands: list[Hand]) -> None:
        for hand in hands:
            name, began = hand.slot.current()
            if name and time.monotonic() - began > WALL:
                hand.process.send_signal(signal.SIGABRT)

    def _found(self, finding: dict[str, Any]) -> None:
        if self.report.add(finding) > _MOST_KEPT:
            shutil.rmtree(self.directory / "found" / finding["id"].replace(":", "/"), ignore_errors=True)


def _death(name: str, code: int, trace: str) -> dict[str, Any]:
    """What a dead worker's trace says."""
    frames = re.findall(r'File "([^"]+)", line \d+ in (\S+)', trace)
    ours = [f"{Path(file).name}:{what}" for file, what in frames if "gamewarden" in Path(file).parts]
    last = [f"{Path(file).name}:{what}" for file, what in frames[:1]]
    called = signal.Signals(-code).name if code < 0 else f"exit {code}"
    why = {"SIGXCPU": f"more than {CPU} s of CPU", "SIGABRT": f"aborted, or more than {WALL} s"}.get(called, called)
    cause = " < ".join([why, *dict.fromkeys([*ours[:1], *last])])
    return {"id": name, "kind": "died", "cause": cause, "words": [], "code": code, "said": trace[:400], "cpu": 0.0}


def _environment() -> dict[str, str]:
    """One thread a worker, the same words and zone on every machine, nobody notified."""
    threads = dict.fromkeys(("POLARS_MAX_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS"), "1")
    odd = {
        "PYTHONPATH": os.pathsep.join([str(TESTS), *sys.path]),
        "TZ": "UTC",
        "PYTHONHASHSEED": "0",
        "MPLBACKEND": "agg",
    }
    kept = {name: value for name, value in os.environ.items() if name != "GAMEWARDEN_NOTIFY"}
    return kept | threads | odd


def numbered(first: int, inputs: int | None, seconds: float | None) -> Iterator[list[str]]:
    """Batches of a run's cases, from the first on, until there were enough or the time is over."""
    from fuzz.formats import nth

    end = None if seconds is None else time.monotonic() + seconds
    at = first
    while (inputs is None or at < first + inputs) and (end is None or time.monotonic() < end):
        upto = at + _BATCH if inputs is None else min(at + _BATCH, first + inputs)
        yield [":".join(map(str, nth(number))) for number in range(at, upto)]
        at = upto


def named(names: Iterable[str]) -> Iterator[list[str]]:
    """Batches of cases that are named."""
    names = list(names)
    for at in range(0, len(names), _BATCH):
        yield names[at : at + _BATCH]


@contextmanager
def place_to_work() -> Iterator[Path]:
    """A directory in memory where there is one, gone afterwards."""
    memory = Path("/dev/shm")  # noqa: S108 - a fresh directory is made in it
    with tempfile.TemporaryDirectory(prefix="fuzz-", dir=memory if memory.is_dir() else None) as name:
        yield Path(name)


def make_ready(directory: Path) -> None:
    """Make the kit before workers ask for it."""
    program = "import sys, pathlib; from fuzz.kit import make_kit; make_kit(pathlib.Path(sys.argv[1]))"
    command = [sys.executable, "-c", program, str(directory / "kit")]
    done = subprocess.run(command, env=_environment(), capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"fuzz: the kit could not be made: {done.stderr[-2000:]}")


def tried(
    batches: Iterable[list[str]],
    workers: int = 1,
    corpus: Path | None = None,
    *,
    kit: Path | None = None,
    warm: bool = True,
) -> Report:
    """Try all batches; what was found is kept in the corpus. A kit that was made before saves the making.

    Workers that are not warm compile what they need within the first cases.
    """
    with place_to_work() as directory:
        if kit is not None:
            shutil.copytree(kit, directory / "kit")
        make_ready(directory)
        run = Run(directory, workers, corpus, warm=warm)
        report = run.through(batches)
        if corpus is not None:
            _gather(directory, corpus, report)
        return report


def _gather(directory: Path, corpus: Path, report: Report) -> None:
    """Some cases of each cause into the corpus, with the report."""
    corpus.mkdir(parents=True, exist_ok=True)
    for name in report.examples(_MOST_KEPT):
        for where in ("found", "dead"):
            if (home := directory / where / name.replace(":", "/")).is_dir():
                shutil.copytree(home, corpus / name.replace(":", "/"), dirs_exist_ok=True)
    report.save(corpus)


__all__ = ["MEMORY", "SEED", "named", "numbered", "tried"]
