"""Whether a period's scores can be trusted at all, seen from the first day on: what needs no baseline of periods.

A control chart has to learn what is usual before it can say that something is not. Until then, and whenever it learns
anew, a period is held against what the model learned from and against limits that people set.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from math import sqrt
from statistics import median

import polars as pl

from gamewarden.drift.causes import EXPECTED, LogSummary, named, silence, vocabulary_growth

UNKNOWN = 0.05  # of events in kinds the model does not know, or of those it learned from in kinds that are gone
FPR = 0.05  # the FPR whose promise is watched: so many people in a hundred, no more
TIMES = 2.0  # the promise counts as broken beyond this multiple
BOTS = 0.3  # of all actors, the most that is thinkable
UNJUDGED = 0.9  # of actors
COLLAPSED = 0.25  # of the usual events an actor
ACTORS = 100  # fewer say too little about a share
_COMMON = 0.5  # of actors: a kind that so many showed is missed whatever its share of events, as a login is
_MOST_UNSEEN = 0.9  # of a vocabulary whose use in training nobody can look up any more
_CHANCE = 3.0  # standard errors that chance is given
_FEW = 10  # of fewer known people a share says nothing


@dataclass(frozen=True)
class TrustRules:
    """From where on a period's scores are not to be trusted: policy, all of it."""

    unknown: float = UNKNOWN
    fpr: float = FPR
    times: float = TIMES
    bots: float = BOTS
    unjudged: float = UNJUDGED
    collapsed: float = COLLAPSED
    actors: int = ACTORS


@dataclass(frozen=True)
class Doubt:
    """One reason not to trust a period's scores."""

    name: str
    says: str
    fault: bool = False  # of the log, which no new model can cure


@dataclass(frozen=True)
class Look:
    """What is known of a period without any baseline, and of what the model learned from."""

    now: LogSummary
    before: Sequence[LogSummary]  # the latest last
    scores: pl.DataFrame
    known: frozenset[str]  # kinds that are not new to the model; empty where it has no vocabulary
    learned: Sequence[LogSummary] = ()  # the periods it learned from, where the log still holds them
    shares: Mapping[str, float] = field(default_factory=dict)  # of the events it learned from, by kind, where known
    bots: float = 0.0  # their share of the actors it learned from
    humans: Collection[str] = field(default_factory=frozenset)  # actors whom people have called human


def doubts(look: Look, rules: TrustRules) -> list[Doubt]:
    """Every reason that stands, faults of the log first."""
    if not look.now.events:
        return []
    found = (_unknown(look, rules), _gone(look, rules), _accused(look, rules), _unjudged(look, rules))
    return [*faults(look.now, look.before, rules), *(doubt for doubt in found if doubt)]


def faults(now: LogSummary, before: Sequence[LogSummary], rules: TrustRules) -> list[Doubt]:
    """What is wrong with the log itself: a sensor that went silent, or far fewer events than usual."""
    found = [_silent(now, before), _collapsed(now, before, rules)]
    return [doubt for doubt in found if doubt]


def _silent(now: LogSummary, before: Sequence[LogSummary]) -> Doubt | None:
    cause = silence(now, before)
    return Doubt("sensor", cause.says, fault=True) if cause.found else None


def _collapsed(now: LogSummary, before: Sequence[LogSummary], rules: TrustRules) -> Doubt | None:
    usual = [seen.events / seen.actors for seen in before if seen.events and seen.actors]
    if not usual or not now.events or not now.actors:
        return None
    most, here = median(usual), now.events / now.actors
    if here >= rules.collapsed * most:
        return None
    return Doubt("collapse", f"{here:,.1f} events an actor, {most:,.1f} are usual: the log may be incomplete.", True)


def _unknown(look: Look, rules: TrustRules) -> Doubt | None:
    cause = vocabulary_growth(look.now, look.known)
    return Doubt("vocabulary", cause.says) if cause.numbers.get("share of events", 0) > rules.unknown else None


