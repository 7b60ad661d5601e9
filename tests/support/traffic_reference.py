"""The traffic test written down as the specification has it: objects, lists and fractions, no tricks."""

import math
from dataclasses import dataclass, field

import polars as pl

from gamewarden.features.traffic.recipe import TrafficTest
from gamewarden.tables import TRAFFIC


def correlation(values):
    """The lag-1 correlation of one sub-window, or None where a side does not vary."""
    later, earlier = values[1:], values[:-1]
    n = len(later)
    a = n * sum(x * x for x in later) - sum(later) ** 2
    b = n * sum(y * y for y in earlier) - sum(earlier) ** 2
    c = n * sum(x * y for x, y in zip(later, earlier, strict=True)) - sum(later) * sum(earlier)
    if a <= 0 or b <= 0:
        return None
    return max(-1.0, min(1.0, c / math.sqrt(a * b)))


@dataclass
class Player:
    test: TrafficTest
    number: int = 0
    last: int | None = None
    times: list = field(default_factory=list)
    sizes: list = field(default_factory=list)
    gaps: list = field(default_factory=list)

    def packet(self, at, size):
        """Take a client packet in; the window as a dictionary when it is complete."""
        gap = None if self.last is None else at - self.last
        if gap is not None and gap > self.test.session_gap:
            self.forget()
            gap = None
        if gap is not None and gap < 0:
            at, gap = self.last, 0
        self.last = at
        self.times.append(at)
        self.sizes.append(size)
        if gap is not None:
            self.gaps.append(gap)
        return self.decide() if len(self.sizes) == self.test.win else None

    def forget(self):
        self.times, self.sizes, self.gaps = [], [], []

    def decide(self):
        test = self.test
        step = test.acn + 1
        votes = [self.vote(self.sizes[begin : begin + step]) for begin in range(0, test.win, step)]
        bot, valid = votes.count("bot"), len(votes) - votes.count("abstain")
        autocorrelation = None if valid < math.ceil(test.acv / 2) else bot > valid / 2
        set2 = [gap for gap in self.gaps if gap > test.itthr1]
        set3 = [gap for gap in self.gaps if gap > test.itthr2]
        regular = len(set2) < test.itrt1
        peak = len(set2) > 0 and len(set3) / len(set2) > test.itrt2
        long, longish = sum(s > test.dlthr1 for s in self.sizes), sum(s > test.dlthr2 for s in self.sizes)
        share = test.win / 100 if test.scaled else 1
        lengths = long < test.dlrt1 * share and longish < test.dlrt2 * share
        window = {
            "since": self.times[0],
            "until": self.times[-1],
            "window": self.number,
            "gaps_over_1": len(set2),
            "gaps_over_2": len(set3),
            "sizes_over_1": long,
            "sizes_over_2": longish,
            "votes": bot,
            "valid": valid,
            "autocorrelation": autocorrelation,
            "interarrival": regular or peak,
            "lengths": lengths,
            "regular": regular,
            "peak": peak,
            "bot": ask(
                test.tree.to_dict(), {"lengths": lengths, "interarrival": regular or peak, **_heard(autocorrelation)}
            ),
        }
        self.number += 1
        self.forget()
        return window

    def vote(self, values):
        found = correlation(values)
        if found is None:
            return self.test.abstain_as
        return "bot" if found < self.test.acthr else "human"


def _heard(autocorrelation):
    return {"autocorrelation": bool(autocorrelation)}  # a test that abstains is heard as human


def ask(tree, answers):
    while isinstance(tree, dict):
        tree = tree["bot" if answers[tree["ask"]] else "human"]
    return tree == "bot"


def windows_as_they_complete(test, packets):
    """TRAFFIC rows of (actor, at, up, size) in the order of completion."""
    players, rows = {}, []
    for actor, at, up, size in packets:
        if up and (done := players.setdefault(actor, Player(test)).packet(at, size)):
            rows.append({"actor": actor, "events": test.win, **done})
    times = pl.col("since", "until").cast(pl.Datetime("us", "UTC"))
    plain = {name: pl.Int64 if name in {"since", "until"} else kind for name, kind in TRAFFIC.columns.items()}
    return pl.DataFrame(rows, schema=plain).with_columns(times)
