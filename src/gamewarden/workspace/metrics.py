"""What runs of a workspace count about themselves, for Prometheus: steps, rows, verdicts, and the last success."""

import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from gamewarden.core.meters import MEMORY, Meter, Meters, memory
from gamewarden.errors import GamewardenError
from gamewarden.notices import now
from gamewarden.workspace.place import Workspace
from gamewarden.workspace.running import Step
from gamewarden.workspace.status import lags

# The desk tells the same of the runs behind it.
LAST_RUN = {
    "last_run": "When the last run ended, in seconds since 1970.",
    "last_run_seconds": "How long it took.",
    "last_run_failures": "How many of its steps failed.",
    "running": "Whether a run goes on.",
}
SOURCE_LAG = "How old the newest event of a source is."
_RUN = "gamewarden_run_"
STEPS = Meter(f"{_RUN}steps", "counter", "Steps that were done, by how they ended.", ("step", "outcome"))
STEP_SECONDS = Meter(f"{_RUN}step_seconds", "gauge", "How long a step took, the last time.", ("step",))
ROWS = Meter(f"{_RUN}rows", "counter", "Rows that were taken in and are new.")
VERDICTS = Meter(f"{_RUN}verdicts", "counter", "Verdicts on days that were judged.")
RUNS = Meter(f"{_RUN}runs", "counter", "Runs that ended, by how.", ("outcome",))
SUCCESS = Meter(f"{_RUN}last_success", "gauge", "When the last run without a failure ended, in seconds since 1970.")
LAG = Meter("gamewarden_lag_seconds", "gauge", SOURCE_LAG, ("source",))
_LAST = {name: Meter(f"gamewarden_{name}", "gauge", says) for name, says in LAST_RUN.items()}
RUN = (STEPS, STEP_SECONDS, ROWS, VERDICTS, RUNS, SUCCESS, LAG, *_LAST.values(), MEMORY)
DONE, FAILED = "done", "failed"


class RunMeters:
    """The numbers of the runs of one process."""

    def __init__(self, workspace: Workspace) -> None:
        self.meters = Meters(*RUN)
        self._workspace = workspace
        self._newest: dict[str, float] = {}  # by source: when its newest event was, seconds since 1970
        self.meters.set(_LAST["running"].name, 0)
        for meter in (ROWS, VERDICTS):
            self.meters.set(meter.name, 0)
        self.meters.when_asked(self._look)
        self._look_at_sources()

    def tell(self, step: Step) -> None:
        """Count a step that ended."""
        if step.begins:
            return
        self.meters.add(STEPS.name, 1, {"step": step.step, "outcome": FAILED if step.failed else DONE})
        self.meters.set(STEP_SECONDS.name, step.seconds, {"step": step.step})
        self.meters.add(ROWS.name, step.rows)
        self.meters.add(VERDICTS.name, step.verdicts)

    @contextmanager
    def run(self) -> Iterator[list[int]]:
        """Count a run, which says in the list how many of its steps failed; nothing said is a failure."""
        begun, failures = time.time(), list[int]()
        self.meters.set(_LAST["running"].name, 1)
        try:
            yield failures
        finally:
            self._ended(begun, sum(failures) if failures else 1)

    def _ended(self, begun: float, failures: int) -> None:
        ended = time.time()
        self.meters.set(_LAST["running"].name, 0)
        self.meters.set(_LAST["last_run"].name, ended)
        self.meters.set(_LAST["last_run_seconds"].name, ended - begun)
        self.meters.set(_LAST["last_run_failures"].name, failures)
        self.meters.add(RUNS.name, 1, {"outcome": FAILED if failures else DONE})
        if not failures:
            self.meters.set(SUCCESS.name, ended)
        self._look_at_sources()

    def _look_at_sources(self) -> None:
        at = now()
        with suppress(GamewardenError):
            told = lags(self._workspace, at)
            self._newest = {name: (at - lag).timestamp() for name, lag in told.items() if lag is not None}

    def _look(self) -> None:
        """Set what changes while nothing happens."""
        self.meters.set(MEMORY.name, memory())
        for source, newest in self._newest.items():
            self.meters.set(LAG.name, time.time() - newest, {"source": source})
