"""The traffic test packet by packet: a few whole numbers a player, one cache line each.

Every sum is of integers and therefore exact; the only fraction is the last division of each test. Players are found in
two phases a block of packets, so that the waits for memory overlap.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gamewarden.core.kernels import kernel

NEVER = np.int64(np.iinfo(np.int64).min)  # no packet yet

# What is kept of a player, 64 bytes. A sub-window's five sums follow from three: X leaves out the first value, Y the
# last.
PLAYER = np.dtype(
    [
        ("at", np.int64),  # the clock: the latest time of a counted packet
        ("since", np.int64),  # the window's first packet
        ("squares", np.int64),  # of the sub-window's sizes
        ("products", np.int64),  # of neighbours in the sub-window
        ("total", np.int32),  # of the sub-window's sizes
        ("first", np.int32),  # size in the sub-window
        ("previous", np.int32),  # size
        ("window", np.uint32),  # number of the window under way
        ("packets", np.uint16),  # in the window so far
        ("position", np.uint16),  # in the sub-window
        ("votes", np.uint16),  # sub-windows that said bot
        ("abstained", np.uint16),  # sub-windows that could not vote
        ("gaps_over_1", np.uint16),
        ("gaps_over_2", np.uint16),
        ("sizes_over_1", np.uint16),
        ("sizes_over_2", np.uint16),
    ]
)

# A completed window.
DONE = np.dtype(
    [
        ("since", np.int64),
        ("until", np.int64),
        ("player", np.int32),
        ("window", np.uint32),
        ("gaps_over_1", np.uint16),
        ("gaps_over_2", np.uint16),
        ("sizes_over_1", np.uint16),
        ("sizes_over_2", np.uint16),
        ("votes", np.uint16),
        ("valid", np.uint16),
        ("autocorrelation", np.int8),  # -1: it abstains
        ("regular", np.bool_),
        ("peak", np.bool_),
        ("lengths", np.bool_),
        ("bot", np.bool_),
    ],
    align=True,
)

BLOCK = 256  # packets looked up together
STRIDE = 1 << 14  # packets a call, which bounds what one call can find and finish

Bytes = NDArray[np.uint8]
Whole = NDArray[np.int64]
Small = NDArray[np.int32]

_PRIME = np.uint64(0x9E3779B97F4A7C15)
_MIX = np.uint64(0xD6E8FEB86659FD93)
_HALF = np.uint64(32)
_LOW = np.uint64((1 << 32) - 1)
_ONE = np.uint64(1)
_THREE = np.uint64(3)
_SEVEN = np.uint64(7)


class Limits(NamedTuple):
    """The profile as the kernel reads it: whole numbers, times in microseconds."""

    win: int
    acn: int
    acv: int
    acthr: float
    itthr1: int
    itthr2: int
    itrt1: int
    itrt2: float
    dlthr1: int
    dlthr2: int
    dlrt1: int
    dlrt2: int
    tree: int
    zero_variance: int  # -1: such a sub-window abstains, 0: it says human, 1: it says bot
    session_gap: int


class Packets(NamedTuple):
    """The columns of a batch as they lie in memory."""

    actor: Small  # numbers in the batch's dictionary
    at: Whole
    up: Bytes  # a bit a packet
    up_offset: int
    size: Small


class Dictionary(NamedTuple):
    """The batch's actor names, and the player of each where it is known (-1 where not yet)."""

    text: Bytes
    starts: Whole
    player: Small


class Known(NamedTuple):
    """All players' names: where a hash may stand, and the bytes that decide."""

    table: NDArray[np.uint64]  # high half: hash, low half: player + 1; 0 is empty
    starts: Whole  # name i is text[starts[i] : starts[i + 1]]
    text: Bytes


@kernel
def fold(  # noqa: PLR0917 - compiled code takes no keywords here
    packets: Packets,
    begin: int,
    end: int,
    dictionary: Dictionary,
    known: Known,
    count: int,
    players: NDArray[np.void],
    limits: Limits,
    done: NDArray[np.void],
    most: int,
) -> tuple[int, int, int, int, int]:
    """Take packets begin to end into the players' records; completed windows are written to `done` in their order.

    The caller has room for every packet to bring a new player, up to `most`, and to complete a window. Returns the
    number of players, of completed windows, of counted packets, of times that went backwards and of client packets
    for whose player there was no place.
    """
    # Places are unsigned: a signed one may count from the end, and asking that at every step costs a quarter.
    rows = np.empty(BLOCK, np.uint64)
    whose = np.empty(BLOCK, np.uint64)
    finished = 0
    counted = 0
    backwards = 0
    refused = 0
    for block in range(begin, end, BLOCK):
        found = np.uint64(0)
        warm = 0
        for row in range(np.uint64(block), np.uint64(min(block + BLOCK, end))):
            bit = row + np.uint64(packets.up_offset)
            if packets.up[bit >> _THREE] >> (bit & _SEVEN) & _ONE:
                player = dictionary.player[np.uint64(packets.actor[row])]
                if player < 0:
                    player, count = _meet(dictionary, int(packets.actor[row]), known, count, players, most)
                    if player < 0:
                        refused += 1
                        continue
                rows[found] = row
                whose[found] = player
                warm += players[np.uint64(player)].packets  # brings the record near; the next loop finds it there
                found += _ONE
        counted += int(found)
        for at in range(found):
            row = rows[at]
            player = whose[at]
            backwards += _count(players[player], packets.at[row], np.int64(packets.size[row]), limits)
            if players[player].packets == limits.win:
                _finish(players[player], player, limits, done[finished])
                finished += 1
        if warm < 0:  # never: it keeps the compiler from dropping the first look
            counted = warm
    return count, finished, counted, backwards, refused


