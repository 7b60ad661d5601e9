"""What a value from a file must be before it is believed: the test, and the words for it."""

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, fields, is_dataclass
from datetime import datetime
from functools import cache
from itertools import pairwise
from types import NoneType, UnionType
from typing import Annotated, Any, TypeAlias, Union, get_args, get_origin, get_type_hints

from gamewarden.errors import ConfigError, ModelError, short
from gamewarden.learning.styles import STYLES, Styles
from gamewarden.spans import LONGEST_PERIOD, parse_zone

LARGEST, SMALLEST = 1e15, 1e-15  # no number of a real model is beyond; sums and quotients of these stay finite
_Check = Callable[[Any], bool]


@dataclass(frozen=True)
class Rule:
    """What a value must be: the test, and the words for it."""

    holds: _Check
    words: str


_HALVES = re.compile("[\ud800-\udfff]")  # of letters, which JSON can write and nothing else can
_LATEST = 253_402_300_799_999_999  # microseconds: the last of the year 9999, where calendars end
Count: TypeAlias = Annotated[int, Rule(lambda v: whole(v), "a whole number from 0 on")]  # noqa: PLW0108  it stands below
Moment: TypeAlias = Annotated[
    int, Rule(lambda v: _whole_64(v) and abs(v) <= _LATEST, "a time in microseconds since 1970")
]


def check_keys(
    name: object,
    where: str,
    given: Any,  # noqa: ANN401 - from a file
    wanted: Mapping[str, Rule],
    optional: tuple[str, ...] = (),
) -> None:
    """Refuse an object that lacks a key or holds one too many.

    Raises:
        ModelError: it does.
    """
    if not isinstance(given, Mapping):
        raise ModelError(f"model {name!r}: {where} is {type(given).__name__}, not an object; fit it again")
    missing, extra = sorted(wanted.keys() - given.keys()), sorted(given.keys() - wanted.keys() - {*optional})
    if missing:
        raise ModelError(f"model {name!r}: {where} lacks {', '.join(missing)}; fit it again")
    if extra:
        raise ModelError(f"model {name!r}: {where} holds {', '.join(extra)}, which no such model has; fit it again")


def require(name: object, where: str, value: Any, rule: Rule) -> None:  # noqa: ANN401 - from a file
    """Refuse a value that is not what it must be.

    Raises:
        ModelError: it is not.
    """
    if not rule.holds(value):
        raise ModelError(f"model {name!r}: {where} is not {rule.words}; fit it again")


def check_fields(
    name: object,
    where: str,
    given: Any,  # noqa: ANN401 - from a file
    rules: Mapping[str, Rule],
    optional: tuple[str, ...] = (),
) -> None:
    """Refuse an object whose keys or values are not what they must be.

    Raises:
        ModelError: they are not.
    """
    check_keys(name, where, given, rules, optional)
    for key, rule in rules.items():
        require(name, key if where == "the model" else f"{where}.{key}", given[key], rule)


def check_reference(name: object, where: str, given: Any) -> None:  # noqa: ANN401 - from a file
    """Refuse reference humans that do not fit together.

    Raises:
        ModelError: they do not.
    """
    check_fields(name, where, given, _REFERENCE)
    facts = {
        f"{where} values and weights are equally many": len(given["values"]) == len(given["weights"]),
        f"{where} weights add up to the humans": math.isclose(
            math.fsum(given["weights"]), given["humans"], rel_tol=1e-6
        ),
    }
    agree(name, facts)


def check_styles(name: object, given: Any) -> None:  # noqa: ANN401 - from a file
    """Refuse reference humans by style that do not fit together.

    Raises:
        ModelError: they do not.
    """
    check_fields(name, "styles", given, _STYLES)
    try:
        Styles.from_dict(given["rule"])
    except (TypeError, ConfigError) as error:
        raise ModelError(f"model {name!r}: styles.rule is no rule of styles ({error}); fit it again") from error
    for style, reference in given["by_style"].items():
        check_reference(name, f"styles.by_style.{style}", reference)


def check_people(name: object, given: Any) -> None:  # noqa: ANN401 - from a file
    """Refuse people who do not fit together.

    Raises:
        ModelError: they do not.
    """
    check_fields(name, "people", given, _PEOPLE)
    days = given["days"]
    agree(name, {"people lowest and days are equally many": days is None or len(days) == len(given["lowest"])})


