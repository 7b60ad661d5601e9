"""Who is worth looking at next, without saying what the models think; what people say of them becomes labels.

A place in the queue never tells a score: whoever votes first looks at the evidence, and sees the score afterwards.
"""

import hashlib
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from heapq import merge
from itertools import chain, islice
from math import log1p
from threading import Lock
from typing import Any

import polars as pl

from gamewarden.cases import Decision, Label
from gamewarden.core.durations import parse_zone
from gamewarden.desk.desk import Desk
from gamewarden.desk.first_day import first_day
from gamewarden.desk.groups import group_of, look
from gamewarden.desk.judged import Judged, LastVerdict, judged
from gamewarden.desk.known_people import settled_labels
from gamewarden.desk_records import BOT, HUMAN, SKIP, UNSURE, Review
from gamewarden.errors import NotThereError, ResponseError, short
from gamewarden.learning.label_sources import APPEAL
from gamewarden.policy import REVIEW as REVIEW_CASE
from gamewarden.reviewing.agreement import THREE, Agreement, agreements, raw_agreement
from gamewarden.reviewing.votes import cast, refuse_if_none, take_back, votes_in
from gamewarden.verdicts.points import ACT
from gamewarden.verdicts.review_order import SEED, in_order
from gamewarden.workspace.days import EVER
from gamewarden.workspace.desk_tables import DeskTables
from gamewarden.workspace.labels import REVIEW, consensus, disputed

RANDOM_SHARE = 0.1  # of the places go to accounts drawn from everybody who was judged: so that estimates stay honest
_ANYWAY = 5  # accounts that are drawn although nobody else waits
_AHEAD = 200  # accounts of the queue among which one is looked for that nobody else looks at
_HELD_FOR = timedelta(minutes=15)  # an account is kept for the one who looks at it
_NEW_DAYS = timedelta(days=120)  # votes older than this say nothing of the order any more
# What makes an account worth looking at, each from 0 to 1, and how much it weighs. Ours: no paper orders raters' work.
_WEIGHTS = {"point": 1.0, "unsure": 1.0, "begun": 0.7, "apart": 1.5, "new": 0.8, "often": 0.5, "money": 0.6}
_MUCH = 0.9  # of those who reached a point so many gained less
_OFTEN = 5  # days with a point that count fully
_SAME_GROUP = 0.6  # each further account of a group weighs so much less


@dataclass(frozen=True)
class Entry:
    """An account in the queue, and why it is there; nothing that tells what the models say."""

    actor: str
    because: tuple[str, ...]
    looked: int  # raters who have looked at it


@dataclass(frozen=True)
class Last:
    """What a rater said last, and what is shown only now: the score, and what others said."""

    review: str
    actor: str
    says: str
    at: datetime
    seen: "Seen"


@dataclass(frozen=True)
class Seen:
    """What is known of an account beside the evidence; for whoever has voted on it."""

    actor: str
    probability: float | None
    fpr: float | None
    point: str | None
    until: datetime | None
    votes: dict[str, str]  # rater -> what they say
    agreed: float | None  # the share of pairs of votes that are the same; None of fewer than two
    together: str | None  # bot or human, where the votes say so
    drawn: bool  # it was in the queue by chance


@dataclass(frozen=True)
class QueueView:
    """A rater's queue: the accounts to come, without scores, and what the rater did today."""

    entries: tuple[Entry, ...]
    waiting: int  # accounts that wait for votes of anybody
    mine: dict[str, int]  # what this rater said today, by what
    share: float  # of the places that go to chance
    raters: int  # who should look at an account
    last: Last | None
    agreement: tuple[Agreement, ...]


@dataclass(frozen=True)
class Item:
    """One account before a rater; `seen` only once this rater has voted on it."""

    entry: Entry
    blind: bool
    seen: Seen | None
    notes: tuple[Review, ...]  # what this rater said of it before
    judged: bool = True  # a day of it was judged: there is more to show than its signs


