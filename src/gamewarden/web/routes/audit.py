"""The audit: who did what, and whether every line still holds."""

from datetime import UTC, date, datetime, time
from typing import Annotated

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from gamewarden.desk.audit import Asked, AuditView, as_csv, audit, begin_check
from gamewarden.errors import ConfigError, short
from gamewarden.web.asked import Auditor, DeskHere
from gamewarden.web.showing import done, language_of, show

router = APIRouter(tags=["audit"])


@router.get("/audit", response_model=AuditView)
def the_audit(
    request: Request,
    desk: DeskHere,
    person: Auditor,
    *,
    who: Annotated[str, Query(max_length=200)] = "",
    what: Annotated[str, Query(description="Such as `add decisions`.", max_length=100)] = "",
    about: Annotated[str, Query(description="An account, or the id of a record.", max_length=4_000)] = "",
    since: Annotated[str, Query(description="A day such as 2026-03-01.", max_length=40)] = "",
    before: Annotated[int | None, Query(description="`next` of the page before.", ge=0, le=2**53)] = None,
) -> Response:
    """Lines of the audit, the newest first; as CSV all of them."""
    del person
    asked = Asked(who.strip(), what.strip(), about.strip(), _day(since))
    view = audit(desk, asked, before=before)
    return show(request, "audit.html", view, csv=as_csv(desk, asked), name="audit", since=since)


@router.post("/audit/check")
def check(request: Request, desk: DeskHere, person: Auditor) -> Response:
    """Look whether every line is as it was written, beside whatever else happens."""
    del person
    begin_check(desk)
    return done(request, "/audit", language_of(request).text("Every line is looked at; this takes a while."))


def _day(text: str) -> datetime | None:
    try:
        return datetime.combine(date.fromisoformat(text), time(), UTC) if text else None
    except ValueError as error:
        raise ConfigError(f"since is {short(text)}; give a date such as 2026-03-01") from error
