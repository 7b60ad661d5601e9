"""The package in tests/plugin as if it were installed: its entry points, for as long as a test needs them."""

import sys
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import EntryPoint

from gamewarden import detectors, features, readers
from paths import TESTS

PLUGIN = TESTS / "plugin"
SOURCE = PLUGIN / "src"


def entry_points() -> dict[str, dict[str, EntryPoint]]:
    """What its pyproject.toml offers, by group and name."""
    groups = tomllib.loads((PLUGIN / "pyproject.toml").read_text())["project"]["entry-points"]
    return {
        group: {name: EntryPoint(name, where, group) for name, where in parts.items()}
        for group, parts in groups.items()
    }


@contextmanager
def installed() -> Iterator[None]:
    """All registries know it inside."""
    sys.path.insert(0, str(SOURCE))
    registries = (features.REGISTRY, detectors.REGISTRY, readers.REGISTRY)
    before = [dict(registry._offered) for registry in registries]
    for registry in registries:
        registry._offered.update(entry_points()[registry.group])
    try:
        yield
    finally:
        sys.path.remove(str(SOURCE))
        for registry, offered in zip(registries, before, strict=True):
            registry._offered.clear()
            registry._offered.update(offered)
