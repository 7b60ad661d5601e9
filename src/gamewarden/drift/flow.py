"""The logic flow of one period, as small steps that are each done once: score, watch, retrain, validate, promote.

Published as a flow chart (Lee et al., NDSS 2016); what it leaves open is filled in docs/decisions/060. All that the
flow knows it reads from its own history, so a run that stopped between any two steps goes on where it stopped.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from typing import Any, Protocol

from polars.exceptions import PolarsError

from gamewarden.core.clock import Period
from gamewarden.drift.causes import Cause
from gamewarden.drift.doubts import Doubt
from gamewarden.drift.ewma import Chart, ChartRules, Point
from gamewarden.drift.validation import Verdict
from gamewarden.errors import ReadError, short

Record = Mapping[str, Any]
Tick = Callable[[str, str], None]  # the step, and "done" before it is recorded or "recorded" after

CONSECUTIVE = 2  # signals in a row after which the operator is called: the published rule
MISSING = 3  # periods without X_t in a row after which the operator is called
LATE = "late"  # the record that opens a period again
TURNED_OVER = 4  # periods after which a new model has learned from nothing but what is doubted


@dataclass(frozen=True)
class Signal:
    """X_t, or why there is none, and what has to be said of the period."""

    x: float | None
    common: int
    why_missing: str | None = None
    ban_wave: bool = False
    silent: tuple[str, ...] = ()  # kinds that should be there
    doubts: tuple[Doubt, ...] = ()  # why the period's scores are not to be trusted


@dataclass(frozen=True)
class Retrained:
    """A candidate, or why there is none."""

    model: str | None
    why_not: str | None = None
    numbers: Mapping[str, Any] = field(default_factory=dict)


class Actions(Protocol):
    """What the flow lets others do. Everything may be done twice after a crash and must then come out the same."""

    def score(self, period: Period, model: str) -> Mapping[str, Any]:
        """Store the scores of all actors of the period under a model; returns numbers about them."""

    def signal(self, period: Period, model: str) -> Signal:
        """X_t: the period's scores beside those of the one it is compared with, both under this model."""

    def causes(self, period: Period, model: str) -> Sequence[Cause]:
        """Why scores moved, the likeliest first."""

    def retrain(self, period: Period, model: str) -> Retrained:
        """Fit a candidate on the newest confirmed labels, and keep it where it scores nobody."""

    def validate(self, period: Period, model: str, candidate: str, in_control: datetime | None) -> Verdict:
        """The candidate beside the model in force, on actors that it has not seen.

        `in_control` begins the latest period before in which scores were as usual.
        """

    def promote(self, period: Period, candidate: str, because: str) -> None:
        """Put the candidate into force."""

    def notify(self, period: Period, reason: str, text: str) -> str:
        """Tell the operator; returns what became of it."""


class History(Protocol):
    """Records that are added and never changed."""

    @property
    def records(self) -> Sequence[Record]:
        """All of them, the first one first."""

    def append(self, record: Record) -> None:
        """One more, safe before this returns."""


@dataclass(frozen=True)
class Policy:
    """When the flow calls somebody, and how its chart is drawn."""

    chart: ChartRules = field(default_factory=ChartRules)
    consecutive: int = CONSECUTIVE
    missing: int = MISSING
    turned_over: int = TURNED_OVER


@dataclass(frozen=True)
class Standing:
    """Where the flow stands after its history."""

    model: str | None
    chart: Chart
    doubted: Mapping[str, int] = field(default_factory=dict)  # what is doubted, and for how many periods in a row
    rested: int | None = None  # periods since the last retraining; none yet

    def after(self, record: Record) -> "Standing":
        """The standing with one record more."""
        match record["step"]:
            case "watch":
                return self._watched(record)
            case "begin":
                return replace(self, model=record["model"])
            case "retrain":
                return replace(self, rested=0)
            case "changed" | "promote":
                return replace(self, model=record["model"], chart=self.chart.after_retraining(), doubted={})
            case _:
                return self

    def _watched(self, record: Record) -> "Standing":
        found = doubts_in(record)
        chart, _ = self.chart.observe(record["x"], marked=bool(record["ban_wave"] or found))
        rested = None if self.rested is None else self.rested + 1
        return replace(self, chart=chart, doubted=self.doubted_with(found), rested=rested)

    def doubted_with(self, found: Sequence[Record]) -> dict[str, int]:
        """How long each doubt stands after one more period with these."""
        return {doubt["name"]: self.doubted.get(doubt["name"], 0) + 1 for doubt in found}


