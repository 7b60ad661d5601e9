"""A trained traffic test: a profile, a tree as data, and how often its answers were right."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import permutations
from typing import Annotated, Any, ClassVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from gamewarden.contracts import Card, Recipe, model_id
from gamewarden.core.trees import TESTS, Tree, cell
from gamewarden.errors import ConfigError, TableError
from gamewarden.learning.calibration import KEY
from gamewarden.learning.fitted import FittedModel
from gamewarden.learning.validation import OpenShare, Rule, Share, whole
from gamewarden.tables import EVIDENCE, SCORES, TRAFFIC, check

_BIT = {"autocorrelation": 1, "interarrival": 2, "lengths": 4}
_CELLS = 8

WEAKNESSES = (
    "One window of about half a minute is a hint, never a verdict: where bots are rare most of its alarms are false.",
    "Thresholds hold for one game and one protocol; another game needs its own traces.",
    "A person who does one thing for long, and a bot that a person helps, look alike to it.",
    "A bot that changes both the timing and the sizes of its packets is missed; it pays with its data rate.",
)


@dataclass(frozen=True)
class Reference:
    """What held-out traces taught: how probable a bot is behind either verdict, how often each human was accused."""

    if_bot: OpenShare
    if_human: OpenShare
    humans: Annotated[
        tuple[Share, ...], Rule(bool, "at least one share")
    ]  # the share of each held-out human's windows that were called bot

    def fpr(self) -> float:
        """The share of humans a window called bot looks like, counting this one as one more."""
        return (math.fsum(self.humans) + 1) / (len(self.humans) + 1)


@dataclass(frozen=True, kw_only=True)
class TrafficModel(FittedModel):
    """A trained traffic test: plain numbers and a tree, nothing that can run.

    `feature` is the profile that windows to score must be measured with.
    """

    without_people: ClassVar[str] = "It judges windows of traffic and keeps no people that a budget could count."

    details: Recipe  # what the training windows were measured with
    reference: Reference
    typical: Annotated[Mapping[str, float], Rule(lambda v: v.keys() == set(TESTS), "a typical number for every test")]

    @property
    def id(self) -> str:
        """`detector@digest` of both recipes and the training data."""
        return model_id(self.detector, self.recipe, self.details, self.data)

    @property
    def compared_with(self) -> tuple[int, ...]:
        """All of its humans."""
        return (len(self.reference.humans),)

    @property
    def tree(self) -> Tree:
        """What the three answers say together."""
        return Tree.from_dict(self.feature.options["tree"])

    @property
    def base(self) -> float:
        """The log-odds of a window in which no test says bot."""
        return _log_odds(self.reference.if_human)

    @property
    def card(self) -> Card:
        """What it is, what it was made from and how good it was."""
        humans = len(self.reference.humans)
        return Card(
            id=self.id,
            detector=self.detector,
            recipe=self.recipe,
            feature={"name": self.feature.name, **{k: v for k, v in self.feature.options.items() if k != "tree"}},
            parameters={
                "tree": self.tree.rule,
                "probability": {"called bot": self.reference.if_bot, "called human": self.reference.if_human},
                "humans": humans,
                "smallest_fpr": self.reference.fpr(),
                **({} if self.days is None else {"humans_by_rows_of_a_day": self.days.counts()}),
            },
            training=self.training,
            validation=self.validation,
            weaknesses=(
                *WEAKNESSES,
                f"It saw {humans} humans, so no FPR is below 1 in {humans + 1}.",
                "Its own probability supposes as many bots as among its labels; lists move it to [population] bots.",
            ),
        )

    def text(self) -> str:
        """The tree drawn, and under it what each test asks."""
        profile = self.feature.options
        lengths = (
            f"lengths: bot with fewer than {profile['dlrt1']} packets over {profile['dlthr1']} bytes "
            f"and fewer than {profile['dlrt2']} over {profile['dlthr2']}"
        )
        gaps = (
            f"interarrival: bot with fewer than {profile['itrt1']} gaps over {_seconds(profile['itthr1'])}, "
            f"or more than {profile['itrt2']:.0%} of them over {_seconds(profile['itthr2'])}"
        )
        correlation = (
            f"autocorrelation: bot when most of {profile['acv']} sub-windows of {profile['acn']} pairs "
            f"are below {profile['acthr']}"
        )
        window = f"a window is {profile['win']} client packets"
        return f"{self.tree.text()}\n\n{lengths}\n{gaps}\n{correlation}\n{window}"

    def score(self, features: pl.DataFrame) -> pl.DataFrame:
        """SCORES of TRAFFIC windows measured with this model's profile, in the table's order."""
        table = self._table(features)
        says = self._says_bot(table)
        reference = self.reference
        scores = table.select(*KEY).with_columns(
            pl.lit(self.detector).alias("detector"),
            pl.lit(self.id).alias("model"),
            pl.Series("probability", np.where(says, reference.if_bot, reference.if_human)),
            pl.Series("fpr", np.where(says, reference.fpr(), 1.0)),
            pl.lit(self.feature.options["win"]).alias("events"),
        )
        return check(scores, SCORES, "score traffic")

    def explain(self, features: pl.DataFrame) -> pl.DataFrame:
        """EVIDENCE: a window after the other, in each the heaviest test first.

        A test's weight is its share (Shapley) of the step from no bot-like answer to these answers.
        """
        table = self._table(features)
        weights = self._weights()[_cells(table)]
        parts = [self._evidence(table, test, weights[:, at]).with_columns(order=at) for at, test in enumerate(TESTS)]
        evidence = (
            pl.concat(parts)
            .sort("row", pl.col("weight").abs(), "order", descending=[False, True, False])
            .drop("row", "order")
        )
        return check(evidence, EVIDENCE, "explain traffic")

    def agreements(self) -> Iterator[tuple[str, bool]]:
        """What must hold between its values."""
        yield "its tree is one", _is_tree(self.feature.options.get("tree"))
        yield "its window is a number of packets", whole(self.feature.options.get("win"))

    def _table(self, features: pl.DataFrame) -> pl.DataFrame:
        missing = [name for name in TRAFFIC.columns if name not in features.columns]
        if missing:
            raise TableError(f"score traffic: TRAFFIC lacks {', '.join(missing)}; measure traffic first")
        return check(features, TRAFFIC, "score traffic")

    def _says_bot(self, table: pl.DataFrame) -> NDArray[np.bool_]:
        tree = self.tree
        return np.array([tree.verdict(at) for at in range(_CELLS)], np.bool_)[_cells(table)]

    def _weights(self) -> NDArray[np.float64]:
        """A row a cell, a column a test: each test's mean step over all orders in which the answers could come in."""
        tree, reference = self.tree, self.reference
        odds = [_log_odds(reference.if_bot if tree.verdict(at) else reference.if_human) for at in range(_CELLS)]
        weights = np.zeros((_CELLS, len(TESTS)))
        orders = list(permutations(range(len(TESTS))))
        for at in range(_CELLS):
            for order in orders:
                known = 0
                for test in order:
                    bit = at & _BIT[TESTS[test]]
                    weights[at, test] += (odds[known | bit] - odds[known]) / len(orders)
                    known |= bit
        return weights

    def _evidence(self, table: pl.DataFrame, test: str, weights: NDArray[np.float64]) -> pl.DataFrame:
        number = {"lengths": "sizes_over_2", "interarrival": "gaps_over_1", "autocorrelation": "votes"}[test]
        return table.select(
            *KEY,
            pl.int_range(pl.len()).alias("row"),
            pl.lit(self.detector).alias("detector"),
            pl.lit(test).alias("feature"),
            pl.col(number).cast(pl.Float64).alias("value"),
            pl.lit(self.typical[test], dtype=pl.Float64).alias("typical"),
            pl.Series("weight", weights),
            pl.Series("says", [self._sentence(test, row) for row in table.iter_rows(named=True)], dtype=pl.String),
        )

    def _sentence(self, test: str, row: Mapping[str, Any]) -> str:
        profile = self.feature.options
        match test:
            case "lengths":
                head = "Only short packets" if row["lengths"] else "Some long packets"
                return (
                    f"{head}: of {profile['win']} packets {row['sizes_over_1']} were longer than {profile['dlthr1']} "
                    f"bytes and {row['sizes_over_2']} longer than {profile['dlthr2']}; a program's are fewer than "
                    f"{profile['dlrt1']} and {profile['dlrt2']}."
                )
            case "interarrival":
                head = (
                    "Packets at a regular pace"
                    if row["regular"]
                    else "Sharp pauses"
                    if row["peak"]
                    else "Pauses like a person's"
                )
                return (
                    f"{head}: {row['gaps_over_1']} gaps were longer than {_seconds(profile['itthr1'])} and "
                    f"{row['gaps_over_2']} of them longer than {_seconds(profile['itthr2'])}; a program has fewer than "
                    f"{profile['itrt1']}, or more than {profile['itrt2']:.0%} of them that long."
                )
            case _:
                heads = {True: "Lengths that alternate", False: "Lengths that go together", None: "Too uniform lengths"}
                return (
                    f"{heads[row['autocorrelation']]}: {row['votes']} of {row['valid']} parts of the window that could "
                    f"be judged had neighbouring lengths with a correlation below {profile['acthr']}."
                )


def _cells(table: pl.DataFrame) -> NDArray[np.int64]:
    """The combination of answers of each window; who abstains is heard as human."""
    said = {test: table[test].fill_null(value=False).to_numpy() for test in TESTS}
    return np.array([cell(**dict(zip(TESTS, row, strict=True))) for row in zip(*said.values(), strict=True)], np.int64)


def _seconds(micros: int) -> str:
    return f"{micros / 1_000_000:g} s"


def _log_odds(probability: float) -> float:
    return math.log(probability / (1 - probability))


def _is_tree(value: object) -> bool:
    try:
        Tree.from_dict(value)
    except ConfigError:
        return False
    return True
