"""Verdicts at rest: one sealed JSON document each, with all it rests on, named by its content, never overwritten."""

import re
import weakref
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl

from gamewarden.contracts import Model, Recipe, canonical_json, digest
from gamewarden.core.files import write_text
from gamewarden.errors import VerdictError, WriteError
from gamewarden.store.sealed import Seal, sha256
from gamewarden.tables import TIME, DataType

SEAL = Seal("gamewarden-verdict", 4, "verdict", "judge the source again", VerdictError)
_NAME = re.compile(r"verdict@[0-9a-f]{24}")
_TYPES: Mapping[str, DataType] = {
    "time": TIME,
    **{str(dtype): dtype for dtype in (pl.String, pl.Boolean, pl.Float64, pl.Float32)},
    **{str(dtype): dtype for dtype in (pl.Int64, pl.Int32, pl.Int16, pl.Int8)},
    **{str(dtype): dtype for dtype in (pl.UInt64, pl.UInt32, pl.UInt16, pl.UInt8)},
}
MOST_CELLS = 1 << 23  # of all tables of a document together: a day of 1,440 chunks of 2,000 numbers has 3 million
_DIGESTS: dict[int, "tuple[weakref.ref[Model], str]"] = {}
_WORDS = {dtype: name for name, dtype in _TYPES.items()}
# What a document holds, and what each must be.
_PARTS: Mapping[str, type | tuple[type, ...]] = {
    "id": str,
    "actor": str,
    "since": str,
    "until": str,
    "probability": (float, int, type(None)),
    "fpr": (float, int, type(None)),
    "agree": int,
    "streak": int,
    "covered": (float, int, type(None)),
    "far": (str, type(None)),
    "point": (str, type(None)),
    "gamewarden": str,
    "rules": dict,
    "fusion": (dict, type(None)),
    "models": list,
    "features": dict,
    "scores": dict,
    "evidence": dict,
    "source": dict,
    "caveats": list,
}
# Provenance: rows of another player, days before, or a newer version that judges alike, make no other verdict.
_BESIDE = frozenset(("id", "gamewarden", "source", "caveats", "streak"))
_RULES: Mapping[str, type | tuple[type, ...]] = {
    "every": int,
    "time_zone": str,
    "repeated": (float, int),
    "together": (float, int),
    "bots": float,
    "watch": (float, int),
    "act": (float, int),
    "agree": int,
    "covered": (float, int),
}
_NAMED_RULES = {"combination": str, "rates": str}  # documents that were sealed under earlier rules have neither


def save(values: Mapping[str, Any], directory: Path) -> bool:
    """Write a verdict as `verdict@<digest>.json`, whole or not at all; False where it is there already.

    Raises:
        WriteError: the directory cannot be written, or another document has this name.
    """
    named = {"id": verdict_id(values), **values}
    path = directory / f"{named['id']}.json"
    if path.exists():
        if _grounds(load(path)) != _grounds(named):
            raise WriteError(f"{path}: another verdict has this name; keep these in another directory")
        return False
    write_text(path, SEAL.text(named, indent=None))
    return True


def load(path: Path) -> dict[str, Any]:
    """A verdict, unharmed and under its right name.

    Raises:
        VerdictError: the file is missing, no verdict, of another format or version, changed, or misnamed.
    """
    values = SEAL.open(path)
    _look_at(path, "it", values, _PARTS)
    named = _NAMED_RULES if _NAMED_RULES.keys() & values["rules"].keys() else {}
    _look_at(path, "rules", values["rules"], {**_RULES, **named})
    _refuse_size(path, values)
    if not all(isinstance(line, str) for line in values["caveats"]):
        raise VerdictError(f"{path}: caveats holds what is no text; judge the source again")
    made = verdict_id(values)
    if values["id"] != made:
        raise VerdictError(
            f"{path}: the verdict calls itself {values['id']!r}, but its content makes it {made!r}, so it was changed"
        )
    if _NAME.fullmatch(path.stem) and path.stem != made:
        raise VerdictError(f"{path}: the file's name is not that of the verdict in it, {made!r}; rename it")
    return values


