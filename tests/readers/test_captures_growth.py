"""Twice the capture is twice the work: lines of the readers that run, counted in plain Python, never the clock."""

import json
import os
import random
import struct
import subprocess
import sys
from pathlib import Path

import pytest

import gamewarden.readers
from capture_bytes import AT, block, enhanced, ethernet, interface, ipv4, pcap, section, tcp, udp, up
from tunnel_bytes import labels, nflog, vxlan

pytestmark = pytest.mark.integration

ROOM = str(Path(gamewarden.readers.__file__).parent)


def packets(count):
    return pcap([up(20 * n, 20) for n in range(count)])


def flows(count):
    return pcap([ethernet(ipv4(udp(1024 + n, 3724, 9), protocol=17)) for n in range(count)])


def open_gaps(count):
    return pcap([up(40 * n, 20) for n in range(count)])


def gaps_filled_backward(count):
    return pcap([*(up(40 * n, 20) for n in range(count)), *(up(40 * n + 20, 20) for n in range(count - 1, -1, -1))])


def gaps_filled_in_any_order(count):
    late = [up(40 * n + 20, 20) for n in range(count)]
    random.Random(1).shuffle(late)  # noqa: S311 - an order that repeats, not a secret
    return pcap([*(up(40 * n, 20) for n in range(count)), *late])


def gaps_split(count):
    return pcap([up(0, 1), up(1_000_000, 1), *(up(1000 * n + 500, 3) for n in range(1, count))])


def gaps_beyond_what_is_kept(count):
    return pcap([up(40 * n, 20) for n in range(900 + count)])


def interfaces(count):
    return section() + interface() * count + enhanced(up(0, 5), face=count - 1)


def strange_interfaces(count):
    described = b"".join(interface(300 + n) for n in range(count))
    return section() + described + b"".join(enhanced(b"x" * 60, face=n) for n in range(count))


def sections(count):
    return (section() + interface() + enhanced(up(0, 5), AT)) * count


def options(count):
    described = struct.pack("<HHI", 1, 0, 0) + struct.pack("<HH", 2, 0) * count
    return section() + block(1, described) + enhanced(up(0, 5))


def blocks(count):
    return section() + interface() + block(0xBAD, b"x" * 8) * count + enhanced(up(0, 5))


def tunnels(count):
    return pcap([ethernet(vxlan(vxlan(ipv4(tcp(50_000, 3724, 20 * n, 20)), 4), 4)) for n in range(count)])


def attributes(count):
    frame = nflog(ipv4(udp(50_000, 3724, 9), protocol=17), 4)
    return pcap([frame[:4] + struct.pack("<HH", 4, 3) * (10 * count) + frame[4:]], 239)


def endless_labels(count):
    return pcap([ethernet(labels(*range(count)), 0x8847)])


MADE = {
    made.__name__: made
    for made in (
        packets,
        flows,
        open_gaps,
        gaps_filled_backward,
        gaps_filled_in_any_order,
        gaps_split,
        gaps_beyond_what_is_kept,
        interfaces,
        strange_interfaces,
        sections,
        options,
        blocks,
        tunnels,
        attributes,
        endless_labels,
    )
}


def lines_run(data):
    """How many lines of the readers run for a capture."""
    from capture_bytes_reading import Whole, read

    ran = 0

    def of_line(_frame, event, _argument):
        nonlocal ran
        ran += event == "line"
        return of_line

    def of_call(frame, _event, _argument):
        return of_line if frame.f_code.co_filename.startswith(ROOM) else None

    sys.settrace(of_call)
    try:
        read(Whole(data))
    finally:
        sys.settrace(None)
    return ran


def count_all():
    for name, made in MADE.items():
        print(json.dumps([name, *(lines_run(made(count)) for count in (100, 200, 400))]))  # noqa: T201 - for the parent


@pytest.fixture(scope="module")
def counted():
    program = "import test_captures_growth as growth; growth.count_all()"
    paths = [str(Path(__file__).parent), *sys.path]
    environment = os.environ | {"NUMBA_DISABLE_JIT": "1", "PYTHONPATH": os.pathsep.join(paths)}
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", program], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return {name: counts for name, *counts in map(json.loads, done.stdout.splitlines())}


@pytest.mark.parametrize("name", MADE)
def test_doubling_a_capture_never_quadruples_the_work(counted, name):
    once, twice, four_times = counted[name]

    assert once > 100
    assert twice < 3 * once
    assert four_times < 3 * twice
