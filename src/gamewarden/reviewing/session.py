"""One rater's sitting: who comes next, what was said, and a step back. All of it is in the ledger, nothing in here."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import islice

from gamewarden.cases import Label
from gamewarden.core.durations import parse_zone
from gamewarden.desk_records import SKIP, Review
from gamewarden.errors import ResponseError
from gamewarden.notices import now
from gamewarden.reviewing.votes import cast, take_back
from gamewarden.store.ledger.ledger import Ledger
from gamewarden.verdicts.review_order import CHANCE, SEED, Candidate, Place, in_order
from gamewarden.workspace.labels import REVIEW


@dataclass(frozen=True)
class Progress:
    """How far a rater has come."""

    today: dict[str, int]  # by what was said
    ever: dict[str, int]  # of each account, by what was said last
    waiting: int  # accounts that this rater has not judged


@dataclass
class Sitting:
    """What one rater does with a list of accounts; another one that begins where this ends sees the same.

    Whom the rater has judged is not shown again; whom the rater skipped, not on the same day. Accounts that wait for a
    third person come first.
    """

    ledger: Ledger
    candidates: Sequence[Candidate]
    rater: str
    now: Callable[[], datetime] = now
    chance: float = CHANCE
    seed: str = SEED
    time_zone: str = "UTC"  # of midnight
    disputed: frozenset[str] = frozenset()  # a vote contradicts what is known of them
    _place: Place | None = field(default=None, init=False)
    _since: datetime | None = field(default=None, init=False)
    _order: Iterator[Place] | None = field(default=None, init=False)

    def next(self) -> Place | None:
        """The account before the rater; the same until there is an answer. None where nobody is left.

        Raises:
            LedgerError: the ledger cannot be read.
        """
        if self._place is None:
            if self._order is None:
                self._order = self._places()
            self._place, self._since = next(self._order, None), self.now()
        return self._place

    def reorder(self, candidates: Sequence[Candidate]) -> None:
        """Go on with what is known now of the accounts that are to come; the one before the rater stays."""
        self.candidates, self._order = candidates, None

    def coming(self, most: int) -> list[str]:
        """Who would come next if nothing were learned meanwhile, the one before the rater first."""
        first = [] if self._place is None else [self._place.actor]
        return list(dict.fromkeys([*first, *(place.actor for place in islice(self._places(), most))]))[:most]

    def answer(self, says: str, note: str = "") -> Review:
        """Keep what the rater says of the account; once this returns, nothing takes it away.

        Raises:
            ResponseError: it is no vote, or nobody is before the rater.
            LedgerError: the ledger cannot be written.
        """
        place = self.next()
        if place is None:
            raise ResponseError("review: nobody is left to say something of")
        at = self.now()
        made = cast(
            self.ledger,
            place.actor,
            says,
            rater=self.rater,
            at=at,
            note=note,
            milliseconds=None if self._since is None else (at - self._since) // timedelta(milliseconds=1),
            drawn=place.drawn,
            passed=place.passed,
        )
        self._place = None
        return made

    def back(self) -> Place:
        """Take the rater's last vote on one of these accounts back, and show that account again.

        Raises:
            ResponseError: there is none.
            LedgerError: the ledger cannot be written.
        """
        listed = {one.actor for one in self.candidates}
        last = next((one for one in reversed(self._mine()) if one.actor in listed), None)
        if last is None:
            raise ResponseError("review: there is no vote of yours to take back")
        take_back(self.ledger, rater=self.rater, at=self.now(), review=last.id)
        self._place, self._since, self._order = Place(last.actor, bool(last.drawn)), self.now(), None
        return self._place

    def progress(self) -> Progress:
        """What the rater said today and in all, and how many are left.

        Raises:
            LedgerError: the ledger cannot be read.
        """
        mine, midnight = self._mine(), self._midnight()
        today = Counter(one.says for one in mine if one.at >= midnight)
        ever = Counter({one.actor: one.says for one in mine}.values())
        known = self._known()
        return Progress(dict(today), dict(ever), sum(one.actor not in known for one in self.candidates))

    def _places(self) -> Iterator[Place]:
        known = self._known()
        first = [one.actor for one in self.candidates if one.actor in self.disputed and one.actor not in known]
        yield from (Place(actor, drawn=False) for actor in first)
        shown = known | dict.fromkeys(first, False)
        yield from in_order(self.candidates, seed=self.seed, chance=self.chance, known=shown)

    def _mine(self) -> list[Review]:
        """What the rater said and did not take back, the earliest first."""
        return self.ledger.find(Review, rater=self.rater, undone_at=None, order=("at",))

    def _known(self) -> dict[str, bool]:
        """Whom not to show, and whether chance named them."""
        known, midnight = dict[str, bool](), self._midnight()
        for one in self._mine():
            if one.says != SKIP or one.at >= midnight:
                known[one.actor] = known.get(one.actor, False) or bool(one.drawn)
        for label in self.ledger.find(Label, source=REVIEW):
            if self.rater in label.votes:  # also who voted by `gamewarden label`
                known.setdefault(label.actor, False)
        return known

    def _midnight(self) -> datetime:
        here = self.now().astimezone(parse_zone(self.time_zone))
        return here.replace(hour=0, minute=0, second=0, microsecond=0)
