"""Lee et al. (NDSS 2016), the self-maintaining model: three policies through a scripted SYNTHETIC year.

Never retrain, retrain every week, or retrain when the EWMA chart says so: the AUC over time, what retraining costs, and
the control chart. The paper prints no such figures; ours come from a synthetic year (docs/world.md) and say that the
method works as described on players built so, no more.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from pathlib import Path
from time import process_time
from typing import Any

import polars as pl
import pyarrow as pa

from gamewarden.contracts import EventStream, Model, Progress, no_progress
from gamewarden.core.clock import Period
from gamewarden.detectors.logistic.recipe import AccountDay
from gamewarden.drift import retraining, validation
from gamewarden.drift.causes import Cause, Evidence, LogSummary, ban_wave, causes, silent_kinds
from gamewarden.drift.correlation import agreement, by_actor
from gamewarden.drift.doubts import Doubt, Look, TrustRules, doubts
from gamewarden.drift.flow import Ledger, PeriodRun, Policy, Record, Retrained, Signal, distrust, doubts_in
from gamewarden.drift.seeing import seen_in
from gamewarden.evaluation.metrics import auc
from gamewarden.features.self_similarity.recipe import SelfSimilarity
from gamewarden.lab.studies import Number
from gamewarden.lab.studies.watchers import other_watchers
from gamewarden.lab.world.year import WEEKS, Year
from gamewarden.presentation.control_plots import NEW_MODEL, plot_control_chart, plot_policies
from gamewarden.streams import PlainEvents

ACCOUNTS, SEEDS = 400, 2
NUMBERS = (
    Number("accounts", 200, ACCOUNTS, "Accounts of the year."),
    Number("seeds", 1, SEEDS, "Years that are played."),
)
NEVER, ALWAYS, WATCHED = "never retrained", "retrained every week", "EWMA"
POLICIES = (NEVER, ALWAYS, WATCHED)
WITHIN, OF_THE_RETRAININGS = 0.02, 1 / 5  # what the watch has to keep, against retraining every week
FLAG = 0.5
_LEARNED = 4  # weeks of the first model
_READ = ("actor", "character", "at", "seq", "kind", "level", "session")
_REMEMBERED = 8


@dataclass(frozen=True)
class Study:
    """The table of policies, what is drawn, and what has to be said."""

    title: str
    frame: pl.DataFrame
    by_week: pl.DataFrame  # policy, seed, week, auc, retrained
    charts: Mapping[int, pl.DataFrame]  # by seed
    happenings: Mapping[str, int]
    notes: tuple[str, ...]
    more: tuple[tuple[str, pl.DataFrame], ...] = ()


def steps(accounts: int, seeds: int) -> int:
    """How many weeks are played."""
    del accounts
    return WEEKS * seeds


def run(accounts: int = ACCOUNTS, seeds: int = SEEDS, progress: Progress = no_progress) -> Study:
    """Play years with the seeds 1, 2, 3 … and let the three policies look after one detector each."""
    years = [_Played.of(Year(accounts, seed), progress) for seed in range(1, seeds + 1)]
    runs = [_Run.of(played) for played in years]
    by_week = pl.concat([one.by_week for one in runs])
    frame = _policies(by_week, pl.concat([one.costs for one in runs]))
    noticed = pl.concat([one.noticed for one in runs])
    watchers = pl.concat([other_watchers(one.never_x, one.seed, years[0].year.script.happenings) for one in runs])
    return Study(
        f"Three policies through a SYNTHETIC year ({accounts:,} accounts and those that come later, {seeds} years)",
        frame,
        by_week,
        {one.seed: one.chart for one in runs},
        years[0].year.script.happenings,
        _remarks(frame),
        (
            ("By year (synthetic)", _each_year(by_week)),
            ("What the chart noticed (synthetic)", noticed),
            ("Weeks whose scores are not to be trusted (synthetic)", pl.concat([one.doubted for one in runs])),
            ("Other watchers of the same X_t, never retrained (synthetic)", watchers),
        ),
    )


def draw(study: Study, directory: Path) -> list[Path]:
    """AUC over the weeks with each retraining, and the control chart, of every year."""
    drawn = []
    for seed, chart in study.charts.items():
        curves, control = (directory / f"maintenance-{seed}-{name}.png" for name in ("auc", "control-chart"))
        plot_policies(
            study.by_week.filter(seed=seed), curves, study.happenings, f"AUC through a synthetic year, seed {seed}"
        )
        title = f"Control chart of the watched model, synthetic year, seed {seed}"
        plot_control_chart(chart.rename({"week": "period"}), control, title, study.happenings, axis="week")
        drawn += [curves, control]
    return drawn


class _Held(PlainEvents):
    """A week's events, played once and read as often as needed."""

    def __init__(self, week: EventStream) -> None:
        self.columns = frozenset(_READ)
        self._batches = list(week.batches(_READ))

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """The same rows each time."""
        return (batch.select(list(columns)) for batch in self._batches)


