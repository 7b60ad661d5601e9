"""A task's end as it travels back: what it made, or the one line that says why it made nothing."""

import json
import warnings

from gamewarden import errors
from gamewarden.engine import named
from gamewarden.errors import EngineError, GamewardenError, Remark

_MADE, _FAILED = b"+", b"-"


def ended(entry: str, words: str) -> bytes:
    """Do a task where it is; an error of ours is its answer, any other is nobody's business but the engine's."""
    try:
        return _MADE + named(entry)(words)
    except GamewardenError as error:
        return _FAILED + json.dumps([type(error).__name__, str(error)]).encode()


def made(ending: bytes) -> bytes:
    """What a task made.

    Raises:
        GamewardenError: as it was raised where the task was done.
    """
    if ending.startswith(_MADE):
        return ending[len(_MADE) :]
    name, says = json.loads(ending[len(_FAILED) :])
    kind = getattr(errors, name, EngineError)
    raise kind(says) if isinstance(kind, type) and issubclass(kind, GamewardenError) else EngineError(says)


def remark_again(lines: list[str]) -> None:
    """Say here what was said where a task was done."""
    for line in lines:
        warnings.warn(line, Remark, stacklevel=2)
