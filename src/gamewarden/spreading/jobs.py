"""Tables that are wanted of stretches of events, as tasks of an engine, and their answers put together."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import polars as pl

from gamewarden.contracts import Notes, Progress, Sight, no_progress
from gamewarden.core.clock import Clock
from gamewarden.engine import Engine
from gamewarden.engine.answers import remark_again
from gamewarden.spreading.slices import Slice, Slices
from gamewarden.spreading.tasks import ENTRY, Answer, Ask, words_of

_EVENTS_A_TASK = 5_000_000  # about: where a range of names ends inside a row group, two tasks read that group
_MOST_WAVES = 4  # tasks for each slot of an engine, so that the last one is not waited for alone


@dataclass(frozen=True)
class Job:
    """Tables that are wanted of one stretch of events; a clock says which periods can be measured apart."""

    asks: tuple[Ask, ...]
    slices: Slices
    clock: Clock | None = None


@dataclass(frozen=True)
class Found:
    """What came of a job: a table and notes for each that was asked, and what the source says of its reading."""

    tables: tuple[tuple[pl.DataFrame, Notes], ...]
    source: tuple[str, ...]


@dataclass(frozen=True)
class Spreading:
    """Jobs as tasks of an engine, and their answers put together."""

    engine: Engine
    sight: Sight
    progress: Progress = no_progress

    def run(self, jobs: Sequence[Job]) -> Iterator[tuple[int, Found]]:
        """What was found, each job by its number as soon as its last task is done; all tasks are handed out at once.

        Raises:
            GamewardenError: a task says so, or was lost too often.
        """
        tasks: list[tuple[int, tuple[int, ...], str]] = []  # job, places of its asks, words
        for number, job in enumerate(jobs):
            tasks += [(number, places, words) for places, words in self._tasks(job, len(jobs))]
        left = Counter(number for number, _, _ in tasks)
        found: dict[int, list[tuple[int, tuple[int, ...], Answer]]] = {number: [] for number in left}
        for place, data in self.engine.run(ENTRY, [words for _, _, words in tasks]):
            number, places, _ = tasks[place]
            answer = Answer.from_bytes(data)
            remark_again(list(answer.remarks))
            self.progress(answer.rows)
            found[number].append((place, places, answer))
            left[number] -= 1
            if not left[number]:
                yield number, self._together(jobs[number], sorted(found.pop(number), key=lambda one: one[0]))

    def _tasks(self, job: Job, jobs: int) -> Iterator[tuple[tuple[int, ...], str]]:
        """Asks that can be cut by actor share their slices, and so one reading; the others have days of their own."""
        most = -(-self._most(job.slices.rows) // jobs)
        for by_actor in (True, False):
            places = tuple(place for place, ask in enumerate(job.asks) if ask.divides_by_actor == by_actor)
            asks = [job.asks[place] for place in places]
            if asks:
                for one in self._slices(job, most, by_actor=by_actor):
                    yield places, words_of(asks, one, self.sight)

    def _slices(self, job: Job, most: int, *, by_actor: bool) -> Iterator[Slice]:
        spans = job.slices.spans(job.clock, most) if job.clock is not None else []
        if not spans:
            yield from job.slices.slices(most, by_actor=by_actor)
            return
        each = max(1, most // len(spans))
        for since, until in spans:
            yield from job.slices.between(since, until).slices(each, by_actor=by_actor)

    def _most(self, rows: int) -> int:
        slots = self.engine.slots
        return max(slots, min(_MOST_WAVES * slots, rows // _EVENTS_A_TASK))

    @staticmethod
    def _together(job: Job, answers: Sequence[tuple[int, tuple[int, ...], Answer]]) -> Found:
        tables: list[tuple[pl.DataFrame, Notes]] = []
        for place, ask in enumerate(job.asks):
            mine = [(one, places.index(place)) for _, places, one in answers if place in places]
            notes = [one.notes[at] for one, at in mine]
            total = notes[0]
            for more in notes[1:]:
                total = total + more
            tables.append((ask.together([one.frames[at] for one, at in mine]), total))
        return Found(tuple(tables), answers[0][2].source)