@dataclass(frozen=True)
class _Played:
    """A year measured under the vocabulary before its patch and under that after it."""

    year: Year
    old: SelfSimilarity
    new: SelfSimilarity
    features: Mapping[tuple[SelfSimilarity, int], pl.DataFrame]
    seen: tuple[LogSummary, ...]

    @classmethod
    def of(cls, year: Year, progress: Progress) -> "_Played":
        patch = year.script.patch
        old, new = (SelfSimilarity(vocabulary=tuple(year.week(week).kinds)) for week in (0, patch))
        features: dict[tuple[SelfSimilarity, int], pl.DataFrame] = {}
        seen = []
        for week in range(WEEKS):
            held = _Held(year.week(week))
            features[old, week] = old.measure(held)
            if week >= patch - retraining.MOST_PERIODS:
                features[new, week] = new.measure(held)
            seen.append(seen_in(held))
            progress(1)
        return cls(year, old, new, features, tuple(seen))

    def vocabulary_in(self, week: int) -> SelfSimilarity:
        """The recipe that knows all the game can log that week."""
        return self.old if week < self.year.script.patch else self.new

    def judged(self, week: int) -> pl.DataFrame:
        """LABELS that people have given by then: every second account, two weeks after it came."""
        return self.year.labels(week).filter(_odd(False))

    @property
    def unjudged(self) -> pl.DataFrame:
        """The truth about everybody else: only for saying how good a policy is."""
        return self.year.labels().filter(_odd(True))


def _odd(odd: bool) -> pl.Expr:  # noqa: FBT001  one of two halves
    return (pl.col("actor").str.slice(1).cast(pl.Int64) % 2 == 1) == odd