@dataclass(frozen=True)
class Voted:
    """A vote that counts."""

    review: str
    actor: str
    says: str
    seen: Seen | None  # None after a skip: nothing was said, so nothing is shown


@dataclass(frozen=True)
class _Place:
    """An account at its place in a rater's queue; nobody is shown this before they voted."""

    actor: str
    drawn: bool  # chance named it
    passed: tuple[str, ...]  # whom chance named before it, and who had votes already


@dataclass
class Holding:
    """Who looks at what, so that two raters do not get the same account at once; for several threads."""

    held: dict[str, tuple[str, datetime]] = field(default_factory=dict)
    lock: Lock = field(default_factory=Lock)

    def free(self, actor: str, rater: str, now: datetime) -> bool:
        """Whether nobody else looks at an account."""
        holder, until = self.held.get(actor, (rater, now))
        return holder == rater or until <= now

    def take(self, actor: str, rater: str, now: datetime) -> None:
        """Keep an account for a rater, and let go of what the rater held before."""
        kept = {name: held for name, held in self.held.items() if held[0] != rater and held[1] > now}
        self.held = {**kept, actor: (rater, now + _HELD_FOR)}


@dataclass(frozen=True)
class _Known:
    """All that orders the queue."""

    judged: Judged
    votes: Mapping[str, Mapping[str, Review]]  # actor -> rater -> what counts
    groups: Mapping[str, str]  # actor -> a group that it belongs to
    groups_look: Hashable  # what names them, and the judged days
    money: Mapping[str, float]  # what passed through the accounts that reached a point, as shares of the most
    much: float  # from which on that is much
    disputed: frozenset[str]  # accounts that wait for a third person
    cases: tuple[str, ...] = ()  # whom the ladder made a review case although they reached no point

    def waits(self, actor: str) -> bool:
        """Whether an account needs more votes."""
        return actor in self.disputed or len(self.votes.get(actor, ())) < THREE

    def stands(self, actor: str) -> LastVerdict:
        """What was last said of an account."""
        return self.judged.of(actor) or LastVerdict(actor, None, None, None, None, 0, None)


def queue(desk: Desk, rater: str, most: int = 20) -> QueueView:
    """A rater's queue, the account most worth looking at first.

    Raises:
        LedgerError: the ledger cannot be read.
        ReadError: verdicts that rest are damaged.
    """
    known = _known(desk)
    mine = _of_today(desk, rater)
    entries = tuple(islice(_order(desk, known, rater, mine), most))
    return QueueView(
        entries=entries,
        waiting=_waiting(desk, known),
        mine=dict(Counter(one.says for one in mine)),
        share=RANDOM_SHARE,
        raters=THREE,
        last=_last(known, mine),
        agreement=agreements(
            {actor: {who: one.says for who, one in said.items()} for actor, said in known.votes.items()}
        ),
    )


def last_of(desk: Desk, rater: str) -> Last | None:
    """What a rater said last today; None where that is nothing.

    Raises:
        LedgerError: the ledger cannot be read.
    """
    return _last(_known(desk), _of_today(desk, rater))


def take(desk: Desk, rater: str, *, but: Sequence[str] = (), hold: bool = True) -> Entry | None:
    """The next account for a rater, kept for them while they look; one that somebody else looks at only if need be.

    `but` are accounts to be passed over, and without `hold` it is only looked who would come.

    Raises:
        LedgerError: the ledger cannot be read.
    """
    queue = islice(_order(desk, _known(desk), rater, _of_today(desk, rater)), _AHEAD)
    order = [one for one in queue if one.actor not in set(but)]
    holding, now = _holding(desk), desk.now()
    with holding.lock:
        free = (one for one in order if holding.free(one.actor, rater, now))
        found = next(free, order[0] if order else None)
        if found is not None and hold:
            holding.take(found.actor, rater, now)
    return found


