"""A client's bytes to decoded messages: one pass over a buffer, no Python object a message.

Each scanner takes a buffer and where to start, fills the columns, and returns (offset, rows, status), so that its
caller can hand in more bytes, take the rows away or find a way past damage, and go on at the offset. Every part of a
message is read at its place from the message's start and only if it lies inside, never by a cursor that could slip.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from gamewarden.readers.kernels import Pointer, kernel, part, pointer_to

Bytes = npt.NDArray[np.uint8]
Ints = npt.NDArray[np.int64]

# Why a scanner came back.
NEEDS_BYTES, ROWS_FULL, END_MARK, UNKNOWN_ID, ZERO_LENGTH, BAD_LENGTH = range(6)

TAG_BYTES = 12  # "ADAM", seconds, microseconds
LEAST_DYNAMIC = 4  # id and length
NOT_TOLD = -1

# Columns of a layout: one row for each of the 65,536 ids; a place is 0 where there is none, since there the id stands.
LENGTH, FUNCTION, CONNECT, PLACE, X, Y, TARGET, ACTION, ITEM, SKILL, AMOUNT, AMOUNT_WIDTH, ACCOUNT, CHARACTER = range(
    14
)
LAYOUT_COLUMNS = 14
KNOWN_UNUSED = -2  # a length that says: the table has this id and gives it no bytes

# Words of a stream's state.
AT, TIMED, SESSION, OPEN, NEXT_SESSION, OPENED, TAGGED_BYTES, MESSAGE_BYTES = range(8)
STATE_WORDS = 8


class Rows(NamedTuple):
    """The columns being filled; -1 is "not told"."""

    session: Ints
    at: Ints
    timed: Bytes
    id: npt.NDArray[np.uint16]
    size: npt.NDArray[np.int32]
    x: npt.NDArray[np.int16]
    y: npt.NDArray[np.int16]
    target: Ints
    action: npt.NDArray[np.int16]
    item: npt.NDArray[np.int32]
    skill: npt.NDArray[np.int32]
    amount: Ints
    account: Ints  # of the sessions that begin in these rows, not of rows
    character: Ints


class ScanBuffers(NamedTuple):
    """All that lies before a kernel, as pointers."""

    data: Pointer
    layout: Pointer
    state: Pointer
    session: Pointer
    at: Pointer
    timed: Pointer
    id: Pointer
    size: Pointer
    x: Pointer
    y: Pointer
    target: Pointer
    action: Pointer
    item: Pointer
    skill: Pointer
    amount: Pointer
    account: Pointer
    character: Pointer


def new_rows(capacity: int) -> Rows:
    """Empty columns."""
    types = {"timed": np.uint8, "id": np.uint16, "size": np.int32, "x": np.int16, "y": np.int16, "action": np.int16}
    types |= {"item": np.int32, "skill": np.int32}
    return Rows(*(np.empty(capacity, types.get(name, np.int64)) for name in Rows._fields))


@part
def _desk(data: Bytes, layout: npt.NDArray[np.int32], state: Ints, rows: Rows) -> ScanBuffers:
    return ScanBuffers(
        pointer_to(data),
        pointer_to(layout),
        pointer_to(state),
        pointer_to(rows.session),
        pointer_to(rows.at),
        pointer_to(rows.timed),
        pointer_to(rows.id),
        pointer_to(rows.size),
        pointer_to(rows.x),
        pointer_to(rows.y),
        pointer_to(rows.target),
        pointer_to(rows.action),
        pointer_to(rows.item),
        pointer_to(rows.skill),
        pointer_to(rows.amount),
        pointer_to(rows.account),
        pointer_to(rows.character),
    )


@part
def _u16(data: Pointer, at: int) -> int:
    return np.int64(data[at]) | np.int64(data[at + 1]) << 8


@part
def _u32(data: Pointer, at: int) -> int:
    return _u16(data, at) | _u16(data, at + 2) << 16


@part
def _size(data: Pointer, layout: Pointer, offset: int, end: int) -> tuple[int, int]:
    """(0 or why there is no whole message here, its bytes)."""
    if offset + 2 > end:
        return NEEDS_BYTES + 1, 0
    identity = _u16(data, offset)
    if identity == 0:
        return END_MARK + 1, 0
    size = np.int64(layout[identity * LAYOUT_COLUMNS + LENGTH])
    if size == 0:
        return UNKNOWN_ID + 1, 0
    if size == KNOWN_UNUSED:
        return ZERO_LENGTH + 1, 0
    if size == -1:
        if offset + 4 > end:
            return NEEDS_BYTES + 1, 0
        size = _u16(data, offset + 2)
        if size < LEAST_DYNAMIC:
            return BAD_LENGTH + 1, 0
    if size < 2:
        return BAD_LENGTH + 1, 0
    if offset + size > end:
        return NEEDS_BYTES + 1, 0
    return 0, size


@part
def _number16(desk: ScanBuffers, place: int, offset: int, size: int) -> int:
    if place == 0 or place + 2 > size:
        return NOT_TOLD
    return _u16(desk.data, offset + place)


@part
def _number32(desk: ScanBuffers, place: int, offset: int, size: int) -> int:
    if place == 0 or place + 4 > size:
        return NOT_TOLD
    return _u32(desk.data, offset + place)


@part
def _begin_session(desk: ScanBuffers, row: int, offset: int, size: int, connects: bool) -> None:
    """A new session, with the account and character a connect message tells."""
    state = desk.state
    state[SESSION] = state[NEXT_SESSION]
    state[NEXT_SESSION] += 1
    state[OPEN] = 1
    opened = state[OPENED]
    state[OPENED] = opened + 1
    account = np.int64(NOT_TOLD)
    character = np.int64(NOT_TOLD)
    if connects:
        account = _number32(desk, np.int64(desk.layout[row + ACCOUNT]), offset, size)
        character = _number32(desk, np.int64(desk.layout[row + CHARACTER]), offset, size)
    desk.account[opened] = account
    desk.character[opened] = character


@part
def _put_place(desk: ScanBuffers, row: int, offset: int, size: int, count: int) -> None:
    """Where a walk or a skill goes to: ten bits each in three bytes, or two numbers of their own."""
    x = np.int64(NOT_TOLD)
    y = np.int64(NOT_TOLD)
    place = np.int64(desk.layout[row + PLACE])
    if place != 0:
        if place + 3 <= size:
            low = np.int64(desk.data[offset + place + 1])
            x = np.int64(desk.data[offset + place]) * 4 + (low >> 6)
            y = ((low & 0x3F) << 4) + (np.int64(desk.data[offset + place + 2]) >> 4)
    elif desk.layout[row + X] != 0:
        x = _number16(desk, np.int64(desk.layout[row + X]), offset, size)
        y = _number16(desk, np.int64(desk.layout[row + Y]), offset, size)
        if x > 0x7FFF or y > 0x7FFF or y < 0:  # no map is as large
            x = np.int64(NOT_TOLD)
            y = np.int64(NOT_TOLD)
    desk.x[count] = x
    desk.y[count] = y


@part
def _put_amount(desk: ScanBuffers, row: int, offset: int, size: int, count: int) -> None:
    place = np.int64(desk.layout[row + AMOUNT])
    width = np.int64(desk.layout[row + AMOUNT_WIDTH])
    amount = np.int64(NOT_TOLD)
    if place != 0 and place + width <= size:
        if width == 4:
            amount = _u32(desk.data, offset + place)
        elif width == 2:
            amount = _u16(desk.data, offset + place)
        else:
            amount = np.int64(desk.data[offset + place])
    desk.amount[count] = amount


@part
def _put(desk: ScanBuffers, offset: int, size: int, count: int) -> None:
    """One message as a row."""
    identity = _u16(desk.data, offset)
    row = identity * LAYOUT_COLUMNS
    state = desk.state
    connects = desk.layout[row + CONNECT] != 0
    if connects or state[OPEN] == 0:
        _begin_session(desk, row, offset, size, connects)
    desk.session[count] = state[SESSION]
    desk.at[count] = state[AT]
    desk.timed[count] = state[TIMED]
    desk.id[count] = identity
    desk.size[count] = size
    _put_place(desk, row, offset, size, count)
    desk.target[count] = _number32(desk, np.int64(desk.layout[row + TARGET]), offset, size)
    action = np.int64(desk.layout[row + ACTION])
    desk.action[count] = np.int64(desk.data[offset + action]) if 0 < action < size else NOT_TOLD
    desk.item[count] = _number16(desk, np.int64(desk.layout[row + ITEM]), offset, size)
    desk.skill[count] = _number16(desk, np.int64(desk.layout[row + SKILL]), offset, size)
    _put_amount(desk, row, offset, size, count)
    state[MESSAGE_BYTES] += size


@kernel
def scan_tagged(
    data: Bytes, offset: int, end: int, layout: npt.NDArray[np.int32], state: Ints, rows: Rows, count: int
) -> tuple[int, int, int]:
    """A packetstream: messages, before any number of which stands a tag with the time of those that follow."""
    capacity = len(rows.at)
    desk = _desk(data, layout, state, rows)
    bytes_ = desk.data
    while True:
        if count == capacity:
            return offset, count, ROWS_FULL
        if offset + 4 <= end and _u32(bytes_, offset) == 0x4D414441:
            if offset + TAG_BYTES > end:
                return offset, count, NEEDS_BYTES
            state[AT] = _u32(bytes_, offset + 4) * 1_000_000 + _u32(bytes_, offset + 8)
            state[TIMED] = 1
            state[TAGGED_BYTES] += TAG_BYTES
            offset += TAG_BYTES
            continue
        why, size = _size(bytes_, desk.layout, offset, end)
        if why == UNKNOWN_ID + 1 and offset + 4 > end and _u16(bytes_, offset) == 0x4441:
            return offset, count, NEEDS_BYTES  # perhaps the beginning of a tag
        if why != 0:
            return offset, count, why - 1
        _put(desk, offset, size, count)
        count += 1
        offset += size


@kernel
def find_tag(data: Bytes, start: int, end: int) -> int:
    """Where the next tag begins, or -1."""
    bytes_ = pointer_to(data)
    for place in range(start, end - 3):
        if bytes_[place] == 0x41 and _u32(bytes_, place) == 0x4D414441:
            return place
    return -1


@kernel
def scan_plain(
    data: Bytes,
    offset: int,
    end: int,
    ends: Ints,
    times: Ints,
    segment: int,
    layout: npt.NDArray[np.int32],
    state: Ints,
    rows: Rows,
    count: int,
) -> tuple[int, int, int, int]:
    """A TCP stream: messages alone; one has the time of the segment that holds its last byte.

    Segment number i ends before byte `ends[i]` and was captured at `times[i]`; the last one ends at `end`.
    Returns (offset, rows, status, segment).
    """
    capacity = len(rows.at)
    desk = _desk(data, layout, state, rows)
    segments = pointer_to(ends)
    moments = pointer_to(times)
    state[TIMED] = 1
    while True:
        if count == capacity:
            return offset, count, ROWS_FULL, segment
        why, size = _size(desk.data, desk.layout, offset, end)
        if why != 0:
            return offset, count, why - 1, segment
        while segments[segment] < offset + size:
            segment += 1
        state[AT] = moments[segment]
        _put(desk, offset, size, count)
        count += 1
        offset += size


@kernel
def begins_here(
    data: Bytes, offset: int, segment_end: int, end: int, layout: npt.NDArray[np.int32], enough: int
) -> int:
    """Whether messages seem to begin at a place: 1 yes, 0 no, -1 more bytes would tell.

    Yes means that messages the server has functions for follow each other exactly to the end of this segment, or that
    `enough` of them follow each other.
    """
    bytes_ = pointer_to(data)
    table = pointer_to(layout)
    seen = 0
    while True:
        if offset == segment_end and seen > 0:
            return 1
        why, size = _size(bytes_, table, offset, end)
        if why == NEEDS_BYTES + 1:
            return -1
        if why != 0 or table[_u16(bytes_, offset) * LAYOUT_COLUMNS + FUNCTION] == 0:
            return 0
        seen += 1
        if seen == enough:
            return 1
        offset += size


def layout_length(length: int) -> int:
    """A table's length as a layout has it: 0 is kept for ids that are not there."""
    return KNOWN_UNUSED if length == 0 else length
