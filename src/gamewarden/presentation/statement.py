"""A statement of reasons for a decision: all of it for an operator, and what a player has a right to know.

A player reads what was decided, on which facts, by which rule, whether a person decided, until when, and how to appeal:
no score, no threshold, no name of anybody else. What a player is told a bot's author is told too.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from gamewarden.cases import LADDER, OVERTURNED, PERSON, UPHELD, Action, Appeal, Decision, Observation, Suspicion
from gamewarden.errors import ResponseError, short
from gamewarden.policy import STEPS
from gamewarden.presentation.pages import page
from gamewarden.presentation.statement_words import LANGUAGES, WORDS, day, moment

PLAYER, OPERATOR = "player", "operator"
AUDIENCES = (PLAYER, OPERATOR)
_FACTS = ("verdict", "windows", "challenge", "group", "person")


@dataclass(frozen=True)
class VerdictBehind:
    """A verdict that a decision rests on, as it was sealed."""

    point: str | None
    probability: float | None
    models: tuple[str, ...]
    reasons: tuple[str, ...] = ()  # the heaviest, in sentences


@dataclass(frozen=True)
class Background:
    """All that is known of a decision."""

    decision: Decision
    evidence: tuple[Observation, ...] = ()
    actions: tuple[Action, ...] = ()
    appeals: tuple[Appeal, ...] = ()
    suspicion: Suspicion | None = None
    verdicts: Mapping[str, VerdictBehind] = field(default_factory=dict)  # by what an observation refers to
    rule: str = ""  # of the game
    where: str = ""  # a player appeals
    four_eyes: bool = True


@dataclass(frozen=True)
class Section:
    """A heading and what stands under it."""

    head: str
    lines: tuple[str, ...]


@dataclass(frozen=True)
class Statement:
    """A statement for somebody, in a language."""

    audience: str
    language: str
    decision: str
    automated: bool
    title: str
    sections: tuple[Section, ...]

    def lines(self) -> Iterator[str]:
        """It as text."""
        yield self.title
        for section in self.sections:
            yield ""
            yield section.head
            yield from (f"  {line}" for line in section.lines)

    def values(self) -> dict[str, Any]:
        """It as JSON values."""
        sections = [{"head": one.head, "lines": list(one.lines)} for one in self.sections]
        head = {"for": self.audience, "language": self.language, "decision": self.decision}
        return {**head, "automated": self.automated, "title": self.title, "sections": sections}

    def page(self) -> str:
        """It as a page."""
        kind = WORDS[self.language]["kind"]
        return page("statement.html", kind=kind, language=self.language, title=self.title, sections=self.sections)


def statement(background: Background, audience: str, language: str) -> Statement:
    """The statement of reasons for a player or an operator.

    Raises:
        ResponseError: there is no such language or depth.
    """
    if language not in LANGUAGES or audience not in AUDIENCES:
        raise ResponseError(
            f"statement: {short(audience)} in {short(language)} is none; it is for {' or '.join(AUDIENCES)} in "
            f"{' or '.join(LANGUAGES)}"
        )
    writing = _Writing(background, language)
    made = writing.for_player() if audience == PLAYER else writing.for_operator()
    decision = background.decision
    title = writing.say(audience, actor=decision.actor, id=decision.id)
    return Statement(audience, language, decision.id, decision.by == LADDER, title, tuple(made))


@dataclass(frozen=True)
class _Writing:
    """One statement while it is written."""

    known: Background
    language: str

    def say(self, key: str, **gaps: str) -> str:
        """A sentence."""
        return WORDS[self.language][key].format(**gaps)

    def for_player(self) -> Iterator[Section]:
        """What a player reads."""
        yield self._section("decided", self._decided())
        yield self._section("facts", self._facts())
        yield self._section("rule", [self.known.rule or self.say("usual rule")])
        yield self._section("who", self._who())
        yield self._section("appeal", self._appeal())

    def for_operator(self) -> Iterator[Section]:
        """What an operator reads."""
        yield self._section("decided", self._record())
        yield self._section("reasons", self.known.decision.because)
        yield self._section("evidence", self._evidence())
        yield self._section("suspicion", self._suspicion())
        yield self._section("actions", map(self._action, self.known.actions))
        yield self._section("appeals", map(self._appealed, self.known.appeals))

    def _section(self, head: str, lines: Iterable[str]) -> Section:
        return Section(self.say(head), tuple(lines) or (self.say("none"),))

    def _moment(self, at: datetime) -> str:
        return moment(at, self.language)

    def _decided(self) -> Iterator[str]:
        made = self.known.decision
        step = self.say(f"step {made.step if made.step in STEPS else 'other'}")
        yield self.say("decided on", at=self._moment(made.at), step=step)
        if made.rehearsal:
            yield self.say("rehearsal")
        if made.undone_at is not None:
            yield self.say("undone", at=self._moment(made.undone_at))
            return
        if made.waits_for is not None:
            yield self.say("waits")
        yield self.say("no end") if made.until is None else self.say("until", until=self._moment(made.until))

    def _facts(self) -> Iterator[str]:
        against = [one for one in self.known.evidence if one.llr > 0]
        for kind in _FACTS:
            if mine := [one for one in against if one.kind == kind]:
                since, until = min(map(_begin, mine)), max(map(_end, mine))
                yield self.say(f"fact {kind}", since=day(since, self.language), until=day(until, self.language))
        if not against:
            yield self.say("fact none")
        elif all(one.excluded is not None for one in against):
            yield self.say("fact excluded")

    def _who(self) -> Iterator[str]:
        made = self.known.decision
        if made.by == LADDER:
            yield self.say("automated")
            return
        yield self.say("by a person")
        if any(one.llr > 0 and one.kind != PERSON for one in self.known.evidence):
            yield self.say("programs helped")
        if made.approved_by is not None:
            yield self.say("approved")

    def _appeal(self) -> Iterator[str]:
        known = self.known
        for one in known.appeals:
            state = one.outcome if one.outcome in {UPHELD, OVERTURNED} else "open"
            yield self.say(f"appeal {state}", at=day(one.opened, self.language))
        yield self.say("appeal at", where=known.where) if known.where else self.say("appeal here")
        yield self.say("appeal how", id=known.decision.id)
        yield self.say("appeal who" if known.four_eyes else "appeal any")
        yield self.say("appeal then")

    def _record(self) -> Iterator[str]:
        made = self.known.decision
        until = self.say("no end") if made.until is None else self._moment(made.until)
        values: dict[str, str | None] = {
            "step": made.step,
            "at": self._moment(made.at),
            "until": until,
            "by": made.by,
            "automated": self._yes(made.by == LADDER),
            "approved_by": made.approved_by,
            "waits_for": made.waits_for,
            "rung": str(made.rung),
            "ladder": made.ladder,
            "rehearsal": self._yes(made.rehearsal),
            "rule": self.known.rule or self.say("usual rule"),
            "undone_at": None if made.undone_at is None else self._moment(made.undone_at),
            "undone_by": made.undone_by,
            "undone_because": made.undone_because,
        }
        yield from self._words(values)

    def _suspicion(self) -> Iterator[str]:
        now = self.known.suspicion
        if now is None:
            return
        values = {"score": f"{now.score:.3f}", "rung": str(now.rung), "observations": f"{now.observations:,}"}
        yield from self._words({**values, "on_call": self._yes(now.on_call)})

    def _words(self, values: Mapping[str, str | None]) -> Iterator[str]:
        for name, value in values.items():
            if value is not None:
                yield f"{self.say(f'word {name}')}: {value}"

    def _yes(self, so: bool) -> str:  # noqa: FBT001  which of two words
        return self.say("yes" if so else "no")

    def _evidence(self) -> Iterator[str]:
        for one in self.known.evidence:
            yield _observed(one)
            behind = self.known.verdicts.get(one.ref)
            if behind is not None:
                yield from _behind(behind)

    def _action(self, one: Action) -> str:
        said = f"{one.id}: {one.verb} {one.step} ({one.adapter}): {one.state}, {self._moment(one.due)}"
        there = (one.before or {}).get("there", one.before)  # beside it, what carrying out needs to know
        parts = {"attempts": one.attempts, "before": there, "receipt": one.receipt, "error": one.error}
        return "; ".join([said, *(f"{name} {_plain(value)}" for name, value in parts.items() if value)])

    def _appealed(self, one: Appeal) -> str:
        said = f"{one.id}: {self._moment(one.opened)}, {one.opened_by}: {one.text}"
        if one.outcome is None or one.decided is None:
            return said
        return f"{said} — {one.outcome}, {self._moment(one.decided)}, {one.decided_by}: {one.because}"


def _begin(one: Observation) -> datetime:
    return one.since or one.at


def _end(one: Observation) -> datetime:
    """The last moment that it tells of: a period that ends at midnight ends the day before."""
    return (one.until or one.at) - timedelta(microseconds=1)


def _observed(one: Observation) -> str:
    period = (
        "" if one.since is None or one.until is None else f", {one.since:%Y-%m-%d %H:%M} – {one.until:%Y-%m-%d %H:%M}"
    )
    numbers = {"FPR": one.fpr, "agree": one.agree or None, "covered": one.covered, "hours played": one.played}
    name = one.ref if one.ref.startswith(one.kind) else f"{one.kind} {one.ref}"
    said = [f"{one.id}: {name}{period}: log likelihood ratio {one.llr:+.3f}"]
    said += [f"{name} {value:.4g}" for name, value in numbers.items() if value is not None]
    said += [f"far from what {one.far} learned from"] if one.far else []
    said += [f"because of {one.because_of}"] if one.because_of else []
    said += [f"no longer counts ({one.excluded})"] if one.excluded else []
    return ", ".join(said)


def _behind(verdict: VerdictBehind) -> Iterator[str]:
    probability = "" if verdict.probability is None else f", bot probability {verdict.probability:.4g}"
    yield f"  {verdict.point or 'no point'}{probability}; models: {', '.join(verdict.models)}"
    yield from (f"  {reason}" for reason in verdict.reasons)


def _plain(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True) if isinstance(value, Mapping) else str(value)
