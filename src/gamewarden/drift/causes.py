"""Why a model's scores moved: what changed in the log, ranked, each with its numbers and a sentence.

A cause is named by how far it went beyond what is worth a word (its strength; 1 is just that far). Where none did, the
players' doing is left: bots may have adapted.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import log
from statistics import median

import polars as pl

from gamewarden.drift.correlation import by_actor
from gamewarden.drift.effects import NEGLIGIBLE, moved_features

NEW_SHARE = 0.01  # of events in kinds that the model does not know: from here on vocabulary growth is named
EXPECTED = 0.05  # a kind that this share of actors shows in every period is a sensor; its silence is a fault
QUIET_PERIODS = 4  # a kind silent for so long is gone for good and expected no more
REPLACED = 0.5  # new kinds with this share of what went silent replace it: a patch, not a fault
BUSIER = log(1.25)  # a quarter more or less play than usual is worth a word
LEFT_WITH_CAUSE = 0.3  # so much oftener suspects than others do not come back: somebody banned them
LEAST_BANNED = 10
FELL = 0.3  # a suspect's probability that fell by so much
_MOST_NAMED = 3


@dataclass(frozen=True)
class LogSummary:
    """What one period's log held."""

    actors: int
    kinds: Mapping[str, int]  # events by kind
    actors_by_kind: Mapping[str, int] = field(default_factory=dict)

    @property
    def events(self) -> int:
        """All of them."""
        return sum(self.kinds.values())


@dataclass(frozen=True)
class Cause:
    """One possible reason, how strong it is, its numbers, and what it says to a person."""

    name: str
    strength: float
    says: str
    numbers: Mapping[str, float] = field(default_factory=dict)

    @property
    def found(self) -> bool:
        """Whether it went far enough to be named."""
        return self.strength >= 1


@dataclass(frozen=True)
class Evidence:
    """What is known when scores have moved: this period beside those before it."""

    now: LogSummary
    before: Sequence[LogSummary]  # the latest last
    vocabulary: frozenset[str]  # kinds the model knows; empty where it has no vocabulary
    features_before: pl.DataFrame
    features_now: pl.DataFrame
    scores_before: pl.DataFrame
    scores_now: pl.DataFrame
    suspect: float  # the probability from which an actor is one
    same_weekday: LogSummary | None = None  # a week ago, where periods are shorter than a week


def causes(evidence: Evidence) -> list[Cause]:
    """All causes looked at, the strongest first; "bots may have adapted" leads where nothing else was found."""
    looked_at = [
        vocabulary_growth(evidence.now, evidence.vocabulary),
        silence(evidence.now, evidence.before),
        moved(evidence.features_before, evidence.features_now),
        season(evidence),
        ban_wave(evidence.scores_before, evidence.scores_now, evidence.suspect),
    ]
    ranked = sorted(looked_at, key=lambda cause: -cause.strength)
    explained = any(cause.found for cause in ranked if cause.name != "features")
    adapted = adaptation(evidence.scores_before, evidence.scores_now, evidence.suspect, explained=explained)
    return [*ranked, adapted] if explained else [adapted, *ranked]


def vocabulary_growth(now: LogSummary, known: frozenset[str]) -> Cause:
    """Kinds that the model has never seen, as after a patch."""
    if not known:
        return Cause("vocabulary", 0.0, "The model has no vocabulary that could grow.")
    new = {kind: count for kind, count in now.kinds.items() if kind not in known}
    share = sum(new.values()) / max(now.events, 1)
    numbers = {"new kinds": len(new), "share of events": share}
    says = f"{len(new):,} kinds are new to the model and make up {share:.1%} of events{_most(new)}."
    return Cause("vocabulary", share / NEW_SHARE, says, numbers)


