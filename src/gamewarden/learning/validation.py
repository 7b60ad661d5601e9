"""What a value from a file must be before it is believed: the types of a dataclass, and rules beside them."""

import math
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, dataclass, fields, is_dataclass
from datetime import datetime
from functools import cache
from itertools import pairwise
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, TypeAlias, Union, get_args, get_origin, get_type_hints

from gamewarden.core.durations import parse_zone
from gamewarden.errors import ConfigError, short

LARGEST, SMALLEST = 1e15, 1e-15  # no number of a real model is beyond; sums and quotients of these stay finite
PERCENTILES = 101


@dataclass(frozen=True)
class Rule:
    """What a value must be besides its type: the test, and the words for it."""

    holds: Callable[[Any], bool]
    words: str


def misfit(kind: Any, value: object, where: str) -> str | None:  # noqa: ANN401, PLR0911  a class or what a field is declared as, one way to go for each
    """Where a value from JSON is not what a dataclass, or the type of a field, says it is; None where all fits.

    A row is a list, a mapping an object by text. A number is finite, and a whole one fits into 64 bits; `Annotated`
    with a Rule says more. A class that is written in another shape than its fields names it as `json_shape`.
    """
    shape, parts = get_origin(kind), get_args(kind)
    if kind is Any:
        return None
    if shape is Annotated:
        return _misfit_of_rules(kind, value, where)
    if shape in (Union, UnionType):
        return _misfit_of_all(parts, value, where)
    if shape is Literal:
        return None if value in parts else _not(where, value, " or ".join(map(str, parts)))
    if shape is tuple:
        return _misfit_of_row(parts, value, where)
    if shape is Mapping:
        return _misfit_of_mapping(parts, value, where)
    if kind in _PLAIN:
        return _broken(_PLAIN[kind], value, where)
    if hasattr(kind, "json_shape"):
        return misfit(kind.json_shape, value, where)
    return _misfit_of_fields(kind, value, where)


def key_of(part: Any) -> str:  # noqa: ANN401  a field of any dataclass
    """Under which name a field stands in JSON."""
    key: str = part.metadata.get("key", part.name)
    return key


def written_fields(kind: Any) -> list[Any]:  # noqa: ANN401  as above
    """The fields of a dataclass that are written: those that do not begin with an underscore."""
    return [part for part in fields(kind) if not part.name.startswith("_")]


def _misfit_of_rules(kind: Any, value: object, where: str) -> str | None:  # noqa: ANN401  as above
    if plain := plain_rules(kind):
        return None if all(rule.holds(value) for rule in plain) else _not(where, value, plain[-1].words)
    inside, *rules = get_args(kind)
    return misfit(inside, value, where) or _first(_broken(rule, value, where) for rule in rules)


def _misfit_of_all(kinds: tuple[Any, ...], value: object, where: str) -> str | None:
    if value is None and NoneType in kinds:
        return None
    wrong = [misfit(kind, value, where) for kind in kinds if kind is not NoneType]
    return None if None in wrong else wrong[-1]


def _misfit_of_row(kinds: tuple[Any, ...], value: object, where: str) -> str | None:
    many = kinds[-1] is Ellipsis
    if not isinstance(value, list) or not (many or len(value) == len(kinds)):
        return _not(where, value, "a list" if many else f"a list of {len(kinds)}")
    # A model has ten thousands of numbers: the place of a wrong one is looked for only if there is one.
    if many and (rules := plain_rules(kinds[0])) and all(all(map(rule.holds, value)) for rule in rules):
        return None
    each = kinds[:1] * len(value) if many else kinds
    return _first(misfit(kind, part, f"{where}[{at}]") for at, (kind, part) in enumerate(zip(each, value, strict=True)))


def _misfit_of_mapping(kinds: tuple[Any, ...], value: object, where: str) -> str | None:
    if not isinstance(value, dict):
        return _not(where, value, "an object")
    if kinds[0] is int and not all(map(_is_whole_key, value)):
        return _not(where, value, "an object by whole numbers")
    return _first(misfit(kinds[1], part, f"{where}[{short(at)}]") for at, part in value.items())


def _misfit_of_fields(kind: Any, value: object, where: str) -> str | None:  # noqa: ANN401  as above
    wanted, needed = _declared(kind)
    if not isinstance(value, dict):
        return _not(where, value, "an object")
    if missing := sorted(needed - value.keys()):
        return f"{where or 'it'} lacks {', '.join(map(repr, missing))}"
    if odd := sorted(value.keys() - wanted.keys()):
        return f"{where or 'it'} holds {', '.join(map(short, odd))}, which is not of its kind"
    inside = f"{where}." if where else ""
    return _first(misfit(wanted[name], part, f"{inside}{name}") for name, part in value.items())


@cache
def _declared(kind: Any) -> tuple[Mapping[str, Any], frozenset[str]]:  # noqa: ANN401  as above
    """The written fields of a dataclass or a named tuple, and those that have no default."""
    wanted = get_type_hints(kind, include_extras=True)
    if not is_dataclass(kind):
        return {name: wanted[name] for name in kind._fields}, frozenset(kind._fields)
    missing = {key_of(one) for one in written_fields(kind) if one.default is MISSING and one.default_factory is MISSING}
    return {key_of(one): wanted[one.name] for one in written_fields(kind)}, frozenset(missing)


