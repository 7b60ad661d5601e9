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
Keeper = Annotated[Person, Depends(allowed(DECIDE, OPERATE))]  # who decides about players, or keeps it running
Auditor = Annotated[Person, Depends(allowed(DECIDE, OPERATE, ADMINISTER))]
Somebody = Annotated[Person, Depends(allowed())]  # whoever is logged in; no program
Newcomer = Annotated[Person, Depends(allowed(unchanged=True))]  # also who must change the password first