def doubts_in(watched: Record) -> Sequence[Record]:
    """The doubts of a watched period; histories from before there were any hold none."""
    found: Sequence[Record] = watched.get("doubts", ())
    return found


def outside(watched: Record) -> bool:
    """Whether a watched period left its limits, on a side that counts."""
    return bool(watched.get("outside", watched["signal"]))


@dataclass(frozen=True)
class Doubted:
    """A period whose scores under a model are not to be trusted, and why."""

    since: datetime
    until: datetime | None  # when the next one begins; none has been done yet
    model: str
    says: str


def by_period(records: Iterable[Record]) -> dict[str, dict[str, Record]]:
    """The steps that are done of each period, in the order in which the history came to them.

    Raises:
        ReadError: a record holds what no record does.
    """
    found: dict[str, dict[str, Record]] = {}
    _replay(records, lambda record: _note(found, record))
    return found


def _replay(records: Iterable[Record], take: Callable[[Record], None]) -> None:
    """Take the records in, one after the other, and refuse what maintenance never writes."""
    for number, record in enumerate(records, 1):
        with as_written(number):
            take(record)
            datetime.fromisoformat(record["period"])


@contextmanager
def as_written(number: int | None = None) -> Iterator[None]:
    """A history that somebody wrote anew hangs together, and may still lack what we wrote or hold something else.

    Raises:
        ReadError: it does.
    """
    try:
        yield
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError, PolarsError) as error:
        which = "" if number is None else f"record {number} of "
        raise ReadError(
            f"maintenance: {which}its history holds what it never writes ({short(str(error))}); "
            "put a copy of the history back"
        ) from error


def _note(found: dict[str, dict[str, Record]], record: Record) -> None:
    """One step more; a period that is opened again for late events has its work before it again."""
    steps = found.setdefault(record["period"], {})
    if record["step"] == LATE:
        for name in _AGAIN if record["only_scored"] else STEPS:
            steps.pop(name, None)
    steps[record["step"]] = record


def standing_doubts(records: Iterable[Record]) -> list[Doubted]:
    """The periods whose scores are not to be trusted; a model that took over has scored its period again.

    Raises:
        ReadError: a record holds what no record does.
    """
    found = dict(sorted(by_period(records).items()))
    begins = [datetime.fromisoformat(period) for period in found]
    with as_written():
        return [
            Doubted(since, until, steps["score"]["model"], says)
            for since, until, steps in zip(begins, [*begins, None][1:], found.values(), strict=True)
            if (says := standing_doubt(steps))
        ]


def standing_doubt(steps: Mapping[str, Record]) -> str | None:
    """Why a period's scores are not to be trusted, if they are not and nothing better took their place."""
    if "watch" not in steps or "promote" in steps:
        return None
    return " ".join(doubt["says"] for doubt in doubts_in(steps["watch"])) or None


class Ledger:
    """A history read once: where it leads, and what is recorded of each period, kept up with every record."""

    def __init__(self, history: History, policy: Policy) -> None:
        self.policy = policy
        self.standing = Standing(None, Chart(policy.chart))
        self._history = history
        self._by_period: dict[str, dict[str, Record]] = {}
        self._quiet: str | None = None
        self._watched = ""
        _replay(history.records, self._take)

    def append(self, record: Record) -> None:
        """One record more, safe before this returns."""
        self._history.append(record)
        self._take(record)

    def of(self, period: str) -> Mapping[str, Record]:
        """The steps of a period that are done."""
        return self._by_period.get(period, {})

    @property
    def latest_in_control(self) -> datetime | None:
        """When the latest period began that had an X_t within its limits and whose scores could be trusted."""
        return None if self._quiet is None else datetime.fromisoformat(self._quiet)

    def passed(self, period: Period) -> bool:
        """Whether the chart has gone on: this period or a later one was watched with events in it."""
        return period.name <= self._watched

    def open_again(self, period: Period) -> None:
        """Events came late: score the period anew, and watch it if the chart has not gone on without it."""
        only_scored = self.passed(period)
        scored = only_scored and "score" in self.of(period.name)
        self.append({"period": period.name, "step": LATE, "only_scored": only_scored, "scored": scored})

    def _take(self, record: Record) -> None:
        self.standing = self.standing.after(record)
        _note(self._by_period, record)
        if record["step"] == "watch" and self.of(record["period"]).get("score", {}).get("events", 1):
            self._watched = max(self._watched, record["period"])
        if record["step"] == "watch" and record["x"] is not None and not outside(record) and not doubts_in(record):
            self._quiet = record["period"]


