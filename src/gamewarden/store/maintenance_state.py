"""What maintenance keeps beside the models: its history, the scores of every period, candidates that score nobody."""

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import polars as pl

from gamewarden.contracts import canonical_json
from gamewarden.core.durations import to_micros
from gamewarden.core.files import hold_alone, make_directory, unwritable, whole_file, write_text
from gamewarden.errors import ReadError
from gamewarden.learning.validation import Count, misfit
from gamewarden.store.append_log import AppendLog
from gamewarden.tables import PARQUET_FAULTS, SCORES, check, first_line, write_parquet

DIRECTORY = "maintenance"
_UNSAFE = re.compile(r"[^A-Za-z0-9@-]")


@dataclass(frozen=True)
class _Seen:
    """What the log of a period held, as it is written."""

    actors: Count
    kinds: Mapping[str, Count]
    actors_by_kind: Mapping[str, Count]


def score_files(models: Path) -> Iterator[Path]:
    """Every table of SCORES that maintenance keeps, of all detectors and periods."""
    yield from sorted((models / DIRECTORY).glob("*/scores/*/*.parquet"))


def drop_scores(models: Path, before: datetime, period: int) -> int:
    """Remove the SCORES of periods, so many microseconds long, that ended by a moment; how many tables there were.

    Raises:
        WriteError: they cannot be removed.
    """
    ended = [path for path in score_files(models) if _end(path.parent.name, period) <= to_micros(before)]
    try:
        for path in ended:
            path.unlink(missing_ok=True)
        for place in {path.parent for path in ended}:
            with suppress(OSError):  # another model's scores are there still
                place.rmdir()
    except OSError as error:
        raise unwritable(models / DIRECTORY, error) from error
    return len(ended)


def _end(name: str, period: int) -> int:
    """When the period ended whose scores lie under a name such as 2026-03-01T000000Z-0123456789ab; else never."""
    with suppress(ValueError):
        began = datetime.strptime(name.rpartition("-")[0], "%Y-%m-%dT%H%M%SZ").replace(tzinfo=UTC)
        return to_micros(began) + period
    return 1 << 62


class MaintenanceState:
    """The directory of one detector's maintenance, inside that of its models."""

    def __init__(self, models: Path, detector: str) -> None:
        self.directory = models / DIRECTORY / detector
        self.candidates = self.directory / "candidates"
        self.notices = models / DIRECTORY / "notices.json"

    def history(self) -> AppendLog:
        """All that was done.

        Raises:
            ReadError: it was edited or damaged.
        """
        return AppendLog(self.directory / "history.jsonl")

    def scores(self, period: str, model: str) -> pl.DataFrame | None:
        """SCORES of a period under a model, if they were stored; `period` also names what the lake then held of it.

        Raises:
            ReadError: the file is damaged.
        """
        path = self._scores_path(period, model)
        if not path.exists():
            return None
        try:
            return check(pl.read_parquet(path, glob=False), SCORES, str(path))
        except (*PARQUET_FAULTS, pl.exceptions.PolarsError) as error:
            raise ReadError(f"{path}: is damaged ({first_line(error)}); delete it and it is made again") from error

    def keep_scores(self, period: str, model: str, scores: pl.DataFrame) -> None:
        """Store SCORES of a period under a model, whole or not at all."""
        with whole_file(self._scores_path(period, model)) as draft:
            write_parquet(scores, draft)

    def seen(self, period: str) -> Mapping[str, Any] | None:
        """What the log of a period held, if it was counted."""
        path = self._seen_path(period)
        try:
            found = json.loads(path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return None
        except (OSError, ValueError, RecursionError):
            found = None
        if misfit(_Seen, found, "it"):
            raise ReadError(f"{path}: is damaged; delete it and it is made again")
        seen: Mapping[str, Any] = found
        return seen

    def keep_seen(self, period: str, values: Mapping[str, Any]) -> None:
        """Store what the log of a period held."""
        write_text(self._seen_path(period), canonical_json(dict(values)) + "\n")

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Hold the only pen: two maintenances of one detector at once would contradict each other.

        Raises:
            WriteError: another process holds it, or the directory cannot be written.
        """
        try:
            make_directory(self.directory)
            with (self.directory / ".lock").open("a") as lock:
                hold_alone(lock.fileno(), self.directory, "maintaining these models")
                yield
        except OSError as error:
            raise unwritable(self.directory, error) from error

    def _scores_path(self, period: str, model: str) -> Path:
        return self.directory / "scores" / _UNSAFE.sub("", period) / f"{_UNSAFE.sub('', model)}.parquet"

    def _seen_path(self, period: str) -> Path:
        return self.directory / "seen" / f"{_UNSAFE.sub('', period)}.json"
