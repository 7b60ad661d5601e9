"""The stretch of time that somebody asks about: since, until, or the last seven days."""

from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

from gamewarden.core.clock import Clock
from gamewarden.core.durations import DAY, parse_zone, span_text, to_micros
from gamewarden.errors import ConfigError

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_EVER = 1 << 62


@dataclass(frozen=True)
class TimeRange:
    """[since, until) in UTC; or `last` microseconds up to until, or up to the newest row where there is no until.

    A whole number of days counts calendar days of the time zone, of which the newest is the last, so that none of them
    is cut. Any other length is counted to the microsecond.

    Raises:
        ConfigError: it holds no time, or says twice where it begins.
    """

    since: datetime | None = None
    until: datetime | None = None
    last: int | None = None
    time_zone: str = "UTC"

    def __post_init__(self) -> None:
        if self.last is not None and self.since is not None:
            raise ConfigError(
                f"last {span_text(self.last)} and since {utc_text(self.since)} both say where the time begins; "
                "give one of them"
            )
        if self.since is not None and self.until is not None and self.since >= self.until:
            raise ConfigError(
                f"since {utc_text(self.since)} is not before until {utc_text(self.until)}: no time lies between them; "
                "give an earlier since or a later until"
            )

    @property
    def asks(self) -> bool:
        """Whether it leaves anything out."""
        return (self.since, self.until, self.last) != (None, None, None)

    @property
    def needs_newest(self) -> bool:
        """Whether only the newest row says where it begins."""
        return self.last is not None and self.until is None

    def counted_back(self, newest: int | None) -> "TimeRange":
        """With `last` counted back to a moment; of a source without rows nothing is left out."""
        if self.last is None:
            return self
        end = to_micros(self.until) - 1 if self.until is not None else newest
        since = None if end is None else self._back(end, self.last)
        return replace(self, since=since, last=None)

    def _back(self, newest: int, last: int) -> datetime:
        try:
            if last % DAY:
                return _moment(newest + 1 - last)
            days = Clock(DAY, self.time_zone)
            return days.before(days.holding(_moment(newest)), last // DAY - 1).since
        except OverflowError:
            raise ConfigError(f"last {span_text(last)}: begins before the calendar does; give a shorter time") from None

    @property
    def micros(self) -> tuple[int, int]:
        """Its two ends in microseconds, far away where it has none."""
        first = -_EVER if self.since is None else to_micros(self.since)
        return first, _EVER if self.until is None else to_micros(self.until)

    def met(self, since: datetime | None, until: datetime | None) -> tuple[datetime | None, datetime | None]:
        """What lies in it and in [since, until)."""
        later = max((one for one in (self.since, since) if one is not None), default=None)
        earlier = min((one for one in (self.until, until) if one is not None), default=None)
        return later, earlier

    @property
    def flags(self) -> tuple[str, ...]:
        """What the command line needs for the same."""
        since = () if self.since is None else ("--since", utc_text(self.since))
        until = () if self.until is None else ("--until", utc_text(self.until))
        return (*since, *until, *(() if self.last is None else ("--last", span_text(self.last))))

    @property
    def notes(self) -> tuple[str, ...]:
        """What counts, and that it may cut a period."""
        if (self.since, self.until) == (None, None):
            return ()
        since = "" if self.since is None else f" from {self._shown(self.since)} on"
        until = "" if self.until is None else f" before {self._shown(self.until)}"
        joined = f"{since}{' and' if since and until else ''}{until}"
        return (f"Only what happened{joined} ({self.time_zone}) counts; a period that reaches beyond is not whole",)

    def _shown(self, moment: datetime) -> str:
        try:
            local = moment.astimezone(parse_zone(self.time_zone)).replace(tzinfo=None)
        except OverflowError:  # the first and the last day of the calendar are not there in every zone
            return utc_text(moment)
        text = local.isoformat(" ", "seconds" if not local.microsecond else "microseconds")
        return text.removesuffix(" 00:00:00").removesuffix(":00")


def in_utc(moment: datetime, time_zone: str) -> datetime:
    """A moment in UTC; one that names no zone is of this one.

    Raises:
        OverflowError: it lies beyond the calendar.
    """
    known = moment if moment.tzinfo is not None else moment.replace(tzinfo=parse_zone(time_zone))
    return known.astimezone(UTC)


def utc_text(moment: datetime) -> str:
    """A moment as the command line takes it."""
    return moment.astimezone(UTC).isoformat().replace("+00:00", "Z")


def _moment(micros: int) -> datetime:
    return _EPOCH + timedelta(microseconds=micros)