def silent_kinds(now: LogSummary, before: Sequence[LogSummary]) -> list[str]:
    """Kinds that every period showed widely and this one does not at all, and that no new kinds have replaced.

    Seen in one of the last periods is enough: what has been silent for longer is expected no more.
    """
    if not before or not now.events:
        return []
    gone = [kind for kind in _expected(before) if not now.kinds.get(kind)]
    fell_silent: dict[int, list[str]] = {}
    for kind in gone:
        fell_silent.setdefault(max(at for at, seen in enumerate(before) if seen.kinds.get(kind)), []).append(kind)
    broken = [kinds for last, kinds in fell_silent.items() if not _replaced(kinds, now, before[: last + 1])]
    return sorted(kind for kinds in broken for kind in kinds)


def silence(now: LogSummary, before: Sequence[LogSummary]) -> Cause:
    """A sensor that no longer speaks."""
    gone = silent_kinds(now, before)
    if not gone:
        return Cause("sensor", 0.0, "Every kind that was usual is still there.", {"silent kinds": 0})
    lost = sum(_usual(before[-QUIET_PERIODS:], kind) for kind in gone)
    usual = median(seen.events for seen in before[-QUIET_PERIODS:])
    share = lost / max(usual, 1)
    says = f"{named(gone)} went silent, usually {share:.1%} of events: a sensor may be broken."
    # A silent sensor outweighs what follows from it.
    return Cause("sensor", 10 + share / NEW_SHARE, says, {"silent kinds": len(gone), "share of events": share})


def moved(then: pl.DataFrame, now: pl.DataFrame) -> Cause:
    """Features whose whole population moved."""
    found = moved_features(then, now)
    if not found:
        return Cause("features", 0.0, "No feature was measured in both times.")
    far = [one for one in found if abs(one.delta) >= NEGLIGIBLE][:_MOST_NAMED]
    strongest = abs(found[0].delta)
    numbers = {f"{one.feature} (Cliff's δ)": one.delta for one in found[:_MOST_NAMED]}
    numbers |= {f"{one.feature} (stability index)": one.stability for one in found[:_MOST_NAMED]}
    told = ", ".join(f"{one.feature} {one.median_then:.4g} → {one.median_now:.4g} (δ {one.delta:+.2f})" for one in far)
    says = f"Moved: {told}." if far else f"No feature moved beyond a negligible effect (largest |δ| {strongest:.2f})."
    return Cause("features", strongest / NEGLIGIBLE, says, numbers)


def season(evidence: Evidence) -> Cause:
    """More or less play than usual; whether a week ago was so too.

    Play is the median actor's, so that a few programs that log much are not taken for a holiday.
    """
    now, before = evidence.now, evidence.before
    then_and_now = evidence.features_before, evidence.features_now
    if not before or not now.actors or not all(frame.height for frame in then_and_now):
        return Cause("season", 0.0, "There is no period to compare the amount of play with.")
    people = now.actors / max(median(seen.actors for seen in before), 1)
    then, play = (float(median(frame["events"])) for frame in then_and_now)
    more = max(play, 1) / max(then, 1)
    largest = max(abs(log(more)), abs(log(people)))
    says = f"{people - 1:+.0%} actors than usual, {more - 1:+.0%} events of the median actor"
    numbers = {"actors": people, "events of the median actor": more}
    if largest < BUSIER:
        return Cause("season", largest / BUSIER, f"{says}: as always.", numbers)
    kind = "a weekday's habit" if _alike(evidence.same_weekday, before, people) else "a holiday or season"
    return Cause("season", largest / BUSIER, f"{says}: {kind}.", numbers)


def ban_wave(before: pl.DataFrame, now: pl.DataFrame, suspect: float) -> Cause:
    """Suspects who vanished far oftener than others."""
    suspects, others = _left(by_actor(before), by_actor(now), suspect)
    excess = suspects.share - others.share
    numbers = {"suspects gone": suspects.gone, "share of suspects": suspects.share, "share of others": others.share}
    says = (
        f"{suspects.gone:,} of {suspects.all:,} suspects are gone ({suspects.share:.0%}), {others.share:.0%} of others"
    )
    enough = min(1.0, suspects.gone / LEAST_BANNED)
    strength = max(0.0, excess / LEFT_WITH_CAUSE) * enough
    return Cause("ban wave", strength, f"{says}{': a ban wave' if strength >= 1 else ''}.", numbers)


