"""Damaged captures by the thousand: no crash, no hang, no memory beyond a small multiple of the bytes.

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

import numpy as np
import pytest

from capture_bytes import (
    AT,
    CLIENT,
    SERVER,
    SYN,
    block,
    down,
    enhanced,
    ethernet,
    interface,
    ipv4,
    ipv6,
    pcap,
    section,
    tcp,
    udp,
    up,
)
from capture_bytes_reading import Pieces, Whole, outcome, read
from gamewarden.readers.byte_sources import Window
from gamewarden.readers.captures import counts, kernel
from gamewarden.readers.captures import headers as capture_headers
from gamewarden.readers.captures import stream as captures
from paths import TESTS
from tunnel_bytes import TAPS, TUNNELS

CASES = int(os.environ.get("GAMEWARDEN_FUZZ", "2000"))
BUSY = (0, 1, 4, 8, 16, 0x7F, 0x80, 0xFF)
LENGTHS = (
    0,
    1,
    7,
    8,
    19,
    20,
    31,
    32,
    255,
    256,
    65_535,
    65_536,
    262_144,
    262_145,
    2**31 - 1,
    2**31,
    2**32 - 4,
    2**32 - 1,
)
NOT_REASONS = (counts.PACKETS, *range(counts.OVERLAPS, counts.COUNTERS))

FRAMES = [
    up(99, 0, SYN),
    down(9, 0, SYN | 0x10),
    up(100, 20),
    up(140, 20),
    up(110, 25),
    up(100, 60),
    down(10, 300),
    ethernet(ipv4(tcp(50000, 3724, 160, 12, options=b"\1" * 8), options=b"\1" * 4), tags=bytes.fromhex("81000005")),
    ethernet(ipv4(udp(50001, 3724, 60), protocol=17, fragment=0x2000)),
    ethernet(ipv4(udp(3724, 50001, 9), SERVER, CLIENT, protocol=17)),
    ethernet(
        ipv6(bytes([44, 0]) + bytes(6) + bytes([6, 0, 0, 0]) + bytes(4) + tcp(50002, 3724, 5, 9), protocol=0), 0x86DD
    ),
    ethernet(ipv6(udp(50003, 3724, 9), protocol=17), 0x86DD, tags=bytes.fromhex("88a8000581000006")),
]
IP_FRAMES = [frame[14:] for frame in FRAMES[:7]]
WRAPPED = [
    ethernet(wrap(packet, version), kind)
    for _, kind, wrap in TUNNELS.values()
    for packet, version in ((FRAMES[2][14:], 4), (FRAMES[11][22:], 6))
]
SIMPLE = block(3, struct.pack("<I", len(FRAMES[0])) + FRAMES[0])
SEEDS = [
    pcap(FRAMES),
    pcap(FRAMES, order=">", nanos=True),
    pcap(FRAMES, captured=60),
    pcap(IP_FRAMES, 101),
    pcap([b"\x02\0\0\0" + frame for frame in IP_FRAMES], 0),
    pcap([bytes(14) + b"\x08\0" + frame for frame in IP_FRAMES], 113),
    pcap([b"\x08\0" + bytes(18) + frame for frame in IP_FRAMES], 276),
    section() + interface() + b"".join(enhanced(frame, AT + n) for n, frame in enumerate(FRAMES)),
    section(">")
    + interface(101, ">", resolution=9, shift=-3)
    + b"".join(enhanced(frame, AT * 1000 + n, order=">") for n, frame in enumerate(IP_FRAMES))
    + section()
    + interface(resolution=0x80 | 30)
    + interface()
    + SIMPLE
    + block(0xBAD, b"x" * 9)
    + enhanced(FRAMES[2], face=1),
    pcap(WRAPPED),
    section()
    + b"".join(interface(link) for link, _ in TAPS.values())
    + b"".join(enhanced(wrap(IP_FRAMES[2], 4), face=face) for face, (_, wrap) in enumerate(TAPS.values()))
    + enhanced(TAPS["nflog"][1](FRAMES[11][22:], 6), face=[*TAPS].index("nflog")),
]


def mutated(number):
    """A capture damaged in the way its number says."""
    dice = random.Random(number)  # noqa: S311 - repeatable damage, not a secret
    data = bytearray(dice.choice(SEEDS))
    for _ in range(dice.choice((0, 1, 1, 2, 4, 12))):
        place = dice.randrange(len(data))
        match dice.randrange(7):
            case 0:
                data[place] ^= 1 << dice.randrange(8)
            case 1:
                data[place] = dice.choice(BUSY)
            case 2:
                place &= ~3
                data[place : place + 4] = dice.choice(LENGTHS).to_bytes(4, dice.choice(("little", "big")))
            case 3:
                data[place : place + 2] = (dice.choice(LENGTHS) & 0xFFFF).to_bytes(2, "big")
            case 4:
                del data[place : place + dice.choice((1, 4, 16, 40))]
            case 5:
                start = dice.randrange(len(data))
                data[place:place] = data[start : start + dice.choice((4, 16, 80, 400))]
            case _:
                del data[place:]
        if not data:
            break
    return bytes(data)


def check(said, tally, problem, size):
    assert len(said) == tally[counts.DELIVERED] <= tally[counts.PACKETS] <= size // 16 + 1
    assert sum(tally) - sum(tally[reason] for reason in NOT_REASONS) == tally[counts.PACKETS]
    assert all(0 < row[3] <= capture_headers.MOST_CAPTURED for row in said)
    assert problem is None or "\n" not in problem


def test_damaged_captures_neither_crash_nor_hang_nor_fill_the_memory():
    read(Whole(SEEDS[0]))
    read(Whole(SEEDS[-1]))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for number in range(CASES):
        data = mutated(number)
        began = time.process_time()
        try:
            found = read(Whole(data), server_ports=[3724] if number % 3 == 0 else ())
            check(*found, len(data))
            if number % 10 == 0:
                options = {"server_ports": [3724] if number % 3 == 0 else ()}
                assert read(Pieces(data, 50, number), **options) == found
        except Exception as error:
            raise AssertionError(f"damaged capture number {number}") from error
        assert time.process_time() - began < 1, f"damaged capture number {number} took too long"
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before

    assert grown < 64_000  # kilobytes: nothing is kept from case to case


def test_a_claim_of_many_bytes_takes_no_memory():
    claims = [
        SEEDS[0] + struct.pack("<IIII", 1, 0, 0xFFFFFFFF, 0xFFFFFFFF),
        SEEDS[0] + struct.pack("<IIII", 1, 0, capture_headers.MOST_CAPTURED, 0xFFFFFFFF),
        SEEDS[7] + struct.pack("<II", 6, 0xFFFFFFFC) + bytes(64),
        SEEDS[7] + struct.pack("<II", 0xBAD, kernel.MOST_BLOCK) + bytes(64),
        SEEDS[7] + struct.pack("<III", 0x0A0D0D0A, kernel.MOST_BLOCK, 0x1A2B3C4D) + b"\1\0\0\0" + bytes(64),
    ]
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for data in claims:
        said, _, problem = read(Whole(data))

        assert said
        assert problem
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 32_000


def test_memory_grows_with_flows_only():
    """A flood of SYNs from ever new addresses: the flow table stays a small multiple of the capture."""
    frames = b"".join(
        struct.pack("<IIII", 1, 0, 54, 54) + FRAMES[0][:26] + struct.pack(">I", n) + FRAMES[0][30:]
        for n in range(100_000)
    )
    data = pcap([]) + frames
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    said, tally, _ = read(Whole(data))

    assert said == []
    assert tally[counts.EMPTY] == 100_000
    assert (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024 < 8 * len(data)


def exactly(data):
    """Read with a buffer that ends where the bytes end."""
    report, source = captures.CaptureReport(), Whole(data)
    rules = captures._rules((), include_empty=True, only_up=False)
    reading = captures.CaptureReading(source, "made up", rules, None, report)
    reading._window = Window(source, chunk=max(len(data), 1))
    return outcome(list(reading.batches()), report)


def digest_of_cases(last):
    """Of what is read from damaged captures, and from each packet cut at each byte."""
    cuts = [pcap([frame], captured=size) for frame in FRAMES for size in range(1, min(len(frame), 130))]
    cuts += [pcap(WRAPPED, captured=size) for size in range(1, 180)]
    for link, wrap in TAPS.values():
        cuts += [pcap([wrap(IP_FRAMES[2], 4)], link, captured=size) for size in range(1, 130)]
    digest = hashlib.sha256()
    for data in [*map(mutated, range(last)), *cuts]:
        digest.update(repr(exactly(data)).encode())
    return digest.hexdigest()


@pytest.mark.integration
def test_plain_python_with_bounds_reads_the_same_and_never_steps_outside():
    last = max(300, CASES // 200)
    program = f"import test_captures_fuzz as fuzz; print(fuzz.digest_of_cases({last}))"
    path = os.pathsep.join([str(TESTS / "readers"), *sys.path])
    environment = os.environ | {"NUMBA_DISABLE_JIT": "1", "PYTHONPATH": path}
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", program], env=environment, capture_output=True, text=True, check=False
    )

    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout.strip() == digest_of_cases(last)


@pytest.mark.parametrize("seed", range(len(SEEDS)))
def test_undamaged_seeds_are_read_whole(seed):
    said, tally, problem = read(Whole(SEEDS[seed]))

    assert len(said) >= 2
    assert problem is None
    assert np.sum(tally) > 0
