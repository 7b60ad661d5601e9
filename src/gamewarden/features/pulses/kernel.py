"""The compiled half of pulses: one pass over each player's events in time, a few numbers every so many windows.

A piece is as long as the step between two spans. A player's record holds the piece that is open now, and a list of the
kinds seen in it; when the piece closes, one entry is left, and nothing of it is looked at again. Lists live in blocks
of 256 bytes. A row that comes after a later one marks its player as disordered: such players are forgotten here and
measured again from sorted rows, by this same code.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gamewarden.core.durations import MINUTE, SECOND
from gamewarden.core.kernels import kernel

Ints = NDArray[np.int64]
Records = NDArray[Any]

# A beat is the time between two events of one kind. Shorter ones are the game's own pace (blows of one fight, rows that
# are written together), and logs in whole seconds do not tell them apart; longer ones are pauses.
SHORTEST, LONGEST = 5 * SECOND, 5 * MINUTE
# A beat is steady when it is as long as the one before, give or take a fifth: 6/5 as whole numbers.
MORE, LESS = 6, 5
_NEVER = -(1 << 62)

PLAYER = np.dtype(
    [
        ("until", "i8"),  # of the open window
        ("last", "i8"),  # its last event
        ("piece_until", "i8"),
        ("kinds", "i4"),  # block with the newest kinds of the open piece, or -1
        ("disordered", "u1"),
        ("open", "u1"),  # whether a piece is
        ("period_since", "i8"),
        ("period_until", "i8"),
        ("mean", "f8"),  # of the ratios sum / sqrt(sum of squares) of the closed windows
        ("spread", "f8"),  # sum of their squared distances from the mean
        ("events", "i8"),
        ("variety", "i8"),  # kinds of each closed window, added up
        ("kills", "i4"),
        ("windows", "i4"),  # closed ones, each with an event
        ("number", "i4"),  # of the piece in its period
        ("spare", "i4", (7,)),  # to whole lines of the cache
    ],
    align=True,
)
PIECE = np.dtype(
    [
        ("since", "i8"),  # of the period
        ("until", "i8"),
        ("mean", "f8"),
        ("spread", "f8"),
        ("slot", "i4"),
        ("number", "i4"),
        ("windows", "i4"),
        ("events", "i4"),
        ("variety", "i4"),
        ("kills", "i4"),
        (
            "beats",
            "i4",
        ),  # of the kind with most steady ones: of several that a round leaves, the one that is left each time
        ("steady", "i4"),
    ],
    align=True,
)

# A block: word 0 the next block or -1, word 1 how many entries, then entries of four words: kind << 32 | count in the
# open window, its last event, its last beat or 0, steady beats << 32 | beats.
BLOCK_WORDS = 32
_FIRST, _WORDS, _MOST = 2, 4, 7
_LOW = np.int64((1 << 32) - 1)

# Counters of the state.
FREE, FREE_COUNT, BLOCKS_USED, DONE_USED, DISORDERED = range(5)
COUNTERS = 5


class Rows(NamedTuple):
    """A batch as numbers; slot -1 is a row that cannot be used."""

    at: Ints
    slot: NDArray[np.int32]
    kind: NDArray[np.int32]


class Rules(NamedTuple):
    """What the recipe and the vocabulary say."""

    unit: int
    step: int  # windows of a piece
    sized: int  # kinds with this number or a higher one are OTHER
    kill: int  # the number of the kind that is a kill, or -1
    root: float  # sqrt(m) where m is known, else infinity: no cosine is above 1
    borders: Ints  # of all periods that hold a row of the batch


class State(NamedTuple):
    """All that is remembered between batches."""

    players: Records
    blocks: Ints
    counters: Ints
    done: Records
    tally: Ints  # events a kind


_streaming = kernel(_nrt=False)
_inlined = kernel(_nrt=False, inline="always")


@_streaming
def _take_block(state: State, following: int) -> int:
    block = state.counters[FREE]
    if block >= 0:
        state.counters[FREE] = state.blocks[block, 0]
        state.counters[FREE_COUNT] -= 1
    else:
        block = state.counters[BLOCKS_USED]
        state.counters[BLOCKS_USED] += 1
    state.blocks[block, 0] = following
    state.blocks[block, 1] = 0
    return block


@_streaming
def _give_back(state: State, block: int) -> None:
    while block >= 0:
        following = state.blocks[block, 0]
        state.blocks[block, 0] = state.counters[FREE]
        state.counters[FREE] = block
        state.counters[FREE_COUNT] += 1
        block = following


@_streaming
def clear_all(state: State, slots: Ints) -> None:
    """Players nothing is known of, in all these slots."""
    for slot in slots:
        player = state.players[slot]
        player.kinds = -1
        player.disordered = 0
        player.open = 0
        player.until = _NEVER
        player.last = _NEVER
        player.period_since = _NEVER
        player.period_until = _NEVER
        player.piece_until = _NEVER


@_streaming
def ingest(rows: Rows, begin: int, end: int, rules: Rules, state: State) -> None:
    """Take in the rows from `begin` to `end`; the state must have room for them (see `blocks_for`)."""
    for row in range(begin, end):
        kind, slot = rows.kind[row], rows.slot[row]
        state.tally[kind] += 1
        if slot >= 0 and not state.players[slot].disordered:
            _take_in(state, rules, slot, rows.at[row], min(int(kind), rules.sized), int(kind) == rules.kill)


@_inlined
def _take_in(state: State, rules: Rules, slot: int, at: int, kind: int, kill: bool) -> None:  # noqa: FBT001, PLR0917 - one row
    player = state.players[slot]
    if at < player.last:
        _give_back(state, player.kinds)
        player.kinds = -1
        player.disordered = 1
        state.counters[DISORDERED] += 1
        return
    if at >= player.until:
        _move_on(state, rules, slot, at)
    player.last = at
    player.kills += kill
    _count(state, slot, kind, at)


@_streaming
def _move_on(state: State, rules: Rules, slot: int, at: int) -> None:
    """Close the window, and the piece if it is over, and open those that hold `at`."""
    player = state.players[slot]
    if player.open:
        _close_window(state, rules, slot)
    if at >= player.piece_until:
        if player.open:
            _close_piece(state, slot)
        _open_piece(player, rules, at)
    window = (at - player.period_since) // rules.unit
    player.until = min(player.period_since + (window + 1) * rules.unit, player.piece_until)


@_streaming
def _open_piece(player: Any, rules: Rules, at: int) -> None:  # noqa: ANN401 - a compiled record
    if at >= player.period_until:
        place = np.searchsorted(rules.borders, at, side="right")
        player.period_since = rules.borders[place - 1]
        player.period_until = rules.borders[place]
    length = rules.unit * rules.step
    player.number = (at - player.period_since) // length
    player.piece_until = min(player.period_since + (player.number + 1) * length, player.period_until)
    player.open = 1
    player.kinds = -1
    player.mean = 0.0
    player.spread = 0.0
    player.events = 0
    player.variety = 0
    player.kills = 0
    player.windows = 0


@_streaming
def _count(state: State, slot: int, kind: int, at: int) -> None:
    """One more event of its kind in the window, and the beat that it ends."""
    player = state.players[slot]
    block = player.kinds
    while block >= 0:
        for place in range(state.blocks[block, 1]):
            entry = _FIRST + place * _WORDS
            if state.blocks[block, entry] >> 32 == kind:
                state.blocks[block, entry] += 1
                _beat(state.blocks[block], entry, at)
                return
        block = state.blocks[block, 0]
    if player.kinds < 0 or state.blocks[player.kinds, 1] == _MOST:
        player.kinds = _take_block(state, player.kinds)
    words = state.blocks[player.kinds]
    entry = _FIRST + words[1] * _WORDS
    words[1] += 1
    words[entry] = (np.int64(kind) << 32) + 1
    words[entry + 1] = at
    words[entry + 2] = 0
    words[entry + 3] = 0


@_streaming
def _beat(words: Ints, entry: int, at: int) -> None:
    """Of rows at one time only the first ends a beat, so that their order does not matter."""
    beat, before = at - words[entry + 1], words[entry + 2]
    words[entry + 1] = at
    if beat > LONGEST:
        words[entry + 2] = 0
    elif beat >= SHORTEST:
        if before > 0:
            steady = beat * LESS <= before * MORE and before * LESS <= beat * MORE
            words[entry + 3] += 1 + (np.int64(steady) << 32)
        words[entry + 2] = beat


@_streaming
def _close_window(state: State, rules: Rules, slot: int) -> None:
    player = state.players[slot]
    events, squares = np.int64(0), np.int64(0)
    block = player.kinds
    while block >= 0:
        for place in range(state.blocks[block, 1]):
            entry = _FIRST + place * _WORDS
            count = state.blocks[block, entry] & _LOW
            events += count
            squares += count * count
            player.variety += count > 0
            state.blocks[block, entry] -= count
        block = state.blocks[block, 0]
    ratio = min(events / np.sqrt(np.float64(squares)), rules.root)
    player.events += events
    player.windows += 1
    apart = ratio - player.mean
    player.mean += apart / player.windows
    player.spread += apart * (ratio - player.mean)


@_streaming
def _close_piece(state: State, slot: int) -> None:
    player = state.players[slot]
    done = state.done[state.counters[DONE_USED]]
    state.counters[DONE_USED] += 1
    done.since = player.period_since
    done.until = player.period_until
    done.mean = player.mean
    done.spread = player.spread
    done.slot = slot
    done.number = player.number
    done.windows = player.windows
    done.events = player.events
    done.variety = player.variety
    done.kills = player.kills
    most = np.int64(0)
    block = player.kinds
    while block >= 0:
        for place in range(state.blocks[block, 1]):
            most = max(most, state.blocks[block, _FIRST + place * _WORDS + 3])
        block = state.blocks[block, 0]
    done.steady = most >> 32
    done.beats = most & _LOW
    _give_back(state, player.kinds)
    player.kinds = -1


@_streaming
def close_all(rules: Rules, state: State, slots: Ints) -> None:
    """Close what the players of these slots have open; there must be room for a piece each."""
    for slot in slots:
        player = state.players[slot]
        if player.open and not player.disordered:
            _close_window(state, rules, slot)
            _close_piece(state, slot)
            player.open = 0
            player.until = _NEVER
            player.last = _NEVER
            player.period_until = _NEVER
            player.piece_until = _NEVER


def blocks_for(rows: int) -> int:
    """How many free blocks so many rows may need."""
    return rows
