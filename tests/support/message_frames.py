"""Frames of a Ragnarok connection, cut and put together."""

import random

import ragnarok_bytes as ro
from capture_bytes import SYN, ethernet, ipv4, tcp

PORT = 5121

FIRST = 1000  # sequence number of a stream's first byte


def segment(seq, data=b"", flags=0x18, port=50_000, server=PORT):
    return ethernet(ipv4(tcp(port, server, seq, 0, flags) + data))


def play(seed, count=120):
    """Messages of a client, none of whose inner bytes look like the beginning of another."""
    draw = random.Random(seed)  # noqa: S311 - made-up play, not a secret
    messages = [ro.connect(0xF1F2F3F4, 0xE1E2E3E4)]
    for _ in range(count):
        kind = draw.randrange(5)
        messages.append(
            ro.walk(draw.randrange(256, 1024), draw.randrange(256, 1024), junk=0xFE)
            if kind < 2
            else ro.take(draw.randrange(0xF0F0F0F0, 0xFFFFFFFF))
            if kind == 2
            else ro.action(draw.choice([0, 7]), draw.randrange(0xF0F0F0F0, 0xFFFFFFFF))
            if kind == 3
            else ro.whisper(b"\xfe" * draw.randrange(40), b"\xfe" * 24)
        )
    return messages


def cut(data, draw):
    """The stream as (place, bytes) pieces of random lengths."""
    pieces, place = [], 0
    while place < len(data):
        size = draw.choice([1, 2, 3, 8, 20, 60, 200])
        pieces.append((place, data[place : place + size]))
        place += size
    return pieces


def frames_of(pieces, *, syn=True, first=FIRST):
    opening = [segment(first - 1, flags=SYN)] if syn else []
    return [*opening, *(segment((first + place) % 2**32, data) for place, data in pieces)]
