"""A watch under a flood of spoofed sources: known players undisturbed, memory bounded, what was dropped told."""

import subprocess
import sys

import pytest

from floods import START, Known, capture, flood, game

GAMEWARDEN = [sys.executable, "-m", "gamewarden"]
HOUR = 3_600_000_000


def run(*arguments, **options):
    return subprocess.run([*GAMEWARDEN, *map(str, arguments)], capture_output=True, text=True, check=False, **options)


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A game of five players, and the same game with 20,000 spoofed sources in between."""
    place = tmp_path_factory.mktemp("flood")
    players = [Known(number, udp=number % 2 == 1) for number in range(5)]
    told = game(players, 4000)
    (place / "quiet.pcap").write_bytes(capture(told))
    (place / "flooded.pcap").write_bytes(capture(told + flood(1, 20_000, START, told[-1][0])))
    return place


def test_known_players_are_decided_upon_alike_with_and_without_a_flood(place):
    quiet = run("watch", place / "quiet.pcap", "--server-port", 3724)
    flooded = run("watch", place / "flooded.pcap", "--server-port", 3724)

    assert quiet.returncode == flooded.returncode == 0, flooded.stderr
    assert len(quiet.stdout.splitlines()) > 10
    assert flooded.stdout == quiet.stdout
    assert "5 players" in quiet.stderr
    assert "5 players" in flooded.stderr
