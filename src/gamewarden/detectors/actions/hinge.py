"""Many linear machines over nearly the same chunks: one table of inner products serves all folds of an evaluation.

Each machine is the one that `actions` makes (hinge loss, free intercept, C = 1 / mean(x·x)); holding out 49 pairs needs
49 of them.
"""

import numpy as np

from gamewarden.core.extras import need
from gamewarden.learning.calibration import Flags, Floats

TOLERANCE = 1e-4  # how far the optimality conditions may be missed, as `actions` allows libsvm


class Machines:
    """Chunks to learn from, of which every machine leaves some out."""

    def __init__(self, values: Floats, bot: Flags) -> None:
        self._values = values
        self._bot = bot
        self._products = values @ values.T

    def margins(self, learned_from: Flags, asked: Floats) -> Floats:
        """The signed margins of other chunks by the machine of some of the rows; one class alone is the answer."""
        need("learning a model", "sklearn")
        from sklearn.svm import SVC

        bot = self._bot[learned_from]
        if bot.all() or not bot.any():
            return np.full(len(asked), 1.0 if bot.size and bot[0] else -1.0)
        products = self._products[np.ix_(learned_from, learned_from)]
        squares = float(np.diagonal(products).mean())
        machine = SVC(kernel="precomputed", C=1.0 / squares if squares else 1.0, tol=TOLERANCE, cache_size=500)
        margins: Floats = machine.fit(products, bot).decision_function(asked @ self._values[learned_from].T)
        return margins
