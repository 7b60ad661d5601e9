"""The page of one account: who it is, what was said of it and why; its parts are fetched one by one."""

from typing import Annotated, Any

from fastapi import APIRouter, Form, Query, Request
from starlette.responses import Response

from gamewarden.desk.account import Account, account, reasons
from gamewarden.desk.account_events import EventPage, events
from gamewarden.desk.account_habits import Hours, Mix, hours, mix
from gamewarden.desk.account_movement import Movement, movement
from gamewarden.desk.account_series import Series, series
from gamewarden.desk.account_sessions import Sessions, sessions
from gamewarden.desk.account_timeline import LONGEST_NOTE, Timeline, add_note, timeline
from gamewarden.desk.account_trade import Trade, trade
from gamewarden.desk.account_traffic import Traffic, traffic
from gamewarden.desk.people import DECIDE
from gamewarden.desk.reasons import Reasons
from gamewarden.web import account_charts as charts
from gamewarden.web import account_words as words
from gamewarden.web.account_names import ActorHere, account_url
from gamewarden.web.asked import DeskHere, Reader, Voter
from gamewarden.web.showing import done, language_of, show

router = APIRouter(tags=["account"])
Day = Annotated[
    str | None, Query(description="A judged day such as 2026-03-01; else the most suspicious one.", max_length=32)
]
Blind = Annotated[bool, Query(description="Evidence alone: nothing that a model or another person says.")]


def _part(request: Request, name: str, view: object, **more: Any) -> Response:  # noqa: ANN401  what only one part needs
    """A part of the page: alone where a page asks for it, else with everything around it."""
    asked = request.headers.get("hx-request") == "true" or request.query_params.get("part") is not None
    layout = "account_bare.html" if asked else "base.html"
    language = language_of(request)
    told: dict[str, Any] = {"layout": layout, "charts": charts, "words": words, "zone": language.zone}
    return show(request, f"account_{name}.html", view, **told, **more)


@router.get("/accounts/{actor}/reasons", response_model=Reasons)
def reasons_part(
    request: Request, desk: DeskHere, person: Reader, actor: ActorHere, *, day: Day = None, blind: Blind = False
) -> Response:
    """Why an account looks like a bot on a day, or why not: numbers beside those of people, in sentences."""
    del person
    return _part(request, "reasons", reasons(desk, actor, day, blind=blind))


@router.get("/accounts/{actor}/series", response_model=Series)
def series_part(
    request: Request, desk: DeskHere, person: Reader, actor: ActorHere, *, day: Day = None, blind: Blind = False
) -> Response:
    """How varied each minute of a day was, beside people who play alike, and where it was suddenly even."""
    del person
    return _part(request, "series", series(desk, actor, day, blind=blind))


@router.get("/accounts/{actor}/hours", response_model=Hours)
def hours_part(request: Request, desk: DeskHere, person: Reader, actor: ActorHere, *, day: Day = None) -> Response:
    """At which hours of which days an account plays."""
    del person
    return _part(request, "hours", hours(desk, actor, day))


@router.get("/accounts/{actor}/mix", response_model=Mix)
def mix_part(request: Request, desk: DeskHere, person: Reader, actor: ActorHere, *, day: Day = None) -> Response:
    """What an account does on a day, beside what people do."""
    del person
    return _part(request, "mix", mix(desk, actor, day))


@router.get("/accounts/{actor}/traffic", response_model=Traffic)
def traffic_part(
    request: Request, desk: DeskHere, person: Reader, actor: ActorHere, *, day: Day = None, blind: Blind = False
) -> Response:
    """The windows of packets of a day, and what the tests of packets say of each."""
    del person
    return _part(request, "traffic", traffic(desk, actor, day, blind=blind))


@router.get("/accounts/{actor}/sessions", response_model=Sessions)
def sessions_part(request: Request, desk: DeskHere, person: Reader, actor: ActorHere, *, day: Day = None) -> Response:
    """From when to when an account played on a day, from where and with whom."""
    view = sessions(desk, actor, day, whole_addresses=DECIDE in person.rights)
    return _part(request, "sessions", view)


@router.get("/accounts/{actor}/trade", response_model=Trade)
def trade_part(request: Request, desk: DeskHere, person: Reader, actor: ActorHere, *, blind: Blind = False) -> Response:
    """With whom an account trades, and with whom those do."""
    del person
    return _part(request, "trade", trade(desk, actor, blind=blind))


@router.get("/accounts/{actor}/movement", response_model=Movement)
def movement_part(
    request: Request,
    desk: DeskHere,
    person: Reader,
    actor: ActorHere,
    *,
    day: Day = None,
    zone: Annotated[str | None, Query(max_length=1_000)] = None,
) -> Response:
    """The way of an account through a zone on a day, and the places to which it came back."""
    del person
    return _part(request, "movement", movement(desk, actor, day, zone))


@router.get("/accounts/{actor}/events", response_model=EventPage)
def events_part(
    request: Request,
    desk: DeskHere,
    person: Reader,
    actor: ActorHere,
    *,
    day: Day = None,
    hour: Annotated[str, Query(description="From 0, counted from the beginning of the day; empty: all of it.")] = "",
    kind: Annotated[str, Query(max_length=1_000)] = "",
    after: Annotated[str, Query(description="`next` of the page before.", max_length=100)] = "",
) -> Response:
    """The raw events of an hour, 200 at a time."""
    number = int(hour) if hour.isdecimal() and len(hour) < 4 else None  # noqa: PLR2004  a day has few hours
    whole = DECIDE in person.rights
    view = events(desk, actor, day, hour=number, kind=kind or None, after=after or None, whole_addresses=whole)
    return _part(request, "events", view)


@router.get("/accounts/{actor}/timeline", response_model=Timeline)
def timeline_part(
    request: Request, desk: DeskHere, person: Reader, actor: ActorHere, *, blind: Blind = False
) -> Response:
    """What was seen, said, decided and done about an account, and how its suspicion added up."""
    view = timeline(desk, actor, blind=blind, reader=person.name)
    return _part(request, "timeline", view, may_decide="decide" in person.rights)


@router.post("/accounts/{actor}/notes")
def note(
    request: Request,
    desk: DeskHere,
    person: Voter,
    actor: ActorHere,
    text: Annotated[str, Form(max_length=4 * LONGEST_NOTE)],
) -> Response:
    """Write something down about an account."""
    add_note(desk, actor, person.name, text)
    return done(request, to=account_url(actor) + "#timeline", says=language_of(request).text("The note is kept."))


# Last of all: a name that somebody encoded once alone may have slashes in it.
@router.get("/accounts/{actor:path}", response_model=Account)
def account_page(
    request: Request,
    desk: DeskHere,
    person: Reader,
    actor: ActorHere,
    *,
    day: Day = None,
    blind: Blind = False,
    part: Annotated[str, Query(description="`drawer`: the page in short, for beside a list.")] = "",
) -> Response:
    """One account: who it is, its verdict in words, why, and all its days."""
    view = account(desk, actor, day, blind=blind)
    if part == "drawer":
        return _part(request, "drawer", view, may_decide="decide" in person.rights)
    rights = {name: name in person.rights for name in ("vote", "decide")}
    return show(request, "account.html", view, rights=rights, words=words)
