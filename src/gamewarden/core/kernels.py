"""How loops are compiled: once for a computer, kept where nobody else can write, and announced, since it takes time."""

import logging
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from pickle import UnpicklingError
from typing import Any

from llvmlite import ir  # type: ignore[import-untyped]  # numba's own, which has no types
from numba import config, njit, types
from numba.core import cgutils
from numba.core.caching import (
    CompileResultCacheImpl,
    FunctionCache,
    IndexDataCacheFile,
    _CacheLocator,
    _SourceFileBackedLocatorMixin,
)
from numba.extending import intrinsic
from numba.np import arrayobj

from gamewarden.core.caches import Places, places_of

_PACKAGE = "gamewarden"
_IMPORT = re.compile(rf"^(?:from|import) ({_PACKAGE}[\w.]*)(?: import (\([^)]*\)|[^\n]*))?", re.MULTILINE)
_log = logging.getLogger("gamewarden")
OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy"}
# What reading a file of compiled code may end in, when a crash or a full disk left half of it.
_DAMAGE = (OSError, EOFError, UnpicklingError, ValueError, TypeError, KeyError, IndexError, AttributeError, ImportError)


class Compiled:
    """What was compiled since the start, and what was found compiled already."""

    def __init__(self) -> None:
        self.declared = 0  # functions
        self.made: list[str] = []  # functions that were compiled, once for each type of arguments
        self.kept: set[Path] = set()  # where

    def about_to_make(self, name: str, places: Places) -> None:
        """Say so before the first one: from here on nothing is seen for a while."""
        if not self.made:
            _log.warning(_announcement(places))
        self.made.append(name)


SO_FAR = Compiled()


def kernel(function: Any = None, /, **options: Any) -> Any:  # noqa: ANN401 - numba's dispatchers have no types
    """Compile a function over arrays, once and for all: the next start finds it compiled."""
    if function is None:
        return lambda one: kernel(one, **options)
    return kept(njit(**{**OPTIONS, **options})(function))


def _prefetch(_typing: Any, array: Any, _place: Any) -> Any:  # noqa: ANN401 - numba's values have no types
    """Ask for an element that will be changed soon, and do not wait for it; nothing else happens."""

    def ask(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:  # noqa: ANN401 - as above
        elements = arrayobj.make_array(signature.args[0])(context, builder, arguments[0])
        size = context.get_abi_sizeof(context.get_data_type(signature.args[0].dtype))
        byte, word, whole = ir.IntType(8).as_pointer(), ir.IntType(32), ir.IntType(64)
        first = builder.ptrtoint(elements.data, whole)
        place = builder.inttoptr(builder.add(first, builder.mul(arguments[1], ir.Constant(whole, size))), byte)
        kind = ir.FunctionType(ir.VoidType(), [byte, word, word, word])
        function = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")
        # To write, to stay near, and data: as __builtin_prefetch(place, 1) does in C.
        builder.call(function, [place, *(ir.Constant(word, value) for value in (1, 3, 1))])
        return context.get_dummy_value()

    return types.void(array, types.uint64), ask


def _look(_array: Any, _place: Any) -> None:  # noqa: ANN401 - as above
    """Plain Python waits for everything."""


prefetch: Any = _look if getattr(config, "DISABLE_JIT", 0) else intrinsic(_prefetch)


def kept(dispatcher: Any) -> Any:  # noqa: ANN401 - as above
    """The same function, kept once it is compiled; a plain function (NUMBA_DISABLE_JIT) stays as it is."""
    if hasattr(dispatcher, "py_func"):
        SO_FAR.declared += 1
        dispatcher._cache = _Kept(dispatcher.py_func)  # noqa: SLF001  numba's own decorator sets it by a method
        # By itself the cache knows only the file a kernel stands in, and would keep parts that have changed in others.
        behind = files_behind(Path(dispatcher.py_func.__code__.co_filename))
        dispatcher._cache._cache_file._source_stamp = stamp_of(behind)  # noqa: SLF001  nor does it ask for another
    return dispatcher


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
    root = next((parent.parent for parent in file.parents if parent.name == _PACKAGE), file.parent)
    modules = _module_names(file.read_text(encoding="utf-8"))
    candidates = (root.joinpath(*module.split(".")).with_suffix(".py") for module in modules)
    return frozenset(path for path in candidates if path.is_file())


def _module_names(text: str) -> Iterator[str]:
    """Names that may be modules: what is imported from, and what is imported from there."""
    for module, names in _IMPORT.findall(text):
        yield module
        for name in re.findall(r"(\w+)(?: as \w+)?", names):
            yield f"{module}.{name}"


class _Locator(_SourceFileBackedLocatorMixin, _CacheLocator):
    """Names the place that `caches` chose; numba's own would refuse one that it can read and not write."""

    def __init__(self, function: Any, file: str) -> None:  # noqa: ANN401 - as above
        self._py_file = file
        self._lineno = function.__code__.co_firstlineno
        self.places = places_of(Path(file), getattr(config, "CACHE_DIR", ""))

    @classmethod
    def from_function(cls, function: Any, file: str) -> "_Locator":  # noqa: ANN401 - as above
        """For any function of ours."""
        return cls(function, file)

    def get_cache_path(self) -> str:
        """Where it is kept."""
        return str(self.places.kept or self.places.found[0])


class _Naming(CompileResultCacheImpl):
    _locator_classes = [_Locator]  # noqa: RUF012  numba declares it so


class _Kept(FunctionCache):
    """Looks into every place, keeps in one, and takes damage for absence."""

    _impl_class = _Naming

    def _load_overload(self, signature: Any, target: Any) -> Any:  # noqa: ANN401 - as above
        key = self._index_key(signature, target.codegen())
        for place in self._places.found:
            try:
                data = self._file_in(place).load(key)
                found = None if data is None else self._impl.rebuild(target, data)
            except _DAMAGE:
                continue
            if found is not None:
                SO_FAR.kept.add(place)
                return found
        SO_FAR.about_to_make(self._impl.filename_base, self._places)
        return None

    def _save_overload(self, signature: Any, data: Any) -> None:  # noqa: ANN401 - as above
        if self._places.kept is None:
            return
        try:
            self._places.kept.mkdir(parents=True, exist_ok=True)
            super()._save_overload(signature, data)
            SO_FAR.kept.add(self._places.kept)
        except OSError as error:
            _log.warning("%s: what was compiled cannot be kept (%s)", self._places.kept, error.strerror or error)
        except _DAMAGE:
            self._cache_file.flush()
            super()._save_overload(signature, data)

    @property
    def _places(self) -> Places:
        locator = self._impl.locator  # another one where NUMBA_CACHE_LOCATOR_CLASSES names it
        return getattr(locator, "places", None) or Places(Path(self._cache_path), (Path(self._cache_path),), False)

    def _file_in(self, place: Path) -> Any:  # noqa: ANN401 - as above
        stamp = self._cache_file._source_stamp  # noqa: SLF001  what makes it stale is the same in every place
        return IndexDataCacheFile(str(place), self._impl.filename_base, stamp)


def _announcement(places: Places) -> str:
    if places.kept is None:
        return (
            "Compiling, about half a minute; no directory can be written to keep it in, so every start does: "
            "set NUMBA_CACHE_DIR to one"
        )
    where = f"; the installation cannot be written, so it is kept in {places.kept.parent}" if places.private else ""
    return f"Compiling once, about half a minute{where}"
