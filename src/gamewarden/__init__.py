"""gamewarden finds game bots in online role-playing games, says why, and leaves the judgement to people.

The data's path:  readers -> features -> detectors -> verdicts

In a notebook: `import gamewarden as gw`, then `gw.read`, `gw.measure`, `gw.look`, `gw.fit`, `gw.score`, `gw.rank`,
`gw.explain` and `gw.evaluate`; see docs/api.md. They are imported when they are first asked for.
"""

TYPE_CHECKING = False  # to type checkers it is true; importing typing would cost more than all else here
if TYPE_CHECKING:
    from gamewarden.api import (
        Evaluation,
        Explanation,
        Fitted,
        Ranking,
        evaluate,
        explain,
        fit,
        look,
        measure,
        rank,
        read,
        score,
    )

__version__ = "0.1.0"
__all__ = [
    "Evaluation",
    "Explanation",
    "Fitted",
    "Ranking",
    "evaluate",
    "explain",
    "fit",
    "look",
    "measure",
    "rank",
    "read",
    "score",
]


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    found: object = getattr(import_module("gamewarden.api"), name)
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__} - {"TYPE_CHECKING"})
