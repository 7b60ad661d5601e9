"""A watch under a flood of spoofed sources: known players undisturbed, memory bounded, what was dropped told."""

import json
import subprocess
import sys

import polars as pl
import pytest

from capture_bytes import enhanced, interface, section
from floods import HEADER, PORT, START, Known, capture, flood, game, udp_record
from gamewarden.contracts import Bounds
from gamewarden.features.traffic.recipe import TrafficTest
from gamewarden.online.watch import MICRO_BATCH, watch
from gamewarden.readers.captures.packets import open_packets
from gamewarden.tables import FramePackets
from packets_made_up import SECOND, client

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


@pytest.mark.integration
def test_known_players_are_decided_upon_alike_with_and_without_a_flood(place):
    quiet = run("watch", place / "quiet.pcap", "--server-port", 3724)
    flooded = run("watch", place / "flooded.pcap", "--server-port", 3724)

    assert quiet.returncode == flooded.returncode == 0, flooded.stderr
    assert len(quiet.stdout.splitlines()) > 10
    assert flooded.stdout == quiet.stdout
    assert "5 players" in quiet.stderr
    assert "5 players" in flooded.stderr


def test_what_was_counted_is_kept_for_machines(place, tmp_path):
    ended = run("watch", place / "flooded.pcap", "--server-port", 3724, "--counts", tmp_path / "counts.json")

    counts = json.loads((tmp_path / "counts.json").read_text())
    assert ended.returncode == 0, ended.stderr
    assert counts["watch"]["players"] == 5
    assert counts["source"]["of sources that have not proven to be there, not delivered"] > 9_000


# The reader's side


def rows(path, bounds=None, **options):
    stream = open_packets(path, [PORT], bounds=bounds, **options)
    frames = [pl.DataFrame(pl.from_arrow(batch)).cast({"actor": pl.String}) for batch in stream.batches()]
    return [row for frame in frames for row in frame.iter_rows()], stream.report


def written(tmp_path, told, name="c.pcap"):
    path = tmp_path / name
    path.write_bytes(capture(told))
    return path


def test_every_packet_of_a_proven_client_is_delivered_also_those_before_its_proof(place):
    free, _ = rows(place / "quiet.pcap")
    bounded, report = rows(place / "flooded.pcap", Bounds())

    assert [row for row in sorted(bounded) if row[2]] == [row for row in sorted(free) if row[2]]
    assert {row[0] for row in bounded} == {Known(number).name for number in range(5)}
    assert report.counts["of sources that have not proven to be there, not delivered"] > 9_000


def test_the_place_of_unproven_sources_does_not_grow_and_says_whom_it_let_go(tmp_path):
    path = written(tmp_path, flood(3, 5_000, START, START + HOUR))
    _, report = rows(path, Bounds(unproven=100))

    assert report.counts["such sources forgotten to make room"] == 4_900


def test_a_handshake_that_the_client_does_not_finish_proves_nothing(tmp_path):
    player = Known(1)
    syn, answer, first = (player.next() for _ in range(3))
    guessed = (first[0], first[1][: 16 + 14 + 20 + 8] + b"\xde\xad\xbe\xef" + first[1][16 + 14 + 20 + 12 :])

    assert rows(written(tmp_path, [syn, answer, guessed]), Bounds())[0] == []
    assert len(rows(written(tmp_path, [syn, answer, first]), Bounds())[0]) == 1


def test_a_client_without_any_answer_is_judged_only_when_the_tap_is_said_to_be_one_sided(tmp_path):
    path = written(tmp_path, game([Known(1, udp=True, answered=False)], 50))
    unproven, report = rows(path, Bounds())

    assert unproven == []
    assert report.lines()[-1].endswith("say --one-sided")
    assert len(rows(path, Bounds(one_sided=True))[0]) == 50


def test_the_latest_packets_before_the_proof_are_those_that_were_kept(tmp_path):
    alone = [
        (START + n * SECOND, udp_record(START + n * SECOND, 0xC0000201, 5000, 0xC6336401, PORT, n + 1))
        for n in range(7)
    ]
    reply = (START + 9 * SECOND, udp_record(START + 9 * SECOND, 0xC6336401, PORT, 0xC0000201, 5000, 99))
    delivered, report = rows(written(tmp_path, [*alone, reply]), Bounds())

    assert [row[3] for row in delivered] == [4, 5, 6, 7, 99]
    assert report.withheld == 3


def test_connections_beyond_the_most_are_counted_and_those_before_them_undisturbed(tmp_path):
    told = game([Known(number) for number in range(4)], 400)
    some, report = rows(written(tmp_path, told), Bounds(players=3))

    assert len({row[0] for row in some}) == 3
    assert report.counts["of connections beyond those that are kept, not delivered"] > 50


