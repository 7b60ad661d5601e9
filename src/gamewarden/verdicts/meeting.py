"""When a model meets a source: what it may say of it, and what has to stand beside every word.

A model knows the log it learned from. How much of another log it knows, how much of its own log the other can show, and
how many of its rows lie near those it learned from are measured; below stated limits the model does not judge.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

import polars as pl

from gamewarden.contracts import Vocabulary
from gamewarden.core.coverage import COVERED

SIMULATED = "simulation"  # who labelled the accounts of a synthetic world
ONLINE = ("session.login", "session.logout")  # kinds that decide when somebody was online at all
CROWD = 10  # actors: of fewer, each that lies far is said to, and the others are judged
EXPECTED = 10  # events of a kind: where fewer would be expected, their absence is no surprise
_NAMED = 3
COVERAGE_SETTING = "[coverage] least"
_WORTH_SAYING = 0.0005  # of the events
_MODEL = "\x00"  # stands for a model's id, which never holds it


@dataclass(frozen=True)
class Limits:
    """How much a model and a source must have in common before one judges the other: the settings of [origin]."""

    known: float = 0.8  # of the source's events are of kinds that the model knows
    shown: float = 0.95  # of the model's training events were of kinds that the source can show
    near: float = 0.5  # of the judged rows lie near those that the model learned from
    covered: float = 0.9  # of a period must be covered by the source before it is scored


@dataclass(frozen=True)
class Spell:
    """One period of a source beside what a model learned: how much of it is known, and what went missing in it."""

    since: datetime
    until: datetime
    events: int
    known: float  # the share of its events that are of kinds that the model knows
    missing: Mapping[str, float]  # kinds that should have occurred and never did, by their share of training

    @classmethod
    def of(cls, since: datetime, until: datetime, counts: Mapping[str, int], learned: Vocabulary) -> "Spell":
        """From how often each kind occurred in the period."""
        counted = {kind: n for kind, n in counts.items() if learned.counts(kind)}
        total, common = sum(counted.values()), learned.common
        known = sum(n for kind, n in counted.items() if kind in common) / total if total else 1.0
        missing = {kind: share for kind, share in common.items() if kind not in counts and share * total >= EXPECTED}
        return cls(since, until, total, known, missing)

    def fits(self, limits: Limits) -> bool:
        """Whether the model can judge what was done in it."""
        return self.known >= limits.known and 1 - sum(self.missing.values()) >= limits.shown

    def sentence(self, rows: int) -> str:
        """Why nothing is said of the period."""
        common = sorted(self.missing, key=lambda kind: -self.missing[kind])
        gone = f", and {_some(common)} never occur" if common else ""
        return (
            f"{_period(self.since, self.until)}: {self.known:.0%} of the events are of known kinds{gone}: its {rows:,} "
            "rows are not judged"
        )


@dataclass(frozen=True)
class Meeting:
    """A model's vocabulary beside what a source can show."""

    model: str
    learned: Vocabulary
    shows: Mapping[str, int]

    @property
    def unknown(self) -> dict[str, int]:
        """The source's kinds that the model does not know, the most frequent first."""
        found = {k: n for k, n in self.shows.items() if n and self.learned.counts(k) and k not in self.learned.common}
        return dict(sorted(found.items(), key=lambda one: (-one[1], one[0])))

    @property
    def known(self) -> float:
        """The share of the source's events that are of kinds the model knows."""
        total = sum(count for kind, count in self.shows.items() if self.learned.counts(kind))
        return 1 - sum(self.unknown.values()) / total if total else 1.0

    @property
    def unshown(self) -> dict[str, float]:
        """The model's kinds that the source cannot show, the most common first."""
        found = {kind: share for kind, share in self.learned.common.items() if kind not in self.shows}
        return dict(sorted(found.items(), key=lambda one: (-one[1], one[0])))

    @property
    def shown(self) -> float:
        """The share of the training events that were of kinds the source can show."""
        return 1 - sum(self.unshown.values())

    def refusal(self, limits: Limits) -> str | None:
        """Why the model does not judge this source, or nothing: of one without events there is nothing to judge."""
        if not any(self.shows.values()):
            return None
        if self.known < limits.known:
            return (
                f"{self.model} cannot judge this log: {1 - self.known:.0%} of its events are of kinds that the model "
                f"has never seen ({_some(list(self.unknown))}); fit a model on this log, or map its kinds (--map)"
            )
        if self.learned.online and (strange := [kind for kind in ONLINE if self._only_one_has(kind)]):
            who = "this log" if strange[0] in self.learned.common else "the log it learned from"
            return (
                f"{self.model} cannot judge this log: {who} does not show {' and '.join(strange)}, so that time online "
                "is measured in two ways that do not compare; fit a model on this log, or map its log-ins (--map)"
            )
        if self.shown < limits.shown:
            return (
                f"{self.model} cannot judge this log: it cannot show {_some(list(self.unshown))}, of which "
                f"{1 - self.shown:.0%} of the events were that the model learned from; fit a model on this log"
            )
        return None

    def notes(self) -> Iterator[str]:
        """What stands beside every list and verdict of the model on this source."""
        if 1 - self.known >= _WORTH_SAYING:
            yield (
                f"{1 - self.known:.1%} of the events are of {len(self.unknown)} kinds unknown to {self.model} "
                f"({_some(list(self.unknown))})"
            )
        if missed := [kind for kind, share in self.unshown.items() if share * sum(self.shows.values()) >= EXPECTED]:
            yield (
                f"this log does not show {_some(missed)}, known to {self.model}: what rests on it is not measured and "
                "does not count"
            )

    def _only_one_has(self, kind: str) -> bool:
        return (kind in self.learned.common) != bool(self.shows.get(kind) or (kind in self.shows))


