"""The traffic test packet by packet: a few whole numbers a player, one cache line each.

Every sum is of integers and therefore exact; the only fraction is the last division of each test. Players are found in
two phases a block of packets: the first asks for their records without waiting for them, the second finds them near.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gamewarden.core.kernels import kernel, prefetch

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
        ("actor", np.int32),  # its number in the batch's dictionary
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

BLOCK = 32  # packets looked up together: more records on their way than that get into each other's way
UNKNOWN, CLEARED = -1, -2  # of a name: not looked up yet; nobody by that name is asleep
_REFUSED, _ASK = -1, -2  # instead of a player: there is no place; somebody has to say who it is, or to make room
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
_SIX = np.uint64(6)
_SIXTY_THREE = np.uint64(63)
_MARKS = 4  # bits a name in a filter


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
    """The batch's actor names, and the player of each where it is known (UNKNOWN or CLEARED where not yet)."""

    text: Bytes
    starts: Whole
    player: Small


class Known(NamedTuple):
    """All players' names: where a hash may stand, and the bytes that decide."""

    table: NDArray[np.uint64]  # high half: hash, low half: player + 1; 0 is empty
    starts: Whole  # name i is text[starts[i] : starts[i + 1]]
    text: Bytes


class Door(NamedTuple):
    """Who may come in: how many players, how many bytes of their names, and who may be asleep."""

    most: int
    letters: int
    asleep: NDArray[np.uint64]  # a filter of names: who is not in it does not sleep
    closed_until: int  # newcomers beyond the most are refused before this time, and asked about from then on


class Taken(NamedTuple):
    """What came of some packets."""

    row: int  # the first packet that was not taken in, since somebody has to say who it is
    players: int
    finished: int  # windows
    counted: int
    backwards: int
    refused: int
    bots: int


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
    door: Door,
) -> Taken:
    """Take packets begin to end into the players' records; completed windows are written to `done` in their order.

    The caller has room for every packet to bring a new player, as far as the door lets them in, and to complete a
    window.
    """
    # Places are unsigned: a signed one may count from the end, and asking that at every step costs a quarter.
    rows = np.empty(BLOCK, np.uint64)
    whose = np.empty(BLOCK, np.uint64)
    finished = 0
    counted = 0
    backwards = 0
    refused = 0
    bots = 0
    for block in range(begin, end, BLOCK):
        found = np.uint64(0)
        stopped = np.int64(end)
        for row in range(np.uint64(block), np.uint64(min(block + BLOCK, end))):
            bit = row + np.uint64(packets.up_offset)
            if packets.up[bit >> _THREE] >> (bit & _SEVEN) & _ONE:
                player = dictionary.player[np.uint64(packets.actor[row])]
                if player < 0:
                    player, count = _meet(packets, row, dictionary, known, count, players, door)
                    if player == _ASK:
                        stopped = np.int64(row)
                        break
                    if player == _REFUSED:
                        refused += 1
                        continue
                rows[found] = row
                whose[found] = player
                prefetch(players, np.uint64(player))
                found += _ONE
        counted += int(found)
        for at in range(found):
            row = rows[at]
            player = whose[at]
            back, in_window = _count(players[player], packets.at[row], np.int64(packets.size[row]), limits)
            backwards += back
            if in_window == limits.win:
                bots += _finish(players[player], packets.actor[row], limits, done[finished])
                finished += 1
        if stopped < end:
            return Taken(int(stopped), count, finished, counted, backwards, refused, bots)
    return Taken(end, count, finished, counted, backwards, refused, bots)


@kernel(inline="always")
def _count(player, at, size, limits):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202 - a record has no type
    """Take one packet in; 1 if its time went backwards, and how many packets the window has then."""
    # What is read again is kept beside the record: the compiler cannot know that no other write has changed it.
    last = player.at
    packets = player.packets
    position = player.position
    gap = at - last
    backwards = 0
    if last == NEVER or gap > limits.session_gap:
        _restart(player)
        packets = np.uint16(0)
        position = np.uint16(0)
    elif gap < 0:
        backwards = 1
        at = last
    elif gap > limits.itthr1:
        player.gaps_over_1 += 1
        player.gaps_over_2 += gap > limits.itthr2
    if packets == 0:
        player.since = at
    player.at = at
    player.sizes_over_1 += size > limits.dlthr1
    player.sizes_over_2 += size > limits.dlthr2
    if position == 0:
        player.first = size
        player.total = size
        player.squares = size * size
        player.products = 0
    else:
        player.total += size
        player.squares += size * size
        player.products += size * player.previous
    player.previous = size
    packets += 1
    position += 1
    player.packets = packets
    player.position = position
    if position > limits.acn:
        _vote(player, limits)
    return backwards, packets


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
def _finish(player, actor, limits, done):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202 - a record has no type
    """The window is full: three answers, one verdict, and a fresh window; 1 if the verdict is bot."""
    valid = limits.acv - player.abstained
    # At least half of the sub-windows must have been able to vote, and more than half of those must say bot.
    silent = 2 * valid < limits.acv
    says_bot = not silent and 2 * player.votes > valid
    regular = player.gaps_over_1 < limits.itrt1
    peak = player.gaps_over_1 > 0 and player.gaps_over_2 / player.gaps_over_1 > limits.itrt2
    lengths = player.sizes_over_1 < limits.dlrt1 and player.sizes_over_2 < limits.dlrt2
    done.actor = actor
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
    bot = (limits.tree >> (4 * np.int64(lengths) + 2 * np.int64(regular or peak) + np.int64(says_bot))) & 1
    done.bot = bot == 1
    player.window += 1
    _restart(player)
    return bot


