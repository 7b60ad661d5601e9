"""Groups of 300,000 accounts: CPU and memory of each step, and NetworkX on a smaller game of the same make.

python benchmarks/bench_groups.py [--accounts N] [--edges N] [--small N]

EDGES are made up: circles of people who give one way, exchange, meet in parties and share addresses, and among them
stars and chains. The large game is looked at in a process of its own, so that its peak is its own. NetworkX takes hours
for the large one; the ratio is of one run on the small one, for communities (its Louvain, since it has no Leiden of its
own) and for the published measures of each of the communities that we found.
"""

import argparse
import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import polars as pl

from gamewarden.groups.communities import communities
from gamewarden.groups.finding import _ByGifts, find
from gamewarden.groups.measures import measured
from gamewarden.groups.places import Around

T = TypeVar("T")
SEED = 101
STAR = (8, 41)  # leaves
IN_STARS, IN_CHAINS = 0.04, 0.005  # of all accounts
MIX = {"trade.give": 0.45, "exchange": 0.3, "party": 0.1, "market.sell": 0.1, "address": 0.05}  # of all other rows


def game(accounts: int, rows: int) -> tuple[pl.DataFrame, pl.DataFrame, int]:
    """EDGES of so many rows, hours of play, and how many stars there are."""
    dice = np.random.default_rng(SEED)
    stars, people = _stars(dice, accounts)
    chained = int(accounts * IN_CHAINS) // 6 * 6
    chains = np.arange(people - chained, people)
    people -= chained
    a, b = _pairs(dice, people, rows)
    kinds = dice.choice(len(MIX), len(a), p=list(MIX.values()))
    parts = [_rows(stars[0], stars[1], "trade.give", 3, dice)]
    last = (np.arange(chained) + 1) % 6 == 0
    parts.append(_rows(chains[~last], chains[~last] + 1, "trade.give", 2, dice))
    for number, kind in enumerate(MIX):
        one, other = a[kinds == number], b[kinds == number]
        if kind == "exchange":
            half = len(one) // 2
            parts += [
                _rows(one[:half], other[:half], "trade.give", 2, dice),
                _rows(other[:half], one[:half], "trade.give", 2, dice),
            ]
        else:
            parts.append(_rows(one, other, kind, 1, dice))
    edges = pl.concat(parts)
    hours = pl.DataFrame({"actor": _names(np.arange(accounts)), "hours": dice.gamma(2.0, 6.0, accounts)})
    return (
        edges,
        hours.with_columns(pl.when(pl.int_range(pl.len()) >= people).then(6.0).otherwise("hours").alias("hours")),
        len(np.unique(stars[1])),
    )


def _stars(dice: np.random.Generator, accounts: int) -> tuple[tuple[np.ndarray, np.ndarray], int]:
    """Leaves and hubs, which stand behind all people; and how many people there are."""
    leaves, hubs, place = [], [], accounts
    while place > accounts * (1 - IN_STARS):
        size = int(dice.integers(*STAR))
        place -= size + 1
        leaves.append(np.arange(place + 1, place + 1 + size))
        hubs.append(np.full(size, place))
    return (np.concatenate(leaves), np.concatenate(hubs)), place