@cache
def plain_rules(kind: Any) -> tuple[Rule, ...]:  # noqa: ANN401  as above
    """All that a plain value has to hold, its type first; nothing for what is not plain."""
    plain, *rules = get_args(kind) if get_origin(kind) is Annotated else (kind,)
    return (_PLAIN[plain], *rules) if plain in _PLAIN else ()


def _first(wrong: Iterable[str | None]) -> str | None:
    return next((one for one in wrong if one), None)


def _broken(rule: Rule, value: object, where: str) -> str | None:
    return None if rule.holds(value) else _not(where, value, rule.words)


def _not(where: str, value: object, words: str) -> str:
    large = "a list" if isinstance(value, list) else "an object" if isinstance(value, dict) else ""
    seen = large if value else ""  # a model has ten thousands of numbers
    return f"{where or 'it'} is {seen or short(value)}, not {words}"


def whole(value: object) -> bool:
    """A whole number of 64 bits."""
    return isinstance(value, int) and not isinstance(value, bool) and -(2**63) <= value < 2**63


def finite(value: object) -> bool:
    """A number of a size that models have."""
    return isinstance(value, int | float) and not isinstance(value, bool) and -LARGEST <= value <= LARGEST


def is_time_zone(value: object) -> bool:
    """The name of a time zone."""
    try:
        return isinstance(value, str) and bool(parse_zone(value).key)
    except ConfigError:
        return False


def rising(values: Iterable[float]) -> bool:
    """Numbers none of which is below the one before."""
    return all(a <= b for a, b in pairwise(values))


def adds_up(values: Iterable[float], total: float) -> bool:
    """Whether a sum is what it should be, but for rounding."""
    return math.isclose(math.fsum(values), total, rel_tol=1e-6)


_HALVES = re.compile("[\ud800-\udfff]")  # of letters, which JSON can write and nothing else can
_LATEST = 253_402_300_799_999_999  # microseconds: the last of the year 9999, where calendars end
_PLAIN: Mapping[Any, Rule] = {
    str: Rule(lambda v: isinstance(v, str) and not _HALVES.search(v), "a text"),
    bool: Rule(lambda v: isinstance(v, bool), "true or false"),
    int: Rule(whole, "a whole number of 64 bits"),
    float: Rule(finite, f"a finite number within ±{LARGEST:g}"),
}
Text: TypeAlias = Annotated[str, Rule(bool, "a text with something in it")]
Count: TypeAlias = Annotated[int, Rule(lambda v: 0 <= v <= LARGEST, "a whole number from 0 on")]
Natural: TypeAlias = Annotated[int, Rule(lambda v: 1 <= v <= LARGEST, "a whole number above 0")]
Moment: TypeAlias = Annotated[int, Rule(lambda v: abs(v) <= _LATEST, "a time in microseconds since 1970")]
Positive: TypeAlias = Annotated[float, Rule(lambda v: v >= SMALLEST, f"a finite number above {SMALLEST:g}")]
NotNegative: TypeAlias = Annotated[float, Rule(lambda v: v >= 0, "a number from 0 on")]
Share: TypeAlias = Annotated[float, Rule(lambda v: 0 <= v <= 1, "a share from 0 to 1")]
OpenShare: TypeAlias = Annotated[float, Rule(lambda v: 0 < v < 1, "a share between 0 and 1")]
Rising: TypeAlias = Annotated[tuple[float, ...], Rule(rising, "a row of rising numbers")]
Percentiles: TypeAlias = Annotated[
    tuple[float, ...], Rule(lambda v: len(v) == PERCENTILES and rising(v), f"{PERCENTILES} rising numbers")
]
TimeZone: TypeAlias = Annotated[str, Rule(is_time_zone, "a time zone")]


def _is_whole_key(value: str) -> bool:
    """A whole number above 0 as JSON writes a key."""
    return value.isascii() and value.isdecimal() and str(int(value)) == value != "0"


def _time(value: object) -> bool:
    try:
        return isinstance(value, str) and datetime.fromisoformat(value).tzinfo is not None
    except ValueError:
        return False


Time: TypeAlias = Annotated[str, Rule(_time, "a time with its zone, such as 2026-03-01T00:00:00+00:00")]
PerhapsTime: TypeAlias = Annotated[str, Rule(lambda v: v == "" or _time(v), "empty or a time with its zone")]


def _sides(value: object) -> bool:
    return (
        isinstance(value, dict)
        and value.keys() == {"bot", "human"}
        and all(whole(count) and 0 <= count <= LARGEST for count in value.values())
    )


def _training(value: Mapping[str, Any]) -> bool:
    """What a model was made from: from when to when, how many of both sides, and who labelled them."""
    times = [value.get(name) for name in ("since", "until")]
    if times != [None, None] and not all(map(_time, times)):  # rows of an operator's own table have no times
        return False
    sources, covered = value.get("sources"), value.get("covered")
    if covered is not None and not (finite(covered) and 0 <= covered <= 1):
        return False
    labelled = isinstance(sources, dict) and all(name and _sides(sides) for name, sides in sources.items())
    return labelled and all(_sides(value.get(name)) for name in ("actors", "periods"))


Training: TypeAlias = Annotated[
    Mapping[str, Any], Rule(_training, "since, until, and actors, periods and sources as counts of bot and human")
]
Results: TypeAlias = Annotated[Mapping[str, Any], Rule(lambda v: finite(v.get("auc")), "results with their AUC")]