def stored(place: Path) -> list[Path]:
    """The verdicts of a directory by name; a file stands for itself.

    Raises:
        VerdictError: there is no such place, or no verdict in it.
    """
    if not place.is_dir():
        return [place]
    found = sorted(path for path in place.glob("*.json") if _NAME.fullmatch(path.stem))
    if not found:
        raise VerdictError(f"{place}: there is no verdict in it; `gamewarden judge … --to {place}` keeps some")
    return found


def verdict_id(values: Mapping[str, Any]) -> str:
    """`verdict@digest` of all that a verdict rests on for its actor: the same on the same grounds anywhere.

    Where it was judged from, with which version, and what was said beside it are sealed with it, and name nothing.
    """
    return f"verdict@{sha256(_grounds(values))[:24]}"


def _grounds(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if name not in _BESIDE}


def table_values(frame: pl.DataFrame) -> dict[str, Any]:
    """A table as JSON values from which the very same table comes back.

    Raises:
        VerdictError: a column is of a type that documents do not hold.
    """
    return rows_values(columns_of(frame), range(frame.height))


Column = tuple[str, str, list[Any]]  # name, word for its type, values as JSON has them


def columns_of(frame: pl.DataFrame) -> list[Column]:
    """The columns of a table as documents hold them.

    Raises:
        VerdictError: a column is of a type that documents do not hold.
    """
    strange = [f"{name} ({dtype})" for name, dtype in frame.schema.items() if dtype not in _WORDS]
    if strange:
        raise VerdictError(f"verdict: a document cannot hold {', '.join(strange)}")
    return [(name, _WORDS[dtype], _plain(frame[name])) for name, dtype in frame.schema.items()]


def rows_values(columns: Sequence[Column], rows: Sequence[int]) -> dict[str, Any]:
    """Some rows of a table, by their places, as JSON values."""
    if len(rows) == 1:
        (row,) = rows
        return {"rows": 1, "columns": [[name, word, values[row]] for name, word, values in columns]}
    if rows and rows[-1] - rows[0] + 1 == len(rows):  # rising, and none between is left out
        first, end = rows[0], rows[-1] + 1
        told = [[name, word, _short(values[first:end])] for name, word, values in columns]
    else:
        told = [[name, word, _short([values[row] for row in rows])] for name, word, values in columns]
    return {"rows": len(rows), "columns": told}


def _short(values: list[Any]) -> Any:  # noqa: ANN401  a list, or the one value that stands in every row
    """Most columns of a wide table hold one value alone, often 0: written once."""
    first = values[0] if values else None
    return first if values.count(first) == len(values) else values


def table_of(values: object, where: str) -> pl.DataFrame:
    """The table back from JSON values.

    Raises:
        VerdictError: they are none.
    """
    if (_cells(values) or MOST_CELLS + 1) > MOST_CELLS:
        raise VerdictError(f"{where}: this is no table of a verdict; judge the source again")
    try:
        height: int = values["rows"]  # type: ignore[index]
        columns: list[Any] = values["columns"]  # type: ignore[index]
        made = [_column(str(name), word, held, height) for name, word, held in columns]
        return pl.DataFrame(made)
    except (KeyError, TypeError, ValueError, OverflowError, pl.exceptions.PolarsError) as error:
        raise VerdictError(f"{where}: this is no table of a verdict; judge the source again") from error


def time_text(at: datetime) -> str:
    """A time as documents write it."""
    return at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def time_of(text: str, where: str) -> datetime:
    """The time back.

    Raises:
        VerdictError: it is none.
    """
    try:
        at = datetime.fromisoformat(text)
    except (TypeError, ValueError) as error:
        raise VerdictError(f"{where}: {text!r} is no time; judge the source again") from error
    if at.tzinfo is None:
        raise VerdictError(f"{where}: {text!r} has no time zone; judge the source again")
    return at.astimezone(UTC)


