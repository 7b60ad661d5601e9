"""The list of accounts: searched, saved under names, and taken along."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Annotated, Any

from fastapi import APIRouter, Form, Query, Request
from starlette.responses import Response

from gamewarden.desk.conditions import CHOICES, FLAGS, KIND, LONGEST, PAGE_SIZES, RANGES, TEXT, Conditions
from gamewarden.desk.desk import Desk
from gamewarden.desk.people import ADMINISTER
from gamewarden.desk.search import PUBLISHED, AccountsView, Facet, accounts, exported, facet
from gamewarden.desk.views import View, remove_view, save_view, saved_views
from gamewarden.web.asked import DeskHere, Reader
from gamewarden.web.drawing import bars_path, days_path
from gamewarden.web.list_words import ListWords
from gamewarden.web.showing import done, download, language_of, show, wanted

router = APIRouter(tags=["accounts"])


def _parameters() -> Iterator[dict[str, Any]]:
    """The conditions as OpenAPI tells programs of them."""
    text: dict[str, Any] = {"type": "string", "maxLength": LONGEST}
    several = {"type": "array", "items": text}
    told: list[tuple[str, dict[str, Any], str]] = [
        (TEXT, text, "A part of an account's id, its name or its main character's."),
        ("days", {"type": "string", "maxLength": 4}, "The newest so many days, or `all`; 30 where nothing is said."),
        *((name, {"type": "string", "format": "date"}, "A date, included.") for name in ("since", "until")),
        *((f"{name}_from", {"type": "number"}, f"The least {column}.") for name, column in RANGES.items()),
        *((f"{name}_to", {"type": "number"}, f"The most {column}.") for name, column in RANGES.items()),
        *((name, several, "One of these; an empty one: not known.") for name in CHOICES),
        (KIND, several, "Has events of all these kinds."),
        *((name, {"type": "string", "enum": ["yes", "no"]}, "Only those.") for name in FLAGS),
        ("sort", text, "The column to sort by; nulls come last."),
        ("order", {"type": "string", "enum": ["falling", "rising"]}, "Which way."),
        ("size", {"type": "integer", "enum": list(PAGE_SIZES)}, "Rows of a page."),
        ("after", {"type": "string"}, "Where a page begins, as `next` of the one before says."),
        ("before", {"type": "string"}, "Where a page ends, as `previous` of the one after says."),
        ("columns", several, "The columns to show."),
    ]
    for name, schema, says in told:
        yield {"name": name, "in": "query", "required": False, "schema": schema, "description": says}


ASKED: dict[str, Any] = {"parameters": list(_parameters())}


@router.get("/accounts", response_model=AccountsView, openapi_extra=ASKED)
def accounts_page(request: Request, desk: DeskHere, person: Reader) -> Response:
    """The accounts that meet all conditions, a page of them; with how many there would be under others."""
    asked = Conditions.of_query(request.url.query)
    if wanted(request) == "csv":
        return _exported(desk, asked, "csv")
    return show(
        request,
        "accounts.html",
        accounts(desk, asked),
        asked=asked,
        published=replace(asked.first_page(), columns=PUBLISHED).url(),
        days_path=days_path,
        bars_path=bars_path,
        views=saved_views(desk, person.name),
        words=ListWords(language_of(request)),
    )


@router.get("/accounts.csv", openapi_extra=ASKED)
def accounts_as_csv(request: Request, desk: DeskHere, person: Reader) -> Response:
    """All accounts that meet the conditions, in their order, as CSV; no cell is a formula."""
    del person
    return _exported(desk, Conditions.of_query(request.url.query), "csv")


@router.get("/accounts.json", openapi_extra=ASKED)
def accounts_as_json(request: Request, desk: DeskHere, person: Reader) -> Response:
    """All accounts that meet the conditions, in their order, as a JSON array."""
    del person
    return _exported(desk, Conditions.of_query(request.url.query), "json")


@router.get("/facets", response_model=Facet, openapi_extra=ASKED)
def values_of_condition(
    request: Request,
    desk: DeskHere,
    person: Reader,
    name: Annotated[str, Query(alias="facet", description="The condition.", max_length=LONGEST)],
    find: Annotated[str, Query(description="A part of the values looked for.", max_length=LONGEST)] = "",
) -> Response:
    """The values of one condition, with how many accounts have each under all other conditions."""
    del person
    asked = Conditions.of_query(request.url.query)
    words = ListWords(language_of(request))
    return show(request, "accounts_facet.html", facet(desk, asked, name, find), words=words)


@dataclass(frozen=True)
class Views:
    """Searches under names."""

    views: tuple[View, ...]


@router.get("/views", response_model=Views)
def all_views(request: Request, desk: DeskHere, person: Reader) -> Response:
    """Searches under a name: one's own, and those that others share."""
    return show(request, "views.html", Views(saved_views(desk, person.name)))


@router.post("/views")
def keep_view(
    request: Request,
    desk: DeskHere,
    person: Reader,
    *,
    name: Annotated[str, Form(max_length=200)] = "",
    query: Annotated[str, Form(max_length=16_000)] = "",
    shared: Annotated[str, Form(max_length=5)] = "",
) -> Response:
    """Keep a search under a name, for oneself or for all."""
    made = save_view(desk, name, query, shared=shared == "yes", by=person.name)
    return done(request, made.url, f"The view {made.name} is kept.")


@router.post("/views/{number}/delete")
def delete_view(request: Request, desk: DeskHere, person: Reader, number: str) -> Response:
    """Keep a search no longer."""
    remove_view(desk, number, by=person.name, anybodys=ADMINISTER in person.rights)
    return done(request, "/accounts", "The view is removed.")


def _exported(desk: Desk, asked: Conditions, form: str) -> Response:
    kind = "text/csv; charset=utf-8" if form == "csv" else "application/json"
    return download(exported(desk, asked, form), f"accounts.{form}", kind)
