"""Decision trees as plain arrays: what they say of a row, and which columns made them say it.

The decision of a row is the trees' expectation over the training rows plus a part for each column: the Shapley values
of what the trees are expected to say when only some columns are known (TreeSHAP, Lundberg et al. 2020). A question on
an unknown column is answered as by the training rows that came to it.
"""

import base64
import binascii
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Annotated, Any, Self

import numpy as np
from numpy.typing import NDArray

from gamewarden.errors import ModelError
from gamewarden.learning.calibration import Floats
from gamewarden.learning.validation import Rule

# What is kept of every node, and how it is written: little-endian, so that a file means the same everywhere.
_KEPT = {
    "column": "<i2",
    "threshold": "<f8",
    "left": "<i4",
    "right": "<i4",
    "missing_left": "<u1",
    "value": "<f8",
    "rows": "<i8",
}
LARGEST = 1e15  # no number that a tree asks about or answers is beyond


@dataclass(frozen=True, eq=False)
class Tree:
    """One tree; `left` and `right` are places within it, and 0 at a leaf.

    `value` is the decision at a leaf, `rows` how many training rows came to a node.
    """

    column: NDArray[np.int16]
    threshold: Floats
    left: NDArray[np.int32]
    right: NDArray[np.int32]
    missing_left: NDArray[np.bool_]
    value: Floats
    rows: NDArray[np.int64]


