"""Rhythm as it reads, event by event: slow, plain, and the judge of the kernel."""

import math
from collections import Counter
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from zoneinfo import ZoneInfo

import numpy as np

MINUTE, HOUR = timedelta(minutes=1), timedelta(hours=1)
HALF_HOUR = 30 * MINUTE


def parts(moments, zone="UTC"):
    """One dict a day of one actor, from the moments of its events."""
    days = {}
    for at in sorted(moments):
        days.setdefault(at.astimezone(ZoneInfo(zone)).date(), []).append(at)
    return [part(midnight(day, zone), events) for day, events in sorted(days.items())]


def midnight(day, zone):
    return datetime(day.year, day.month, day.day, tzinfo=ZoneInfo(zone)).astimezone(UTC)


def part(since, events):
    minutes = Counter((at - since) // MINUTE for at in events)
    hours = Counter((at - since) // HOUR for at in events)
    share, period = strongest(Counter((at - since) // (2 * MINUTE) for at in events))
    return {
        "since": since,
        "events": len(events),
        "active_min": len(minutes),
        "hours": sum(1 << hour for hour in hours),
        "gap_entropy": entropy(events),
        "periodic": share,
        "period_min": period,
        "busiest_min": max(minutes.values()),
        "busiest_hour": max(hours.values()),
    }


def entropy(events):
    gaps = [later - one for one, later in pairwise(sorted(set(events)))]
    lengths = Counter(length(gap) for gap in gaps if gap <= HALF_HOUR)
    total = sum(lengths.values())
    if total < 100:
        return None
    return -sum(count / total * math.log2(count / total) for count in lengths.values())


def length(gap):
    return max(0, math.floor(4 * math.log2(gap / timedelta(milliseconds=1))))


def strongest(steps):
    """The share of the strongest period beyond chance and the period in minutes, from counts per two minutes."""
    first, last = min(steps), max(steps)
    count = last - first + 1
    if count < 90:
        return None, None
    time = np.arange(count)
    counts = np.array([steps[first + step] for step in time], float)
    beside = counts - np.polyval(np.polyfit(time, counts, 1), time)
    squares = (beside**2).sum()
    if squares <= 1e-9 * (counts**2).sum():
        return None, None
    red = min(max((beside[1:] * beside[:-1]).sum() / squares, 0.0), 0.99)
    found = []
    waves = [wave for wave in range(1, 1024) if 6 <= 4096 / wave <= 120]
    for wave in waves:
        turn = 2 * math.pi * wave / 2048
        share = 2 * abs((beside * np.exp(-1j * turn * time)).sum()) ** 2 / (count * squares)
        noise = (1 - red**2) / (1 - 2 * red * math.cos(turn) + red**2)
        found.append((share - noise * math.log(len(waves) * count / 2048 / 0.05) / (count / 2), 4096 / wave))
    share, period = max(found)
    return (share, period) if share > 0 else (0.0, None)


def awake_hours(days, rest):
    """The longest time without rest, in hours, from (since, until, hours) of days."""
    used = sorted(
        (since + hour * HOUR, min(since + (hour + 1) * HOUR, until))
        for since, until, hours in days
        for hour in range(26)
        if hours >> hour & 1
    )
    rests = [later for (_, end), (later, _) in pairwise(used) if later - end >= rest * HOUR]
    begins = [used[0][0], *rests]
    return max((until - max(one for one in begins if one < until)) / HOUR for _, until in used)