def item(desk: Desk, actor: str, rater: str) -> Item:
    """An account before a rater: blind until the rater has voted on it.

    Raises:
        NotThereError: nobody of this name was judged.
    """
    known = _known(desk)
    if known.judged.of(actor) is None and actor not in known.votes:
        raise NotThereError(f"review: nobody called {short(actor)} was judged in the newest days")
    mine = tuple(one for one in _reviews(desk, actor=actor, rater=rater) if one.undone_at is None)
    blind = not any(one.says != SKIP for one in mine)
    entry = Entry(actor, tuple(_because(known, actor)), len(known.votes.get(actor, {})))
    return Item(entry, blind, None if blind else _seen(known, actor), mine, bool(known.judged.days))


def vote(desk: Desk, actor: str, says: str, *, rater: str, note: str = "", milliseconds: int | None = None) -> Voted:
    """What a rater says of an account: kept with whether the score was known, and a vote of its label.

    Raises:
        ResponseError: it is none of bot, human, unsure and skip, or nobody says it.
        NotThereError: nobody of this name was judged.
        LedgerError: the ledger cannot be written.
    """
    refuse_if_none(actor, says, note)
    if _everybody(desk).of(actor) is None:
        raise NotThereError(f"review: nobody called {short(actor)} was judged in the newest days")
    place = _place_of(desk, actor, rater)
    made = cast(
        desk.workspace.ledger,
        actor,
        says,
        rater=rater,
        at=desk.now(),
        note=note,
        milliseconds=milliseconds,
        drawn=None if place is None else place.drawn,
        passed=() if place is None else place.passed,
    )
    return Voted(made.id, actor, says, None if says == SKIP else _seen(_known(desk), actor))


def undo(desk: Desk, *, rater: str, review: str | None = None) -> Review:
    """Take a rater's last vote back, or the one of an id; the label is as it was before.

    Raises:
        ResponseError: there is nothing of theirs to take back, or something newer on the same account.
        LedgerError: the ledger cannot be written.
    """
    if not desk.workspace.has_ledger:
        raise ResponseError("review: nobody has voted yet; there is nothing to take back")
    return take_back(desk.workspace.ledger, rater=rater, at=desk.now(), review=review)


def _last(known: _Known, mine: Sequence[Review]) -> Last | None:
    last = next((one for one in reversed(mine) if one.says != SKIP), None)
    return None if last is None else Last(last.id, last.actor, last.says, last.at, _seen(known, last.actor))


def _known(desk: Desk) -> _Known:
    found = _everybody(desk)
    votes = votes_in(_reviews(desk))
    labels = (
        desk.workspace.ledger.find(Label, source=(REVIEW, APPEAL), order=("at",)) if desk.workspace.has_ledger else []
    )
    waiting = disputed(labels, settled_labels(desk))
    for label in (one for one in labels if one.source == REVIEW):
        for rater, bot in label.votes.items():  # also those who voted elsewhere than at the desk
            told = Review("", label.actor, rater, label.at, BOT if bot else HUMAN, score_seen=False)
            votes.setdefault(label.actor, {}).setdefault(rater, told)
    money, much = desk.memory.of("review money", found.key, partial(_money, desk, found), most=2)
    cases = tuple(_cases(desk, found)) if found.days else ()
    return _Known(found, votes, group_of(desk), look(desk), money, much, waiting, cases)


def _cases(desk: Desk, found: Judged) -> Iterator[str]:
    """The accounts with an open review case that reached no point, the oldest case first."""
    if not desk.workspace.has_ledger:
        return
    for one in desk.workspace.ledger.find(Decision, step=REVIEW_CASE, undone_at=None, order=("at", "actor")):
        standing = found.of(one.actor)
        if standing is not None and not standing.points:
            yield one.actor


def _everybody(desk: Desk) -> Judged:
    """Who was judged; before anything was, everybody whose signs were measured."""
    found = judged(desk)
    return found if found.days else first_day(desk).judged


