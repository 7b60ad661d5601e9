"""Models at rest: one JSON file a model, named by its recipe and data, refused when a byte of it was changed.

Loading parses JSON and runs nothing.
"""

import logging
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from gamewarden.contracts import Recipe, model_id
from gamewarden.core.files import write_text
from gamewarden.errors import ModelError, WriteError
from gamewarden.store.sealed import Seal

SEAL = Seal("gamewarden-model", 1, "model", "fit it again", ModelError)
_log = logging.getLogger("gamewarden")
_NAME = re.compile(r"(?P<detector>[a-z0-9][a-z0-9-]*)@(?P<digest>[0-9a-f]{12})")
_PARTS = {"id", "detector", "recipe", "feature", "data"}


@dataclass(frozen=True)
class Stored:
    """A model file, by its name alone."""

    path: Path
    id: str

    @property
    def detector(self) -> str:
        """The detector's name."""
        return self.id.partition("@")[0]


class Written(Protocol):
    """What can be kept as JSON under its own name."""

    def to_dict(self) -> dict[str, Any]:
        """All of it as JSON values."""


def save(model: Written, directory: Path) -> Path:
    """Write the model as `<detector>@<digest>.json`, whole or not at all; the same model again changes nothing.

    Raises:
        WriteError: the directory cannot be written, or a model of this name and other numbers is in it.
    """
    values = model.to_dict()
    path = directory / f"{values['id']}.json"
    _refuse_other_numbers(path, values)
    write_text(path, SEAL.text(values))
    return path


def load(path: Path) -> dict[str, Any]:
    """The values of a model file, unharmed and under its right name.

    Raises:
        ModelError: the file is missing, too large, not JSON, of another format or version, changed, or misnamed.
    """
    values = SEAL.open(path)
    _refuse_misnamed(path, values)
    _log.info("model: %s", path)
    return values


def stored(directory: Path) -> list[Stored]:
    """The models of a directory, the newest file last; files with other names are none of ours.

    Raises:
        ModelError: there is no such directory.
    """
    if not directory.is_dir():
        raise ModelError(f"{directory}: there is no such directory; `gamewarden fit … --to {directory}` makes it")
    files = [path for path in directory.glob("*.json") if is_id(path.stem)]
    return [Stored(path, path.stem) for path in sorted(files, key=lambda path: (path.stat().st_mtime_ns, path.name))]


def is_id(text: str) -> bool:
    """Whether this is how a model is named."""
    return _NAME.fullmatch(text) is not None


def newest(directory: Path) -> list[Stored]:
    """The newest model of each detector, sorted by the detector's name.

    Raises:
        ModelError: there is no such directory, or no model in it.
    """
    last = {model.detector: model for model in stored(directory)}
    if not last:
        raise ModelError(f"{directory}: there is no model in it; `gamewarden fit … --to {directory}` makes one")
    return [last[detector] for detector in sorted(last)]


def _refuse_other_numbers(path: Path, values: Mapping[str, Any]) -> None:
    """Scores were given under this name, so it keeps its meaning; only a damaged file is written anew."""
    if not path.exists():
        return
    try:
        known = load(path)
    except ModelError:
        return
    if known != values:
        raise WriteError(
            f"{path}: is there with other numbers, as another version of gamewarden or of its libraries learns them; "
            "a model never changes, so keep this one in another directory"
        )


def _refuse_misnamed(path: Path, values: Mapping[str, Any]) -> None:
    if missing := sorted(_PARTS - values.keys()):
        raise ModelError(f"{path}: the model lacks {', '.join(missing)}; fit it again")
    feature = values["feature"]
    if not _is_recipe(feature) or not isinstance(values["recipe"], dict):
        raise ModelError(f"{path}: the model's recipe or feature is not an object with its options; fit it again")
    # A model that learned what to measure is named after what it was trained on, kept as its details.
    trained_on = values["details"] if _is_recipe(values.get("details")) else feature
    parts = str(values["detector"]), values["recipe"], Recipe(str(trained_on["name"]), trained_on["options"])
    made = model_id(*parts, str(values["data"]))
    if values["id"] != made:
        raise ModelError(f"{path}: the model calls itself {values['id']!r}, but its recipe and data make it {made!r}")
    if is_id(path.stem) and path.stem != made:
        raise ModelError(f"{path}: the file's name is not that of the model in it, {made!r}; rename it")


def _is_recipe(value: object) -> bool:
    return isinstance(value, dict) and value.keys() == {"name", "options"} and isinstance(value["options"], dict)
