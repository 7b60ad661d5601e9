"""How good a model was, by split, in a file beside the model: `<model id>.results.json`, refused if it was changed."""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from gamewarden.core.files import write_text
from gamewarden.errors import ModelError
from gamewarden.store.sealed import Seal

SEAL = Seal("gamewarden-results", 1, "evaluation", "evaluate the model again", ModelError)
# What an evaluation holds, and what each must be.
_TABLES = ("splits", "families", "people", "fprs", "labels")
_LINES = ("warnings", "notes")
_BY_SPLIT = (
    *("split", "detector", "bots", "humans", "auc", "auc_low", "auc_high", "tpr_at_1pct", "precision_at_1pct"),
    *("prevalence", "ever_flagged", "hours_to_detection", "tied", "flatters"),
)
_BY_FAMILY = ("split", "family", "bots", "auc", "tpr", "tpr_low", "tpr_high")
_SHARES = ("auc", "auc_low", "auc_high", "tpr_at_1pct", "tpr_at_0_1pct", "precision_at_1pct", "tied")


def results_path(directory: Path, model_id: str) -> Path:
    """Where the results of a model are kept."""
    return directory / f"{model_id}.results.json"


def save_results(directory: Path, model_id: str, results: Mapping[str, Any]) -> Path:
    """Write the results of a model, whole or not at all; earlier results of the same model are replaced.

    Raises:
        ModelError: these are no results.
        WriteError: the directory cannot be written.
    """
    path = results_path(directory, model_id)
    values = {"model": model_id, **results}
    _refuse(path, values, model_id)
    write_text(path, SEAL.text(values))
    return path


def load_results(directory: Path, model_id: str) -> dict[str, Any] | None:
    """The results of a model, or None where it was never evaluated.

    Raises:
        ModelError: the file is damaged, of another format or version, or of another model.
    """
    path = results_path(directory, model_id)
    if not path.exists():
        return None
    values = SEAL.open(path)
    _refuse(path, values, model_id)
    return values


def results_in_short(results: Mapping[str, Any]) -> dict[str, list[Any]]:
    """What a card shows of the results, by heading; accounts, not periods."""
    by_split = [_shown(row, _BY_SPLIT) for row in results["splits"] if row["unit"] == "actor"]
    families = [_shown(row, _BY_FAMILY) for row in results["families"]]
    return {
        "by split": by_split,
        "by family": families,
        "people flagged": results["people"],
        "fprs": results["fprs"],
        "labels": results["labels"],
        "warnings": results["warnings"],
    }


def _shown(row: Mapping[str, Any], names: Sequence[str]) -> dict[str, Any]:
    return {name: row.get(name) for name in names}


def _refuse(path: Path, values: Mapping[str, Any], model_id: str) -> None:
    if values.get("model") != model_id:
        raise ModelError(f"{path}: these are results of {values.get('model')!r}, not of {model_id!r}; evaluate it anew")
    for name in (*_TABLES, *_LINES):
        wanted = dict if name in _TABLES else str
        found = values.get(name)
        if not isinstance(found, list) or not all(isinstance(row, wanted) for row in found):
            raise ModelError(
                f"{path}: {name} is no list of {'rows' if wanted is dict else 'sentences'}; evaluate it anew"
            )
    for row in values["splits"]:
        _refuse_row(path, row)


def _refuse_row(path: Path, row: Mapping[str, Any]) -> None:
    for name in ("split", "detector", "unit"):
        if not isinstance(row.get(name), str):
            raise ModelError(f"{path}: a row of results has {row.get(name)!r} as its {name}; evaluate the model anew")
    for name in _SHARES:
        value = row.get(name)
        if value is not None and not (_is_number(value) and 0 <= value <= 1):
            raise ModelError(f"{path}: {name} of the split by {row['split']} is {value!r}, which is no share")


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
