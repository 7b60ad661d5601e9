"""Logging in and out, the password, and how somebody likes to see pages."""

import base64
import json
from dataclasses import asdict, dataclass
from typing import Annotated
from urllib.parse import quote

from fastapi import APIRouter, Form, Request
from starlette.responses import RedirectResponse, Response

from gamewarden.desk.logins import LoggedIn, Logins
from gamewarden.desk.oidc import Pending, Provider, enter
from gamewarden.desk.people import change_wishes, user_of
from gamewarden.errors import ConfigError, GamewardenError, LoginError, PeopleError
from gamewarden.web.asked import DeskHere, Newcomer, Somebody
from gamewarden.web.languages import LANGUAGES
from gamewarden.web.security import (
    HOME,
    PASSWORD,
    address_of,
    cookie_name,
    drop,
    is_secure,
    keep,
    page_of_ours,
    visitor,
)
from gamewarden.web.showing import done, show

router = APIRouter(tags=["session"])
Field = Annotated[str, Form()]
_SEE_OTHER, _WRONG, _TOO_MANY = 303, 401, 429
_AUTO = "auto"
_PENDING, _PENDING_FOR = "gw_oidc", 600  # seconds that somebody may be at the provider
_LONG = 365 * 24 * 3600


@dataclass(frozen=True)
class LoginView:
    """The page on which people log in."""

    next: str
    name: str
    says: str  # why somebody was not let in; empty at first
    wait: int  # seconds
    elsewhere: str  # the OpenID provider; empty where there is none


@dataclass(frozen=True)
class PasswordView:
    """The page on which somebody changes their password."""

    must_change: bool
    elsewhere: bool  # there is none to change: they log in at a provider
    says: str


@dataclass(frozen=True)
class MeView:
    """How somebody likes to see pages."""

    name: str
    role: str
    rights: tuple[str, ...]
    language: str
    theme: str
    zone: str
    shortcuts: bool
    languages: dict[str, str]
    says: str


@router.get("/login", response_model=LoginView)
def login_page(request: Request, desk: DeskHere, next: str = "") -> Response:  # noqa: A002  as links call it
    """Where people log in."""
    if visitor(request) is not None:
        return RedirectResponse(page_of_ours(next), _SEE_OTHER)
    return _login(request, desk, next)


@router.post("/login", response_model=LoginView)
def log_in(
    request: Request,
    desk: DeskHere,
    name: Field = "",
    password: Field = "",
    next: Field = "",  # noqa: A002
) -> Response:
    """Let somebody in who knows the password."""
    request.state.person = None
    try:
        begun = _logins(request).log_in(name, password, address_of(request), desk.now())
    except LoginError as error:
        return _login(request, desk, next, name, error)
    return _go_on(request, begun, next)


@router.post("/logout")
def log_out(request: Request, desk: DeskHere, person: Newcomer) -> Response:
    """End this session."""
    del person
    _logins(request).log_out(request.cookies.get(cookie_name(request), ""), desk.now())
    return drop(request, RedirectResponse("/login", _SEE_OTHER))


@router.post("/logout/everywhere")
def log_out_everywhere(request: Request, desk: DeskHere, person: Newcomer) -> Response:
    """End all sessions of whoever asks."""
    _logins(request).log_out_everywhere(person.name, desk.now())
    return drop(request, RedirectResponse("/login", _SEE_OTHER))


@router.get("/password", response_model=PasswordView)
def password_page(request: Request, desk: DeskHere, person: Newcomer) -> Response:
    """Where somebody changes their password."""
    elsewhere = user_of(desk.workspace.ledger, person.name).password is None
    return show(request, "password.html", PasswordView(person.must_change, elsewhere, ""))


@router.post("/password", response_model=PasswordView)
def change_password(
    request: Request, desk: DeskHere, person: Newcomer, *, old: Field = "", new: Field = "", again: Field = ""
) -> Response:
    """Give oneself another password; all other sessions end."""
    if new != again:
        return _password(request, person, PeopleError("password: the two new ones differ; type them again"))
    try:
        begun = _logins(request).change_password(person.name, old, new, address_of(request), desk.now())
    except PeopleError as error:
        return _password(request, person, error)
    return keep(request, done(request, HOME, "Your password is changed, and all other sessions ended."), begun)


@router.get("/me", response_model=MeView)
def me(request: Request, person: Somebody) -> Response:
    """How whoever asks likes to see pages."""
    view = MeView(
        person.name,
        person.role,
        tuple(sorted(person.rights)),
        person.language,
        person.theme,
        person.zone,
        person.shortcuts,
        dict(LANGUAGES),
        "",
    )
    return show(request, "me.html", view)


