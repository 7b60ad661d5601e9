"""What becomes of errors: one line for whoever asked, on a page or as JSON; never a trace."""

import logging
import secrets

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import Response

from gamewarden.errors import GamewardenError, LedgerError, NotThereError
from gamewarden.web.showing import failed

_LOG = logging.getLogger("gamewarden.web")
_SAYS = {
    404: "There is no such page.",
    405: "This address does not do that.",
    413: "That is too large.",
}


def answer_errors(app: FastAPI) -> None:
    """Let every error of ours, of a request and of the framework be answered."""
    app.add_exception_handler(GamewardenError, _ours)
    app.add_exception_handler(RequestValidationError, _not_understood)
    app.add_exception_handler(HTTPException, _of_http)
    app.add_exception_handler(Exception, _unforeseen)


def _ours(request: Request, error: Exception) -> Response:
    status = 404 if isinstance(error, NotThereError) else 409 if isinstance(error, LedgerError) else 400
    return failed(request, status, " ".join(str(error).split()))


def _not_understood(request: Request, error: Exception) -> Response:
    told = error.errors() if isinstance(error, RequestValidationError) else []
    says = "; ".join(f"{'.'.join(map(str, one['loc'][1:])) or 'the body'}: {one['msg']}" for one in told[:3])
    return failed(request, 422, says or "The request was not understood.")


def _of_http(request: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else 500
    told = str(error.detail) if isinstance(error, HTTPException) else ""
    headers = dict(error.headers or {}) if isinstance(error, HTTPException) else None
    return failed(request, status, _SAYS.get(status, told), headers)


def _unforeseen(request: Request, error: Exception) -> Response:
    """An error of ours that nobody foresaw: the log has its trace under the number that the page shows."""
    number = secrets.token_hex(4)
    _LOG.error("%s %s failed (%s)", request.method, request.url.path, number, exc_info=error)
    return failed(request, 500, f"This went wrong on our side; the server's log says more under {number}.")