def check_ranges(name: object, given: Any) -> None:  # noqa: ANN401 - from a file
    """Refuse ranges of training rows that are none.

    Raises:
        ModelError: they are none.
    """
    require(name, "ranges", given, _RANGES)


def check_days(name: object, given: Any) -> None:  # noqa: ANN401 - from a file
    """Refuse days of humans that do not fit together.

    Raises:
        ModelError: they do not.
    """
    check_fields(name, "days", given, _DAYS)
    check_reference(name, "days.pooled", given["pooled"])
    for least, reference in given["by_length"].items():
        check_reference(name, f"days.by_length.{least}", reference)


def agree(name: object, facts: Mapping[str, bool]) -> None:
    """Refuse what does not hold between values.

    Raises:
        ModelError: something does not.
    """
    for fact, holds in facts.items():
        if not holds:
            raise ModelError(f"model {name!r}: it does not hold that {fact}; fit it again")


def text(value: object) -> bool:
    """A text with something in it."""
    return isinstance(value, str) and value != ""


def finite(value: object) -> bool:
    """A number of a size that models have."""
    return isinstance(value, int | float) and not isinstance(value, bool) and -LARGEST <= value <= LARGEST


def count(value: object) -> bool:
    """A whole number above 0."""
    return isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= LARGEST


def whole(value: object) -> bool:
    """A whole number from 0 on."""
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= LARGEST


def rising(value: object) -> bool:
    """Numbers none of which is below the one before."""
    return isinstance(value, list) and all(map(finite, value)) and all(a <= b for a, b in pairwise(value))


def zone(value: object) -> bool:
    """The name of a time zone."""
    try:
        return isinstance(value, str) and bool(parse_zone(value).key)
    except ConfigError:
        return False


def _least(value: object) -> bool:
    """A whole number above 0 as JSON writes a key."""
    return isinstance(value, str) and value.isascii() and value.isdecimal() and str(int(value)) == value != "0"


def _time(value: object) -> bool:
    try:
        return isinstance(value, str) and datetime.fromisoformat(value).tzinfo is not None
    except ValueError:
        return False


def _sides(value: object) -> bool:
    return isinstance(value, dict) and value.keys() == {"bot", "human"} and all(map(whole, value.values()))


def _training(value: object) -> bool:
    """What a model was made from: from when to when, how many of both sides, and who labelled them."""
    if not isinstance(value, dict):
        return False
    times = [value.get(name) for name in ("since", "until")]
    if times != [None, None] and not all(map(_time, times)):  # rows of an operator's own table have no times
        return False
    sources = value.get("sources")
    covered = value.get("covered")
    if covered is not None and not (finite(covered) and 0 <= covered <= 1):
        return False
    labelled = isinstance(sources, dict) and all(text(name) and _sides(sides) for name, sides in sources.items())
    return labelled and all(_sides(value.get(name)) for name in ("actors", "periods"))


def _range(value: object) -> bool:
    if not isinstance(value, list) or len(value) != len(("least", "greatest", "deviation")):
        return False
    return all(map(finite, value)) and bool(value[0] <= value[1] and value[2] >= SMALLEST)


def _rule(value: object) -> bool:
    return isinstance(value, dict) and all(isinstance(part, str | bool) or finite(part) for part in value.values())


def misfit(kind: Any, value: object, where: str) -> str | None:  # noqa: ANN401  a class or what a field is declared as
    """Where a value from JSON is not what a dataclass, or the type of a field, says it is; None where all fits.

    A row is a list, a mapping an object by text. A number is finite, and a whole one fits into 64 bits; `Annotated`
    with a Rule says more.
    """
    shape, parts = get_origin(kind), get_args(kind)
    if shape is Annotated:
        return None if parts[1].holds(value) else f"{where} is {short(value)}, not {parts[1].words}"
    if shape in (Union, UnionType):
        found = [misfit(part, value, where) for part in parts if part is not NoneType]
        return None if None in found or (value is None and NoneType in parts) else found[0]
    if shape is tuple:
        inside = enumerate(value) if isinstance(value, list) else None
        return _first_misfit(parts[0], inside, where, value, "a list")
    if shape is Mapping:
        return _first_misfit(parts[1], value.items() if isinstance(value, dict) else None, where, value, "an object")
    if kind in _PLAIN:
        return None if _PLAIN[kind].holds(value) else f"{where} is {short(value)}, not {_PLAIN[kind].words}"
    return _misfit_of_fields(kind, value, where)


