"""A stored model is believed only after every value in it was looked at."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from gamewarden.learning.abstaining import check_held_out
from gamewarden.learning.styles import Styles
from gamewarden.learning.validation import LARGEST, SMALLEST
from gamewarden.learning.validation import NUMBER as _NUMBER
from gamewarden.learning.validation import POSITIVE as _POSITIVE
from gamewarden.learning.validation import TEXT as _TEXT
from gamewarden.learning.validation import TRAINING as _TRAINING
from gamewarden.learning.validation import Rule as _Rule
from gamewarden.learning.validation import agree as _facts_agree
from gamewarden.learning.validation import check_days as _check_days
from gamewarden.learning.validation import check_fields as _check_object
from gamewarden.learning.validation import check_people as _check_people
from gamewarden.learning.validation import check_ranges as _check_ranges
from gamewarden.learning.validation import check_reference as _check_reference
from gamewarden.learning.validation import check_styles as _check_styles
from gamewarden.learning.validation import count as _count
from gamewarden.learning.validation import finite as _finite
from gamewarden.learning.validation import rising as _rising
from gamewarden.learning.validation import text as _text
from gamewarden.learning.validation import whole as _whole

PERCENTILES = 101
_ROUNDING = 1e-6
__all__ = ["LARGEST", "PERCENTILES", "SMALLEST", "action_fields", "logistic_fields", "table_fields"]


def logistic_fields(values: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a logistic model, checked, with rows of numbers as tuples.

    Raises:
        ModelError: a value is missing, superfluous, or not what it must be.
    """
    _check(values, _LOGISTIC, _LOGISTIC_COLUMN, optional=("styles", "held_out"))
    rule = None
    if "styles" in values:
        _check_styles(values.get("id"), values["styles"])
        rule = Styles.from_dict(values["styles"]["rule"])
    used = [column["name"] for column in values["columns"]]
    if "held_out" in values:
        check_held_out(values.get("id"), values["held_out"], used, rule)
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
    _check(values, _ACTIONS, _ACTION_COLUMN)
    names = [column["name"] for column in values["columns"]]
    facts = {"every column is there once": len(set(names)) == len(names)}
    if values["stage"] is not None:
        _check_object(values.get("id"), "stage", values["stage"], _STAGE)
        kinds = {f"done_{kind}" for kind in values["stage"]["most"]}
        facts["the first stage knows the kinds of the columns"] = kinds == set(names)
    _agree(values, facts)
    return _with_tuples(values)


