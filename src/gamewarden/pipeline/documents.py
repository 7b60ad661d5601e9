"""Verdicts as documents that last: each with all it rests on, and whether it still stands."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from gamewarden import __version__, detectors
from gamewarden.contracts import Fingerprint, Model, Progress, Source, no_progress
from gamewarden.core.files import names_kept_together
from gamewarden.detectors.fusion.model import FusionModel
from gamewarden.errors import GamewardenError, ModelError, VerdictError
from gamewarden.learning.calibration import short_options
from gamewarden.pipeline.judging import Judgement, Verdicts, judged
from gamewarden.pipeline.measuring import USUAL, RunOptions, feature_of, rows_to_judge
from gamewarden.store import models as stored_models
from gamewarden.store import verdicts
from gamewarden.store.verdict_changes import number_changes, row_changes, some_of
from gamewarden.store.verdicts import Recorded, feature_name, model_values, rows_of
from gamewarden.tables import TIME, DataType, first_line
from gamewarden.verdicts.grounds import evidence_behind, places_behind, rows_behind
from gamewarden.verdicts.periods import KEY, Clock, Key
from gamewarden.verdicts.points import ACT, WATCH
from gamewarden.verdicts.rules import VerdictRules

_AT_ONCE = 20_000  # verdicts whose grounds are held together


_ROW: dict[str, DataType] = {
    "verdict": pl.String,
    "actor": pl.String,
    "since": TIME,
    "until": TIME,
    "holds": pl.Boolean,
    "says": pl.String,
}


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
                behind = judgement.grounds(some)
                grounds, beside = Grounds.of(behind, some), shared_values(behind, held)
                for verdict in some.iter_rows(named=True):
                    new += verdicts.save(beside | grounds.values(verdict), to)
                    progress(1)
            kept += chosen.height
    return Recorded(new, kept - new, judgement.rows - kept)


def shared_values(judgement: Judgement, source: Fingerprint) -> dict[str, Any]:
    """What holds for all verdicts of a judgement, and names none of them."""
    return {
        "gamewarden": __version__,
        "source": asdict(source),
        "caveats": list(judgement.caveats),
        **_by_rules(judgement),
    }


def _by_rules(judgement: Judgement) -> dict[str, Any]:
    return {
        "rules": judgement.rules.values(),
        "fusion": None if judgement.fusion is None else model_values(judgement.fusion),
        "models": [model_values(model) | {"feature": feature_name(model.feature)} for model in judgement.models],
    }


def recipes_of(judgement: Judgement) -> dict[str, dict[str, Any]]:
    """What was measured for the models of a judgement, by the names that documents give it."""
    return {
        feature_name(model.feature): {"name": model.feature.name, "options": short_options(model.feature.options)}
        for model in judgement.models
    }


class Grounds:
    """What chosen verdicts rest on, by actor and period, as documents hold it."""

    def __init__(
        self,
        chosen: pl.DataFrame,
        facts: Mapping[str, Any],
        recipes: Mapping[str, Mapping[str, Any]],
        tables: "GroundTables",
        cut: Clock,
    ) -> None:
        self._rules = {name: facts[name] for name in ("rules", "fusion", "models")}
        self._recipes = recipes
        self._features = {name: _Slices(chosen, table, cut) for name, table in tables.features.items()}
        self._scores = _Slices(chosen, tables.scores, cut)
        self._evidence = _Slices(chosen, tables.evidence, cut)

    @classmethod
    def of(cls, judgement: Judgement, chosen: pl.DataFrame, evidence: pl.DataFrame | None = None) -> "Grounds":
        """From a judgement; where somebody has the evidence behind the chosen already, it is taken as it is."""
        cut = judgement.rules.cut
        measured = {feature_name(model.feature): judgement.features[model.card.id] for model in judgement.models}
        told = evidence_behind(chosen, judgement.models, judgement.features, cut) if evidence is None else evidence
        tables = GroundTables(measured, judgement.scores, told)
        return cls(chosen, _by_rules(judgement), recipes_of(judgement), tables, cut)

    def values(self, verdict: Mapping[str, Any]) -> dict[str, Any]:
        """All there is to keep of one verdict."""
        key = tuple(verdict[name] for name in KEY)
        times = {name: verdicts.time_text(verdict[name]) for name in ("since", "until")}
        return {
            **verdict,
            **times,
            **self._rules,
            "features": {name: self._feature(name, key) for name in self._recipes},
            "scores": self._scores.values(key),
            "evidence": self._evidence.values(key),
        }

    def ids(self, chosen: pl.DataFrame) -> list[str]:
        """The ids of the verdicts."""
        return [verdicts.verdict_id(self.values(verdict)) for verdict in chosen.iter_rows(named=True)]

    def _feature(self, name: str, key: Key) -> dict[str, Any]:
        table = self._features[name].values(key)
        return {**self._recipes[name], "table": table}


@dataclass(frozen=True)
class GroundTables:
    """The tables that verdicts rest on; rows of others among them do not matter."""

    features: Mapping[str, pl.DataFrame]  # by the names that documents give to recipes
    scores: pl.DataFrame
    evidence: pl.DataFrame


class _Slices:
    """The rows of a table that each of some verdicts rests on, by actor and period, as documents hold them."""

    def __init__(self, chosen: pl.DataFrame, table: pl.DataFrame, cut: Clock) -> None:
        places = places_behind(chosen, table, cut)
        needed = places["row"].unique().sort()
        found = places.with_columns(row=needed.search_sorted(places["row"])).sort("row", maintain_order=True)
        by_verdict = found.group_by(KEY, maintain_order=True).agg("row")
        self._rows: dict[Key, list[int]] = {tuple(key): rows for *key, rows in by_verdict.iter_rows()}
        self._columns = verdicts.columns_of(table[needed])

    def values(self, key: Key) -> dict[str, Any]:
        """The rows of one actor and period."""
        return verdicts.rows_values(self._columns, self._rows.get(key, []))


@dataclass(frozen=True)
class VerifyOptions:
    """What verdicts are looked at with: a shelf of models and a source, where they are at hand."""

    models: Path | None = None
    source: Source | None = None
    run: RunOptions = field(default=USUAL)


def verify(places: Sequence[Path], grounds: VerifyOptions, progress: Progress = no_progress) -> pl.DataFrame:
    """One row a verdict document: whether it holds, and what was found.

    Raises:
        VerdictError: a directory holds no verdict, or a source is given without models to measure it for.
        ReadError: the source cannot be read.
    """
    if grounds.source is not None and grounds.models is None:
        raise VerdictError("verify: to measure a source anew, the models must say how; give --models too")
    witness = _Witness(grounds, progress)
    rows = []
    for path in (path for place in places for path in verdicts.stored(place)):
        rows.append(witness.row(path))
        progress(1)
    return pl.DataFrame(rows, schema=_ROW)


class _Witness:
    """Looks at documents one after the other; a model is loaded and a source measured once."""

    def __init__(self, grounds: VerifyOptions, progress: Progress) -> None:
        self._grounds = grounds
        self._progress = progress
        self._models: dict[str, Model] = {}
        self._digests: dict[str, str] = {}
        self._measured: dict[str, pl.DataFrame] = {}
        self._source = None if grounds.source is None else grounds.source.fingerprint()

    def row(self, path: Path) -> dict[str, Any]:
        """What there is to say of one document."""
        try:
            values = verdicts.load(path)
            told = self._findings(values, str(path))
            times = {name: verdicts.time_of(values[name], str(path)) for name in ("since", "until")}
        except GamewardenError as error:
            return {"verdict": path.stem, "holds": False, "says": str(error).removeprefix(f"{path}: ")}
        except (pl.exceptions.PolarsError, OverflowError) as error:  # a number or text of a stranger's making
            return {
                "verdict": path.stem,
                "holds": False,
                "says": f"it holds what cannot be judged ({first_line(error)})",
            }
        wrong = [line for line, fine in told if not fine]
        other = f"judged by gamewarden {values['gamewarden']}, this is {__version__}"
        if wrong and values["gamewarden"] != __version__:
            wrong.append(other)
        says = "; ".join(wrong or [line for line, _ in told])
        return {"verdict": values["id"], "actor": values["actor"], **times, "holds": not wrong, "says": says}

    def _findings(self, values: Mapping[str, Any], where: str) -> list[tuple[str, bool]]:
        if VerdictRules.of(values["rules"]).earlier:
            return [("the document is whole; sealed under earlier rules, so it is not scored again", True)]
        if self._grounds.models is None:
            return [("the document is whole; with --models it is scored again", True)]
        named = [*values["models"], *([values["fusion"]] if values["fusion"] else [])]
        known = {_text(one, "id", where): one for one in named if isinstance(one, Mapping)}
        problems = [line for one in known.values() for line in self._unlike(one, self._grounds.models, where)]
        if problems or len(known) < len(named):
            return [(line, False) for line in problems or ["it names something that is no model"]]
        case = _Case.of(values, {name: self._models[name] for name in known}, where)
        found = [*case.differences(where)] or [("scores, evidence and verdict come out the same to the last bit", True)]
        return found if self._source is None else [*found, *self._measured_anew(values, case, where)]

    def _unlike(self, named: Mapping[str, Any], directory: Path, where: str) -> Iterable[str]:
        """What keeps a model from being the one that judged."""
        name = _text(named, "id", where)
        if not stored_models.is_id(name):
            raise VerdictError(f"{where}: {name!r} names no model; judge the source again")
        path = directory / f"{name}.json"
        if name not in self._models:
            if not path.exists():
                yield f"{name} is missing from {directory}"
                return
            try:
                self._models[name] = detectors.load_model(stored_models.load(path))
            except ModelError as error:
                yield f"{name} is refused: {str(error).removeprefix(f'{path}: ')}"
                return
            self._digests[name] = model_values(self._models[name])["sha256"]
        if self._digests[name] != named.get("sha256"):
            yield f"{name} holds other numbers than the model that judged"

    def _measured_anew(self, values: Mapping[str, Any], case: "_Case", where: str) -> Iterable[tuple[str, bool]]:
        same = self._source is not None and values["source"].get("digest") == self._source.digest
        period = pl.DataFrame(
            [[values["actor"], *(verdicts.time_of(values[name], where) for name in ("since", "until"))]],
            schema={"actor": pl.String, "since": TIME, "until": TIME},
            orient="row",
        )
        changes: list[str] = []
        for model in case.models:
            now = rows_behind(period, self._measure(model), case.rules.cut)
            changes += row_changes(case.features[model.card.id], now)
        if changes:
            told = "the source measures differently now" if same else "the source has changed"
            yield f"{told}: {some_of(list(dict.fromkeys(changes)))}", False
        elif same:
            yield "the source is the same and measures the same", True
        else:
            yield "the source has changed since, and still measures the same for this actor", True

    def _measure(self, model: Model) -> pl.DataFrame:
        name = feature_name(model.feature)
        if name not in self._measured and self._grounds.source is not None:
            feature = feature_of(model.feature)
            self._measured[name] = rows_to_judge(feature, self._grounds.source, self._grounds.run).frame
        return self._measured[name]


@dataclass(frozen=True)
class _Case:
    """A document with its tables and models at hand."""

    values: Mapping[str, Any]
    models: tuple[Model, ...]
    fusion: FusionModel | None
    features: Mapping[str, pl.DataFrame]  # by model
    rules: VerdictRules

    @classmethod
    def of(cls, values: Mapping[str, Any], known: Mapping[str, Model], where: str) -> "_Case":
        """From a document and the models it names."""
        fusion = known.get(values["fusion"]["id"]) if values["fusion"] else None
        if fusion is not None and not isinstance(fusion, FusionModel):
            raise VerdictError(f"{where}: {values['fusion']['id']} is no fusion; judge the source again")
        judges = [known[one["id"]] for one in values["models"]]
        models = tuple(model for model in judges if not isinstance(model, FusionModel))
        if not models or len(models) < len(judges):
            raise VerdictError(f"{where}: it names no model, or a fusion among them; judge the source again")
        if any(one.get("feature") != feature_name(known[one["id"]].feature) for one in values["models"]):
            raise VerdictError(f"{where}: it names another feature than one of its models measures; it was changed")
        tables = {
            name: verdicts.table_of(part.get("table") if isinstance(part, Mapping) else None, where)
            for name, part in values["features"].items()
        }
        try:
            features = rows_of(models, tables)
        except KeyError as error:
            raise VerdictError(f"{where}: it lacks what one of its models measured; judge the source again") from error
        return cls(values, models, fusion, features, VerdictRules.of(values["rules"]))

    def differences(self, where: str) -> Iterable[tuple[str, bool]]:
        """What does not come out as it stands in the document."""
        scores, found = judged(self.features, self.models, self.fusion, self.rules)
        yield from number_changes(
            "scores", verdicts.table_of(self.values["scores"], where), scores, ("probability", "fpr")
        )
        yield from self._verdict_differences(found)
        evidence = evidence_behind(found, self.models, self.features, self.rules.cut)
        kept = verdicts.table_of(self.values["evidence"], where)
        yield from number_changes("evidence", kept, evidence, ("value", "typical", "weight"))

    def _verdict_differences(self, verdicts_now: pl.DataFrame) -> Iterable[tuple[str, bool]]:
        """The streak rests on other periods and is not looked at."""
        found = verdicts_now.with_columns(self.rules.points.reached(verdicts_now)).to_dicts()
        if len(found) != 1:
            yield f"its numbers are of {len(found)} periods, not of one", False
            return
        times = {name: verdicts.time_text(found[0][name]) for name in ("since", "until")}
        again = found[0] | times
        for name in (*KEY, "probability", "fpr", "agree", "covered", "far", "point"):
            if again[name] != self.values[name]:
                yield f"{name} was {self.values[name]!r} and comes out as {again[name]!r}", False


def _text(values: Mapping[str, Any], name: str, where: str) -> str:
    found = values.get(name)
    if not isinstance(found, str):
        raise VerdictError(f"{where}: {name} of a model is {found!r}; judge the source again")
    return found
