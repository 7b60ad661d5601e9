"""One account: who it is, what was said of it on each day, and what it would take to be said otherwise."""

from collections.abc import Iterator
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any

import polars as pl

from gamewarden.cases import Decision, Label, Protected, Suspicion
from gamewarden.core.durations import to_micros
from gamewarden.desk.desk import Desk
from gamewarden.desk.first_day import signs_of
from gamewarden.desk.judged_days import DayRules, day_of, rules_of, seals, span_of, verdicts_about
from gamewarden.desk.known_people import labels, profile_of
from gamewarden.desk.reasons import Reasons, reasons_of
from gamewarden.errors import GamewardenError, NotThereError, short
from gamewarden.policy import Rung
from gamewarden.store.verdict_days import DaySeal
from gamewarden.verdicts.chunks import prior_of
from gamewarden.verdicts.points import ACT, NEITHER, WATCH
from gamewarden.verdicts.prevalence import moved
from gamewarden.verdicts.reach import out_of_reach
from gamewarden.workspace.labels import in_force
from gamewarden.workspace.rest import Rest

# From which probability on it is called how, for people who do not think in decimals.
_WORDS = (
    (0.99, "almost-certainly"),
    (0.9, "very-likely"),
    (0.66, "likely"),
    (0.33, "undecided"),
    (0.1, "unlikely"),
    (0.01, "very-unlikely"),
)
_HARDLY = "hardly"


@dataclass(frozen=True)
class DayVerdict:
    """What was said of an account on one day."""

    day: str
    since: datetime
    until: datetime
    probability: float | None
    fpr: float | None
    one_in: int | None  # of so many people one looks as bot-like
    point: str | None  # act, watch, neither; None: not judged
    agree: int
    streak: int
    covered: float | None
    far: str | None
    verdict: str | None  # its id, where it is kept


@dataclass(frozen=True)
class Lack:
    """Something without which an account does not reach a point."""

    kind: str  # little, covered, refuted, fpr, agree, far, reach
    point: str  # the point that it misses; empty: it was not judged at all
    seen: float | None = None
    needed: float | None = None
    says: str = ""


_REFUTED = Lack("refuted", "", says="An appeal was overturned: what spoke against the account here no longer counts.")


@dataclass(frozen=True)
class Voice:
    """What one detector said on the day."""

    detector: str
    model: str
    probability: float | None
    fpr: float | None
    events: int | None
    why: str = ""  # why it says nothing: blind (none of what it looks at is there), little


@dataclass(frozen=True)
class Judged:
    """The verdict of the day that is shown."""

    verdict: DayVerdict
    word: str  # how likely it is a bot, in a word
    of_hundred: int | None  # bots among a hundred accounts that look so
    bots: float  # the share of bots that the probability supposes
    watch: float  # the false-positive rates from which on it is watched, and acted on
    act: float
    needs_agree: int
    models: tuple[str, ...]
    fusion: str | None
    caveats: tuple[str, ...]
    lacks: tuple[Lack, ...]
    voices: tuple[Voice, ...]


@dataclass(frozen=True)
class SaidLabel:
    """What somebody says the account is."""

    bot: bool
    source: str
    at: datetime | None
    by: str = ""
    votes: dict[str, bool] | None = None
    because: str | None = None


@dataclass(frozen=True)
class OnLadder:
    """Where the account is on the ladder."""

    score: float
    rung: int
    rung_name: str
    steps: tuple[str, ...]  # that the rung stands for, whether taken or not
    entered: datetime


@dataclass(frozen=True)
class Account:
    """All that the page of an account begins with."""

    actor: str
    profile: dict[str, str | int | float | datetime | None]
    labels: tuple[SaidLabel, ...]
    standing: OnLadder | None
    protected: Protected | None
    decisions: tuple[Decision, ...]  # that hold now
    day: str | None  # the day shown
    days: tuple[DayVerdict, ...]  # the latest first
    judged: Judged | None
    reasons: Reasons | None  # of a verdict that is kept; those of others take longer
    blind: bool = False


