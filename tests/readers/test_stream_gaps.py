"""Which bytes of a TCP stream are new, however many gaps are open, told by plain Python that remembers every byte."""

from bisect import bisect_left, bisect_right

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numba import njit

from capture_bytes import pcap, up
from capture_reading import read, sizes
from gamewarden.readers.captures import flows as flow_table
from gamewarden.readers.captures import stream_gaps

FAR = 1 << 24


@njit
def _row(flows):
    return flow_table.flow_row(flow_table.flow_pointers(flows), 0, 1, 0, 2, 3)


@njit
def _new_bytes(flows, row, side, seq, length):
    return flow_table.new_bytes(flow_table.flow_pointers(flows), row, side, seq, length)


class Kernel:
    """The flow table's answer, with room made for it as the readers do."""

    def __init__(self):
        self.flows = flow_table.new_flows(1)
        self.row = _row(self.flows)

    def new(self, place, length, side=0):
        self.flows = flow_table.with_more_room(self.flows)
        return int(_new_bytes(self.flows, self.row, side, place % 2**32, length))

    @property
    def forgotten(self):
        return int(self.flows.spans.used[stream_gaps.FORGOTTEN])


class Stretches:
    """The oracle: stretches [begin, end) of all bytes seen, by places that never wrap around."""

    def __init__(self):
        self.begins, self.ends = [], []

    def new(self, place, length):
        begin, end = place, place + length
        if not self.begins:
            self.begins, self.ends = [begin], [end]
            return length
        if begin < self.begins[0]:  # before the first captured byte: a retransmission
            begin = min(self.begins[0], end)
        low, high = bisect_left(self.ends, begin), bisect_right(self.begins, end)
        known = sum(
            max(0, min(end, self.ends[n]) - max(begin, self.begins[n])) for n in range(low, min(high, len(self.ends)))
        )
        if end > begin:
            first = min([begin, *self.begins[low:high]])
            last = max([end, *self.ends[low:high]])
            self.begins[low:high], self.ends[low:high] = [first], [last]
        return max(end - begin, 0) - known


def compare(segments):
    ours, oracle = Kernel(), Stretches()
    for number, (place, length) in enumerate(segments):
        assert ours.new(place, length) == oracle.new(place, length), number
    assert ours.forgotten == 0
    return ours


def stream(dice, count, largest):
    """Segments of one direction: late by any number of places, lost, sent twice, cut otherwise, overlapping."""
    lengths = dice.integers(1, largest, count)
    ends = np.cumsum(lengths)
    late = dice.integers(0, dice.integers(1, count + 1), count) * (dice.random(count) < dice.random())
    order = np.argsort(np.arange(count) + late, kind="stable")
    order = order[dice.random(count) > dice.random() / 2]
    if not len(order):
        return
    for number in order.tolist():
        yield int(ends[number] - lengths[number]), int(lengths[number])
        if dice.random() < 0.2:
            first = int(dice.integers(max(0, ends[number] - 5 * largest), ends[number]))
            yield first, int(dice.integers(1, 4 * largest))


@given(start=st.integers(0, 2**32 - 1), seed=st.integers(0, 2**32 - 1), count=st.integers(1, 600))
def test_new_bytes_agree_with_an_oracle_that_forgets_nothing(start, seed, count):
    dice = np.random.default_rng(seed)

    compare((start + place, length) for place, length in stream(dice, count, 40))


@pytest.mark.parametrize("order", ["forward", "backward", "any"])
def test_a_thousand_open_gaps_are_filled_exactly_and_leave_nothing_behind(order):
    gaps = [(20 * n + 10, 10) for n in range(1000)]
    if order != "forward":
        gaps.reverse()
    if order == "any":
        np.random.default_rng(3).shuffle(gaps)
    ours = compare([*((2**32 - 9_000 + 20 * n, 10) for n in range(1001)), *((2**32 - 9_000 + a, b) for a, b in gaps)])

    assert not ours.flows.gaps[:, stream_gaps.COUNT].any()
    assert ours.new(2**32 - 9_000, 20_010) == 0


def test_segments_in_the_middle_of_gaps_split_them_into_many():
    compare([(0, 10), (100_000, 10), *((200 * n + 50, 7) for n in range(1, 450)), (0, 100_020)])


def test_both_directions_have_gaps_of_their_own():
    ours, sides = Kernel(), (Stretches(), Stretches())
    dice = np.random.default_rng(5)
    for (place, length), side in zip(stream(dice, 900, 30), dice.integers(0, 2, 2000).tolist(), strict=False):
        assert ours.new(place, length, side) == sides[side].new(place, length)


def test_of_more_gaps_than_are_kept_the_oldest_are_given_up_and_counted():
    most = stream_gaps.MOST_GAPS
    ours = Kernel()
    for n in range(most + 4):
        ours.new(20 * n, 10)
    assert ours.forgotten == 3
    assert [ours.new(20 * n + 10, 10) for n in range(5)] == [0, 0, 0, 10, 10]
    assert sum(ours.new(20 * n + 10, 10) for n in range(most + 3)) == 10 * (most - 2)


def test_gaps_that_were_given_up_are_remarked_on(tmp_path):
    _, report = read(tmp_path, pcap([up(20 * n, 10) for n in range(stream_gaps.MOST_GAPS + 3)]))

    assert report.counts["gaps in TCP streams given up, since too many were open"] == 2


def test_a_gap_from_before_the_numbers_wrapped_around_is_no_gap_any_more():
    ours = Kernel()
    ours.new(0, 10)
    place = 20  # a gap of ten bytes stays open …
    while place < 2**32 + 100:  # … for a whole turn of the sequence numbers
        length = min(FAR - 1, 2**32 + 100 - place)
        assert ours.new(place, length) == length
        place += length

    assert ours.new(2**32 + 10, 10) == 0
    assert not ours.flows.gaps[0, stream_gaps.COUNT]


def test_gaps_in_many_streams_at_once_are_kept_apart():
    flows = flow_table.new_flows(1)
    oracle = {}
    dice = np.random.default_rng(9)
    rows = np.arange(64)
    for row, place, length in zip(
        dice.choice(rows, 30_000), dice.integers(0, 9000, 30_000), dice.integers(1, 30, 30_000), strict=True
    ):
        flows = flow_table.with_more_room(flows)
        if (row, 0) not in oracle:
            oracle[row, 0] = Stretches()
            oracle[row, 0].new(0, 1)
            _new_bytes(flows, row, 0, 0, 1)
        assert _new_bytes(flows, row, 0, place, length) == oracle[row, 0].new(int(place), int(length))


def test_lists_of_gaps_that_are_done_with_are_used_again():
    ours = Kernel()
    for turn in range(200):
        base = 10_000 * turn
        for n in range(200):
            ours.new(base + 20 * n, 10)
        ours.new(base, 10_000)
    assert ours.flows.spans.used[stream_gaps.WORDS_USED] < 4096


def test_late_fills_of_many_gaps_are_no_retransmissions(tmp_path):
    """One flow of a public capture lost 11 % of its bytes when four gaps were kept."""
    holes = [up(20 * n, 10) for n in range(50)]
    fills = [up(20 * n + 10, 10) for n in range(49)]

    assert sizes(tmp_path, holes + fills) == [10] * 99
