"""Compiled code that is kept from run to run is thrown away as soon as anything it was made from has changed."""

import importlib
import os
import pkgutil
from pathlib import Path

import pytest
from numba.core.dispatcher import Dispatcher

from gamewarden import readers
from gamewarden.core import kernels

ROOM = Path(readers.__file__).parent
MODULES = [
    module
    for found in pkgutil.walk_packages([str(ROOM)], "gamewarden.readers.")
    if (module := importlib.import_module(found.name))
    if any(isinstance(value, Dispatcher) and value.__module__ == module.__name__ for value in vars(module).values())
]
KEPT = [
    value
    for module in MODULES
    for value in vars(module).values()
    if isinstance(value, Dispatcher) and value.__module__ == module.__name__ and hasattr(value._cache, "_cache_file")
]


def used_by(dispatcher, known):
    """All functions a compiled one calls, itself among them, found by the names it uses."""
    if dispatcher in known:
        return known
    known.add(dispatcher)
    function = dispatcher.py_func
    for name in function.__code__.co_names:
        found = function.__globals__.get(name)
        names = function.__code__.co_names if hasattr(found, "__file__") else ()
        for value in (found, *(getattr(found, inside, None) for inside in names)):
            if isinstance(value, Dispatcher):
                used_by(value, known)
    return known


def files_of(dispatcher):
    return {Path(used.py_func.__code__.co_filename).name for used in used_by(dispatcher, set())}


@pytest.mark.parametrize("kernel", KEPT, ids=lambda kernel: kernel.__qualname__)
def test_a_kernel_knows_every_file_that_it_is_made_of(kernel):
    known = kernels.files_behind(Path(kernel.py_func.__code__.co_filename))

    assert files_of(kernel) <= {file.name for file in known}
    assert "kernels.py" in {file.name for file in known}


def test_kernels_are_found_in_every_module_that_has_some():
    with_kernels = {file.stem for file in ROOM.rglob("*.py") if "\n@kernel\n" in file.read_text()}

    assert {module.__name__.rsplit(".")[-1] for module in MODULES} >= with_kernels > {"tcp_streams"}
    assert len(KEPT) >= 12


@pytest.mark.parametrize("kernel", KEPT, ids=lambda kernel: kernel.__qualname__)
def test_what_is_kept_is_stamped_with_all_these_files(kernel):
    file = Path(kernel.py_func.__code__.co_filename)

    assert kernel._cache._cache_file._source_stamp == kernels.stamp_of(kernels.files_behind(file))


def test_a_stamp_changes_when_any_of_its_files_is_touched_or_grows(tmp_path):
    files = tuple(tmp_path / name for name in "abc")
    for file in files:
        file.write_text("x")
        os.utime(file, (1, 1))
    before = kernels.stamp_of(files)
    for file in files:
        os.utime(file, (2, 2))
        assert kernels.stamp_of(files) != before
        os.utime(file, (1, 1))
        assert kernels.stamp_of(files) == before
        file.write_text("xy")
        os.utime(file, (1, 1))
        assert kernels.stamp_of(files) != before
        file.write_text("x")
        os.utime(file, (1, 1))


def test_imports_are_followed_however_they_are_written(tmp_path):
    package = tmp_path / "gamewarden"
    package.mkdir()
    (package / "a.py").write_text("from gamewarden import (\n    b as other,\n    c,\n)\nimport numpy\n")
    (package / "b.py").write_text("from gamewarden.d import SOMETHING, more\n")
    (package / "c.py").write_text("import gamewarden.a\n\nif X:\n    from gamewarden.e import y\n")
    for name in "de":
        (package / f"{name}.py").write_text("")

    assert [file.name for file in kernels.files_behind(package / "a.py")] == ["a.py", "b.py", "c.py", "d.py"]
