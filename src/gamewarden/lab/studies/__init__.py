"""The papers' experiments on the synthetic world: one file a paper; `gamewarden reproduce` runs it."""

from importlib import import_module
from typing import Any, NamedTuple

from gamewarden.errors import ConfigError

STUDIES: tuple[tuple[str, str], ...] = (
    ("lee", "gamewarden.lab.studies.lee"),
    ("hilaire", "gamewarden.lab.studies.hilaire"),
    ("thawonmas", "gamewarden.lab.studies.thawonmas"),
    ("maintenance", "gamewarden.lab.studies.maintenance"),
    ("cornelissen", "gamewarden.lab.studies.cornelissen"),
    ("together", "gamewarden.lab.studies.together"),
    ("defence", "gamewarden.lab.studies.defence"),
    ("farms", "gamewarden.lab.studies.farms"),
    ("cold-start", "gamewarden.lab.studies.cold_start"),
)
NAMES = tuple(name for name, _ in STUDIES)


class Number(NamedTuple):
    """A number a study can be given at the command line."""

    name: str
    least: int
    default: int
    says: str


def load(name: str) -> Any:  # noqa: ANN401  a module with NUMBERS, steps, run and draw
    """The module of a study by its name.

    Raises:
        ConfigError: there is no such study.
    """
    for known, module in STUDIES:
        if known == name:
            return import_module(module)
    raise ConfigError(f"study {name!r} is unknown; choose one of {', '.join(NAMES)}")
