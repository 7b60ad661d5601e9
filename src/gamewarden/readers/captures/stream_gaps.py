"""Which bytes of a TCP direction have not come yet: its gaps in their order, in a list that grows as they open.

The lists live in one array, outside of the flows' own rows, and only directions that have a gap own one. A list of
twice the room takes the place of one that is full, and the old one serves whoever needs one of its size. A gap is
found by halving. When `MOST_GAPS` are open the oldest is given up, which is counted: bytes that fill it late are then
taken as a retransmission.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from gamewarden.readers.kernels import Pointer, apart, part

Ints = npt.NDArray[np.int64]

MOST_GAPS = 1024  # of one direction: what a loss of one segment in ten leaves of 10,000 segments
_LEAST_ROOM, _SIZES = 4, 10  # gaps that the smallest list has room for, and how often that is doubled, plus one
_LARGEST_WORDS = 2 * _LEAST_ROOM << (_SIZES - 1)
_M32 = 0xFFFFFFFF
_HALF = 1 << 31

# Words of a direction's head: where its list begins, which size it has, its first gap, and how many there are.
PLACE, SIZE, FIRST, COUNT = range(4)
HEAD_WORDS = 4

# What is counted of all lists; from `_FREE` on, one a size, where the first unused list of that size begins, plus one.
WORDS_USED, FORGOTTEN, _FREE = range(3)


class Spans(NamedTuple):
    """All lists: pairs of words, a gap's first sequence number and its length."""

    words: Ints
    used: Ints


def new_spans() -> Spans:
    """No list at all, and room for the first."""
    return Spans(np.zeros(2 * _LARGEST_WORDS, np.int64), np.zeros(_FREE + _SIZES, np.int64))


def with_more_spans(spans: Spans) -> Spans:
    """The same lists with room for one more of any size."""
    if spans.used[WORDS_USED] + _LARGEST_WORDS <= len(spans.words):
        return spans
    words = np.zeros(len(spans.words) * 2, np.int64)
    words[: len(spans.words)] = spans.words
    return spans._replace(words=words)


def give_back_all(spans: Spans, heads: Ints) -> None:
    """Let the lists of directions that nobody follows any more serve others."""
    for place, size in heads[heads[:, COUNT] > 0][:, [PLACE, SIZE]].tolist():
        spans.words[place] = spans.used[_FREE + size]
        spans.used[_FREE + size] = place + 1


class GapPointers(NamedTuple):
    """Heads and lists inside a kernel."""

    heads: Pointer
    words: Pointer
    used: Pointer
    most_words: int  # when more are used, the next list might not find room


@part
def lacks_spans(gaps: GapPointers) -> bool:
    """Whether the next gap might not find room."""
    return gaps.used[WORDS_USED] > gaps.most_words


@part
def most_words(length: int) -> int:
    """How many words may be used before there is no room for one more list of any size."""
    return length - _LARGEST_WORDS


@part
def signed(difference: int) -> int:
    """How far one sequence number is ahead of another, negative when it is behind."""
    return ((difference + _HALF) & _M32) - _HALF


@part
def _new_list(gaps: GapPointers, size: int) -> int:
    free = gaps.used[_FREE + size]
    if free != 0:
        gaps.used[_FREE + size] = gaps.words[free - 1]
        return free - 1
    place = gaps.used[WORDS_USED]
    gaps.used[WORDS_USED] = place + (2 * _LEAST_ROOM << size)
    return place


@part
def _give_back(gaps: GapPointers, place: int, size: int) -> None:
    gaps.words[place] = gaps.used[_FREE + size]
    gaps.used[_FREE + size] = place + 1


@part
def _begin(gaps: GapPointers, head: int) -> int:
    """The word at which a direction's first gap stands."""
    return gaps.heads[head + PLACE] + 2 * gaps.heads[head + FIRST]


@part
def _drop(gaps: GapPointers, head: int, index: int, count: int) -> None:
    """Take away so many gaps from the index on; a list without gaps is given back."""
    left = gaps.heads[head + COUNT] - count
    gaps.heads[head + COUNT] = left
    if left == 0:
        _give_back(gaps, gaps.heads[head + PLACE], gaps.heads[head + SIZE])
    elif index == 0:
        gaps.heads[head + FIRST] += count
    else:
        begin = _begin(gaps, head)
        for word in range(begin + 2 * index, begin + 2 * left):
            gaps.words[word] = gaps.words[word + 2 * count]


