"""Which column of a stranger's log is which of ours: guessed by its name, and tried on the first rows."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property

import polars as pl

from gamewarden.errors import ReadError
from gamewarden.readers.logs.layout import PLAIN, Layout
from gamewarden.readers.logs.normalize import ROW, as_number, as_text
from gamewarden.readers.logs.rows import rows_of
from gamewarden.readers.logs.shapes import Peek, peek
from gamewarden.readers.places import File
from gamewarden.readers.row_report import Tally
from gamewarden.readers.timestamps import NO_ZONE, Ints, TimeReader
from gamewarden.tables import EVENTS, TEXT_COLUMNS

FIRST_ROWS = 10_000
MOST_COLUMNS = 500
# What programs write where there is nothing; as a name it would tie together all who have none.
NOTHING = ("null", "none", "nil", "nan", "n/a", "(null)", "undefined", r"\n", "-", "?")
# Names seen in logs of game servers for what we call otherwise, likeliest first, without signs and digits.
_CALLED = {
    "actor": (
        *("actor", "account", "accountid", "actoraccountid", "accountname", "accountidx", "userid", "user", "uid"),
        *("player", "playerid", "memberid", "actorid", "username", "login"),
    ),
    "at": ("at", "time", "timestamp", "datetime", "date", "ts", "logtime", "eventtime", "logdate", "createdat", "when"),
    "kind": ("kind", "event", "eventtype", "action", "type", "logid", "logtype", "eventid", "eventname", "name"),
    "character": ("character", "charid", "characterid", "charname", "charactername", "avatar", "avatarid", "pc"),
    "zone": ("zone", "zoneid", "map", "mapid", "mapname", "area", "areaid", "region", "worldid"),
    "x": ("x", "posx", "xpos", "positionx", "coordx", "locx"),
    "y": ("y", "posy", "ypos", "positiony", "coordy", "locy"),
    "level": ("level", "lv", "lvl", "charlevel", "characterlevel", "baselevel", "actorlevel"),
    "target": ("target", "targetid", "victim", "mob", "mobid", "monsterid", "npcid"),
    "item": ("item", "itemid", "itemname", "nameid", "itemdefid"),
    "amount": ("amount", "count", "quantity", "qty", "gold", "money", "value"),
    "other": (
        "other",
        "otheraccount",
        "partneraccount",
        "targetaccountid",
        "receiveraccount",
        "counterparty",
        "partner",
    ),
    "session": ("session", "sessionid"),
    "ip": ("ip", "ipaddress", "ipaddr", "clientip", "remoteaddr"),
}
_DATES = ("%Y/%m/%d", "%Y.%m.%d", "%d.%m.%Y", "%d-%m-%Y", "%m-%d-%Y", "%m/%d/%Y", "%d/%m/%Y", "%d %b %Y", "%b %d %Y")
_FORMATS = (
    *("auto", "epoch_ms", "epoch_us", "epoch_ns", "%Y%m%d%H%M%S", "%Y%m%d %H%M%S", "%d/%b/%Y:%H:%M:%S %z"),
    *(f"{date} {clock}" for date in _DATES for clock in ("%H:%M:%S", "%H:%M:%S.%f", "%H:%M", "%I:%M:%S %p")),
)
_TRIED = 50  # values that rule out most formats
_FIRST_GAME, _LAST_GAME = datetime(1995, 1, 1, tzinfo=UTC), datetime(2100, 1, 1, tzinfo=UTC)
_MOSTLY = 0.5  # of the rows must make sense for a column to be taken for what its name says
_VALUE = r"^[+-]?[0-9]+(?:[.,:/ T-][0-9]+)*Z?$"


@dataclass(frozen=True)
class Clock:
    """How a column writes its times: the formats that read most of them alike, and whether a zone must be named."""

    formats: tuple[str, ...]  # more than one: they disagree, and nobody can say which is meant
    share: float
    needs_zone: bool


@dataclass(frozen=True)
class Sample:
    """The first rows of a file, all columns and paths, as they were written."""

    shape: Peek
    layout: Layout
    frame: pl.DataFrame
    tally: Tally  # of the rows that are no rows
    _clocks: dict[str, Clock | None] = field(default_factory=dict)

    @classmethod
    def of(cls, path: File, layout: Layout = PLAIN, first_rows: int = FIRST_ROWS) -> "Sample":
        """Read them.

        Raises:
            ReadError: it is no table we read, or is damaged before its first rows end.
        """
        shape = peek(path, layout=layout)
        names = [*shape.sound, *shape.nested][:MOST_COLUMNS]
        if not names:
            raise ReadError(f"{path}: no column has a name of its own; name each column once")
        frames, rows, tally = [], 0, Tally(str(path), 1.0)
        for frame in rows_of(shape, layout, names, tally):
            frames.append(frame.drop(ROW))
            rows += frame.height
            if rows >= first_rows:
                break
        schema = dict.fromkeys(names, pl.String)
        frame = pl.concat(frames, how="vertical_relaxed") if frames else pl.DataFrame(schema=schema)
        return cls(shape, layout, frame.head(first_rows), tally)

    @property
    def rows(self) -> int:
        """How many there are."""
        return self.frame.height

    @cached_property
    def texts(self) -> Mapping[str, pl.Series]:
        """The columns that hold single values, as text."""
        plain = [column for column in self.frame if not column.dtype.is_nested()]
        return {column.name: as_text(column)[0] for column in plain}

    def filled(self, name: str) -> int:
        """How many rows have a value in a column."""
        return self.rows - self.texts[name].null_count() if name in self.texts else 0

    def clock(self, name: str) -> Clock | None:
        """How a column writes its times, if it does."""
        if name not in self._clocks:
            self._clocks[name] = self._clock(name) if self.filled(name) else None
        return self._clocks[name]

    def _clock(self, name: str) -> Clock | None:
        column = self.frame[name]
        few = column.filter(self.texts[name].is_not_null()).head(_TRIED)
        likely = [one for one in _formats_of(column) if _read(few, one)[0] > 0]
        read = {one: _read(column, one) for one in likely}
        best = max((share for share, _, _ in read.values()), default=0.0)
        if best < _MOSTLY:
            return None
        same: dict[bytes, str] = {}  # of formats that read the same times the first
        for one, (share, _, times) in read.items():
            if share == best:
                same.setdefault(times.tobytes(), one)
        formats = tuple(same.values())
        return Clock(formats, best, read[formats[0]][1])

    def candidates(self, ours: str) -> Iterator[str]:
        """Their columns that may be ours by their names, the likeliest first."""
        every = [name for name in (*self.shape.names, *self.shape.nested) if name in self.texts]
        folded: dict[str, str] = {}
        for name in every:
            for form in _forms(name):
                folded.setdefault(form, name)
        return (folded[called] for called in _CALLED.get(ours, ()) if called in folded)

    def fits(self, ours: str, name: str) -> int:
        """How many rows have a value there that our column can take."""
        if ours == "at":
            clock = self.clock(name)
            return 0 if clock is None else round(clock.share * self.rows)
        if ours in TEXT_COLUMNS:
            return self.filled(name)
        return self.rows - as_number(self.frame[name], ours)[0].null_count()

    def guesses(self, taken: Mapping[str, str] | None = None) -> dict[str, str]:
        """Our columns and theirs, as far as names and values tell, beside those that are taken.

        Of several columns that may be ours the one is taken that most rows fill, and among equals the likeliest.
        """
        found = dict(taken or {})
        for ours in (*EVENTS.required, *_CALLED):
            if ours not in found:
                free = [name for name in self.candidates(ours) if name not in found.values()]
                fitting = {name: self.fits(ours, name) for name in dict.fromkeys(free)}
                best = max(fitting, key=lambda name: fitting[name], default=None)
                if best is not None and (fitting[best] >= _MOSTLY * self.rows or self._sparse(ours, best, fitting)):
                    found[ours] = best
        if "at" not in found:
            found |= self._time_by_value({*found.values()})
        return {ours: name for ours, name in found.items() if ours not in (taken or {})}

    def _sparse(self, ours: str, name: str, fitting: Mapping[str, int]) -> bool:
        """Whether a column that few rows fill is ours all the same: what it holds must always make sense."""
        return ours not in EVENTS.required and 0 < fitting[name] == self.filled(name)

    def _time_by_value(self, used: set[str]) -> dict[str, str]:
        """The first column that holds times, whatever it is called; numbers could be anything."""
        for name in self.texts:
            clock = None if name in used else self.clock(name)
            if clock is not None and clock.share == 1.0 and not clock.formats[0].startswith(("auto", "epoch")):
                return {"at": name}
            if clock is not None and clock.share == 1.0 and self.texts[name].str.contains("[:-]").all():
                return {"at": name}
        return {}


def _formats_of(column: pl.Series) -> tuple[str, ...]:
    """Those that can be meant: a number or a moment has no pattern."""
    return _FORMATS if column.dtype == pl.String else _FORMATS[:4]


def _read(column: pl.Series, form: str) -> tuple[float, bool, Ints]:
    """What share of a column is a time in which there were games, whether it lacks a zone, and the times."""
    moments = TimeReader(form, "UTC").read(column).at
    sane = moments.is_between(_FIRST_GAME, _LAST_GAME).fill_null(False)
    zoneless = TimeReader(form).read(column).faults.get(NO_ZONE) if sane.any() else None
    share = float(sane.sum()) / max(len(column), 1)
    return share, zoneless is not None and bool(zoneless.any()), moments.to_physical().fill_null(0).to_numpy()


def looks_headless(sample: Sample) -> bool:
    """Whether the first line of a delimited text is a row already: it holds numbers or times, and no name we know."""
    if sample.shape.format != "csv":
        return False
    values = [name for name in sample.shape.names if re.search(_VALUE, name)]
    known = [ours for ours in _CALLED if any(True for _ in sample.candidates(ours))]
    return bool(values) and not known


def refuse_text(sample: Sample) -> None:
    """Refuse a text that has no columns.

    Raises:
        ReadError: it has one alone.
    """
    if sample.shape.format == "csv" and len(sample.shape.names) == 1:
        raise ReadError(f"{sample.shape.path}: nothing splits its lines into columns; say under [line] how lines read")


def _forms(name: str) -> list[str]:
    """A name as it is looked up: without signs and digits; of a path the last step, the last two, and so on."""
    steps: Sequence[str] = name.split(".")
    return [re.sub(r"[^a-z]", "", "".join(steps[-count:]).lower()) for count in range(1, len(steps) + 1)]
