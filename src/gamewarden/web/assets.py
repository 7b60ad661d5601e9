"""What browsers fetch beside pages: our scripts and styles and the libraries kept with them, each under its digest."""

import hashlib
from collections.abc import MutableMapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from starlette.responses import Response
from starlette.staticfiles import StaticFiles

STATIC = Path(__file__).parent / "static"
_FOR_EVER = "public, max-age=31536000, immutable"


@lru_cache
def digest_of_assets() -> str:
    """What names all files together: a changed one changes the address of each, so that browsers may keep them."""
    found = hashlib.sha256()
    for path in sorted(STATIC.rglob("*")):
        if path.is_file():
            found.update(path.relative_to(STATIC).as_posix().encode() + b"\0" + path.read_bytes())
    return found.hexdigest()[:12]


def asset(name: str) -> str:
    """The address of a file."""
    return f"/static/{digest_of_assets()}/{name}"


class Assets(StaticFiles):
    """The files, to be kept by browsers for ever."""

    def __init__(self) -> None:
        super().__init__(directory=STATIC)

    async def get_response(self, path: str, scope: MutableMapping[str, Any]) -> Response:
        """A file, or that there is none."""
        found = await super().get_response(path, scope)
        found.headers["Cache-Control"] = _FOR_EVER
        return found
