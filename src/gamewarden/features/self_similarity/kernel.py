"""The compiled half of self-similarity: one pass over rows in nearly any order, a small record a player.

A player's record holds the window that is open now. When the window closes, one entry of 24 bytes joins the list of
its period; when the period closes, the list is folded into one row and its memory is used again. Lists live in blocks
of 256 bytes. A row that comes too late for its window marks its player as disordered: such players are forgotten here
and measured again from sorted rows, by this same code.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gamewarden.core.clock import Offsets
from gamewarden.core.durations import MINUTE
from gamewarden.core.kernels import kernel
from gamewarden.features.self_similarity import spans
from gamewarden.features.self_similarity.spans import NO_SESSION, OTHER_SESSION

Ints = NDArray[np.int64]
Records = NDArray[Any]

SILENCE = 30 * MINUTE  # a longer silence ends a run of activity
NO_LEVEL = -(1 << 15)  # stands for null in int16 columns: no game starts there
ACTIVE, GAP, ONLINE = 0, 1, 2  # which empty windows count
ROLES = 5

PLAYER = np.dtype(
    [
        # The first 64 bytes, one line of the cache, are all that most rows touch.
        ("since", "i8"),  # the open window
        ("until", "i8"),
        ("last", "i8"),  # its last event
        ("level_at", "i8"),  # when this character's last level was seen
        ("level_seq", "i8"),
        ("character", "i4"),  # the character playing now, -1 = unknown
        ("character_events", "i4"),
        ("more_kinds", "i4"),  # block with further kinds, or -1
        ("kinds", "i2"),  # how many kinds the window has in the player's row of `kinds`; 0 = no window is open
        ("level", "i2"),
        ("disordered", "u1"),
        ("has_session", "u1"),
        # What a window touches when it closes.
        ("number", "i4"),  # of the open window in its period
        ("first", "i8"),  # its first event
        ("period_since", "i8"),  # the open period
        ("period_until", "i8"),
        ("ended", "i8"),  # last event of the last closed window
        ("active", "i8"),  # microseconds in runs of activity
        ("ended_number", "i4"),  # number of the last closed window
        ("filled", "i4"),  # empty windows inside runs of activity
        ("windows", "i4"),  # closed windows of the period
        ("window_list", "i4"),  # block with the newest of them, or -1
        ("character_list", "i4"),
        ("session_list", "i4"),
        ("logins", "i4"),  # entries in the session list
        ("roles", "i4", (ROLES,)),
        ("slot", "i4"),
        ("spare", "i4", (8,)),  # to whole lines of the cache
    ],
    align=True,
)
DONE = np.dtype(
    [
        ("since", "i8"),
        ("until", "i8"),
        ("events", "i8"),
        ("online", "i8"),  # microseconds
        ("mean", "f8"),  # of the ratios sum / sqrt(sum of squares) of the windows with events
        ("spread", "f8"),  # sum of their squared distances from the mean
        ("slot", "i4"),
        ("windows", "i4"),  # with events
        ("empty", "i4"),
        ("unique", "i4"),
        ("mode", "i4"),
        ("roles", "i4", (ROLES,)),
        ("level", "i2"),
    ],
    align=True,
)

# A block: word 0 the next block or -1, words 1 to 30 entries, word 31 how many entries.
BLOCK_WORDS = 32
_USED = 31
_WINDOW_WORDS, _KIND_WORDS, _CHARACTER_WORDS, _SESSION_WORDS = 3, 1, 5, 3
_WINDOWS_A_BLOCK = 10
_BLOCKS_A_ROW = 4  # at most one of each list
_LOOK_AHEAD = 256  # rows whose records are fetched together, so that cache misses overlap
_LOW = np.int64((1 << 32) - 1)

# Counters of the state.
FREE, FREE_COUNT, BLOCKS_USED, CLOSED_USED, SESSION_ROWS, DISORDERED = range(6)
COUNTERS = 6


class Rows(NamedTuple):
    """A batch as numbers; slot -1 is a row that cannot be used."""

    at: Ints
    seq: Ints
    slot: NDArray[np.int32]
    kind: NDArray[np.int32]
    character: NDArray[np.int32]
    level: NDArray[np.int16]
    session: Ints  # the key of each session row, in order: only those


class Rules(NamedTuple):
    """What the recipe and the vocabulary say."""

    unit: int
    every: int
    policy: int
    sized: int  # kinds with this number or a higher one are OTHER
    root: float  # sqrt(m) where m is known, else infinity: no cosine is above 1
    words: NDArray[np.uint64]  # a pseudo-random word a kind
    role: NDArray[np.int8]  # -1 = none
    session: NDArray[np.int8]
    offsets: Offsets
    name_starts: Ints  # of characters
    name_data: NDArray[np.uint8]


class State(NamedTuple):
    """All that is remembered between batches."""

    players: Records
    kinds: Ints  # a row a player: kind << 32 | count
    blocks: Ints
    counters: Ints
    tally: Ints  # events a kind
    unused: Ints  # events a kind in rows that cannot be used
    closed: Records  # periods that are over, to be folded: players as they were when they left it


_compiled = kernel
# Streaming allocates nothing, so it goes without reference counts, and its path for every row is one function to the
# compiler: handing the state from function to function took 900 ns a row with the counts, 140 without, 70 inlined.
_streaming = kernel(_nrt=False)
_inlined = kernel(_nrt=False, inline="always")
_intervals = _compiled(spans.session_spans)
_union = _compiled(spans.union)


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
    state.blocks[block, _USED] = 0
    return block


@_streaming
def _give_back(state: State, block: int) -> int:
    following = state.blocks[block, 0]
    state.blocks[block, 0] = state.counters[FREE]
    state.counters[FREE] = block
    state.counters[FREE_COUNT] += 1
    return following


@_streaming
def _give_all_back(state: State, block: int) -> None:
    while block >= 0:
        block = _give_back(state, block)


@_streaming
def _with_room(state: State, block: int, words: int) -> int:
    """The block, or a new one before it if it has no room for another entry of so many words."""
    if block < 0 or (state.blocks[block, _USED] + 1) * words > _USED - 1:
        return _take_block(state, block)
    return block


@_streaming
def _new_entry(state: State, block: int, words: int) -> int:
    used = state.blocks[block, _USED]
    state.blocks[block, _USED] = used + 1
    return 1 + used * words


@_streaming
def clear(state: State, slot: int) -> None:
    """A player nothing is known of."""
    player = state.players[slot]
    player.kinds = 0
    player.more_kinds = -1
    player.disordered = 0
    player.since = -(1 << 62)
    player.until = -(1 << 62)
    player.slot = slot
    _open_period(state, slot, -(1 << 62), -(1 << 62))


@_streaming
def _open_period(state: State, slot: int, since: int, until: int) -> None:
    player = state.players[slot]
    player.period_since = since
    player.period_until = until
    player.active = 0
    player.filled = 0
    player.windows = 0
    player.window_list = -1
    player.character = -1
    player.character_events = 0
    player.character_list = -1
    player.level = NO_LEVEL
    player.session_list = -1
    player.logins = 0
    player.has_session = 0
    for role in range(ROLES):
        player.roles[role] = 0


@_streaming
def _forget(state: State, slot: int) -> None:
    player = state.players[slot]
    _give_all_back(state, player.more_kinds)
    _give_all_back(state, player.window_list)
    _give_all_back(state, player.character_list)
    _give_all_back(state, player.session_list)
    player.disordered = 1
    state.counters[DISORDERED] += 1


@_streaming
def border(number: int, every: int, offsets: Offsets) -> int:
    """The moment at which the local clock first shows `number * every` or later."""
    shown = number * every
    piece = np.searchsorted(offsets.reached, shown, side="right")
    return max(offsets.since[piece], shown - offsets.offset[piece])


@_streaming
def period_of(at: int, every: int, offsets: Offsets) -> tuple[int, int]:
    """Since and until of the period that holds a moment."""
    piece = np.searchsorted(offsets.since, at, side="right") - 1
    number = max((at + offsets.offset[piece]) // every, offsets.least[piece])
    return border(number, every, offsets), border(number + 1, every, offsets)


@_streaming
def ingest(rows: Rows, begin: int, end: int, rules: Rules, state: State) -> int:
    """Take in the rows from `begin` to `end`; the state must have room for them (see `blocks_for`)."""
    touched = 0
    session_row = state.counters[SESSION_ROWS]
    for block in range(begin, end, _LOOK_AHEAD):
        block_end = min(block + _LOOK_AHEAD, end)
        for row in range(block, block_end):
            slot = max(rows.slot[row], np.int32(0))
            touched ^= state.players[slot].since ^ state.kinds[slot, 0]
        for row in range(block, block_end):
            kind = rows.kind[row]
            key = 0
            if rules.session[kind] != NO_SESSION:
                key = rows.session[session_row]
                session_row += 1
            state.tally[kind] += 1
            if rows.slot[row] < 0:
                state.unused[kind] += 1
            else:
                _take_in(rows, row, key, rules, state)
    state.counters[SESSION_ROWS] = session_row
    return touched


@_inlined
def _take_in(rows: Rows, row: int, key: int, rules: Rules, state: State) -> None:
    slot, at = rows.slot[row], rows.at[row]
    player = state.players[slot]
    if player.disordered:
        return
    if at >= player.until:
        _move_on(state, rules, slot, at)
    elif at < player.since or not _stretch_window(player, at, rules.unit):
        _forget(state, slot)
        return
    _count_kind(state, slot, min(int(rows.kind[row]), rules.sized))
    if rows.character[row] != player.character:
        _change_character(state, slot, rows.character[row])
    player.character_events += 1
    if rows.level[row] != NO_LEVEL:
        _see_level(player, at, rows.seq[row], rows.level[row])
    session = rules.session[rows.kind[row]]
    if session != NO_SESSION:
        player.has_session = 1
        if session != OTHER_SESSION:
            _keep_session(state, slot, at, rows.seq[row], int(key << 2) | int(session))


@_streaming
def _stretch_window(player: Any, at: int, unit: int) -> bool:  # noqa: ANN401 - a compiled record
    """Let the open window reach `at`; False where the order inside a window matters and `at` comes too late."""
    if unit <= SILENCE:  # no silence fits into a window
        if at >= player.last:
            player.last = at
        else:
            player.first = min(player.first, at)
        return True
    if at < player.last:
        return False
    if at - player.last <= SILENCE:
        player.active += at - player.last
    player.last = at
    return True


@_streaming
def _count_kind(state: State, slot: int, kind: int) -> None:
    player = state.players[slot]
    for place in range(player.kinds):
        if state.kinds[slot, place] >> 32 == kind:
            state.kinds[slot, place] += 1
            return
    if player.kinds < state.kinds.shape[1]:
        state.kinds[slot, player.kinds] = (kind << 32) + 1
        player.kinds += 1
        return
    block = player.more_kinds
    while block >= 0:
        for entry in range(1, 1 + state.blocks[block, _USED]):
            if state.blocks[block, entry] >> 32 == kind:
                state.blocks[block, entry] += 1
                return
        block = state.blocks[block, 0]
    player.more_kinds = _with_room(state, player.more_kinds, _KIND_WORDS)
    state.blocks[player.more_kinds, _new_entry(state, player.more_kinds, _KIND_WORDS)] = (kind << 32) + 1


@_streaming
def _is_later(at: int, seq: int, level: int, other_at: int, other_seq: int, other_level: int) -> bool:  # noqa: PLR0917 - two rows
    """Whether one level was seen after another; of two at one place the higher one counts, whichever came first."""
    if at != other_at:
        return at > other_at
    return seq > other_seq if seq != other_seq else level > other_level


@_streaming
def _see_level(player: Any, at: int, seq: int, level: int) -> None:  # noqa: ANN401 - a compiled record
    if player.level == NO_LEVEL or _is_later(at, seq, level, player.level_at, player.level_seq, player.level):
        player.level = level
        player.level_at = at
        player.level_seq = seq


@_streaming
def _keep_session(state: State, slot: int, at: int, seq: int, key: int) -> None:
    player = state.players[slot]
    player.session_list = _with_room(state, player.session_list, _SESSION_WORDS)
    entry = _new_entry(state, player.session_list, _SESSION_WORDS)
    state.blocks[player.session_list, entry] = at
    state.blocks[player.session_list, entry + 1] = seq
    state.blocks[player.session_list, entry + 2] = key
    player.logins += 1


@_streaming
def _change_character(state: State, slot: int, character: int) -> None:
    player = state.players[slot]
    if player.character_events > 0:
        _keep_character(state, slot)
    player.character = character
    player.character_events = 0
    player.level = NO_LEVEL


@_streaming
def _keep_character(state: State, slot: int) -> None:
    """Add what the current character did to the period's list of characters."""
    player = state.players[slot]
    block = player.character_list
    while block >= 0:
        for place in range(state.blocks[block, _USED]):
            entry = 1 + place * _CHARACTER_WORDS
            if state.blocks[block, entry] == player.character:
                state.blocks[block, entry + 1] += player.character_events
                _keep_level(state, player, block, entry)
                return
        block = state.blocks[block, 0]
    player.character_list = _with_room(state, player.character_list, _CHARACTER_WORDS)
    entry = _new_entry(state, player.character_list, _CHARACTER_WORDS)
    state.blocks[player.character_list, entry] = player.character
    state.blocks[player.character_list, entry + 1] = player.character_events
    state.blocks[player.character_list, entry + 4] = NO_LEVEL
    _keep_level(state, player, player.character_list, entry)


