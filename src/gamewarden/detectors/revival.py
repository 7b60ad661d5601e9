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


def session_fields(values: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a classifier of sessions, checked, with rows of numbers as tuples.

    Raises:
        ModelError: a value is missing, superfluous, or not what it must be.
    """
    _look_at(values, _SESSIONS, _SESSION_COLUMN)
    name, machine = values.get("id"), values["machine"]
    wanted = _NETWORK if machine.get("kind") == "network" else _NEIGHBOURS
    _same_keys(name, "machine", machine, wanted)
    for key, fact in wanted.items():
        _must(name, f"machine.{key}", machine[key], fact)
    names = [column["name"] for column in values["columns"]]
    inputs = len(names) + sum(column["flag"] for column in values["columns"])
    _agree(values, {"its columns are the recipe's": names == values["recipe"]["columns"], **_shapes(machine, inputs)})
    return _with_tuples(values)


def _shapes(machine: Mapping[str, Any], inputs: int) -> dict[str, bool]:
    """What must hold between the rows of a machine over so many inputs."""
    if machine["kind"] == "network":
        return {
            "a hidden unit has a weight an input and a bias": all(len(row) == inputs + 1 for row in machine["hidden"]),
            "the output has a weight a hidden unit and a bias": len(machine["output"]) == len(machine["hidden"]) + 1,
        }
    return {
        "a known session has a number an input": all(len(row) == inputs for row in machine["known"]),
        "each known session is a bot's or a human's": len(machine["bots"]) == len(machine["known"]),
        "sessions of both are known": set(machine["bots"]) == {True, False},
        "distances are whitened by a square": machine["whitening"] == []
        or [len(row) for row in machine["whitening"]] == [inputs] * inputs,
    }


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


def _numbers(value: object) -> bool:
    return isinstance(value, list) and all(map(_finite, value))


def _table(value: object) -> bool:
    return isinstance(value, list) and all(map(_numbers, value))


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
_SESSIONS: Mapping[str, _Fact] = {
    **{key: fact for key, fact in _SHARED.items() if key not in {"strength", "intercept"}},
    "recipe": _LOGISTIC["recipe"],
    "machine": _Fact(
        lambda v: isinstance(v, dict) and v.get("kind") in ("network", "neighbours"), "a network or neighbours"
    ),
}
_SESSION_COLUMN: Mapping[str, _Fact] = {
    "name": _TEXT,
    "center": _NUMBER,
    "spread": _POSITIVE,
    "fill": _NUMBER,
    "flag": _Fact(lambda v: isinstance(v, bool), "true or false"),
    "percentiles": _PERCENTILES,
}
_NETWORK: Mapping[str, _Fact] = {
    "kind": _TEXT,
    "hidden": _Fact(lambda v: _table(v) and bool(v), "rows of numbers, one at least"),
    "output": _Fact(_numbers, "a row of numbers"),
}
_NEIGHBOURS: Mapping[str, _Fact] = {
    "kind": _TEXT,
    "form": _Fact(lambda v: v in ("published", "cosine", "euclid", "mahalanobis"), "a form of vector angles"),
    "neighbours": _Fact(lambda v: _count(v) and v % 2 == 1, "an odd number"),
    "known": _Fact(lambda v: _table(v) and bool(v), "rows of numbers, one at least"),
    "bots": _Fact(lambda v: isinstance(v, list) and all(isinstance(one, bool) for one in v), "a row of true and false"),
    "whitening": _Fact(_table, "rows of numbers"),
}
