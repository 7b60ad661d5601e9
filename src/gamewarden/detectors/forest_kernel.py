"""Walking rows down trees that stand in plain arrays; a tree's children always come after their parent."""

from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

from gamewarden.detectors.calibration import Floats


@numba.njit(cache=True, nogil=True, error_model="numpy")
def walk(
    rows: Floats,
    starts: NDArray[np.int64],
    column: NDArray[np.int16],
    threshold: Floats,
    left: NDArray[np.int32],
    right: NDArray[np.int32],
    missing_left: NDArray[np.uint8],
    value: Floats,
    parts: NDArray[Any],
) -> None:
    """Add to `parts` what each step down each tree changes in the expected decision, at the column that was asked.

    A row's own numbers are added in the same order whoever stands beside it.
    """
    for tree in range(starts.size):  # one tree at a time stays in the processor's cache
        start = starts[tree]
        for row in range(rows.shape[0]):
            node = start
            while left[node]:
                asked = column[node]
                number = rows[row, asked]
                goes_left = missing_left[node] != 0 if np.isnan(number) else number <= threshold[node]
                step = start + (left[node] if goes_left else right[node])
                parts[row, asked] += value[step] - value[node]
                node = step