@_streaming
def _keep_level(state: State, player: Any, block: int, entry: int) -> None:  # noqa: ANN401 - a compiled record
    if player.level == NO_LEVEL:
        return
    at, seq, level = state.blocks[block, entry + 2], state.blocks[block, entry + 3], state.blocks[block, entry + 4]
    if level == NO_LEVEL or _is_later(player.level_at, player.level_seq, player.level, at, seq, level):
        state.blocks[block, entry + 2] = player.level_at
        state.blocks[block, entry + 3] = player.level_seq
        state.blocks[block, entry + 4] = player.level


@_inlined
def _move_on(state: State, rules: Rules, slot: int, at: int) -> None:
    """Close the window, and the period if it is over, and open those that hold `at`."""
    player = state.players[slot]
    if player.kinds > 0:
        _close_window(state, rules, slot)
    if at >= player.period_until:
        if player.windows > 0:
            _close_period(state, slot)
        since, until = period_of(at, rules.every, rules.offsets)
        _open_period(state, slot, since, until)
    player.number = (at - player.period_since) // rules.unit
    player.since = player.period_since + player.number * rules.unit
    player.until = min(player.since + rules.unit, player.period_until)
    player.first = at
    player.last = at


@_inlined
def _close_window(state: State, rules: Rules, slot: int) -> None:
    player = state.players[slot]
    events, squares, word = np.int64(0), np.int64(0), np.uint64(0)
    for place in range(player.kinds):
        kind, count = state.kinds[slot, place] >> 32, state.kinds[slot, place] & _LOW
        events += count
        squares += count * count
        word += rules.words[kind] * np.uint64(count)
        if rules.role[kind] >= 0:
            player.roles[rules.role[kind]] += count
    block = player.more_kinds
    while block >= 0:
        for entry in range(1, 1 + state.blocks[block, _USED]):
            kind, count = state.blocks[block, entry] >> 32, state.blocks[block, entry] & _LOW
            events += count
            squares += count * count
            word += rules.words[kind] * np.uint64(count)
            if rules.role[kind] >= 0:
                player.roles[rules.role[kind]] += count
        block = _give_back(state, block)
    _measure_silence(player, rules.unit)
    # A full block is known by the count of windows: reading the block would wait for memory.
    place = player.windows % _WINDOWS_A_BLOCK
    if place == 0:
        player.window_list = _take_block(state, player.window_list)
    entry = 1 + place * _WINDOW_WORDS
    state.blocks[player.window_list, entry] = (np.int64(player.number) << 32) + events
    state.blocks[player.window_list, entry + 1] = squares
    state.blocks[player.window_list, entry + 2] = np.int64(word)
    player.windows += 1
    player.kinds = 0
    player.more_kinds = -1


