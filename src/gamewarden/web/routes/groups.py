"""Groups of accounts that belong together."""

from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from gamewarden.desk.groups import Graph, GroupsView, GroupView, group, groups
from gamewarden.desk.people import DECIDE
from gamewarden.web.account_names import account_url
from gamewarden.web.asked import DeskHere, Reader
from gamewarden.web.showing import show

router = APIRouter(tags=["groups"])


@router.get("/groups", response_model=GroupsView)
def all_groups(
    request: Request,
    desk: DeskHere,
    person: Reader,
    kind: Annotated[str, Query(description="address, farm or trade; empty: all.", max_length=20)] = "",
    page: Annotated[int, Query(ge=1, le=1_000_000)] = 1,
) -> Response:
    """Accounts at one address, of one farm, or giving to one that gives nothing back."""
    return show(request, "groups.html", groups(desk, kind, page=page, whole_addresses=DECIDE in person.rights))


@router.get("/groups/{name}", response_model=GroupView)
def one_group(request: Request, desk: DeskHere, person: Reader, name: str) -> Response:
    """One group: each account with what speaks about it by itself."""
    may_decide = DECIDE in person.rights
    view = group(desk, name, whole_addresses=may_decide)
    return show(request, "group.html", view, may_decide=may_decide, graph=_drawn(view.graph))


def _drawn(graph: Graph) -> dict[str, list[dict[str, Any]]]:
    """A graph as static/graph.js draws it: what ties the accounts together in the middle."""
    places = {one.id: f"n{place}" for place, one in enumerate(graph.nodes)}
    nodes = [
        {
            "id": places[one.id],
            "label": one.label,
            "point": one.point,
            "depth": int(one.kind == "account"),
            "to": account_url(one.label) if one.kind in {"account", "hub"} else None,
        }
        for one in graph.nodes
    ]
    edges = [
        {
            "from": places[one.source],
            "to": places[one.target],
            "n": one.n,
            "amount": one.amount,
            "gives": one.kind == "gives",
        }
        for one in graph.edges
    ]
    return {"nodes": nodes, "edges": edges}
