"""A vote: what a rater says of an account, kept in the ledger and counted in the account's label; and its undoing."""

from collections.abc import Collection, Iterable
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from gamewarden.cases import AuditLine
from gamewarden.contracts import digest
from gamewarden.desk_records import BOT, HUMAN, SKIP, UNSURE, Review
from gamewarden.errors import ResponseError, short
from gamewarden.store.ledger.ledger import Ledger, Writing
from gamewarden.workspace.labels import unvoted, voted, withdrawn

SAYS = (BOT, HUMAN, UNSURE, SKIP)
_LONGEST = 4_000  # letters of a note
_LONGEST_LOOK = timedelta(hours=8)  # a look that took longer was an open window


def cast(
    ledger: Ledger,
    actor: str,
    says: str,
    *,
    rater: str,
    at: datetime,
    note: str = "",
    milliseconds: int | None = None,
    score_seen: bool | None = None,
    drawn: bool | None = None,
    passed: Collection[str] = (),
) -> Review:
    """Keep what a rater says of an account, and count it in the account's label.

    Whether the score was known is what `score_seen` says, or that the rater said something of the account before.
    `drawn` is whether chance put the account before the rater. `passed` are accounts that chance named before this one
    and that were not shown again, because they had votes already: with them those that chance named are a fair draw
    from everybody, without them they would be one from those whom nobody had suspected.

    Raises:
        ResponseError: it is none of bot, human, unsure and skip, or nobody says it.
        LedgerError: the ledger cannot be written.
    """
    refuse_if_none(actor, says, note)
    with ledger.writing(rater, at) as work:
        before = work.find(Review, actor=actor, rater=rater)
        # The score was shown after the first vote, also if that was undone.
        seen = any(one.says != SKIP for one in before) if score_seen is None else score_seen
        made = Review(
            id=digest("review", actor, rater, at.isoformat()),
            actor=actor,
            rater=rater,
            at=at,
            says=says,
            score_seen=seen,
            note=note.strip() or None,
            milliseconds=_looked_for(milliseconds),
            drawn=drawn,
        )
        if not work.add([made]):
            raise ResponseError("review: this vote is counted already")
        if says in {BOT, HUMAN}:
            voted(work, actor, bot=says == BOT, by=rater, because=made.note)
        elif says == UNSURE:
            withdrawn(work, actor, by=rater)
        _mark_drawn(work, passed)
    return made


def refuse_if_none(actor: str, says: str, note: str = "") -> None:
    """Find out that something is no vote before it is kept.

    Raises:
        ResponseError: it is none of bot, human, unsure and skip, of nobody, or with too long a note.
    """
    if says not in SAYS:
        raise ResponseError(f"review: {short(says)} is no vote; known are {', '.join(SAYS)}")
    if not actor.strip() or len(note) > _LONGEST:
        raise ResponseError(f"review: an account and a note of at most {_LONGEST:,} letters are needed")


def take_back(ledger: Ledger, *, rater: str, at: datetime, review: str | None = None) -> Review:
    """Take a rater's last vote back, or the one of an id; the label is as it was before.

    Raises:
        ResponseError: there is nothing of theirs to take back, or something newer on the same account.
        LedgerError: the ledger cannot be written.
    """
    with ledger.writing(rater, at) as work:
        asked: dict[str, Any] = {} if review is None else {"id": review}
        found = work.find(Review, rater=rater, undone_at=None, order=("at",), newest=1, **asked)
        if not found:
            raise ResponseError("review: there is no vote of yours to take back")
        old = found[0]
        _refuse_if_newer(work, old)
        new = replace(old, undone_at=at)
        work.change(old, new)
        if old.says in {BOT, HUMAN} or (old.says == UNSURE and _withdrew(work, old)):
            unvoted(work, old.actor, by=rater, at=old.at)
    return new


def votes_in(reviews: Iterable[Review]) -> dict[str, dict[str, Review]]:
    """What each rater last said of each account and did not take back, by account and rater; skipping says nothing."""
    votes: dict[str, dict[str, Review]] = {}
    for one in sorted(reviews, key=lambda one: one.at):
        if one.undone_at is None and one.says != SKIP:
            votes.setdefault(one.actor, {})[one.rater] = one
    return votes


def _refuse_if_newer(work: Writing, review: Review) -> None:
    """The label rests on what a rater said last of an account: what was said before is taken back after that."""
    standing = work.find(Review, actor=review.actor, rater=review.rater, undone_at=None, order=("at",))
    if any(one.at > review.at and one.says != SKIP for one in standing):
        raise ResponseError("review: there is a newer vote of yours on this account; take that back first")


def _withdrew(work: Writing, review: Review) -> bool:
    """Whether somebody who was not sure any more took an earlier vote of theirs out of the label."""
    what = ("change labels", "remove labels")
    return bool(work.find(AuditLine, subject=review.actor, at=review.at, what=what, newest=1))


def _mark_drawn(work: Writing, actors: Collection[str]) -> None:
    """What was said of these accounts counts as said of accounts that chance named."""
    for one in work.find(Review, actor=sorted(actors), undone_at=None) if actors else ():
        if not one.drawn:
            work.change(one, replace(one, drawn=True))


def _looked_for(milliseconds: int | None) -> int | None:
    longest = _LONGEST_LOOK // timedelta(milliseconds=1)
    return milliseconds if milliseconds is not None and 0 <= milliseconds <= longest else None