def _pairs(dice: np.random.Generator, people: int, rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Who has to do with whom: mostly people of the same circle, some of whom are busier than others."""
    sizes = np.clip(dice.lognormal(4, 0.8, people), 4, 1000).astype(int)
    begins = np.cumsum(sizes)
    circle = np.searchsorted(begins, np.arange(people), side="right")
    start = np.concatenate([[0], begins])
    busy = dice.permutation(people)[(people * dice.random(rows) ** 1.5).astype(int)]
    low = start[circle[busy]]
    high = np.minimum(start[circle[busy] + 1], people)
    near = low + (dice.random(rows) * (high - low)).astype(int)
    other = np.where(dice.random(rows) < 0.85, near, dice.integers(0, people, rows))
    keep = busy != other
    return busy[keep], other[keep]


def _rows(one: np.ndarray, other: np.ndarray, kind: str, n: int, dice: np.random.Generator) -> pl.DataFrame:
    money = np.round(np.exp(dice.normal(5, 1, len(one))))
    who = _names(other) if kind != "address" else _names(other // 3)
    return pl.DataFrame({"actor": _names(one), "other": who, "amount": -money}).with_columns(
        kind=pl.lit(kind), n=pl.lit(n, pl.Int64), items=pl.lit(None, pl.Int64)
    )


def _names(numbers: np.ndarray) -> pl.Series:
    return "u" + pl.Series(numbers).cast(pl.String).str.zfill(7)


def timed(work: Callable[[], T]) -> tuple[float, T]:
    """CPU-seconds of a piece of work, and what it gave."""
    begun = time.process_time()
    answer = work()
    return time.process_time() - begun, answer


def large(accounts: int, rows: int) -> dict[str, float]:
    """What the large game costs; compiled code is there before."""
    find(*game(2_000, 20_000)[:2])
    edges, hours, stars = game(accounts, rows)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    whole, found = timed(lambda: find(edges, hours))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    places, _ = timed(lambda: found.places)
    by_gifts = _ByGifts(Around(edges, hours))
    flows, _ = timed(lambda: by_gifts.flows)
    graph, _ = timed(lambda: by_gifts.graph)
    leiden, labels = timed(lambda: communities(by_gifts.graph))
    measures, _ = timed(lambda: measured(by_gifts.graph, labels))
    hubs = found.groups.filter(pl.col("type").is_in(["star", "small-star"])).height
    return {
        "rows": edges.height, "one-way ties": len(by_gifts.graph.near) // 2, "groups": found.groups.height,
        "stars there": stars, "stars found": hubs, "find, CPU-s": whole, "places, CPU-s": places,
        "of find: flows": flows, "of find: graph": graph, "of find: Leiden by gifts": leiden,
        "of find: measures by gifts": measures, "MiB before": before, "MiB at most": peak,
    }  # fmt: skip


def beside_networkx(accounts: int, rows: int) -> tuple[float, float]:
    """CPU-seconds of ours and of NetworkX for communities and their measures, on the same graph."""
    import networkx as nx

    edges, hours, _ = game(accounts, rows)
    graph = _ByGifts(Around(edges, hours)).graph
    measured(graph, communities(graph))

    def ours() -> tuple[np.ndarray, object]:
        labels = communities(graph)
        return labels, measured(graph, labels)

    mine, (labels, _) = timed(ours)
    one = np.repeat(np.arange(graph.n), graph.degrees)

    def theirs() -> None:
        made = nx.Graph()
        made.add_weighted_edges_from(zip(one.tolist(), graph.near.tolist(), graph.weight.tolist(), strict=True))
        nx.community.louvain_communities(made, seed=SEED)
        for members in pl.DataFrame({"v": np.arange(graph.n), "label": labels}).group_by("label").agg("v")["v"]:
            _measure(nx, made.subgraph(members.to_list()).copy())

    return mine, timed(theirs)[0]


def _measure(nx: Any, community: Any) -> None:  # noqa: ANN401  NetworkX has no types
    if community.number_of_nodes() < 3:
        return
    nx.betweenness_centrality(community)
    nx.average_clustering(community)
    nx.radius(community)
    if len({degree for _, degree in community.degree}) > 1:
        nx.degree_assortativity_coefficient(community)


def main() -> None:
    """Print both."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--accounts", type=int, default=300_000)
    options.add_argument("--edges", type=int, default=5_000_000)
    options.add_argument(
        "--small", type=int, default=5_000, help="accounts of the game that NetworkX looks at; 0: none"
    )
    options.add_argument("--alone", action="store_true", help="only the large game, as JSON")
    asked = options.parse_args()
    if asked.alone:
        print(json.dumps(large(asked.accounts, asked.edges)))
        return
    words = [sys.executable, Path(__file__), "--alone", "--accounts", str(asked.accounts), "--edges", str(asked.edges)]
    told = json.loads(subprocess.run(words, capture_output=True, text=True, check=True).stdout.splitlines()[-1])
    for name, value in told.items():
        print(f"{name:28} {value:14,.1f}")
    if asked.small:
        mine, theirs = beside_networkx(asked.small, asked.small * 17)
        times = f"ours {mine:.2f} CPU-s, NetworkX {theirs:.1f}: {theirs / mine:,.0f} times"
        print(f"{asked.small:,} accounts, communities and measures: {times}")


if __name__ == "__main__":
    main()
