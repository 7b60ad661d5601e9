"""What is kept behind a frame that was given away, so that it can be freed."""

from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_KEPT: "WeakKeyDictionary[DataFrame, DataFrame]" = WeakKeyDictionary()


def keep(found: "DataFrame", behind: "DataFrame") -> "DataFrame":
    """The frame, of which is known what is kept behind it."""
    _KEPT[found] = behind
    return found


def release(found: "DataFrame") -> None:
    """Free what is kept behind a frame, if anything is."""
    behind = _KEPT.pop(found, None)
    if behind is not None:
        behind.unpersist()