def account(desk: Desk, actor: str, day: str | None = None, *, blind: bool = False) -> Account:
    """What is known of an account; `blind` leaves out all that a model or another person says of it.

    Raises:
        NotThereError: nothing is known of it, or nothing of that day.
        ReadError: something that rests is damaged.
    """
    rows, profile, said = verdicts_about(desk, actor), _profile(desk, actor), _labels(desk, actor)
    standing, protected, decisions = _case(desk, actor)
    _refuse_unless(actor, rows.height, profile, said, standing, protected, decisions)
    seal = _chosen(desk, rows, day)
    if blind:
        days = tuple(map(_unseen, _days(rows)))
        reasons = None if seal is None else reasons_of(desk, actor, seal, kept=_is_kept(rows, seal), blind=True)
        return Account(
            actor=actor,
            profile=profile,
            labels=(),
            standing=None,
            protected=None,
            decisions=(),
            day=_name(seal),
            days=days,
            judged=None,
            reasons=reasons,
            blind=True,
        )
    judged = None if seal is None else _judged(desk, actor, rows, seal)
    kept = seal is not None and _is_kept(rows, seal)
    reasons = reasons_of(desk, actor, seal, kept=True) if seal is not None and kept else None
    return Account(
        actor=actor,
        profile=profile,
        labels=said,
        standing=standing,
        protected=protected,
        decisions=decisions,
        day=_name(seal),
        days=_days(rows),
        judged=judged,
        reasons=reasons,
    )


def refuse_unknown(desk: Desk, actor: str) -> None:
    """Say that nothing is known of an account, where that is so.

    Raises:
        NotThereError: nothing is.
    """
    if not verdicts_about(desk, actor).height:
        _refuse_unless(actor, _profile(desk, actor), _labels(desk, actor), *_case(desk, actor))


def _refuse_unless(actor: str, *known: object) -> None:
    if not any(known):
        raise NotThereError(
            f"account {short(actor)}: nothing is known of it; check the name, or `gamewarden run` first"
        )


def reasons(desk: Desk, actor: str, day: str | None = None, *, blind: bool = False) -> Reasons:
    """The reasons of a day, also of an account that reaches no point.

    Raises:
        NotThereError: it was not judged on that day.
    """
    if not seals(desk) and (signs := signs_of(desk, actor)) is not None:
        return signs
    seal = chosen_day(desk, actor, day)
    until = desk.workspace.exonerated.get(actor)
    if until is not None and span_of(seal)[0] < until and not blind:
        raise NotThereError(f"account {short(actor)}: {_REFUTED.says}")
    kept = _is_kept(verdicts_about(desk, actor), seal)
    return reasons_of(desk, actor, seal, kept=kept, blind=blind)


def chosen_day(desk: Desk, actor: str, day: str | None = None) -> DaySeal:
    """The day that is shown of an account: the one asked for, else its most suspicious one.

    Raises:
        NotThereError: it was not judged on that day, or never.
    """
    found = _chosen(desk, verdicts_about(desk, actor), day)
    if found is None:
        raise NotThereError(
            f"account {short(actor)}: it was never judged; `gamewarden run` judges the days that are over"
        )
    return found


def word_of(probability: float | None) -> str:
    """How likely something is, in a word that templates translate; empty where nobody knows."""
    if probability is None:
        return ""
    return next((word for border, word in _WORDS if probability >= border), _HARDLY)


def one_in(fpr: float | None) -> int | None:
    """Of how many people one looks so."""
    return None if not fpr else max(1, round(1 / fpr))