def _first_misfit(kind: Any, inside: Any, where: str, value: object, words: str) -> str | None:  # noqa: ANN401  as above
    if inside is None:
        return f"{where} is {short(value)}, not {words}"
    return next((wrong for at, part in inside if (wrong := misfit(kind, part, f"{where}[{short(at)}]"))), None)


def _misfit_of_fields(kind: Any, value: object, where: str) -> str | None:  # noqa: ANN401  as above
    wanted, needed = _declared(kind)
    if not isinstance(value, dict):
        return f"{where} is {short(value)}, not an object"
    if odd := sorted(needed - value.keys()) or sorted(value.keys() - wanted.keys()):
        return f"{where} {'lacks' if odd[0] in needed else 'holds'} {short(odd[0])}"
    return next(
        (wrong for name, part in value.items() if (wrong := misfit(wanted[name], part, f"{where}.{name}"))), None
    )


@cache
def _declared(kind: Any) -> tuple[Mapping[str, Any], frozenset[str]]:  # noqa: ANN401  as above
    """The fields of a dataclass or a named tuple, and those that have no default."""
    wanted = get_type_hints(kind, include_extras=True)
    if is_dataclass(kind):
        missing = {one.name for one in fields(kind) if one.default is MISSING and one.default_factory is MISSING}
    else:
        missing = set(kind._fields)
    return {name: wanted[name] for name in wanted if name in missing or hasattr(kind, name)}, frozenset(missing)


def _whole_64(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and -(2**63) <= value < 2**63


_PLAIN: Mapping[Any, Rule] = {
    str: Rule(lambda v: isinstance(v, str) and not _HALVES.search(v), "a text"),
    bool: Rule(lambda v: isinstance(v, bool), "true or false"),
    int: Rule(_whole_64, "a whole number of 64 bits"),
    float: Rule(finite, f"a finite number within ±{LARGEST:g}"),
}
TEXT = Rule(text, "a text")
NUMBER = Rule(finite, f"a finite number within ±{LARGEST:g}")
POSITIVE = Rule(lambda v: finite(v) and v >= SMALLEST, f"a finite number above {SMALLEST:g}")
TRAINING = Rule(_training, "since, until, and actors, periods and sources as counts of bot and human")
_REFERENCE: Mapping[str, Rule] = {
    "values": Rule(rising, "a row of rising numbers"),
    "weights": Rule(
        lambda v: isinstance(v, list) and all(finite(w) and 0 < w <= 1 for w in v),
        "a row of numbers above 0, at most 1",
    ),
    "humans": Rule(count, "a whole number above 0"),
}
_PEOPLE: Mapping[str, Rule] = {
    "lowest": Rule(
        lambda v: rising(v) and bool(v) and 0 < v[0] <= v[-1] <= 1, "a row of rising numbers above 0, at most 1"
    ),
    "days": Rule(
        lambda v: v is None or (isinstance(v, list) and all(finite(d) and d >= 1 for d in v)),
        "null or a row of numbers from 1 on",
    ),
}
_RANGES = Rule(
    lambda v: isinstance(v, dict) and all(text(column) and _range(span) for column, span in v.items()),
    "the least, the greatest and the deviation of each column",
)
_DAYS: Mapping[str, Rule] = {
    "every": Rule(lambda v: count(v) and v <= LONGEST_PERIOD, "the length of a period in microseconds"),
    "zone": Rule(zone, "a time zone"),
    "pooled": Rule(lambda v: isinstance(v, dict), "an object"),
    "by_length": Rule(
        lambda v: isinstance(v, dict) and bool(v) and all(_least(key) for key in v),
        "humans by the rows of a day",
    ),
}
_STYLES: Mapping[str, Rule] = {
    "rule": Rule(_rule, "an object with the borders of styles"),
    "by_style": Rule(lambda v: isinstance(v, dict) and v.keys() <= set(STYLES), "reference humans by style"),
}
