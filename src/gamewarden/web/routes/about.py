"""What programs may ask for: the API as a page."""

from dataclasses import dataclass

from fastapi import APIRouter, Request
from starlette.responses import Response

from gamewarden.web.asked import Reader
from gamewarden.web.showing import show

router = APIRouter(tags=["about"])
_METHODS = ("get", "post", "put", "delete")


@dataclass(frozen=True)
class Operation:
    """One thing that a program may ask for."""

    method: str
    path: str
    says: str
    answers: str  # the name of what it answers with; empty where that has none


@dataclass(frozen=True)
class Api:
    """All that a program may ask for, by topic."""

    version: str
    topics: dict[str, tuple[Operation, ...]]


@router.get("/api", response_model=Api)
def api(request: Request, person: Reader) -> Response:
    """All that a program may ask for; /openapi.json has it for machines."""
    del person
    told = request.app.openapi()
    topics: dict[str, list[Operation]] = {}
    for path, operations in told["paths"].items():
        for method in filter(operations.__contains__, _METHODS):
            one = operations[method]
            operation = Operation(method.upper(), path, one.get("description", one["summary"]), _answer(one))
            topics.setdefault(next(iter(one.get("tags", ())), ""), []).append(operation)
    view = Api(request.app.version, {topic: tuple(those) for topic, those in topics.items()})
    return show(request, "api.html", view)


def _answer(operation: dict[str, object]) -> str:
    answers = operation["responses"]
    schema = answers.get("200", {}).get("content", {}).get("application/json", {}).get("schema", {})  # type: ignore[attr-defined]
    return str(schema.get("$ref", "")).rpartition("/")[2]
