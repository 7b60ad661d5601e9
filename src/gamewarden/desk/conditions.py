"""Which accounts somebody wants to see: the address of a page as conditions, and conditions as an address again."""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from urllib.parse import parse_qsl, urlencode

from gamewarden.desk.population import Span
from gamewarden.errors import ConfigError, short

LONGEST = 200  # letters of a value
MOST_VALUES = 50  # of one condition
LONGEST_QUERY = 16_000
PAGE_SIZES = (50, 100, 200)
# Numbers that have a least and a most, and the column that each is about.
RANGES: Mapping[str, str] = {
    "probability": "probability",
    "fpr": "fpr",
    "self_sim": "self_sim",
    "play_minutes": "play_minutes",
    "level": "level",
    "money": "money_total",
    "sharing": "sharing",
    "events": "events_total",
    "addresses": "addresses",
    "zones": "zones",
    "days_reached": "days_reached",
    "streak": "streak",
    "payment": "payment",
}
# Texts of which one or several are chosen. What profiles have beside these is chosen by `profile.COLUMN`.
CHOICES: Mapping[str, str] = {
    "point": "point",
    "state": "state",
    "zone": "zone",
    "server": "server",
    "class": "class",
    "customer_grade": "customer_grade",
    "ticket": "ticket",
    "guard_pattern": "guard_pattern",
    "label": "label",
    "family": "family",
    "detector": "detector",
    "step": "step",
}
FLAGS: Mapping[str, str] = {"protected": "protected", "appeal": "appeal"}
KIND, TEXT, PROFILE = "kind", "q", "profile."
UNKNOWN = ""  # chosen: what is not known
_SPAN = ("days", "since", "until")
_LIST = ("sort", "order", "size", "after", "before", "columns")
_ASIDE = ("format", "part", "csrf", "facet", "find")
_NUMBER = re.compile(r"-?[0-9]{1,18}(\.[0-9]{1,18})?([eE][+-]?[0-9]{1,2})?")


MONTH = Span(30)


@dataclass(frozen=True)
class Range:
    """From a number to another, both included; an end may be open."""

    least: float | None = None
    most: float | None = None


@dataclass(frozen=True)
class Conditions:
    """Which accounts, in which order, and how many at once."""

    span: Span = MONTH
    ranges: tuple[tuple[str, Range], ...] = ()
    choices: tuple[tuple[str, tuple[str, ...]], ...] = ()
    flags: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    text: str = ""
    sort: str = "probability"
    falling: bool = True
    size: int = PAGE_SIZES[0]
    after: str = ""
    before: str = ""
    columns: tuple[str, ...] = ()

    @classmethod
    def parse(cls, pairs: Sequence[tuple[str, str]]) -> "Conditions":
        """From the parts of an address.

        Raises:
            ConfigError: a part is none of ours, or has a value that it cannot have.
        """
        told = _Told(pairs)
        ranges = {name: told.range(name) for name in RANGES}
        own = [name for name in told.names if name in CHOICES or name.startswith(PROFILE)]
        choices = {name: told.several(name) for name in dict.fromkeys(own)}
        return cls(
            Span.parse(*(told.one(name) for name in _SPAN)),
            tuple((name, one) for name, one in ranges.items() if one is not None),
            tuple((name, values) for name, values in choices.items() if values),
            tuple(name for name in FLAGS if told.flag(name)),
            told.several(KIND),
            told.one(TEXT).strip(),
            told.one("sort") or "probability",
            told.choice("order", ("falling", "rising")) == "falling",
            int(told.choice("size", tuple(map(str, PAGE_SIZES)))),
            told.one("after"),
            told.one("before"),
            told.several("columns"),
        )

    @classmethod
    def of_query(cls, query: str) -> "Conditions":
        """From the text behind the question mark of an address.

        Raises:
            ConfigError: it is too long, or a part of it is none of ours.
        """
        if len(query) > LONGEST_QUERY:
            raise ConfigError(f"the search has {len(query):,} letters; at most {LONGEST_QUERY:,} are read")
        return cls.parse(parse_qsl(query.removeprefix("?"), keep_blank_values=True, max_num_fields=1_000))

    def pairs(self) -> list[tuple[str, str]]:
        """As the parts of an address, without what is usual."""
        found = [(name, value) for name, value in self.span.query.items() if (name, value) != ("days", "30")]
        found += self._wanted()
        if self.sort != "probability":
            found.append(("sort", self.sort))
        if not self.falling:
            found.append(("order", "rising"))
        if self.size != PAGE_SIZES[0]:
            found.append(("size", str(self.size)))
        found += [("columns", name) for name in self.columns]
        found += [(name, value) for name, value in (("after", self.after), ("before", self.before)) if value]
        return found

    def _wanted(self) -> list[tuple[str, str]]:
        found = [("q", self.text)] if self.text else []
        for name, one in self.ranges:
            ends = ((f"{name}_from", one.least), (f"{name}_to", one.most))
            found += [(end, written(value)) for end, value in ends if value is not None]
        found += [(name, value) for name, values in self.choices for value in values]
        found += [(KIND, kind) for kind in self.kinds]
        return found + [(name, "yes") for name in self.flags]

    def url(self, path: str = "/accounts") -> str:
        """The address of these conditions."""
        query = urlencode(self.pairs())
        return f"{path}?{query}" if query else path

    def first_page(self) -> "Conditions":
        """The same from the beginning."""
        return replace(self, after="", before="")

    def with_choice(self, name: str, value: str) -> "Conditions":
        """The same with a value chosen too, or no longer where it was."""
        if name == KIND:
            return replace(self.first_page(), kinds=_toggled(self.kinds, value))
        if name in FLAGS:
            return replace(self.first_page(), flags=_toggled(self.flags, name))
        known = dict(self.choices)
        known[name] = _toggled(known.get(name, ()), value)
        return replace(self.first_page(), choices=tuple((one, values) for one, values in known.items() if values))

    def with_range(self, name: str, wanted: Range | None) -> "Conditions":
        """The same with another range of a number, or none."""
        known = {one: value for one, value in self.ranges if one != name}
        if wanted is not None:
            known[name] = wanted
        return replace(self.first_page(), ranges=tuple(known.items()))

    def without(self, name: str) -> "Conditions":
        """The same without any condition of a name."""
        bare = self.first_page()
        if name == TEXT:
            return replace(bare, text="")
        if name == KIND:
            return replace(bare, kinds=())
        return replace(
            bare,
            ranges=tuple(one for one in bare.ranges if one[0] != name),
            choices=tuple(one for one in bare.choices if one[0] != name),
            flags=tuple(one for one in bare.flags if one != name),
        )

    def sorted_by(self, column: str) -> "Conditions":
        """The same in the order of a column; asked for again the other way round."""
        falling = not self.falling if column == self.sort else column not in {"actor", "name"}
        return replace(self.first_page(), sort=column, falling=falling)

    @property
    def names(self) -> tuple[str, ...]:
        """What there are conditions on."""
        text = (TEXT,) if self.text else ()
        kind = (KIND,) if self.kinds else ()
        chosen = (name for some in (self.ranges, self.choices) for name, _ in some)
        return (*text, *chosen, *kind, *self.flags)


