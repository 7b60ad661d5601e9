"""One run: take in, measure, score, judge, list, decide, maintain, tidy up. What was done before is not done again."""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from time import monotonic

from gamewarden.config import SourceSettings
from gamewarden.contracts import Progress, no_progress
from gamewarden.core.text import counted
from gamewarden.errors import FitError, GamewardenError
from gamewarden.pipeline import maintaining
from gamewarden.pipeline.first_look import LookOptions
from gamewarden.pipeline.listing import RankOptions
from gamewarden.pipeline.measuring import compact
from gamewarden.store.lake import Lake
from gamewarden.workspace.asking import Answers, Question
from gamewarden.workspace.calling import Calling
from gamewarden.workspace.challenging import Challenging
from gamewarden.workspace.desk_tables import DeskWriting
from gamewarden.workspace.forgetting import finish
from gamewarden.workspace.gate import Gate
from gamewarden.workspace.intake import take_in
from gamewarden.workspace.judged import reasons_counted
from gamewarden.workspace.ladder_reach import unreachable_steps
from gamewarden.workspace.place import Workspace
from gamewarden.workspace.responding import Responding
from gamewarden.workspace.retention import is_limited, sweep, tidy
from gamewarden.workspace.silence import first_fits, has_events


@dataclass(frozen=True)
class Step:
    """What one step did, in a line."""

    step: str
    what: str
    says: str
    seconds: float
    failed: bool = False
    rows: int = 0  # new ones that were taken in
    verdicts: int = 0
    begins: bool = False  # it says what is about to be done


Watching = Callable[[str], AbstractContextManager[Progress]]  # a progress bar under a title


def nobody(_title: str) -> AbstractContextManager[Progress]:
    """Nobody is watching."""
    return nullcontext(no_progress)


class _FailedError(Exception):
    """A step that ended, and has something to report that did not work."""


