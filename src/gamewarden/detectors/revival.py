"""A stored model is believed only after every value in it was looked at."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from gamewarden.detectors.abstaining import look_at_held_out
from gamewarden.facts import LARGEST, SMALLEST
from gamewarden.facts import NUMBER as _NUMBER
from gamewarden.facts import POSITIVE as _POSITIVE
from gamewarden.facts import TEXT as _TEXT
from gamewarden.facts import TRAINING as _TRAINING
from gamewarden.facts import Fact as _Fact
from gamewarden.facts import agree as _facts_agree
from gamewarden.facts import count as _count
from gamewarden.facts import finite as _finite
from gamewarden.facts import look_at as _look_at_object
from gamewarden.facts import look_at_days as _look_at_days
from gamewarden.facts import look_at_people as _look_at_people
from gamewarden.facts import look_at_ranges as _look_at_ranges
from gamewarden.facts import look_at_reference as _look_at_reference
from gamewarden.facts import look_at_styles as _look_at_styles
from gamewarden.facts import rising as _rising
from gamewarden.facts import text as _text
from gamewarden.facts import whole as _whole
from gamewarden.styles import Styles

PERCENTILES = 101
_ROUNDING = 1e-6
__all__ = ["LARGEST", "PERCENTILES", "SMALLEST", "action_fields", "logistic_fields", "table_fields"]


def logistic_fields(values: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a logistic model, checked, with rows of numbers as tuples.

    Raises:
        ModelError: a value is missing, superfluous, or not what it must be.
    """
    _look_at(values, _LOGISTIC, _LOGISTIC_COLUMN, optional=("styles", "held_out"))
    rule = None
    if "styles" in values:
        _look_at_styles(values.get("id"), values["styles"])
        rule = Styles.from_dict(values["styles"]["rule"])
    used = [column["name"] for column in values["columns"]]
    if "held_out" in values:
        look_at_held_out(values.get("id"), values["held_out"], used, rule)
    _agree(
        values,
        {
            "columns and left_out together are the recipe's columns": sorted([*used, *values["left_out"]])
            == sorted(values["recipe"]["columns"]),
            "correlations are those of the columns": _correlated(values["correlations"], len(used)),
        },
    )
    return {**_with_tuples(values), "correlations": tuple(map(tuple, values["correlations"]))}


