"""Review: one account after the other, evidence first, the score only after a vote."""

from dataclasses import dataclass
from typing import Annotated
from urllib.parse import urlencode

from fastapi import APIRouter, Form, Query, Request
from starlette.responses import Response

from gamewarden.desk import review as reviewing
from gamewarden.desk.desk import Desk
from gamewarden.desk.review import Item, Last, QueueView, Seen, Voted, item, last_of, queue, take, vote
from gamewarden.web.asked import DeskHere, Voter
from gamewarden.web.showing import done, language_of, show, wanted

router = APIRouter(tags=["review"])
_TOLD = {"bot": "a bot", "human": "a person", "unsure": "not sure", "skip": "skipped"}
Name = Annotated[str, Form(max_length=4_000)]


@dataclass(frozen=True)
class ReviewView:
    """A rater's queue, and the account that is looked at now."""

    queue: QueueView
    item: Item | None


@dataclass(frozen=True)
class Said:
    """What a rater said, and what is shown only now."""

    review: str
    actor: str
    says: str
    seen: Seen | None


@router.get("/review", response_model=ReviewView)
def review(
    request: Request,
    desk: DeskHere,
    person: Voter,
    actor: Annotated[str, Query(description="An account; else the next of the queue.", max_length=4_000)] = "",
) -> Response:
    """The next account of the queue with its evidence, without its score."""
    found = item(desk, actor, person.name) if actor else _next(desk, person.name)
    return show(request, "review.html", ReviewView(queue(desk, person.name), found))


@router.get("/review/queue", response_model=QueueView)
def waiting(request: Request, desk: DeskHere, person: Voter) -> Response:
    """Who waits for your vote, and what you said today."""
    return show(request, "review_count.html", queue(desk, person.name))


@router.get("/review/item", response_model=Item | None)
def next_item(
    request: Request,
    desk: DeskHere,
    person: Voter,
    but: Annotated[str, Query(description="The account that is looked at now.", max_length=4_000)] = "",
) -> Response:
    """The account after this one, as a part of the page: fetched while somebody still looks at this one."""
    found = _next(desk, person.name, (but,), hold=False)
    return show(request, "review_item.html", found)


@router.get("/review/last", response_model=Last | None)
def last_vote(request: Request, desk: DeskHere, person: Voter) -> Response:
    """What you said last today, with the score and what others said."""
    return show(request, "review_last.html", last_of(desk, person.name))


@router.post("/review/votes", response_model=Voted)
def say(
    request: Request,
    desk: DeskHere,
    person: Voter,
    *,
    actor: Name,
    says: Annotated[str, Form(description="bot, human, unsure or skip", max_length=20)],
    note: Annotated[str, Form(max_length=20_000)] = "",
    milliseconds: Annotated[str, Form(max_length=20)] = "",
) -> Response:
    """Say what an account is; bot and human become votes of its label."""
    spent = int(milliseconds) if milliseconds.isascii() and milliseconds.isdecimal() else None
    made = vote(desk, actor, says, rater=person.name, note=note, milliseconds=spent)
    if wanted(request) == "json":
        return show(request, "review_last.html", made)
    if request.headers.get("hx-request") == "true":
        return show(request, "review_last.html", Said(made.review, actor, says, made.seen))
    return done(request, "/review", _sentence(request, actor, says), undo="/review/undo")


@router.post("/review/undo")
def unsay(
    request: Request, desk: DeskHere, person: Voter, review: Annotated[str, Form(max_length=200)] = ""
) -> Response:
    """Take your last vote back, or the one of an id; its label is as it was before."""
    back = reviewing.undo(desk, rater=person.name, review=review or None)
    if request.headers.get("hx-request") == "true" and wanted(request) == "html":
        return show(request, "review_item.html", item(desk, back.actor, person.name))
    told = language_of(request).text("Your vote on %(actor)s is taken back.") % {"actor": back.actor}
    return done(request, f"/review?{urlencode({'actor': back.actor})}", told)


def _next(desk: Desk, rater: str, but: tuple[str, ...] = (), *, hold: bool = True) -> Item | None:
    found = take(desk, rater, but=but, hold=hold)
    return None if found is None else item(desk, found.actor, rater)


def _sentence(request: Request, actor: str, says: str) -> str:
    language = language_of(request)
    return f"{actor}: {language.text(_TOLD[says])}"