def _chosen(desk: Desk, rows: pl.DataFrame, day: str | None) -> DaySeal | None:
    if not rows.height and day is None:
        return None
    by_day = {day_of(seal): seal for seal in seals(desk)}
    if day is not None:
        if day not in by_day or not (rows["day"] == day).any():
            raise NotThereError(f"day {short(day)}: the account was not judged on it; choose one of its days")
        return by_day[day]
    order = pl.col("point").replace_strict({ACT: 0, WATCH: 1, NEITHER: 2}, default=3, return_dtype=pl.Int8)
    best = rows.sort(order, "fpr", pl.col("since").dt.epoch("us") * -1, nulls_last=True)
    return by_day.get(best["day"][0])


def _name(seal: DaySeal | None) -> str | None:
    return None if seal is None else day_of(seal)


def _row_of(rows: pl.DataFrame, seal: DaySeal) -> dict[str, Any]:
    """The verdict of a day; where periods are shorter than a day, the most suspicious one."""
    mine = rows.filter(day=day_of(seal)).sort("fpr", "since", nulls_last=True)
    return mine.row(0, named=True)


def _is_kept(rows: pl.DataFrame, seal: DaySeal) -> bool:
    return rows.filter(pl.col("day") == day_of(seal), pl.col("verdict").is_not_null()).height > 0


def _days(rows: pl.DataFrame) -> tuple[DayVerdict, ...]:
    return tuple(map(_day, rows.sort("since", descending=True).iter_rows(named=True)))


def _day(row: dict[str, Any]) -> DayVerdict:
    told = {field.name: row[field.name] for field in fields(DayVerdict) if field.name != "one_in"}
    return DayVerdict(**told, one_in=one_in(row["fpr"]))


def _unseen(day: DayVerdict) -> DayVerdict:
    """A day of which only its time, and how much of it was covered, is told."""
    return DayVerdict(
        day=day.day,
        since=day.since,
        until=day.until,
        probability=None,
        fpr=None,
        one_in=None,
        point=None,
        agree=0,
        streak=0,
        covered=day.covered,
        far=None,
        verdict=None,
    )


def _judged(desk: Desk, actor: str, rows: pl.DataFrame, seal: DaySeal) -> Judged:
    by, verdict = rules_of(desk, seal), _day(_row_of(rows, seal))
    points, chance, until = by.rules.points, verdict.probability, desk.workspace.exonerated.get(actor)
    refuted = until is not None and verdict.since is not None and verdict.since < until
    lacks = (_REFUTED,) if refuted else (*_lacks(verdict, by), *_reach(desk, verdict, by))
    voices = () if refuted else tuple(_voices(desk, actor, seal, by))
    return Judged(
        verdict=verdict,
        word=word_of(chance),
        of_hundred=None if chance is None else round(100 * chance),
        bots=by.rules.bots,
        watch=points.watch,
        act=points.act,
        needs_agree=points.agree,
        models=by.models,
        fusion=by.fusion,
        caveats=by.caveats,
        lacks=lacks,
        voices=voices,
    )


def _lacks(verdict: DayVerdict, by: DayRules) -> Iterator[Lack]:
    """What keeps an account from the next point."""
    points, covered = by.rules.points, verdict.covered
    if verdict.point == ACT:
        return
    if verdict.point is None:
        if covered is not None and covered < by.rules.covered:
            says = f"The source covers {covered:.0%} of the day; it is not judged below {by.rules.covered:.0%}."
            yield Lack("covered", "", covered, by.rules.covered, says)
        else:
            yield Lack("little", "", says="Too little was done on this day to say anything.")
        return
    missed = WATCH if verdict.point == NEITHER else ACT
    border = points.watch if missed == WATCH else points.act
    if verdict.fpr is not None and verdict.fpr > border:
        says = f"Its false-positive rate {verdict.fpr:.3g} is above {border:g}."
        yield Lack("fpr", missed, verdict.fpr, border, says)
    if missed == ACT and verdict.agree < points.agree:
        families = "1 family of features says" if verdict.agree == 1 else f"{verdict.agree} families of features say"
        says = f"{families} bot on its own; {points.agree} must."
        yield Lack("agree", missed, verdict.agree, points.agree, says)
    if verdict.far is not None and missed == ACT:
        says = f"What it did lies far beyond what {verdict.far} learned from: watch, and no more."
        yield Lack("far", missed, says=says)


