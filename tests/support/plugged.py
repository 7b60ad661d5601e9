"""A package that offers a part to gamewarden, made up and put on the path as an installed one would be."""

from contextlib import contextmanager


@contextmanager
def offered(registry, name, code, place, monkeypatch):
    """`name` is a part of the room, an attribute `Part` of a module with this code; gone again afterwards."""
    module = f"made_up_{name.replace('-', '_')}"
    (place / f"{module}.py").write_text(code)
    meta = place / f"{module}-1.0.dist-info"
    meta.mkdir()
    (meta / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {module}\nVersion: 1.0\n")
    (meta / "entry_points.txt").write_text(f"[{registry.group}]\n{name} = {module}:Part\n")
    monkeypatch.syspath_prepend(place)
    _look_again(registry)
    try:
        yield
    finally:
        _look_again(registry)


def _look_again(registry):
    for known in ("_points", "_disputed", "_offered"):
        vars(registry).pop(known, None)
