"""The two classifiers of Cornelissen over a session's numbers, as plain numbers: a small network, and neighbours."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from gamewarden.detectors.session.vectors import Column, inputs
from gamewarden.learning.calibration import Floats, sigmoid

ANGLE, Z_ANGLE, EUCLID, MAHALANOBIS = "published", "cosine", "euclid", "mahalanobis"
FORMS = (ANGLE, Z_ANGLE, EUCLID, MAHALANOBIS)
ANGLES = (ANGLE, Z_ANGLE)

Row = tuple[float, ...]


class Machine(Protocol):
    """Whatever turns the numbers of sessions into decisions: positive is a bot's."""

    @property
    def columns(self) -> tuple[Column, ...]:
        """The numbers it looks at."""

    def decide(self, values: Floats) -> Floats:
        """A decision a row, the same for one row as among a million."""


@dataclass(frozen=True)
class Network:
    """Inputs, one layer of logistic units, one logistic output; the bias stands last in each row of weights."""

    columns: tuple[Column, ...]
    hidden: tuple[Row, ...]
    output: Row

    def decide(self, values: Floats) -> Floats:
        """What the output unit hears: its log-odds. Added in a fixed order, so that crowds change nothing."""
        shown = inputs(self.columns, values)
        total = np.full(len(values), self.output[-1])
        for unit, weights in zip(self.output, self.hidden, strict=False):
            heard = np.full(len(values), weights[-1])
            for place in range(shown.shape[1]):
                heard = heard + weights[place] * shown[:, place]
            total = total + unit * sigmoid(heard)
        return total

    def activation(self, values: Floats) -> Floats:
        """The output of the network from 0 (player) to 1 (bot), as the thesis prints it."""
        return sigmoid(self.decide(values))


@dataclass(frozen=True)
class Neighbours:
    """Known sessions, and whose side an unknown one is nearer to.

    With k neighbours the majority of the k nearest decides: that is whether the m-th nearest bot, m = (k + 1) / 2, is
    nearer than the m-th nearest player. How much nearer is the decision.
    """

    columns: tuple[Column, ...]
    form: str
    neighbours: int
    known: tuple[Row, ...]  # as the machine sees them: scaled, and whitened for Mahalanobis
    bots: tuple[bool, ...]
    whitening: tuple[Row, ...]  # rows of the matrix that makes Mahalanobis distances plain ones; else empty

    def decide(self, values: Floats) -> Floats:
        """How much nearer the bots are: a difference of cosines, or of distances."""
        near = self.nearness(values)
        bots = np.array(self.bots)
        machines, people = (_mth_largest(near[:, side], self.neighbours) for side in (bots, ~bots))
        nearer: Floats = machines - people
        return nearer

    def nearness(self, values: Floats) -> Floats:
        """The cosine to each known session, or the distance with its sign turned; a row a session."""
        shown = whitened(inputs(self.columns, values), self.whitening)
        known = np.array(self.known, dtype=np.float64)
        return cosines(shown, known) if self.form in ANGLES else -distances(shown, known)

    def says_bot(self, values: Floats) -> "np.ndarray[tuple[int], np.dtype[np.bool_]]":
        """The vote; where both sides are equally near, the one known first."""
        first = self.bots[0]
        decisions = self.decide(values)
        says: np.ndarray[tuple[int], np.dtype[np.bool_]] = (decisions >= 0) if first else (decisions > 0)
        return says


def cosines(shown: Floats, known: Floats) -> Floats:
    """The inner product of vectors of length 1, which the thesis calls an angle; 0 for a vector of zeros."""
    ones, others = _of_length_one(shown), _of_length_one(known)
    total = np.zeros((len(shown), len(known)))
    for place in range(shown.shape[1]):
        total = total + ones[:, place, None] * others[None, :, place]
    return total


def distances(shown: Floats, known: Floats) -> Floats:
    """How far each vector is from each known one."""
    total = np.zeros((len(shown), len(known)))
    for place in range(shown.shape[1]):
        total = total + (shown[:, place, None] - known[None, :, place]) ** 2
    root: Floats = np.sqrt(total)
    return root


def whitened(shown: Floats, rows: Sequence[Row]) -> Floats:
    """The vectors in coordinates in which the covariance of training is a unit; unchanged without a matrix."""
    if not rows:
        return shown
    turned = [np.zeros(len(shown)) for _ in rows]
    for out, row in enumerate(rows):
        for place, weight in enumerate(row):
            turned[out] = turned[out] + weight * shown[:, place]
    return np.column_stack(turned)


def _of_length_one(vectors: Floats) -> Floats:
    squares = np.zeros(len(vectors))
    for place in range(vectors.shape[1]):
        squares = squares + vectors[:, place] ** 2
    length = np.sqrt(squares)[:, None]
    unit: Floats = np.divide(vectors, length, out=np.zeros(vectors.shape), where=length > 0)
    return unit


def _mth_largest(near: Floats, neighbours: int) -> Floats:
    """Of the m-th nearest, or of the farthest where there are fewer."""
    m = min((neighbours + 1) // 2, near.shape[1])
    return np.sort(near, axis=1)[:, -m]