def written(value: float) -> str:
    """A number as an address has it."""
    return str(int(value)) if value.is_integer() else repr(value)


def _toggled(values: tuple[str, ...], value: str) -> tuple[str, ...]:
    return tuple(one for one in values if one != value) if value in values else (*values, value)


class _Told:
    """The parts of an address by name."""

    def __init__(self, pairs: Sequence[tuple[str, str]]) -> None:
        self._values: dict[str, list[str]] = {}
        for name, value in pairs:
            _refuse_unknown(name)
            if len(value) > LONGEST and name not in {"after", "before"}:
                raise ConfigError(f"{name} has {len(value):,} letters; at most {LONGEST} are read")
            self._values.setdefault(name, []).append(value)

    @property
    def names(self) -> list[str]:
        return list(self._values)

    def one(self, name: str) -> str:
        return self._values.get(name, [""])[-1]

    def several(self, name: str) -> tuple[str, ...]:
        values = tuple(dict.fromkeys(self._values.get(name, ())))
        if len(values) > MOST_VALUES:
            raise ConfigError(f"{name} has {len(values)} values; at most {MOST_VALUES} are read")
        return values

    def flag(self, name: str) -> bool:
        return self.choice(name, ("", "yes", "no")) == "yes"

    def choice(self, name: str, known: tuple[str, ...]) -> str:
        value = self.one(name) or known[0]
        if value not in known:
            raise ConfigError(f"{name} is {short(value)}; it is one of {', '.join(filter(None, known))}")
        return value

    def range(self, name: str) -> Range | None:
        least, most = (self._number(f"{name}_{end}") for end in ("from", "to"))
        if least is not None and most is not None and least > most:
            raise ConfigError(f"{name} is from {least:g} to {most:g}; the least comes first")
        return None if least is None and most is None else Range(least, most)

    def _number(self, name: str) -> float | None:
        text = self.one(name).replace(",", "").strip()  # people write 1,000,000
        if not text:
            return None
        if not _NUMBER.fullmatch(text) or not math.isfinite(number := float(text)):
            raise ConfigError(f"{name} is {short(text)}; give a number such as 0.99")
        return number


def _refuse_unknown(name: str) -> None:
    ends = name.removesuffix("_from") in RANGES or name.removesuffix("_to") in RANGES
    known = name in {*CHOICES, *FLAGS, KIND, TEXT, *_SPAN, *_LIST, *_ASIDE}
    if not (known or (ends and name not in RANGES) or name.startswith(PROFILE)):
        raise ConfigError(f"{short(name)} is no condition; there are {', '.join((*CHOICES, *RANGES, KIND, TEXT))}")