def _gone(look: Look, rules: TrustRules) -> Doubt | None:
    """Kinds the model learned from and that never show now."""
    learned = [seen for seen in look.learned if seen.events]
    if not learned:
        return _unseen(look, rules)
    lost = [_lost(then, look.now, EXPECTED) for then in learned]
    share = sum(sum(kinds.values()) for kinds in lost) / sum(then.events for then in learned)
    common = any(_lost(then, look.now, _COMMON) for then in learned)
    if share <= rules.unknown and not common:
        return None
    return _gone_for(sorted({kind for kinds in lost for kind in kinds}), share)


def _lost(then: LogSummary, now: LogSummary, widely: float) -> dict[str, int]:
    """Events then, by kind, of kinds that such a share of actors showed and that nobody shows now."""
    return {
        kind: count
        for kind, count in then.kinds.items()
        if not now.kinds.get(kind) and then.actors_by_kind.get(kind, 0) >= widely * then.actors
    }


def _unseen(look: Look, rules: TrustRules) -> Doubt | None:
    """The same by what the model itself has kept, which says nothing of how many actors showed a kind."""
    if look.now.actors < rules.actors:
        return None
    unseen = sorted(look.known - look.now.kinds.keys())
    if look.shares:
        share = sum(look.shares.get(kind, 0.0) for kind in unseen)
        return _gone_for(unseen, share) if share > rules.unknown else None
    if len(unseen) <= _MOST_UNSEEN * len(look.known):
        return None
    return Doubt("gone", f"{len(unseen):,} of the {len(look.known):,} kinds the model knows never show.")


def _gone_for(kinds: Sequence[str], share: float) -> Doubt:
    return Doubt("gone", f"Never shown: {named(kinds)}, {share:.1%} of the events the model learned from.")


def _accused(look: Look, rules: TrustRules) -> Doubt | None:
    """More people at or below an FPR than it promises: counted where people are known, else beyond all bots."""
    flagged = _flagged_by_actor(look.scores, rules.fpr)
    humans = flagged.filter(pl.col("actor").is_in(list(look.humans)))
    most = rules.times * rules.fpr
    if humans.height >= _FEW and (share := _share_beyond(humans, most)) is not None:
        says = f"{share:.0%} of {humans.height:,} known humans have an FPR of {rules.fpr:.0%} or less"
        return Doubt("fprs", f"{says}; {rules.fpr:.0%} of people should.")
    bots = max(rules.bots, look.bots)
    if (share := _share_beyond(flagged, rules.fpr + (1 - rules.fpr) * bots)) is not None:
        says = f"{share:.0%} of {flagged.height:,} actors have an FPR of {rules.fpr:.0%} or less"
        return Doubt("fprs", f"{says}, more than {bots:.0%} bots among them could explain.")
    return None


def _unjudged(look: Look, rules: TrustRules) -> Doubt | None:
    actors = look.scores["actor"].n_unique()
    judged = look.scores.drop_nulls("probability")["actor"].n_unique()
    if actors < rules.actors or actors - judged <= rules.unjudged * actors:
        return None
    return Doubt("unjudged", f"{actors - judged:,} of {actors:,} actors could not be judged: too little evidence.")


def _flagged_by_actor(scores: pl.DataFrame, fpr: float) -> pl.DataFrame:
    """Each judged actor with the share of its rows at or below an FPR: its rows are no independent witnesses."""
    judged = scores.drop_nulls("fpr")
    return judged.group_by("actor").agg(flagged=(pl.col("fpr") <= fpr).mean()).sort("actor")


def _share_beyond(flagged: pl.DataFrame, most: float) -> float | None:
    """The share of actors flagged, where it is beyond `most` by more than chance."""
    if not flagged.height:
        return None
    share = float(flagged["flagged"].to_numpy().mean())
    return share if share - most > _CHANCE * sqrt(most * max(1 - most, 0) / flagged.height) else None