def no_tick(_step: str, _moment: str) -> None:
    """Nobody is watching."""


@dataclass
class PeriodRun:
    """One period's work: what is recorded of it, and what is still to do."""

    period: Period
    actions: Actions
    ledger: Ledger
    tick: Tick = no_tick

    def run(self) -> None:
        """Do every step that is not recorded yet."""
        for name, step in _STEPS:
            if name not in self.recorded and (name in _SCORING or not self.only_scored):
                found = step(self)
                if found is not None:
                    self.tick(name, "done")
                    self.ledger.append({"period": self.period.name, "step": name, **found})
                    self.tick(name, "recorded")

    @property
    def recorded(self) -> Mapping[str, Record]:
        """The steps of this period that are done."""
        return self.ledger.of(self.period.name)

    @property
    def late(self) -> Record:
        """How the period was opened again, if it was."""
        return self.recorded.get(LATE, {})

    @property
    def only_scored(self) -> bool:
        """Whether the chart has gone on without these events: nothing is decided by them."""
        return bool(self.late.get("only_scored"))

    @property
    def model(self) -> str:
        """The model in force."""
        model = self.ledger.standing.model
        if model is None:
            raise ValueError("the flow has not begun: record a model first")
        return model


def _score(run: PeriodRun) -> Record:
    return {"model": run.model, **run.actions.score(run.period, run.model)}


def _watch(run: PeriodRun) -> Record:
    signal = run.actions.signal(run.period, run.model)
    before = run.ledger.standing
    chart, point = before.chart.observe(signal.x, marked=signal.ban_wave or bool(signal.doubts))
    doubted = [asdict(doubt) for doubt in signal.doubts]
    found = {**asdict(signal), "silent": list(signal.silent), "doubts": doubted, **_shown(point)}
    counted = {"consecutive": chart.consecutive, "missing": chart.missing, "doubted": before.doubted_with(doubted)}
    return {**found, **counted, **_inherited(before.chart, chart)}


def _inherited(before: Chart, after: Chart) -> dict[str, int]:
    """Whose limits the period was held against: models that took them over, and periods towards own ones."""
    return {"heirs": before.limits.heirs if before.limits else 0, "own_periods": len(after.baseline)}


def _shown(point: Point) -> dict[str, Any]:
    # `x` stays as measured; what is drawn may be its transform.
    return {"drawn" if name == "x" else name: value for name, value in asdict(point).items()}


def _signals(run: PeriodRun) -> bool:
    return bool(run.recorded["watch"]["signal"])


def _causes(run: PeriodRun) -> Record | None:
    if not _signals(run):
        return None
    return {"causes": [asdict(cause) for cause in run.actions.causes(run.period, run.model)]}


def _retrain(run: PeriodRun) -> Record | None:
    if not _signals(run) and not _may_cure(run):
        return None
    return asdict(run.actions.retrain(run.period, run.model))


def _may_cure(run: PeriodRun) -> bool:
    """Whether scores are doubted for something that a new model may know better, and it is time to try one."""
    watched = run.recorded["watch"]
    if not doubts_in(watched) or any(doubt["fault"] for doubt in doubts_in(watched)):
        return False
    window, rested = run.ledger.policy.turned_over, run.ledger.standing.rested
    stands = max(watched["doubted"].values())
    if stands == 1:
        return rested is None or rested >= window - 1
    return _turned_over(stands, window)


def _turned_over(periods: int, window: int) -> bool:
    """Whether all that a new model learns from is doubted now, and then ever more seldom: the operator knows."""
    windows, rest = divmod(periods, window)
    return rest == 0 and windows.bit_count() == 1


def _validate(run: PeriodRun) -> Record | None:
    candidate = run.recorded.get("retrain", {}).get("model")
    if candidate is None:
        return None
    verdict = run.actions.validate(run.period, run.model, candidate, run.ledger.latest_in_control)
    return {"candidate": candidate, "valid": verdict.valid, **asdict(verdict)}


def _promote(run: PeriodRun) -> Record | None:
    validated = run.recorded.get("validate")
    if not validated or not validated["valid"]:
        return None
    because = f"scores of {run.period.name} {_why_retrained(run.recorded['watch'])}; {auc_words(validated)}"
    run.actions.promote(run.period, validated["candidate"], because)
    return {"model": validated["candidate"], "instead_of": run.model, "because": because}


