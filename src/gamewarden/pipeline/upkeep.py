"""Maintenance on a lake: what the logic flow of `drift` asks for, done with the lake, the models and the labels."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, cast

import polars as pl

from gamewarden import detectors
from gamewarden.clock import Clock, Period
from gamewarden.config import Maintain
from gamewarden.contracts import Detector, Feature, Model
from gamewarden.drift import retraining, validation
from gamewarden.drift.causes import Cause, Evidence, Seen, ban_wave, causes, silent_kinds
from gamewarden.drift.correlation import agreement, by_actor, most_moved
from gamewarden.drift.doubts import Doubt, Look, doubts, faults
from gamewarden.drift.flow import Retrained, Signal
from gamewarden.drift.retraining import called_human
from gamewarden.drift.seeing import known_kinds, seen_in, shares_of
from gamewarden.drift.settings import learning_rules, trust_rules, validity_rules
from gamewarden.errors import FitError, MeasureError, ReadError
from gamewarden.notices import Notices
from gamewarden.pipeline.measuring import feature_of, least_measured, measured
from gamewarden.readers.logs.operator_tables import read_labels
from gamewarden.spans import DAY
from gamewarden.store import model_registry
from gamewarden.store import models as stored_models
from gamewarden.store.lake import Lake
from gamewarden.store.stretches import Stretches, content_of
from gamewarden.store.upkeep import Upkeep
from gamewarden.tables import Table
from gamewarden.verdicts.meeting import Limits, whole_enough
from gamewarden.verdicts.saying import only_whole

BY = "gamewarden maintain"
_REMEMBERED = 8  # periods before this one that say what is usual
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_KEPT = 24  # tables of features in memory
_NO_LABELS = "no labels were given; name confirmed ones with --labels FILE"


@dataclass(frozen=True)
class LakeHands:
    """The hands of one detector's maintenance. All they do is the same when it is done again."""

    lake: Lake
    models: Path
    place: Upkeep
    calendar: Clock
    first: Period  # nothing before it is looked at
    policy: Maintain
    labels: Path | None
    time_zone: str | None
    notices: Notices
    clock: Callable[[], datetime]
    limits: Limits = field(default_factory=Limits)  # how much of a period the lake must cover
    ban_waves: frozenset[str] = frozenset()  # names of periods that people called so
    stretches: Stretches = field(default=Stretches(()))  # when the lake had events as this run began
    _models: dict[str, Model] = field(default_factory=dict, repr=False)
    _features: dict[tuple[Period, str], pl.DataFrame] = field(default_factory=dict, repr=False)

    def score(self, period: Period, model: str) -> Mapping[str, Any]:
        """Store the period's scores under a model."""
        actors = by_actor(self._scores(period, model))
        flagged = int((actors["probability"] >= self.policy.flag).sum())
        counts = {"actors": actors.height, "flagged": flagged, "events": self._seen(period).events}
        return {**counts, "content": content_of(self.stretches, period)}

    def signal(self, period: Period, model: str) -> Signal:
        """X_t, or why it is missing: nothing to compare with, a fault of the log, too few actors."""
        doubted = tuple(self._doubts(period, model))
        before = self.calendar.before(period, self.policy.compare_with)
        silent = self._silent(period)
        if before < self.first:
            return Signal(None, 0, "there is no period before it to compare with", silent=silent, doubts=doubted)
        scores = self._scores(before, model), self._scores(period, model)
        left = ban_wave(*scores, self.policy.flag).found or period.name in self.ban_waves
        found = agreement(*scores, cast("Any", self.policy.correlation), self.policy.common_actors)
        why = self._why_incomparable(period, before, model, doubted)
        x, why = (None, why) if why else (found.x, found.why)
        return Signal(x, found.common, why, left, silent, doubted)

    def causes(self, period: Period, model: str) -> Sequence[Cause]:
        """Why scores moved."""
        before = self.calendar.before(period, self.policy.compare_with)
        week_ago = self.calendar.before(period, max(1, 7 * DAY // self.calendar.every))
        return causes(
            Evidence(
                now=self._seen(period),
                before=[self._seen(one) for one in self._earlier(period)],
                vocabulary=known_kinds(self._feature(model), tuple(self._seen(period).kinds)),
                features_before=self._measured(before, model),
                features_now=self._measured(period, model),
                scores_before=self._scores(before, model),
                scores_now=self._scores(period, model),
                suspect=self.policy.flag,
                same_weekday=self._seen(week_ago) if self.first <= week_ago < before else None,
            )
        )

    def retrain(self, period: Period, model: str) -> Retrained:
        """A candidate from the newest labels, kept where it scores nobody."""
        known = self._labels(period)
        if known is None:
            return Retrained(None, _NO_LABELS)
        window, used = self._window(period, model, known)
        if window.why_not is not None:
            return Retrained(None, window.why_not)
        try:
            fitted = self._fit(model, used, retraining.split(known, self.policy.held_out)[0])
        except (FitError, MeasureError) as error:
            return Retrained(None, str(error))
        stored_models.save(fitted, self.place.candidates)
        numbers = {"bots": window.bots, "humans": window.humans, "periods": window.periods, "since": used[-1].name}
        return Retrained(fitted.card.id, None, numbers)

    def validate(self, period: Period, model: str, candidate: str, in_control: datetime | None) -> validation.Verdict:
        """The candidate beside the model in force, on labelled actors that no retraining has seen."""
        known = self._labels(period)
        if known is None:
            raise ReadError(f"{self.models}: {candidate} waits to be validated; {_NO_LABELS}")
        _, used = self._window(period, model, known)
        held = retraining.split(known, self.policy.held_out)[1]
        new, old = (self._held_out_scores(used, name, held) for name in (candidate, model))
        usual = None if in_control is None else self._scores(self.calendar.holding(in_control), model)
        scores = self._scored(candidate, self._measured(period, candidate))
        # What a model flags whose scores are not to be trusted is no measure for another one.
        now = None if self._doubts(period, model) else self._scores(period, model)
        comparison = retraining.compare(new, old, held, (scores, now, usual), self.policy.flag)
        verdict = validation.judge(comparison, validity_rules(self.policy))
        doubted = self._doubts(period, candidate, scores)
        stands = [f"under it scores are not to be trusted: {doubt.says}" for doubt in doubted]
        return replace(verdict, failures=(*verdict.failures, *stands, *self._objections(model, candidate)))

    def promote(self, period: Period, candidate: str, because: str) -> None:
        """Put the candidate among the models and into force."""
        del period
        stored_models.save(self._model(candidate), self.models)
        model_registry.promote(self.models, candidate, because=because, by=BY, at=self.clock())

    def notify(self, period: Period, reason: str, text: str) -> str:
        """Tell the operator; account names go along only where they are allowed."""
        return self.notices.send(reason, f"{period.name}: {text}", self._most_moved(period))

    def _objections(self, model: str, candidate: str) -> list[str]:
        taken_back = {line.instead_of for line in model_registry.promotions(self.models) if line.rolled_back}
        found = ["retraining gave the model in force again"] if candidate == model else []
        return [*found, *(["somebody rolled this very model back"] if candidate in taken_back else [])]

    def _window(self, period: Period, model: str, known: pl.DataFrame) -> tuple[retraining.Window, list[Period]]:
        """The periods a new model learns from, the newest first."""
        periods = self._usable(period)
        actors = [by_actor(self._scores(one, model))["actor"] for one in periods]
        window = retraining.window(actors, known, learning_rules(self.policy))
        return window, periods[: window.periods]

    def _held_out_scores(self, window: Sequence[Period], model: str, held: pl.DataFrame) -> pl.DataFrame:
        rows = pl.concat([self._measured(one, model) for one in window])
        return self._scored(model, rows.join(held.select("actor"), on="actor", how="semi"))

    def _fit(self, model: str, periods: Sequence[Period], labels: pl.DataFrame) -> Model:
        feature = self._feature(model).unlearned()
        since, until = periods[-1].since, periods[0].until
        frozen = feature.learn(self.lake.events(since, until))
        rows = pl.concat([measured(frozen, self.lake.events(one.since, one.until)).frame for one in periods])
        fitted: Model = recipe_like(self._model(model), frozen).fit(only_whole(Table(rows), self.limits).frame, labels)
        return fitted

    def _labels(self, period: Period) -> pl.DataFrame | None:
        """Labels that were known at the period's end."""
        if self.labels is None:
            return None
        known = read_labels(self.labels, self.time_zone).frame
        return known.filter(pl.col("since").is_null() | (pl.col("since") < period.until))

    def _earlier(self, period: Period) -> list[Period]:
        """The periods before this one that say what is usual, the latest last."""
        found = [self.calendar.before(period, back) for back in range(_REMEMBERED, 0, -1)]
        return [one for one in found if one >= self.first]

    def _usable(self, period: Period) -> list[Period]:
        """Periods to learn from, the newest first: with events, and without a fault of the log."""
        found = [self.calendar.before(period, back) for back in range(2 * self.policy.window_most)]
        there = [one for one in found if one >= self.first and self._seen(one).events and not self._faulty(one)]
        return there[: self.policy.window_most]

    def _doubts(self, period: Period, model: str, scores: pl.DataFrame | None = None) -> list[Doubt]:
        """Why the period's scores under a model are not to be trusted; those of a candidate are stored nowhere."""
        actors = self._model(model).card.training.get("actors", {})
        look = Look(
            now=self._seen(period),
            before=[self._seen(one) for one in self._earlier(period)],
            scores=self._scores(period, model) if scores is None else scores,
            known=known_kinds(self._feature(model), tuple(self._seen(period).kinds)),
            learned=[self._seen(one) for one in self._learned_from(period, model)],
            shares=shares_of(self._feature(model)),
            bots=actors.get("bot", 0) / max(sum(actors.values()), 1),
            humans=self._humans(period),
        )
        return doubts(look, trust_rules(self.policy))

    def _faulty(self, period: Period) -> bool:
        return bool(
            faults(self._seen(period), [self._seen(one) for one in self._earlier(period)], trust_rules(self.policy))
        )

    def _why_incomparable(self, period: Period, before: Period, model: str, doubted: Sequence[Doubt]) -> str | None:
        """Why the likeness of two periods' scores would say nothing of the model."""
        if any(doubt.fault for doubt in doubted):
            return "in it kinds went silent" if self._silent(period) else "its log is incomplete"
        if self._faulty(before):
            return "the log of the period it is compared with has a fault"
        if not doubted and self._doubts(before, model):
            return "the scores of the period it is compared with are not to be trusted"
        return None

    def _learned_from(self, period: Period, model: str) -> list[Period]:
        """The latest periods that a model was fitted on, as far as the lake holds them and they are over."""
        training, span = self._model(model).card.training, self.lake.span
        if span is None or not training.get("since") or not training.get("until"):
            return []
        first, last = (datetime.fromisoformat(training[name]) for name in ("since", "until"))
        begun = self.calendar.holding(max(first, EPOCH + timedelta(microseconds=span[0])))
        over = min(last, period.until)
        latest = [self.calendar.before(self.calendar.holding(over), back) for back in range(_REMEMBERED, -1, -1)]
        return [one for one in latest if one >= begun and one.until <= over][-_REMEMBERED:]

    def _humans(self, period: Period) -> frozenset[str]:
        """Actors whom people had called human by the period's end, and nobody a bot."""
        known = self._labels(period)
        return frozenset() if known is None else called_human(known)

    def _silent(self, period: Period) -> tuple[str, ...]:
        return tuple(silent_kinds(self._seen(period), [self._seen(one) for one in self._earlier(period)]))

    def _seen(self, period: Period) -> Seen:
        kept = self._kept_as(period)
        stored = None if kept is None else self.place.seen(kept)
        if stored is not None:
            return Seen(stored["actors"], stored["kinds"], stored["actors_by_kind"])
        seen = seen_in(self.lake.events(period.since, period.until))
        if kept is not None:
            self.place.keep_seen(kept, asdict(seen))
        return seen

    def _scores(self, period: Period, model: str) -> pl.DataFrame:
        kept = self._kept_as(period)
        stored = None if kept is None else self.place.scores(kept, model)
        if stored is not None:
            return stored
        scores = self._scored(model, self._measured(period, model))
        if kept is not None:
            self.place.keep_scores(kept, model, scores)
        return scores

    def _kept_as(self, period: Period) -> str | None:
        """Under which name a period's numbers are kept: another one once events came late, none without events."""
        content = content_of(self.stretches, period)
        return None if content is None else f"{period.name}-{content}"

    def _scored(self, model: str, rows: pl.DataFrame) -> pl.DataFrame:
        """SCORES, without the numbers of periods that the lake covers too little of."""
        fitted = self._model(model)
        least = least_measured(fitted, self.limits)
        return whole_enough(fitted.score(rows), least)

    def _measured(self, period: Period, model: str) -> pl.DataFrame:
        """FEATURES of a period; remembered for a while, since validation asks for what retraining has just measured."""
        key = period, model
        if key not in self._features:
            if len(self._features) >= _KEPT:
                del self._features[next(iter(self._features))]
            self._features[key] = measured(self._feature(model), self.lake.events(period.since, period.until)).frame
        return self._features[key]

    def _feature(self, model: str) -> Feature:
        return feature_of(self._model(model).feature)

    def _model(self, model: str) -> Model:
        if model not in self._models:
            places = [directory / f"{model}.json" for directory in (self.models, self.place.candidates)]
            path = next((path for path in places if path.exists()), places[0])
            self._models[model] = detectors.load_model(stored_models.load(path))
        return self._models[model]

    def _most_moved(self, period: Period) -> list[str]:
        model = next(
            one.id for one in model_registry.in_force(self.models) if one.detector == self.place.directory.name
        )
        before = self.calendar.before(period, self.policy.compare_with)
        if before < self.first:
            return []
        return most_moved(self._scores(before, model), self._scores(period, model))


def recipe_like(model: Model, feature: Feature) -> Detector:
    """The recipe that this model was fitted with, around another feature."""
    return detectors.load(model.card.detector).from_dict(model.card.recipe, feature)
