"""Models at rest: one JSON file a model, named by its recipe and data, refused when a byte of it was changed.

Loading parses JSON and runs nothing. The digest inside finds damage and careless edits; it is no signature: who can
write the directory can write a model.
"""

import hashlib
import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from gamewarden.contracts import Model, Recipe, canonical_json, model_id
from gamewarden.errors import ModelError
from gamewarden.files import write_text

FORMAT = "gamewarden-model"
VERSION = 1
LARGEST = 256 << 20  # bytes: ten million reference humans; more is not a model
DEEPEST = 32  # brackets within brackets: a model has about six
_NAME = re.compile(r"(?P<detector>[a-z0-9][a-z0-9-]*)@(?P<digest>[0-9a-f]{12})")
_CUT_OFF = re.compile(r"[-+.a-zA-Z]{0,4}\s*")  # nothing, or the beginning of a number or of a word, and no more
_PARTS = {"id", "detector", "recipe", "feature", "data"}
# What people mistake for, or disguise as, a model file.
_DISGUISES = {
    b"\x80": "a Python pickle, which could run code",
    b"PK": "a zip archive",
    b"\x1f\x8b": "gzip-compressed",
    b"\x93NUMPY": "a NumPy array",
    b"\x89HDF": "an HDF5 file",
    b"PAR1": "a Parquet file",
}


@dataclass(frozen=True)
class Stored:
    """A model file, by its name alone."""

    path: Path
    id: str

    @property
    def detector(self) -> str:
        """The detector's name."""
        return self.id.partition("@")[0]


def save(model: Model, directory: Path) -> Path:
    """Write the model as `<detector>@<digest>.json`, whole or not at all; the same model again changes nothing.

    Raises:
        WriteError: the directory cannot be written.
    """
    values = model.to_dict()
    path = directory / f"{values['id']}.json"
    envelope = {"format": FORMAT, "version": VERSION, "sha256": _sha256(values), "model": values}
    write_text(path, json.dumps(envelope, indent=1, ensure_ascii=False, allow_nan=False) + "\n")
    return path


def load(path: Path) -> dict[str, Any]:
    """The values of a model file, unharmed and under its right name.

    Raises:
        ModelError: the file is missing, too large, not JSON, of another format or version, changed, or misnamed.
    """
    envelope = _parse(path, _read(path))
    _refuse_foreign(path, envelope)
    values = envelope["model"]
    if _sha256(values) != envelope["sha256"]:
        raise ModelError(f"{path}: its content does not fit its sha256, so it was changed or damaged; fit it again")
    _refuse_misnamed(path, values)
    return dict(values)


def stored(directory: Path) -> list[Stored]:
    """The models of a directory, the newest file last; files with other names are none of ours.

    Raises:
        ModelError: there is no such directory.
    """
    if not directory.is_dir():
        raise ModelError(f"{directory}: there is no such directory; `gamewarden fit … --to {directory}` makes it")
    files = [path for path in directory.glob("*.json") if _NAME.fullmatch(path.stem)]
    return [Stored(path, path.stem) for path in sorted(files, key=lambda path: (path.stat().st_mtime_ns, path.name))]


def newest(directory: Path) -> list[Stored]:
    """The newest model of each detector, sorted by the detector's name.

    Raises:
        ModelError: there is no such directory, or no model in it.
    """
    last = {model.detector: model for model in stored(directory)}
    if not last:
        raise ModelError(f"{directory}: there is no model in it; `gamewarden fit … --to {directory}` makes one")
    return [last[detector] for detector in sorted(last)]


def _read(path: Path) -> str:
    try:
        size = path.stat().st_size
        if size > LARGEST:
            raise ModelError(f"{path}: {size:,} bytes are too many for a model (at most {LARGEST:,})")
        content = path.read_bytes()
    except OSError as error:
        raise ModelError(f"{path}: cannot be read ({error.strerror or error})") from error
    for start, kind in _DISGUISES.items():
        if content.startswith(start):
            raise ModelError(f"{path}: this is {kind}, not a model; models are JSON")
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ModelError(
            f"{path}: byte {error.start} is not UTF-8 text, so this is no model or a damaged one"
        ) from error


def _parse(path: Path, text: str) -> Any:  # noqa: ANN401 - whatever stands in the file
    if _depth(text) > DEEPEST:
        raise ModelError(f"{path}: brackets are nested deeper than {DEEPEST}; a model is flatter")

    def refuse(constant: str) -> NoReturn:
        raise ModelError(f"{path}: it holds {constant}, and a model's numbers are finite")

    def finite(digits: str) -> float:
        return number if math.isfinite(number := float(digits)) else refuse(digits)

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        if len(found := dict(pairs)) < len(pairs):
            raise ModelError(f"{path}: an object names a key twice, so it is unclear which one holds")
        return found

    try:
        return json.loads(text, parse_constant=refuse, parse_float=finite, object_pairs_hook=once)
    except json.JSONDecodeError as error:
        if _CUT_OFF.fullmatch(text, error.pos) or error.msg.startswith("Unterminated"):
            raise ModelError(f"{path}: it ends early, at byte {len(text.encode()):,}; copy or fit it again") from error
        raise ModelError(
            f"{path}:{error.lineno}: this is not JSON ({error.msg}), so no model or a damaged one"
        ) from error
    except ValueError as error:  # a whole number of thousands of digits
        raise ModelError(f"{path}: a number in it is too long to be one of a model") from error


def _depth(text: str) -> int:
    """How deep brackets are nested, quotes or not: a bound that costs no recursion."""
    depth = deepest = 0
    for match in re.finditer(r"[\[{\]}]", text):
        depth += 1 if match[0] in "[{" else -1
        deepest = max(deepest, depth)
    return deepest


def _refuse_foreign(path: Path, envelope: object) -> None:
    if not isinstance(envelope, dict) or envelope.get("format") != FORMAT:
        raise ModelError(f"{path}: this JSON is not a model of gamewarden (it lacks format {FORMAT!r})")
    version = envelope.get("version")
    if version != VERSION or isinstance(version, bool):
        newer = isinstance(version, int) and version > VERSION
        hint = "install a newer gamewarden" if newer else "fit it again"
        raise ModelError(f"{path}: its format version is {version!r} and this gamewarden reads {VERSION}; {hint}")
    if envelope.keys() != {"format", "version", "sha256", "model"} or not isinstance(envelope["model"], dict):
        raise ModelError(
            f"{path}: a model file holds format, version, sha256 and model, this one {', '.join(envelope)}"
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
    if _NAME.fullmatch(path.stem) and path.stem != made:
        raise ModelError(f"{path}: the file's name is not that of the model in it, {made!r}; rename it")


def _is_recipe(value: object) -> bool:
    return isinstance(value, dict) and value.keys() == {"name", "options"} and isinstance(value["options"], dict)


def _sha256(values: Mapping[str, Any]) -> str:
    return hashlib.sha256(canonical_json(values).encode()).hexdigest()
