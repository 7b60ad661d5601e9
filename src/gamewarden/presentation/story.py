"""One actor's case in sentences a game master understands."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, time, timedelta
from typing import TYPE_CHECKING, Any, Protocol
from zoneinfo import ZoneInfo

from gamewarden.contracts import Card, Model
from gamewarden.core.outside import visible
from gamewarden.core.text import counted
from gamewarden.learning.phrases import may_point, topic_of
from gamewarden.phrases import OTHER_TOPIC, Phrase
from gamewarden.verdicts.prevalence import Prevalence

if TYPE_CHECKING:
    import polars as pl

    from gamewarden.features.pulses.stretches import Stretches

_BARS = "▁▂▃▄▅▆▇█"
_WIDTH = 96
_FOOTNOTE = "The model weighs all topics at once: what one already says, another need not say again."
_MARKS = (
    f"Taken alone, a number marked + is more like those of known bots, one marked − more like people's. {_FOOTNOTE}"
)
_BY_SIDE = ("account-table",)  # features whose columns are the operator's own
_COPIES = "copies"  # the feature that says what an account shares with others
_SAYS_LITTLE = 0.15  # log-odds
_SIGNS = {"bot": "+", "human": "−", "": "·"}
_FACTS = 6  # of each side
_WHOLE = 0.9  # of a period: below, that is why it was not judged
NOBODY_IN_STYLE = "nobody who plays in this style has been reviewed"
NO_CONCLUSION = "a rate this high allows no conclusion"
_PERIODS = 10  # the last ones are shown; all stand in `score`


@dataclass(frozen=True)
class Topic:
    """Which way a topic points, and its facts, each with a mark."""

    head: str
    facts: tuple[tuple[str, str], ...]

    def text(self) -> str:
        """A paragraph."""
        return "\n".join([self.head, *(f"  {mark} {visible(says)}" for mark, says in self.facts)])


@dataclass(frozen=True)
class Topics:
    """All of them, and what has to be said of the marks."""

    topics: tuple[Topic, ...] = ()
    footnote: str = ""


class Case(Protocol):
    """What is known of one actor under one model, as `explain` finds it."""

    @property
    def actor(self) -> str:
        """Who it is about."""

    @property
    def model(self) -> Model:
        """Who judged."""

    @property
    def scores(self) -> "pl.DataFrame":
        """SCORES of all its periods."""

    @property
    def evidence(self) -> "pl.DataFrame":
        """EVIDENCE of the period that scores highest."""

    @property
    def measured(self) -> "pl.DataFrame":
        """FEATURES of that period."""

    @property
    def windows(self) -> "pl.DataFrame":
        """Its windows, where the model's feature has any."""

    @property
    def prevalence(self) -> Prevalence:
        """The share of bots that the probabilities suppose."""

    @property
    def again(self) -> str:
        """How to get the same numbers."""

    @property
    def caveats(self) -> tuple[str, ...]:
        """What stands beside every word of the model on this source."""

    @property
    def time_zone(self) -> str:
        """By which its days begin."""

    @property
    def stretches(self) -> "Stretches":
        """Its hours, and those that beat as a clock does."""


def explanation_text(story: Case, width: int | None = None) -> str:
    """The whole case: the judgement, what speaks for and against, and what the windows look like.

    The picture of the windows fits a terminal of `width` columns; sentences are for whoever shows them to wrap.
    """
    judged = story.scores["probability"].drop_nulls().len() > 0
    reasons = topics_of(story) if judged else Topics()
    parts = [
        judgement(story),
        _periods(story),
        *(topic.text() for topic in reasons.topics),
        reasons.footnote,
        _shared(story) if judged else "",
        _windows(story, min(_WIDTH, (width or _WIDTH + 2) - 2)),
        _pulses(story),
        story.again,
    ]
    return "\n\n".join(part for part in parts if part)


