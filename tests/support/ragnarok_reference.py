"""Packetstreams and session features in plain Python, message by message: the oracle of the kernels."""

import math
import struct
from itertools import pairwise

from gamewarden.readers.ragnarok import kernel
from gamewarden.readers.ragnarok.report import CUT_OFF, REASONS

TAG = b"ADAM"
NUMBERS = {"target": "<I", "action": "<B", "item": "<H", "skill": "<H"}


def parse(data, db, *, strict=False):
    """(messages, bytes of tags, bytes of messages, skipped bytes by reason) of a packetstream."""
    messages, skipped = [], {}
    place = tags = taken = 0
    at = None
    session, who = -1, (None, None)

    while place < len(data):
        if data[place : place + 4] == TAG and place + 12 <= len(data):
            seconds, micros = struct.unpack_from("<II", data, place + 4)
            at, place, tags = seconds * 1_000_000 + micros, place + 12, tags + 12
            continue
        size, why = _message(data, place, db)
        if why is not None:
            ends = why == REASONS[kernel.END_MARK] or strict
            found = -1 if ends else data.find(TAG, place + 1)
            after = len(data) if found < 0 else found
            skipped[why] = skipped.get(why, 0) + after - place
            place = after
            continue
        entry = db.entries[struct.unpack_from("<H", data, place)[0]]
        message = data[place : place + size]
        if entry.function == "wanttoconnection":
            session += 1
            who = (_number(message, entry, "account", "<I"), _number(message, entry, "character", "<I"))
        elif session < 0:
            session = 0
        messages.append(_decoded(message, entry, session, who, at))
        place, taken = place + size, taken + size
    return messages, tags, taken, skipped


def _message(data, place, db):
    """(bytes, why it cannot be read)."""
    left = len(data) - place
    if left < 2 or (left < 12 and data[place : place + 4] == TAG) or (left < 4 and data[place : place + 2] == b"AD"):
        return 0, CUT_OFF
    identity = struct.unpack_from("<H", data, place)[0]
    if identity == 0 or identity not in db.entries:
        return 0, REASONS[kernel.UNKNOWN_ID if identity else kernel.END_MARK]
    size, least = db.entries[identity].length, 2
    if size == 0:
        return 0, REASONS[kernel.ZERO_LENGTH]
    if size == -1:
        if left < 4:
            return 0, CUT_OFF
        size, least = struct.unpack_from("<H", data, place + 2)[0], 4
    if size < least:
        return 0, REASONS[kernel.BAD_LENGTH]
    return size, CUT_OFF if size > left else None


def _number(message, entry, part, shape):
    place = entry.fields.get(part)
    if place is None or place + struct.calcsize(shape) > len(message):
        return None
    return struct.unpack_from(shape, message, place)[0]


def _decoded(message, entry, session, who, at):
    row = {"session": session, "actor": who[0], "character": who[1], "at": at, "id": entry.id}
    row |= {"function": entry.function, "size": len(message), "x": None, "y": None}
    row |= {part: _number(message, entry, part, shape) for part, shape in NUMBERS.items()}
    place = entry.fields.get("place")
    if place is not None and place + 3 <= len(message):
        first, second, third = message[place : place + 3]
        row["x"], row["y"] = first * 4 + (second >> 6), ((second & 0x3F) << 4) + (third >> 4)
    return row


def sessions(messages):
    """The messages by session, in order."""
    found = {}
    for message in messages:
        found.setdefault(message["session"], []).append(message)
    return list(found.values())


def features(messages, *, paper=False, following=None, min_moves=50, min_actions=10):
    """One session's row, as the specification words it; `following` is the time the next session connected."""
    times = [message["at"] for message in messages if message["at"] is not None]
    since, until = (times[0], times[-1]) if times else (None, None)
    if paper and following is not None and times:
        until = following
    lasted = 0 if since is None else until - since
    clock = (lambda m: m["at"] or 0) if paper else (lambda m: m["at"])

    chains, takes, faces_to_take, attacks_to_take = [[]], [], [], []
    once = on = 0
    face = attack = _NONE
    for message in messages:
        match message["function"], message["action"]:
            case "walktoxy", _ if message["x"] is not None:
                chains[-1].append((clock(message), message["x"], message["y"]))
            case "loadendack", _ if not paper:
                chains.append([])
            case "changedir", _:
                face = clock(message)
            case "actionrequest", 0 | 7 as what:
                once, on, attack = once + (what == 0), on + (what == 7), clock(message)
            case "takeitem", _:
                takes.append(clock(message))
                faces_to_take += [] if face is _NONE else [(face, takes[-1])]
                attacks_to_take += [] if attack is _NONE else [(attack, takes[-1])]
                attack = _NONE
    steps = [pair for chain in chains for pair in pairwise(chain)]
    near = [(abs(b[1] - a[1]), abs(b[2] - a[2])) for a, b in steps if math.dist(a[1:], b[1:]) < 1000]
    gaps = {
        "move_gap_ms": _mean_gap([(a[0], b[0]) for a, b in steps], 100, paper=paper),
        "take_gap_ms": _mean_gap(list(pairwise(takes)), 1000, paper=paper),
        "turn_to_take_ms": _mean_gap(faces_to_take, 1000, paper=paper),
        "attack_to_take_ms": _mean_gap(attacks_to_take, 1000, paper=paper),
    }
    moves, empty = sum(map(len, chains)), 0.0 if paper else None
    return {
        "actor": messages[0]["actor"],
        "since": since,
        "until": until,
        "events": len(messages),
        "character": messages[0]["character"],
        "valid": lasted > 600_000_000,
        "enough": paper or (moves >= min_moves and once + on + len(takes) >= min_actions),
        "packets_per_s": len(messages) / (lasted / 1e6) if lasted > 0 else None,
        "move_dx": _mean([dx for dx, _ in near], empty),
        "move_dy": _mean([dy for _, dy in near], empty),
        "move_distance": _mean([math.hypot(*step) for step in near], empty),
        **gaps,
        "continuous_attacks_per_s": on / (lasted / 1e6) if lasted > 0 else None,
        **_turns(chains),
        "once_attacks_per_s": once / (lasted / 1e6) if lasted > 0 else None,
    }


_NONE = object()


def _mean(values, empty=None):
    return sum(values) / len(values) if values else empty


def _mean_gap(pairs, scale, *, paper):
    gaps = [(b - a) / 1000 for a, b in pairs if a is not None and b is not None and (b - a) / 1000 < 7000]
    mean = _mean(gaps, 7000.0 if paper else None)
    return mean / scale if paper else mean


def _turns(chains):
    angles = []
    for chain in chains:
        steps = [(b[1] - a[1], b[2] - a[2]) for a, b in pairwise(chain)]
        headings = [math.atan2(dy, dx) for dx, dy in steps if (dx, dy) != (0, 0)]
        angles += [math.remainder(after - before, math.tau) for before, after in pairwise(headings)]
    if not angles:
        return {"turn_mean_deg": None, "turn_circular_variance": None, "turn_back_share": None}
    mean = complex(_mean([math.cos(a) for a in angles]), _mean([math.sin(a) for a in angles]))
    return {
        "turn_mean_deg": _mean([math.degrees(abs(angle)) for angle in angles]),
        "turn_circular_variance": 1 - abs(mean),
        "turn_back_share": _mean([abs(angle) > math.pi / 2 + 1e-9 for angle in angles]),
    }
