"""Where work is done: in processes of this machine, or on a cluster. It defines no feature and no number.

A task is a text, and what is to be done with it is the name of a function that turns it into bytes. So nothing of ours
is pickled, a task can be done again wherever it was lost, and every engine is one small file.
"""

from collections.abc import Iterator, Sequence
from importlib import import_module
from typing import Protocol

from gamewarden.errors import ConfigError

LOCAL, DASK = "local:", "dask://"
FORMS = "local:8, spark://host:7077, local-cluster[2,1,1024], yarn, k8s://… or dask://host:8786"
_SPARK = ("spark://", "local-cluster[", "local[", "k8s://", "yarn", "sc://")


class Engine(Protocol):
    """Whoever does tasks."""

    @property
    def name(self) -> str:
        """What to call it in a message."""

    @property
    def slots(self) -> int:
        """How many tasks it does at a time, as far as it knows."""

    def run(self, entry: str, tasks: Sequence[str]) -> Iterator[tuple[int, bytes]]:
        """What `entry`, the name of a function as `module:function`, makes of each task, in whatever order they end.

        Raises:
            GamewardenError: a task says so.
            EngineError: a task was lost again and again.
        """

    def close(self) -> None:
        """Let go of what was started for it."""


def open(where: str) -> Engine:  # noqa: A001  engine.open is what it does
    """The engine that a text names.

    Raises:
        ConfigError: it names none.
        InstallError: the library that speaks to it is not installed.
        EngineError: it does not answer.
    """
    if where.startswith(LOCAL):
        from gamewarden.engine.local import LocalEngine

        return LocalEngine(_number(where))
    if where.startswith(DASK):
        from gamewarden.engine.dask import DaskEngine

        return DaskEngine(where.removeprefix(DASK))
    if where.startswith(_SPARK):
        from gamewarden.engine.spark import SparkEngine

        return SparkEngine(where)
    raise ConfigError(f"--on {where}: names no place to work; write for example {FORMS}")


def _number(where: str) -> int:
    text = where.removeprefix(LOCAL)
    if not text.isdecimal() or not 1 <= int(text) <= 1024:  # noqa: PLR2004  no machine has more
        raise ConfigError(f"--on {where}: how many processes is that? write for example local:8")
    return int(text)


def named(entry: str) -> "Done":
    """The function that an entry names."""
    module, _, function = entry.partition(":")
    found: Done = getattr(import_module(module), function)
    return found


class Done(Protocol):
    """What does a task: words in, bytes out."""

    def __call__(self, words: str, /) -> bytes:
        """Do it."""
