"""The languages of the desk: texts by gettext catalogs, numbers and times as people of the language write them."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from functools import lru_cache
from pathlib import Path
from zoneinfo import ZoneInfo

from babel import Locale
from babel.dates import format_date, format_datetime
from babel.messages.pofile import read_po
from babel.numbers import format_decimal, format_percent
from babel.units import format_unit

LANGUAGES: Mapping[str, str] = {"en": "English", "ko": "한국어"}
CATALOGS = Path(__file__).parent / "locale"
_SMALL = 1e-3  # below this a number is written with its first digits that are not 0


def N_(text: str) -> str:  # noqa: N802  the name by which texts to translate are found
    """A text that is translated where it is shown."""
    return text


@dataclass(frozen=True)
class Language:
    """One language, and the time zone in which its reader looks at times."""

    code: str
    zone: str = "UTC"

    @property
    def locale(self) -> Locale:
        """As Babel knows it."""
        return Locale.parse(self.code)

    def text(self, message: str) -> str:
        """A text in this language; itself where nobody has translated it."""
        return _catalog(self.code).get(message, message)

    def plural(self, one: str, many: str, count: int) -> str:
        """A text for a number of things."""
        return _catalog(self.code).get(f"{one}\0{many}\0{self._form(count)}", one if count == 1 else many)

    def number(self, value: float | None, digits: int | None = None) -> str:
        """A number; a dash where it is not known."""
        if value is None:
            return "–"
        if digits is None and isinstance(value, float) and 0 < abs(value) < _SMALL:
            return f"{value:.2g}"
        pattern = "#,##0" + (f".{'0' * digits}" if digits else "") if digits is not None else "#,##0.####"
        return str(format_decimal(value, format=pattern, locale=self.locale))

    def percent(self, share: float | None, digits: int = 1) -> str:
        """A share in percent."""
        pattern = "#,##0" + (f".{'#' * digits}" if digits else "") + " %"
        return "–" if share is None else str(format_percent(share, format=pattern, locale=self.locale))

    def when(self, moment: datetime | None) -> str:
        """A time in the reader's zone, to the minute."""
        if moment is None:
            return "–"
        local = moment.astimezone(ZoneInfo(self.zone))
        return str(format_datetime(local, "yyyy-MM-dd HH:mm", locale=self.locale))

    def day(self, moment: datetime | date | None) -> str:
        """A day in the reader's zone."""
        if moment is None:
            return "–"
        there = moment.astimezone(ZoneInfo(self.zone)) if isinstance(moment, datetime) else moment
        return str(format_date(there, "yyyy-MM-dd", locale=self.locale))

    def duration(self, span: timedelta | float | None) -> str:
        """How long, in words; a number is one of minutes."""
        if span is None:
            return "–"
        minutes = round(span.total_seconds() / 60 if isinstance(span, timedelta) else span)
        days, hours = divmod(minutes // 60, 24)
        parts = [(days, "day"), (hours, "hour"), (minutes % 60, "minute")]
        first = next((place for place, (count, _) in enumerate(parts) if count), 2)
        told = [one for one in parts[first : first + 2] if one[0] or one is parts[2]]
        return " ".join(self._unit(count, unit) for count, unit in told)

    def _unit(self, count: int, unit: str) -> str:
        return str(format_unit(count, f"duration-{unit}", "short", locale=self.locale))

    def _form(self, count: int) -> int:
        return 0 if self.code == "ko" or count == 1 else 1


def best_language(asked: str, otherwise: str = "en") -> str:
    """The first of our languages in what a browser accepts."""
    for part in asked.split(","):
        code = part.partition(";")[0].strip().lower().partition("-")[0]
        if code in LANGUAGES:
            return code
    return otherwise


@lru_cache
def _catalog(code: str) -> dict[str, str]:
    """All texts of a language; those with a plural have a line per form."""
    path = CATALOGS / f"{code}.po"
    if not path.is_file():
        return {}
    with path.open("rb") as file:
        found = read_po(file, locale=code)
    told: dict[str, str] = {}
    for message in found:
        if not message.id or message.fuzzy:
            continue
        if isinstance(message.id, tuple):
            forms = message.string if isinstance(message.string, tuple | list) else (message.string,)
            told |= {f"{message.id[0]}\0{message.id[1]}\0{n}": str(text) for n, text in enumerate(forms) if text}
        elif message.string:
            told[str(message.id)] = str(message.string)
    return told