def origin_notes(model: str, training: Mapping[str, object]) -> Iterator[str]:
    """What has to be said of whom a model learned from."""
    sources = training.get("sources")
    if isinstance(sources, Mapping) and SIMULATED in sources:
        yield f"{model} learned from a synthetic world: the humans there, the typical one too, are simulated"
    covered = training.get(COVERED)
    if isinstance(covered, int | float) and covered < Limits.covered:
        yield f"{model} learned from periods of which the log covers {covered:.0%}: only such parts are known"


def said_once(lines: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    """What has to be said of several models, each by its id: what holds for more than one stands once, of all."""
    named: dict[str, list[str]] = {}
    for model, told in lines.items():
        for line in told:
            named.setdefault(line.replace(model, _MODEL), []).append(model)
    return tuple(line.replace(_MODEL, ", ".join(models)) for line, models in named.items())


@dataclass(frozen=True)
class Far:
    """How many rows a model has judged, and how many of them lie beyond what it learned from, by which number."""

    judged: int = 0
    some: frozenset[str] = frozenset()  # of the actors, as many as make a crowd
    by: Mapping[str, int] = field(default_factory=dict)

    @classmethod
    def of(cls, scores: pl.DataFrame) -> "Far":
        """From SCORES."""
        judged = scores.drop_nulls("probability")
        counts = judged["far"].drop_nulls().value_counts()
        return cls(
            judged.height, frozenset(judged["actor"].unique(maintain_order=True).head(CROWD)), dict(counts.iter_rows())
        )

    def __add__(self, other: "Far") -> "Far":
        """Both together."""
        by = {name: self.by.get(name, 0) + other.by.get(name, 0) for name in {*self.by, *other.by}}
        some = self.some if len(self.some) >= CROWD else self.some | other.some
        return Far(self.judged + other.judged, some, by)

    @property
    def _rows(self) -> int:
        return sum(self.by.values())

    @property
    def _worst(self) -> str:
        return min(self.by, key=lambda name: (-self.by[name], name), default="")

    def refusal(self, model: str, limits: Limits) -> str | None:
        """Why a model does not judge rows most of which lie beyond what it learned from, or nothing."""
        share = self._rows / self.judged if self.judged else 0.0
        if len(self.some) >= CROWD and 1 - share < limits.near:
            return (
                f"{model} cannot judge this source: {share:.0%} of its {self.judged:,} rows lie far beyond what the "
                f"model learned from, most by {self._worst}; fit a model on this source"
            )
        return None

    def notes(self, model: str) -> Iterator[str]:
        """How many rows lie beyond what a model learned from."""
        if self._rows:
            yield (
                f"{self._rows:,} of {self.judged:,} rows lie far beyond what {model} learned from, most by "
                f"{self._worst}; no more than watching follows from them"
            )


def least_covered(training: Mapping[str, object], limits: Limits) -> float:
    """How much of a period must be covered: nearly as much as of those that the model learned from."""
    learned = training.get(COVERED)
    return limits.covered * (float(learned) if isinstance(learned, int | float) else 1.0)


def least_of_row(training: Mapping[str, object], limits: Limits, *, part_of_day: bool) -> float:
    """How much must be covered of the period of one row; a chunk is whole whatever is missing of its day."""
    return 0.0 if part_of_day else least_covered(training, limits)


def whole_enough(scores: pl.DataFrame, least: float) -> pl.DataFrame:
    """SCORES without the numbers of periods that the source covers too little of: part of a day is not a day."""
    whole = pl.col(COVERED).is_null() | (pl.col(COVERED) >= least)
    numbers = [name for name in ("probability", "fpr", "fpr_peers", "far") if name in scores.columns]
    return scores.with_columns(pl.when(whole).then(pl.col(name)).alias(name) for name in numbers)


def only_covered(rows: pl.DataFrame, least: float) -> pl.DataFrame:
    """The rows of periods that the source covers well enough, or of which nobody knows."""
    if COVERED not in rows.columns:
        return rows
    return rows.filter(pl.col(COVERED).is_null() | (pl.col(COVERED) >= least))


def coverage_notes(rows: pl.DataFrame, least: float, what: str) -> Iterator[str]:
    """Which periods a source covers too little of to be scored, or to be learned from."""
    return Partly.of(rows, least).notes(what)


@dataclass(frozen=True)
class Partly:
    """How many rows are of periods that a source covers too little of, and which periods these are."""

    rows: int = 0
    periods: frozenset[tuple[datetime, datetime, float]] = frozenset()

    @classmethod
    def of(cls, rows: pl.DataFrame, least: float) -> "Partly":
        """From rows that may say how much of their period is covered."""
        if COVERED not in rows.columns:
            return cls()
        partly = rows.filter(pl.col(COVERED) < least).select("since", "until", COVERED)
        return cls(partly.height, frozenset(partly.unique().iter_rows()))

    def __add__(self, other: "Partly") -> "Partly":
        """Both together."""
        return Partly(self.rows + other.rows, self.periods | other.periods)

    def notes(self, what: str) -> Iterator[str]:
        """Which periods are not scored, or not learned from."""
        if not self.rows:
            return
        named = [f"{_period(since, until)} ({part:.0%})" for since, until, part in sorted(self.periods)[:_NAMED]]
        more = f" and {len(self.periods) - _NAMED:,} more" if len(self.periods) > _NAMED else ""
        yield (
            f"the source covers only part of {', '.join(named)}{more}: {_rows(self.rows)} not {what}; read the "
            f"missing hours too, or lower {COVERAGE_SETTING}"
        )


def _rows(count: int) -> str:
    return "1 row is" if count == 1 else f"{count:,} rows are"


def _period(since: datetime, until: datetime) -> str:
    days = (until - since).days
    return f"{since:%Y-%m-%d}" if days else f"{since:%Y-%m-%d %H:%M} to {until:%H:%M}"


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:_NAMED]) + (f" and {len(names) - _NAMED} more" if len(names) > _NAMED else "")
