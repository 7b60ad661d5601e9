"""Gradient-boosted trees, grown by LightGBM several times over on parts of the rows and kept as plain arrays.

One long boosting run follows its training rows too closely: the mean of several, each of whose trees sees a part of the
rows and of the columns, ranks held-out accounts better without losing the sharp corners (decision 040).
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from gamewarden.core.extras import need
from gamewarden.detectors.account_table.forest import LARGEST, Forest, Tree
from gamewarden.errors import FitError
from gamewarden.learning.calibration import Flags, Floats

_TOLERANCE = 1e-6
# One thread and a fixed order of sums: the same rows give the same trees.
_STEADY = {"num_threads": 1, "deterministic": True, "force_row_wise": True, "verbose": -1}


@dataclass(frozen=True)
class Style:
    """How one run grows its trees, in LightGBM's own words."""

    rounds: float  # of those asked for
    settings: Mapping[str, Any]

    def for_share(self, share: float) -> "Style":
        """The style for trees that learn from a share of the rows, with as many rows a leaf.

        As many leaves on fewer rows are purer, and decide more boldly than the trees of all rows will.
        """
        leaves = max(2, round(share * self.settings["num_leaves"]))
        return replace(self, settings={**self.settings, "num_leaves": leaves})


# Sharp trees find the corners where bots stand close together; smooth ones, which draw their thresholds at random, rank
# the many in between.
SHARP = Style(
    0.4,
    {
        "learning_rate": 0.05,
        "num_leaves": 127,
        "min_data_in_leaf": 3,
        "feature_fraction": 0.5,
        "bagging_fraction": 0.7,
        "bagging_freq": 1,
    },
)
SMOOTH = Style(
    1.0,
    {
        "learning_rate": 0.03,
        "num_leaves": 31,
        "min_data_in_leaf": 20,
        "feature_fraction": 0.5,
        "bagging_fraction": 0.8,
        "bagging_freq": 1,
        "extra_trees": True,
    },
)


def grow(rows: Floats, bot: Flags, style: Style, *, runs: int, rounds: int, seed: int) -> Forest:
    """The mean of so many runs of one style."""
    count = max(1, round(rounds * style.rounds))
    settings = [{**_STEADY, **style.settings, "objective": "binary", "seed": seed + run} for run in range(runs)]
    return Forest.of([tree for setting in settings for tree in _run(rows, bot, setting, count, 1.0 / runs)])


def _run(rows: Floats, bot: Flags, settings: Mapping[str, Any], count: int, share: float) -> list[Tree]:
    learner = _lightgbm()
    fitted = learner.train(settings, learner.Dataset(rows, bot.astype(np.float64)), count)
    trees = [_tree(told["tree_structure"], share) for told in fitted.dump_model()["tree_info"]]
    _refuse_other_trees(trees, rows[:64], share * fitted.predict(rows[:64], raw_score=True))
    return trees


def _lightgbm() -> Any:  # noqa: ANN401 - a module
    need("growing trees", "lightgbm")
    try:
        import lightgbm
    except (ImportError, OSError) as error:  # its library needs libgomp.so.1, which small images lack
        raise FitError(
            f"account-table: LightGBM cannot be loaded ({error}); install it and the system's libgomp1"
        ) from error
    return lightgbm


def _tree(root: Mapping[str, Any], share: float) -> Tree:
    """LightGBM's nested nodes as arrays, every parent before its children, with the rows that came to each."""
    nodes = list(_flat(root))
    place = {id(node): at for at, node in enumerate(nodes)}
    value, count = [0.0] * len(nodes), [0] * len(nodes)
    left, right = [0] * len(nodes), [0] * len(nodes)
    for at in range(len(nodes) - 1, -1, -1):
        node = nodes[at]
        if "left_child" in node:
            one, other = left[at], right[at] = place[id(node["left_child"])], place[id(node["right_child"])]
            count[at] = count[one] + count[other]
        else:
            value[at], count[at] = share * node["leaf_value"], max(1, node.get("leaf_count", 1))
    weights = [(count[one], count[other]) for one, other in zip(left, right, strict=True)]
    return Tree(
        column=np.array([node.get("split_feature", 0) for node in nodes], dtype=np.int16),
        # A question for missing numbers alone has the largest threshold there is.
        threshold=np.clip([node.get("threshold", 0.0) for node in nodes], -LARGEST, LARGEST),
        left=np.array(left, dtype=np.int32),
        right=np.array(right, dtype=np.int32),
        missing_left=np.array([_missing_left(node, *sides) for node, sides in zip(nodes, weights, strict=True)]),
        value=np.array(value, dtype=np.float64),
        rows=np.array(count, dtype=np.int64),
    )


def _flat(node: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """A node, then all below it."""
    waiting = [node]
    while waiting:
        node = waiting.pop()
        yield node
        if "left_child" in node:
            waiting += [node["right_child"], node["left_child"]]


def _missing_left(node: Mapping[str, Any], left: int, right: int) -> bool:
    """Where a row without this number goes: as it was learned, or with most rows where none was missing."""
    return bool(node["default_left"]) if node.get("missing_type") == "NaN" else left >= right


def _refuse_other_trees(trees: list[Tree], rows: Floats, decisions: Floats) -> None:
    forest = Forest.of(trees)
    if not np.allclose(forest.base + forest.decide(rows), decisions, atol=_TOLERANCE):
        raise FitError(
            "account-table: this LightGBM writes its trees in another way; install the one of constraints.txt"
        )
