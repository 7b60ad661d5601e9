"""Who asks, and whether they may: by the cookie of a browser or by the token of a program."""

import hmac
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime
from urllib.parse import quote, urlsplit

from fastapi import FastAPI, Request
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.responses import RedirectResponse, Response
from starlette.routing import Match

from gamewarden.config import DeskSettings
from gamewarden.desk.desk import Desk
from gamewarden.desk.logins import LoggedIn, Logins
from gamewarden.desk.people import Person
from gamewarden.desk.tokens import person_of_token
from gamewarden.web.showing import wanted

SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
LOGIN, PASSWORD, HOME = "/login", "/password", "/overview"
SCRAPED = "/metrics"  # programs read it, and some of them say that they read anything
_BEARER = "bearer "
_SESSION, _HOST = "gw_session", "__Host-"  # browsers take a cookie of that prefix only from us, and only by TLS
_FORMS = ("application/x-www-form-urlencoded", "multipart/form-data")
_SEE_OTHER, _NOT_LOGGED_IN, _FORBIDDEN = 303, 401, 403


class SentElsewhere(HTTPException):
    """Somebody has to go to another page first."""

    def __init__(self, to: str) -> None:
        super().__init__(_SEE_OTHER, to)
        self.to = to


def allowed(*rights: str, unchanged: bool = False) -> Callable[[Request], Awaitable[Person]]:
    """A dependency: the person who asks, who must have one of these rights; none: whoever is logged in, no program.

    `unchanged` also lets those in who must change their password first.
    """

    async def person(request: Request) -> Person:
        found = await run_in_threadpool(_person_of, request)
        request.state.person = found
        if found.must_change and not unchanged:
            raise _first(request, PASSWORD, _FORBIDDEN, "The password must be changed first.")
        if not rights and found.token:
            raise HTTPException(_FORBIDDEN, "This is for people who are logged in, not for tokens.")
        if rights and found.rights.isdisjoint(rights):
            needed = " or ".join(f"“{right}”" for right in rights)
            raise HTTPException(_FORBIDDEN, f"This needs the right {needed}, which {_whose(found)} does not have.")
        if request.method not in SAFE_METHODS and not found.token:
            await _refuse_foreign_form(request, found)
        return found

    return person


def visitor(request: Request) -> Person | None:
    """Who is logged in in this browser, if anybody is."""
    state = _state(request)
    secret = request.cookies.get(cookie_name(request))
    found = state.logins.person(secret, state.now()) if secret else None
    request.state.person = found
    return found


def keep(request: Request, answer: Response, begun: LoggedIn) -> Response:
    """Give a browser the secret of a session that begins."""
    answer.set_cookie(
        cookie_name(request), begun.secret, path="/", secure=is_secure(request), httponly=True, samesite="lax"
    )
    return answer


def drop(request: Request, answer: Response) -> Response:
    """Take a session's secret away from a browser."""
    answer.delete_cookie(cookie_name(request), path="/", secure=is_secure(request), httponly=True, samesite="lax")
    return answer


def cookie_name(request: Request, name: str = _SESSION) -> str:
    """What a cookie of ours is called: by TLS so that no other host can set it."""
    return f"{_HOST}{name}" if is_secure(request) else name


def is_secure(request: Request) -> bool:
    """Whether browsers come to us by TLS, be it to a proxy."""
    return request.url.scheme == "https" or _state(request).settings.public_url.startswith("https://")


def address_of(request: Request) -> str:
    """From where somebody asks."""
    return request.client.host if request.client else "unknown"


def page_of_ours(to: str | None, otherwise: str = HOME) -> str:
    """A page to go on to; never one of another site, whatever somebody wrote into a link."""
    parts = to or ""
    ours = parts.startswith("/") and not parts.startswith("//") and "\\" not in parts and parts.isprintable()
    return parts if ours and not urlsplit(parts).netloc else otherwise


@dataclass(frozen=True)
class Security:
    """What a request needs to know who asks."""

    desk: Desk
    logins: Logins

    @property
    def settings(self) -> DeskSettings:
        """The settings of the desk."""
        return self.desk.workspace.config.desk

    def now(self) -> datetime:
        """The clock on the wall."""
        return self.desk.now()


def know_people(app: FastAPI, desk: Desk) -> None:
    """Let an application know who asks."""
    app.state.security = Security(desk, Logins.of(desk))
    app.add_exception_handler(SentElsewhere, _sent)


def _state(request: Request) -> Security:
    found: Security = request.app.state.security
    return found


def _person_of(request: Request) -> Person:
    told = request.headers.get("authorization", "")
    if told.lower().startswith(_BEARER):  # then no cookie counts: nobody but a program sends this
        state = _state(request)
        token = person_of_token(state.desk.workspace.ledger, told[len(_BEARER) :].strip(), state.now())
        if token is None:
            raise HTTPException(
                _NOT_LOGGED_IN,
                "This token opens nothing: it is wrong, over or revoked.",
                {"WWW-Authenticate": 'Bearer realm="gamewarden", error="invalid_token"'},
            )
        return token
    found = visitor(request)
    if found is None:
        to = quote(_page_before(request), safe="/")
        raise _first(request, f"{LOGIN}?next={to}" if to else LOGIN, _NOT_LOGGED_IN, "Log in, or send a token.")
    return found


def _page_before(request: Request) -> str:
    """The page that somebody is on: never a part of a page that htmx asks for, nor where a form is sent to."""
    asked = str(request.url) if request.method in SAFE_METHODS else ""
    header = "hx-current-url" if request.headers.get("hx-request") == "true" else "" if asked else "referer"
    try:
        page = urlsplit(request.headers.get(header) or asked)
    except ValueError:
        return ""
    if _answers_forms_only(request, page.path):
        return ""
    return f"{page.path}?{page.query}" if page.query else page.path


def _answers_forms_only(request: Request, path: str) -> bool:
    """Whether there is no page at a path but the answer to a form, such as the preview of an act."""
    asked = {**request.scope, "method": "GET", "path": path, "root_path": ""}
    matches = {route.matches(asked)[0] for route in request.app.routes}
    return Match.PARTIAL in matches and Match.FULL not in matches


def _first(request: Request, to: str, status: int, says: str) -> HTTPException:
    """People are led to a page; a part of a page leads its browser there; programs are told."""
    if request.headers.get("hx-request") == "true":
        return HTTPException(status, says, {"HX-Redirect": to})
    scraped = request.url.path == SCRAPED and "text/html" not in request.headers.get("accept", "")
    if wanted(request) == "html" and not scraped:
        return SentElsewhere(to)
    return HTTPException(status, says, {"WWW-Authenticate": 'Bearer realm="gamewarden"'})


def _whose(person: Person) -> str:
    return "this token" if person.token else f"the role {person.role}"


async def _refuse_foreign_form(request: Request, person: Person) -> None:
    """A form must hold the secret of the session it was made for; scripts of ours send it in a header."""
    sent = request.headers.get("x-csrf-token", "")
    if not sent and request.headers.get("content-type", "").lower().startswith(_FORMS):
        value = (await request.form()).get("csrf", "")
        sent = value if isinstance(value, str) else ""
    if not person.csrf or not hmac.compare_digest(sent.encode(errors="replace"), person.csrf.encode()):
        raise HTTPException(_FORBIDDEN, "This form is of another session; load the page again.")


def _sent(_request: Request, error: Exception) -> Response:
    return RedirectResponse(error.to if isinstance(error, SentElsewhere) else LOGIN, _SEE_OTHER)