def _why_retrained(watched: Record) -> str:
    if watched["signal"]:
        return f"left their limits ({watched['status']})"
    return f"were not to be trusted ({', '.join(doubt['name'] for doubt in doubts_in(watched))})"


def auc_words(validated: Record) -> str:
    """Old and new AUC in a few words."""
    found = validated["comparison"]
    new, old = ("unknown" if found[which] is None else f"{found[which]:.3f}" for which in ("new_auc", "old_auc"))
    return f"held-out AUC {new}, the old model's {old}"


def _rescore(run: PeriodRun) -> Record | None:
    if run.only_scored:
        return _score(run) if run.late["scored"] else None
    promoted = run.recorded.get("promote")
    if promoted is None:
        return None
    return {"model": promoted["model"], **run.actions.score(run.period, promoted["model"])}


def _notify(run: PeriodRun) -> Record | None:
    due = list(messages(run.recorded, run.ledger.policy))
    if not due:
        return None
    sent = [
        {"reason": reason, "text": text, "outcome": run.actions.notify(run.period, reason, text)}
        for reason, text in due
    ]
    return {"messages": sent}


def messages(recorded: Mapping[str, Record], policy: Policy) -> Iterable[tuple[str, str]]:
    """What the operator has to be told of a period: a reason to count by, and a sentence."""
    watched = recorded["watch"]
    if watched["silent"]:
        yield "sensor", f"Kinds went silent: {', '.join(watched['silent'][:5])}. Scores of this period say little."
    if _doubt_is_news(watched, policy):
        yield "not to be trusted", f"{distrust(watched)}{_cured(recorded)}"
    if watched["missing"] and watched["missing"] % policy.missing == 0:
        yield "missing", f"X_t is missing for {watched['missing']} periods in a row: {watched['why_missing']}."
    if outside(watched) and watched["consecutive"] >= policy.consecutive:
        yield "consecutive", f"{_row_of_changes(watched, policy)}{_first_cause(recorded)}"
    if (why := _why_kept(recorded)) is not None:
        yield "invalid", f"The new model is invalid and the old one stays: {why}.{_first_cause(recorded)}"


def _doubt_is_news(watched: Record, policy: Policy) -> bool:
    """At once when a doubt is new; while it stands, as often as a missing X_t is told."""
    stands = {name: periods for name, periods in watched.get("doubted", {}).items() if name != "sensor"}
    return any(periods == 1 or periods % policy.missing == 0 for periods in stands.values())


def distrust(watched: Record) -> str:
    """Why a watched period's scores are not to be trusted, as a sentence."""
    return f"Scores of this period are not to be trusted: {' '.join(doubt['says'] for doubt in doubts_in(watched))}"


def _cured(recorded: Mapping[str, Record]) -> str:
    if "promote" in recorded:
        return " A new model took over; those it gives instead can be."
    longest = max(recorded["watch"]["doubted"].values())
    return f" It stands for {longest} periods." if longest > 1 else ""


def _row_of_changes(watched: Record, policy: Policy) -> str:
    row = f"Change was detected {watched['consecutive']} times in a row."
    if not watched.get("heirs"):
        return row
    own = f"it has {watched['own_periods']} of {policy.chart.provisional} periods towards its own"
    return f"{row} The limits are those of a model before the one in force; {own}."


def _why_kept(recorded: Mapping[str, Record]) -> str | None:
    if "retrain" not in recorded or "promote" in recorded:
        return None
    validated = recorded.get("validate")
    return "; ".join(validated["failures"]) if validated else str(recorded["retrain"]["why_not"])


def _first_cause(recorded: Mapping[str, Record]) -> str:
    causes = recorded.get("causes", {}).get("causes", [])
    return f" Likeliest cause: {causes[0]['says']}" if causes else ""


def _done(_run: PeriodRun) -> Record:
    return {}


_STEPS: tuple[tuple[str, Callable[[PeriodRun], Record | None]], ...] = (
    ("score", _score),
    ("watch", _watch),
    ("causes", _causes),
    ("retrain", _retrain),
    ("validate", _validate),
    ("promote", _promote),
    ("rescore", _rescore),
    ("notify", _notify),
    ("done", _done),
)
STEPS = tuple(name for name, _ in _STEPS)
_SCORING = ("score", "rescore", "done")  # of a period that the chart has passed
_AGAIN = ("rescore", "done")  # likewise, where it had been scored
