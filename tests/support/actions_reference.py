"""Equations 1 to 8 of Thawonmas & Kashifuji as printed, action by action: the judge of kernels and detectors."""

import math
from collections import Counter, defaultdict
from datetime import timedelta
from itertools import pairwise
from statistics import median


def measured(events, *, chunk, t, min_actions, by, is_action, columns):
    """One dict a chunk; `events` are dicts in the order of the source, `columns` the kinds with a column."""
    logs = defaultdict(list)
    for event in events:
        actor = event["actor"] if by == "account" else event["character"]
        if actor is not None and is_action(event["kind"]):
            logs[actor].append((event["at"], event["kind"]))
    rows = []
    for actor in sorted(logs):
        for since, actions in chunks(sorted(logs[actor]), chunk):
            if len(actions) >= min_actions:
                rows.append({"actor": actor, "since": since, **row(since, actions, chunk, t, columns)})
    return rows


def chunks(actions, width):
    """Steps of half a width from the first action; the last chunk ends at or before the last action."""
    since = actions[0][0]
    while since + width <= actions[-1][0]:
        yield since, [action for action in actions if since <= action[0] < since + width]
        since += width / 2


def row(since, actions, width, t, columns):
    counts = Counter(kind for _, kind in actions)
    gaps = Counter(bin_of(later[0] - earlier[0], t) for earlier, later in pairwise(actions))
    return {
        "until": since + width,
        "events": len(actions),
        **{f"a_{kind}": value for kind, value in zip(columns, frequencies(counts, columns), strict=True)},
        **{f"i_{gap}": value for gap, value in enumerate(frequencies(gaps, range(t + 1)))},
        **own_intervals(actions, columns),
        **paces(actions, t),
        "max_freq": float(max(counts.values())),
    }


def bin_of(gap, t):
    """Bin i is [i, i + 1) seconds, the last one [t, ∞)."""
    return min(gap // timedelta(seconds=1), t)


def frequencies(counts, names):
    """Equations 7 and 8: the fourth root of each frequency against the largest."""
    most = max(counts.values(), default=0)
    return [(counts[name] / most) ** 0.25 if most else 0.0 for name in names]


def own_intervals(actions, columns):
    """Mean and deviation of the intervals between actions of one kind, in seconds."""
    values = {}
    for kind in columns:
        times = [at for at, done in actions if done == kind]
        gaps = [(later - earlier) / timedelta(seconds=1) for earlier, later in pairwise(times)]
        mean = sum(gaps) / len(gaps) if gaps else None
        values[f"m_{kind}"] = mean
        values[f"d_{kind}"] = math.sqrt(sum((gap - mean) ** 2 for gap in gaps) / len(gaps)) if gaps else None
    return values


def paces(actions, t):
    """The logarithm of how many actions there are, and the shares of the intervals below 1 and 2 seconds."""
    gaps = [(later[0] - earlier[0]) / timedelta(seconds=1) for earlier, later in pairwise(actions)]
    below = {seconds: sum(gap < seconds for gap in gaps) for seconds in (1, 2) if seconds <= t}
    shares = {f"pace_{seconds}s": count / len(gaps) if gaps else None for seconds, count in below.items()}
    return {"pace_actions": math.log(len(actions)), **shares}


def mean_freq(counts, over):
    performed = [count for count in counts.values() if count]
    return sum(performed) / (len(performed) if over == "performed" else len(counts))


def max_regular(regulars):
    """The largest frequency of each action among regular samples."""
    return {kind: max(counts[kind] for counts in regulars) for kind in regulars[0]}


def learn_rho(irregulars, most, over="performed"):
    """Equations 4 to 6; infinity where no irregular has a qualifying action."""
    least = []
    for counts in irregulars:
        ratios = [
            counts[kind] / most[kind]
            for kind in counts
            if most[kind] > 0 and counts[kind] > mean_freq(counts, over) and counts[kind] / most[kind] >= 1
        ]
        if ratios:
            least.append(min(ratios))
    return median(least) if least else math.inf


def flagged(counts, most, rho, over="performed"):
    """Equations 1 to 3."""
    return any(
        most[kind] > 0 and counts[kind] > mean_freq(counts, over) and counts[kind] > rho * most[kind] for kind in counts
    )