@_streaming
def _measure_silence(player: Any, unit: int) -> None:  # noqa: ANN401 - a compiled record
    if unit <= SILENCE:
        player.active += player.last - player.first
    if player.windows > 0 and player.first - player.ended <= SILENCE:
        player.active += player.first - player.ended
        player.filled += player.number - player.ended_number - 1
    player.ended = player.last
    player.ended_number = player.number


@_streaming
def _close_period(state: State, slot: int) -> None:
    if state.players[slot].character_list >= 0:
        _keep_character(state, slot)
    place = state.counters[CLOSED_USED]
    state.counters[CLOSED_USED] += 1
    state.closed[place] = state.players[slot]


@_streaming
def close_all(rules: Rules, state: State, slots: Ints, begin: int) -> int:
    """Close what the players of these slots have open, from place `begin` on, as far as there is room; how far."""
    for place in range(begin, len(slots)):
        if state.counters[CLOSED_USED] == len(state.closed):
            return place
        player = state.players[slots[place]]
        if player.kinds > 0 and not player.disordered:
            _close_window(state, rules, slots[place])
            _close_period(state, slots[place])
            clear(state, slots[place])
    return len(slots)


@_compiled
def fold(rules: Rules, state: State, done: Records) -> None:
    """Turn every closed period into one row."""
    for place in range(state.counters[CLOSED_USED]):
        _fold(rules, state, state.closed[place], done[place])
    state.counters[CLOSED_USED] = 0


