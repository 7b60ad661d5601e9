"""The two classifiers of Cornelissen over a session's numbers, as plain numbers: a small network, and neighbours."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Literal, get_args

import numpy as np

from gamewarden.detectors.session.vectors import Column, inputs
from gamewarden.learning.calibration import Flags, Floats, sigmoid
from gamewarden.learning.validation import Natural, Rule

Form = Literal["published", "cosine", "euclid", "mahalanobis"]
FORMS: tuple[Form, ...] = get_args(Form)
ANGLE, Z_ANGLE, EUCLID, MAHALANOBIS = FORMS
ANGLES = (ANGLE, Z_ANGLE)

Row = tuple[float, ...]
_Rows = Annotated[tuple[Row, ...], Rule(bool, "rows of numbers, one at least")]


@dataclass(frozen=True)
class Network:
    """Inputs, one layer of logistic units, one logistic output; the bias stands last in each row of weights."""

    hidden: _Rows
    output: Row
    kind: Literal["network"] = "network"

    def decide(self, shown: Floats) -> Floats:
        """What the output unit hears: its log-odds. Added in a fixed order, so that crowds change nothing."""
        total = np.full(len(shown), self.output[-1])
        for unit, weights in zip(self.output, self.hidden, strict=False):
            heard = np.full(len(shown), weights[-1])
            for place in range(shown.shape[1]):
                heard = heard + weights[place] * shown[:, place]
            total = total + unit * sigmoid(heard)
        return total

    def fits(self, inputs: int) -> Iterator[tuple[str, bool]]:
        """What must hold between its rows, over so many inputs."""
        yield "a hidden unit has a weight per input and a bias", all(len(row) == inputs + 1 for row in self.hidden)
        yield "the output has a weight per hidden unit and a bias", len(self.output) == len(self.hidden) + 1


@dataclass(frozen=True)
class Neighbours:
    """Known sessions, and whose side an unknown one is nearer to.

    With k neighbours the majority of the k nearest decides: that is whether the m-th nearest bot, m = (k + 1) / 2, is
    nearer than the m-th nearest player. How much nearer is the decision.
    """

    form: Form
    neighbours: Annotated[Natural, Rule(lambda v: v % 2 == 1, "an odd number")]
    known: _Rows  # as the classifier sees them: scaled, and whitened for Mahalanobis
    bots: tuple[bool, ...]
    whitening: tuple[Row, ...]  # rows of the matrix that makes Mahalanobis distances plain ones; else empty
    kind: Literal["neighbours"] = "neighbours"

    def decide(self, shown: Floats) -> Floats:
        """How much nearer the bots are: a difference of cosines, or of distances."""
        near = self.nearness(shown)
        bots = np.array(self.bots)
        machines, people = (_mth_largest(near[:, side], self.neighbours) for side in (bots, ~bots))
        nearer: Floats = machines - people
        return nearer

    def nearness(self, shown: Floats) -> Floats:
        """The cosine to each known session, or the distance with its sign turned; one row per session."""
        turned = whitened(shown, self.whitening)
        known = np.array(self.known, dtype=np.float64)
        return cosines(turned, known) if self.form in ANGLES else -distances(turned, known)

    def says_bot(self, shown: Floats) -> Flags:
        """The vote; where both sides are equally near, the one known first."""
        first = self.bots[0]
        decisions = self.decide(shown)
        says: Flags = (decisions >= 0) if first else (decisions > 0)
        return says

    def fits(self, inputs: int) -> Iterator[tuple[str, bool]]:
        """What must hold between its rows, over so many inputs."""
        square = not self.whitening or [len(row) for row in self.whitening] == [inputs] * inputs
        yield "a known session has a number per input", all(len(row) == inputs for row in self.known)
        yield "each known session is a bot's or a human's", len(self.bots) == len(self.known)
        yield "sessions of both are known", set(self.bots) == {True, False}
        yield "distances are whitened by a square", square


@dataclass(frozen=True)
class Classifier:
    """Whatever turns the numbers of sessions into decisions: positive is a bot's."""

    columns: tuple[Column, ...]
    method: Network | Neighbours

    def decide(self, values: Floats) -> Floats:
        """One decision per row, the same for one row as among a million."""
        return self.method.decide(inputs(self.columns, values))


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
