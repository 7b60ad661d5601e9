"""Damaged streams, taps and message tables by the thousand: no crash, no endless loop, every byte accounted for.

GAMEWARDEN_FUZZ=100000 sets how many are tried; the number of the first to fail is in the message and repeats it.
"""

import hashlib
import os
import random
import resource
import struct
import subprocess
import sys
import time

import pytest

import ragnarok_bytes as ro
from capture_bytes import SYN, pcap
from gamewarden.errors import GamewardenError
from gamewarden.readers.byte_sources import Window
from gamewarden.readers.ragnarok import kernel
from gamewarden.readers.ragnarok.batches import BatchBuffers, Layout
from gamewarden.readers.ragnarok.captures import MessageCapture
from gamewarden.readers.ragnarok.message_table import parse_packet_db
from gamewarden.readers.ragnarok.report import MessageReport
from gamewarden.readers.ragnarok.streams import _Reading
from gamewarden.readers.ragnarok.thesis_profile import thesis_profile
from gamewarden.tables import MESSAGES
from message_frames import FIRST, PORT, cut, play, segment
from message_table_text import TEXT
from paths import TESTS

CASES = int(os.environ.get("GAMEWARDEN_FUZZ", "2000"))
COLUMNS = tuple(MESSAGES.columns)
BUSY = (b"\0", b"\xff", b"ADAM", b"\x9b\0", b"\x96\0", b"\x96\0\0\0", b"\x96\0\xff\xff", b"\x16\x02", b"\x17\x02")
ODD_LINES = """0x0216,0
0x0217,1
0x0096,-1
0x009b,3,wanttoconnection,2:65535
0x00a7,8,walktoxy,6
0x0190,19,actionrequest,18:18
"""