@apart
def forget_all(gaps: GapPointers, head: int) -> None:
    """A direction begins anew."""
    if gaps.heads[head + COUNT] != 0:
        _drop(gaps, head, 0, gaps.heads[head + COUNT])


@apart
def forget_before(gaps: GapPointers, head: int, oldest: int) -> None:
    """Take away the gaps that end before a sequence number, since nothing that old is waited for."""
    stale = 0
    begin = _begin(gaps, head)
    while stale < gaps.heads[head + COUNT]:
        word = begin + 2 * stale
        if signed(gaps.words[word] + gaps.words[word + 1] - oldest) > 0:
            break
        stale += 1
    if stale > 0:
        _drop(gaps, head, 0, stale)


@part
def _move(gaps: GapPointers, head: int, place: int) -> None:
    """The gaps to another place, or to the beginning of their own."""
    begin = _begin(gaps, head)
    for word in range(2 * gaps.heads[head + COUNT]):
        gaps.words[place + word] = gaps.words[begin + word]
    gaps.heads[head + PLACE] = place
    gaps.heads[head + FIRST] = 0


@part
def _make_room(gaps: GapPointers, head: int) -> None:
    """See that one more gap finds room behind the last."""
    count = gaps.heads[head + COUNT]
    if count == 0:
        gaps.heads[head + PLACE] = _new_list(gaps, 0)
        gaps.heads[head + SIZE] = gaps.heads[head + FIRST] = 0
        return
    if count == MOST_GAPS:
        _drop(gaps, head, 0, 1)
        gaps.used[FORGOTTEN] += 1
        count -= 1
    size = gaps.heads[head + SIZE]
    place = gaps.heads[head + PLACE]
    room = _LEAST_ROOM << size
    if gaps.heads[head + FIRST] + count < room:
        return
    if 2 * count <= room:  # moved rarely: as many gaps must open before it is done again
        _move(gaps, head, place)
    else:
        _move(gaps, head, _new_list(gaps, size + 1))
        _give_back(gaps, place, size)
        gaps.heads[head + SIZE] = size + 1


@part
def _write(gaps: GapPointers, word: int, start: int, length: int) -> None:
    gaps.words[word] = start & _M32
    gaps.words[word + 1] = length


@apart
def add(gaps: GapPointers, head: int, start: int, length: int) -> None:
    """A gap opens behind all others."""
    _make_room(gaps, head)
    _write(gaps, _begin(gaps, head) + 2 * gaps.heads[head + COUNT], start, length)
    gaps.heads[head + COUNT] += 1


@part
def _insert(gaps: GapPointers, head: int, index: int, start: int, length: int) -> None:
    """A gap between others."""
    before = gaps.heads[head + COUNT]
    _make_room(gaps, head)
    count = gaps.heads[head + COUNT]
    index -= before - count  # the oldest was given up
    begin = _begin(gaps, head)
    for word in range(begin + 2 * count - 1, begin + 2 * index - 1, -1):
        gaps.words[word + 2] = gaps.words[word]
    _write(gaps, begin + 2 * index, start, length)
    gaps.heads[head + COUNT] = count + 1


@part
def _first_behind(gaps: GapPointers, head: int, seq: int) -> int:
    """Which gap is the first to end behind a sequence number."""
    begin = _begin(gaps, head)
    low, high = 0, gaps.heads[head + COUNT]
    while low < high:
        middle = (low + high) >> 1
        word = begin + 2 * middle
        if signed(gaps.words[word] + gaps.words[word + 1] - seq) <= 0:
            low = middle + 1
        else:
            high = middle
    return low


@apart
def fill(gaps: GapPointers, head: int, seq: int, length: int) -> int:
    """How many of these bytes lie in gaps; they do no longer."""
    fresh = 0
    if gaps.heads[head + COUNT] == 0:
        return fresh
    first = _first_behind(gaps, head, seq)
    begin = _begin(gaps, head)
    closed = 0
    for index in range(first, gaps.heads[head + COUNT]):
        word = begin + 2 * index
        start, size = gaps.words[word], gaps.words[word + 1]
        offset = signed(start - seq)
        if offset >= length:
            break
        before, behind = max(-offset, 0), max(offset + size - length, 0)
        fresh += size - before - behind
        if before > 0:
            gaps.words[word + 1] = before
            first += 1
            if behind > 0:
                _insert(gaps, head, index + 1, seq + length, behind)
                return fresh
        elif behind > 0:
            _write(gaps, word, seq + length, behind)
        else:
            closed += 1
    if closed > 0:
        _drop(gaps, head, first, closed)
    return fresh
