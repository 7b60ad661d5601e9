"""A model that looks after itself: every period of a lake is scored, watched and answered once, in order."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import polars as pl

from gamewarden import detectors
from gamewarden.config import Config, Maintain
from gamewarden.contracts import Detector, EventStream, Feature, Model
from gamewarden.core.clock import Clock, Period
from gamewarden.core.durations import DAY, from_micros, parse_span, to_micros
from gamewarden.drift import retraining, validation
from gamewarden.drift.causes import Cause, Evidence, LogSummary, ban_wave, causes, silent_kinds
from gamewarden.drift.correlation import agreement, by_actor, most_moved
from gamewarden.drift.doubts import Doubt, Look, doubts, faults
from gamewarden.drift.flow import LATE, History, Ledger, PeriodRun, Retrained, Signal, Tick, as_written, no_tick
from gamewarden.drift.retraining import called_human
from gamewarden.drift.seeing import known_kinds, seen_in, shares_of
from gamewarden.drift.settings import correlation_of, learning_rules, policy_of, trust_rules, validity_rules
from gamewarden.engine import Engine
from gamewarden.errors import FitError, MeasureError, ReadError
from gamewarden.notices import Notices, now
from gamewarden.pipeline.measuring import (
    MeasuredBefore,
    feature_of,
    least_measured,
    limits_of,
    measured,
    of_the_time,
    shown_before,
)
from gamewarden.pipeline.models import event_model
from gamewarden.presentation.maintenance_story import story
from gamewarden.presentation.maintenance_table import remarks, table_of
from gamewarden.readers.logs.operator_tables import OwnTable, read_labels
from gamewarden.readers.logs.plausible import Plausible
from gamewarden.spreading.events import spread_events
from gamewarden.store import model_registry
from gamewarden.store import models as stored_models
from gamewarden.store.lake import Lake
from gamewarden.store.maintenance_state import MaintenanceState
from gamewarden.store.source import LakeSource
from gamewarden.store.stretches import Stretches, content_of
from gamewarden.tables import Table
from gamewarden.verdicts.meeting import Limits, whole_enough
from gamewarden.verdicts.saying import only_whole

BY = "gamewarden maintain"
_REMEMBERED = 8  # periods before this one that say what is usual
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_KEPT = 24  # tables of features in memory
Before = Callable[[Feature, Period], MeasuredBefore | None]
Objections = Callable[[Model], Sequence[str]]  # why a model must not take over, without a name of a player
_NO_LABELS = "no labels were given; name confirmed ones with --labels FILE"


def nobody_objects(_model: Model) -> Sequence[str]:
    """Any model may take over that is valid."""
    return ()


@dataclass(frozen=True)
class MaintenanceOptions:
    """What maintenance is asked to look after."""

    lake: Path
    models: Path
    labels: OwnTable | None = None
    detector: str | None = None
    since: datetime | None = None  # where the first run begins
    until: datetime | None = None
    ban_waves: tuple[datetime, ...] = ()
    time_zone: str | None = None
    config: Config = field(default_factory=Config)
    clock: Callable[[], datetime] = now
    before: Before | None = None  # what of a period is measured already
    objections: Objections = nobody_objects
    engine: Engine | None = None  # who measures events; None: this process


@dataclass(frozen=True)
class Maintained:
    """What became of the periods, all of them and those of this run."""

    detector: str
    periods: pl.DataFrame
    new: int
    notes: tuple[str, ...]


def maintain(task: MaintenanceOptions, tick: Tick = no_tick, stop: Callable[[], bool] = lambda: False) -> Maintained:
    """Do all that is left to do of every period that is over; `stop` is asked between two periods.

    Raises:
        ReadError: there is no lake, it is empty, or the history was damaged.
        ModelError: there is no model of events.
        WriteError: another process maintains these models, or the directory cannot be written.
    """
    model = event_model(task.models, task.detector)
    place = MaintenanceState(task.models, model.card.detector)
    new = late = 0
    with place.alone():
        history = place.history()
        ledger = Ledger(history, policy_of(task.config.maintain))
        stretches = _stretches(task)
        periods = _periods(task, _calendar(task, model), stretches, _begun(history))
        actions = _actions(task, model, place, _begun(history) or periods[0], stretches) if periods else None
        for period in _due(periods, stretches, ledger):
            if actions is None or stop():
                break
            if _came_late(ledger, period, stretches):
                ledger.open_again(period)
                late += 1
            _notice_other_model(task, model.card.detector, ledger, period)
            PeriodRun(period, actions, ledger, tick).run()
            new += 1
    frame = table_of(history.records)
    return Maintained(model.card.detector, frame, new, tuple(remarks(frame, new, late)))


def told(task: MaintenanceOptions) -> list[str]:
    """The story of what maintenance did, in sentences; nothing is changed.

    Raises:
        ReadError: the history was damaged.
        ModelError: there is no model of events.
    """
    detector = event_model(task.models, task.detector).card.detector
    return list(story(MaintenanceState(task.models, detector).history().records))


def _due(periods: Sequence[Period], stretches: Stretches, ledger: Ledger) -> Iterator[Period]:
    """The periods with something left to do: in order what the chart has not passed, then what came late for it."""
    for period in periods:
        steps = ledger.of(period.name)
        begun = "done" not in steps and bool({"score", LATE} & steps.keys())
        fresh = not ledger.passed(period) and ("done" not in steps or _came_late(ledger, period, stretches))
        if begun or fresh:
            yield period
    yield from (one for one in periods if ledger.passed(one) and _came_late(ledger, one, stretches))


def _came_late(ledger: Ledger, period: Period, stretches: Stretches) -> bool:
    """Whether the lake has events of a period that was done, or passed by, without them."""
    content, steps = content_of(stretches, period), ledger.of(period.name)
    if content is None:
        return False
    if "done" not in steps:
        return ledger.passed(period) and not {"score", LATE} & steps.keys()
    with as_written():
        scored = steps.get("rescore") or steps["score"]
        # Histories from before contents were recorded tell late events only where there were none before.
        return bool(scored["content"] != content if "content" in scored else not scored["events"])


def _periods(task: MaintenanceOptions, calendar: Clock, stretches: Stretches, begun: Period | None) -> list[Period]:
    """The periods that are over and have events, and as many after each as make an empty log worth a word."""
    over = task.until or _over(task, calendar, stretches)
    if over is None:
        return []
    start, _ = next(iter(stretches))
    opened = EPOCH + timedelta(microseconds=start)
    first = begun or calendar.holding(max(opened, task.since or opened))
    touched = calendar.over(stretches, over, task.config.maintain.missing)
    return [period for period in touched if period >= first]


def _over(task: MaintenanceOptions, calendar: Clock, stretches: Stretches) -> datetime | None:
    """Up to when periods are over: an event that cannot be true yet does not say that time has passed."""
    last = stretches.last_by(Plausible.of(task.config.read, task.clock()).latest)
    return None if last is None else calendar.holding(EPOCH + timedelta(microseconds=last)).since


def _stretches(task: MaintenanceOptions) -> Stretches:
    stretches = LakeSource(task.lake).lake.stretches
    if not stretches.parts:
        raise ReadError(f"{task.lake}: has no events yet; `gamewarden read FILE… --to {task.lake}` brings them in")
    return stretches


def _calendar(task: MaintenanceOptions, model: Model) -> Clock:
    return Clock(parse_span(task.config.maintain.period), feature_of(model.feature).time_zone or "UTC")


def _begun(history: History) -> Period | None:
    """The period that maintenance began with."""
    first = next((record for record in history.records if record["step"] == "begin"), None)
    if first is None:
        return None
    with as_written():
        return Period(datetime.fromisoformat(first["period"]), datetime.fromisoformat(first["until"]))


def _actions(
    task: MaintenanceOptions, model: Model, place: MaintenanceState, first: Period, stretches: Stretches
) -> "LakeActions":
    calendar = _calendar(task, model)
    return LakeActions(
        lake=LakeSource(task.lake).lake,
        models=task.models,
        place=place,
        calendar=calendar,
        first=first,
        policy=task.config.maintain,
        labels=task.labels,
        time_zone=task.time_zone,
        notices=Notices(task.config.notify, place.notices, task.clock),
        clock=task.clock,
        limits=limits_of(task.config),
        ban_waves=frozenset(calendar.holding(moment).name for moment in task.ban_waves),
        stretches=stretches,
        before=task.before,
        objections=task.objections,
        engine=task.engine,
    )


def _notice_other_model(task: MaintenanceOptions, detector: str, ledger: Ledger, period: Period) -> None:
    """Begin, or record that a person has put another model into force since.

    Within a period that has begun nothing is noticed: there the difference is a promotion that a crash kept from being
    recorded.
    """
    current = next(one.id for one in model_registry.in_force(task.models) if one.detector == detector)
    before = ledger.standing.model
    if before is None:
        # From here on nothing takes over by being the newest file.
        model_registry.promote(task.models, current, because="maintenance begins with it", by=BY, at=task.clock())
        ledger.append({"period": period.name, "until": period.until.isoformat(), "step": "begin", "model": current})
    elif current != before and _nothing_decided(ledger.of(period.name)):
        ledger.append({"period": period.name, "step": "changed", "model": current, "instead_of": before})


def _nothing_decided(steps: Mapping[str, Mapping[str, Any]]) -> bool:
    return "score" not in steps or bool(steps.get(LATE, {}).get("only_scored"))


@dataclass(frozen=True)
class LakeActions:
    """What one detector's maintenance does. All of it is the same when it is done again."""

    lake: Lake
    models: Path
    place: MaintenanceState
    calendar: Clock
    first: Period  # nothing before it is looked at
    policy: Maintain
    labels: OwnTable | None
    time_zone: str | None
    notices: Notices
    clock: Callable[[], datetime]
    limits: Limits = field(default_factory=Limits)  # how much of a period the lake must cover
    ban_waves: frozenset[str] = frozenset()  # names of periods that people called so
    stretches: Stretches = field(default=Stretches(()))  # when the lake had events as this run began
    before: Before | None = None  # what of a period is measured already
    objections: Objections = nobody_objects
    engine: Engine | None = None
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
        found = agreement(*scores, correlation_of(self.policy), self.policy.common_actors)
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
        found += ["somebody rolled this very model back"] if candidate in taken_back else []
        return [*found, *self.objections(self._model(candidate))]

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
        frozen = feature.learn(self._events(since, until))
        rows = pl.concat([self._measured_alone(frozen, one) for one in periods])
        seen = only_whole(Table(rows), self.limits, part_of_day=frozen.part_of_day)
        fitted: Model = recipe_of(self._model(model), frozen).fit(seen.frame, labels)
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

    def _seen(self, period: Period) -> LogSummary:
        kept = self._kept_as(period)
        stored = None if kept is None else self.place.seen(kept)
        if stored is not None:
            return LogSummary(stored["actors"], stored["kinds"], stored["actors_by_kind"])
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
            self._features[key] = self._shown(period, self._feature(model))
        return self._features[key]

    def _shown(self, period: Period, feature: Feature) -> pl.DataFrame:
        before = None if self.before is None else self.before(feature, period)
        if before is not None:
            return shown_before(feature, self.lake.events(period.since, period.until), before)
        return self._measured_alone(feature, period)

    def _measured_alone(self, feature: Feature, period: Period) -> pl.DataFrame:
        """FEATURES of a period, from its events and from those that its rows look back on."""
        first = to_micros(period.since)
        events = self._events(from_micros(first - feature.divides.before), period.until)
        return of_the_time(measured(feature, events).frame, feature, first)

    def _events(self, since: datetime, until: datetime) -> EventStream:
        events = self.lake.events(since, until)
        return events if self.engine is None else spread_events(events, self.engine)

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


def recipe_of(model: Model, feature: Feature) -> Detector:
    """The recipe that this model was fitted with, around another feature."""
    return detectors.load(model.card.detector).from_dict(model.card.recipe, feature)
