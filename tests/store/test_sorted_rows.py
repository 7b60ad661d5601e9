"""Rows put aside: what comes back is sorted and whole, however little memory there is for it."""

import tempfile
import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gamewarden.core.sorted_rows import SortedRows
from gamewarden.errors import WriteError

RECORD = np.dtype([("slot", "i4"), ("at", "i8"), ("value", "i2")])


def put_aside(rows, most, piece):
    aside = SortedRows(RECORD, most)
    for begin in range(0, len(rows), piece):
        part = rows[begin : begin + piece]
        aside.add([np.array(column, dtype) for column, dtype in zip(zip(*part, strict=True), "iqh", strict=True)])
    return aside


@given(
    rows=st.lists(st.tuples(st.integers(0, 4), st.integers(-(2**62), 2**62), st.integers(0, 9)), max_size=80),
    most=st.sampled_from((1, 2, 7, 1000)),
    piece=st.integers(1, 30),
)
def test_rows_come_back_sorted_and_whole_whatever_fits_into_memory(rows, most, piece):
    found = [tuple(row) for batch in put_aside(rows, most, piece).batches() for row in batch.tolist()]

    assert [row[:2] for row in found] == sorted(row[:2] for row in rows)
    assert sorted(found) == sorted(rows)


def test_few_rows_need_no_file(monkeypatch):
    monkeypatch.setattr(tempfile, "TemporaryFile", None)

    assert len(next(put_aside([(1, 2, 3)] * 50, 50, 10).batches())) == 50


def test_many_rows_are_never_all_in_memory():
    chance = np.random.default_rng(3)
    tracemalloc.start()
    aside = SortedRows(RECORD, 20_000)
    for _ in range(60):
        aside.add([chance.integers(0, 9, 10_000, np.int32), chance.integers(0, 1 << 40, 10_000), np.zeros(10_000)])
    total = sum(len(batch) for batch in aside.batches())
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    assert total == 600_000
    assert peak < total * RECORD.itemsize / 3


def test_no_room_for_the_file_is_said_on_one_line_with_the_way_out(monkeypatch):
    def full(*_args):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(tempfile, "TemporaryFile", full)

    with pytest.raises(WriteError, match=r"cannot be put aside there \(No space left on device\); .* set TMPDIR"):
        put_aside([(1, 2, 3)] * 50, 10, 10)
