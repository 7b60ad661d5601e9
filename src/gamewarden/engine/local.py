"""Tasks in processes of this machine: as many at a time as there are processes, each started once."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import suppress
from queue import SimpleQueue

from gamewarden.engine.answers import made
from gamewarden.engine.worker import LENGTH
from gamewarden.errors import EngineError

_TRIES = 3


class _Lost(Exception):  # noqa: N818  no error yet: the task is done again
    """The process ended before it answered."""

    def __init__(self, code: int | None) -> None:
        super().__init__(f"ended with {code}" if code is None or code >= 0 else f"was ended by signal {-code}")


class _Process:
    """One worker."""

    def __init__(self, entry: str, threads: int) -> None:
        # A library that takes all cores for itself would take those of the other workers.
        env = {"POLARS_MAX_THREADS": str(threads), "OMP_NUM_THREADS": str(threads), **os.environ}
        words = [sys.executable, "-m", "gamewarden.engine.worker", entry]
        # Ctrl-C is for us: a group of its own keeps the child from hearing it, and it ends with its standard input.
        self._child = subprocess.Popen(  # noqa: S603
            words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env, start_new_session=True
        )

    def ask(self, task: str) -> bytes:
        """The answer to a task."""
        if self._child.stdin is None or self._child.stdout is None:
            raise _Lost(self._child.poll())
        try:
            self._child.stdin.write(json.dumps(task).encode() + b"\n")
            self._child.stdin.flush()
            length = int.from_bytes(self._read(LENGTH), "little")
            return self._read(length)
        except BrokenPipeError as error:
            raise _Lost(self._child.wait()) from error

    def _read(self, count: int) -> bytes:
        data = self._child.stdout.read(count) if self._child.stdout else b""
        if len(data) < count:
            raise _Lost(self._child.wait())
        return data

    def close(self) -> None:
        """End it; whoever waits for its answer then sees that there is none, and lets go of the pipe."""
        self._child.kill()
        self._child.wait()
        for pipe in (self._child.stdin, self._child.stdout):
            if pipe is not None:
                with suppress(BrokenPipeError):  # a task that was never read
                    pipe.close()


class LocalEngine:
    """Processes of this machine."""

    def __init__(self, processes: int) -> None:
        self.slots = processes
        self.name = f"local:{processes}"
        self._idle: SimpleQueue[tuple[str, _Process]] = SimpleQueue()
        self._begun: list[_Process] = []
        self._closing = False

    def run(self, entry: str, tasks: Sequence[str]) -> Iterator[tuple[int, bytes]]:
        """Each task where a process is free; one whose process was lost is done again by another.

        Raises:
            GamewardenError: a task says so.
            EngineError: a task was lost again and again.
        """
        self._closing = False
        with ThreadPoolExecutor(min(self.slots, max(len(tasks), 1))) as threads:
            waiting = {threads.submit(self._done, entry, task): place for place, task in enumerate(tasks)}
            try:
                for one in as_completed(waiting):
                    yield waiting[one], made(one.result())
            except BaseException:
                self.close()  # what is under way is for nobody
                threads.shutdown(cancel_futures=True)
                raise

    def close(self) -> None:
        """End the processes."""
        self._closing = True
        while self._begun:
            self._begun.pop().close()
        self._idle = SimpleQueue()

    def _done(self, entry: str, task: str) -> bytes:
        for left in reversed(range(_TRIES)):
            process = self._free(entry)
            try:
                answer = process.ask(task)
            except _Lost as lost:
                process.close()
                if not left or self._closing:
                    raise EngineError(
                        f"{self.name}: the process of a task {lost}, {_TRIES} times over; give it more memory, or "
                        "fewer processes"
                    ) from lost
            else:
                self._idle.put((entry, process))
                return answer
        raise AssertionError("unreachable")

    def _free(self, entry: str) -> _Process:
        if not self._idle.empty():
            known, process = self._idle.get()
            if known == entry:
                return process
            process.close()
        process = _Process(entry, max(1, (os.cpu_count() or 1) // self.slots))
        self._begun.append(process)
        return process