@_compiled
def _fold(rules: Rules, state: State, period: Any, done: Any) -> None:  # noqa: ANN401 - compiled records
    numbers, events, squares, words = _closed_windows(state, period)
    done.slot = period.slot
    for role in range(ROLES):
        done.roles[role] = period.roles[role]
    done.since = period.period_since
    done.until = period.period_until
    done.events = events.sum()
    done.windows = period.windows
    done.mean, done.spread = _mean_and_spread(events, squares, rules.root)
    done.unique, done.mode = _unique_and_mode(events, squares, words)
    done.level = _main_level(state, rules, period)
    done.online = period.active
    done.empty = 0
    if rules.policy == GAP or (rules.policy == ONLINE and not period.has_session):
        done.empty = period.filled
    if period.has_session:
        starts, ends = _session_spans(state, period)
        done.online = (ends - starts).sum()
        if rules.policy == ONLINE:
            done.empty = empty_windows(starts, ends, numbers, period.period_since, rules.unit)


@_compiled
def _closed_windows(state: State, period: Any) -> tuple[Ints, Ints, Ints, Ints]:  # noqa: ANN401 - a compiled record
    place = period.windows
    numbers, events = np.empty(place, np.int64), np.empty(place, np.int64)
    squares, words = np.empty(place, np.int64), np.empty(place, np.int64)
    block = period.window_list
    while block >= 0:
        for held in range((place - 1) % _WINDOWS_A_BLOCK, -1, -1):
            entry = 1 + held * _WINDOW_WORDS
            place -= 1
            numbers[place] = state.blocks[block, entry] >> 32
            events[place] = state.blocks[block, entry] & _LOW
            squares[place] = state.blocks[block, entry + 1]
            words[place] = state.blocks[block, entry + 2]
        block = _give_back(state, block)
    return numbers, events, squares, words