def table_fields(values: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a model of an operator's own table, checked, with rows of numbers as tuples; trees as they came.

    Raises:
        ModelError: a value is missing, superfluous, or not what it must be.
    """
    _check(values, _TABLE, _TABLE_COLUMN)
    _check_peers(values.get("id"), values["peers"])
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


def _check(
    values: Mapping[str, Any],
    model: Mapping[str, _Rule],
    columns: Mapping[str, _Rule],
    optional: tuple[str, ...] = (),
) -> None:
    name = values.get("id")
    _check_object(name, "the model", values, model, (*optional, "people", "days", "ranges"))
    if "ranges" in values:
        _check_ranges(name, values["ranges"])
    for at, column in enumerate(values["columns"]):
        _check_object(name, f"columns[{at}]", column, columns)
    _check_reference(name, "reference", values["reference"])
    if "people" in values:
        _check_people(name, values["people"])
    if "days" in values:
        _check_days(name, values["days"])


def _check_peers(name: object, given: Any) -> None:  # noqa: ANN401 - from a file
    """The reference humans row by row: everything equally many, every step on its ladder."""
    _check_object(name, "peers", given, _PEERS)
    for at, ladder in enumerate(given["ladders"]):
        _check_object(name, f"peers.ladders[{at}]", ladder, _LADDER)
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


_SHARED: Mapping[str, _Rule] = {
    "id": _TEXT,
    "detector": _TEXT,
    "feature": _Rule(
        lambda v: (
            isinstance(v, dict)
            and v.keys() == {"name", "options"}
            and _text(v["name"])
            and isinstance(v["options"], dict)
        ),
        "a feature's name and options",
    ),
    "data": _TEXT,
    "columns": _Rule(lambda v: isinstance(v, list) and bool(v), "a list of at least one column"),
    "strength": _POSITIVE,
    "intercept": _NUMBER,
    "slope": _POSITIVE,
    "offset": _NUMBER,
    "reference": _Rule(lambda v: isinstance(v, dict), "an object"),
    "training": _TRAINING,
    "validation": _Rule(lambda v: isinstance(v, dict) and _finite(v.get("auc")), "results with their AUC"),
}
_PERCENTILES = _Rule(lambda v: _rising(v) and len(v) == PERCENTILES, f"{PERCENTILES} rising numbers")
_LOGISTIC: Mapping[str, _Rule] = {
    **_SHARED,
    "recipe": _Rule(
        lambda v: isinstance(v, dict) and isinstance(v.get("columns"), list) and all(map(_text, v["columns"])),
        "a recipe with its columns",
    ),
    "left_out": _Rule(_texts, "reasons by feature"),
    "correlations": _Rule(
        lambda v: isinstance(v, list) and all(isinstance(row, list) and all(map(_finite, row)) for row in v),
        "a table of numbers",
    ),
}
_LOGISTIC_COLUMN: Mapping[str, _Rule] = {
    "name": _TEXT,
    "log": _Rule(lambda v: isinstance(v, bool), "true or false"),
    "mean": _NUMBER,
    "deviation": _POSITIVE,
    "weight": _NUMBER,
    "percentiles": _PERCENTILES,
}
_ACTIONS: Mapping[str, _Rule] = {
    **_SHARED,
    "recipe": _Rule(
        lambda v: isinstance(v, dict) and _count(v.get("enough")), "a recipe that says how many actions are enough"
    ),
    "stage": _Rule(lambda v: v is None or isinstance(v, dict), "an object or null"),
}
_ACTION_COLUMN: Mapping[str, _Rule] = {
    "name": _Rule(
        lambda v: (_text(v) and v.startswith(("done_", "a_", "m_", "d_"))) or _interval(v), "a number of a chunk"
    ),
    "mean": _NUMBER,
    "weight": _NUMBER,
    "percentiles": _PERCENTILES,
}
_TABLE: Mapping[str, _Rule] = {
    **{key: fact for key, fact in _SHARED.items() if key != "strength"},
    "recipe": _Rule(
        lambda v: isinstance(v, dict) and _finite(v.get("enough")) and _text(v.get("promise")),
        "a recipe that says how much of a row is enough and to whom its alarm is a promise",
    ),
    "validation": _Rule(
        lambda v: _promises(v) and _SHARED["validation"].holds(v), "results with their AUC, and prices by promise"
    ),
    "peers": _Rule(lambda v: isinstance(v, dict), "an object"),
    "ratios": _Rule(
        lambda v: (
            isinstance(v, list) and all(isinstance(p, list) and len(p) == len("ab") and all(map(_text, p)) for p in v)
        ),
        "pairs of columns",
    ),
    "left_out": _Rule(_texts, "reasons by feature"),
    "smooth": _Rule(lambda v: isinstance(v, dict), "an object"),
    "sharp": _Rule(lambda v: isinstance(v, dict), "an object"),
}
_TABLE_COLUMN: Mapping[str, _Rule] = {
    "name": _TEXT,
    "mean": _NUMBER,
    "deviation": _POSITIVE,
    "weight": _NUMBER,
    "percentiles": _PERCENTILES,
    "information": _Rule(lambda v: _finite(v) and v >= 0, "a number from 0 on"),
}
_PEERS: Mapping[str, _Rule] = {
    "ladders": _Rule(lambda v: isinstance(v, list), "a list of ladders"),
    "persons": _Rule(_wholes, "a row of whole numbers"),
    "held_out": _Rule(_rising, "a row of rising numbers"),
    "steps": _Rule(lambda v: isinstance(v, list) and all(map(_wholes, v)), "rows of whole numbers"),
}
_LADDER: Mapping[str, _Rule] = {"column": _TEXT, "borders": _Rule(_rising, "rising numbers")}
_STAGE: Mapping[str, _Rule] = {
    "rho": _Rule(lambda v: v is None or (_finite(v) and v >= 1), "null or a number from 1 on"),
    "most": _Rule(
        lambda v: isinstance(v, dict) and all(_text(kind) and _whole(count) for kind, count in v.items()),
        "counts by kind",
    ),
    "mean_over": _Rule(lambda v: v in ("performed", "all"), "performed or all"),
}
