"""What the first visitor would wait for is found before they come."""

from contextlib import suppress
from threading import Thread

from gamewarden.desk.conditions import Conditions
from gamewarden.desk.desk import Desk
from gamewarden.desk.overview import overview
from gamewarden.desk.review import queue
from gamewarden.desk.search import accounts
from gamewarden.errors import GamewardenError


def warm(desk: Desk) -> Thread:
    """Find what the list, the front page and the review need, beside whatever else goes on."""
    working = Thread(target=_find, args=(desk,), name="warming", daemon=True)
    working.start()
    return working


def _find(desk: Desk) -> None:
    with suppress(GamewardenError):  # whoever asks is told
        overview(desk, Conditions().span)
        accounts(desk, Conditions())
        queue(desk, "")  # which also finds the groups
