"""A stored classifier of sessions is believed only after every value in it was looked at."""

from collections.abc import Mapping
from typing import Any

from gamewarden.learning.model_json import PERCENTILES
from gamewarden.learning.validation import (
    NUMBER,
    POSITIVE,
    TEXT,
    TRAINING,
    Rule,
    agree,
    check_days,
    check_fields,
    check_people,
    check_ranges,
    check_reference,
    count,
    finite,
    rising,
    text,
)

_FORMS = ("published", "cosine", "euclid", "mahalanobis")


def session_fields(values: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a classifier of sessions, checked, with rows of numbers as tuples.

    Raises:
        ModelError: a value is missing, superfluous, or not what it must be.
    """
    name = values.get("id")
    check_fields(name, "the model", values, _MODEL, ("people", "days", "ranges"))
    if "ranges" in values:
        check_ranges(name, values["ranges"])
    for at, column in enumerate(values["columns"]):
        check_fields(name, f"columns[{at}]", column, _COLUMN)
    check_reference(name, "reference", values["reference"])
    if "people" in values:
        check_people(name, values["people"])
    if "days" in values:
        check_days(name, values["days"])
    check_fields(name, "machine", values["machine"], _MACHINES[values["machine"]["kind"]])
    agree(name, _agreements(values))
    return {
        **{key: value for key, value in values.items() if key != "id"},
        "columns": [{**column, "percentiles": tuple(column["percentiles"])} for column in values["columns"]],
        "reference": {key: tuple(v) if isinstance(v, list) else v for key, v in values["reference"].items()},
    }


def _agreements(values: Mapping[str, Any]) -> dict[str, bool]:
    """What must hold between the values."""
    names = [column["name"] for column in values["columns"]]
    inputs = len(names) + sum(column["flag"] for column in values["columns"])
    periods = values["training"]["periods"]
    return {
        "its columns are the recipe's": names == values["recipe"]["columns"],
        "training counts periods of both classes": periods.keys() == {"bot", "human"}
        and all(map(count, periods.values())),
        **_shapes(values["machine"], inputs),
    }


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


def _numbers(value: object) -> bool:
    return isinstance(value, list) and all(map(finite, value))


def _table(value: object) -> bool:
    return isinstance(value, list) and all(map(_numbers, value))


def _recipe(value: object) -> bool:
    return isinstance(value, dict) and isinstance(value.get("columns"), list) and all(map(text, value["columns"]))


def _feature(value: object) -> bool:
    return (
        isinstance(value, dict)
        and value.keys() == {"name", "options"}
        and text(value["name"])
        and isinstance(value["options"], dict)
    )


_TRUTH = Rule(lambda v: isinstance(v, bool), "true or false")
_ROWS = Rule(lambda v: _table(v) and bool(v), "rows of numbers, one at least")
_NETWORK: Mapping[str, Rule] = {"kind": TEXT, "hidden": _ROWS, "output": Rule(_numbers, "a row of numbers")}
_NEIGHBOURS: Mapping[str, Rule] = {
    "kind": TEXT,
    "form": Rule(lambda v: v in _FORMS, "a form of vector angles"),
    "neighbours": Rule(lambda v: count(v) and v % 2 == 1, "an odd number"),
    "known": _ROWS,
    "bots": Rule(lambda v: isinstance(v, list) and all(map(_TRUTH.holds, v)), "a row of true and false"),
    "whitening": Rule(_table, "rows of numbers"),
}
_MACHINES: Mapping[str, Mapping[str, Rule]] = {"network": _NETWORK, "neighbours": _NEIGHBOURS}
_MODEL: Mapping[str, Rule] = {
    "id": TEXT,
    "detector": TEXT,
    "feature": Rule(_feature, "a feature's name and options"),
    "recipe": Rule(_recipe, "a recipe with its columns"),
    "data": TEXT,
    "columns": Rule(lambda v: isinstance(v, list) and bool(v), "a list of at least one column"),
    "machine": Rule(
        lambda v: isinstance(v, dict) and isinstance(v.get("kind"), str) and v["kind"] in _MACHINES,
        "a network or neighbours",
    ),
    "slope": POSITIVE,
    "offset": NUMBER,
    "reference": Rule(lambda v: isinstance(v, dict), "an object"),
    "training": TRAINING,
    "validation": Rule(lambda v: isinstance(v, dict) and finite(v.get("auc")), "results with their AUC"),
}
_COLUMN: Mapping[str, Rule] = {
    "name": TEXT,
    "center": NUMBER,
    "spread": POSITIVE,
    "fill": NUMBER,
    "flag": _TRUTH,
    "percentiles": Rule(lambda v: rising(v) and len(v) == PERCENTILES, f"{PERCENTILES} rising numbers"),
}