@dataclass
class Run:
    """A run of a workspace; what fails is told, and does not keep the rest from being done."""

    workspace: Workspace
    at: datetime
    tell: Callable[[Step], None]
    watching: Watching = nobody
    fresh: bool = False
    failed: int = field(default=0, init=False)
    _rows: int = field(default=0, init=False)  # of the step in hand
    _verdicts: int = field(default=0, init=False)
    _new_days: int = field(default=0, init=False)  # that were decided on

    def run(self) -> int:
        """Do all steps; how many failed.

        Raises:
            WriteError: another process runs this workspace.
        """
        with self.workspace.running():
            self._do("forget", "", self._forget)
            for source in self.workspace.sources:
                self._do("take in", source.name, partial(self._take_in, source))
            self._do("compact", "lake", self._compact)
            if self._can_judge():
                self._do("measure", "lake", self._measure)
                self._do("measure", "files", self._measure_files)
                self._do("score", "", self._score)
                self._do("judge", "", self._judge)
                self._do("list", "", self._list)
                self._do("tests", "", self._challenges)
                self._do("decide", "", self._decide)
                self._do("ladder", "", self._ladder)
                self._do("act", "", self._carry)
                self._do("maintain", "", self._maintain)
            else:
                self._do("look", "", self._look)
            self._do("tidy", "", self._tidy)
        return self.failed

    def _do(self, step: str, what: str, work: Callable[[Progress], str]) -> None:
        begun, failed = monotonic(), False
        self._rows = self._verdicts = 0
        try:
            with self.watching(f"{step} {what}".strip()) as progress:
                says = work(progress)
        except (GamewardenError, _FailedError) as error:
            says, failed = str(error), True
            self.failed += 1
        if says:
            self.tell(Step(step, what, says, monotonic() - begun, failed, self._rows, self._verdicts))

    def _can_judge(self) -> bool:
        """Whether there is a model; without one there is nothing to measure for."""
        try:
            if self.workspace.models_in_force():
                return True
            needs_none = "`gamewarden rank` and `gamewarden review` need none"
            fits = "" if has_events(self.workspace) else "; ".join(first_fits(self.workspace))
            says, failed = f"there is no model yet; {fits or needs_none}", False
        except GamewardenError as error:
            says, failed = str(error), True
            self.failed += 1
        self.tell(Step("models", "", says, 0.0, failed))
        return False

    def _take_in(self, source: SourceSettings, progress: Progress) -> str:
        taken = take_in(self.workspace, source, self.at, progress)
        self._rows = taken.rows
        if taken.failed:
            raise _FailedError(str(taken))
        return str(taken)

    def _compact(self, progress: Progress) -> str:
        """One part per day that is over, sorted by actor: many logs are then read as fast as one."""
        if not Lake.is_at(self.workspace.lake):
            return ""
        told = compact(self.workspace.lake, self.workspace.days(self.at).horizon.date(), progress)
        return f"{counted(told.frame.height, 'day')} made one part each" if told.frame.height else "nothing new"

    def _look(self, progress: Progress) -> str:
        """Measure signs, so that lists and reviews have somebody to show before there is a model."""
        if not Lake.is_at(self.workspace.lake) or any(self.workspace.models.glob("*@*.json")):
            return ""
        if next(iter(self.workspace.days(self.at).stretches), None) is None:
            return ""
        asked, question = RankOptions.of(self.workspace.config), Question(fresh=self.fresh, progress=progress)
        try:
            found = Answers(self.workspace, question).first_look(asked, LookOptions())
        except FitError as error:
            return str(error)
        return f"{counted(found.rows.height, 'account')} compared; `gamewarden rank` lists who looks odd among them"

    def _measure(self, progress: Progress) -> str:
        if not Lake.is_at(self.workspace.lake):
            return ""
        models = self.workspace.models_in_force()
        of_events = [one for one in self.workspace.features(models) if one.input == "events"]
        days, only = self.workspace.days(self.at), self.workspace.measured_of(models)
        written = days.measure(of_events, only=only, fresh=self.fresh, progress=progress)
        return _told(len(written), "day", "measured", counted(len(of_events), "feature"))

    def _measure_files(self, progress: Progress) -> str:
        features = self.workspace.features(self.workspace.models_in_force())
        others = [one for one in features if one.input not in {"events", "scores"}]
        parts = self.workspace.parts(self.at)
        if not parts.parts:
            return ""
        written, failed = parts.measure(others, fresh=self.fresh, progress=progress)
        if failed:
            raise _FailedError("; ".join(failed))
        return _told(written, "file", "measured")

    def _score(self, progress: Progress) -> str:
        scored = self.workspace.scored(self.at)
        written = scored.score(fresh=self.fresh, progress=progress)
        return _told(len(written), "part", "scored", counted(len(scored.models), "model"))

    def _judge(self, progress: Progress) -> str:
        judged = self.workspace.judged(self.at)
        if why := judged.no_days():
            return why
        due = judged.due(fresh=self.fresh)
        if not due:
            return "nothing new"
        why = reasons_counted(one.reason for one in due)
        self.tell(Step("judge", "", f"{counted(len(due), 'day')} to judge: {why}", 0.0, begins=True))
        done = judged.judge(due, progress=progress)
        verdicts, kept = sum(one.verdicts for one in done.seals), sum(one.kept for one in done.seals)
        self._verdicts = verdicts
        says = f"{counted(len(done.seals), 'day')}: {verdicts:,} verdicts, {kept:,} of them to watch or to act on"
        if done.failures:
            raise _FailedError("; ".join([says, *done.troubles]))
        return says

    def _list(self, progress: Progress) -> str:
        """Write what the desk reads."""
        written = DeskWriting(self.workspace, self.at).write(fresh=self.fresh, progress=progress)
        return _told(len(written), "day", "listed")

    def _challenges(self, _progress: Progress) -> str:
        """End challenges that nobody answered, and look for humans who are called to answer them."""
        if not self.workspace.has_ledger:
            return ""
        settle = Responding(self.workspace, self.at).settling.settle
        late = Challenging.of(self.workspace, settle=settle).expire(self.at)
        calls = Calling(self.workspace, self.at, settle).look()
        told = {"not answered in time": len(late), "humans on call": len({one.found.actor for one in calls})}
        return ", ".join(f"{count:,} {what}" for what, count in told.items() if count)

    def _decide(self, progress: Progress) -> str:
        decided = Responding(self.workspace, self.at).decide(progress)
        self._new_days = decided.days
        return str(decided)

    def _ladder(self, _progress: Progress) -> str:
        """Which steps nobody can reach with the models and adapters at hand, wherever days were decided on."""
        return "; ".join(unreachable_steps(self.workspace)) if self._new_days else ""

    def _carry(self, _progress: Progress) -> str:
        carried = Responding(self.workspace, self.at).carry()
        if carried.troubles:
            raise _FailedError("; ".join(carried.troubles))
        return str(carried) if carried.happened else ""

    def _forget(self, _progress: Progress) -> str:
        """Finish what somebody began."""
        return "a player is forgotten, as was begun" if finish(self.workspace, self.at) else ""

    def _tidy(self, _progress: Progress) -> str:
        told = str(tidy(self.workspace, self.at)) if is_limited(self.workspace.config.retention) else ""
        sweep(self.workspace)
        return told

    def _maintain(self, _progress: Progress) -> str:
        if not Lake.is_at(self.workspace.lake) or Lake(self.workspace.lake).span is None:
            return ""
        task = maintaining.MaintenanceOptions(
            self.workspace.lake,
            self.workspace.models,
            self.workspace.labels,
            time_zone=self.workspace.time_zone,
            config=self.workspace.config,
            before=self.workspace.days(self.at).measured_before,
            objections=Gate(self.workspace).objections,
            engine=self.workspace.engine,
        )
        done = maintaining.maintain(task)
        return f"{counted(done.new, 'period')} looked at" if done.new else "nothing new"


def _told(written: int, what: str, done: str, by: str = "") -> str:
    if not written:
        return "nothing new"
    return f"{counted(written, what)} {done}" + (f" for {by}" if by else "")
