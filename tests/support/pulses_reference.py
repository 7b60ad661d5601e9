"""Pulses as decision 148 reads, event by event: slow, plain, and the judge of the kernels."""

import statistics
from collections import Counter, defaultdict
from datetime import UTC, datetime, timedelta
from itertools import pairwise

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
SECOND, MINUTE, DAY = timedelta(seconds=1), timedelta(minutes=1), timedelta(days=1)


def measured(events, *, vocabulary, span=60, step=10, bar=0.6, published=None):
    """One dict a day of one actor; `events` are (at, kind), days those of UTC, `published` a usual bot's H."""
    days = defaultdict(list)
    for at, kind in sorted(events):
        days[EPOCH + (at - EPOCH) // DAY * DAY].append((at, kind if kind in vocabulary else "OTHER"))
    return [row(since, days[since], len(vocabulary), span, step, bar, published) for since in sorted(days)]


def row(since, events, size, span, step, bar, published):  # noqa: PLR0917 - all that the rule needs
    windows = defaultdict(Counter)
    pieces = defaultdict(list)
    for at, kind in events:
        windows[(at - since) // MINUTE][kind] += 1
        pieces[(at - since) // (step * MINUTE)].append((at, kind))
    cosines = {
        number: min(sum(window.values()) / sum(n * n for n in window.values()) ** 0.5 / size**0.5, 1.0)
        for number, window in windows.items()
    }
    beats = {number: steady_beats(piece) for number, piece in pieces.items()}
    spans = spans_of(cosines, beats, span, step)
    if published is None:
        high = {number for number, one in spans.items() if one["steady"] is not None and one["steady"] >= bar}
    else:
        high = {number for number, one in spans.items() if one["self_sim"] >= border(spans, published)}
    found = pulses_of(high, beats, span, step, None if published is not None else bar)
    inside = {number for first, end in found for number in windows if first * step <= number < end * step}
    return {
        "events": len(events),
        "spans": len(spans),
        "span_self_sim": max((one["self_sim"] for one in spans.values()), default=None),
        "span_steady": quartile([one["steady"] for one in spans.values() if one["steady"] is not None]),
        "pulses": len(found),
        "pulse_begin_min": min((first * step for first, _ in found), default=None),
        "pulse_end_min": max((end * step for _, end in found), default=None),
        "pulse_share": len(inside) / len(windows),
        "pulse_kinds": sum(len(windows[one]) for one in inside) / len(inside) if inside else None,
        "npc_kill_count": sum(kind == "combat.kill" for _, kind in events),
    }


def steady_beats(piece):
    """Beats of the kind with most steady ones, and how many these are."""
    told = [(0, 0)]
    for kind in {kind for _, kind in piece}:
        times = [at for at, other in piece if other == kind]
        before, beats, steady = None, 0, 0
        for one, other in pairwise(times):
            beat = other - one
            if beat > 5 * MINUTE:
                before = None
            elif beat >= 5 * SECOND:
                if before is not None:
                    beats += 1
                    steady += beat * 5 <= before * 6 and before * 5 <= beat * 6
                before = beat
        told.append((steady, beats))
    return max(told)


def spans_of(cosines, beats, span, step):
    spans = {}
    for number in range((24 * 60 - span) // step + 1):
        numbers = range(number * step, number * step + span)
        if sum(one in cosines for one in numbers) < 0.8 * span:
            continue
        mine = [beats.get(one, (0, 0)) for one in range(number, number + span // step)]
        steady, count = sum(one[0] for one in mine), sum(one[1] for one in mine)
        spans[number] = {
            "self_sim": 1 - statistics.pstdev(cosines.get(one, 0.0) for one in numbers) / 2,
            "steady": steady / count if count >= span / 2 else None,
        }
    return spans


def border(spans, bot_level):
    numbers = [one["self_sim"] for one in spans.values()]
    middle = statistics.median(numbers)
    return max(bot_level, middle + 4 * statistics.median(abs(one - middle) for one in numbers))


def pulses_of(high, beats, span, step, bar):
    """Runs of three spans and more, from the first steady piece to the last where a bar says what steady is."""
    runs = []
    for number in sorted(high):
        if runs and runs[-1][-1] == number - 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    found = []
    for run in runs:
        if len(run) < 3:
            continue
        pieces = range(run[0], run[-1] + span // step)
        counts = {one: beats.get(one, (0, 0)) for one in pieces}
        steady = [one for one, (n, of) in counts.items() if bar is not None and of >= step / 2 and n >= bar * of]
        first, end = (steady[0], steady[-1] + 1) if steady else (pieces[0], pieces[-1] + 1)
        if found and first <= found[-1][1]:
            first = found.pop()[0]
        found.append((first, end))
    return found


def quartile(values):
    """The upper one, between the two it falls between."""
    if not values:
        return None
    ordered = sorted(values)
    place = 0.75 * (len(ordered) - 1)
    low = int(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)