def judgement(story: Case) -> str:
    """Who it is about, how it scores, and what that means."""
    import polars as pl

    best = story.scores.sort("probability", "since", descending=[True, True], nulls_last=True).row(0, named=True)
    head = ", ".join(filter(None, (visible(story.actor), _day(best["since"], best["until"], story.time_zone))))
    if best["probability"] is None:
        return f"{head}\n{_unjudged(best['covered'])}: nothing follows from this."
    judged = story.scores.filter(pl.col("probability").is_not_null()).height
    chance = probability_text(best["probability"]) + (f" (the highest of {judged} periods)" if judged > 1 else "")
    style = story.model.told_styles(story.measured)[0] if story.measured.height else None
    fpr = f"false-positive rate {best['fpr']:.4f}: {rarity(story.model.card, best['fpr'], style)}"
    return (
        f"{head}\nBot probability {chance}, if {story.prevalence.text} of all accounts are bots; {fpr}.\n"
        f"Judged by {story.model.card.id}. A number is a reason to look, never a verdict.{_far(best['far'])}"
    )


def _unjudged(covered: float | None) -> str:
    """Why there is no number: the period is not whole, or too little was done in it."""
    if covered is not None and covered < _WHOLE:
        return f"The source covers {covered:.0%} of this period, which is not judged before it is whole"
    return "Too little evidence to say anything"


def _short_reason(covered: float | None) -> str:
    """Why a period of a list has no number."""
    whole = covered is None or covered >= _WHOLE
    return "too little evidence" if whole else f"not judged, the source covers {covered:.0%} of it"


def _far(number: str | None) -> str:
    """That a row lies beyond what the model learned from, if it does."""
    if number is None:
        return ""
    return f"\nIts {number.replace('_', ' ')} lies far beyond all that the model learned from: watch, and no more."


def rarity(card: Card, fpr: float, style: str | None = None) -> str:
    """What an FPR of this model means in people, for a row of this style of play."""
    humans, by_style = card.parameters.get("humans", 0), card.parameters.get("humans_by_style", {})
    alike = by_style.get(style, 0)
    unknown = f"; {NOBODY_IN_STYLE}" if style is not None and by_style and not alike else ""
    if humans and fpr <= 1 / (humans + 1):
        return f"none of {humans:,} people looks as bot-like{unknown}"
    # A rate that the share of a rare style has limited is no count of people who look alike.
    if alike and math.isclose(fpr, 1 / (alike + 1)) and (alike + 1) ** 2 > humans + 1:
        return f"none of the {alike:,} people who are known to play in its style looks as bot-like"
    share = round(1 / fpr)
    return (f"at most 1 in {share:,} people looks as bot-like" if share > 1 else NO_CONCLUSION) + unknown


def probability_text(value: float) -> str:
    """Three decimals; what rounds to certainty is not called certain."""
    return "above 0.999" if value > 0.9995 else "below 0.001" if value < 0.0005 else f"{value:.3f}"  # noqa: PLR2004  half of the last decimal


def _periods(story: Case) -> str:
    if story.scores.height == 1:
        return ""
    lines = ["All periods"]
    hidden = story.scores.height - _PERIODS
    for row in story.scores.sort("since").tail(_PERIODS).iter_rows(named=True):
        shown = _short_reason(row["covered"]) if row["probability"] is None else probability_text(row["probability"])
        lines.append(f"  {_day(row['since'], row['until'], story.time_zone)}  {shown}  ({row['events']:,} events)")
    return "\n".join([*lines, *([f"  … and {hidden:,} earlier ones"] if hidden > 0 else [])])


def topics_of(story: Case) -> Topics:
    """What speaks for and against, topic by topic."""
    by_side = story.model.feature.name in _BY_SIDE
    return _sides(story.evidence) if by_side else _reasons(story)


def _reasons(story: Case) -> Topics:
    """One paragraph a topic, the heaviest first: which way it points and how strongly, then its facts."""
    evidence = story.evidence
    told = [
        Topic(f"{one.name}: {one.points}", tuple((_SIGNS[side_of(row)], row["says"]) for row in one.rows))
        for one in weighed_topics(evidence, getattr(story.model, "phrases", None))
    ]
    return Topics(tuple(told), _FOOTNOTE if evidence["alone"].null_count() == evidence.height else _MARKS)