@dataclass
class _Keeper:
    """The actions of the flow on a played year; it also counts what learning costs."""

    played: _Played
    models: dict[str, tuple[Model, SelfSimilarity]] = field(default_factory=dict)
    fits: int = 0
    rows: int = 0
    seconds: float = 0.0

    def fit(self, week: int, weeks: int) -> str:
        """A model of the last weeks up to this one, without the held-out accounts."""
        feature = self.played.vocabulary_in(week)
        rows = pl.concat([self.played.features[feature, one] for one in range(week - weeks + 1, week + 1)])
        labels = retraining.split(self.played.judged(week))[0]
        before = process_time()
        model = AccountDay(feature=feature).fit(rows, labels)
        self.seconds += process_time() - before
        self.fits += 1
        self.rows += rows.join(labels, on="actor", how="semi").height
        self.models[model.id] = model, feature
        return model.id

    def scores(self, week: int, model: str) -> pl.DataFrame:
        """SCORES of a week."""
        fitted, feature = self.models[model]
        return fitted.score(self.played.features[feature, week])

    def auc(self, week: int, model: str) -> float:
        """How well the model tells accounts apart that nobody has judged."""
        rows = self.scores(week, model).drop_nulls("probability").join(self.played.unjudged, on="actor")
        return auc(rows["probability"].to_numpy(), rows["bot"].to_numpy()) or 0.0

    def score(self, period: Period, model: str) -> Mapping[str, Any]:
        """Numbers about the period; scores are made again whenever they are asked for."""
        actors = by_actor(self.scores(self._week(period), model))
        return {"actors": actors.height, "flagged": int((actors["probability"] >= FLAG).sum())}

    def signal(self, period: Period, model: str) -> Signal:
        """X_t of the week and the one before."""
        week = self._week(period)
        scores = self.scores(week - 1, model), self.scores(week, model)
        doubted = tuple(self.doubts(week, model))
        silent = silent_kinds(self.played.seen[week], self._before(week))
        found = agreement(*scores)
        left = ban_wave(*scores, FLAG).found
        if any(doubt.fault for doubt in doubted):
            return Signal(None, found.common, "its log has a fault", left, tuple(silent), doubted)
        if not doubted and self.doubts(week - 1, model):
            return Signal(None, found.common, "the week before is not to be trusted", left)
        return Signal(found.x, found.common, found.why, left, (), doubted)

    def doubts(self, week: int, model: str) -> Sequence[Doubt]:
        """Why the scores of a week are not to be trusted."""
        fitted, feature = self.models[model]
        actors = fitted.card.training["actors"]
        since, until = (datetime.fromisoformat(fitted.card.training[name]) for name in ("since", "until"))
        last = min(self._week_of(until - timedelta(microseconds=1)), week)
        look = Look(
            now=self.played.seen[week],
            before=self._before(week),
            scores=self.scores(week, model),
            known=frozenset(feature.vocabulary or ()),
            learned=self.played.seen[self._week_of(since) : last + 1],
            bots=actors["bot"] / sum(actors.values()),
            humans=self.played.judged(week).filter(~pl.col("bot"))["actor"].to_list(),
        )
        return doubts(look, TrustRules())

    def causes(self, period: Period, model: str) -> Sequence[Cause]:
        """Why scores moved."""
        week = self._week(period)
        feature = self.models[model][1]
        return causes(
            Evidence(
                self.played.seen[week],
                self._before(week),
                frozenset(feature.vocabulary or ()),
                self.played.features[feature, week - 1],
                self.played.features[feature, week],
                self.scores(week - 1, model),
                self.scores(week, model),
                FLAG,
            )
        )

    def retrain(self, period: Period, model: str) -> Retrained:
        """A candidate from the newest weeks with enough judged accounts."""
        week = self._week(period)
        back = range(week, max(week - retraining.MOST_PERIODS, -1), -1)
        actors = [by_actor(self.scores(one, model))["actor"] for one in back]
        window = retraining.window(actors, self.played.judged(week), retraining.RetrainingRules())
        if window.why_not is not None:
            return Retrained(None, window.why_not)
        numbers = {"bots": window.bots, "humans": window.humans, "periods": window.periods}
        return Retrained(self.fit(week, window.periods), None, numbers)

    def validate(self, period: Period, model: str, candidate: str, in_control: datetime | None) -> validation.Verdict:
        """Both models on the judged accounts that no retraining has seen."""
        week = self._week(period)
        held = retraining.split(self.played.judged(week))[1]
        new, old = (
            pl.concat([self.scores(one, name) for one in range(week - _LEARNED + 1, week + 1)])
            for name in (candidate, model)
        )
        usual = None if in_control is None else self.scores(self._week_of(in_control), model)
        now = None if self.doubts(week, model) else self.scores(week, model)
        everybody = self.scores(week, candidate), now, usual
        verdict = validation.judge(retraining.compare(new, old, held, everybody, FLAG))
        stands = [f"under it scores are not to be trusted: {one.says}" for one in self.doubts(week, candidate)]
        return replace(verdict, failures=(*verdict.failures, *stands))

    def promote(self, period: Period, candidate: str, because: str) -> None:
        """The flow's own record is enough here."""

    def notify(self, period: Period, reason: str, text: str) -> str:
        """Nobody is there to be told."""
        del period, reason, text
        return "recorded"

    def period(self, week: int) -> Period:
        """A week as the flow knows it."""
        day = self.played.year.day(week)
        return Period(day, day + timedelta(weeks=1))

    def _week(self, period: Period) -> int:
        return self._week_of(period.since)

    def _week_of(self, moment: datetime) -> int:
        return (moment - self.played.year.start) // timedelta(weeks=1)

    def _before(self, week: int) -> list[LogSummary]:
        return list(self.played.seen[max(0, week - _REMEMBERED) : week])