@dataclass(frozen=True)
class Forest:
    """Trees whose decisions are added, as one text a kind of number: nothing in it can run."""

    starts: tuple[int, ...]
    nodes: Annotated[Mapping[str, str], Rule(lambda v: v.keys() == _KEPT.keys(), "seven texts of nodes")]

    @classmethod
    def of(cls, trees: Sequence[Tree]) -> Self:
        """The trees one after the other."""
        sizes = [tree.value.size for tree in trees]
        starts = tuple(int(place) for place in np.cumsum([0, *sizes])[:-1]) if sizes else ()
        joined = {
            name: np.concatenate([getattr(tree, name) for tree in trees]) if trees else np.empty(0) for name in _KEPT
        }
        return cls(starts, {name: _written(joined[name], dtype) for name, dtype in _KEPT.items()})

    @cached_property
    def base(self) -> float:
        """The decision before any question: the trees' expectation over what they learned from."""
        leaf, rows = self._arrays["left"] == 0, self._arrays["rows"]
        borders = [*self.starts, self.size]
        parts = np.where(leaf, self._arrays["value"] * rows, 0.0)
        return float(sum(parts[start:end].sum() / rows[start] for start, end in pairwise(borders)))

    @property
    def size(self) -> int:
        """How many nodes all trees have."""
        return int(self._arrays["value"].size)

    def decide(self, rows: Floats) -> Floats:
        """What the trees say of each row, beyond `base`."""
        from gamewarden.detectors.account_table.forest_kernel import walk

        decisions = np.zeros(rows.shape[0])
        self._run(walk, rows, decisions)
        return decisions - self.base

    def parts(self, rows: Floats) -> Floats:
        """What each column adds to the decision of each row; with `base` they are the decision."""
        from gamewarden.detectors.account_table.forest_kernel import share_out

        parts = np.zeros(rows.shape)
        self._run(share_out, rows, parts, self._arrays["rows"], *self._parents)
        return parts

    def steps(self, rows: Floats) -> Floats:
        """What each question on a row's way changes in the expected decision, by column; quick, and not fair."""
        from gamewarden.detectors.account_table.forest_kernel import follow

        steps = np.zeros(rows.shape)
        self._run(follow, rows, steps, self._expected)
        return steps

    @cached_property
    def _expected(self) -> Floats:
        """The decision expected at each node, over the training rows that came to it."""
        from gamewarden.detectors.account_table.forest_kernel import expect

        expected = self._arrays["value"].copy()
        kernel: Any = expect
        kernel(*self._children, self._arrays["rows"], expected)
        return expected

    def _run(self, kernel: Any, rows: Floats, into: Floats, *more: NDArray[Any]) -> None:  # noqa: ANN401  numba's dispatcher does not show what it takes
        nodes = [self._arrays[name] for name in _KEPT if name != "rows"]
        kernel(np.ascontiguousarray(rows), self._starts, *nodes, into, *more)

    @cached_property
    def _parents(self) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """Where the parent of each node stands, -1 at a root, and whether the node is on its left."""
        parents, on_left = np.full(self.size, -1), np.zeros(self.size, dtype=np.bool_)
        inner, left, right = self._children
        parents[left] = parents[right] = inner
        on_left[left] = True
        return parents, on_left

    @cached_property
    def _children(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """The nodes that ask something, and where the two below each stand."""
        first = np.repeat(self._starts, np.diff([*self.starts, self.size]))
        inner = np.flatnonzero(self._arrays["left"])
        left, right = ((first + self._arrays[side])[inner] for side in ("left", "right"))
        return inner, left, right

    @cached_property
    def _starts(self) -> NDArray[np.int64]:
        return np.asarray(self.starts, dtype=np.int64)

    @cached_property
    def _arrays(self) -> dict[str, NDArray[Any]]:
        return {name: _read(self.nodes[name], dtype) for name, dtype in _KEPT.items()}

    def refuse_wild(self, columns: int) -> None:
        """Look at every node before it is believed.

        Raises:
            ModelError: a number is missing or not finite, or a node leads back or astray.
        """
        arrays = self._arrays
        count = arrays["value"].size
        if any(array.size != count for array in arrays.values()):
            raise ModelError("account-table: the trees' numbers are not equally many; fit it again")
        sizes = _sizes(self.starts, count)
        for name in ("threshold", "value"):
            if not (np.abs(arrays[name]) <= LARGEST).all():
                raise ModelError(f"account-table: a tree's {name} is not a finite number within ±{LARGEST:g}")
        own = np.concatenate([np.arange(size) for size in sizes]) if sizes else np.empty(0)
        room = np.repeat(sizes, sizes) if sizes else np.empty(0)
        inner = arrays["left"] != 0
        fits = (arrays["column"] >= 0) & (arrays["column"] < columns)
        for side in ("left", "right"):
            fits &= (arrays[side] > own) & (arrays[side] < room)
        if not fits[inner].all():
            raise ModelError(
                "account-table: a node of a tree leads back, out of its tree or to no column; fit it again"
            )
        self._refuse_lost_rows()

    def _refuse_lost_rows(self) -> None:
        rows = self._arrays["rows"]
        inner, left, right = self._children
        tree_like = np.unique([*left, *right]).size == 2 * inner.size == self.size - len(self.starts)
        counted = bool((rows >= 1).all() and (rows <= LARGEST).all())
        if not (tree_like and counted and (rows[inner] == rows[left] + rows[right]).all()):
            raise ModelError("account-table: a node's training rows are not those of the two below it; fit it again")


def _sizes(starts: Sequence[object], count: int) -> list[int]:
    """How many nodes each tree has."""
    whole = [start for start in starts if isinstance(start, int) and not isinstance(start, bool)]
    borders = [*whole, count]
    sizes = [after - before for before, after in pairwise(borders)]
    if len(whole) < len(starts) or (borders[0] if sizes else count) != 0 or any(size < 1 for size in sizes):
        raise ModelError("account-table: the trees' starts do not rise from 0 to the number of nodes; fit it again")
    return sizes


def _written(values: NDArray[Any], dtype: str) -> str:
    return base64.b64encode(values.astype(dtype).tobytes()).decode("ascii")


def _read(text: object, dtype: str) -> NDArray[Any]:
    try:
        if not isinstance(text, str):
            raise ModelError("account-table: a tree's numbers are no text; fit it again")
        return np.frombuffer(base64.b64decode(text, validate=True), dtype=dtype)
    except (binascii.Error, ValueError) as error:
        raise ModelError("account-table: a tree's numbers are not whole base64 of their kind; fit it again") from error