@router.post("/me")
def change_me(
    request: Request,
    desk: DeskHere,
    person: Somebody,
    *,
    language: Field = "",
    theme: Field = "",
    zone: Field = "",
    shortcuts: Field = "",
    next: Field = "",  # noqa: A002
) -> Response:
    """Change how one likes to see pages; `auto` is as the browser or the workspace has it."""
    if language not in {"", _AUTO, *LANGUAGES}:
        raise ConfigError(f"me: there is no language {language[:20]!r}; it is {' or '.join(LANGUAGES)}, or auto")
    given = {"language": language, "theme": theme, "zone": zone.strip()}
    wishes: dict[str, str | bool] = {key: "" if one == _AUTO else one for key, one in given.items() if one}
    if shortcuts in {"on", "off"}:
        wishes["shortcuts"] = shortcuts == "on"
    change_wishes(desk.workspace.ledger, person.name, desk.now(), **wishes)
    answer = (
        RedirectResponse(page_of_ours(next), _SEE_OTHER) if next else done(request, "/me", "Your settings are kept.")
    )
    for key in ("language", "theme"):  # for the page on which people log in
        if key in wishes:
            answer.set_cookie(f"gw_{key}", str(wishes[key]), max_age=_LONG, path="/", httponly=True, samesite="lax")
    return answer


@router.get("/oidc/start")
def start_elsewhere(request: Request, desk: DeskHere, next: str = "") -> Response:  # noqa: A002
    """Send somebody to the OpenID provider to log in."""
    request.state.person = None
    try:
        to, pending = _provider(request, desk).start(page_of_ours(next))
    except GamewardenError as error:
        return _login(request, desk, next, "", error)
    answer = RedirectResponse(to, _SEE_OTHER)
    told = base64.urlsafe_b64encode(json.dumps(asdict(pending)).encode()).decode()
    answer.set_cookie(
        cookie_name(request, _PENDING),
        told,
        _PENDING_FOR,
        path="/",
        secure=is_secure(request),
        httponly=True,
        samesite="lax",
    )
    return answer


@router.get("/oidc/back")
def back_from_elsewhere(request: Request, desk: DeskHere) -> Response:
    """Let somebody in whom the OpenID provider sends back."""
    request.state.person = None
    try:
        provider, pending = _provider(request, desk), _pending(request)
        claims = provider.claims(dict(request.query_params), pending, desk.now())
        begun = enter(_logins(request), provider, claims, address_of(request), desk.now())
    except GamewardenError as error:
        answer = _login(request, desk, "", "", error)
    else:
        answer = _go_on(request, begun, pending.to)
    answer.delete_cookie(
        cookie_name(request, _PENDING), path="/", secure=is_secure(request), httponly=True, samesite="lax"
    )
    return answer


def _logins(request: Request) -> Logins:
    found: Logins = request.app.state.security.logins
    return found


def _login(request: Request, desk: DeskHere, to: str, name: str = "", error: GamewardenError | None = None) -> Response:
    wait = error.wait if isinstance(error, LoginError) else 0
    view = LoginView(page_of_ours(to, ""), name, str(error or ""), wait, desk.workspace.config.desk.oidc_issuer)
    answer = show(request, "login.html", view, status=200 if error is None else _TOO_MANY if wait else _WRONG)
    if wait:
        answer.headers["Retry-After"] = str(wait)
    return answer


def _password(request: Request, person: Newcomer, error: PeopleError) -> Response:
    wait = error.wait if isinstance(error, LoginError) else 0
    view = PasswordView(person.must_change, elsewhere=False, says=str(error))
    return show(request, "password.html", view, status=_TOO_MANY if wait else 400)


def _go_on(request: Request, begun: LoggedIn, to: str) -> Response:
    """A session begins: to the page that was wanted, or first to a password of one's own."""
    wanted = page_of_ours(to)
    return keep(request, RedirectResponse(PASSWORD if begun.person.must_change else wanted, _SEE_OTHER), begun)


def _provider(request: Request, desk: DeskHere) -> Provider:
    settings = desk.workspace.config.desk
    if not settings.oidc_issuer:
        raise LoginError("log in: no OpenID provider is set; see [desk] oidc_issuer")
    here = settings.public_url.rstrip("/") or f"{request.url.scheme}://{quote(request.url.netloc, safe=':[]')}"
    return Provider(settings, f"{here}/oidc/back")


def _pending(request: Request) -> Pending:
    try:
        told = json.loads(base64.urlsafe_b64decode(request.cookies[cookie_name(request, _PENDING)]))
        return Pending(*(str(told[name]) for name in ("state", "nonce", "verifier", "to")))
    except (KeyError, ValueError, TypeError, RecursionError):
        raise LoginError("log in: this browser did not start here, or too long ago; start again") from None