class _Notebook:
    """A history in memory."""

    def __init__(self) -> None:
        self.records: list[Record] = []

    def append(self, record: Record) -> None:
        """One more."""
        self.records.append(record)


@dataclass(frozen=True)
class _Run:
    """One year under the three policies."""

    seed: int
    by_week: pl.DataFrame
    costs: pl.DataFrame
    chart: pl.DataFrame
    noticed: pl.DataFrame
    doubted: pl.DataFrame
    never_x: list[float | None]  # from the first watched week on, under the first model

    @classmethod
    def of(cls, played: _Played) -> "_Run":
        keepers = {name: _Keeper(played) for name in POLICIES}
        weeks = range(_LEARNED, WEEKS)
        never = _auc_by_week(keepers[NEVER], weeks, retrain=False)
        always = _auc_by_week(keepers[ALWAYS], weeks, retrain=True)
        watched, notebook = _watch(keepers[WATCHED], weeks)
        rows = [
            {"policy": name, "seed": played.year.seed, "week": week, "auc": found, "retrained": again}
            for name, series in zip(POLICIES, (never, always, watched), strict=True)
            for week, (found, again) in zip(weeks, series, strict=True)
        ]
        costs = [
            {"policy": name, "retrainings": one.fits - 1, "rows_learned_from": one.rows, "cpu_seconds": one.seconds}
            for name, one in keepers.items()
        ]
        first = keepers[NEVER]
        model = next(iter(first.models))
        xs = [first.signal(first.period(week), model).x for week in weeks]
        told = _chart(notebook), _noticed(notebook, played), _doubted(notebook, played)
        return cls(played.year.seed, pl.DataFrame(rows), pl.DataFrame(costs), *told, xs)


def _auc_by_week(keeper: _Keeper, weeks: range, *, retrain: bool) -> list[tuple[float, bool]]:
    model = keeper.fit(_LEARNED - 1, _LEARNED)
    series = []
    for week in weeks:
        if retrain:
            model = keeper.fit(week, _LEARNED)
        series.append((keeper.auc(week, model), retrain))
    return series


def _watch(keeper: _Keeper, weeks: range) -> tuple[list[tuple[float, bool]], _Notebook]:
    notebook = _Notebook()
    ledger = Ledger(notebook, Policy())
    first = keeper.period(weeks[0])
    ledger.append({"period": first.name, "step": "begin", "model": keeper.fit(_LEARNED - 1, _LEARNED)})
    series = []
    for week in weeks:
        before = keeper.fits
        day = PeriodRun(keeper.period(week), keeper, ledger)
        day.run()
        series.append((keeper.auc(week, day.model), keeper.fits > before))
    return series, notebook


def _by_week(notebook: _Notebook) -> Iterator[tuple[int, dict[str, Record]]]:
    found: dict[str, dict[str, Record]] = {}
    for record in notebook.records:
        found.setdefault(record["period"], {})[record["step"]] = record
    return enumerate(found.values(), start=_LEARNED)


def _chart(notebook: _Notebook) -> pl.DataFrame:
    names = ("drawn", "z", "lower", "upper", "provisional", "status")
    rows = [
        {
            "week": week,
            **{name: steps["watch"][name] for name in names},
            "answer": NEW_MODEL if "promote" in steps else None,
        }
        for week, steps in _by_week(notebook)
    ]
    return pl.DataFrame(rows, infer_schema_length=None, schema_overrides={"answer": pl.String})


def _noticed(notebook: _Notebook, played: _Played) -> pl.DataFrame:
    rows = [
        {
            "seed": played.year.seed,
            "week": week,
            "status": steps["watch"]["status"],
            "happened_before": _latest(played.year.script.happenings, week),
            "first_cause": steps["causes"]["causes"][0]["says"] if "causes" in steps else distrust(steps["watch"]),
            "answer": _answer(steps),
        }
        for week, steps in _by_week(notebook)
        if "retrain" in steps
    ]
    schema = dict.fromkeys(("status", "happened_before", "first_cause", "answer"), pl.String)
    return pl.DataFrame(rows, schema={"seed": pl.Int64, "week": pl.Int64, **schema})


