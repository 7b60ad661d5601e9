"""From pieces of play to spans, and from spans to pulses: compiled, and without a look at any event.

A span is so many windows, a step further each time, counted from the beginning of the period. One that is nearly empty
is left out, since silence is alike, too.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gamewarden.core.kernels import kernel

Records = NDArray[Any]
Ints = NDArray[np.int64]

FULL = 0.8  # share of windows with an event without which a span says nothing (spec §2.10)
RUN = 3  # spans that follow each other without which there is no pulse
DEVIATIONS = 4  # median absolute deviations above the account's own median: the published border
BEATS = 0.5  # beats a window without which nothing is known of their evenness

SPAN = np.dtype(
    [
        ("period", "i8"),  # its place among the periods
        ("number", "i8"),  # of its first piece
        ("windows", "i8"),
        ("spread", "f8"),  # σ of the cosines, an empty window's being 0
        ("active_spread", "f8"),  # the same without empty windows
        ("steady", "f8"),  # share of beats as long as the one before; NaN where there are too few
        ("high", "u1"),  # above the borders of a pulse
        ("pulse", "u1"),
    ],
    align=True,
)
PULSE = np.dtype(
    [
        ("period", "i8"),
        ("first", "i8"),  # of its pieces
        ("end", "i8"),  # behind its last piece
        ("first_span", "i8"),  # among those of the period
        ("end_span", "i8"),
        ("windows", "i8"),  # with an event
        ("variety", "i8"),
        ("spread", "f8"),  # the median of its spans
        ("steady", "f8"),  # of all its beats; NaN where there are too few
    ],
    align=True,
)


@dataclass(frozen=True)
class Found:
    """The periods of some pieces, their spans, and the pulses among them."""

    firsts: Ints  # the first piece of each period, and the number of all pieces
    spans: Records
    pulses: Records


@dataclass(frozen=True)
class Rule:
    """When spans are a pulse."""

    unit: int
    span: int  # windows
    step: int
    size: int  # kinds of the vocabulary
    steady: float  # share of steady beats from which a span beats as a clock does
    published: bool = False
    bot_level: float = 0.0  # H of a usual bot


def find(pieces: Records, rule: Rule) -> Found:
    """The spans and pulses of pieces that are sorted by slot, period and number."""
    new = (np.diff(pieces["slot"]) != 0) | (np.diff(pieces["since"]) != 0)
    firsts = np.flatnonzero(np.concatenate([[True], new, [True]])) if len(pieces) else np.zeros(1, np.int64)
    reach = rule.span // rule.step
    spans = np.empty(len(pieces) * reach, SPAN)
    pulses = np.empty(len(pieces), PULSE)
    numbers = (rule.unit, rule.span, rule.step, rule.size, rule.steady, rule.published, rule.bot_level)
    used, found = _find(pieces, firsts, numbers, spans, pulses)
    return Found(firsts, spans[:used].copy(), pulses[:found].copy())


@kernel
def _find(pieces: Records, firsts: Ints, rule: Any, spans: Records, pulses: Records) -> tuple[int, int]:  # noqa: ANN401 - numbers of several types
    used, found = 0, 0
    for period in range(len(firsts) - 1):
        mine = pieces[firsts[period] : firsts[period + 1]]
        begin = used
        used = _spans(mine, period, rule, spans, used)
        _mark(spans[begin:used], rule)
        found = _pulses(mine, spans[begin:used], rule, pulses, found)
    return used, found


@kernel
def _spans(pieces: Records, period: int, rule: Any, spans: Records, used: int) -> int:  # noqa: ANN401 - as above
    """Every span with enough windows; where there is no piece at all, none is looked for."""
    unit, span, step, size = rule[0], rule[1], rule[2], rule[3]
    reach = span // step
    last = (pieces[0].until - pieces[0].since) // (unit * step) - reach
    begin, number = 0, max(pieces[0].number - reach + 1, 0)
    while begin < len(pieces) and number <= last:
        if pieces[begin].number < number:
            begin += 1
            continue
        if pieces[begin].number >= number + reach:
            number = pieces[begin].number - reach + 1
            continue
        windows, mean, spread, beats, steady = 0, 0.0, 0.0, 0, 0
        for place in range(begin, len(pieces)):
            piece = pieces[place]
            if piece.number >= number + reach:
                break
            apart = piece.mean - mean
            spread += piece.spread + apart * apart * windows * piece.windows / (windows + piece.windows)
            mean += apart * piece.windows / (windows + piece.windows)
            windows += piece.windows
            beats += piece.beats
            steady += piece.steady
        if windows >= FULL * span - 1e-9:
            spans[used].period = period
            spans[used].number = number
            spans[used].windows = windows
            spans[used].spread = np.sqrt((spread + mean * mean * windows * (span - windows) / span) / span / size)
            spans[used].active_spread = np.sqrt(spread / windows / size)
            spans[used].steady = steady / beats if beats >= BEATS * span else np.nan
            spans[used].high = 0
            spans[used].pulse = 0
            used += 1
        number += 1
    return used


@kernel
def _mark(spans: Records, rule: Any) -> None:  # noqa: ANN401 - as above
    """Which spans stand above the borders of a pulse."""
    steady, published, bot_level = rule[4], rule[5], rule[6]
    if len(spans) == 0:
        return
    alike = np.empty(len(spans))
    for place in range(len(spans)):
        alike[place] = 1.0 - spans[place].spread / 2.0
    middle = np.median(alike)
    border = max(bot_level, middle + DEVIATIONS * np.median(np.abs(alike - middle)))
    for place in range(len(spans)):
        if published:
            spans[place].high = alike[place] >= border
        else:
            spans[place].high = spans[place].steady >= steady  # NaN is not


@kernel
def _pulses(pieces: Records, spans: Records, rule: Any, pulses: Records, found: int) -> int:  # noqa: ANN401 - as above
    """Runs of high spans that follow each other; those that overlap in time are one pulse."""
    begun, first = found, 0
    while first < len(spans):
        end = first
        while end < len(spans) and spans[end].high and spans[end].number - spans[first].number == end - first:
            end += 1
        if end - first >= RUN:
            low, high = spans[first].number, spans[end - 1].number + rule[1] // rule[2]
            if not rule[5]:
                low, high = _trimmed(pieces, low, high, rule[2], rule[4])
            if found == begun or low > pulses[found - 1].end:
                pulses[found].period = spans[first].period
                pulses[found].first = low
                pulses[found].first_span = first
                found += 1
            pulses[found - 1].end = high
            pulses[found - 1].end_span = end
            spans["pulse"][first:end] = 1
        first = max(end, first + 1)
    for place in range(begun, found):
        _tell(pieces, spans, pulses[place])
    return found


@kernel
def _tell(pieces: Records, spans: Records, pulse: Any) -> None:  # noqa: ANN401 - a compiled record
    """What a pulse is like."""
    windows, variety, beats, steady = 0, 0, 0, 0
    for piece in pieces:
        if pulse.first <= piece.number < pulse.end:
            windows += piece.windows
            variety += piece.variety
            beats += piece.beats
            steady += piece.steady
    pulse.windows = windows
    pulse.variety = variety
    pulse.steady = steady / beats if beats > 0 else np.nan
    mine = spans[pulse.first_span : pulse.end_span]
    pulse.spread = np.median(mine["spread"][mine["pulse"] == 1])


@kernel
def _trimmed(pieces: Records, begin: int, end: int, step: int, bar: float) -> tuple[int, int]:
    """A span at the border is only partly steady: from the first piece that is itself, to the last."""
    low, high = end, begin
    for piece in pieces:
        if begin <= piece.number < end and piece.beats >= BEATS * step and piece.steady >= bar * piece.beats:
            low = min(low, piece.number)
            high = max(high, piece.number + 1)
    if low < high:
        return low, high
    return begin, end