@_compiled
def _mean_and_spread(events: Ints, squares: Ints, root: float) -> tuple[float, float]:
    ratios = np.empty(len(events), np.float64)
    total = 0.0
    for window in range(len(events)):
        ratio = events[window] / np.sqrt(np.float64(squares[window]))
        if ratio > root * (1 + 1e-12):  # only OTHER can do that: leave rounding at a cosine of 1 alone
            ratio = root
        ratios[window] = ratio
        total += ratio
    mean = total / len(events)
    spread = 0.0
    for ratio in ratios:
        spread += (ratio - mean) * (ratio - mean)
    return mean, spread


@_compiled
def _unique_and_mode(events: Ints, squares: Ints, words: Ints) -> tuple[int, int]:
    size = 4
    while size < 2 * len(events):
        size *= 2
    counts = np.zeros(size, np.int64)  # 0 = empty
    owner = np.empty(size, np.int64)
    unique, mode = 0, 0
    for window in range(len(events)):
        place = (words[window] ^ (words[window] >> 32)) & (size - 1)
        while counts[place] > 0:
            other = owner[place]
            if words[other] == words[window] and squares[other] == squares[window] and events[other] == events[window]:
                break
            place = (place + 1) & (size - 1)
        if counts[place] == 0:
            owner[place] = window
            unique += 1
        counts[place] += 1
        mode = max(mode, counts[place])
    return unique, mode


