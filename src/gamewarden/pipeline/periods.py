"""The periods of a calendar: which there are, which is before which, which of a lake's are over."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo

from gamewarden.drift.flow import Period
from gamewarden.spans import parse_zone

_EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001  midnight on whatever clock the calendar shows


@dataclass(frozen=True)
class Calendar:
    """Periods of `every` microseconds, counted from midnight of 1970-01-01 on the clock of a zone (UTC without one)."""

    every: int
    zone: str | None = None

    def holding(self, moment: datetime) -> Period:
        """The period that a moment lies in."""
        return self._numbered(self._at(moment))

    def before(self, period: Period, back: int = 1) -> Period:
        """The period so many before."""
        return self._numbered(self._number(period) - back)

    def touched(self, stretches: Iterable[tuple[int, int]], until: datetime, after: int = 0) -> list[Period]:
        """The periods that end by `until` and have a part of a stretch in them, or are the next `after` such ones.

        However far two stretches lie apart, what lies between them is not walked through.
        """
        last = self._at(until)
        numbers = {
            number
            for begin, end in stretches
            for number in range(self._at(_moment(begin)), min(self._at(_moment(end)) + after, last) + 1)
        }
        return [one for one in map(self._numbered, sorted(numbers)) if one.until <= until]

    @property
    def _step(self) -> timedelta:
        return timedelta(microseconds=self.every)

    @property
    def _clock(self) -> tzinfo:
        return UTC if self.zone is None else parse_zone(self.zone)

    def _number(self, period: Period) -> int:
        # The middle of a period is in it whatever a clock change does to its ends.
        return self._at(period.since + (period.until - period.since) / 2)

    def _at(self, moment: datetime) -> int:
        return (moment.astimezone(self._clock).replace(tzinfo=None) - _EPOCH) // self._step

    def _numbered(self, number: int) -> Period:
        return Period(self._border(number), self._border(number + 1))

    def _border(self, number: int) -> datetime:
        return (_EPOCH + number * self._step).replace(tzinfo=self._clock).astimezone(UTC)


def _moment(micros: int) -> datetime:
    return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=micros)
