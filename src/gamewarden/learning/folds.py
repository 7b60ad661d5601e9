"""Folds that never split a group: who belongs together is held out together."""

import hashlib
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

Rows = NDArray[np.int64]


def assign_folds(groups: NDArray[np.str_], bot: NDArray[np.bool_], folds: int, seed: int) -> Rows:
    """The fold of each row: whole groups assigned so that bots and humans spread evenly over the folds.

    The folds depend on the groups' names, classes and sizes and on the seed, never on the order of the rows. Two groups
    of each class stand in two folds whatever comes, so that every fold leaves both classes to learn from.
    """
    # A recipe asks for the same folds again for every strength it tries.
    return _assigned(groups.tobytes(), groups.dtype.str, bot.tobytes(), folds, seed).copy()


@lru_cache(maxsize=4)
def _assigned(group_bytes: bytes, group_type: str, bot_bytes: bytes, folds: int, seed: int) -> Rows:
    groups, bot = np.frombuffer(group_bytes, group_type), np.frombuffer(bot_bytes, np.bool_)
    names, of_row = np.unique(groups, return_inverse=True)
    sizes = np.stack([np.bincount(of_row, weights=side, minlength=names.size) for side in (bot, ~bot)]).astype(
        np.float64
    )
    shares = sizes / np.maximum(sizes.sum(axis=1, keepdims=True), 1)
    order = sorted(range(names.size), key=lambda g: (*-sizes[:, g], _shuffled(str(names[g]), seed)))
    fold_of = _seat_pairs(order, sizes)
    held = np.zeros((2, folds))
    for group, fold in fold_of.items():
        held[:, fold] += shares[:, group]
    for group in order:
        if group not in fold_of:
            crowding = ((held + shares[:, [group]]) ** 2 - held**2).sum(axis=0)
            fold_of[group] = fold = int(crowding.argmin())
            held[:, fold] += shares[:, group]
    return np.array([fold_of[group] for group in range(names.size)], dtype=np.int64)[of_row]


def _seat_pairs(order: list[int], sizes: NDArray[np.float64]) -> dict[int, int]:
    """Two groups with bots in the folds 0 and 1, and so two groups with humans."""
    seats: dict[int, int] = {}
    for size in sizes:
        pair = [group for group in order if size[group]][:2]
        free = sorted({0, 1} - {seats[group] for group in pair if group in seats})
        seats |= dict(zip((group for group in pair if group not in seats), free, strict=False))
    return seats


def max_folds(groups: NDArray[np.str_], bot: NDArray[np.bool_], folds: int) -> int:
    """At most `folds`, and no more than there are groups with a bot or groups with a human."""
    return min(folds, np.unique(groups[bot]).size, np.unique(groups[~bot]).size)


def _shuffled(name: str, seed: int) -> bytes:
    return hashlib.sha256(f"{seed}:{name}".encode()).digest()
