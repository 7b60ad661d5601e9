"""How this room compiles its loops: kernels that Python calls, and the parts they are made of.

A part is woven into each kernel that uses it, and gets pointers instead of arrays: a call would hand over a hundred
words, and every array counts references at every step, which was seen to take ten times as long as the work itself.
Pointers know no bounds, so a kernel's parts must; with NUMBA_DISABLE_JIT=1 all of it runs as plain Python, where
pointers are arrays again and a step out of bounds is an error.
"""

from typing import Any, TypeAlias

import numba
from numba import njit, types
from numba.extending import intrinsic
from numba.np import arrayobj

from gamewarden.core.kernels import kernel

__all__ = ["Pointer", "apart", "kernel", "part", "pointer_to"]

Pointer: TypeAlias = Any  # to the elements of an array


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
