"""From a judgement to documents that last: each verdict with the numbers, models and sources it rests on."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import polars as pl

from gamewarden import __version__
from gamewarden.contracts import Fingerprint, Model, Progress, Recipe, Source, canonical_json, digest, no_progress
from gamewarden.core.files import names_kept_together
from gamewarden.learning.calibration import short_options
from gamewarden.pipeline.judging import Judgement, Rules, Verdicts, evidence_behind, rows_behind
from gamewarden.store import verdicts
from gamewarden.store.sealed import sha256
from gamewarden.verdicts.periods import KEY, Clock, periods_of
from gamewarden.verdicts.points import ACT, WATCH

_Key = tuple[Any, ...]
_AT_ONCE = 20_000  # verdicts whose grounds are held together


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


def record(
    judgement: Verdicts, source: Source, to: Path, *, every_one: bool = False, progress: Progress = no_progress
) -> Recorded:
    """Keep the verdicts that reach an operating point, or every one, each with all it rests on.

    Raises:
        WriteError: the directory cannot be written.
    """
    held = source.fingerprint()
    new = kept = 0
    with names_kept_together():
        for piece in judgement.pieces():
            point = judgement.points.reached(piece)
            told = piece.with_columns(point)
            chosen = told if every_one else told.filter(point.is_in([ACT, WATCH]))
            for some in chosen.iter_slices(_AT_ONCE):
                grounds = _Grounds(judgement.grounds(some), some, held)
                for verdict in some.iter_rows(named=True):
                    new += verdicts.save(grounds.document(verdict), to)
                    progress(1)
            kept += chosen.height
    return Recorded(new, kept - new, judgement.rows - kept)


def feature_name(recipe: Recipe) -> str:
    """A digest that names a feature recipe inside a document."""
    return digest(recipe.name, canonical_json(dict(recipe.options)))


def rules_values(rules: Rules) -> dict[str, Any]:
    """The rules of a judgement as JSON values."""
    others = {name: getattr(rules, name) for name in ("repeated", "together", "bots", "covered")}
    return {"every": rules.cut.every, "time_zone": rules.cut.time_zone} | asdict(rules.points) | others


def model_values(model: Model) -> dict[str, Any]:
    """How a document names a model: by its id, and by what exactly was in it."""
    return {"id": model.card.id, "sha256": sha256(model.to_dict())}


class _Grounds:
    """What the verdicts of one judgement rest on, by actor and period."""

    def __init__(self, judgement: Judgement, chosen: pl.DataFrame, source: Fingerprint) -> None:
        self._shared = {
            "gamewarden": __version__,
            "rules": rules_values(judgement.rules),
            "fusion": None if judgement.fusion is None else model_values(judgement.fusion),
            "models": [model_values(model) | {"feature": feature_name(model.feature)} for model in judgement.models],
            "source": asdict(source),
            "caveats": list(judgement.caveats),
        }
        cut = judgement.rules.cut
        self._recipes = {feature_name(model.feature): model.feature for model in judgement.models}
        measured = {feature_name(model.feature): judgement.features[model.card.id] for model in judgement.models}
        self._features = {name: _by_period(rows_behind(chosen, table, cut), cut) for name, table in measured.items()}
        self._empty = {name: table.clear() for name, table in measured.items()}
        self._scores = _by_period(rows_behind(chosen, judgement.scores, cut), cut)
        evidence = evidence_behind(chosen, judgement.models, judgement.features, cut)
        self._evidence, self._no_evidence = _by_period(evidence, cut), evidence.clear()
        self._no_scores = judgement.scores.clear()

    def document(self, verdict: Mapping[str, Any]) -> dict[str, Any]:
        """All there is to keep of one verdict."""
        key = tuple(verdict[name] for name in KEY)
        times = {name: verdicts.time_text(verdict[name]) for name in ("since", "until")}
        return {
            **verdict,
            **times,
            **self._shared,
            "features": {name: self._feature(name, key) for name in self._recipes},
            "scores": verdicts.table_values(self._scores.get(key, self._no_scores)),
            "evidence": verdicts.table_values(self._evidence.get(key, self._no_evidence)),
        }

    def _feature(self, name: str, key: _Key) -> dict[str, Any]:
        recipe = self._recipes[name]
        table = self._features[name].get(key, self._empty[name])
        return {"name": recipe.name, "options": short_options(recipe.options), "table": verdicts.table_values(table)}


def _by_period(table: pl.DataFrame, cut: Clock) -> dict[_Key, pl.DataFrame]:
    """The rows of each actor and period they end in."""
    periods = periods_of(table, cut).rename({name: f"period {name}" for name in KEY})
    parts: Mapping[_Key, pl.DataFrame] = pl.concat([table, periods], how="horizontal").partition_by(
        periods.columns, as_dict=True, maintain_order=True
    )
    return {key: part.drop(periods.columns) for key, part in parts.items()}


def rows_of(models: Sequence[Model], tables: Mapping[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    """The table each model looks at, by the model's id."""
    return {model.card.id: tables[feature_name(model.feature)] for model in models}
