"""A stored classifier of sessions is believed only after every value in it was looked at."""

from collections.abc import Mapping
from typing import Any

from gamewarden.detectors.revival import PERCENTILES
from gamewarden.facts import (
    NUMBER,
    POSITIVE,
    TEXT,
    TRAINING,
    Fact,
    agree,
    count,
    finite,
    look_at,
    look_at_days,
    look_at_people,
    look_at_ranges,
    look_at_reference,
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
    look_at(name, "the model", values, _MODEL, ("people", "days", "ranges"))
    if "ranges" in values:
        look_at_ranges(name, values["ranges"])
    for at, column in enumerate(values["columns"]):
        look_at(name, f"columns[{at}]", column, _COLUMN)
    look_at_reference(name, "reference", values["reference"])
    if "people" in values:
        look_at_people(name, values["people"])
    if "days" in values:
        look_at_days(name, values["days"])
    look_at(name, "machine", values["machine"], _MACHINES[values["machine"]["kind"]])
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


_TRUTH = Fact(lambda v: isinstance(v, bool), "true or false")
_ROWS = Fact(lambda v: _table(v) and bool(v), "rows of numbers, one at least")
_NETWORK: Mapping[str, Fact] = {"kind": TEXT, "hidden": _ROWS, "output": Fact(_numbers, "a row of numbers")}
_NEIGHBOURS: Mapping[str, Fact] = {
    "kind": TEXT,
    "form": Fact(lambda v: v in _FORMS, "a form of vector angles"),
    "neighbours": Fact(lambda v: count(v) and v % 2 == 1, "an odd number"),
    "known": _ROWS,
    "bots": Fact(lambda v: isinstance(v, list) and all(map(_TRUTH.holds, v)), "a row of true and false"),
    "whitening": Fact(_table, "rows of numbers"),
}
_MACHINES: Mapping[str, Mapping[str, Fact]] = {"network": _NETWORK, "neighbours": _NEIGHBOURS}
_MODEL: Mapping[str, Fact] = {
    "id": TEXT,
    "detector": TEXT,
    "feature": Fact(_feature, "a feature's name and options"),
    "recipe": Fact(_recipe, "a recipe with its columns"),
    "data": TEXT,
    "columns": Fact(lambda v: isinstance(v, list) and bool(v), "a list of at least one column"),
    "machine": Fact(
        lambda v: isinstance(v, dict) and isinstance(v.get("kind"), str) and v["kind"] in _MACHINES,
        "a network or neighbours",
    ),
    "slope": POSITIVE,
    "offset": NUMBER,
    "reference": Fact(lambda v: isinstance(v, dict), "an object"),
    "training": TRAINING,
    "validation": Fact(lambda v: isinstance(v, dict) and finite(v.get("auc")), "results with their AUC"),
}
_COLUMN: Mapping[str, Fact] = {
    "name": TEXT,
    "center": NUMBER,
    "spread": POSITIVE,
    "fill": NUMBER,
    "flag": _TRUTH,
    "percentiles": Fact(lambda v: rising(v) and len(v) == PERCENTILES, f"{PERCENTILES} rising numbers"),
}