@dataclass(frozen=True)
class WeighedTopic:
    """The evidence of one topic, and what it weighs together."""

    name: str
    rows: tuple[dict[str, Any], ...]  # of EVIDENCE

    @property
    def weight(self) -> float:
        """In log-odds."""
        return sum(row["weight"] or 0.0 for row in self.rows)

    @property
    def marks(self) -> int:
        """One for each factor of e in the odds, five at the most."""
        return min(5, round(abs(self.weight)))

    @property
    def side(self) -> str:
        """For whom it speaks: bot, human, or nobody.

        It never speaks for a side to which none of its facts points alone (decision 071).
        """
        side = "bot" if self.weight > 0 else "human"
        unmarked = all(row["alone"] is None for row in self.rows)
        facts = {_pointed(row, row["weight"] or 0.0) if unmarked else side_of(row) for row in self.rows}
        return side if self.marks and side in facts else ""

    @property
    def rather(self) -> str:
        """Whose it rather is alone, where it does not count for them beside the other topics."""
        other = "human" if self.weight > 0 else "bot"
        return other if self.marks and not self.side and other in {side_of(row) for row in self.rows} else ""

    @property
    def points(self) -> str:
        """Which way it points, in words."""
        if self.side:
            return f"speaks for a {self.side} {'●' * self.marks}"
        if self.rather:
            return f"alone more like a {self.rather}'s; beside the other topics it does not count for one"
        return "says little"


def weighed_topics(evidence: "pl.DataFrame", phrases: Mapping[str, Phrase] | None) -> list[WeighedTopic]:
    """EVIDENCE of one row by topic, the heaviest first."""
    topics: dict[str, list[dict[str, Any]]] = {}
    for row in evidence.iter_rows(named=True):
        topics.setdefault(topic_of(row["feature"], phrases), []).append(row)
    if list(topics) == [OTHER_TOPIC]:
        topics = {"What it does": topics[OTHER_TOPIC]}
    found = [WeighedTopic(name, tuple(rows)) for name, rows in topics.items()]
    return sorted(found, key=lambda one: -abs(one.weight))


def side_of(row: Mapping[str, Any]) -> str:
    """Whose number of a row of EVIDENCE it rather is, taken alone: bot, human, or nobody's."""
    alone = row["alone"] or 0.0
    return "" if abs(alone) < _SAYS_LITTLE else _pointed(row, alone)


def _pointed(row: Mapping[str, Any], weight: float) -> str:
    """The side a weight above or below 0 points to, if the number may be shown as pointing there."""
    side = "bot" if weight > 0 else "human"
    return side if weight and may_point(row["says"] or "", side) else ""


def _sides(evidence: "pl.DataFrame") -> Topics:
    """An operator's own columns know no topics: what speaks for a bot, then for a human, then what cannot be true."""
    import polars as pl

    pointed = [_pointed(row, row["weight"] or 0.0) for row in evidence.iter_rows(named=True)]
    heavy, side = pl.col("weight").abs() >= _SAYS_LITTLE, pl.Series(pointed, dtype=pl.String)
    sides = {f"Speaks for a {name}": evidence.filter(heavy, side == name) for name in ("bot", "human")}
    told = [
        Topic(title, tuple(map(_fact_with_marks, rows.head(_FACTS).iter_rows(named=True))))
        for title, rows in sides.items()
        if rows.height
    ]
    wrong = tuple(("·", says) for says in evidence.filter(~heavy)["says"] if " cannot be true: " in says)
    more = evidence.height - sum(len(topic.facts) for topic in told) - len(wrong)
    told += [Topic("Not trusted", wrong)] if wrong else []
    return Topics(
        tuple(told),
        f"{more} further numbers point to neither side or weigh less; --json lists them all." if more else "",
    )


