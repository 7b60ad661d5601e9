"""Who was accused wrongly is not accused again: no model takes over that flags an exonerated account.

An exonerated verdict rests on numbers that are sealed with its day. A model that takes over is shown them before: what
it flags of them by itself, to watch or to act on by [verdict], it would flag again.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property

import polars as pl

from gamewarden import detectors
from gamewarden.cases import Exonerated
from gamewarden.contracts import Model
from gamewarden.core.durations import to_micros
from gamewarden.core.text import counted
from gamewarden.detectors.fusion.model import FusionModel
from gamewarden.pipeline.judging import judged, rules_of
from gamewarden.pipeline.measuring import feature_of, measured
from gamewarden.store import models as stored_models
from gamewarden.store.lake import Lake
from gamewarden.store.verdict_days import DaySeal
from gamewarden.store.verdicts import feature_name
from gamewarden.tables import TIME
from gamewarden.verdicts.points import ACT, WATCH
from gamewarden.verdicts.prevalence import Prevalence
from gamewarden.verdicts.rules import VerdictRules
from gamewarden.workspace.place import Workspace

_MOST = 5  # accounts that are named


@dataclass(frozen=True)
class WrongVerdict:
    """A verdict that was wrong, and where what it rests on is sealed."""

    actor: str
    since: datetime
    until: datetime
    seal: DaySeal


@dataclass(frozen=True)
class Looked:
    """What a model says of the accounts that were accused wrongly."""

    flagged: tuple[str, ...]
    unseen: tuple[str, ...]  # of whom the model was shown nothing

    def objections(self) -> tuple[str, ...]:
        """Why the model does not take over, without a name: operators may be told elsewhere than here."""
        if not self.flagged:
            return ()
        return (f"it flags {counted(len(self.flagged), 'account')} that appeals have exonerated, on the same evidence",)

    def with_names(self) -> tuple[str, ...]:
        """The same for the operator's own terminal."""
        more = ", …" if len(self.flagged) > _MOST else ""
        return tuple(f"{line} ({', '.join(self.flagged[:_MOST])}{more})" for line in self.objections())


@dataclass(frozen=True)
class Gate:
    """The accounts of a workspace that no model may flag again."""

    workspace: Workspace

    def look(self, model: Model) -> Looked:
        """Show a model what was held against exonerated accounts.

        Raises:
            LedgerError: the ledger cannot be read.
            ReadError: what a verdict rests on is damaged.
            VerdictError: the log of seals was edited or damaged.
        """
        flagged, seen = set(), set()
        for wrong in self._wrong:
            says = self._flags(model, wrong)
            if says is not None:
                seen.add(wrong.actor)
            if says:
                flagged.add(wrong.actor)
        return Looked(tuple(sorted(flagged)), tuple(sorted({one.actor for one in self._exonerated} - seen)))

    def objections(self, model: Model) -> Sequence[str]:
        """Why a model does not take over; nothing where it may."""
        return self.look(model).objections()

    @cached_property
    def _exonerated(self) -> list[Exonerated]:
        if not self.workspace.has_ledger:
            return []
        return [one for one in self.workspace.ledger.find(Exonerated) if one.verdicts]

    @cached_property
    def _wrong(self) -> list[WrongVerdict]:
        seals = self.workspace.verdicts.seals() if self._exonerated else []
        return [found for one in self._exonerated for seal in seals for found in self._in_seal(one, seal)]

    def _in_seal(self, exonerated: Exonerated, seal: DaySeal) -> Iterator[WrongVerdict]:
        store, bounds = self.workspace.verdicts, (exonerated.since, exonerated.until)
        since, until = (None if one is None else to_micros(one) for one in bounds)
        apart = (until is not None and seal.since >= until) or (since is not None and seal.until <= since)
        if apart or not (store.directory / seal.bundle).is_dir():
            return
        found = store.table(seal, columns=["actor", "since", "until", "verdict"], actors=[exonerated.actor])
        wrong = found.filter(pl.col("verdict").is_in(exonerated.verdicts))
        for actor, begin, end in wrong.select("actor", "since", "until").iter_rows():
            yield WrongVerdict(actor, begin, end, seal)

    def _flags(self, model: Model, wrong: WrongVerdict) -> bool | None:
        """Whether a model, or a fusion of those it names, flags what a verdict rested on; None: it was not shown."""
        fusion = model if isinstance(model, FusionModel) else None
        judges = self._heard(fusion) if fusion else [model]
        shown = {one.card.id: self._rows(one, wrong) for one in judges}
        able = [one for one in judges if shown[one.card.id].height]
        if not able:
            return None
        rules = self._rules(fusion)
        _, verdicts = judged({one.card.id: shown[one.card.id] for one in able}, able, fusion, rules)
        return bool(rules.points.reached(verdicts).is_in([ACT, WATCH]).any())

    def _rules(self, fusion: FusionModel | None) -> VerdictRules:
        config = self.workspace.config
        return rules_of(config, self.workspace.run_options, Prevalence.of(config), fusion)

    def _heard(self, fusion: FusionModel) -> list[Model]:
        places = [self.workspace.models / f"{term.model}.json" for term in fusion.terms]
        return [detectors.load_model(stored_models.load(path)) for path in places if path.is_file()]

    def _rows(self, model: Model, wrong: WrongVerdict) -> pl.DataFrame:
        """FEATURES of the verdict's own time: as they were sealed, or measured as this model sees them."""
        store, name = self.workspace.verdicts, f"features-{feature_name(model.feature)}"
        if name in store.tables(wrong.seal):
            return _in_its_time(store.table(wrong.seal, name, actors=[wrong.actor]), wrong)
        feature = feature_of(model.feature)
        if feature.input != "events" or not Lake.is_at(self.workspace.lake):
            return pl.DataFrame()
        events = Lake(self.workspace.lake).events(wrong.since, wrong.until, actors=[wrong.actor])
        return measured(feature, events).frame


def _in_its_time(rows: pl.DataFrame, wrong: WrongVerdict) -> pl.DataFrame:
    """Rows that belong to no time were held against the verdict's."""
    moments = (("since", wrong.since), ("until", wrong.until))
    return rows.with_columns(pl.col(name).fill_null(pl.lit(moment, TIME)) for name, moment in moments)
