"""How an answer leaves: a page for people, JSON for programs, CSV for spreadsheets; all of the same data."""

import base64
import json
import re
from collections.abc import Iterable
from typing import Any, Literal
from urllib.parse import quote

from pydantic import TypeAdapter
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response, StreamingResponse

from gamewarden.core.outside import plain_json
from gamewarden.desk.people import Person
from gamewarden.web.languages import LANGUAGES, Language, best_language
from gamewarden.web.pages import page

Format = Literal["html", "json", "csv"]
FLASH = "gw_said"
_SEE_OTHER = 303
_UNDOES = re.compile(r"/(acts/\w+|review)/undo|/marks/\w+/delete", re.ASCII)  # others can set cookies, too
_IN_ADDRESS = ":/%#?=@[]!$&'()*+,;"  # what stays as it is in the address of a header
_LONGEST_FLASH = 800  # letters: a cookie holds about 4,000 bytes, and a letter of Korean takes four of them here


def wanted(request: Request) -> Format:
    """What the one who asks would read: ?format= says so, else what is accepted."""
    told = request.query_params.get("format")
    if told in {"html", "json", "csv"}:
        return told  # type: ignore[return-value]  # one of the three
    accepts = request.headers.get("accept", "")
    if "text/html" in accepts or request.headers.get("hx-request") == "true":
        return "html"
    by_token = request.headers.get("authorization", "").lower().startswith("bearer ")
    return "json" if by_token or "json" in accepts else "html"


def show(
    request: Request,
    template: str,
    view: object,
    *,
    status: int = 200,
    csv: Iterable[str] | None = None,
    name: str = "gamewarden",
    **more: Any,  # noqa: ANN401  what only the page needs
) -> Response:
    """An answer: `view` is what JSON says and what the template gets; `csv` are the pieces of a file."""
    form = wanted(request)
    if form == "csv" and csv is not None:
        return download(csv, f"{name}.csv", "text/csv; charset=utf-8")
    if form == "json":
        return Response(as_json(view), status, media_type="application/json")
    said = _said(request)
    text = page(template, **frame(request), view=view, said=said, **more)
    answer = Response(text, status, media_type="text/html")
    if said is not None:
        answer.delete_cookie(FLASH, path="/", httponly=True, samesite="lax")
    return answer


def done(request: Request, to: str, says: str, *, undo: str | None = None, status: int = 200) -> Response:
    """An act that is done: people go on to a page that says so, programs read it; `undo` is where it is taken back."""
    if wanted(request) == "json":
        return JSONResponse({"says": says, "undo": undo}, status)
    if request.headers.get("hx-request") == "true":
        answer = Response(status_code=204, headers={"HX-Redirect": quote(to, safe=_IN_ADDRESS)})
    else:
        answer = RedirectResponse(to, _SEE_OTHER)
    told = json.dumps({"says": says[:_LONGEST_FLASH], "undo": undo}, ensure_ascii=False).encode(errors="replace")
    value = base64.urlsafe_b64encode(told).decode()
    answer.set_cookie(FLASH, value, max_age=60, path="/", httponly=True, samesite="lax")
    return answer


def failed(request: Request, status: int, says: str, headers: dict[str, str] | None = None) -> Response:
    """An answer that says in one line why there is no other."""
    if wanted(request) != "html":
        return JSONResponse({"error": says}, status, headers)
    if request.headers.get("hx-request") == "true":
        part = page("failed_part.html", **frame(request), says=says, status=status)
        return Response(part, status, headers, "text/html")
    text = page("failed.html", **frame(request), says=says, status=status, said=None)
    return Response(text, status, headers, "text/html")


def download(pieces: Iterable[str], name: str, kind: str) -> StreamingResponse:
    """A file to be kept."""
    return StreamingResponse(
        pieces, media_type=kind, headers={"Content-Disposition": f"attachment; filename*=UTF-8''{quote(name)}"}
    )


def frame(request: Request) -> dict[str, Any]:
    """What every page knows: who reads it, in which language, and where it is."""
    person: Person | None = getattr(request.state, "person", None)
    theme = (person.theme if person else "") or request.cookies.get("gw_theme", "")
    return {
        "request": request,
        "person": person,
        "csrf": person.csrf if person else "",
        "language": language_of(request),
        "theme": theme if theme in {"light", "dark"} else "",
        "version": request.app.version,
        "where": request.url.path,
        "desk": request.app.state.desk,
    }


def language_of(request: Request) -> Language:
    """The language of whoever reads: chosen, or what the browser asks for."""
    person: Person | None = getattr(request.state, "person", None)
    chosen = (person.language if person else "") or request.cookies.get("gw_language", "")
    workspace = request.app.state.desk.workspace
    asked = request.headers.get("accept-language", "")
    code = chosen if chosen in LANGUAGES else best_language(asked, workspace.config.desk.language)
    zone = (person.zone if person else "") or workspace.time_zone or "UTC"
    return Language(code, zone)


def as_json(view: object) -> bytes:
    """A view as JSON in which nothing steers a terminal that shows it."""
    return plain_json(_adapter(type(view)).dump_json(view).decode()).encode()


_adapters: dict[type, TypeAdapter[Any]] = {}


def _adapter(kind: type) -> TypeAdapter[Any]:
    """What writes views of a kind; made once, since that takes its time."""
    if kind not in _adapters:
        _adapters[kind] = TypeAdapter(kind)
    return _adapters[kind]


def _said(request: Request) -> dict[str, Any] | None:
    """What the act before this page said."""
    try:
        told = json.loads(base64.urlsafe_b64decode(request.cookies[FLASH]))
        says, undo = str(told["says"]), told["undo"]
    except (KeyError, ValueError, TypeError, RecursionError):
        return None
    ours = isinstance(undo, str) and _UNDOES.fullmatch(undo)
    return {"says": says, "undo": undo if ours else None}