def _money(desk: Desk, found: Judged) -> tuple[dict[str, float], float]:
    """What the accounts that reached a point gained in the newest days, as logarithms from 0 to 1; what is much."""
    window = (found.days[0] - timedelta(days=1), None) if found.days else EVER
    rows = DeskTables(desk.workspace).table(
        "accounts", window, found.pointed["actor"].to_list(), ["actor", "money_gained"]
    )
    gained = rows.group_by("actor").agg(pl.col("money_gained").sum()).filter(pl.col("money_gained") > 0)
    told = {actor: log1p(amount) for actor, amount in gained.iter_rows()}
    most = max(told.values(), default=1.0)
    shares = {actor: amount / most for actor, amount in told.items()}
    return shares, sorted(shares.values())[int(_MUCH * len(shares))] if shares else 0.0


def _reviews(desk: Desk, **where: Any) -> list[Review]:  # noqa: ANN401  values of columns
    """What was said, the earliest first."""
    if not desk.workspace.has_ledger:
        return []
    since = {"at": desk.now() - _NEW_DAYS}
    return desk.workspace.ledger.find(Review, order=("at",), at_least=since, **where)


def _of_today(desk: Desk, rater: str) -> list[Review]:
    """What a rater said since midnight and did not take back, the earliest first."""
    if not desk.workspace.has_ledger:
        return []
    found = desk.workspace.ledger.find(Review, rater=rater, at_least={"at": _midnight(desk)}, order=("at",))
    return [one for one in found if one.undone_at is None]


def _midnight(desk: Desk) -> datetime:
    zone = parse_zone(desk.workspace.time_zone or "UTC")
    return desk.now().astimezone(zone).replace(hour=0, minute=0, second=0, microsecond=0)


def _order(desk: Desk, known: _Known, rater: str, today: Sequence[Review]) -> Iterator[Entry]:
    """The accounts for a rater, and nothing of why each has its place: whom chance names is told after the vote."""
    for one in _places(desk, known, rater, today):
        yield Entry(one.actor, tuple(_because(known, one.actor)), len(known.votes.get(one.actor, {})))


def _place_of(desk: Desk, actor: str, rater: str) -> _Place | None:
    """The place of an account in a rater's queue; None where it is not before them."""
    queue = islice(_places(desk, _known(desk), rater, _of_today(desk, rater)), _AHEAD)
    return next((one for one in queue if one.actor == actor), None)


def _places(desk: Desk, known: _Known, rater: str, today: Sequence[Review]) -> Iterator[_Place]:
    """The accounts for a rater: by worth, and at places that a rule draws, whoever chance names."""
    if not known.judged.days:
        yield from _first_places(desk, known, rater, today)
        return
    done = {one.actor for one in today}
    day, seed, waiting = _midnight(desk).date().isoformat(), _seed(desk), _waiting(desk, known)
    shown, passed = set[str](), list[str]()
    by_chance = _drawn(desk, known, seed, lambda one: _may_see(known, one, rater, done), passed)
    by_worth = (one for one in _by_worth(desk, known) if _may_see(known, one, rater, done))
    for place in range(len(today), len(today) + waiting + _ANYWAY):
        chance = not waiting or _chance(seed, rater, day, str(place)) < RANDOM_SHARE
        drawn = next((one for one in by_chance if one not in shown), None) if chance else None
        found = drawn or next((one for one in by_worth if one not in shown), None)
        if found is not None:
            shown.add(found)
            yield _Place(found, drawn is not None, tuple(passed) if drawn is not None else ())


def _first_places(desk: Desk, known: _Known, rater: str, today: Sequence[Review]) -> Iterator[_Place]:
    """Before anything was judged: those who look odd early, as at the terminal; who has enough votes is left out."""
    waiting = [one for one in first_day(desk).candidates if known.waits(one.actor)]
    mine = {one.actor: bool(one.drawn) for one in (*_reviews(desk, rater=rater, undone_at=None), *today)}
    shown = {actor: drawn for actor, drawn in mine.items() if rater in known.votes.get(actor, {})}
    shown |= {one.actor: bool(one.drawn) for one in today}
    first = [one.actor for one in waiting if one.actor in known.disputed and one.actor not in shown]
    yield from (_Place(actor, drawn=False, passed=()) for actor in first)
    shown |= dict.fromkeys(first, False)
    for place in in_order(waiting, seed=SEED, chance=RANDOM_SHARE, known=shown):
        yield _Place(place.actor, place.drawn, place.passed)


