"""Where game servers push events and packets, and where machines ask whether all is well."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Header, Query, Request
from starlette.requests import ClientDisconnect
from starlette.responses import Response

from gamewarden.desk.background import Behind
from gamewarden.desk.desk import Desk
from gamewarden.desk.health import OK, Health
from gamewarden.desk.health import health as looked_at
from gamewarden.desk.inbox import Door, Receipt, RefusedBatchError, Sent, TooMuchError
from gamewarden.errors import WriteError
from gamewarden.store.inbox import OtherBatchError
from gamewarden.web.asked import DeskHere, Operator, Pusher, Reader, Scraper
from gamewarden.web.metrics import MEDIA_TYPE
from gamewarden.web.showing import as_json, done, failed, show

router = APIRouter(tags=["push"])
watched = APIRouter(tags=["watch"])
_PATIENCE = 60.0  # seconds in which a body has to come
_TROUBLE = 5  # seconds after which somebody may try again who could not be served
_ROWS = {"type": "string", "description": "One JSON object a line; with Content-Encoding: gzip, packed."}
_BODY: dict[str, Any] = {"requestBody": {"required": True, "content": {"application/x-ndjson": {"schema": _ROWS}}}}
_REFUSALS: dict[int | str, dict[str, Any]] = {
    408: {"description": "The body did not come in time."},
    413: {"description": "The body is too large."},
    415: {"description": "The body is packed in a way that is not read."},
    422: {"description": "A row cannot be taken; nothing of the batch was."},
    429: {"description": "More than can be taken now; try again after Retry-After seconds."},
    503: {"description": "The inbox cannot be written now."},
}
Bad = Annotated[
    Literal["refuse", "count"], Query(description="refuse: one bad row refuses the batch; count: bad rows are left out")
]
Key = Annotated[str, Header(description="A batch that is sent again under its key adds nothing.")]
Encoding = Annotated[str, Header(include_in_schema=False)]


@router.post("/events", response_model=Receipt, responses=_REFUSALS, openapi_extra=_BODY)
async def push_events(
    request: Request,
    desk: DeskHere,
    person: Pusher,
    *,
    bad: Bad = "refuse",
    idempotency_key: Key = "",
    content_encoding: Encoding = "",
) -> Response:
    """Take a batch of events; the answer comes once it is on the disk."""
    sent = Sent((), _is_packed(content_encoding), idempotency_key, person.name, count_bad=bad == "count")
    return await _pushed(request, _door(desk), "events", sent, content_encoding)


@router.post("/packets", response_model=Receipt, responses=_REFUSALS, openapi_extra=_BODY)
async def push_packets(
    request: Request,
    desk: DeskHere,
    person: Pusher,
    *,
    bad: Bad = "refuse",
    idempotency_key: Key = "",
    content_encoding: Encoding = "",
) -> Response:
    """Take a batch of packets: actor, at, up and size; the answer comes once it is on the disk."""
    sent = Sent((), _is_packed(content_encoding), idempotency_key, person.name, count_bad=bad == "count")
    return await _pushed(request, _door(desk), "packets", sent, content_encoding)


@watched.get("/health", response_model=Health, responses={503: {"model": Health}})
def health(desk: DeskHere) -> Response:
    """Whether the desk can do its work; open to everybody, and says nothing else."""
    found = looked_at(desk)
    return Response(as_json(found), 200 if found.status == OK else 503, media_type="application/json")


@watched.get("/metrics", response_class=Response)
def metrics(request: Request, person: Scraper) -> Response:
    """Numbers for Prometheus."""
    del person
    return Response(request.app.state.metrics.text(), headers={"Content-Type": MEDIA_TYPE})


@watched.get("/run", response_model=Behind)
def behind(request: Request, desk: DeskHere, person: Reader) -> Response:
    """What goes on behind the desk: the last run, what its steps said, and when the next one comes."""
    del person
    return show(request, "run.html", desk.background.state())


@watched.post("/run")
def run(request: Request, desk: DeskHere, person: Operator) -> Response:
    """Take in, measure, score, judge and decide now; a run that goes on is not done twice."""
    del person
    new = desk.background.run_now()
    return done(request, "/run", "a run begins" if new else "a run goes on already", status=202)


def _door(desk: Desk) -> Door:
    """The door, by the settings as they are now: they say what zone times without one are of."""
    desk.door.workspace = desk.workspace
    return desk.door


def _is_packed(encoding: str) -> bool:
    return encoding.strip().lower() in {"gzip", "x-gzip"}


async def _pushed(request: Request, door: Door, kind: str, sent: Sent, encoding: str) -> Response:
    if not sent.packed and encoding.strip().lower() not in {"", "identity"}:
        return failed(request, 415, f"Content-Encoding {encoding[:40]!r} is not read; send gzip, or nothing packed")
    try:
        return await _taken(request, door, kind, sent)
    except TooMuchError as error:
        door.turned_away(kind)
        await _drained(request, door.limits.body)
        return failed(request, 429, str(error), {"Retry-After": str(error.retry_after)})
    except ClientDisconnect:
        return Response(status_code=400)  # nobody reads it
    except (RefusedBatchError, OtherBatchError, WriteError, TimeoutError, _TooLargeError) as error:
        return failed(request, *_refusal(error, door))


def _refusal(error: Exception, door: Door) -> tuple[int, str, dict[str, str]]:
    """With what a batch is refused, why, and what the sender may do then."""
    match error:
        case TimeoutError():
            return 408, f"the body did not come within {_PATIENCE:.0f} seconds", {"Connection": "close"}
        case _TooLargeError():
            says = f"the body has more than {door.limits.body >> 20} MiB; send smaller batches"
            return 413, says, {"Connection": "close"}
        case WriteError():
            return 503, str(error), {"Retry-After": str(_TROUBLE)}
        case _:
            return 422, str(error), {}


async def _taken(request: Request, door: Door, kind: str, sent: Sent) -> Response:
    told = request.headers.get("content-length", "")
    if told.isdecimal() and int(told) > door.limits.body:
        raise _TooLargeError
    door.refuse_if_full(kind)
    async with _received(request, door) as body:
        batch = Sent(tuple(body), sent.packed, sent.key, sent.by, sent.count_bad)
        waiting = await asyncio.get_running_loop().run_in_executor(door.hands, door.take, kind, batch)
        receipt = await asyncio.wrap_future(waiting)
    return Response(as_json(receipt), media_type="application/json")


@asynccontextmanager
async def _received(request: Request, door: Door) -> AsyncIterator[list[bytes]]:
    """The body, in room that is held until it is dealt with."""
    body: list[bytes] = []
    held = 0
    try:
        async with asyncio.timeout(_PATIENCE):
            async for chunk in request.stream():
                if held + len(chunk) > door.limits.body:
                    raise _TooLargeError
                door.reserve(len(chunk))
                held += len(chunk)
                body.append(chunk)
        yield body
    finally:
        door.release(held)


async def _drained(request: Request, most: int) -> None:
    """Let a sender who is turned away finish, so that it reads the answer and not that the line is dead."""
    try:
        async with asyncio.timeout(_PATIENCE):
            async for chunk in request.stream():
                most -= len(chunk)
                if most < 0:
                    return
    except (TimeoutError, ClientDisconnect, RuntimeError):  # it was read to its end, or nobody is there any more
        return


class _TooLargeError(Exception):
    """A body beyond what is taken."""
