"""Questions to a workspace: lists, stories, scores and verdicts from what rests, computing only what is missing."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial

import polars as pl

from gamewarden.contracts import EventStream, Feature, Model, Progress, no_progress
from gamewarden.core.durations import from_micros, to_micros
from gamewarden.core.text import counted
from gamewarden.errors import ModelError, ReadError
from gamewarden.features.addresses import addresses_by_period
from gamewarden.features.signs import Signs
from gamewarden.pipeline.first_look import (
    FirstLook,
    LookOptions,
    activity_beside,
    looked_at,
    population_in,
    refuse_settled,
    signs_of_lake,
)
from gamewarden.pipeline.judging import Judgement
from gamewarden.pipeline.listing import (
    Explanation,
    ListInput,
    RankOptions,
    TrendOptions,
    activity_of,
    count_trend,
    event_story,
    list_accounts,
    refuse_bad_conditions,
    zones_of,
)
from gamewarden.pipeline.measuring import feature_of, least_measured
from gamewarden.pipeline.models import days_of, event_model
from gamewarden.pipeline.scoring import doubted
from gamewarden.presentation.judgement import judgement_in_short
from gamewarden.presentation.ranking import Ranked
from gamewarden.store.source import LakeSource
from gamewarden.streams import only
from gamewarden.tables import VERDICTS, Table
from gamewarden.verdicts.chunks import prior_of
from gamewarden.verdicts.meeting import said_once, whole_enough
from gamewarden.verdicts.prevalence import Prevalence, at_share
from gamewarden.verdicts.ranking import highest_period
from gamewarden.verdicts.saying import Said, unsure
from gamewarden.verdicts.shortlist import GLANCE, Shortlist, highest, shortlist
from gamewarden.workspace.days import EVER, Window
from gamewarden.workspace.exonerated import without_exonerated
from gamewarden.workspace.judged import JudgedDays, JudgedNow
from gamewarden.workspace.judged_list import judged_accounts
from gamewarden.workspace.place import Workspace
from gamewarden.workspace.rest import recipe_of
from gamewarden.workspace.scored import Scored
from gamewarden.workspace.silence import first_fits, has_events


@dataclass(frozen=True)
class Question:
    """How something is asked: of which time, and whether what rests may answer."""

    window: Window = EVER
    fresh: bool = False
    progress: Progress = no_progress


@dataclass(frozen=True)
class Found:
    """The verdicts of a time, and who gave them."""

    judged: JudgedDays
    verdicts: pl.DataFrame  # VERDICTS, with the operating point and, where it is kept, the verdict's id

    @property
    def judgement(self) -> Judgement:
        """The same as a judgement, without what it rests on."""
        court, nothing = self.judged.court, pl.DataFrame()
        rows = self.verdicts.select(list(VERDICTS.columns))
        notes = (*court.notes, Prevalence.of(self.judged.config).sentence)
        kept = court.models, notes, self.judged.caveats, court.fusion, court.rules
        return Judgement(rows, nothing, {}, nothing, *kept)

    def most_suspect(self, most: int | None = None) -> pl.DataFrame:
        """Those to look at first."""
        short = judgement_in_short(self.judgement, most)
        ids = self.verdicts.select("actor", "since", "until", "verdict")
        return short.join(ids, on=["actor", "since", "until"], how="left", maintain_order="left")


@dataclass(frozen=True)
class Answers:
    """A workspace that is asked."""

    workspace: Workspace
    question: Question = Question()

    def rank(self, wishes: RankOptions, *, everybody: bool = False) -> Ranked:
        """The accounts to look at, highest first; of the others only a glance at their scores, unless all are wanted.

        Raises:
            ConfigError: a condition names no column, or a value that the column cannot have.
            ModelError: no model of events can judge the lake.
        """
        model = event_model(self.workspace.models, wishes.detector)
        refuse_bad_conditions(wishes, self.workspace.run_options)
        scored = self._ready([model], self._beside(model, wishes))
        days = scored.days
        wishes.facts.refuse_unknown(str(self.workspace.lake), days.events.columns, days.events.shows)
        self._refuse(scored, model)
        if everybody:
            return self._listed(scored, model, wishes)
        return self._with_others(self._shortlisted(scored, model, wishes), scored, model, wishes)

    def _shortlisted(self, scored: Scored, model: Model, wishes: RankOptions) -> Ranked:
        seen = at_share(self._scores(scored, model, columns=GLANCE), prior_of(model.card), wishes.prevalence.bots)
        some = shortlist(seen, wishes.probability, 0 if wishes.filters else wishes.top)
        if some.actors and (ranked := self._listed(scored, model, wishes, some)).frame.height:
            return ranked
        return self._listed(scored, model, wishes, None if wishes.filters else highest(seen))

    def _with_others(self, ranked: Ranked, scored: Scored, model: Model, wishes: RankOptions) -> Ranked:
        """A list from events, and with it the accounts that only other sources show."""
        inputs = {feature_of(one.feature).input for one in self.workspace.models_in_force()}
        if wishes.detector or wishes.filters or not inputs - {"events", "table"}:
            return ranked
        known = self._scores(scored, model, columns=GLANCE)["actor"].unique().to_list()
        others = judged_accounts(self.workspace.judged(), wishes, self.question.window, without=known).frame
        if not others.height:
            return ranked
        both = pl.concat([ranked.frame, others], how="diagonal_relaxed")
        order = both.sort("probability", descending=True, nulls_last=True, maintain_order=True)
        note = f"{counted(others.height, 'account')} judged without events listed by stored verdicts"
        return replace(ranked, frame=order.head(wishes.top) if wishes.top else order, notes=(*ranked.notes, note))

    def lists_events(self, detector: str | None) -> bool:
        """Whether `rank` has events to list accounts from; otherwise `rank_judged` lists what other sources show."""
        if detector is not None:
            return True
        of_events = (feature_of(one.feature).input == "events" for one in self.workspace.models_in_force())
        return has_events(self.workspace) and any(of_events)

    def rank_judged(self, wishes: RankOptions) -> Table:
        """The accounts to look at by all stored verdicts, highest first.

        Raises:
            ConfigError: a condition is about events.
            ReadError: no day was judged yet.
        """
        return judged_accounts(self.workspace.judged(), wishes, self.question.window)

    def explain(self, actor: str, detector: str | None, prevalence: Prevalence) -> Explanation:
        """What one actor did, and why it scores as it does.

        Raises:
            ReadError: nothing rests of this actor.
            ModelError: no model can judge what is here.
        """
        models = self.workspace.models_in_force()
        asked = [one for one in models if detector is None or one.card.detector == detector]
        if not asked:
            raise ModelError(f"{self.workspace.models}: there is no model{f' of {detector!r}' if detector else ' yet'}")
        scored, cleared = self._ready(asked), self.workspace.exonerated
        end = f"{cleared[actor]:%Y-%m-%d %H:%M} UTC" if actor in cleared else ""
        excluded = f"an appeal was overturned: evidence until {end} no longer counts"
        for model in asked:
            rows = scored.rows(model, scored.measured(model, self.question.window), [actor])
            if rows.height and (counting := without_exonerated(rows, cleared)).height:
                found = self._story(actor, scored, model, counting, prevalence)
                return found if counting.height == rows.height else replace(found, caveats=(*found.caveats, excluded))
            if rows.height:
                raise ReadError(f"{actor}: {excluded}; nothing newer is stored about it")
        raise ReadError(f"{self.workspace.root}: nothing rests of {actor!r}; `gamewarden run` takes in what is new")

    def first_look(self, wishes: RankOptions, asked: LookOptions) -> FirstLook:
        """Who looks odd here before there is a model: compared with the population that was kept, or with everybody.

        Raises:
            ReadError: nothing was taken in yet.
            FitError: there are too few accounts to say who is odd among them.
        """
        days, question = self.workspace.days(), self.question
        if next(iter(days.stretches), None) is None:
            fits = "; ".join(first_fits(self.workspace))
            missing = f"no log was taken in, and there is no model of other files: {fits}" if fits else ""
            raise ReadError(f"{self.workspace.root}: {missing or 'nothing was taken in yet; `gamewarden run` does it'}")
        kept = population_in(self.workspace.models)
        refuse_settled(kept, asked)
        signs = Signs(time_zone=self.workspace.time_zone, without=asked.without)
        feature = feature_of(kept.feature) if kept else signs_of_lake(signs, days.events, question.progress)
        activity = activity_beside(feature, wishes)
        days.measure([feature, activity], question.window, fresh=question.fresh, progress=question.progress)
        wishes.facts.refuse_unknown(str(self.workspace.lake), days.events.columns, days.events.shows)
        return replace(
            looked_at(feature, days.table(feature, question.window), kept),
            places=days.table(activity, question.window),
            addresses=addresses_by_period(days.events, activity.clock) if wishes.facts.sharing else None,
        )

    def score(self, prevalence: Prevalence) -> Table:
        """SCORES of every model in force.

        Raises:
            ModelError: no model can judge what is here.
        """
        scored = self._ready(self.workspace.models_in_force())
        refusals = scored.refusals()
        able = [model for model in scored.models if model.card.id not in refusals]
        if not able:
            raise ModelError("; ".join(refusals.values()))
        parts = [at_share(self._scores(scored, model), prior_of(model.card), prevalence.bots) for model in able]
        scores = pl.concat(parts).sort("actor", "since", "detector")
        told = said_once({model.card.id: scored.caveats(model, self.question.window) for model in able})
        notes = (*doubted(self.workspace.models, able, scores), *refusals.values(), *told, *unsure(scores))
        return Table(scores, (*notes, prevalence.sentence))

    def judge(self) -> "tuple[Found, JudgedNow]":
        """VERDICTS by the rules in force, those that are missing judged and sealed; and the days judged now.

        Raises:
            ModelError: no model can judge what is here.
        """
        self._ready(self.workspace.models_in_force())
        judged, question = self.workspace.judged(), self.question
        new = judged.judge(judged.due(question.window, fresh=question.fresh), progress=question.progress)
        return Found(judged, judged.verdicts(question.window)), new

    def trend(self, wishes: TrendOptions) -> Table:
        """How many accounts look like bots, by day or by main zone.

        Raises:
            ModelError: no model of events can judge the lake.
        """
        model, run = event_model(self.workspace.models, wishes.detector), self.workspace.run_options
        zones = zones_of(model, wishes, run)
        scored = self._ready([model], [zones] if wishes.by == "zone" else [])
        said = self._said(scored, model)
        places = self._resting(scored, zones, None) if wishes.by == "zone" else None
        nothing = pl.DataFrame()  # no fusion asks how somebody played
        return count_trend(said, nothing, places, self.workspace.models, wishes, run=run)

    def _said(self, scored: Scored, model: Model, actors: Collection[str] | None = None) -> Said:
        """What a model says.

        Raises:
            ModelError: it cannot judge what is here.
        """
        self._refuse(scored, model)
        return Said(model, self._scores(scored, model, actors), scored.caveats(model, self.question.window))

    def _refuse(self, scored: Scored, model: Model) -> None:
        refusal = scored.refusals().get(model.card.id)
        if refusal is not None:
            raise ModelError(f"{self.workspace.root}: {refusal}")

    def _beside(self, model: Model, wishes: RankOptions) -> list[Feature]:
        days = days_of(model, self.workspace.models).recipe
        return [days, activity_of(days, wishes)]

    def _ready(self, models: Sequence[Model], more: Sequence[Feature] = ()) -> Scored:
        """Measure and score what is missing for these models."""
        question = self.question
        scored = replace(self.workspace.scored(), models=tuple(models))
        features = [feature_of(model.feature) for model in models]
        of_events = [one for one in (*features, *more) if one.input == "events"]
        if of_events:
            once = {repr(recipe_of(one)): one for one in of_events}
            scored.days.measure(list(once.values()), question.window, fresh=question.fresh, progress=question.progress)
        scored.parts.measure([one for one in features if one.input not in {"events", "scores"}], fresh=question.fresh)
        scored.score(question.window, fresh=question.fresh)
        return scored

    def _scores(
        self,
        scored: Scored,
        model: Model,
        actors: Collection[str] | None = None,
        columns: Sequence[str] | None = None,
    ) -> pl.DataFrame:
        partitions = scored.partitions(model, self.question.window)
        told = scored.table(model).table(partitions, columns, actors)
        told = without_exonerated(told, self.workspace.exonerated)
        return whole_enough(told, least_measured(model, scored.limits))

    def _listed(self, scored: Scored, model: Model, wishes: RankOptions, some: Shortlist | None = None) -> Ranked:
        """The list of those on a shortlist, or of everybody."""
        window, days = self.question.window, days_of(model, self.workspace.models)
        activity, actors = activity_of(days.recipe, wishes), None if some is None else some.actors
        measured = scored.days.table(scored.features[model.card.id], window, actors)
        own = recipe_of(days.recipe) == model.feature
        found = ListInput(
            model=model,
            days=days,
            rows=scored.shown(model, measured),
            scores=self._scores(scored, model, actors),
            played=_covered(scored, measured) if own else self._resting(scored, days.recipe, actors),
            places=self._resting(scored, activity, actors),
            addresses=addresses_by_period(scored.days.events, activity.clock) if wishes.facts.sharing else None,
            newest=from_micros(max((one.until for one in scored.partitions(model, window)), default=0)),
            periods=None if some is None else some.periods,
            others=0 if some is None else some.others,
            caveats=scored.caveats(model, window),
            again=days.again(LakeSource(self.workspace.lake), self.workspace.models),
        )
        return list_accounts(found, self.workspace.models, wishes, self.workspace.run_options)

    def _resting(self, scored: Scored, feature: Feature, actors: Sequence[str] | None) -> pl.DataFrame:
        """FEATURES of a feature that no model need look at, with the share that is covered of each row's time."""
        return _covered(scored, scored.days.table(feature, self.question.window, actors))

    def _story(
        self, actor: str, scored: Scored, model: Model, rows: pl.DataFrame, prevalence: Prevalence
    ) -> Explanation:
        said, feature = self._said(scored, model, [actor]), feature_of(model.feature)
        if feature.input == "events":
            days = days_of(model, self.workspace.models)
            return event_story(
                actor,
                said,
                rows=rows,
                days=days,
                alone=partial(self._alone, scored, feature, actor),
                models=self.workspace.models,
                prevalence=prevalence,
                again=days.again(LakeSource(self.workspace.lake), self.workspace.models) if days.model is model else "",
            )
        scores = said.at(prevalence)
        period = highest_period(rows, scores) if rows["since"].null_count() == 0 else rows
        caveats = (*doubted(self.workspace.models, [model], scores), *said.caveats)
        nothing = pl.DataFrame()
        return Explanation(actor, model, scores, model.explain(period), period, nothing, prevalence, caveats=caveats)

    @staticmethod
    def _alone(scored: Scored, feature: Feature, actor: str, since: datetime, until: datetime) -> EventStream:
        """The events of one actor in a period; only what may hold them is read."""
        events = scored.days.events.between(to_micros(since), to_micros(until))
        return events.of([actor]) if feature.entity == "actor" else only(events, feature.entity, actor)


def _covered(scored: Scored, rows: pl.DataFrame) -> pl.DataFrame:
    """FEATURES with the share that is covered of each row's time."""
    return rows.with_columns(scored.view.coverage.of(rows))
