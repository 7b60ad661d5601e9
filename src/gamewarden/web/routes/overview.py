"""The front page of the desk."""

from typing import Annotated

from fastapi import APIRouter, Form, Query, Request
from starlette.responses import RedirectResponse, Response

from gamewarden.desk.overview import CellsView, OverviewView, cells, overview
from gamewarden.desk.population import Span
from gamewarden.desk.views import MARKS, mark, remove_mark
from gamewarden.web.asked import DeskHere, Operator, Reader
from gamewarden.web.showing import done, show

router = APIRouter(tags=["overview"])
Days = Annotated[str, Query(description="The newest so many days, or `all`; 30 where nothing is said.", max_length=10)]
Day = Annotated[str, Query(description="A date such as 2026-03-01.", max_length=10)]
Field = Annotated[str, Form(max_length=400)]
_MOST_SQUARES = 50  # of a map that stand in its table


@router.get("/", include_in_schema=False)
def front(person: Reader) -> Response:
    """Go to the front page."""
    del person
    return RedirectResponse("/overview", 303)


@router.get("/overview", response_model=OverviewView)
def front_page(
    request: Request, desk: DeskHere, person: Reader, *, days: Days = "", since: Day = "", until: Day = ""
) -> Response:
    """How many bots there are and where, what waits for people, and whether the models still hold."""
    del person
    return show(request, "overview.html", overview(desk, Span.parse(days, since, until)), kinds=MARKS)


@router.get("/overview/cells", response_model=CellsView)
def map_of_zone(
    request: Request,
    desk: DeskHere,
    person: Reader,
    *,
    zone: Annotated[str, Query(description="Of which zone; empty: the one with most suspected events.")] = "",
    days: Days = "",
    since: Day = "",
    until: Day = "",
) -> Response:
    """Where in a zone accounts that reach a point were, over the newest of these days."""
    del person
    span = Span.parse(days, since, until)
    view = cells(desk, span, zone)
    squares = [[one.x, one.y, one.events, one.suspected] for one in view.cells]
    most = sorted(squares, key=lambda one: -one[3])[:_MOST_SQUARES]
    return show(request, "overview_cells.html", view, squares=squares, most=most)


@router.post("/marks")
def make_mark(
    request: Request, desk: DeskHere, person: Operator, *, day: Field = "", kind: Field = "", text: Field = ""
) -> Response:
    """Note a patch, a ban wave or something else on all trends."""
    made = mark(desk, day, kind, text, by=person.name)
    return done(request, "/overview", f"{made.text} is marked on {day}.", undo=f"/marks/{made.id}/delete")


@router.post("/marks/{number}/delete")
def delete_mark(request: Request, desk: DeskHere, person: Operator, number: str) -> Response:
    """Take a mark away."""
    remove_mark(desk, number, by=person.name)
    return done(request, "/overview", "The mark is removed.")
