"""A small network learns by back-propagation, one session after the other (compiled)."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from gamewarden.core.kernels import kernel

Floats = NDArray[np.float64]
Order = NDArray[np.int64]


def alternating(bot: NDArray[np.bool_]) -> Order:
    """Places of the sessions in the order they are shown: player, bot, player, bot, by index."""
    players, bots = np.flatnonzero(~bot), np.flatnonzero(bot)
    turns = [side[turn] for turn in range(max(players.size, bots.size)) for side in (players, bots) if turn < side.size]
    return np.array(turns, dtype=np.int64)


@kernel
def train(shown: Floats, target: Floats, order: Order, network: Any, limits: Any) -> Any:  # noqa: ANN401  tuples of arrays and numbers
    """Change the weights of `network` in place until the error of an epoch is small; the epochs and the last error.

    `network` is (hidden, output): a row of weights a hidden unit, then the weights of the output, each with its bias
    last. `limits` is (rate, error, epochs). The error is half the squared distance, summed over an epoch.
    """
    hidden, output = network
    rate, enough, epochs = limits
    units, wide = hidden.shape[0], shown.shape[1]
    active = np.empty(units)
    error = 0.0
    for epoch in range(epochs):
        error = 0.0
        for at in order:
            total = output[units]
            for unit in range(units):
                heard = hidden[unit, wide]
                for place in range(wide):
                    heard += hidden[unit, place] * shown[at, place]
                active[unit] = 1.0 / (1.0 + np.exp(-heard))
                total += output[unit] * active[unit]
            answer = 1.0 / (1.0 + np.exp(-total))
            error += 0.5 * (target[at] - answer) ** 2
            step = rate * (target[at] - answer) * answer * (1.0 - answer)
            for unit in range(units):
                own = step * output[unit] * active[unit] * (1.0 - active[unit])
                output[unit] += step * active[unit]
                for place in range(wide):
                    hidden[unit, place] += own * shown[at, place]
                hidden[unit, wide] += own
            output[units] += step
        if error <= enough:
            return epoch + 1, error
    return epochs, error