def adaptation(before: pl.DataFrame, now: pl.DataFrame, suspect: float, *, explained: bool) -> Cause:
    """What is left when nothing in the log explains it: the players changed what they do."""
    both = by_actor(before).join(by_actor(now), on="actor", suffix="_now")
    suspects = both.filter(pl.col("probability") >= suspect)
    fell = suspects.filter(pl.col("probability") - pl.col("probability_now") >= FELL).height
    share = fell / max(suspects.height, 1)
    told = f"{fell:,} of {suspects.height:,} suspects ({share:.0%}) score far lower than before"
    numbers = {"suspects that fell": fell, "share": share}
    if explained:
        return Cause("adaptation", 0.0, f"{told}; what stands above may explain it.", numbers)
    return Cause("adaptation", 1.0, f"Nothing in the log explains it: bots may have adapted. {told}.", numbers)


@dataclass(frozen=True)
class _Leavers:
    gone: int
    all: int

    @property
    def share(self) -> float:
        return self.gone / max(self.all, 1)


def _left(before: pl.DataFrame, now: pl.DataFrame, suspect: float) -> tuple[_Leavers, _Leavers]:
    gone = before.join(now, on="actor", how="anti")
    sides = (pl.col("probability") >= suspect, pl.col("probability") < suspect)
    found = [_Leavers(gone.filter(side).height, before.filter(side).height) for side in sides]
    return found[0], found[1]


def _expected(before: Sequence[LogSummary]) -> list[str]:
    """Kinds that so many actors showed in each of the periods before that they must come again.

    Periods in which a kind was silent already do not end the expectation, until all recent ones are such.
    """
    recent = before[-QUIET_PERIODS:]
    kinds = {kind for seen in recent for kind in seen.kinds}
    spoke = {kind: [seen for seen in before if seen.kinds.get(kind)] for kind in kinds}
    return [
        kind
        for kind, periods in spoke.items()
        if all(seen.actors_by_kind.get(kind, 0) >= EXPECTED * seen.actors for seen in periods)
        and len(periods) >= min(len(before), 2)
    ]


def _replaced(gone: Sequence[str], now: LogSummary, until_then: Sequence[LogSummary]) -> bool:
    """Whether kinds that came after these had last been seen make up for them."""
    lost = sum(_usual(until_then[-QUIET_PERIODS:], kind) for kind in gone)
    known = {kind for seen in until_then for kind in seen.kinds}
    return sum(count for kind, count in now.kinds.items() if kind not in known) >= REPLACED * lost


def _usual(before: Sequence[LogSummary], kind: str) -> float:
    return median([seen.kinds[kind] for seen in before if seen.kinds.get(kind)] or [0])


def _alike(same_weekday: LogSummary | None, before: Sequence[LogSummary], people: float) -> bool:
    """Whether a week ago as many more, or fewer, were there."""
    if same_weekday is None or not same_weekday.actors:
        return False
    then = same_weekday.actors / max(median(seen.actors for seen in before), 1)
    return abs(log(then)) >= BUSIER / 2 and (then > 1) == (people > 1)


def named(kinds: Sequence[str]) -> str:
    """The first of some kinds, and how many more there are."""
    more = len(kinds) - _MOST_NAMED
    return ", ".join(kinds[:_MOST_NAMED]) + (f" and {more:,} more kinds" if more > 0 else "")


def _most(new: Mapping[str, int]) -> str:
    first = sorted(new, key=lambda kind: (-new[kind], kind))[:_MOST_NAMED]
    return f" ({', '.join(first)})" if first else ""