def damaged(data, draw):
    """The bytes with a few things done to them."""
    out = bytearray(data)
    for _ in range(draw.randrange(1, 6)):
        place = draw.randrange(len(out) + 1)
        match draw.randrange(5):
            case 0:
                out[place : place + 1] = bytes([draw.randrange(256)])
            case 1:
                out[place:place] = draw.choice(BUSY)
            case 2:
                del out[place : place + draw.randrange(1, 30)]
            case 3:
                out[place : place + 2] = draw.randrange(65_536).to_bytes(2, "little")
            case _:
                out[place:place] = out[place // 2 : place // 2 + draw.randrange(60)]
    return bytes(out)


def a_stream(draw):
    messages = play(draw.randrange(50), count=draw.randrange(1, 25))
    return b"".join((ro.tag(draw.randrange(2**40)) if draw.random() < 0.5 else b"") + message for message in messages)


def a_capture(draw):
    pieces = cut(b"".join(play(draw.randrange(50), count=draw.randrange(1, 25))), draw)
    frames = [segment(FIRST + place, damaged(piece, draw) if draw.random() < 0.1 else piece) for place, piece in pieces]
    frames = [frame for frame in frames if draw.random() > 0.1] + [draw.choice(frames)]
    return pcap([segment(FIRST - 1, flags=SYN)] * draw.randrange(2) + frames)


def table_of(number):
    """A message table: the thesis', a strange one, or one that is damaged."""
    draw = random.Random(number)  # noqa: S311 - repeatable damage, not a secret
    if number % 3 == 0:
        return thesis_profile()
    text = TEXT + ODD_LINES if number % 3 == 1 else damaged((TEXT + ODD_LINES).encode(), draw).decode(errors="replace")
    try:
        return parse_packet_db(text.splitlines(), "made up", draw.choice([None, None, 5, 7, 2**31]))
    except GamewardenError:
        return thesis_profile()


def read_stream(data, db, *, strict):
    """A stream in a window that ends where its bytes end."""
    report = MessageReport("made up")
    window = Window(ro.Bytes(data), chunk=max(len(data), 1))
    reading = _Reading(window, BatchBuffers(Layout(db), 64), report, strict=strict)
    return [batch.to_pylist() for batch in reading.batches(COLUMNS, live=False)], report


def outcome(number):
    """What is read of one damaged source."""
    draw, db = random.Random(number), table_of(number)  # noqa: S311 - repeatable damage, not a secret
    strict = number % 5 == 0
    if number % 2:
        data = damaged(a_stream(draw), draw)
        rows, report = read_stream(data, db, strict=strict)
        assert report.bytes == len(data), number
    else:
        data = a_capture(draw)
        if draw.random() < 0.5:
            data = data[:24] + damaged(data[24:], draw)
        stream = MessageCapture(ro.Given(data), db, (PORT,), strict=strict, batch=64)
        rows = [batch.to_pylist() for batch in stream.batches(COLUMNS)]
        report = stream.report
    told = [row for batch in rows for row in batch]
    assert report.messages == len(told), number
    assert report.taken == sum(row["size"] for row in told), number
    assert all(size >= 2 for size in (row["size"] for row in told)), number
    return repr((told, report.skipped, report.lost, report.problem))


def test_damaged_sources_are_read_without_a_crash_and_every_byte_is_accounted_for():
    for number in range(100):
        outcome(number)
    before, began = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.process_time()

    for number in range(CASES):
        outcome(number)

    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 64_000
    assert time.process_time() - began < 20 + CASES / 50


def test_damaged_tables_are_read_or_refused():
    for number in range(CASES):
        draw = random.Random(number)  # noqa: S311 - repeatable damage, not a secret
        text = damaged(TEXT.encode() * 3, draw).decode(errors="replace")
        try:
            db = parse_packet_db(text.splitlines(), "made up")
        except GamewardenError:
            continue
        assert all(0 <= identity <= 0xFFFF and -1 <= entry.length <= 0xFFFF for identity, entry in db.entries.items())
        assert Layout(db).array.shape == (1 << 16, kernel.LAYOUT_COLUMNS)


def digest_of_cases(last):
    digest = hashlib.sha256()
    for number in range(last):
        digest.update(outcome(number).encode())
    return digest.hexdigest()


@pytest.mark.integration
def test_plain_python_with_bounds_reads_the_same_and_never_steps_outside():
    last = max(150, CASES // 200)
    program = f"import test_messages_fuzz as fuzz; print(fuzz.digest_of_cases({last}))"
    path = os.pathsep.join([str(TESTS / "readers"), *sys.path])
    environment = os.environ | {"NUMBA_DISABLE_JIT": "1", "PYTHONPATH": path}
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", program], env=environment, capture_output=True, text=True, check=False
    )

    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout.strip() == digest_of_cases(last)


def test_damage_at_every_step_takes_time_with_the_bytes_and_no_more():
    data = (b"\xff\xff" + ro.tag(1)) * 100_000
    read_stream(data[:100], thesis_profile(), strict=False)
    began = time.process_time()

    _, report = read_stream(data, thesis_profile(), strict=False)

    assert (report.resumed, report.tags, report.bytes) == (100_000, 1_200_000, 1_400_000)
    assert time.process_time() - began < 5


FLOODS = [(segment(0, flags=SYN), 12), (segment(1, ro.connect()), 20)]


@pytest.mark.parametrize(("frame", "most"), FLOODS, ids=["SYN", "data"])
def test_memory_grows_with_connections_only(frame, most):
    """A flood from ever new addresses stays a small multiple of the capture."""
    flood = b"".join(
        struct.pack("<IIII", 1, 0, len(frame), len(frame)) + frame[:26] + struct.pack(">I", n) + frame[30:]
        for n in range(30_000)
    )
    data = pcap([]) + flood
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    stream = MessageCapture(ro.Given(data), thesis_profile(), (PORT,))
    rows = sum(batch.num_rows for batch in stream.batches(("id",)))

    assert rows == (30_000 if most > 12 else 0)
    assert (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024 < most * len(data) + (16 << 20)


@pytest.mark.parametrize("size", [0, 1, 2, 3])
def test_a_table_full_of_lengths_without_bytes_never_holds_a_reading_up(size):
    db = parse_packet_db([f"0x{identity:04x},{size}" for identity in range(1, 3000)], "made up")
    data = bytes(range(1, 200)) * 20

    _, report = read_stream(data, db, strict=False)

    assert report.bytes == len(data)