def _may_see(known: _Known, actor: str, rater: str, today: set[str]) -> bool:
    """Not what they said something of today, nor what they voted on before, unless there are new points since."""
    if actor in today:
        return False
    mine = known.votes.get(actor, {}).get(rater)
    return mine is None or _is_new(known.judged.of(actor), mine)


def _is_new(standing: LastVerdict | None, review: Review) -> bool:
    return standing is not None and standing.last_point is not None and standing.last_point > review.at


def _by_worth(desk: Desk, known: _Known) -> Iterator[str]:
    """The accounts that wait for votes, those most worth looking at first, the groups mixed."""
    untouched = ((-worth, actor) for worth, actor in _untouched(desk, known) if actor not in known.votes)
    begun = sorted((-_worth(known, standing, votes), standing.actor) for standing, votes in _begun(known))
    cases = (actor for actor in known.cases if known.waits(actor))
    return chain((actor for _, actor in merge(untouched, begun)), cases)


def _waiting(desk: Desk, known: _Known) -> int:
    """How many wait for votes."""
    if not known.judged.days:
        return sum(known.waits(actor) for actor in known.judged.frame["actor"])
    everybody = len(_untouched(desk, known))
    voted = sum(known.stands(actor).points > 0 for actor in known.votes)
    cases = sum(known.waits(actor) for actor in known.cases)
    return everybody - voted + sum(1 for _ in _begun(known)) + cases


def _begun(known: _Known) -> Iterator[tuple[LastVerdict, Mapping[str, Review]]]:
    """The accounts that somebody voted on and that wait for more votes."""
    for actor, votes in known.votes.items():
        standing = known.stands(actor)
        if actor in known.disputed or (standing.points and (len(votes) < THREE or _reopened(standing, votes))):
            yield standing, votes


def _untouched(desk: Desk, known: _Known) -> list[tuple[float, str]]:
    """Everybody who reached a point, by what it is worth to look at them as long as nobody did."""
    return desk.memory.of("review untouched", known.groups_look, partial(_ordered, known), most=2)


def _ordered(known: _Known) -> list[tuple[float, str]]:
    frame = known.judged.pointed
    actors = frame["actor"].to_list()
    likely = pl.col("probability").fill_null(0.5)
    told = frame.select(
        "actor",
        group=pl.Series([known.groups.get(actor) for actor in actors], dtype=pl.String),
        worth=_WEIGHTS["point"] * pl.when(pl.col("point") == ACT).then(1.0).otherwise(0.5)
        + _WEIGHTS["unsure"] * 4 * likely * (1 - likely)
        + _WEIGHTS["often"] * pl.min_horizontal("points", pl.lit(_OFTEN)) / _OFTEN
        + _WEIGHTS["money"] * pl.Series([known.money.get(actor, 0.0) for actor in actors], dtype=pl.Float64),
    ).sort("worth", "actor", descending=[True, False])
    # Each further account of a group counts less: ten of one farm teach little more than two.
    place = pl.when(pl.col("group").is_null()).then(0).otherwise(pl.int_range(pl.len()).over("group"))
    mixed = told.with_columns(worth=pl.col("worth") * pl.lit(_SAME_GROUP).pow(place))
    return list(mixed.sort("worth", "actor", descending=[True, False]).select("worth", "actor").iter_rows())


def _reopened(standing: LastVerdict, votes: Mapping[str, Review]) -> bool:
    """New points after the last vote on somebody whom raters do not call a bot."""
    newest = max(votes.values(), key=lambda one: one.at)
    return _is_new(standing, newest) and consensus(_as_votes(votes)) is not True


