"""The policy: the ladder, what it would have done, what leaves, and what is stopped."""

from fastapi import APIRouter, Request
from starlette.responses import Response

from gamewarden.desk.acts import resume_all
from gamewarden.desk.people import DECIDE, OPERATE
from gamewarden.desk.policy import PolicyView, begin_rehearsal, policy, troubles
from gamewarden.desk.sources import SourcesView, sources
from gamewarden.web.asked import DeskHere, Keeper, Operator, Reader
from gamewarden.web.showing import done, language_of, show

router = APIRouter(tags=["policy"])


@router.get("/policy", response_model=PolicyView)
def the_policy(request: Request, desk: DeskHere, person: Reader) -> Response:
    """The ladder in numbers and words, whether it is armed, and what is on its way."""
    view = policy(desk)
    rights = {"decide": DECIDE in person.rights, "operate": OPERATE in person.rights}
    return show(request, "policy.html", view, rights=rights, troubles=troubles(view))


@router.post("/policy/rehearsal")
def rehearse(request: Request, desk: DeskHere, person: Keeper) -> Response:
    """Try the ladder on all that was judged, beside whatever else happens; nothing is decided."""
    del person
    begin_rehearsal(desk)
    return done(request, "/policy#rehearsal", language_of(request).text("The ladder is tried on the past."))


@router.post("/policy/resume")
def resume(request: Request, desk: DeskHere, person: Operator) -> Response:
    """Let actions leave again after the breaker stopped them."""
    return done(request, "/policy", resume_all(desk, by=person.name))


@router.get("/sources", response_model=SourcesView)
def the_sources(request: Request, desk: DeskHere, person: Reader) -> Response:
    """What was taken in, how far behind it is, and what to do next."""
    del person
    return show(request, "sources.html", sources(desk))
