"""What a Ragnarok client of the thesis' time sends, written byte by byte."""

import struct
from contextlib import contextmanager

import polars as pl
import pyarrow as pa

from gamewarden.tables import MESSAGES, check

CONNECT, LOADED, FACE, TICK, NAME, WHISPER, WALK, TAKE, ACTION, OFFER = (
    0x009B,
    0x007D,
    0x0085,
    0x0089,
    0x008C,
    0x0096,
    0x00A7,
    0x00F5,
    0x0190,
    0x00E8,
)
# The dump printed in the thesis: no tags, and the last message is cut off.
DUMP = bytes.fromhex(
    "9B00640082841E0000F24902006139640074 41D54EE4A7810C011D020000000 07D008900350 03BAF810C".replace(" ", "")
    + "4D014F01000000004F01000000004F01010000008900620023DE810C"
    + "89003400050D820C89006500E73B820C89006100C86A820C89003000"
)


def tag(at):
    """The time of what follows, in µs since 1970."""
    return b"ADAM" + struct.pack("<II", at // 1_000_000, at % 1_000_000)


def connect(account=2_000_002, character=150_002):
    return struct.pack("<HHIBI4xIIB", CONNECT, 0x64, account, 0, character, 0x4ED54174, 209_823_716, 1)


def walk(x, y, junk=0):
    return struct.pack("<H3sBBB", WALK, bytes([junk] * 3), x >> 2, (x & 3) << 6 | y >> 4, (y & 15) << 4 | (junk & 15))


def take(target=7):
    return struct.pack("<HHI", TAKE, 0x3939, target)


def action(what, target=110_014):
    return struct.pack("<H3xI9xB", ACTION, target, what)


def offer(amount, place):
    """An offer in the trade window; place 0 is the purse."""
    return struct.pack("<HHI", OFFER, place, amount)


def face(direction=3):
    return struct.pack("<H5xB2xB", FACE, 0, direction)


def loaded():
    return struct.pack("<H", LOADED)


def tick(moment=1):
    return struct.pack("<HHI", TICK, 0x35, moment)


def whisper(text=b"hi", name=b"someone"):
    return struct.pack("<HH24s", WHISPER, 28 + len(text), name) + text


class Bytes:
    """A source that hands out a few bytes at a time."""

    live = False
    problem = None

    def __init__(self, data, step=None):
        self._data, self._at, self._step = data, 0, step or len(data) or 1

    def read_into(self, room):
        piece = self._data[self._at : self._at + min(len(room), self._step)]
        room[: len(piece)] = piece
        self._at += len(piece)
        return len(piece)


class Given:
    """Bytes as the origin of a stream, to be read as often as wanted."""

    def __init__(self, data, step=None):
        self.name = "made up"
        self._data, self._step = data, step

    @contextmanager
    def opened(self):
        yield Bytes(self._data, self._step)


def decoded(stream):
    """All messages of a stream as a table."""
    batches = list(stream.batches(tuple(MESSAGES.columns)))
    empty = pl.DataFrame(schema=MESSAGES.columns)
    return check(pl.DataFrame(pl.from_arrow(pa.Table.from_batches(batches))) if batches else empty, MESSAGES, "test")
