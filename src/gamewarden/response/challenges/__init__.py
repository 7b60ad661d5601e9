"""Challenges: is somebody there? One kind a file, named in REGISTRY; what comes of one is evidence, never a verdict."""

from gamewarden.core.registry import Registry
from gamewarden.errors import ResponseError
from gamewarden.response.challenges.question import Kind

# A kind's name, and where it lives; it is imported when it is asked for.
REGISTRY = Registry(
    "gamewarden.challenges",
    "kind of challenge",
    {
        "image": "gamewarden.response.challenges.image:Letters",
        "arithmetic": "gamewarden.response.challenges.arithmetic:Arithmetic",
        "item": "gamewarden.response.challenges.item:Items",
        "task": "gamewarden.response.challenges.task:Tasks",
    },
    ResponseError,
)


def names() -> tuple[str, ...]:
    """Every kind, those of installed packages last."""
    return REGISTRY.names


def load(name: str) -> Kind:
    """A kind by its name.

    Raises:
        ResponseError: there is no such kind, or it cannot be loaded.
    """
    made: Kind = REGISTRY.load(name)()
    return made
