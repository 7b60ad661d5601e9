"""How work grows with its input, counted: calls, and the bytes that functions hand to each other; never the clock."""

import sys
from collections.abc import Callable, Sequence
from itertools import pairwise

_BYTES_A_STEP = 64
_MOST = 3.0  # twice the input makes twice the work, with room for what is done once; four times as much is quadratic


def work(call: Callable[[], object]) -> int:
    """Calls of Python and C functions, and one more for every few bytes that a function returns or yields.

    What zlib copies because it was given more than it needed counts as well. What happens inside a library's single
    call does not: where that can grow, limit a child's memory or processor time instead.
    """
    calls, copied = 0, 0

    def count(_: object, event: str, value: object) -> None:
        nonlocal calls, copied
        calls += event in ("call", "c_call")
        if event == "return":
            copied += _size(value)
        elif event == "c_return":
            copied += _left_over(getattr(value, "__self__", None))

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        call()
    finally:
        sys.setprofile(before)
    return calls + copied // _BYTES_A_STEP


def assert_linear(make_input: Callable[[int], object], call: Callable[[object], object], sizes: Sequence[int]) -> None:
    """Each of the sizes, every one twice the one before, makes less than three times the work of the one before."""
    made = [make_input(size) for size in sizes]
    call(made[-1])  # what is done once in a process is done before anything is counted
    spent = [work(lambda each=each: call(each)) for each in made]

    grown = [later / earlier for earlier, later in pairwise(spent)]
    assert max(grown) < _MOST, f"input {list(sizes)} takes work {spent}"


def _size(value: object) -> int:
    if isinstance(value, bytes | bytearray | str):
        return len(value)
    found = getattr(value, "nbytes", 0)
    return found if isinstance(found, int) else 0


def _left_over(unpacker: object) -> int:
    return len(getattr(unpacker, "unused_data", b"")) + len(getattr(unpacker, "unconsumed_tail", b""))