def _fact_with_marks(row: dict[str, Any]) -> tuple[str, str]:
    return f"{'●' * max(1, min(5, round(2 * abs(row['weight'])))):<5}", row["says"]


def _windows(story: Case, width: int) -> str:
    if not story.windows.height:
        return ""
    filled = story.windows.filter(story.windows["events"] > 0)
    top = (
        filled["top_kind"].value_counts(sort=True, name="windows").sort("windows", "top_kind", descending=[True, False])
    )
    kinds = ", ".join(f"{visible(kind)} ({count:,})" for kind, count in top.head(3).iter_rows())
    empty = story.windows.height - filled.height
    return (
        f"The windows\n  {story.windows.height:,} windows, {empty:,} of them empty{_repeats(story)}.\n"
        f"  The commonest event was, in so many windows: {kinds}\n"
        f"  The windows from first to last (a flat line is a routine, ups and downs are not):\n"
        f"  {sparkline(story.windows, width)}"
    )


def _shared(story: Case) -> str:
    """What it does that others do, in the same order and at the same pace."""
    if story.model.feature.name != _COPIES:
        return ""
    row = story.measured.row(0, named=True)
    alike, walking = row["alike_with"] or 0, row["same_way_with"] or 0
    if not row["shared"] or not max(alike, walking):
        return ""
    does = f"Does the same as {counted(alike, 'other')} at least" if alike else "What it does as the one most like it"
    lines = ["Shared with others", f"  {does}: {visible(row['shared'])}."]
    lines += [f"  Walks the same way as {counted(walking, 'other')} at least."] if walking else []
    return "\n".join(lines)


def _pulses(story: Case) -> str:
    """When it acted as a clock does, beside its other hours."""
    told = story.stretches
    lines = [
        f"  From {_clock(since, story.time_zone)} to {_clock(until, story.time_zone)}, "
        f"{100 * share:.0f} % of its play: {100 * steady:.0f} % of what it does most comes as fast as the one before"
        for since, until, steady, share in told.pulses.select("since", "until", "steady", "share").iter_rows()
    ]
    if not lines:
        return ""
    own = "There is no other play to compare with."
    if told.own_steady is not None:
        own = f"In its other hours it is {100 * told.own_steady:.0f} %."
    return "\n".join(["Hours of clockwork", *(f"{line}." for line in lines), f"  {own}"])


def _clock(moment: datetime, time_zone: str) -> str:
    return moment.astimezone(ZoneInfo(time_zone)).strftime("%H:%M")


def _repeats(story: Case) -> str:
    row = story.measured.row(0, named=True)
    if row.get("cosim_uniq_count") is None:
        return ""
    return f"; {row['cosim_uniq_count']:,} different ones, the commonest came {_times(row['cosim_mode'])}"


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count:,} times"


def sparkline(windows: "pl.DataFrame", width: int) -> str:
    """The mean cosine of up to so many stretches of windows, scaled to the largest."""
    import polars as pl

    size = -(-windows.height // width)
    stretches = (
        windows.with_row_index().group_by(pl.col("index") // size, maintain_order=True).agg(pl.col("cosine").mean())
    )
    values = stretches["cosine"].to_list()
    largest = max(values) or 1.0
    return "".join(_BARS[min(len(_BARS) - 1, int(value / largest * len(_BARS)))] for value in values)


def _day(since: object, until: object, time_zone: str) -> str:
    """A period by the clock of a time zone: a day by its date alone."""
    if not isinstance(since, datetime) or not isinstance(until, datetime):
        return ""
    begin, end = (at.astimezone(ZoneInfo(time_zone)) for at in (since, until))
    if begin.time() == end.time() == time() and end.date() - begin.date() == timedelta(days=1):
        return f"{begin:%Y-%m-%d}"
    if until - since == timedelta(days=1):
        return f"the day from {begin:%Y-%m-%d %H:%M} {time_zone}"
    return f"{begin:%Y-%m-%d %H:%M} to {end:%Y-%m-%d %H:%M} {time_zone}"