@kernel
def _meet(  # noqa: PLR0917 - compiled code takes no keywords here
    packets: Packets,
    row: int,
    dictionary: Dictionary,
    known: Known,
    count: int,
    players: NDArray[np.void],
    door: Door,
) -> tuple[int, int]:
    """Who sent this packet, an old player or a new one, or why nobody; and how many players there are then."""
    name = int(packets.actor[row])
    begin = dictionary.starts[name]
    end = dictionary.starts[name + 1]
    value = _hash(dictionary.text, begin, end)
    place, player = _find(dictionary.text, begin, end, value, known)
    if player < 0:
        if dictionary.player[name] != CLEARED and may_be_in(door.asleep, value):
            return _ASK, count
        if count >= door.most or known.starts[count] + end - begin > door.letters:
            return (_REFUSED if packets.at[row] < door.closed_until else _ASK), count
        player = count
        count += 1
        _welcome(dictionary.text, begin, end, known, player)
        known.table[place] = (value >> _HALF << _HALF) | np.uint64(count)
        players[player].at = NEVER
        players[player].window = 0
    dictionary.player[name] = player
    return player, count


@kernel
def _find(text: Bytes, begin: int, end: int, value: np.uint64, known: Known) -> tuple[np.uint64, np.int64]:
    """Where the table has this name, and its player; or where it has room for it, and -1."""
    mask = np.uint64(len(known.table) - 1)
    place = value & mask
    while known.table[place] != 0:
        entry = known.table[place]
        player = np.int64(entry & _LOW) - 1
        if entry >> _HALF == value >> _HALF and _same(text, begin, end, known, player):
            return place, player
        place = (place + _ONE) & mask
    return place, np.int64(-1)


@kernel
def _welcome(text: Bytes, begin: int, end: int, known: Known, player: int) -> None:
    """The name behind those of the players before."""
    start = known.starts[player]
    for offset in range(end - begin):
        known.text[start + offset] = text[begin + offset]
    known.starts[player + 1] = start + end - begin


@kernel
def strangers(  # noqa: PLR0917 - as above
    packets: Packets, begin: int, end: int, dictionary: Dictionary, known: Known, asleep: NDArray[np.uint64]
) -> Small:
    """The names in packets begin to end that are no player's and may be asleep, in their order, each once."""
    found = np.empty(end - begin, np.int32)
    count = 0
    for row in range(begin, end):
        bit = row + packets.up_offset
        name = packets.actor[row]
        if packets.up[bit >> 3] >> (bit & 7) & 1 and dictionary.player[name] == UNKNOWN:
            start, stop = dictionary.starts[name], dictionary.starts[name + 1]
            value = _hash(dictionary.text, start, stop)
            if _find(dictionary.text, start, stop, value, known)[1] < 0 and may_be_in(asleep, value):
                dictionary.player[name] = CLEARED  # for now, so that it is listed once
                found[count] = name
                count += 1
    for at in range(count):
        dictionary.player[found[at]] = UNKNOWN
    return found[:count].copy()


@kernel
def settle(  # noqa: PLR0917 - as above
    starts: Whole, text: Bytes, records: NDArray[np.void], known: Known, count: int, players: NDArray[np.void]
) -> None:
    """Players with these names and records are here again, after the `count` that are; there is room for them."""
    for new in range(len(records)):
        begin, end = starts[new], starts[new + 1]
        value = _hash(text, begin, end)
        place, _ = _find(text, begin, end, value, known)
        _welcome(text, begin, end, known, count)
        players[count] = records[new]
        count += 1
        known.table[place] = (value >> _HALF << _HALF) | np.uint64(count)


@kernel
def compact(stays: NDArray[np.bool_], known: Known, players: NDArray[np.void]) -> int:
    """Close ranks where somebody leaves, in place and in order; how many stay. The table has to be spread anew."""
    count = 0
    for player in range(len(stays)):
        if stays[player]:
            if count < player:
                players[count] = players[player]
                begin, end = known.starts[player], known.starts[player + 1]
                start = known.starts[count]
                for offset in range(end - begin):
                    known.text[start + offset] = known.text[begin + offset]
                known.starts[count + 1] = start + end - begin
            count += 1
    return count


@kernel
def may_be_in(asleep: NDArray[np.uint64], value: np.uint64) -> bool:
    """Whether a filter has this hash; sometimes it says so of one that it does not have."""
    mask = np.uint64(64 * len(asleep) - 1)
    step = value >> _HALF | _ONE
    for _ in range(_MARKS):
        place = value & mask
        if asleep[place >> _SIX] >> (place & _SIXTY_THREE) & _ONE == 0:
            return False
        value += step
    return True


@kernel
def mark(asleep: NDArray[np.uint64], starts: Whole, text: Bytes) -> None:
    """Let a filter have these names."""
    mask = np.uint64(64 * len(asleep) - 1)
    for name in range(len(starts) - 1):
        value = _hash(text, starts[name], starts[name + 1])
        step = value >> _HALF | _ONE
        for _ in range(_MARKS):
            place = value & mask
            asleep[place >> _SIX] |= _ONE << (place & _SIXTY_THREE)
            value += step


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
    enter(starts, text, count, table)
    return table


@kernel
def enter(starts: Whole, text: Bytes, count: int, table: NDArray[np.uint64]) -> None:
    """Let an empty table find every name."""
    mask = np.uint64(len(table) - 1)
    for player in range(count):
        value = _hash(text, starts[player], starts[player + 1])
        place = value & mask
        while table[place] != 0:
            place = (place + _ONE) & mask
        table[place] = (value >> _HALF << _HALF) | np.uint64(player + 1)
