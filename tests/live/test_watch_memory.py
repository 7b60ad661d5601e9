"""A watch with a cap on its memory: the whole process stays below it, and whoever has a history stays."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from floods import HEADER, PORT, SERVER, Known, game, udp_record
from gamewarden.config import config_from
from gamewarden.contracts import Bounds
from gamewarden.core.sizes import GIB, MIB
from gamewarden.errors import ConfigError
from gamewarden.pipeline import bounds_of
from paths import SUPPORT

CAP = 512
STRANGERS = 250_000

pytestmark = [
    pytest.mark.integration,
    pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the system has to say what it took"),
]


def watched(place, *arguments):
    """A watch in a process of its own: its peak in MiB, what it wrote, and what it said."""
    script = SUPPORT / "peak_memory.py"
    command = [sys.executable, script, place / "peak", "watch", *arguments]
    done = subprocess.run([*map(str, command)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return int((place / "peak").read_text()) / 1024, done.stdout, done.stderr


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """Ten players, with and without a quarter of a million strangers that a server answered, one packet each."""
    place = tmp_path_factory.mktemp("memory")
    told = game([Known(number) for number in range(10)], 6000)
    (place / "quiet.pcap").write_bytes(HEADER + b"".join(record for _, record in told))
    first, last = told[0][0], told[-1][0]
    begin = first + (last - first) // 2  # by then everybody has a history
    step = max((last - begin) // STRANGERS, 1)
    flood = []
    for number in range(STRANGERS):
        at, address = begin + number * step, 0x01000000 + number
        flood += [
            (at, udp_record(at, address, 5000, SERVER, PORT, 30)),
            (at, udp_record(at, SERVER, PORT, address, 5000, 30)),
        ]
    both = sorted(told + flood, key=lambda one: one[0])
    (place / "flooded.pcap").write_bytes(HEADER + b"".join(record for _, record in both))
    return place


def test_the_whole_process_stays_below_the_cap_and_known_players_are_decided_upon_alike(place, tmp_path):
    port = ("--server-port", PORT)
    kept = ("--counts", tmp_path / "counts.json", "--state", tmp_path / "state")
    peak, out, said = watched(tmp_path, place / "flooded.pcap", *port, "--memory", f"{CAP}MiB", *kept)
    _, quiet, _ = watched(tmp_path, place / "quiet.pcap", *port)
    counts = json.loads((tmp_path / "counts.json").read_text())

    assert peak < CAP
    assert out == quiet
    assert out.count("\n") > 20
    left_out = counts["source"]["of connections beyond those that are kept, not delivered"] + counts["watch"]["refused"]
    assert left_out + counts["watch"]["dropped"] > 50_000
    assert "beyond those that are kept" in said


def test_what_the_program_itself_takes_is_what_the_cap_counts_for_it(place, tmp_path):
    watched(tmp_path, place / "quiet.pcap", "--server-port", PORT)  # what is compiled here is not counted
    peak, _, _ = watched(tmp_path, place / "quiet.pcap", "--server-port", PORT)

    assert 200 < peak < 400 - 16 - 8  # without the largest filter of sleepers, and the cache of their file


def test_a_cap_becomes_a_number_of_players():
    bounds = Bounds(players=100_000_000)

    assert bounds.within(GIB).players == (GIB - (400 << 20) - (1 << 18) * 170) // 600
    assert bounds.within(GIB).letters == bounds.within(GIB).players * 64
    assert Bounds().within(64 * GIB).players == 1_000_000
    assert bounds.within(GIB).keep == bounds.keep


def test_a_cap_below_the_program_itself_is_refused_with_what_is_needed():
    with pytest.raises(ConfigError, match=r"256MiB is too little: .* give 444MiB or more"):
        Bounds().within(256 * MIB)
    Bounds().within(444 * MIB)


def test_the_cap_is_a_setting_too_and_the_command_line_goes_before_it():
    config = config_from({"watch": {"memory": "1GiB", "players": 100_000_000, "idle": "5m"}}, "here")

    assert bounds_of(config).players == Bounds(players=100_000_000).within(GIB).players
    assert bounds_of(config, memory=2 * GIB).players == Bounds(players=100_000_000).within(2 * GIB).players
    assert bounds_of(config).idle == 300_000_000