@_compiled
def _main_level(state: State, rules: Rules, period: Any) -> int:  # noqa: ANN401 - a compiled record
    if period.character_list < 0:  # nobody else played
        return period.level
    main, most, level = -1, -1, NO_LEVEL
    block = period.character_list
    while block >= 0:
        for place in range(state.blocks[block, _USED]):
            entry = 1 + place * _CHARACTER_WORDS
            character, count = state.blocks[block, entry], state.blocks[block, entry + 1]
            if character < 0:
                count = 0  # events of nobody speak only where there is no character at all
            if count > most or (count == most and _precedes(rules, character, main)):
                main, most, level = character, count, state.blocks[block, entry + 4]
        block = _give_back(state, block)
    return level


@_streaming
def _precedes(rules: Rules, one: int, other: int) -> bool:
    """Whether one character's id stands before another's, by code points (which UTF-8 keeps in order)."""
    begin, length = rules.name_starts[one], rules.name_starts[one + 1] - rules.name_starts[one]
    other_begin, other_length = rules.name_starts[other], rules.name_starts[other + 1] - rules.name_starts[other]
    for place in range(min(length, other_length)):
        mine, theirs = rules.name_data[begin + place], rules.name_data[other_begin + place]
        if mine != theirs:
            return mine < theirs
    return length < other_length


@_compiled
def _session_spans(state: State, period: Any) -> tuple[Ints, Ints]:  # noqa: ANN401 - a compiled record
    place = period.logins
    at, seq, key = np.empty(place, np.int64), np.empty(place, np.int64), np.empty(place, np.int64)
    block = period.session_list
    while block >= 0:
        for held in range(state.blocks[block, _USED] - 1, -1, -1):
            entry = 1 + held * _SESSION_WORDS
            place -= 1
            at[place] = state.blocks[block, entry]
            seq[place] = state.blocks[block, entry + 1]
            key[place] = state.blocks[block, entry + 2]
        block = _give_back(state, block)
    return online_spans(at, seq, key, period.period_since, period.ended)


@_compiled
def online_spans(at: Ints, seq: Ints, key: Ints, since: int, ended: int) -> tuple[Ints, Ints]:
    """The union of the intervals between logins and logouts."""
    starts, ends = _intervals(at, seq, key, since, ended)
    return _union(starts, ends)


@_compiled
def empty_windows(starts: Ints, ends: Ints, numbers: Ints, since: int, unit: int) -> int:
    """How many windows overlap the spans (apart and in order) and are not among `numbers` (rising)."""
    empty, place, reached = 0, 0, -1
    for span in range(len(starts)):
        begin = max((starts[span] - since) // unit, reached + 1)
        end = (ends[span] - since) // unit
        while place < len(numbers) and numbers[place] < begin:
            place += 1
        empty += max(end - begin + 1, 0)
        while place < len(numbers) and numbers[place] <= end:
            place += 1
            empty -= 1
        reached = max(reached, end)
    return empty


@_streaming
def clear_all(state: State, slots: Ints) -> None:
    """Players nothing is known of, in all these slots."""
    for slot in slots:
        clear(state, slot)


def blocks_for(rows: int) -> int:
    """How many free blocks so many rows may need."""
    return rows * _BLOCKS_A_ROW