def _reach(desk: Desk, verdict: DayVerdict, by: DayRules) -> Iterator[Lack]:
    """That nobody can reach the point to act with these models, where that is so."""
    models = [model for model in desk.workspace.models_in_force() if model.card.id in by.models]
    if verdict.point == ACT or not models or by.fusion is not None:
        return
    for says in out_of_reach(models, None, by.rules.points, ()):
        yield Lack("reach", ACT, says=says)


def _voices(desk: Desk, actor: str, seal: DaySeal, by: DayRules) -> Iterator[Voice]:
    """What each detector said, from the scores at rest; and of each that said nothing, why."""
    rest, (since, until) = Rest(desk.workspace.results), span_of(seal)
    priors = {model.card.id: prior_of(model.card) for model in desk.workspace.models_in_force()}
    for name in by.models:
        table, detector = rest.scores(name), name.partition("@")[0]
        rows = table.table(table.within(to_micros(since), to_micros(until)), actors=[actor])
        mine = rows.filter(pl.col("until").is_null() | ((pl.col("until") > since) & (pl.col("until") <= until)))
        said = mine.drop_nulls("probability").sort("fpr", nulls_last=True)
        if said.height:
            best = said.row(0, named=True)
            chance = moved(float(best["probability"]), priors.get(name, by.rules.bots), by.rules.bots)
            yield Voice(detector, name, chance, best["fpr"], _sum(mine))
        else:
            yield Voice(detector, name, None, None, _sum(mine), "little" if mine.height else "blind")


def _sum(rows: pl.DataFrame) -> int | None:
    return int(rows["events"].sum()) if rows["events"].count() else None


def _profile(desk: Desk, actor: str) -> dict[str, str | int | float | datetime | None]:
    row = profile_of(desk, actor)
    return {name: value for name, value in row.row(0, named=True).items() if name != "actor"} if row.height else {}


def _labels(desk: Desk, actor: str) -> tuple[SaidLabel, ...]:
    """Those of the file, then those of the ledger with each rater's vote."""
    try:
        known = labels(desk).filter(pl.col("actor") == actor)
    except GamewardenError:
        known = None  # whoever trains is told; the page has the rest to show
    stored = desk.workspace.ledger.find(Label, actor=actor, order=("at",)) if desk.workspace.has_ledger else []
    ours = in_force(stored)
    sources = {(one.source, one.at) for one in ours}
    of_file = [] if known is None else known.select("bot", "source", "at").iter_rows()
    told = [SaidLabel(bot, source or "", at) for bot, source, at in of_file if (source, at) not in sources]
    return (*told, *(SaidLabel(one.bot, one.source, one.at, one.by, dict(one.votes), one.because) for one in ours))


def _case(desk: Desk, actor: str) -> tuple[OnLadder | None, Protected | None, tuple[Decision, ...]]:
    """What the ledger holds of it now."""
    if not desk.workspace.has_ledger:
        return None, None, ()
    ledger, now = desk.workspace.ledger, desk.now()
    guarded = [one for one in ledger.find(Protected, actor=actor) if one.until > now]
    held = [
        one
        for one in ledger.find(Decision, actor=actor, undone_at=None, order=("at",))
        if one.until is None or one.until > now or one.rehearsal
    ]
    found = ledger.find(Suspicion, actor=actor)
    standing = _standing(desk, found[0]) if found else None
    return standing, guarded[0] if guarded else None, tuple(held)


def _standing(desk: Desk, found: Suspicion) -> OnLadder:
    rungs = desk.workspace.config.ladder
    rung = rungs[found.rung - 1] if 0 < found.rung <= len(rungs) else Rung()
    return OnLadder(found.score, found.rung, rung.name, rung.steps, found.entered)
