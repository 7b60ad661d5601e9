"""How this room compiles its loops: kernels that Python calls, and the parts they are made of.

A part is woven into each kernel that uses it, and gets pointers instead of arrays: a call would hand over a hundred
words, and every array counts references at every step, which was seen to take ten times as long as the work itself.
Pointers know no bounds, so a kernel's parts must; with NUMBA_DISABLE_JIT=1 all of it runs as plain Python, where
pointers are arrays again and a step out of bounds is an error.
"""

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, TypeAlias

import numba
from numba import njit, types
from numba.extending import intrinsic
from numba.np import arrayobj

Pointer: TypeAlias = Any  # to the elements of an array

_PACKAGE = "gamewarden"
_IMPORT = re.compile(rf"^(?:from|import) ({_PACKAGE}[\w.]*)(?: import (\([^)]*\)|[^\n]*))?", re.MULTILINE)


def kernel(function: Any) -> Any:  # noqa: ANN401 - numba's dispatchers have no types
    """Compile a function over arrays, once and for all: the next start finds it in numba's cache."""
    compiled = njit(cache=True, nogil=True, error_model="numpy")(function)
    # By itself the cache knows only the file the kernel stands in, and would keep parts that have changed in others.
    index = getattr(getattr(compiled, "_cache", None), "_cache_file", None)
    if hasattr(index, "_source_stamp"):
        vars(index)["_source_stamp"] = stamp_of(files_behind(Path(function.__code__.co_filename)))
    return compiled


def stamp_of(files: tuple[Path, ...]) -> tuple[tuple[float, int], ...]:
    """What changes when one of these files does."""
    stamps = [file.stat() for file in files]
    return tuple((stamp.st_mtime, stamp.st_size) for stamp in stamps)


@cache
def files_behind(file: Path) -> tuple[Path, ...]:
    """A file of the package and all that it imports from the package, directly or not, when it is imported."""
    found, waiting = {file}, [file]
    while waiting:
        further = set(_imported(waiting.pop())) - found
        found |= further
        waiting += further
    return tuple(sorted(found))


@cache
def _imported(file: Path) -> frozenset[Path]:
    root = next(parent for parent in file.parents if parent.name == _PACKAGE).parent
    modules = _module_names(file.read_text(encoding="utf-8"))
    candidates = (root.joinpath(*module.split(".")).with_suffix(".py") for module in modules)
    return frozenset(path for path in candidates if path.is_file())


def _module_names(text: str) -> Iterator[str]:
    """Names that may be modules: what is imported from, and what is imported from there."""
    for module, names in _IMPORT.findall(text):
        yield module
        for name in re.findall(r"(\w+)(?: as \w+)?", names):
            yield f"{module}.{name}"


def part(function: Any) -> Any:  # noqa: ANN401 - as above
    """Compile a part of kernels."""
    return njit(nogil=True, error_model="numpy", forceinline=True)(function)


def apart(function: Any) -> Any:  # noqa: ANN401 - as above
    """Compile a part that is called, not woven in: what is rarely needed must not make the common way longer."""
    return njit(nogil=True, error_model="numpy")(function)


def _pointer_to(_typing: Any, array: Any) -> Any:  # noqa: ANN401 - as above
    """Where an array's elements are; the array must outlive the kernel, as its arguments do."""

    def first_element(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:  # noqa: ANN401 - as above
        return arrayobj.make_array(signature.args[0])(context, builder, arguments[0]).data  # type: ignore[no-untyped-call]

    return types.CPointer(array.dtype)(array), first_element  # type: ignore[no-untyped-call]


def _elements(array: Any) -> Any:  # noqa: ANN401 - as above
    return array.reshape(-1)


pointer_to: Any = _elements if getattr(numba.config, "DISABLE_JIT", 0) else intrinsic(_pointer_to)
