"""A stored model is believed only after every value in it was looked at."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from gamewarden.errors import ModelError

PERCENTILES = 101
LARGEST, SMALLEST = 1e15, 1e-15  # no number of a real model is beyond; sums and quotients of these stay finite
_Check = Callable[[Any], bool]


@dataclass(frozen=True)
class _Fact:
    """What a value must be: the test, and the words for it."""

    holds: _Check
    words: str


def logistic_fields(values: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a logistic model, checked, with rows of numbers as tuples.

    Raises:
        ModelError: a value is missing, superfluous, or not what it must be.
    """
    _look_at(values, _LOGISTIC, _LOGISTIC_COLUMN)
    used = [column["name"] for column in values["columns"]]
    _agree(
        values,
        {
            "columns and left_out together are the recipe's columns": sorted([*used, *values["left_out"]])
            == sorted(values["recipe"]["columns"])
        },
    )
    return _with_tuples(values)


def action_fields(values: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a chunk classifier, checked, with rows of numbers as tuples.

    Raises:
        ModelError: a value is missing, superfluous, or not what it must be.
    """
    _look_at(values, _ACTIONS, _ACTION_COLUMN)
    names = [column["name"] for column in values["columns"]]
    facts = {"every column is there once": len(set(names)) == len(names)}
    if values["stage"] is not None:
        _same_keys(values.get("id"), "stage", values["stage"], _STAGE)
        for key, fact in _STAGE.items():
            _must(values.get("id"), f"stage.{key}", values["stage"][key], fact)
        kinds = {f"done_{kind}" for kind in values["stage"]["most"]}
        facts["the first stage knows the kinds of the columns"] = kinds == set(names)
    _agree(values, facts)
    return _with_tuples(values)


def table_fields(values: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a model of an operator's own table, checked, with rows of numbers as tuples; trees as they came.

    Raises:
        ModelError: a value is missing, superfluous, or not what it must be.
    """
    _look_at(values, _TABLE, _TABLE_COLUMN)
    names = [column["name"] for column in values["columns"]]
    pairs = [f"{over} / {under}" for over, under in values["ratios"]]
    plain = set(names[: len(names) - len(pairs)])
    _agree(
        values,
        {
            "every column is there once": len(set(names)) == len(names),
            "the last columns are the ratios": pairs == names[len(plain) :],
            "a ratio is of two columns": all(name in plain for pair in values["ratios"] for name in pair),
        },
    )
    return _with_tuples(values)


def _look_at(values: Mapping[str, Any], model: "Mapping[str, _Fact]", columns: "Mapping[str, _Fact]") -> None:
    name = values.get("id")
    _same_keys(name, "the model", values, model)
    for key, fact in model.items():
        _must(name, key, values[key], fact)
    for at, column in enumerate(values["columns"]):
        _same_keys(name, f"columns[{at}]", column, columns)
        for key, fact in columns.items():
            _must(name, f"columns[{at}].{key}", column[key], fact)
    _same_keys(name, "reference", values["reference"], _REFERENCE)
    for key, fact in _REFERENCE.items():
        _must(name, f"reference.{key}", values["reference"][key], fact)


def _with_tuples(values: Mapping[str, Any]) -> dict[str, Any]:
    return {
        **{key: value for key, value in values.items() if key != "id"},
        "columns": [{**column, "percentiles": tuple(column["percentiles"])} for column in values["columns"]],
        "reference": {key: tuple(v) if isinstance(v, list) else v for key, v in values["reference"].items()},
    }


def _agree(values: Mapping[str, Any], more: Mapping[str, bool]) -> None:
    """What must hold between the values."""
    reference = values["reference"]
    periods = values["training"]["periods"]
    facts = {
        **more,
        "reference values and weights are equally many": len(reference["values"]) == len(reference["weights"]),
        "reference weights add up to the humans": math.isclose(
            math.fsum(reference["weights"]), reference["humans"], rel_tol=1e-6
        ),
        "training counts periods of both classes": periods.keys() == {"bot", "human"}
        and all(map(_count, periods.values())),
    }
    for fact, holds in facts.items():
        if not holds:
            raise ModelError(f"model {values.get('id')!r}: it does not hold that {fact}; fit it again")


def _same_keys(name: object, where: str, given: Any, wanted: Mapping[str, _Fact]) -> None:  # noqa: ANN401 - from a file
    if not isinstance(given, Mapping):
        raise ModelError(f"model {name!r}: {where} is {type(given).__name__}, not an object; fit it again")
    missing, extra = sorted(wanted.keys() - given.keys()), sorted(given.keys() - wanted.keys())
    if missing:
        raise ModelError(f"model {name!r}: {where} lacks {', '.join(missing)}; fit it again")
    if extra:
        raise ModelError(f"model {name!r}: {where} holds {', '.join(extra)}, which no such model has; fit it again")


def _must(name: object, where: str, value: Any, fact: _Fact) -> None:  # noqa: ANN401 - from a file
    if not fact.holds(value):
        raise ModelError(f"model {name!r}: {where} is not {fact.words}; fit it again")


def _text(value: object) -> bool:
    return isinstance(value, str) and value != ""


def _finite(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and -LARGEST <= value <= LARGEST


def _count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 1


def _whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= LARGEST


def _interval(value: object) -> bool:
    return isinstance(value, str) and value.startswith("i_") and value[2:].isdecimal()


def _rising(value: object) -> bool:
    return isinstance(value, list) and all(map(_finite, value)) and all(a <= b for a, b in pairwise(value))


def _texts(value: object) -> bool:
    return isinstance(value, dict) and all(_text(key) and _text(text) for key, text in value.items())


_TEXT = _Fact(_text, "a text")
_NUMBER = _Fact(_finite, f"a finite number within ±{LARGEST:g}")
_POSITIVE = _Fact(lambda v: _finite(v) and v >= SMALLEST, f"a finite number above {SMALLEST:g}")

_SHARED: Mapping[str, _Fact] = {
    "id": _TEXT,
    "detector": _TEXT,
    "feature": _Fact(
        lambda v: (
            isinstance(v, dict)
            and v.keys() == {"name", "options"}
            and _text(v["name"])
            and isinstance(v["options"], dict)
        ),
        "a feature's name and options",
    ),
    "data": _TEXT,
    "columns": _Fact(lambda v: isinstance(v, list) and bool(v), "a list of at least one column"),
    "strength": _POSITIVE,
    "intercept": _NUMBER,
    "slope": _POSITIVE,
    "offset": _NUMBER,
    "reference": _Fact(lambda v: isinstance(v, dict), "an object"),
    "training": _Fact(
        lambda v: isinstance(v, dict) and isinstance(v.get("periods"), dict), "counts with their periods"
    ),
    "validation": _Fact(lambda v: isinstance(v, dict) and _finite(v.get("auc")), "results with their AUC"),
}
_PERCENTILES = _Fact(lambda v: _rising(v) and len(v) == PERCENTILES, f"{PERCENTILES} rising numbers")
_LOGISTIC: Mapping[str, _Fact] = {
    **_SHARED,
    "recipe": _Fact(
        lambda v: isinstance(v, dict) and isinstance(v.get("columns"), list) and all(map(_text, v["columns"])),
        "a recipe with its columns",
    ),
    "left_out": _Fact(_texts, "reasons by feature"),
}
_LOGISTIC_COLUMN: Mapping[str, _Fact] = {
    "name": _TEXT,
    "log": _Fact(lambda v: isinstance(v, bool), "true or false"),
    "mean": _NUMBER,
    "deviation": _POSITIVE,
    "weight": _NUMBER,
    "percentiles": _PERCENTILES,
}
_ACTIONS: Mapping[str, _Fact] = {
    **_SHARED,
    "recipe": _Fact(
        lambda v: isinstance(v, dict) and _count(v.get("enough")), "a recipe that says how many actions are enough"
    ),
    "stage": _Fact(lambda v: v is None or isinstance(v, dict), "an object or null"),
}
_ACTION_COLUMN: Mapping[str, _Fact] = {
    "name": _Fact(
        lambda v: (_text(v) and v.startswith(("done_", "a_", "m_", "d_"))) or _interval(v), "a number of a chunk"
    ),
    "mean": _NUMBER,
    "weight": _NUMBER,
    "percentiles": _PERCENTILES,
}
_TABLE: Mapping[str, _Fact] = {
    **_SHARED,
    "recipe": _Fact(
        lambda v: isinstance(v, dict) and _finite(v.get("enough")), "a recipe that says how much of a row is enough"
    ),
    "ratios": _Fact(
        lambda v: isinstance(v, list) and all(isinstance(p, list) and len(p) == len("ab") and all(map(_text, p)) for p in v),
        "pairs of columns",
    ),
    "left_out": _Fact(_texts, "reasons by feature"),
    "forest": _Fact(lambda v: isinstance(v, dict), "an object"),
}
_TABLE_COLUMN: Mapping[str, _Fact] = {
    "name": _TEXT,
    "mean": _NUMBER,
    "deviation": _POSITIVE,
    "weight": _NUMBER,
    "percentiles": _PERCENTILES,
}
_STAGE: Mapping[str, _Fact] = {
    "rho": _Fact(lambda v: v is None or (_finite(v) and v >= 1), "null or a number from 1 on"),
    "most": _Fact(
        lambda v: isinstance(v, dict) and all(_text(kind) and _whole(count) for kind, count in v.items()),
        "counts by kind",
    ),
    "mean_over": _Fact(lambda v: v in ("performed", "all"), "performed or all"),
}
_REFERENCE: Mapping[str, _Fact] = {
    "values": _Fact(_rising, "a row of rising numbers"),
    "weights": _Fact(
        lambda v: isinstance(v, list) and all(_finite(w) and 0 < w <= 1 for w in v),
        "a row of numbers above 0, at most 1",
    ),
    "humans": _Fact(_count, "a whole number above 0"),
}