def _plain(column: pl.Series) -> list[Any]:
    return (column.dt.strftime("%Y-%m-%dT%H:%M:%S%.6fZ") if column.dtype == TIME else column).to_list()


def _refuse_size(path: Path, values: Mapping[str, Any]) -> None:
    """A column whose rows are all alike is written once: what takes a line may be a table of any size."""
    measured = [part.get("table") for part in values["features"].values() if isinstance(part, Mapping)]
    cells = sum(_cells(table) or 0 for table in (*measured, values["scores"], values["evidence"]))
    if cells > MOST_CELLS:
        raise VerdictError(f"{path}: tables of {cells:,} cells are too large for a verdict (at most {MOST_CELLS:,})")


def _cells(table: object) -> int | None:
    """How many values a table has once it is made; None where it is no table."""
    height = table.get("rows") if isinstance(table, Mapping) else None
    columns = table.get("columns") if isinstance(table, Mapping) else None
    if not isinstance(height, int) or isinstance(height, bool) or height < 0 or not isinstance(columns, list):
        return None
    return max(height, 1) * max(len(columns), 1)


def _column(name: str, word: str, held: Any, height: int) -> pl.Series:  # noqa: ANN401  whatever stands in the file
    dtype = _TYPES[word]
    values = held if isinstance(held, list) else [held] * min(height, 1)
    if isinstance(held, list) and len(values) != height:
        raise ValueError(f"{name} has {len(values)} values")
    back = [time_of(value, name) if dtype == TIME and value is not None else value for value in values]
    made = pl.Series(name, back, dtype=dtype, strict=True)
    return made if len(made) == height else made.new_from_index(0, height)


def _look_at(path: Path, where: str, values: Mapping[str, Any], wanted: Mapping[str, Any]) -> None:
    missing, extra = sorted(wanted.keys() - values.keys()), sorted(values.keys() - wanted.keys())
    if missing or extra:
        odd = f"lacks {', '.join(missing)}" if missing else f"holds {', '.join(extra)}"
        raise VerdictError(f"{path}: {where} {odd}, which no verdict does; judge the source again")
    for name, kinds in wanted.items():
        value = values[name]
        if not isinstance(value, kinds) or isinstance(value, bool):
            raise VerdictError(f"{path}: {name} is {type(value).__name__}, which it never is; judge the source again")


@dataclass(frozen=True)
class Recorded:
    """How many verdicts were kept."""

    new: int
    known: int  # there already, to the letter
    left_out: int  # reached no operating point

    def sentences(self, place: Path) -> tuple[str, ...]:
        """What has to be said of it."""
        told = f"{self.new:,} verdicts are in {place}" + (f", {self.known:,} were there already" if self.known else "")
        more = f"{self.left_out:,} reach no operating point and are not kept; --all keeps every one"
        return (told, more) if self.left_out else (told,)


def feature_name(recipe: Recipe) -> str:
    """A digest that names a feature recipe inside a document."""
    return digest(recipe.name, canonical_json(dict(recipe.options)))


def model_values(model: Model) -> dict[str, Any]:
    """How a document names a model: by its id, and by what exactly was in it."""
    return {"id": model.card.id, "sha256": _digest_of(model)}


def _digest_of(model: Model) -> str:
    """Of all that is in a model; a model never changes, so that it is looked through once."""
    there = _DIGESTS.get(id(model))
    if there is None or there[0]() is not model:
        there = _DIGESTS[id(model)] = weakref.ref(model, partial(_forget, id(model))), sha256(model.to_dict())
    return there[1]


def _forget(number: int, gone: "weakref.ref[Model]") -> None:
    if number in _DIGESTS and _DIGESTS[number][0] is gone:
        del _DIGESTS[number]


def rows_of(models: Sequence[Model], tables: Mapping[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    """The table each model looks at, by the model's id."""
    return {model.card.id: tables[feature_name(model.feature)] for model in models}
