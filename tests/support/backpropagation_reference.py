"""Back-propagation as a textbook writes it down, one number at a time: the oracle of the compiled one."""

from math import exp


def train(shown, target, order, network, limits):
    hidden, output = [list(row) for row in network[0]], list(network[1])
    rate, enough, epochs = limits
    error = 0.0
    for epoch in range(epochs):
        error = 0.0
        for at in order:
            x = [*shown[at], 1.0]
            h = [1 / (1 + exp(-sum(w * v for w, v in zip(row, x, strict=True)))) for row in hidden]
            o = 1 / (1 + exp(-sum(w * v for w, v in zip(output, [*h, 1.0], strict=True))))
            error += (target[at] - o) ** 2 / 2
            delta = (target[at] - o) * o * (1 - o)
            deltas = [delta * output[j] * h[j] * (1 - h[j]) for j in range(len(h))]
            output = [w + rate * delta * v for w, v in zip(output, [*h, 1.0], strict=True)]
            hidden = [
                [w + rate * d * v for w, v in zip(row, x, strict=True)] for row, d in zip(hidden, deltas, strict=True)
            ]
        if error <= enough:
            return epoch + 1, error, hidden, output
    return epochs, error, hidden, output
