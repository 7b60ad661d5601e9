"""Numbers as they stand in packets and files, byte by byte, for the parts of kernels."""

import numpy as np

from gamewarden.readers.kernels import Pointer, part


@part
def net16(data: Pointer, at: int) -> int:
    """Two bytes in the order of the network."""
    return np.int64(data[at]) << 8 | np.int64(data[at + 1])


@part
def net32(data: Pointer, at: int) -> int:
    """Four bytes in the order of the network."""
    return (
        np.int64(data[at]) << 24 | np.int64(data[at + 1]) << 16 | np.int64(data[at + 2]) << 8 | np.int64(data[at + 3])
    )


@part
def net64(data: Pointer, at: int) -> int:
    """Eight bytes in the order of the network."""
    return net32(data, at) << 32 | net32(data, at + 4)


@part
def u16(data: Pointer, at: int, big: bool) -> int:
    """Two bytes in the order of the machine that wrote them."""
    if big:
        return net16(data, at)
    return np.int64(data[at]) | np.int64(data[at + 1]) << 8


@part
def u32(data: Pointer, at: int, big: bool) -> int:
    """Four bytes in the order of the machine that wrote them."""
    if big:
        return net32(data, at)
    return (
        np.int64(data[at]) | np.int64(data[at + 1]) << 8 | np.int64(data[at + 2]) << 16 | np.int64(data[at + 3]) << 24
    )
