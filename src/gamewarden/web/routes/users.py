"""The people of the desk, and tokens for programs."""

from dataclasses import dataclass
from typing import Annotated

from fastapi import APIRouter, Form, Request
from starlette.responses import Response

from gamewarden.desk.people import (
    ADMINISTER,
    RIGHTS,
    ROLES,
    Listed,
    add_user,
    change_role,
    disable,
    enable,
    new_password,
    people,
)
from gamewarden.desk.tokens import MadeToken, ShownToken, make_token, revoke_token, tokens_of
from gamewarden.errors import PeopleError
from gamewarden.web.asked import Administrator, DeskHere, Somebody
from gamewarden.web.showing import done, show

router = APIRouter(tags=["people"])
Field = Annotated[str, Form()]


@dataclass(frozen=True)
class Handed:
    """A password for one log in, in the one moment in which it can be read."""

    name: str
    password: str


@dataclass(frozen=True)
class PeopleView:
    """The people of the desk, and what each role may do."""

    people: tuple[Listed, ...]
    roles: dict[str, tuple[str, ...]]
    handed: Handed | None


@dataclass(frozen=True)
class TokensView:
    """Tokens of whoever asks; of everybody for who administers."""

    tokens: tuple[ShownToken, ...]
    rights: tuple[str, ...]
    made: MadeToken | None


@router.get("/users", response_model=PeopleView)
def all_people(request: Request, desk: DeskHere, person: Administrator) -> Response:
    """Everybody who may log in."""
    del person
    return _people(request, desk)


@router.post("/users", response_model=PeopleView)
def let_in(
    request: Request, desk: DeskHere, person: Administrator, name: Field = "", role: Field = "viewer"
) -> Response:
    """Let somebody in; the answer has their password for one log in."""
    password = add_user(desk.workspace.ledger, name, role, person.name, desk.now())
    return _people(request, desk, Handed(name.strip(), password))


@router.post("/users/{name}/role")
def give_role(request: Request, desk: DeskHere, person: Administrator, name: str, role: Field = "") -> Response:
    """Let somebody do more or less."""
    change_role(desk.workspace.ledger, name, role, person.name, desk.now())
    return done(request, "/users", f"{name} is {role} now.")


@router.post("/users/{name}/disable")
def shut_out(request: Request, desk: DeskHere, person: Administrator, name: str) -> Response:
    """Let somebody in no longer; their sessions and tokens end at once."""
    disable(desk.workspace.ledger, name, person.name, desk.now())
    return done(request, "/users", f"{name} is let in no longer.")


@router.post("/users/{name}/enable")
def let_in_again(request: Request, desk: DeskHere, person: Administrator, name: str) -> Response:
    """Let somebody in again."""
    enable(desk.workspace.ledger, name, person.name, desk.now())
    return done(request, "/users", f"{name} is let in again.")


@router.post("/users/{name}/password", response_model=PeopleView)
def hand_password(request: Request, desk: DeskHere, person: Administrator, name: str) -> Response:
    """Another password for one log in, for whoever forgot theirs."""
    return _people(request, desk, Handed(name, new_password(desk.workspace.ledger, name, person.name, desk.now())))


@router.get("/tokens", response_model=TokensView)
def tokens(request: Request, desk: DeskHere, person: Somebody) -> Response:
    """Tokens of whoever asks."""
    return _tokens(request, desk, person)


@router.post("/tokens", response_model=TokensView)
def new_token(
    request: Request,
    desk: DeskHere,
    person: Somebody,
    *,
    name: Field = "",
    scope: Annotated[list[str] | None, Form()] = None,
    days: Field = "",
) -> Response:
    """Make a token; the answer is the only one that has it."""
    if days and not (days.isascii() and days.isdecimal() and len(days) < 6):  # noqa: PLR2004  digits
        raise PeopleError(f"token: {days[:20]!r} is no number of days")
    made = make_token(
        desk.workspace.ledger, person.name, name, scope or [], desk.now(), days=int(days) if days else None
    )
    return _tokens(request, desk, person, made)


@router.post("/tokens/{number}/revoke")
def end_token(request: Request, desk: DeskHere, person: Somebody, number: str) -> Response:
    """Let a token open nothing any more."""
    revoke_token(desk.workspace.ledger, number, person, desk.now())
    return done(request, "/tokens", "The token opens nothing any more.")


def _people(request: Request, desk: DeskHere, handed: Handed | None = None) -> Response:
    roles = {role: tuple(right for right in RIGHTS if right in rights) for role, rights in ROLES.items()}
    return show(request, "users.html", PeopleView(people(desk.workspace.ledger), roles, handed))


def _tokens(request: Request, desk: DeskHere, person: Somebody, made: MadeToken | None = None) -> Response:
    owner = None if ADMINISTER in person.rights else person.name
    rights = tuple(right for right in RIGHTS if right in person.rights)
    return show(request, "tokens.html", TokensView(tokens_of(desk.workspace.ledger, owner, desk.now()), rights, made))
