"""Verdicts at rest, looked at again: one with all it rests on, and whole days scored anew."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from gamewarden import __version__, detectors
from gamewarden.contracts import Model, Progress, no_progress
from gamewarden.core.text import counted
from gamewarden.detectors.fusion.model import FusionModel
from gamewarden.errors import GamewardenError, VerdictError
from gamewarden.pipeline.documents import Grounds, GroundTables
from gamewarden.pipeline.judging import judged
from gamewarden.store import models as stored_models
from gamewarden.store.verdict_days import DaySeal, VerdictDays
from gamewarden.store.verdicts import SEAL, feature_name, model_values, verdict_id
from gamewarden.tables import DataType, first_line
from gamewarden.verdicts.grounds import evidence_behind
from gamewarden.verdicts.periods import KEY
from gamewarden.verdicts.rules import VerdictRules
from gamewarden.workspace.beside import facts_of, verdicts_of

_MEASURED = "features-"
_ROW: dict[str, DataType] = {
    "day": pl.String,
    "verdicts": pl.Int64,
    "kept": pl.Int64,
    "judged": pl.String,
    "holds": pl.Boolean,
    "says": pl.String,
}
_NUMBERS = ("probability", "fpr", "agree", "covered", "far", "point")


@dataclass(frozen=True)
class Shown:
    """One verdict with all it rests on."""

    values: Mapping[str, Any]  # as a document holds it
    seal: DaySeal
    evidence: pl.DataFrame
    scores: pl.DataFrame
    features: Mapping[str, pl.DataFrame]

    def text(self) -> str:
        """The document, sealed."""
        return SEAL.text({"id": verdict_id(self.values), **self.values}, indent=None)


def show(days: VerdictDays, verdict: str) -> Shown:
    """A verdict by its id, or by the beginning of it.

    Raises:
        VerdictError: there is no such verdict, or there are several.
    """
    for seal in reversed(days.seals()):
        if not (days.directory / seal.bundle).is_dir():
            continue
        with _damage_told(days, seal):
            if (found := _in_bundle(days, seal, verdict)) is not None:
                return found
    raise VerdictError(f"{verdict}: no verdict here is called so; `gamewarden judge` lists those that were kept")


@contextmanager
def _damage_told(days: VerdictDays, seal: DaySeal) -> Iterator[None]:
    """What a damaged table of a bundle lets libraries say, as one line of ours."""
    try:
        yield
    except (pl.exceptions.PolarsError, KeyError, TypeError, ValueError) as error:
        place = days.directory / seal.bundle
        raise VerdictError(f"{place}: is damaged ({first_line(error)}); `gamewarden verify` says more") from error


def _in_bundle(days: VerdictDays, seal: DaySeal, verdict: str) -> Shown | None:
    ids = days.table(seal, columns=["actor", "verdict"]).drop_nulls("verdict")
    begins = f"verdict@{verdict.removeprefix('verdict@')}"
    mine = ids.filter(pl.col("verdict").str.starts_with(begins))
    if mine.height > 1:
        raise VerdictError(f"{verdict}: so begin {mine.height:,} verdicts of {seal.day}; give more of it")
    if not mine.height:
        return None
    _refuse_forgotten(days, seal, *mine.row(0))
    return _shown(days, seal, *mine.row(0))


def _refuse_forgotten(days: VerdictDays, seal: DaySeal, actor: str, verdict: str) -> None:
    if actor in days.stubs(seal):
        row = verdicts_of(days, seal, [actor]).filter(verdict=verdict).row(0, named=True)
        told = f"{row['point']} with a false-positive rate of {row['fpr']:.2g} on {seal.day.removeprefix('day=')}"
        raise VerdictError(f"{verdict}: whom it was about has been forgotten ({seal.resealed}); left is: {told}")


def _shown(days: VerdictDays, seal: DaySeal, actor: str, verdict: str) -> Shown:
    bundle = _Opened.of(days, seal, [actor])
    chosen = bundle.verdicts.filter(verdict=verdict)
    row = chosen.drop("verdict").row(0, named=True)
    beside = {name: bundle.facts[name] for name in ("gamewarden", "source", "caveats")}
    values = beside | bundle.grounds(chosen).values(row)
    return Shown(values, seal, bundle.evidence, bundle.scores, bundle.features)


@dataclass(frozen=True)
class _Opened:
    """A sealed day, opened: of some actors, or of all whose verdicts were kept."""

    facts: Mapping[str, Any]
    verdicts: pl.DataFrame
    scores: pl.DataFrame
    evidence: pl.DataFrame
    features: Mapping[str, pl.DataFrame]  # by the names that documents give to recipes

    @classmethod
    def of(cls, days: VerdictDays, seal: DaySeal, actors: Sequence[str] | None = None) -> "_Opened":
        """Read it."""
        read = {name: days.table(seal, name, actors=actors) for name in days.tables(seal)}
        measured = {name.removeprefix(_MEASURED): read[name] for name in read if name.startswith(_MEASURED)}
        kept = read["verdicts"].drop_nulls("verdict").filter(~pl.col("actor").is_in(days.stubs(seal)))
        return cls(facts_of(days, seal), kept, read["scores"], read["evidence"], measured)

    @property
    def rules(self) -> VerdictRules:
        """By which it was judged."""
        return VerdictRules.of(self.facts["rules"])

    def grounds(self, chosen: pl.DataFrame) -> Grounds:
        """What some verdicts of it rest on."""
        tables = GroundTables(self.features, self.scores, self.evidence)
        return Grounds(chosen.drop("verdict"), self.facts, self.facts["recipes"], tables, self.rules.cut)


def verify_days(
    days: VerdictDays, models: Path, wanted: Sequence[str] | None = None, progress: Progress = no_progress
) -> pl.DataFrame:
    """One row per sealed day: whether it is as it was sealed, and comes out the same when it is scored again.

    Verdicts of the day that were replaced since are looked at for their seals alone.

    Raises:
        VerdictError: the log of seals was edited, cut or damaged.
    """
    prover = _Prover(days, models)
    seals = [seal for seal in days.current().values() if wanted is None or seal.day.removeprefix("day=") in wanted]
    ever: dict[str, list[DaySeal]] = {}
    for one in days.seals():
        ever.setdefault(one.day, []).append(one)
    gone, rows = days.dropped(), []
    for seal in seals:
        if seal.day not in gone:
            rows.append(prover.row(seal, ever[seal.day][:-1]))
            progress(seal.kept)
    return pl.DataFrame(rows, schema=_ROW)


@dataclass(frozen=True)
class _Prover:
    """Looks at one day after the other; a model is loaded once."""

    days: VerdictDays
    directory: Path
    _models: dict[str, tuple[Model, str]] = field(default_factory=dict)

    def row(self, seal: DaySeal, earlier: Sequence[DaySeal] = ()) -> dict[str, Any]:
        """What there is to say of one day: of its verdicts, and of those that they replaced."""
        wrong = [*self._wrong(seal), *(line for one in earlier for line in self._wrong_before(one))]
        fine = "" if wrong else self._fine(seal)
        about = {"day": seal.day.removeprefix("day="), "verdicts": seal.verdicts, "kept": seal.kept, "judged": seal.at}
        told = "; ".join(wrong) or f"{fine}{_less(seal)}{_as_well(earlier)}"
        return {**about, "holds": not wrong, "says": told}

    def _fine(self, seal: DaySeal) -> str:
        """What was found of a day of which nothing is wrong."""
        if VerdictRules.of(facts_of(self.days, seal)["rules"]).earlier:
            return "as it was sealed; sealed under earlier rules, so its scores and verdicts are not computed again"
        return "as it was sealed; scores, evidence and verdicts come out the same to the last bit"

    def _wrong(self, seal: DaySeal) -> list[str]:
        try:
            return list(self.days.faults(seal)) or list(self._differences(seal))
        except (GamewardenError, pl.exceptions.PolarsError, KeyError, TypeError, ValueError, OSError) as error:
            return [first_line(error)]

    def _wrong_before(self, seal: DaySeal) -> list[str]:
        try:
            return [f"the earlier bundle of {seal.at}: {line}" for line in self.days.faults(seal)]
        except OSError as error:
            return [f"the earlier bundle of {seal.at}: {first_line(error)}"]

    def _differences(self, seal: DaySeal) -> Iterator[str]:
        bundle = _Opened.of(self.days, seal)
        if bundle.rules.earlier:
            yield from _misnamed(bundle)
            return
        named = [*bundle.facts["models"], *([bundle.facts["fusion"]] if bundle.facts["fusion"] else [])]
        if problems := [line for one in named for line in self._unlike(one)]:
            yield from problems
            return
        models = [self._models[one["id"]][0] for one in bundle.facts["models"]]
        fusion = self._models[bundle.facts["fusion"]["id"]][0] if bundle.facts["fusion"] else None
        if fusion is not None and not isinstance(fusion, FusionModel):
            raise VerdictError(f"{seal.day}: {bundle.facts['fusion']['id']} is no fusion")
        if bundle.verdicts.height:
            found = list(_changed(bundle, models, fusion))
            yield from found
            if found and bundle.facts["gamewarden"] != __version__:
                yield f"judged by gamewarden {bundle.facts['gamewarden']}, this is {__version__}"

    def _unlike(self, named: Mapping[str, Any]) -> Iterator[str]:
        """What keeps a model from being the one that judged."""
        name = str(named["id"])
        if name not in self._models:
            if not stored_models.is_id(name) or not (self.directory / f"{name}.json").exists():
                yield f"{name} is missing from {self.directory}"
                return
            model = detectors.load_model(stored_models.load(self.directory / f"{name}.json"))
            self._models[name] = model, model_values(model)["sha256"]
        if self._models[name][1] != named["sha256"]:
            yield f"{name} holds other numbers than the model that judged"


def _less(seal: DaySeal) -> str:
    """That somebody was forgotten."""
    if not seal.forgotten:
        return ""
    return f"; {counted(seal.forgotten, 'player')} forgotten, of whom numbers are left that rest on nothing"


def _as_well(earlier: Sequence[DaySeal]) -> str:
    if not earlier:
        return ""
    are = "is as it was" if len(earlier) == 1 else "are as they were"
    return f"; {counted(len(earlier), 'earlier bundle')} {are} sealed"


def _changed(bundle: _Opened, models: Sequence[Model], fusion: FusionModel | None) -> Iterator[str]:
    """What does not come out as it stands in a day."""
    rules = bundle.rules
    features = {model.card.id: bundle.features[feature_name(model.feature)] for model in models}
    scores, found = judged(features, models, fusion, rules)
    again = found.with_columns(rules.points.reached(found))
    evidence = evidence_behind(bundle.verdicts, models, features, rules.cut)
    yield from _unequal("scores", bundle.scores, scores, ("actor", "since", "until", "detector"))
    yield from _unequal("verdicts", bundle.verdicts.select(*KEY, *_NUMBERS), again.select(*KEY, *_NUMBERS), KEY)
    yield from _unequal("evidence", bundle.evidence, evidence, (*KEY, "detector", "feature"))
    yield from _misnamed(bundle)


def _misnamed(bundle: _Opened) -> Iterator[str]:
    """How many verdicts of a day have an id that is not the digest of what they rest on."""
    ids = pl.Series(bundle.grounds(bundle.verdicts).ids(bundle.verdicts.drop("verdict")), dtype=pl.String)
    wrong = int((ids != bundle.verdicts["verdict"]).sum())
    if wrong:
        yield f"{wrong:,} verdicts have ids that do not name what they rest on"


def _unequal(what: str, kept: pl.DataFrame, now: pl.DataFrame, key: Sequence[str]) -> Iterator[str]:
    """How many rows of a table are not what comes out now."""
    ordered = [one.select(kept.columns).sort(key, nulls_last=True) for one in (kept, now)]
    if ordered[0].height != ordered[1].height:
        yield f"{what}: {ordered[0].height:,} rows are kept and {ordered[1].height:,} come out"
        return
    same = pl.Series([True]).new_from_index(0, kept.height)
    for name in kept.columns:
        same &= ordered[0][name].eq_missing(ordered[1][name])
    if wrong := int((~same).sum()):
        first = ordered[0].filter(~same).row(0, named=True)["actor"]
        yield f"{what}: {wrong:,} of {kept.height:,} rows come out otherwise, the first of {first}"
