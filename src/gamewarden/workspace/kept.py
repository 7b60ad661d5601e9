"""How long things are kept: from when on a workspace may measure, score and judge, and what it knows of time before.

What retention has removed must not come again from what is still there: each step begins where its own results, and
all that they are made of, are kept. A day whose events are gone keeps the features that were measured of it.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

from gamewarden.config import Retention
from gamewarden.core.coverage import Coverage
from gamewarden.core.durations import DAY, from_micros, parse_span, to_micros
from gamewarden.core.files import write_text
from gamewarden.errors import ReadError
from gamewarden.learning.validation import misfit

FOR_EVER = -(1 << 62)  # nothing is older
TABLES = ("events", "features", "scores", "verdicts")
_LARGEST = 16 << 20


@dataclass(frozen=True)
class Gone:
    """Up to when events were removed from the lake, and when in that time its sources were not there."""

    before: int = FOR_EVER
    missing: tuple[tuple[int, int], ...] = ()

    def coverage(self, now: Coverage) -> Coverage:
        """When the sources were there, also in the time that the lake no longer tells of."""
        if self.before == FOR_EVER:
            return now
        later = ((max(begin, self.before), end) for begin, end in now.missing if end > self.before)
        return Coverage((*self.missing, *later))

    def and_before(self, before: int, now: Coverage) -> "Gone":
        """The same once events before a later moment are removed as well."""
        earlier = ((begin, min(end, before)) for begin, end in self.coverage(now).missing if begin < before)
        return Gone(before, tuple(earlier))


@dataclass(frozen=True)
class Kept:
    """From when on each table is kept, in microseconds of midnights in UTC."""

    events: int = FOR_EVER
    features: int = FOR_EVER
    scores: int = FOR_EVER
    verdicts: int = FOR_EVER
    gone: Gone = field(default_factory=Gone)

    @classmethod
    def of(cls, settings: Retention, at: datetime, gone: Gone | None = None) -> "Kept":
        """By the settings, counted back from a moment."""
        known = gone or Gone()
        since = {name: _since(getattr(settings, name), at) for name in TABLES}
        return cls(**since | {"events": max(since["events"], known.before)}, gone=known)

    @property
    def first_day(self) -> date:
        """The first day whose events are kept."""
        return from_micros(self.events).astimezone(UTC).date()

    def may_measure(self, since: int, until: int) -> bool:
        """Whether all events of [since, until) are kept, and so is what would be measured of them."""
        return since >= self.events and until > self.features

    def may_score(self, until: int) -> bool:
        """Whether rows that end by `until` are kept, and so are their scores."""
        return until > max(self.features, self.scores)

    def may_judge(self, since: int, until: int) -> bool:
        """Whether all that a verdict of [since, until) rests on is kept, and so is the verdict."""
        return self.may_measure(since, until) and until > max(self.scores, self.verdicts)


def _since(span: str, at: datetime) -> int:
    """The midnight before which what is kept so long may go."""
    return (to_micros(at) - parse_span(span)) // DAY * DAY if span else FOR_EVER


class Memory:
    """The small file that says which events are gone."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def load(self) -> Gone:
        """What was removed; nothing before retention did so first.

        Raises:
            ReadError: the file is damaged.
        """
        try:
            if not self.path.exists():
                return Gone()
            content = self.path.read_bytes() if self.path.stat().st_size <= _LARGEST else b""
            values = json.loads(content)
        except OSError as error:
            raise ReadError(f"{self.path}: cannot be read ({error.strerror or error})") from error
        except (ValueError, RecursionError) as error:
            raise ReadError(f"{self.path}: is not JSON; put a copy of it back") from error
        if wrong := misfit(Gone, values, "it"):
            raise ReadError(f"{self.path}: {wrong}; put a copy of it back")
        return _gone(values)

    def save(self, gone: Gone) -> None:
        """Remember what is about to be removed.

        Raises:
            WriteError: the place cannot be written.
        """
        write_text(self.path, json.dumps(asdict(gone), sort_keys=True) + "\n")


def _gone(values: Mapping[str, Any]) -> Gone:
    return Gone(values["before"], tuple((begin, end) for begin, end in values["missing"]))
