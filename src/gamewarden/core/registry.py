"""Which parts a room has: its own, named in the code, and those that installed packages offer.

A package offers a part by an entry point of the room's group, such as `gamewarden.features`. Nothing is imported before
it is asked for, a room's own name cannot be taken, and a plug-in that cannot be loaded is refused by name.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from gamewarden.errors import GamewardenError


@dataclass(frozen=True)
class Registry:
    """The parts of one room by name, its own first, in their order."""

    group: str  # of the entry points
    what: str  # a part is called in an error
    own: Mapping[str, str]  # name -> module:attribute
    error: type[GamewardenError]

    @property
    def names(self) -> tuple[str, ...]:
        """All parts."""
        return (*self.own, *self._offered)

    def load(self, name: str) -> Any:  # noqa: ANN401  the room says what its parts are
        """The part of this name, imported now.

        Raises:
            GamewardenError: there is none, or it cannot be loaded.
        """
        if name in self.own:
            module, _, attribute = self.own[name].partition(":")
            return getattr(import_module(module), attribute)
        if name in self._offered:
            return self._loaded(name, self._offered[name].load)
        raise self.error(f"{self.what} {name!r} is unknown; choose one of: {', '.join(self.names)}")

    def origin(self, name: str) -> str:
        """Who offers a part: gamewarden itself, or a package and its version."""
        point = self._offered.get(name)
        return "gamewarden" if point is None or point.dist is None else f"{point.dist.name} {point.dist.version}"

    def _loaded(self, name: str, load: Callable[[], Any]) -> Any:  # noqa: ANN401  as in `load`
        try:
            return load()
        except Exception as error:  # a stranger's module may raise anything while it is imported
            raise self.error(
                f"{self.what} {name!r} of {self.origin(name)} cannot be loaded ({type(error).__name__}: {error}); "
                "repair or uninstall that package"
            ) from error

    @cached_property
    def _offered(self) -> dict[str, EntryPoint]:
        """The plug-ins by name."""
        found: dict[str, EntryPoint] = {}
        for point in sorted(entry_points(group=self.group), key=lambda point: point.name):
            if point.name in self.own:
                raise self.error(
                    f"{point.value} offers the {self.what} {point.name!r}, which is gamewarden's own; "
                    "uninstall that package, or give its part another name"
                )
            other = found.setdefault(point.name, point)
            if other.value != point.value:  # one package may be on the path twice
                raise self.error(
                    f"{other.value} and {point.value} both offer the {self.what} {point.name!r}; uninstall one of them"
                )
        return found
