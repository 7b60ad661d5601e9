"""What a route asks for before it does anything: the desk, and somebody who may do what it does."""

from typing import Annotated

from fastapi import Depends, Request

from gamewarden.desk.desk import Desk
from gamewarden.desk.people import ADMINISTER, DECIDE, METRICS, OPERATE, PUSH, READ, VOTE, Person
from gamewarden.web.security import allowed


def desk_of(request: Request) -> Desk:
    """The desk that this server shows."""
    found: Desk = request.app.state.desk
    return found


DeskHere = Annotated[Desk, Depends(desk_of)]
Reader = Annotated[Person, Depends(allowed(READ))]
Voter = Annotated[Person, Depends(allowed(VOTE))]
Decider = Annotated[Person, Depends(allowed(DECIDE))]
Operator = Annotated[Person, Depends(allowed(OPERATE))]
Administrator = Annotated[Person, Depends(allowed(ADMINISTER))]
Pusher = Annotated[Person, Depends(allowed(PUSH))]
Scraper = Annotated[Person, Depends(allowed(METRICS))]
Somebody = Annotated[Person, Depends(allowed(None))]  # whoever is logged in; no program
Newcomer = Annotated[Person, Depends(allowed(None, unchanged=True))]  # also who must change the password first
