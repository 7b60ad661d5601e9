"""Which parts a room has: its own, named in the code, and those that installed packages offer.

A package offers a part by an entry point of the room's group, such as `gamewarden.features`. Nothing is imported before
it is asked for. A package that is broken, or offers a name that is taken, is left out with a remark; only whoever asks
for that part by its name is refused.
"""

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from gamewarden.errors import GamewardenError, Remark, short

OURSELVES = "gamewarden"


def package_of(part: type, group: str) -> str | None:
    """The installed package that offers a class as a part; none where it is gamewarden's own, or nobody offers it."""
    place = f"{part.__module__}:{part.__qualname__}"
    return next((point.dist.name for point in entry_points(group=group, value=place) if point.dist is not None), None)


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
            return self._loaded(self._offered[name])
        if name in self._disputed:
            raise self.error(self._disputed[name])
        raise self.error(f"{self.what} {name!r} is unknown; choose one of: {', '.join(self.names)}")

    @property
    def usable(self) -> tuple[str, ...]:
        """All parts but those of installed packages that cannot be loaded, each of which is a remark."""
        return (*self.own, *(name for name in self._offered if self._loads(name)))

    def origin(self, name: str) -> str:
        """Who offers a part: gamewarden itself, or a package and its version."""
        point = self._offered.get(name)
        return OURSELVES if point is None else _package(point)

    def dispute(self, name: str) -> str | None:
        """Who else wants the name of a part, so that it cannot be used; nothing where nobody does."""
        return None if name in self.own else self._disputed.get(name)

    def credit(self, name: str) -> str:
        """The part's name, with who offers it where that is an installed package."""
        return f"{name} (of {self.origin(name)})" if name in self._offered else name

    def _loads(self, name: str) -> bool:
        try:
            self.load(name)
        except self.error as error:
            warnings.warn(str(error), Remark, stacklevel=2)
            return False
        return True

    def _loaded(self, point: EntryPoint) -> Any:  # noqa: ANN401  as in `load`
        try:
            return point.load()
        except (Exception, SystemExit) as error:  # a stranger's module may raise anything while it is imported
            raise self.error(
                f"{self.what} {short(point.name)} of {_package(point)} cannot be loaded "
                f"({type(error).__name__}: {short(str(error))}); repair or uninstall that package"
            ) from error

    @cached_property
    def _offered(self) -> dict[str, EntryPoint]:
        """The plug-ins by name; a name that is taken already is said once, and left out."""
        for line in self._disputed.values():
            warnings.warn(line, Remark, stacklevel=2)
        return {
            name: points[0]
            for name, points in self._points.items()
            if name not in self.own and name not in self._disputed
        }

    @cached_property
    def _disputed(self) -> dict[str, str]:
        """The names that are taken, each with who wants them."""
        told: dict[str, str] = {}
        for name, points in self._points.items():
            packages = " and ".join(dict.fromkeys(map(_package, points)))
            if name in self.own:
                told[name] = (
                    f"{packages} offers the {self.what} {short(name)}, which is gamewarden's own and stays so; "
                    "uninstall that package, or give its part another name"
                )
            elif len({point.value for point in points}) > 1:  # one package may be on the path twice
                told[name] = f"{packages} both offer the {self.what} {short(name)}; uninstall one of them"
        return told

    @cached_property
    def _points(self) -> dict[str, list[EntryPoint]]:
        """All that installed packages offer by name, sorted."""
        found: dict[str, list[EntryPoint]] = {}
        for point in sorted(entry_points(group=self.group), key=lambda point: (point.name, point.value)):
            found.setdefault(point.name, []).append(point)
        return found


def _package(point: EntryPoint) -> str:
    """A package and its version, or where its part is where nobody says that."""
    return point.value if point.dist is None else f"{point.dist.name} {point.dist.version}"