@kernel(inline="always")
def _count(player, at, size, limits):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202 - a record has no type
    """Take one packet in; 1 if its time went backwards."""
    backwards = 0
    if player.at == NEVER or at - player.at > limits.session_gap:
        _restart(player)
    else:
        gap = at - player.at
        if gap < 0:
            backwards = 1
            at = player.at
        elif gap > limits.itthr1:
            player.gaps_over_1 += 1
            if gap > limits.itthr2:
                player.gaps_over_2 += 1
    if player.packets == 0:
        player.since = at
    player.at = at
    player.sizes_over_1 += size > limits.dlthr1
    player.sizes_over_2 += size > limits.dlthr2
    if player.position == 0:
        player.first = size
        player.total = size
        player.squares = size * size
        player.products = 0
    else:
        player.total += size
        player.squares += size * size
        player.products += size * player.previous
    player.previous = size
    player.packets += 1
    player.position += 1
    if player.position > limits.acn:
        _vote(player, limits)
    return backwards


@kernel(inline="always")
def _restart(player):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202 - a record has no type
    """Forget the window under way."""
    player.packets = 0
    player.position = 0
    player.votes = 0
    player.abstained = 0
    player.gaps_over_1 = 0
    player.gaps_over_2 = 0
    player.sizes_over_1 = 0
    player.sizes_over_2 = 0


@kernel(inline="always")
def _vote(player, limits):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202 - a record has no type
    """The sub-window is full: its lag-1 correlation of sizes says bot, human or nothing."""
    first = np.int64(player.first)
    last = np.int64(player.previous)
    x = player.total - first
    y = player.total - last
    a = limits.acn * (player.squares - first * first) - x * x
    b = limits.acn * (player.squares - last * last) - y * y
    c = limits.acn * player.products - x * y
    if a <= 0 or b <= 0:
        player.abstained += limits.zero_variance < 0
        player.votes += limits.zero_variance > 0
    else:
        player.votes += max(-1.0, min(1.0, c / np.sqrt(np.float64(a) * np.float64(b)))) < limits.acthr
    player.position = 0


@kernel
def _finish(player, number, limits, done):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202 - a record has no type
    """The window is full: three answers, one verdict, and a fresh window."""
    valid = limits.acv - player.abstained
    # At least half of the sub-windows must have been able to vote, and more than half of those must say bot.
    silent = 2 * valid < limits.acv
    says_bot = not silent and 2 * player.votes > valid
    regular = player.gaps_over_1 < limits.itrt1
    peak = player.gaps_over_1 > 0 and player.gaps_over_2 / player.gaps_over_1 > limits.itrt2
    lengths = player.sizes_over_1 < limits.dlrt1 and player.sizes_over_2 < limits.dlrt2
    done.player = number
    done.window = player.window
    done.since = player.since
    done.until = player.at
    done.gaps_over_1 = player.gaps_over_1
    done.gaps_over_2 = player.gaps_over_2
    done.sizes_over_1 = player.sizes_over_1
    done.sizes_over_2 = player.sizes_over_2
    done.votes = player.votes
    done.valid = valid
    done.autocorrelation = -1 if silent else np.int8(says_bot)
    done.regular = regular
    done.peak = peak
    done.lengths = lengths
    done.bot = (limits.tree >> (4 * np.int64(lengths) + 2 * np.int64(regular or peak) + np.int64(says_bot))) & 1 == 1
    player.window += 1
    _restart(player)


@kernel
def _meet(  # noqa: PLR0917 - compiled code takes no keywords here
    dictionary: Dictionary, name: int, known: Known, count: int, players: NDArray[np.void], most: int
) -> tuple[int, int]:
    """The player of this name, an old one or a new one, -1 beyond `most`, and how many players there are then."""
    begin = dictionary.starts[name]
    end = dictionary.starts[name + 1]
    value = _hash(dictionary.text, begin, end)
    mask = np.uint64(len(known.table) - 1)
    place = value & mask
    while known.table[place] != 0:
        entry = known.table[place]
        player = int(entry & _LOW) - 1
        if entry >> _HALF == value >> _HALF and _same(dictionary.text, begin, end, known, player):
            dictionary.player[name] = player
            return player, count
        place = (place + _ONE) & mask
    if count >= most:
        return -1, count
    known.table[place] = (value >> _HALF << _HALF) | np.uint64(count + 1)
    for offset in range(end - begin):
        known.text[known.starts[count] + offset] = dictionary.text[begin + offset]
    known.starts[count + 1] = known.starts[count] + end - begin
    players[count].at = NEVER
    players[count].window = 0
    dictionary.player[name] = count
    return count, count + 1


@kernel
def _same(text: Bytes, begin: int, end: int, known: Known, player: int) -> bool:
    start = known.starts[player]
    if known.starts[player + 1] - start != end - begin:
        return False
    for offset in range(end - begin):  # noqa: SIM110 - compiled code has no all()
        if text[begin + offset] != known.text[start + offset]:
            return False
    return True


@kernel
def _hash(text: Bytes, begin: int, end: int) -> np.uint64:
    value = np.uint64(end - begin) * _PRIME
    for place in range(begin, end):
        value = (value ^ np.uint64(text[place])) * _MIX
        value ^= value >> _HALF
    return value * _PRIME


@kernel
def spread(starts: Whole, text: Bytes, count: int, size: int) -> NDArray[np.uint64]:
    """A table of `size` places in which every name can be found."""
    table = np.zeros(size, np.uint64)
    mask = np.uint64(size - 1)
    for player in range(count):
        value = _hash(text, starts[player], starts[player + 1])
        place = value & mask
        while table[place] != 0:
            place = (place + _ONE) & mask
        table[place] = (value >> _HALF << _HALF) | np.uint64(player + 1)
    return table