def action_fields(values: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a chunk classifier, checked, with rows of numbers as tuples.

    Raises:
        ModelError: a value is missing, superfluous, or not what it must be.
    """
    _look_at(values, _ACTIONS, _ACTION_COLUMN)
    names = [column["name"] for column in values["columns"]]
    facts = {"every column is there once": len(set(names)) == len(names)}
    if values["stage"] is not None:
        _look_at_object(values.get("id"), "stage", values["stage"], _STAGE)
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
    _look_at_peers(values.get("id"), values["peers"])
    names = [column["name"] for column in values["columns"]]
    pairs = [f"{over} / {under}" for over, under in values["ratios"]]
    plain = set(names[: len(names) - len(pairs)])
    _agree(
        values,
        {
            "every column is there once": len(set(names)) == len(names),
            "the last columns are the ratios": pairs == names[len(plain) :],
            "a ratio is of two columns": all(name in plain for pair in values["ratios"] for name in pair),
            "a ladder stands on a column": all(ladder["column"] in plain for ladder in values["peers"]["ladders"]),
        },
    )
    return _with_tuples(values)


def _look_at(
    values: Mapping[str, Any],
    model: Mapping[str, _Fact],
    columns: Mapping[str, _Fact],
    optional: tuple[str, ...] = (),
) -> None:
    name = values.get("id")
    _look_at_object(name, "the model", values, model, (*optional, "people", "days", "ranges"))
    if "ranges" in values:
        _look_at_ranges(name, values["ranges"])
    for at, column in enumerate(values["columns"]):
        _look_at_object(name, f"columns[{at}]", column, columns)
    _look_at_reference(name, "reference", values["reference"])
    if "people" in values:
        _look_at_people(name, values["people"])
    if "days" in values:
        _look_at_days(name, values["days"])


def _look_at_peers(name: object, given: Any) -> None:  # noqa: ANN401 - from a file
    """The reference humans row by row: everything equally many, every step on its ladder."""
    _look_at_object(name, "peers", given, _PEERS)
    for at, ladder in enumerate(given["ladders"]):
        _look_at_object(name, f"peers.ladders[{at}]", ladder, _LADDER)
    rows = len(given["held_out"])
    pairs = list(zip(given["ladders"], given["steps"], strict=False))
    facts = {
        "peers has a row of steps for each ladder": len(given["steps"]) == len(given["ladders"]),
        "peers persons, held_out and steps are equally many": all(
            len(part) == rows for part in (given["persons"], *given["steps"])
        ),
        "every step is on its ladder": all(
            step <= 1 + len(ladder["borders"]) for ladder, steps in pairs for step in steps
        ),
    }
    _facts_agree(name, facts)


def _wholes(value: object) -> bool:
    return isinstance(value, list) and all(map(_whole, value))


def _promises(value: object) -> bool:
    """No prices of promises, or rows of texts and numbers."""
    rows = value.get("promises", {}) if isinstance(value, dict) else None
    return isinstance(rows, dict) and all(
        isinstance(row, dict) and all(_text(part) or _finite(part) for part in row.values()) for row in rows.values()
    )


def _with_tuples(values: Mapping[str, Any]) -> dict[str, Any]:
    return {
        **{key: value for key, value in values.items() if key != "id"},
        "columns": [{**column, "percentiles": tuple(column["percentiles"])} for column in values["columns"]],
        "reference": {key: tuple(v) if isinstance(v, list) else v for key, v in values["reference"].items()},
    }


def _agree(values: Mapping[str, Any], more: Mapping[str, bool]) -> None:
    """What must hold between the values."""
    periods = values["training"]["periods"]
    both = periods.keys() == {"bot", "human"} and all(map(_count, periods.values()))
    _facts_agree(values.get("id"), {**more, "training counts periods of both classes": both})


def _correlated(table: list[list[float]], count: int) -> bool:
    """Whether a table can be the correlations of so many columns: no sum of them varies less than not at all."""
    if [len(row) for row in table] != [count] * count:
        return False
    matrix = np.array(table, dtype=np.float64)
    plain = np.array_equal(matrix, matrix.T) and bool((np.diagonal(matrix) == 1).all())
    return plain and bool((np.abs(matrix) <= 1).all()) and float(np.linalg.eigvalsh(matrix)[0]) > -_ROUNDING


def _interval(value: object) -> bool:
    return isinstance(value, str) and value.startswith("i_") and value[2:].isdecimal()


def _texts(value: object) -> bool:
    return isinstance(value, dict) and all(_text(key) and _text(text) for key, text in value.items())


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
    "training": _TRAINING,
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
    "correlations": _Fact(
        lambda v: isinstance(v, list) and all(isinstance(row, list) and all(map(_finite, row)) for row in v),
        "a table of numbers",
    ),
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
    **{key: fact for key, fact in _SHARED.items() if key != "strength"},
    "recipe": _Fact(
        lambda v: isinstance(v, dict) and _finite(v.get("enough")) and _text(v.get("promise")),
        "a recipe that says how much of a row is enough and to whom its alarm is a promise",
    ),
    "validation": _Fact(
        lambda v: _promises(v) and _SHARED["validation"].holds(v), "results with their AUC, and prices by promise"
    ),
    "peers": _Fact(lambda v: isinstance(v, dict), "an object"),
    "ratios": _Fact(
        lambda v: (
            isinstance(v, list) and all(isinstance(p, list) and len(p) == len("ab") and all(map(_text, p)) for p in v)
        ),
        "pairs of columns",
    ),
    "left_out": _Fact(_texts, "reasons by feature"),
    "smooth": _Fact(lambda v: isinstance(v, dict), "an object"),
    "sharp": _Fact(lambda v: isinstance(v, dict), "an object"),
}
_TABLE_COLUMN: Mapping[str, _Fact] = {
    "name": _TEXT,
    "mean": _NUMBER,
    "deviation": _POSITIVE,
    "weight": _NUMBER,
    "percentiles": _PERCENTILES,
    "information": _Fact(lambda v: _finite(v) and v >= 0, "a number from 0 on"),
}
_PEERS: Mapping[str, _Fact] = {
    "ladders": _Fact(lambda v: isinstance(v, list), "a list of ladders"),
    "persons": _Fact(_wholes, "a row of whole numbers"),
    "held_out": _Fact(_rising, "a row of rising numbers"),
    "steps": _Fact(lambda v: isinstance(v, list) and all(map(_wholes, v)), "rows of whole numbers"),
}
_LADDER: Mapping[str, _Fact] = {"column": _TEXT, "borders": _Fact(_rising, "rising numbers")}
_STAGE: Mapping[str, _Fact] = {
    "rho": _Fact(lambda v: v is None or (_finite(v) and v >= 1), "null or a number from 1 on"),
    "most": _Fact(
        lambda v: isinstance(v, dict) and all(_text(kind) and _whole(count) for kind, count in v.items()),
        "counts by kind",
    ),
    "mean_over": _Fact(lambda v: v in ("performed", "all"), "performed or all"),
}