def _worth(known: _Known, standing: LastVerdict, votes: Mapping[str, Review]) -> float:
    probability = 0.5 if standing.probability is None else standing.probability
    newest = max((one.at for one in votes.values()), default=None)
    says = {one.says for one in votes.values()}
    parts = {
        "point": 1.0 if standing.point == ACT else 0.5,
        "unsure": 4 * probability * (1 - probability),
        "begun": len(votes) / THREE,  # two votes more than none: a label needs the third
        "apart": float(len(says) > 1 or standing.actor in known.disputed),
        "new": float(newest is not None and standing.last_point is not None and standing.last_point > newest),
        "often": min(standing.points, _OFTEN) / _OFTEN,
        "money": known.money.get(standing.actor, 0.0),
    }
    return sum(_WEIGHTS[name] * value for name, value in parts.items())


def _because(known: _Known, actor: str) -> Iterator[str]:
    """Why an account is worth a look: nothing of it tells a score."""
    votes = known.votes.get(actor, {})
    if not votes:
        yield "nobody has looked at it yet"
    elif len(votes) < THREE:
        yield f"{len(votes)} of {THREE} raters {'has' if len(votes) == 1 else 'have'} looked at it"
    if actor in known.disputed:
        yield "a vote contradicts what is known of it: a third person decides"
    elif len({one.says for one in votes.values()}) > 1:
        yield "those who looked do not agree"
    if votes and _is_new(known.judged.of(actor), max(votes.values(), key=lambda one: one.at)):
        yield "it was judged on new days since"
    if known.money.get(actor, 0.0) >= known.much > 0:
        yield "more money passes through it than through nine in ten others here"


def _drawn(desk: Desk, known: _Known, seed: str, may_see: Callable[[str], bool], passed: list[str]) -> Iterator[str]:
    """Everybody who was judged, in an order that only the month decides; who has enough votes is left out.

    Those with votes who are left out are `passed`: chance has named them all the same.
    """
    key = (known.judged.key, seed)
    order = desk.memory.of("review drawn", key, partial(_shuffled, known.judged.frame, seed), most=2)
    for actor in order:
        if len(known.votes.get(actor, ())) < THREE and may_see(actor):
            yield actor
        elif actor in known.votes:
            passed.append(actor)


def _shuffled(frame: pl.DataFrame, seed: str) -> list[str]:
    return sorted(frame["actor"].to_list(), key=lambda actor: _digest(seed, actor))


def _seen(known: _Known, actor: str) -> Seen:
    votes = known.votes.get(actor, {})
    standing = known.judged.of(actor)
    says = [one.says for one in votes.values()]
    together = consensus(_as_votes(votes))
    return Seen(
        actor=actor,
        probability=None if standing is None else standing.probability,
        fpr=None if standing is None else standing.fpr,
        point=None if standing is None else standing.point,
        until=None if standing is None else standing.until,
        votes={who: one.says for who, one in votes.items()},
        agreed=raw_agreement(says) if len(says) > 1 else None,
        together=None if together is None else BOT if together else HUMAN,
        drawn=_was_drawn(known, votes, standing),
    )


def _was_drawn(known: _Known, votes: Mapping[str, Review], standing: LastVerdict | None) -> bool:
    """Whether chance put it into the queue: whoever reached no point, and on a first day whom a vote says so of."""
    if not known.judged.days:
        return any(one.drawn for one in votes.values())
    return standing is not None and standing.points == 0


def _as_votes(votes: Mapping[str, Review]) -> dict[str, bool]:
    return {who: one.says == BOT for who, one in votes.items() if one.says != UNSURE}


def _seed(desk: Desk) -> str:
    """What names the month's draw: the same for all raters, so that the same accounts get three votes."""
    return f"review {_midnight(desk):%Y-%m}"


def _chance(*parts: str) -> float:
    return int(_digest(*parts)[:13], 16) / (1 << 52)


def _digest(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()


def _holding(desk: Desk) -> Holding:
    return desk.memory.of("review holding", "all", Holding)