def beacon(hours):
    """Somebody who is always there: a packet and an answer every ten minutes."""
    times = range(START, START + hours * HOUR, HOUR // 6)
    ends = (0xC0000263, 5000), (0xC6336401, PORT)
    return [(at + n, udp_record(at + n, *ends[n], *ends[1 - n], 9)) for at in times for n in (0, 1)]


def test_silent_connections_are_forgotten_by_the_packets_own_clock(tmp_path):
    early, late, back = (
        game([Known(number, start=START + hours * HOUR)], 100) for number, hours in ((1, 0), (2, 3), (1, 6))
    )
    told = [early, late, back, beacon(7)]
    bounded, report = rows(written(tmp_path, [one for part in told for one in part]), Bounds(keep=HOUR))

    assert report.forgotten == 2
    apart = [row for part in told for row in rows(written(tmp_path, part))[0] if row[2]]
    assert sorted(row for row in bounded if row[2]) == sorted(apart)


def test_one_odd_time_forgets_nobody(tmp_path):
    told = game([Known(1)], 200)
    odd = udp_record(START + 4000 * 24 * HOUR, 1 << 24, 5, 0xC6336401, PORT, 5)
    path = tmp_path / "odd.pcap"
    path.write_bytes(
        HEADER + b"".join(record for _, record in told[:100]) + odd + b"".join(record for _, record in told[100:])
    )

    assert rows(path, Bounds(keep=HOUR))[1].forgotten == 0


def test_a_pcapng_is_bounded_like_a_pcap(tmp_path):
    told = sorted(
        game([Known(1), Known(2, udp=True)], 200)
        + flood(4, 300, START, START + HOUR)
        + game([Known(5, start=START + 9 * HOUR)], 40)
    )
    path = tmp_path / "c.pcapng"
    path.write_bytes(section() + interface() + b"".join(enhanced(record[16:], at) for at, record in told))
    bounds = Bounds(unproven=50, keep=HOUR)
    one, two = rows(path, bounds), rows(written(tmp_path, told), bounds)

    assert one[0] == two[0]
    assert (one[1].forgotten, one[1].counts) == (two[1].forgotten, two[1].counts)


# The watch's side


def decided(frame, bounds, batch=1 << 20):
    lines = []
    tally = watch(FramePackets(frame, batch), TrafficTest(), lines.append, bounds=bounds)
    return "".join(lines), tally


def sessions(*starts, actor="p"):
    return pl.concat([client([40] * 150, actor=actor, start=START + start) for start in starts])


def test_players_beyond_the_most_are_counted_and_not_judged():
    frame = pl.concat([client([40] * 250, actor=f"p{number}") for number in range(5)]).sort("at", maintain_order=True)
    lines, tally = decided(frame, Bounds(players=3))

    assert (tally.players, tally.refused, tally.decisions) == (3, 500, 6)
    assert '"actor":"p3"' not in lines


def with_others(frame):
    """The same packets beside those of somebody who is always there."""
    other = client([40] * 60, [600.0] * 59, actor="other")
    return pl.concat([frame, other]).sort("at", maintain_order=True)


def test_a_forgotten_player_who_returns_starts_afresh():
    frame = with_others(sessions(0, 5 * HOUR))
    lines, tally = decided(frame, Bounds(keep=HOUR))

    assert [line.count('"window":0') for line in lines.splitlines()] == [1, 1]
    assert tally.forgotten == 2  # and once more after the last packet
    assert [line.count('"window":0') for line in decided(frame, Bounds(keep=9 * HOUR))[0].splitlines()] == [1, 0]


def test_who_has_completed_no_window_is_forgotten_with_the_session_and_nothing_changes():
    short = pl.concat([client([40] * 50, actor=f"s{number}", start=START + number * HOUR) for number in range(20)])
    frame = pl.concat([short, sessions(0, 10 * HOUR, 19 * HOUR)]).sort("at", maintain_order=True)
    lines, tally = decided(frame, Bounds(keep=99 * HOUR))

    assert tally.players < 5
    assert lines == decided(frame, Bounds(keep=1 << 60))[0]


def test_what_is_forgotten_does_not_depend_on_the_batches():
    frame = with_others(sessions(0, 3 * HOUR, 4 * HOUR, 9 * HOUR))
    seen = {decided(frame, Bounds(keep=HOUR), batch) for batch in (1, 7, 100, MICRO_BATCH)}

    assert len(seen) == 1


def test_a_watch_goes_on_with_the_clock_it_had(tmp_path):
    frame = with_others(sessions(0, 3 * HOUR, 4 * HOUR, 9 * HOUR))
    bounds, state = Bounds(keep=HOUR), tmp_path / "state"
    lines = []
    for part in (frame[:160], frame[160:310], frame[310:]):
        watch(FramePackets(part), TrafficTest(), lines.append, state=state, replayed=False, bounds=bounds)

    assert "".join(lines) == decided(frame, bounds)[0]


def test_the_status_says_how_much_was_left_out(place):
    seen = []
    stream = open_packets(place / "flooded.pcap", [PORT], bounds=Bounds())
    watch(stream, TrafficTest(), lambda _: None, status=seen.append, bounds=Bounds())

    assert seen[-1].left_out > 9_000
    assert "packets of unproven or too many sources left out" in str(seen[-1])