def _doubted(notebook: _Notebook, played: _Played) -> pl.DataFrame:
    rows = [
        {"seed": played.year.seed, "week": week, "says": " ".join(one["says"] for one in doubts_in(steps["watch"]))}
        for week, steps in _by_week(notebook)
        if doubts_in(steps["watch"])
    ]
    return pl.DataFrame(rows, schema={"seed": pl.Int64, "week": pl.Int64, "says": pl.String})


def _answer(steps: Mapping[str, Record]) -> str:
    if "promote" in steps:
        return "promoted"
    return "kept: " + ("; ".join(steps["validate"]["failures"]) if "validate" in steps else steps["retrain"]["why_not"])


def _latest(happenings: Mapping[str, int], week: int) -> str:
    past = {name: begins for name, begins in happenings.items() if begins <= week}
    if not past:
        return "nothing yet"
    name = max(past, key=lambda one: past[one])
    return f"{name}, week {past[name]}"


def _policies(by_week: pl.DataFrame, costs: pl.DataFrame) -> pl.DataFrame:
    always = by_week.filter(policy=ALWAYS).select("seed", "week", best="auc")
    behind = by_week.join(always, on=["seed", "week"]).with_columns(behind=pl.col("best") - pl.col("auc"))
    told = behind.group_by("policy", maintain_order=True).agg(
        pl.col("auc").mean().alias("mean_auc"),
        pl.col("auc").min().alias("lowest_auc"),
        pl.col("behind").mean().alias("mean_behind_always"),
        pl.col("behind").max().alias("most_behind_in_a_week"),
        pl.col("behind").filter(pl.col("week") >= WEEKS // 2).mean().alias("behind_in_the_second_half"),
    )
    spent = costs.group_by("policy", maintain_order=True).agg(pl.col("*").exclude("policy").sum())
    return told.join(spent, on="policy", maintain_order="left")


def _each_year(by_week: pl.DataFrame) -> pl.DataFrame:
    """Every year alone: a mean over years could hide one in which the watch fails."""
    told = by_week.group_by("seed", "policy", maintain_order=True).agg(
        pl.col("auc").mean().alias("mean_auc"),
        pl.col("auc").min().alias("lowest_auc"),
        pl.col("retrained").sum().cast(pl.Int64).alias("retrainings"),
    )
    always = told.filter(policy=ALWAYS).select("seed", best="mean_auc", most="retrainings")
    within = (pl.col("behind_always") <= WITHIN) & (pl.col("retrainings") <= OF_THE_RETRAININGS * pl.col("most"))
    return (
        told.join(always, on="seed", maintain_order="left")
        .with_columns(behind_always=pl.col("best") - pl.col("mean_auc"))
        .with_columns(keeps_both=pl.when(pl.col("policy") == WATCHED).then(within))
        .drop("best", "most")
    )


def _remarks(frame: pl.DataFrame) -> tuple[str, ...]:
    rows = {row["policy"]: row for row in frame.iter_rows(named=True)}
    watched, always = rows[WATCHED], rows[ALWAYS]
    near = watched["mean_behind_always"] <= WITHIN
    seldom = watched["retrainings"] <= OF_THE_RETRAININGS * always["retrainings"]
    verdict = "holds" if near and seldom else "does NOT hold"
    distance = watched["mean_behind_always"]
    behind = f"{abs(distance):.3f} {'behind' if distance > 0 else 'ahead of'} retraining every week on average"
    worst = f"{watched['most_behind_in_a_week']:.3f} behind in its worst week"
    return (
        "Ours are synthetic: a year built to drift, one day of every week.",
        (
            f"Within {WITHIN} of retraining every week with at most a fifth of the retrainings: {verdict}. The watched "
            f"model is {behind} ({worst}), with {watched['retrainings']} of {always['retrainings']} retrainings."
        ),
        "AUC over account-days of accounts nobody has judged; every second account is judged two weeks after it came.",
    )
