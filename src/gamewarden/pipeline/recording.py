"""From a judgement to documents that last: each verdict with the numbers, models and sources it rests on."""

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import polars as pl

from gamewarden import __version__
from gamewarden.contracts import Fingerprint, Progress, Source, no_progress
from gamewarden.files import names_kept_together
from gamewarden.learning.calibration import short_options
from gamewarden.pipeline.judging import Judgement, Verdicts
from gamewarden.store import verdicts
from gamewarden.store.verdicts import Recorded, feature_name, model_values
from gamewarden.verdicts.grounds import evidence_behind, rows_behind
from gamewarden.verdicts.periods import KEY, Key, by_period
from gamewarden.verdicts.points import CONSERVATIVE, PROGRESSIVE

_AT_ONCE = 20_000  # verdicts whose grounds are held together


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
            chosen = told if every_one else told.filter(point.is_in([CONSERVATIVE, PROGRESSIVE]))
            for some in chosen.iter_slices(_AT_ONCE):
                grounds = _Grounds(judgement.grounds(some), some, held)
                for verdict in some.iter_rows(named=True):
                    new += verdicts.save(grounds.document(verdict), to)
                    progress(1)
            kept += chosen.height
    return Recorded(new, kept - new, judgement.rows - kept)


class _Grounds:
    """What the verdicts of one judgement rest on, by actor and period."""

    def __init__(self, judgement: Judgement, chosen: pl.DataFrame, source: Fingerprint) -> None:
        self._shared = {
            "gamewarden": __version__,
            "rules": judgement.rules.values(),
            "fusion": None if judgement.fusion is None else model_values(judgement.fusion),
            "models": [model_values(model) | {"feature": feature_name(model.feature)} for model in judgement.models],
            "source": asdict(source),
            "caveats": list(judgement.caveats),
        }
        cut = judgement.rules.cut
        self._recipes = {feature_name(model.feature): model.feature for model in judgement.models}
        measured = {feature_name(model.feature): judgement.features[model.card.id] for model in judgement.models}
        self._features = {name: by_period(rows_behind(chosen, table, cut), cut) for name, table in measured.items()}
        self._empty = {name: table.clear() for name, table in measured.items()}
        self._scores = by_period(rows_behind(chosen, judgement.scores, cut), cut)
        evidence = evidence_behind(chosen, judgement.models, judgement.features, cut)
        self._evidence, self._no_evidence = by_period(evidence, cut), evidence.clear()
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

    def _feature(self, name: str, key: Key) -> dict[str, Any]:
        recipe = self._recipes[name]
        table = self._features[name].get(key, self._empty[name])
        return {"name": recipe.name, "options": short_options(recipe.options), "table": verdicts.table_values(table)}
